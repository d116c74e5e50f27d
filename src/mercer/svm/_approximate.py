"""Support vector machines on features that approximate the kernel.

The features are computed once for all machines, and for new rows, which are not compared with support vectors.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mercer._errors import KernelError
from mercer._memory import check_memory
from mercer._stored import any_rows, floats, optional, part_of, reals, stored
from mercer._threads import blas_for, row_blocks
from mercer._typing import Array
from mercer.base.kernel_choice import sample_row_numbers
from mercer.kernel_approximation.approximate import Approximation, assess_approximation
from mercer.kernel_approximation.nystroem_map import NystroemMap
from mercer.kernels import Gram, Kernel, Linear, check_positive_definite
from mercer.kernels.inputs import count, take
from mercer.svm._training import DEFINITENESS_SAMPLE, USER_ENTRY_ERROR, TrainingRows
from mercer.svm.feature_machine import FEATURE_COPIES, FeatureRows

#: rows whose features are computed at once for predictions
PREDICTION_BLOCK = 4096
#: seconds that a fit to a sample may take when the approximation is assessed
SAMPLE_FIT_SECONDS = 2.0


@stored(map=part_of(), support=any_rows("n", "d"), weights=floats(), centre=optional(reals()))
@dataclass(frozen=True, eq=False)
class FeatureComparison:
    """f(x) = ψ(x)·w for each machine, without the support vectors."""

    map: Any
    kernel: Kernel
    support: Any
    weights: Array  # (features, machines)
    #: subtracted from rows in the fit, where only the intercept depends on it
    centre: Array | None = None

    def matvec(self, X: Any, v: Array) -> Array:
        """Return ψ(X) W; v, the coefficients of the support vectors, is already contained in W."""
        if isinstance(self.kernel, Linear):
            return np.asarray(X @ self.columns())
        if isinstance(self.map, NystroemMap):
            # in float64: coefficients of landmarks that are near each other are large, and cancel
            return Gram(self.kernel, X, self.map.landmarks).matvec(self._landmark_coefficients)
        blocks = row_blocks(count(X), PREDICTION_BLOCK)
        return np.concatenate([self.map(X[rows]) @ self.weights for rows in blocks])

    @property
    def _landmark_coefficients(self) -> Array:
        """Return the coefficients c of the landmarks: ψ(x)·w = Σ c k(x, landmark)."""
        return np.asarray(self.map.back @ self.weights)

    def columns(self) -> Array:
        """Return the weights of the columns of X for each machine, where the kernel is linear."""
        return np.asarray(self.map.landmarks.T @ self._landmark_coefficients)

    def among(self, a: Array, b: Array) -> Array:
        """Return ψ(x)·ψ(z) of support vectors by their positions."""
        first, second = (self.map(self.centre_rows(take(self.support, positions))) for positions in (a, b))
        return np.asarray(first @ second.T)

    def centre_rows(self, rows: Any) -> Any:
        """Return rows as the fit used them, less the centre."""
        return rows if self.centre is None else rows - self.centre


def prepare_by_features(kernel: Kernel, map: Any, kept: Any, X: Any, groups: Any, centre: Array | None) -> TrainingRows:
    """Prepare rows, less their centre if there is one, by their features; see `_training.prepare_by_kernel`."""
    n = count(kept)
    check_memory(
        8.0 * FEATURE_COPIES * n * map.n_features,
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
        definite = check_positive_definite(
            kernel, take(kept, sample_row_numbers(n, DEFINITENESS_SAMPLE)), entry_error=USER_ENTRY_ERROR
        )

    def of_pair(i: int, j: int) -> FeatureRows:
        return rows if len(groups) == 1 else rows.take(np.concatenate([groups[i], groups[j]]))

    empty = np.zeros((map.n_features, 0))
    return TrainingRows(
        of_pair,
        rows.diagonal,
        "float64",
        definite,
        lambda numbers: FeatureComparison(map, kernel, take(X, numbers), empty, centre),
        features=rows,
    )


@dataclass(frozen=True, eq=False)
class FittedFeatures:
    """`approximate` of a model that uses the fitted features of another one."""

    map: Any

    def fit(self, X: Any, y: Any = None) -> Self:
        return self

    def transform(self, X: Any) -> Array:
        return np.asarray(self.map(X))


def assess_features(model: Any, X: Any, y: Array, weight: Array) -> Approximation:
    """Return how well the features of a fitted machine approximate the kernel.

    This includes a comparison of exact and approximate machines on a sample of the rows.
    """
    comparison: FeatureComparison = model._comparison

    def values(rows: Any, numbers: Array, others: Any) -> tuple[Array, Array]:
        if hasattr(model, "classes_") and len(np.unique(y[numbers])) < 2:  # one class has no boundary
            return np.full((1, 1), np.nan), np.full((1, 1), np.nan)
        growth = count(X) / len(numbers)
        twins = [
            _clone_for_sample(model, comparison.kernel, features, growth)
            for features in (None, FittedFeatures(comparison.map))
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for twin in twins:
                twin.fit(rows, y[numbers], weight[numbers])
        exact, approximate = (twin._scores(others, twin._columns()) for twin in twins)
        return exact, approximate

    return assess_approximation(comparison.map, comparison.kernel, X, values)


def _clone_for_sample(model: Any, kernel: Kernel, approximate: Any, growth: float) -> Any:
    """Return an unfitted model for fewer rows, whose losses weigh as much against the penalty as those of all rows."""
    quiet = {"verbose": False, "callback": None, "warm_start": False, "max_iter": -1, "time_limit": SAMPLE_FIT_SECONDS}
    C = model.C if model.scaling == "mean" else min(model.C * growth, np.finfo(float).max)
    return clone(model).set_params(kernel=kernel, approximate=approximate, C=C, **quiet)
