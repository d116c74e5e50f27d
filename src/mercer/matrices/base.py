"""The interface of matrices: solvers access rows and columns only through products."""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from mercer._errors import TooManyColumnsError, UnsuitableSolverError
from mercer._jit import gram as loops
from mercer._threads import ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import COPIED_BLOCK, rows_per_block
from mercer.families.losses import as_weight
from mercer.families.response import SoftmaxResponse
from mercer.matrices import _gradient_loops as gradient_loops
from mercer.matrices.columns import DenseColumns, MatrixColumns
from mercer.matrices.coordinates import Coordinates
from mercer.matrices.cross_products import WIDE_TILE_BYTES, CrossSums, join_products, pilot_of, sum_tiles
from mercer.matrices.newton_terms import HESSIAN, NewtonTerms, softmax_hessian, terms_by_tiles

if TYPE_CHECKING:
    from mercer.matrices.observations import Observations

#: columns up to which Xᵀ diag(h) X is formed: it takes 8 p² bytes, and solvers hold several copies
MAX_GRAM_COLUMNS = 12_000
#: the number of blocks is a multiple of this, so that two or four threads have equal shares
BLOCKS_MULTIPLE = 4
#: … unless all rows together are at most 1/8 of the largest block: then they are one block
SINGLE_BLOCK_PART = 8
#: bytes of rows whose cross products are summed at once: large, so that adding sums costs little, and small, so that
#: all threads have work
BYTES_PER_BLOCK = 1 << 25
#: a column with a mean this many spreads from zero loses four digits of its squares about the mean
FAR_SPREADS = 100.0
#: squares about the mean below this portion of those about zero are rounding: the column is constant
CONSTANT_SQUARES = 1e-14


class Tile(ABC):
    """Some rows of a design, valid until the next tile is read.

    Products are new arrays, which the caller may overwrite.
    """

    @abstractmethod
    def matvec(self, w: Array) -> Array:
        """X w."""

    @abstractmethod
    def rmatvec(self, r: Array) -> Array:
        """Xᵀ r."""

    @abstractmethod
    def gram(self, h: Array) -> Array:
        """Xᵀ diag(h) X for h of any sign. It may overwrite the tile, and so has to be the last product."""

    @abstractmethod
    def dense(self) -> Array:
        """Rows as a dense matrix in working coordinates; not a copy."""

    def squares(self, h: Array) -> Array:
        """Diagonal of Xᵀ diag(h) X."""
        return np.asarray(np.square(self.dense()).T @ h)

    def softmax_hessian(self, response: SoftmaxResponse, eta: Array, weight: Array | None) -> Array:
        """Expected Hessian of the losses of several classes, for the linear predictors η."""
        return softmax_hessian(response, self.dense(), eta, weight)


