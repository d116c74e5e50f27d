"""Rows of x and y to be fitted by least squares, in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from scipy import sparse

from mercer._jit.solvers import least_squares as loops
from mercer._threads import WORTH_THREADS, blas_for, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import COPIED_BLOCK, rows_per_block
from mercer.engines.reducing import reduce
from mercer.stats.base import as_block, as_weight
from mercer.stats.normal_equations import NormalEquations
from mercer.stats.r_factor import RFactor

S = TypeVar("S", NormalEquations, RFactor)

#: bytes of numbers that one thread takes at a time: many, so that their sums cost little; few, so that all have work
BLOCK = 1 << 25


@dataclass(frozen=True, eq=False)
class Rows:
    """X (n, columns), dense or CSR; Y (n, targets); and the weights of the rows, 1 if not given."""

    X: Any
    Y: Array
    weight: Array | None = None

    #: how good the answer of `gradient` is
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
        """Where X is."""
        return "cpu"

    @property
    def precision(self) -> float:
        """The rounding error of a value."""
        return float(np.finfo(self.dtype).eps)

    @property
    def total_weight(self) -> float:
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    def blocks(self) -> list[slice]:
        """Rows that one thread takes at a time: at least ten times as many numbers as are kept of them."""
        n, d = self.shape
        return row_blocks(n, max(rows_per_block(self.held, BLOCK), 10 * d * d // self.held))

    @property
    def held(self) -> int:
        """Numbers that are stored of a row, on average."""
        n, d = self.shape
        return max(1, self.X.nnz // max(1, n)) if self.sparse else d

    @property
    def heavy(self) -> int:
        """How many rows have a weight."""
        return len(self) if self.weight is None else int(np.count_nonzero(self.weight))

    def only(self, targets: Array) -> Self:
        """With some of the targets."""
        return replace(self, Y=self.Y[:, targets])

    def one_by_one(self) -> Rows:
        """The same rows, read so that products keep all their digits, whatever that costs."""
        return self

    def view(self, rows: slice) -> Any:
        """Some rows of X, not copied, for products."""
        return row_view(self.X, rows) if self.sparse else self.X[rows]

    def batch(self, rows: slice) -> tuple[Any, Array, Array | None]:
        return self.X[rows], self.Y[rows], None if self.weight is None else self.weight[rows]

    def summarised(self, kind: type[S]) -> S:
        """All rows as one statistic."""
        zero = kind.zero(self.shape[1], self.targets)
        wide = self.shape[1] >= WORTH_THREADS and not self.sparse  # so large a product has its own threads
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

        blocks = row_blocks(len(self), rows_per_block(self.held, COPIED_BLOCK))
        return np.asarray(np.sqrt(sum(ordered_stream(of_block, blocks), np.zeros(change.shape[1]))))

    def target_lengths(self) -> Array:
        """Return ‖√weight y‖ for each target."""
        squares = np.square(self.Y)
        return np.asarray(np.sqrt(squares.sum(axis=0) if self.weight is None else self.weight @ squares))

    def gradient(self, shift: Array, v: Array) -> tuple[Array, Array]:
        """[1, x − shift]ᵀ (y − shift − [1, x − shift] v) of all rows: a value, and what rounding has left of it."""
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


def row_view(X: Any, rows: slice) -> Any:
    """Rows of a CSR matrix that share its entries."""
    begin, end = X.indptr[rows.start], X.indptr[rows.stop]
    view = sparse.csr_array((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    # one by one: a matrix made of views of much larger arrays would copy them
    view.indptr = X.indptr[rows.start : rows.stop + 1] - begin
    view.indices, view.data = X.indices[begin:end], X.data[begin:end]
    return view
