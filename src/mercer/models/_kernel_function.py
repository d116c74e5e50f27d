"""A function in the span of rows, Σ αᵢ k(x, xᵢ) + b, for each of some outputs: what a fitted kernel model is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Gram, Kernel
from mercer.models._comparisons import count, take

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """f(x) + b, for each output."""

    kernel: Kernel
    rows: Any
    alpha: Array  # (n, outputs)
    intercept: Array  # (outputs,)

    def values(self, X: Any) -> Array:
        """Of new rows, in shape (n, outputs); rows that do not count are not compared with."""
        used = np.flatnonzero(self.alpha.any(axis=1))
        if not used.size:
            return np.tile(self.intercept, (count(X), 1))
        rows = self.rows if len(used) == len(self.alpha) else take(self.rows, used)
        return np.asarray(Gram(self.kernel, X, rows).times(self.alpha[used]) + self.intercept)
