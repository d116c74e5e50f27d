"""Rows of x and y to be fitted by least squares, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer._threads import WORTH_THREADS, blas_for, row_blocks
from mercer.data.source import rows_per_block
from mercer.engines.here import reduce
from mercer.stats.normal_equations import NormalEquations
from mercer.stats.r_factor import RFactor

Array = NDArray[Any]
S = TypeVar("S", NormalEquations, RFactor)

#: bytes of numbers that one thread takes at a time: many, so that their sums cost little; few, so that all have work
BLOCK = 1 << 25


@dataclass(frozen=True, eq=False)
class Rows:
    """X (n, columns), dense or CSR; Y (n, targets); and the weights of the rows, 1 if not given."""

    X: Any
    Y: Array
    weight: Array | None = None

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
        held = max(1, self.X.nnz // max(1, n)) if self.sparse else d
        return row_blocks(n, max(rows_per_block(held, BLOCK), 10 * d * d // held))

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
