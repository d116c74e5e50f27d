"""Functions of fitted kernel models: sums of kernels with rows, and linear functions of Fourier features."""

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

#: rows on which the accuracy of float32 is tested
PRECISION_SAMPLE = 256
#: largest error of their values, relative to the largest value, for which float32 is used
FLOAT32_VALUE_ERROR = 1e-5


@stored(rows=any_rows("n", "d"), alpha=floats("nk"), intercept=floats("k"))
@dataclass(frozen=True, eq=False)
class KernelFunction:
    """f(x) + b = Σ αᵢ k(x, xᵢ) + b, for each output."""

    kernel: Kernel
    rows: Any
    alpha: Array  # (n, outputs)
    intercept: Array  # (outputs,)

    def values(self, X: Any, *, double: bool | None = None) -> Any:
        """Return the values of new rows, of shape (n, outputs); rows with α = 0 are skipped.

        Values of float32 tensors are computed in float64 if `double`, by default where that is cheap (`worth_double`),
        and where coefficients cancel.
        """
        if is_tensor(X):
            return self._evaluate_tensor(X, worth_double(X, len(self.alpha)) if double is None else double)
        used = np.flatnonzero(self.alpha.any(axis=1))
        if not used.size:
            return np.tile(self.intercept, (count(X), 1))
        rows = self.rows if len(used) == len(self.alpha) else take(self.rows, used)
        return np.asarray(Gram(self.kernel, X, rows).matvec(self.alpha[used]) + self.intercept)

    def _evaluate_tensor(self, X: Any, double: bool) -> Any:
        """Compute on the device of X, in float64 if `double` or if coefficients cancel."""
        if not double:
            some = X[:: -(-len(X) // PRECISION_SAMPLE)]
            rough, fine = self._sums(some).double(), self._sums(some.double())
            if bool((rough - fine).abs().max() <= FLOAT32_VALUE_ERROR * fine.abs().max()):
                return self._sums(X)
        return self._sums(X.double()).to(X.dtype)

    def _sums(self, X: Any) -> Any:
        """Compute in the precision of X, with sums in float64."""
        import torch

        rows = like(self.rows.toarray() if is_sparse(self.rows) else np.asarray(self.rows), X)
        alpha, intercept = (like(part, X, dtype=torch.float64) for part in (self.alpha, self.intercept))
        return (TensorGram(self.kernel, X, rows).matvec(alpha) + intercept).to(X.dtype)


#: rows whose features are computed at once
FEATURE_BLOCK = 4096
#: rows of a tensor up to which all may be landmarks
MAX_EXACT_ROWS = 20_000
#: landmarks up to which the eigendecomposition of their kernel matrix takes little time
MAX_EIGEN_LANDMARKS = 3_000


@stored(map=part_of(FourierMap, d="d"), alpha=floats("nk"), intercept=floats("k"))
@dataclass(frozen=True, eq=False)
class FourierFunction:
    """ψ(x)ᵀw + b, for each output."""

    kernel: Kernel
    map: FourierMap
    alpha: Array  # (features, outputs)
    intercept: Array  # (outputs,)
    #: no rows are needed
    rows: None = None

    def values(self, X: Any) -> Any:
        """Return the values of new rows, of shape (n, outputs)."""
        if is_tensor(X):
            return self._evaluate_tensor(X)
        parts = [self.map(X[rows]) @ self.alpha for rows in row_blocks(count(X), FEATURE_BLOCK)]
        return np.asarray(np.concatenate(parts) + self.intercept)

    def _evaluate_tensor(self, X: Any) -> Any:
        features = FeatureTensors(X.double(), True, self.map, self.map.n_features)
        return features.matvec(np.vstack([self.alpha, self.intercept])).to(X.dtype)


Function = KernelFunction | FourierFunction


def feature_function(kernel: Kernel, map: NystroemMap | FourierMap, w: Array, intercept: Array) -> Function:
    """Return the function with these coefficients of the features; for Nyström features a sum of kernels."""
    if isinstance(map, NystroemMap):
        return KernelFunction(kernel, map.landmarks, np.asarray(map.back @ w), intercept)
    return FourierFunction(kernel, map, w, intercept)


def tensor_design(kernel: Kernel, map: Any, X: Any, *, intercept: bool) -> MappedTensors:
    """Return the rows of a tensor as features; without a map all of them are landmarks, which is exact."""
    if isinstance(map, FourierMap):
        return FeatureTensors(X.double(), intercept, map, map.n_features)
    if map is None and len(X) > MAX_EXACT_ROWS:
        raise TooLargeError(
            f"a model with {kernel!r} that is exact on {len(X):,} rows of a tensor has a matrix of as many rows and "
            "columns on the card; give approximate='nystroem', or fewer rows."
        )
    if map is None and len(X) <= MAX_EIGEN_LANDMARKS:
        map = NystroemMap.of(kernel, to_numpy(X.double()), data=X)
    landmarks = X if map is None else like(np.asarray(map.landmarks), X)
    back = map.back if isinstance(map, NystroemMap) else None
    return LandmarkTensors.of(kernel, X, landmarks, back, intercept=intercept)
