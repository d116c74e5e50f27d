"""Least squares as a statistic: the normal equations XᵀX and Xᵀy, or the triangular factor of [1, X, y]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._jit import gram
from mercer._jit.product import square
from mercer._stored import reals, stored, whole
from mercer._threads import MIN_COLUMNS_FOR_THREADS, row_blocks
from mercer._typing import Array
from mercer.families.losses import as_weight
from mercer.matrices.sparse_loops import add_pairs
from mercer.stats.base import as_block, check_same_shape, is_block, silence_infinities
from mercer.stats.centred import ScatterMoments
from mercer.stats.sparse import StoredMatrixRows
from mercer.stats.tiles import UNSHIFTED_SPREADS, factorize, joined_tile_rows, pilot, tiles


class Triangle(NamedTuple):
    """Least squares with a triangular matrix: ‖X w − y‖² = ‖R w − z‖² + ‖rest‖² for every w."""

    R: Array  # (columns or fewer, columns)
    z: Array  # (columns or fewer, targets)
    rest: Array  # (targets or fewer, targets): squares of its columns sum to those of the residuals


@stored(
    lambda own: own.n_columns <= len(own.pilot) and bool(len(own.R) or not own.rows),
    n_columns=whole(0),
    pilot=reals("p"),
    R=reals("r p+1"),
)
@dataclass(frozen=True, eq=False)
class RFactor:
    """R with RᵀR = AᵀA for A = √weight · [1, x − pilot, y − pilot], computed block by block without squaring (TSQR).

    A sum of squares loses half of the digits of small contributions; an orthogonal factorisation does not. The
    column of ones comes first: the part below its row of R belongs to columns about their means.
    """

    rows: int
    pilot: Array  # (columns + targets,)
    R: Array  # (1 + columns + targets or fewer, 1 + columns + targets)
    n_columns: int

    @classmethod
    def zero(cls, columns: int, targets: int) -> Self:
        p = columns + targets
        return cls(0, np.zeros(p), np.zeros((0, 1 + p)), columns)

    def empty(self) -> Self:
        return self.zero(self.n_columns, len(self.pilot) - self.n_columns)

    @silence_infinities
    def update(self, X: Any, Y: Array, weight: Array | None = None) -> Self:
        """Add rows; those of weight zero are ignored."""
        shift = np.concatenate([pilot(X), pilot(Y)])
        R, rows = np.zeros((0, 1 + len(shift))), 0
        for tile in tiles(X, Y, weight, shift):
            if not np.isfinite(tile).all():  # LAPACK may not terminate with NaN
                return replace(self, rows=1, R=np.full((1, 1 + len(shift)), np.nan))
            R = factorize(np.concatenate([R, tile]))
            rows += len(tile)
        return self.merge(replace(self, rows=rows, pilot=shift, R=R))

    @silence_infinities
    def merge(self, other: Self) -> Self:
        check_same_shape("R factors", self.pilot.shape, other.pilot.shape)
        if self.rows == 0 or not other.finite:
            return other
        if other.rows == 0 or not self.finite:
            return self
        stacked = np.concatenate([self.R, other.about(self.pilot).R])
        return replace(self, rows=self.rows + other.rows, R=factorize(stacked))

    def about(self, pilot: Array) -> Self:
        """Return the factor for the same rows about another point: x − new = (x − old) + (old − new) · 1."""
        R = self.R.copy()
        R[:1, 1:] += R[:1, :1] * (self.pilot - pilot)
        return replace(self, R=R, pilot=pilot)

    def only(self, targets: Array) -> Self:
        """Return the factor for some of the targets."""
        kept = np.concatenate([np.ones(self.n_columns, dtype=bool), targets])
        return replace(self, pilot=self.pilot[kept], R=self.R[:, np.concatenate([[True], kept])])

    @property
    def finite(self) -> bool:
        """True if all values so far were finite."""
        return bool(np.isfinite(self.R).all())

    @property
    def weight(self) -> float:
        return float(self.R[0, 0] ** 2) if self.rows else 0.0

    @property
    def mean(self) -> tuple[Array, Array]:
        """Means of X and of y."""
        mean = self.pilot + self.R[0, 1:] / self.R[0, 0] if self.rows else self.pilot
        return mean[: self.n_columns], mean[self.n_columns :]

    def triangle(self, *, centred: bool) -> Triangle:
        """Return the triangle of columns about their means, or about zero."""
        R = self.R[1:, 1:] if centred else factorize(self.about(np.zeros_like(self.pilot)).R[:, 1:])
        d = self.n_columns
        return Triangle(R[:d, :d], R[:d, d:], R[d:, d:])


#: sparse matrices with a larger share of stored entries are multiplied faster as dense ones, tile by tile
DENSE_ENTRIES_SHARE = 0.2


class CrossProducts(NamedTuple):
    """XᵀX (columns, columns), Xᵀy (columns, targets) and the squares Σy² of each target."""

    gram: Array
    moment: Array
    squares: Array


class LeastSquaresSums(NamedTuple):
    """Number and weight of rows, and first and second moments of [x, y] about `shift`."""

    rows: int
    weight: float
    shift: Array
    first: Array
    second: Array


@stored()
@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Means of [x, y] and products of all its columns about the means.

    X may be dense or sparse. Dense rows are multiplied about values close to them, and at most a tile is copied at
    a time; sparse rows are multiplied entry by entry.
    """

    moments: ScatterMoments
    n_columns: int

    @classmethod
    def zero(cls, columns: int, targets: int) -> Self:
        return cls(ScatterMoments.zero(1, columns + targets), columns)

    @classmethod
    @silence_infinities
    def of_sums(cls, sums: LeastSquaresSums, columns: int) -> Self:
        """Return a statistic from sums about a point close to the means."""
        return cls(_centre_moments(*sums), columns)

    def empty(self) -> Self:
        return replace(self, moments=self.moments.empty())

    def update(self, X: Any, Y: Array, weight: Array | None = None) -> Self:
        """Add rows; those of weight zero are ignored."""
        made = _compute_moments(X, Y, weight)
        return replace(self, moments=self.moments.merge(made) if self.rows else made)

    def merge(self, other: Self) -> Self:
        return replace(self, moments=self.moments.merge(other.moments))

    def remove(self, X: Any, Y: Array, weight: Array | None = None) -> Self:
        """Remove rows again."""
        return replace(self, moments=self.moments.subtract(_compute_moments(X, Y, weight)))

    @property
    def finite(self) -> bool:
        """True if all values so far, and their squares, were finite."""
        return self.moments.finite

    @property
    def rows(self) -> int:
        return int(self.moments.rows[0])

    @property
    def weight(self) -> float:
        return float(self.moments.weight[0])

    @property
    def mean(self) -> tuple[Array, Array]:
        """Means of X and of y."""
        mean = self.moments.mean[0]
        return mean[: self.n_columns], mean[self.n_columns :]

    def products(self, *, centred: bool) -> CrossProducts:
        """Return the products about the means, or about zero."""
        second = self.moments.scatter[0]
        if not centred:
            mean = self.moments.mean[0]
            second = second + self.weight * mean[:, None] * mean
        d = self.n_columns
        return CrossProducts(second[:d, :d], second[:d, d:], np.diagonal(second)[d:])


