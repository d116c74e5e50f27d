"""Support vector machines on features that approximate the kernel: made once for all machines, and for new rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mercer._errors import KernelError
from mercer._memory import refuse_beyond_memory
from mercer._stored import any_rows, floats, optional, part_of, reals, stored
from mercer._threads import blas_for, row_blocks
from mercer._typing import Array
from mercer.base.kernel_choice import sample_of
from mercer.kernel_approximation.approximate import Approximation, approximation
from mercer.kernel_approximation.nystroem_map import NystroemMap
from mercer.kernels import Gram, Kernel, Linear, check_positive_definite
from mercer.kernels.inputs import count, take
from mercer.svm._training import ENTRY, LOOKED_AT, MachineTraining
from mercer.svm.feature_machine import COPIES, FeatureRows

#: rows whose features are made at once for predictions
ROWS = 4096
#: seconds that a fit to a sample may take
SECONDS = 2.0


@stored(map=part_of(), support=any_rows("n", "d"), weights=floats(), centre=optional(reals()))
@dataclass(frozen=True, eq=False)
class ByFeatures:
    """f(x) = ψ(x)·w, of each machine: new rows are never compared with support vectors."""

    map: Any
    kernel: Kernel
    support: Any
    weights: Array  # (features, machines)
    #: what the fit has taken from rows, where only the intercept depends on it
    centre: Array | None = None

    def times(self, X: Any, v: Array) -> Array:
        """ψ(X) W; v, the coefficients of the support vectors, is in W already."""
        if isinstance(self.kernel, Linear):
            return np.asarray(X @ self.columns())
        if isinstance(self.map, NystroemMap):
            # of float64: coefficients of landmarks are large where these are near each other, and cancel
            return Gram(self.kernel, X, self.map.landmarks).times(self._of_landmarks)
        blocks = row_blocks(count(X), ROWS)
        return np.concatenate([self.map(X[rows]) @ self.weights for rows in blocks])

    @property
    def _of_landmarks(self) -> Array:
        """Coefficients of the landmarks: ψ(x)·w = Σ c k(x, landmark)."""
        return np.asarray(self.map.back @ self.weights)

    def columns(self) -> Array:
        """Weights of the columns of X, a column for each machine, where the kernel is linear."""
        return np.asarray(self.map.landmarks.T @ self._of_landmarks)

    def among(self, a: Array, b: Array) -> Array:
        """ψ(x)·ψ(z) of support vectors by their positions."""
        first, second = (self.map(self.centred(take(self.support, positions))) for positions in (a, b))
        return np.asarray(first @ second.T)

    def centred(self, rows: Any) -> Any:
        """Rows as the fit had them."""
        return rows if self.centre is None else rows - self.centre


def by_features(kernel: Kernel, map: Any, kept: Any, X: Any, groups: Any, centre: Array | None) -> MachineTraining:
    """Rows, less their centre if there is one, seen through a feature map; see `_training.by_kernel`."""
    n = count(kept)
    refuse_beyond_memory(
        8.0 * COPIES * n * map.n_features,
        f"{map.n_features} features of each of {n:,} rows",
        "use fewer of them (approximate=Nystroem(n_components=…)), or fewer rows",
    )
    features = np.ascontiguousarray(map(kept), dtype=float)
    if not np.isfinite(np.sum(features)):
        raise KernelError(
            f"{kernel!r} has features that are not finite, or too large for float64, on these rows; divide the columns "
            "by their scale, or use kernel.normalised()."
        )
    rows = FeatureRows.of(features)
    with blas_for(1):
        definite = check_positive_definite(kernel, take(kept, sample_of(n, LOOKED_AT)), entry_error=ENTRY)

    def of_pair(i: int, j: int) -> FeatureRows:
        return rows if len(groups) == 1 else rows.take(np.concatenate([groups[i], groups[j]]))

    nothing = np.zeros((map.n_features, 0))
    return MachineTraining(
        of_pair,
        rows.diagonal,
        "float64",
        definite,
        lambda numbers: ByFeatures(map, kernel, take(X, numbers), nothing, centre),
        features=rows,
    )


@dataclass(frozen=True, eq=False)
class KnownFeatures:
    """`approximate` of a model that takes the features of another one as they are."""

    map: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        return self

    def transform(self, X: Any) -> Array:
        return np.asarray(self.map(X))


def described(model: Any, X: Any, y: Array, weight: Array) -> Approximation:
    """How good the features of a fitted machine are, also by exact and approximate machines of a sample of the rows."""
    comparison: ByFeatures = model._comparison

    def values(rows: Any, numbers: Array, others: Any) -> tuple[Array, Array]:
        if hasattr(model, "classes_") and len(np.unique(y[numbers])) < 2:  # which nobody can tell apart
            return np.full((1, 1), np.nan), np.full((1, 1), np.nan)
        growth = count(X) / len(numbers)
        twins = [_twin(model, comparison.kernel, asked, growth) for asked in (None, KnownFeatures(comparison.map))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for twin in twins:
                twin.fit(rows, y[numbers], weight[numbers])
        exact, approximate = (twin._scores(others, twin._columns()) for twin in twins)
        return exact, approximate

    return approximation(comparison.map, comparison.kernel, X, values)


def _twin(model: Any, kernel: Kernel, approximate: Any, growth: float) -> Any:
    """An unfitted model for fewer rows, whose losses count as much beside the penalty as those of all rows."""
    quiet = {"verbose": False, "callback": None, "warm_start": False, "max_iter": -1, "time_limit": SECONDS}
    C = model.C if model.scaling == "mean" else min(model.C * growth, np.finfo(float).max)
    return clone(model).set_params(kernel=kernel, approximate=approximate, C=C, **quiet)
