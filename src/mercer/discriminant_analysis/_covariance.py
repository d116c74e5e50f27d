"""Covariances of classes: structures, shrinkage, principal axes, errors for singular ones, and other estimators.

The amount of shrinkage by Ledoit and Wolf's formula is computed from fourth moments in `mercer.stats.fourth`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
from scipy.linalg import lapack

from mercer._errors import DataError, SingularCovarianceError
from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.families.multivariate import cholesky, collinear_columns
from mercer.optim.em import EMShrinkage
from mercer.stats import FourthMoments, ScatterMoments, Statistic

#: ratio of the smallest to the largest variance of a column down to which an eigenvalue solver, whose errors are
#: relative to the largest, leaves the smallest half of its digits
LEAST_VARIANCE_RATIO = 1e-8


def principal_axes(covariance: Array) -> tuple[Array, Array]:
    """Return the variances along the principal axes, descending, and the axes in columns, for columns in any units.

    Where the variances of columns differ much, Jacobi rotations of the Cholesky factor compute every variance with
    small relative error (Drmač and Veselić, 2008).
    """
    variance = np.diagonal(covariance)
    if variance.min() < LEAST_VARIANCE_RATIO * variance.max():
        try:
            return _by_rotations(cholesky(covariance).T)
        except SingularCovarianceError:
            pass  # a variance is 0, up to rounding
    variances, axes = np.linalg.eigh(covariance)
    return np.maximum(variances[::-1], 0.0), axes[:, ::-1]


def _by_rotations(factor: Array) -> tuple[Array, Array]:
    """Return squared singular values and right vectors of a triangle B D, for a diagonal D of any range."""
    columns_scaled, left_unwanted, right_wanted, whole_range = 0, 3, 0, 0  # LAPACK's "C", "N", "V", "N"
    deviations, _, axes, work, *_ = lapack.dgejsv(
        factor, joba=columns_scaled, jobu=left_unwanted, jobv=right_wanted, jobr=whole_range
    )
    return np.square(deviations * (work[0] / work[1])), axes


#: columns that a message lists
MOST_COLUMNS_LISTED = 10


# not in mercer._errors, which must not import NumPy, so that the command line starts fast
class SingularClassError(SingularCovarianceError, np.linalg.LinAlgError):
    """A `SingularCovarianceError` that code written against scikit-learn catches as NumPy's `LinAlgError`."""


def singular_class(covariance: Array, owner: str, names: Sequence[str]) -> SingularClassError:
    """Return the error for the singular covariance of `owner`, with its collinear columns and a remedy."""
    return SingularClassError(f"the covariance of {owner} is singular: {describe_singularity(covariance, names)}")


def describe_singularity(covariance: Array, names: Sequence[str]) -> str:
    """Describe which columns make a covariance, or variances of independent columns, singular, and a remedy."""
    full = covariance.ndim == 2
    columns = collinear_columns(covariance) if full else np.flatnonzero(covariance <= 0).tolist()
    listed = ", ".join(repr(names[j]) for j in columns[:MOST_COLUMNS_LISTED]) + (
        ", …" if len(columns) > MOST_COLUMNS_LISTED else ""
    )
    state = "collinear or constant" if full else "constant"
    noun, are = ("column", "is") if len(columns) == 1 else ("columns", "are")
    what = f"{noun} {listed} {are} {state} there" if columns else "its columns are nearly collinear"
    if not covariance.any():
        return f"{what}; share the covariance with other classes, which have more than one distinct row."
    return f"{what}; leave columns out, or use shrinkage, e.g. shrinkage=0.1."


@stored()
@dataclass(frozen=True)
class Structure:
    """The shape of covariances, and whether the classes share one."""

    shape: str  # "full", "diagonal" or "spherical"
    shared: bool


#: structures by the values of the parameter `covariance`
STRUCTURES = {
    "full": Structure("full", shared=False),
    "diagonal": Structure("diagonal", shared=False),
    "spherical": Structure("spherical", shared=False),
    "shared full": Structure("full", shared=True),
    "shared diagonal": Structure("diagonal", shared=True),
    "shared spherical": Structure("spherical", shared=True),
}


@stored()
@dataclass(frozen=True)
class FixedShrinkage:
    """Shrinkage to (1 − δ) Σ + δ tr(Σ)/d · I."""

    amount: float

    def __call__(self, covariance: Array, weight: float) -> EMShrinkage:
        d = len(covariance)
        return EMShrinkage(self.amount, np.full(d, np.trace(covariance) / d))


