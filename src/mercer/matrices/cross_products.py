"""Sums of the products of all pairs of columns of [1, X, Y], about a point near their means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from mercer._jit import gram
from mercer._jit.product import square
from mercer._threads import MIN_COLUMNS_FOR_THREADS, row_blocks
from mercer._typing import Array
from mercer.families.losses import as_weight

if TYPE_CHECKING:
    from mercer.matrices.base import Matrix

#: bytes of a tile, which stays in the L2 cache, with its product, while it is filled and multiplied
JOINED_TILE_BYTES = 1 << 19
#: bytes of a tile of many columns, whose product is so large that the number of its additions matters more
WIDE_TILE_BYTES = 1 << 24
#: number of columns from which tiles are wide
WIDE_TILE_COLUMNS = 256
#: rows from which the location of a column is estimated
PILOT_ROWS = 64
#: columns whose mean is within this many spreads of zero are not shifted: their squares lose at most a digit
UNSHIFTED_SPREADS = 4.0


class CrossSums(NamedTuple):
    """Number and weight of rows, and first and second moments of [x, y] about `shift`."""

    rows: int
    weight: float
    shift: Array
    first: Array
    second: Array

    @classmethod
    def of_products(cls, rows: int, weight: float, shift: Array, second: Array, border: Array) -> Self:
        """Join the products of the columns of X, and those of X with 1 and Y in `border` (see `join_products`)."""
        d = len(second)
        whole = np.empty((len(shift), len(shift)))
        whole[:d, :d] = second
        whole[:d, d:], whole[d:, :d] = border[:d, 1:], border[:d, 1:].T
        whole[d:, d:] = border[d:, 1:]
        return cls(rows, weight, shift, border[:, 0], whole)

    def plus(self, other: Self) -> Self:
        """Add the sums of other rows about the same point."""
        return self._replace(
            rows=self.rows + other.rows,
            weight=self.weight + other.weight,
            first=self.first + other.first,
            second=self.second + other.second,
        )

    def is_far_from_zero(self, columns: int, spreads: float, constant: float = 0.0) -> bool:
        """Return whether one of the first columns has a mean too many spreads from 0 for squares to keep digits.

        Columns whose squares about the mean are below the portion `constant` of those about zero do not count.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            level = np.square(self.first[:columns]) / self.weight
            squares = np.maximum(np.diagonal(self.second)[:columns] - level, 0.0)
            return bool(((level > spreads**2 * squares) & (squares >= constant * level)).any())


def pilot(rows: Array) -> Array:
    """Return a value near each column, such that x − pilot is exact for most x.

    It is the mean of the first rows, rounded to a multiple of a power of two no larger than their spread; 0 where that
    is close enough; and the value itself of a column that is constant in them.
    """
    head = np.asarray(rows[:PILOT_ROWS], dtype=np.float64)
    if not len(head):
        return np.zeros(rows.shape[1])
    with np.errstate(invalid="ignore", over="ignore"):
        mean = head[0] + (head - head[0]).mean(axis=0)
        spread = np.linalg.norm(head - mean, axis=0) / np.sqrt(len(head))
        unit = 2.0 ** np.floor(np.log2(np.where(spread > 0, spread, 1.0)))
        coarse = np.where(spread > 0, np.rint(mean / unit) * unit, mean)
    return np.where((np.abs(mean) > UNSHIFTED_SPREADS * spread) & np.isfinite(coarse), coarse, 0.0)


def pilot_of(X: Matrix, Y: Array) -> Array:
    """Return a value near each column of X and Y."""
    return np.concatenate([pilot(X.dense_rows(slice(0, PILOT_ROWS))), pilot(Y)])


