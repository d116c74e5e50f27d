"""A linear function of features that stand for a kernel: what a fitted approximate kernel model is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import TooLargeError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._stored import floats, part_of, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.designs.mapped_tensors import FeatureTensors, LandmarkTensors, MappedTensors
from mercer.features.fourier import FourierMap
from mercer.features.nystroem import NystroemMap
from mercer.kernels import Kernel
from mercer.models.comparisons import count
from mercer.models.kernel_models.function import KernelFunction

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
