"""A function in the span of rows, Σ αᵢ k(x, xᵢ) + b, for each of some outputs: what a fitted kernel model is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._gpu import is_tensor, like
from mercer._stored import any_rows, floats, stored
from mercer._typing import Array
from mercer.designs.mapped_tensors import worth_double
from mercer.kernels import Gram, Kernel
from mercer.kernels.tensors import TensorGram
from mercer.models.base import is_sparse
from mercer.models.comparisons import count, take

#: rows that tell whether float32 has digits enough, and the error of their values, compared with the largest
SEEN, DIGITS = 256, 1e-5


@stored(rows=any_rows("n", "d"), alpha=floats("nk"), intercept=floats("k"))
@dataclass(frozen=True, eq=False)
class KernelFunction:
    """f(x) + b, for each output."""

    kernel: Kernel
    rows: Any
    alpha: Array  # (n, outputs)
    intercept: Array  # (outputs,)

    def values(self, X: Any) -> Any:
        """Of new rows, in shape (n, outputs); rows that do not count are not compared with."""
        if is_tensor(X):
            return self._of_tensor(X)
        used = np.flatnonzero(self.alpha.any(axis=1))
        if not used.size:
            return np.tile(self.intercept, (count(X), 1))
        rows = self.rows if len(used) == len(self.alpha) else take(self.rows, used)
        return np.asarray(Gram(self.kernel, X, rows).times(self.alpha[used]) + self.intercept)

    def _of_tensor(self, X: Any) -> Any:
        """On the device of X; in float64 where that costs little, or where coefficients that cancel leave no digits."""
        if not worth_double(X, len(self.alpha)):
            some = X[:: -(-len(X) // SEEN)]
            rough, fine = self._sums(some).double(), self._sums(some.double())
            if bool((rough - fine).abs().max() <= DIGITS * fine.abs().max()):
                return self._sums(X)
        return self._sums(X.double()).to(X.dtype)

    def _sums(self, X: Any) -> Any:
        """In the precision of X, added up in float64."""
        import torch

        rows = like(self.rows.toarray() if is_sparse(self.rows) else np.asarray(self.rows), X)
        alpha, intercept = (like(part, X, dtype=torch.float64) for part in (self.alpha, self.intercept))
        return (TensorGram(self.kernel, X, rows).times(alpha) + intercept).to(X.dtype)