@silence_infinities
def _compute_moments(X: Any, Y: Array, weight: Array | None) -> ScatterMoments:
    sparse = hasattr(X, "indptr")
    if sparse and X.nnz < DENSE_ENTRIES_SHARE * X.shape[0] * X.shape[1]:
        made = _sum_sparse(X, Y, weight)
        if not _is_far_from_zero(made, X.shape[1]):
            return made
    shift = np.concatenate([pilot(X), pilot(Y)])
    return _centre_moments(
        *(_sum_by_loops if len(shift) < MIN_COLUMNS_FOR_THREADS else _sum_by_blas)(X, Y, weight, shift)
    )


def _sum_by_loops(X: Any, Y: Array, weight: Array | None, shift: Array) -> LeastSquaresSums:
    p, unscaled = len(shift), np.ones(len(shift))
    total = np.zeros((gram.padded(1 + p),) * 2)
    rows = 0
    for part, part_weight in _split_rows(X, weight):
        rows += len(Y[part])
        gram.add_gram(as_block(X[part]), as_block(Y[part]), as_weight(part_weight), shift, unscaled, total)
    gram.mirror(total)
    return LeastSquaresSums(rows, float(total[p, p]), shift, total[p, :p], total[:p, :p])


def _split_rows(X: Any, weight: Array | None) -> Iterator[tuple[Any, Array | None]]:
    """Yield rows with their weights: all if loops can read them in place, otherwise as few as stay in the cache."""
    n, d = X.shape
    some_weightless = weight is not None and not weight.all()
    for rows in row_blocks(n, max(1, n) if is_block(X) and not some_weightless else joined_tile_rows(d)):
        if weight is None:
            yield rows, None
        elif some_weightless:
            which = rows.start + np.flatnonzero(weight[rows])
            yield which, weight[which]
        else:
            yield rows, weight[rows]