def joined_tile_rows(columns: int) -> int:
    """Return the number of rows of a tile."""
    return max(64, (JOINED_TILE_BYTES if columns < WIDE_TILE_COLUMNS else WIDE_TILE_BYTES) // (8 * columns))


def joined_tiles(
    X: Matrix, Y: Array, weight: Array | None, shift: Array, *, rows_at_once: int | None = None
) -> Iterator[Array]:
    """Yield √weight · [1, x − shift, y − shift] for some rows at a time; the next tile overwrites it.

    Rows of weight zero are left out. A tile has `rows_at_once` rows, by default `joined_tile_rows`.
    """
    n, d = X.shape
    columns = 1 + len(shift)
    size = max(1, min(rows_at_once or joined_tile_rows(columns), n))
    buffer = np.empty((size, columns))
    for rows in row_blocks(n, size):
        x, y = X.dense_rows(rows), Y[rows]
        root = None if weight is None else np.sqrt(weight[rows])
        if root is not None and not root.all():
            x, y, root = x[root > 0], y[root > 0], root[root > 0]
        tile = buffer[: len(x)]
        tile[:, 0] = 1.0
        np.subtract(x, shift[:d], out=tile[:, 1 : d + 1])
        np.subtract(y, shift[d:], out=tile[:, d + 1 :])
        if root is not None:
            tile *= root[:, None]
        yield tile


def sum_tiles(X: Matrix, Y: Array, weight: Array | None, shift: Array | None = None) -> CrossSums:
    """Sum the products of dense rows about `shift`, by default values close to them; a tile is copied at a time."""
    shift = pilot_of(X, Y) if shift is None else shift
    return (_sum_by_loops if len(shift) < MIN_COLUMNS_FOR_THREADS else _sum_by_blas)(X, Y, weight, shift)


def _sum_by_loops(X: Matrix, Y: Array, weight: Array | None, shift: Array) -> CrossSums:
    p, unscaled = len(shift), np.ones(len(shift))
    total = np.zeros((gram.padded(1 + p),) * 2)
    rows = 0
    for x, y, part_weight in _parts(X, Y, weight):
        rows += len(y)
        gram.add_gram(_as_block(x), _as_block(y), as_weight(part_weight), shift, unscaled, total)
    gram.mirror(total)
    return CrossSums(rows, float(total[p, p]), shift, total[p, :p], total[:p, :p])


def _parts(X: Matrix, Y: Array, weight: Array | None) -> Iterator[tuple[Array, Array, Array | None]]:
    """Yield rows with positive weight: all if loops can read them in place, else as few as stay in the cache."""
    n, d = X.shape
    some_weightless = weight is not None and not weight.all()
    for rows in row_blocks(n, max(1, n) if X.is_block and not some_weightless else joined_tile_rows(d)):
        if weight is None:
            yield X.dense_rows(rows), Y[rows], None
        elif some_weightless:
            which = rows.start + np.flatnonzero(weight[rows])
            yield X.dense_rows(which), Y[which], weight[which]
        else:
            yield X.dense_rows(rows), Y[rows], weight[rows]


def _sum_by_blas(X: Matrix, Y: Array, weight: Array | None, shift: Array) -> CrossSums:
    product = np.zeros((1 + len(shift), 1 + len(shift)))
    rows = 0
    for tile in joined_tiles(X, Y, weight, shift):
        product += square(tile)
        rows += len(tile)
    return CrossSums(rows, float(product[0, 0]), shift, product[0, 1:], product[1:, 1:])


def join_products(X: Matrix, Y: Array, weight: Array | None) -> CrossSums:
    """Sum the products of rows with positive weight by those of the matrix; Y alone is shifted."""
    d, shift = X.shape[1], np.concatenate([np.zeros(X.shape[1]), pilot(Y)])
    ones_and_targets = np.column_stack([np.ones(len(Y)), Y - shift[d:]])
    weighted = ones_and_targets if weight is None else weight[:, None] * ones_and_targets
    inside = ones_and_targets.T @ weighted
    border = np.concatenate([X.rmatvec(weighted), inside[1:]])
    total = np.ones(len(Y)) if weight is None else weight
    return CrossSums.of_products(len(Y), float(inside[0, 0]), shift, X.gram(total), border)


def _as_block(rows: Any) -> Array:
    """Return rows as an array for which loops are compiled, copied if necessary."""
    dtype = rows.dtype if rows.dtype == np.float32 else np.float64
    return np.require(rows, dtype, ["C", "A", "W"])
