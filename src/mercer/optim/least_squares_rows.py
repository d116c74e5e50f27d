"""Rows for least squares: matrices in memory, encoded columns, and tensors, with the sums that solvers need of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from scipy import sparse

from mercer._gpu import like, to_numpy
from mercer._gpu.chunks import in_chunks, tile_size
from mercer._threads import MIN_COLUMNS_FOR_THREADS, blas_for, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import COPIED_BLOCK, rows_per_block
from mercer.engines.reducing import reduce
from mercer.families.losses import as_weight
from mercer.matrices import Coordinates, DenseMatrix, Encoded, TensorMatrix
from mercer.matrices.encoded import CodePart, encoded_matrix
from mercer.matrices.tensor import on_device
from mercer.optim import _least_squares_loops as loops
from mercer.stats.base import as_block, silence_infinities
from mercer.stats.normal_equations import LeastSquaresSums, NormalEquations, RFactor
from mercer.stats.tiles import PILOT_ROWS, pilot

S = TypeVar("S", NormalEquations, RFactor)

#: bytes of data per block: large, so that adding sums costs little; small, so that all threads have work
BYTES_PER_BLOCK = 1 << 25


@dataclass(frozen=True, eq=False)
class LeastSquaresRows:
    """X (n, columns), dense or CSR; Y (n, targets); and the weights of the rows, 1 if not given."""

    X: Any
    Y: Array
    weight: Array | None = None

    #: precision of `gradient`, in the path of a solution
    gradients: ClassVar[str] = "gradients of twice the digits"

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), int(self.X.shape[1])

    @property
    def targets(self) -> int:
        return int(self.Y.shape[1])

    @property
    def sparse(self) -> bool:
        return hasattr(self.X, "indptr")

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 if X is, else float64."""
        return np.dtype(np.float32 if self.X.dtype == np.float32 else np.float64)

    @property
    def device(self) -> str:
        """Return the device of X."""
        return "cpu"

    @property
    def precision(self) -> float:
        """Return the rounding error of a value."""
        return float(np.finfo(self.dtype).eps)

    @property
    def total_weight(self) -> float:
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    def blocks(self) -> list[slice]:
        """Return blocks of rows for threads, with at least ten times as many numbers as the sums of a block."""
        n, d = self.shape
        return row_blocks(
            n, max(rows_per_block(self.stored_per_row, BYTES_PER_BLOCK), 10 * d * d // self.stored_per_row)
        )

    @property
    def stored_per_row(self) -> int:
        """Return the mean number of stored values per row."""
        n, d = self.shape
        return max(1, self.X.nnz // max(1, n)) if self.sparse else d

    @property
    def heavy(self) -> int:
        """Return the number of rows with positive weight."""
        return len(self) if self.weight is None else int(np.count_nonzero(self.weight))

    def select_targets(self, targets: Array) -> Self:
        """Return the rows with some of the targets."""
        return replace(self, Y=self.Y[:, targets])

    def to_exact(self) -> LeastSquaresRows:
        """Return the same rows in a form whose products keep all digits, whatever the cost."""
        return self

    def view(self, rows: slice) -> Any:
        """Return some rows of X for products, without a copy."""
        return view_csr_rows(self.X, rows) if self.sparse else self.X[rows]

    def batch(self, rows: slice) -> tuple[Any, Array, Array | None]:
        """Return X, Y and weight of some rows."""
        return self.X[rows], self.Y[rows], None if self.weight is None else self.weight[rows]

    def summarise(self, kind: type[S]) -> S:
        """Return the statistic of all rows."""
        zero = kind.zero(self.shape[1], self.targets)
        wide = self.shape[1] >= MIN_COLUMNS_FOR_THREADS and not self.sparse  # large products use threads of BLAS
        if wide or len(self.blocks()) == 1:
            with blas_for(self.shape[1]):
                return zero.update(self.X, self.Y, self.weight)
        return reduce(zero, self)

    def lengths_of(self, change: Array, level: Array) -> Array:
        """Return ‖√weight (X change + level)‖ for each column of `change`."""

        def of_block(block: slice) -> Array:
            weight = 1.0 if self.weight is None else self.weight[block, None]
            image = np.square(self.view(block) @ change + level)
            return np.asarray(np.sum(np.where(weight > 0, weight * image, 0.0), axis=0))

        blocks = row_blocks(len(self), rows_per_block(self.stored_per_row, COPIED_BLOCK))
        return np.asarray(np.sqrt(sum(ordered_stream(of_block, blocks), np.zeros(change.shape[1]))))

    def target_lengths(self) -> Array:
        """Return ‖√weight y‖ for each target."""
        squares = np.square(self.Y)
        return np.asarray(np.sqrt(squares.sum(axis=0) if self.weight is None else self.weight @ squares))

    def gradient(self, shift: Array, v: Array) -> tuple[Array, Array]:
        """Return [1, x − shift]ᵀ (y − shift − [1, x − shift] v) over all rows, as high and low parts."""
        n, d = self.shape

        def of_block(block: slice) -> tuple[Array, Array]:
            X, Y, weight = self.batch(block)
            return loops.gradient(as_block(X), as_block(Y), as_weight(weight), shift, v)  # type: ignore[no-any-return]

        high, low = np.zeros_like(v), np.zeros_like(v)
        for more, rest in ordered_stream(of_block, row_blocks(n, rows_per_block(d, COPIED_BLOCK))):
            total = high + more
            part = total - high
            low += (high - (total - part)) + (more - part) + rest
            high = total
        return high, low


def view_csr_rows(X: Any, rows: slice) -> Any:
    """Return rows of a CSR matrix that share its entries."""
    begin, end = X.indptr[rows.start], X.indptr[rows.stop]
    view = sparse.csr_array((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    # set one by one: the constructor would copy views of much larger arrays
    view.indptr = X.indptr[rows.start : rows.stop + 1] - begin
    view.indices, view.data = X.indices[begin:end], X.data[begin:end]
    return view


# Encoded rows

#: a column with a mean this many spreads from zero loses four digits of its squares about the mean
FAR_SPREADS = 100.0
#: squares about the mean below this portion of those about zero are rounding: the column is constant
CONSTANT_SQUARES = 1e-14


@dataclass(frozen=True, eq=False)
class EncodedBlocks(LeastSquaresRows):
    """Rows whose X is `Encoded`, and converted to sparse matrices block by block."""

    X: Encoded

    @property
    def sparse(self) -> bool:
        return True

    @property
    def stored_per_row(self) -> int:
        return max(1, self.X.nbytes // (4 * max(1, len(self))))

    def batch(self, rows: slice) -> tuple[Any, Array, Array | None]:
        return self.X[rows].tocsr(), self.Y[rows], None if self.weight is None else self.weight[rows]

    def view(self, rows: slice) -> Any:
        return self.X[rows]

    def summarise(self, kind: type[S]) -> S:
        return reduce(kind.zero(self.shape[1], self.targets), self)


@dataclass(frozen=True, eq=False)
class EncodedRows(EncodedBlocks):
    """Rows whose X is `Encoded`, with products of the codes themselves."""

    gradients: ClassVar[str] = "gradients of codes as they are"

    def to_exact(self) -> LeastSquaresRows:
        return EncodedBlocks(self.X, self.Y, self.weight)

    def summarise(self, kind: type[S]) -> S:
        if issubclass(kind, NormalEquations):
            made = kind.of_sums(self._positive_weight()._sums(), self.shape[1])
            if not _has_far_columns(made):
                return made
        return super().summarise(kind)

    def _positive_weight(self) -> Self:
        """Return the rows with positive weight; the others may have any values."""
        if self.weight is None or self.weight.all():
            return self
        heavy = self.weight > 0
        return replace(self, X=self.X[heavy], Y=self.Y[heavy], weight=self.weight[heavy])

    @silence_infinities
    def _sums(self) -> LeastSquaresSums:
        design = encoded_matrix(self.X, None, intercept=True)
        d, unit = self.shape[1], np.append(design.coordinates.scale, np.ones(1 + self.targets))
        weight = np.ones(len(self)) if self.weight is None else self.weight
        level = pilot(self.Y)
        y = self.Y - level
        heavy = weight[:, None] * y
        second = np.empty((len(unit), len(unit)))  # of [x, 1, y]
        second[: d + 1, : d + 1] = design.gram(weight)
        second[: d + 1, d + 1 :] = design.rmatvec(heavy)
        second[d + 1 :, : d + 1] = second[: d + 1, d + 1 :].T
        second[d + 1 :, d + 1 :] = heavy.T @ y
        second *= unit[:, None]
        second *= unit
        others = np.delete(np.arange(len(unit)), d)
        shift = np.append(design.coordinates.shift, level)
        return LeastSquaresSums(
            len(self), float(weight.sum()), shift, second[d, others], second[np.ix_(others, others)]
        )

    def gradient(self, shift: Array, v: Array) -> tuple[Array, Array]:
        if self._shifts_codes(shift):
            return super().gradient(shift, v)
        rows, d = self._positive_weight(), self.shape[1]
        design = encoded_matrix(rows.X, Coordinates(shift[:d], np.ones(d), intercept=True))
        left = rows.Y - shift[d:] - design.matvec(np.roll(v, -1, axis=0))
        if rows.weight is not None:
            left *= rows.weight[:, None]
        slope = np.roll(design.rmatvec(left), 1, axis=0)
        return slope, np.zeros_like(slope)

    def _shifts_codes(self, shift: Array) -> bool:
        runs = zip(self.X.parts, self.X.begins, self.X.begins[1:], strict=False)
        return any(shift[begin:end].any() for part, begin, end in runs if isinstance(part, CodePart))


def encoded_rows(X: Encoded, Y: Array, weight: Array | None) -> LeastSquaresRows:
    """Return encoded rows if there are more rows than columns, else rows of a sparse matrix, as few rows need."""
    return EncodedRows(X, Y, weight) if len(X) > X.shape[1] else LeastSquaresRows(X.tocsr(), Y, weight)


@silence_infinities
def _has_far_columns(sums: NormalEquations) -> bool:
    """Return whether squares about zero lose digits of a column that varies."""
    d, moments = sums.n_columns, sums.moments
    squares = np.diagonal(moments.scatter[0])[:d]
    level = moments.weight[0] * moments.offset[0, :d] ** 2
    return bool(((level > FAR_SPREADS**2 * squares) & (squares > CONSTANT_SQUARES * level)).any())


# Tensors

#: memory of a chunk of a tensor: the chunk, its copy in float64, and that times its weights
CHUNK_COPIES = 3


@dataclass(frozen=True, eq=False)
class TensorRows(LeastSquaresRows):
    """Rows whose X is a tensor; Y and weights, a few numbers per row, are arrays.

    Sums of products are computed in float64 on the device of X, chunk by chunk. If they are too ill-conditioned,
    factorisation and refinement process the rows block by block in main memory.
    """

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if str(self.X.dtype) == "torch.float32" else np.float64)

    @property
    def device(self) -> str:
        return str(self.X.device)

    def batch(self, rows: slice) -> tuple[Any, Array, Array | None]:
        return to_numpy(self.X[rows]), self.Y[rows], None if self.weight is None else self.weight[rows]

    def lengths_of(self, change: Array, level: Array) -> Array:
        size = np.abs(change).max(initial=0.0) or 1.0  # a change of 1e-40 would be lost in float32
        image = size * to_numpy(self.X @ like(change / size, self.X)) + level
        weight = np.ones((len(self), 1)) if self.weight is None else self.weight[:, None]
        return np.asarray(np.sqrt(np.where(weight > 0, weight * np.square(image), 0.0).sum(axis=0)))

    def summarise(self, kind: type[S]) -> S:
        if issubclass(kind, NormalEquations):
            return kind.of_sums(self._sums(), self.shape[1])
        return reduce(kind.zero(self.shape[1], self.targets), self)

    def _sums(self) -> LeastSquaresSums:
        import torch

        n, d = self.shape
        some = np.arange(min(n, PILOT_ROWS)) if self.weight is None else np.flatnonzero(self.weight)[:PILOT_ROWS]
        shift = np.concatenate([pilot(to_numpy(self.X[on_device(some, self.X)])), pilot(self.Y[some])])
        about = like(shift, self.X, dtype=torch.float64)
        total = torch.zeros((1 + len(shift),) * 2, dtype=torch.float64, device=self.X.device)

        def add(rows: slice) -> None:
            joined = torch.ones((rows.stop - rows.start, len(total)), dtype=torch.float64, device=self.X.device)
            joined[:, 1 : 1 + d] = self.X[rows]
            joined[:, 1 + d :] = like(self.Y[rows], joined)
            joined[:, 1:] -= about
            total.add_(self._weighted(joined, rows).T @ joined)

        in_chunks(n, tile_size(self.X) // (CHUNK_COPIES * len(total)), add, "the columns in float64")
        count = n if self.weight is None else int(np.count_nonzero(self.weight))
        product = to_numpy(total)
        return LeastSquaresSums(count, float(product[0, 0]), shift, product[0, 1:], product[1:, 1:])

    def _weighted(self, joined: Any, rows: slice) -> Any:
        """Return each row times its weight; rows of weight 0 may have any values."""
        if self.weight is None:
            return joined
        weight = like(self.weight[rows], joined)
        joined[weight == 0] = 0.0
        return weight[:, None] * joined


def tensor_rows(X: Any, Y: Array, weight: Array | None) -> LeastSquaresRows:
    """Return rows of a tensor if there are more rows than columns, else a copy in main memory, as few rows need."""
    if len(X) > X.shape[1]:
        return TensorRows(X, Y, weight)
    return LeastSquaresRows(to_numpy(X), Y, weight)


def design_rows(design: DenseMatrix | TensorMatrix, Y: Any, weight: Any) -> LeastSquaresRows:
    """Return rows for a design that is one matrix."""
    if isinstance(design, DenseMatrix):
        return LeastSquaresRows(design.X, Y, weight)
    return tensor_rows(design.X, to_numpy(Y), None if weight is None else to_numpy(weight))