def _sum_by_blas(X: Any, Y: Array, weight: Array | None, shift: Array) -> LeastSquaresSums:
    product = np.zeros((1 + len(shift), 1 + len(shift)))
    rows = 0
    for tile in tiles(X, Y, weight, shift):
        product += square(tile)
        rows += len(tile)
    return LeastSquaresSums(rows, float(product[0, 0]), shift, product[0, 1:], product[1:, 1:])


def _sum_sparse(X: Any, Y: Array, weight: Array | None) -> ScatterMoments:
    """Return the moments of a sparse matrix from its stored entries, about zero."""
    d, targets = X.shape[1], Y.shape[1]
    shift = np.concatenate([np.zeros(d), pilot(Y)])
    targets_and_ones = np.column_stack([np.ones(len(Y)), Y - shift[d:]])
    weighted = targets_and_ones if weight is None else weight[:, None] * targets_and_ones
    if weight is not None and not weight.all():
        targets_and_ones, weighted = targets_and_ones[weight > 0], weighted[weight > 0]
        X = X[weight > 0]
    second = np.zeros((d + targets, d + targets))
    pairs = np.zeros((d, d))
    add_pairs(*StoredMatrixRows.of(X), as_weight(None if weight is None else weighted[:, 0].copy()), False, pairs)
    second[:d, :d] = pairs + pairs.T
    across, inside = np.asarray(X.T @ weighted), targets_and_ones.T @ weighted
    second[:d, d:], second[d:, :d] = across[:, 1:], across[:, 1:].T
    second[d:, d:] = inside[1:, 1:]
    first = np.concatenate([across[:, 0], inside[0, 1:]])
    return _centre_moments(len(targets_and_ones), inside[0, 0], shift, first, second)


def _centre_moments(rows: int, weight: float, shift: Array, first: Array, second: Array) -> ScatterMoments:
    """Return centred moments from sums about `shift`."""
    if rows == 0:
        return ScatterMoments.zero(1, len(shift))
    offset = first / weight
    scatter = second - (weight * offset)[:, None] * offset
    np.maximum(scatter.diagonal(), 0.0, out=np.einsum("ii->i", scatter))
    return ScatterMoments(np.array([rows]), np.array([weight]), shift[None], offset[None], scatter[None])


def _is_far_from_zero(moments: ScatterMoments, columns: int) -> bool:
    """Return whether a column is so far from zero, relative to its spread, that squares about zero lose digits."""
    squares = np.diagonal(moments.scatter[0])[:columns]
    far: Array = moments.weight[0] * moments.offset[0, :columns] ** 2 > UNSHIFTED_SPREADS**2 * squares
    return bool(far.any())
