"""A linear function of features that stand for a kernel: what a fitted approximate kernel model is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import TooLargeError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._stored import any_rows, floats, part_of, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.base.validation import is_sparse
from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernel_approximation.nystroem_map import NystroemMap
from mercer.kernels import Gram, Kernel
from mercer.kernels.inputs import count, take
from mercer.kernels.tensors import TensorGram
from mercer.matrices.mapped_tensors import FeatureTensors, LandmarkTensors, MappedTensors, worth_double

# A function in the span of rows, Σ αᵢ k(x, xᵢ) + b, for each of some outputs: what a fitted kernel model is.

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


#: rows whose features are made at once
ROWS = 4096
#: rows of a tensor up to which all may be landmarks, and landmarks up to which their eigenvalues take no time
MOST_LANDMARKS, WHITENED = 20_000, 3_000


@stored(map=part_of(FourierMap, d="d"), alpha=floats("nk"), intercept=floats("k"))
@dataclass(frozen=True, eq=False)
class FourierFunction:
    """ψ(x)ᵀw + b, for each output."""

    kernel: Kernel
    map: FourierMap
    alpha: Array  # (features, outputs)
    intercept: Array  # (outputs,)
    #: no rows are compared with
    rows: None = None

    def values(self, X: Any) -> Any:
        """Of new rows, in shape (n, outputs)."""
        if is_tensor(X):
            return self._of_tensor(X)
        parts = [self.map(X[rows]) @ self.alpha for rows in row_blocks(count(X), ROWS)]
        return np.asarray(np.concatenate(parts) + self.intercept)

    def _of_tensor(self, X: Any) -> Any:
        features = FeatureTensors(X.double(), True, self.map, self.map.n_features)
        return features.times(np.vstack([self.alpha, self.intercept])).to(X.dtype)


Function = KernelFunction | FourierFunction


def feature_function(kernel: Kernel, map: NystroemMap | FourierMap, w: Array, intercept: Array) -> Function:
    """From coefficients of the features; of Nyström features a sum of kernels with the landmarks."""
    if isinstance(map, NystroemMap):
        return KernelFunction(kernel, map.landmarks, np.asarray(map.back @ w), intercept)
    return FourierFunction(kernel, map, w, intercept)


def tensor_design(kernel: Kernel, map: Any, X: Any, *, intercept: bool) -> MappedTensors:
    """The rows of a tensor as features see them; without a map all of them are landmarks, which is exact."""
    if isinstance(map, FourierMap):
        return FeatureTensors(X.double(), intercept, map, map.n_features)
    if map is None and len(X) > MOST_LANDMARKS:
        raise TooLargeError(
            f"a model with {kernel!r} that is exact on {len(X):,} rows of a tensor has a matrix of as many rows and "
            "columns on the card; give approximate='nystroem', or fewer rows."
        )
    if map is None and len(X) <= WHITENED:
        map = NystroemMap.of(kernel, to_numpy(X.double()), beside=X)
    landmarks = X if map is None else like(np.asarray(map.landmarks), X)
    back = map.back if isinstance(map, NystroemMap) else None
    return LandmarkTensors.of(kernel, X, landmarks, back, intercept=intercept)