class Matrix(ABC):
    """n rows × p columns (the last of them ones, where there is an intercept), in working coordinates.

    `coordinates` holds the shifts and scales of the columns, and maps coefficients back. Vectors may be matrices of
    several columns: `matvec` takes (p,) or (p, k), and `rmatvec` (n,) or (n, k). A value of X that is not
    finite makes every product that contains it not finite.
    """

    coordinates: Coordinates

    #: operations that this storage does not support, each with its remedy
    unsupported: ClassVar[Mapping[str, str]] = MappingProxyType({})
    #: whether most values are zeros that are not stored
    is_sparse: ClassVar[bool] = False
    #: whether `residual_gradient` always has twice the working precision
    has_exact_gradients: ClassVar[bool] = True
    #: whether many products with vectors are slower than one of all pairs of columns
    prefers_gram: ClassVar[bool] = False
    #: whether compiled loops can read all rows in place
    is_block: bool = False
    #: device of the rows
    device: str = "cpu"

    def can(self, operation: str) -> bool:
        """Return whether the storage supports an operation, given by the name of its method."""
        return operation not in self.unsupported

    def unsupported_error(self, operation: str) -> UnsuitableSolverError:
        """Return the error for an operation that the storage does not support, with the remedy."""
        return UnsuitableSolverError(
            f"{type(self).__name__} does not support `{operation}`. {self.unsupported[operation]}"
        )

    @functools.cached_property
    def cache(self) -> dict[str, Any]:
        """Results that depend only on these rows and are reused by all fits to them."""
        return {}

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int:
        return self.coordinates.n_columns

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.n_rows, self.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 if the values are, else float64."""
        return np.dtype(np.float64)

    @property
    def precision(self) -> float:
        """Rounding error of a value."""
        return float(np.finfo(self.dtype).eps)

    @property
    def stored_per_row(self) -> int:
        """Mean number of stored values per row."""
        return self.n_columns

    @property
    @abstractmethod
    def most_rows(self) -> int:
        """Largest useful number of rows in a block; larger blocks are not cheaper per row."""

    @property
    def block_rows(self) -> int:
        """Rows of a block for one thread, so that four blocks, or a multiple of four, have the same size."""
        n, most = self.n_rows, self.most_rows
        if n * SINGLE_BLOCK_PART <= most:
            return max(1, n)
        return -(-n // (BLOCKS_MULTIPLE * -(-n // (BLOCKS_MULTIPLE * most))))

    @abstractmethod
    def rows(self, rows: slice) -> Self:
        """Return consecutive rows, without a copy."""

    @abstractmethod
    def take(self, rows: Array) -> Self:
        """Return a copy of the rows at these positions."""

    @abstractmethod
    def within(self, coordinates: Coordinates) -> Matrix:
        """Return the same columns in other coordinates, without a copy where possible."""

    def centred(self) -> Matrix:
        """Return the columns without an intercept, shifted where this keeps digits of their squares."""
        return self

    def in_memory(self) -> Matrix:
        """Return the matrix in main memory, for computations without an implementation on devices."""
        return self

    def observe(self, y: Any, weight: Any = None, offset: Any = None) -> Observations:
        """Return the rows with responses, and optional weights and offsets."""
        from mercer.matrices.observations import Observations

        return Observations(self, y, weight, offset)

    @abstractmethod
    def tile(self) -> Tile:
        """Return all rows as one tile."""

    def tiles(self) -> Iterator[tuple[slice, Tile]]:
        """Iterate over tiles that stay in the cache while they are multiplied several times."""
        for rows in row_blocks(self.n_rows, self.most_rows):
            yield rows, self.rows(rows).tile()

    def blocks(self) -> list[slice]:
        return row_blocks(self.n_rows, self.block_rows)

    def dense_blocks(self) -> list[slice]:
        """Blocks that can be written out as dense matrices; a block of codes may have 8 GiB of numbers."""
        return row_blocks(self.n_rows, rows_per_block(self.n_columns))

    def matvec(self, w: Array) -> Array:
        """X w."""
        self.check_length(w)
        product = np.empty((self.n_rows, *w.shape[1:]))

        def fill(block: slice) -> None:
            part = product[block]
            for rows, tile in self.rows(block).tiles():
                part[rows] = tile.matvec(w)

        for _ in ordered_stream(fill, self.blocks()):
            pass
        return product

    def rmatvec(self, r: Array) -> Array:
        """Xᵀ r."""
        zero = np.zeros((self.n_columns, *r.shape[1:]))
        return self._summed(lambda tile, rows: tile.rmatvec(r[rows]), zero)

    def gram(self, h: Array) -> Array:
        """Xᵀ diag(h) X."""
        self.check_gram_columns()
        return self._summed(lambda tile, rows: tile.gram(h[rows]), np.zeros((self.n_columns, self.n_columns)))

    def newton_terms(
        self,
        response: Any,
        w: Array,
        y: Array,
        weight: Array | None = None,
        offset: Array | None = None,
        *,
        order: int = HESSIAN,
    ) -> NewtonTerms:
        """Sum the losses of all rows at the coefficients w, their gradient and their expected Hessian.

        Parameters
        ----------
        response : Response or SoftmaxResponse
            The losses, for w of shape (p,) or (p, k).
        w : array
            Coefficients.
        y : array
            Responses.
        weight, offset : array, optional
            Weight of each row, and what is added to its linear predictor.
        order : int
            `LOSS`, `GRADIENT` or `HESSIAN`: the highest derivative.
        """
        self.check_length(w)
        if order == HESSIAN:
            self.check_gram_columns()
        return terms_by_tiles(self, response, w, y, weight, offset, order)

    def squares(self, h: Array) -> Array:
        """Σ h x² of each column, the diagonal of Xᵀ diag(h) X.

        Duplicate entries of a sparse matrix are squared one by one.
        """
        return self._summed(lambda tile, rows: tile.squares(h[rows]), np.zeros(self.n_columns))

    def dense(self) -> Array:
        """Return the whole matrix as an array, for small matrices."""
        matrix = np.empty((self.n_rows, self.n_columns))
        for rows, tile in self.tiles():
            matrix[rows] = tile.dense()
        return matrix

    def dense_rows(self, rows: slice | Array) -> Array:
        """Return some rows, given by a slice or by positions, as an array that must not be written to."""
        return (self.rows(rows) if isinstance(rows, slice) else self.take(rows)).tile().dense()

    # Least squares

    def triangle_blocks(self) -> list[slice]:
        """Return blocks of rows for threads, with at least ten times as many numbers as the sums of a block."""
        n, d = self.shape
        stored = max(1, self.stored_per_row)
        return row_blocks(n, max(rows_per_block(stored, BYTES_PER_BLOCK), 10 * d * d // stored))

    def cross_product_blocks(self) -> list[slice]:
        """Return the blocks of rows for `cross_products`: a single one if it computes on several threads itself."""
        return [slice(0, self.n_rows)]

    def cross_products(self, Y: Array, weight: Array | None) -> CrossSums:
        """Sum the products of all pairs of columns of [1, X, Y], for an X without an intercept.

        Rows of weight 0 may have any values.
        """
        if weight is not None and not weight.all():
            positive = np.flatnonzero(weight)
            return self.take(positive).cross_products(Y[positive], weight[positive])
        near = self.centred()
        d, targets = self.n_columns, np.ones(Y.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            sums = join_products(near, Y, weight)
            unit = np.append(near.coordinates.scale / self.coordinates.scale, targets)
            shift = (near.coordinates.shift - self.coordinates.shift) / self.coordinates.scale
            sums.shift[:d] += shift
            sums = sums._replace(first=sums.first * unit, second=sums.second * unit[:, None] * unit)
        if not sums.is_far_from_zero(d, FAR_SPREADS, CONSTANT_SQUARES):
            return sums

        about = pilot_of(self, Y)

        def of_block(rows: slice) -> CrossSums:
            return sum_tiles(self.rows(rows), Y[rows], None if weight is None else weight[rows], about)

        return functools.reduce(CrossSums.plus, ordered_stream(of_block, self.triangle_blocks()))

    def residual_gradient(
        self, Y: Array, weight: Array | None, shift: Array, v: Array, *, exact: bool = True
    ) -> tuple[Array, Array]:
        """Return [1, x − shift]ᵀ weight (y − shift − [1, x − shift] v), the sum of a high and a low part.

        Unless `exact`, the low part may be 0 where twice the working precision would be slow.
        """

        def of_block(rows: slice) -> tuple[Array, Array]:
            X, y = (np.require(part, _loop_type(part), ["C", "A", "W"]) for part in (self.dense_rows(rows), Y[rows]))
            part = as_weight(None if weight is None else weight[rows])
            return gradient_loops.gradient(X, y, part, shift, v)  # type: ignore[no-any-return]

        high, low = np.zeros_like(v), np.zeros_like(v)
        for more, rest in ordered_stream(
            of_block, row_blocks(self.n_rows, rows_per_block(self.n_columns, COPIED_BLOCK))
        ):
            high, low = add_high_low((high, low), (more, rest))
        return high, low

    def column_tiles(self, tile_bytes: int = WIDE_TILE_BYTES) -> Iterator[tuple[slice, Array]]:
        """Yield a few columns at a time, dense, in about `tile_bytes` bytes."""
        X = self.dense()
        for columns in self.column_blocks(tile_bytes):
            yield columns, X[:, columns]

    def column_blocks(self, tile_bytes: int) -> list[slice]:
        return row_blocks(self.n_columns, max(1, tile_bytes // (8 * max(1, self.n_rows))))

    def sparse_kernel(self, mean: Array) -> Array | None:
        """Return (X − mean)(X − mean)ᵀ from the stored entries; None if there are none, or digits would be lost."""
        return None

    # Columns

    @property
    def data(self) -> Any:
        """The columns in their own units as an array or a SciPy matrix, without a copy where possible."""
        return self.within(Coordinates.plain(len(self.coordinates.shift), intercept=False)).dense()

    def columns(self, centre: Array, scale: Array) -> MatrixColumns:
        """Return (x_j − centre_j) / scale_j column by column, for coordinate descent."""
        return DenseColumns(self.data, centre, scale)

    def standardized_columns(self, weight: Array, *, centred: bool) -> tuple[MatrixColumns, Array]:
        """Return columns about their weighted means (if `centred`), scaled to length about 1, and squared lengths."""
        return DenseColumns.standardise(self.data, weight, centred=centred)

    def ranges(self) -> Array:
        """Return the lowest and the highest value of each column: (2, columns)."""
        blocks = [self.dense_rows(rows) for rows in self.dense_blocks()]
        return np.stack([np.min([X.min(axis=0) for X in blocks], 0), np.max([X.max(axis=0) for X in blocks], 0)])

    def constant_columns(self, weight: Array | None) -> Array:
        """Return the columns that do not vary among rows of positive weight."""
        heavy = self if weight is None or weight.all() else self.take(np.flatnonzero(weight))
        lowest, highest = heavy.ranges()
        return np.flatnonzero(lowest == highest)

    def is_finite(self) -> bool:
        """Return whether every value is finite."""
        return all(np.isfinite(self.dense_rows(rows)).all() for rows in self.dense_blocks())

    def check_length(self, w: Array) -> None:
        """Raise unless there is one coefficient per column, as compiled loops do not check bounds."""
        if len(w) != self.n_columns:
            raise ValueError(f"{len(w)} coefficients do not fit {self.n_columns} columns.")

    def check_gram_columns(self) -> None:
        """Raise `TooManyColumnsError` if Xᵀ diag(h) X is too large to be formed."""
        if (p := self.n_columns) > MAX_GRAM_COLUMNS:
            raise TooManyColumnsError(
                f"the Hessian of {p} columns would take {8 * p * p / 2**30:.0f} GiB; use a solver that needs only "
                'products with it, solver="lbfgs" or solver="newton-cg", or fewer columns.'
            )

    def _summed(self, product: Callable[[Tile, slice], Array], total: Array) -> Array:
        """Add the products of all tiles to `total`, block by block in order."""

        def sum_block(block: slice) -> Array:
            products = (
                product(tile, slice(block.start + rows.start, block.start + rows.stop))
                for rows, tile in self.rows(block).tiles()
            )
            block_total: Array = functools.reduce(operator.iadd, products)
            return block_total

        for part in ordered_stream(sum_block, self.blocks()):
            total += part
        return total


def add_high_low(mine: tuple[Array, Array], theirs: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the sum of two pairs of high and low parts, with its rounding error in the low part."""
    total = mine[0] + theirs[0]
    part = total - mine[0]
    return total, mine[1] + (mine[0] - (total - part)) + (theirs[0] - part) + theirs[1]


def _loop_type(values: Array) -> type[np.floating[Any]]:
    """Return the type of the values if loops are compiled for it, else float64."""
    return np.float32 if values.dtype == np.float32 else np.float64


def symmetric(lower: Array) -> Array:
    """Mirror the lower triangle to the upper one, in place."""
    loops.mirror(lower)
    return lower