@stored()
@dataclass(frozen=True)
class StandardisedShrinkage:
    """Shrinkage to (1 − δ) R + δ tr(R)/d · I for standardised columns with correlations R; units do not matter."""

    amount: float

    def __call__(self, covariance: Array, weight: float) -> EMShrinkage:
        variance = np.diagonal(covariance)
        # standardised columns have variance 1, except constant ones
        return EMShrinkage(self.amount, np.where(variance > 0, variance, 1.0) * np.mean(variance > 0))


@stored()
@dataclass(frozen=True)
class OracleShrinkage:
    """Shrinkage of standardised columns by the oracle approximating formula (Chen et al. 2010, eq. 23)."""

    def __call__(self, covariance: Array, weight: float) -> EMShrinkage:
        return StandardisedShrinkage(_oracle_amount(covariance, weight))(covariance, weight)


def _oracle_amount(covariance: Array, weight: float) -> float:
    variance = np.diagonal(covariance)
    unit = np.sqrt(np.where(variance > 0, variance, 1.0))
    d = len(covariance)
    mean_square = np.square(covariance / unit[:, None] / unit).mean()
    squared_mean = np.mean(variance > 0) ** 2
    excess = (weight + 1) * (mean_square - squared_mean / d)
    return 1.0 if excess <= 0 else min(1.0, (mean_square + squared_mean) / excess)


AnyShrinkage = FixedShrinkage | StandardisedShrinkage | OracleShrinkage


def fixed_shrinkage(amount: float) -> FixedShrinkage | None:
    """Return the shrinkage by an amount; None for 0, which does not change covariances."""
    return FixedShrinkage(float(amount)) if amount else None


def class_covariances(
    moments: ScatterMoments, shrinkage: AnyShrinkage | None, fourth: FourthMoments | None = None
) -> Array:
    """Return the shrunk covariance of each class; by Ledoit and Wolf's amounts where fourth moments are given."""
    covariances = moments.covariance
    if fourth is not None:
        each: list[AnyShrinkage | None] = [StandardisedShrinkage(float(amount)) for amount in fourth.ledoit_wolf()]
    else:
        each = [shrinkage] * len(covariances)
    parts = zip(covariances, moments.weight.tolist(), each, strict=True)
    return np.stack([shrink(covariance, weight, how) for covariance, weight, how in parts])


def shared_covariance(
    moments: ScatterMoments, shrinkage: AnyShrinkage | None, fourth: FourthMoments | None = None
) -> Array:
    """Return the covariance within the classes, shrunk as by `class_covariances`."""
    weight = float(moments.weight.sum())
    if fourth is not None:
        shrinkage = StandardisedShrinkage(fourth.ledoit_wolf_within())
    return shrink(moments.within() / weight, weight, shrinkage)


def shrink(covariance: Array, weight: float, shrinkage: AnyShrinkage | None) -> Array:
    """Return a covariance, estimated from rows of this weight, after `shrinkage`."""
    return covariance if shrinkage is None else shrinkage(covariance, weight).apply(covariance)


@stored(classes=floats("kdd"), total=floats("dd"))
@dataclass(frozen=True)
class DelegatedCovariances(Statistic):
    """The covariances of each class and of all rows by another estimator; rows can be neither added nor removed."""

    classes: Array  # (classes, columns, columns)
    total: Array  # (columns, columns)

    grouped = ("classes",)

    @classmethod
    def of(cls, estimator: Any, X: Array, codes: Array, n_classes: int) -> Self:
        """Return the covariances by copies of an estimator with `fit` and `covariance_`."""
        classes = [_fit_covariance(estimator, X[codes == c]) for c in range(n_classes)]
        return cls(np.stack(classes), _fit_covariance(estimator, X))

    @property
    def groups(self) -> int:
        return len(self.classes)

    def empty(self) -> Self:
        return self

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> NoReturn:
        raise DataError(
            "a covariance_estimator needs the rows themselves, so that nothing can be learnt or forgotten afterwards, "
            "nor models be merged; fit on all rows at once, or use shrinkage instead."
        )

    def merge(self, other: Self) -> NoReturn:
        self.update(None, np.zeros(0))

    def subtract(self, other: Self) -> NoReturn:
        self.update(None, np.zeros(0))


def _fit_covariance(estimator: Any, rows: Array) -> Array:
    fitted = copy.deepcopy(estimator)
    fitted.fit(rows)
    if not hasattr(fitted, "covariance_"):
        raise DataError(
            f"{type(estimator).__name__} does not have a covariance_ attribute. Give an estimator of "
            "sklearn.covariance, or none."
        )
    return np.atleast_2d(fitted.covariance_)
