"""Covariances found by another estimator, which has to see the rows themselves."""

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

# The principal axes of a covariance, whatever the units of its columns.

#: smallest part of the largest variance of a column at which an eigenvalue solver, whose errors are parts of the
#: largest, leaves the smallest half of its digits
UNEVEN = 1e-8


def principal_axes(covariance: Array) -> tuple[Array, Array]:
    """Variances along the principal axes, descending, and the axes in columns.

    Beside columns of much larger numbers a small one has digits of its own: Jacobi rotations of the Cholesky factor
    find every variance to a small part of itself (Drmač and Veselić, 2008).
    """
    variance = np.diagonal(covariance)
    if variance.min() < UNEVEN * variance.max():
        try:
            return _by_rotations(cholesky(covariance).T)
        except SingularCovarianceError:
            pass  # there is a variance of 0, to rounding
    variances, axes = np.linalg.eigh(covariance)
    return np.maximum(variances[::-1], 0.0), axes[:, ::-1]


def _by_rotations(factor: Array) -> tuple[Array, Array]:
    """Squared singular values and right vectors of a triangle B D, however uneven the diagonal D is."""
    columns_scaled, left_unwanted, right_wanted, whole_range = 0, 3, 0, 0  # LAPACK's "C", "N", "V", "N"
    deviations, _, axes, work, *_ = lapack.dgejsv(
        factor, joba=columns_scaled, jobu=left_unwanted, jobv=right_wanted, jobr=whole_range
    )
    return np.square(deviations * (work[0] / work[1])), axes


# The error for a class whose covariance has no inverse.

#: how many columns a message names
MOST_NAMES = 10


# Not in mercer._errors, where NumPy would have to be imported: the command line answers before that is done.
class SingularClassError(SingularCovarianceError, np.linalg.LinAlgError):
    """A `SingularCovarianceError` that code written against scikit-learn catches as NumPy's `LinAlgError`."""


def singular_class(covariance: Array, owner: str, names: Sequence[str]) -> SingularClassError:
    """What to raise about a singular covariance: whose it is, which columns are to blame, and what helps."""
    return SingularClassError(f"the covariance of {owner} is singular: {to_blame(covariance, names)}")


def to_blame(covariance: Array, names: Sequence[str]) -> str:
    """Which columns make a covariance (or, of independent columns, variances) singular, and what helps."""
    full = covariance.ndim == 2
    columns = collinear_columns(covariance) if full else np.flatnonzero(covariance <= 0).tolist()
    listed = ", ".join(repr(names[j]) for j in columns[:MOST_NAMES]) + (", …" if len(columns) > MOST_NAMES else "")
    state = "collinear or constant" if full else "constant"
    what = f"columns {listed} are {state} there" if columns else "its columns are nearly collinear"
    if not covariance.any():
        return f"{what}; share the covariance with other classes, which have more than one distinct row."
    return f"{what}; leave columns out, or use shrinkage, e.g. shrinkage=0.1."


# Covariance structures, and shrinkage towards a diagonal target.


@stored()
@dataclass(frozen=True)
class Structure:
    """What covariances may look like, and whether the classes share one."""

    shape: str  # "full", "diagonal" or "spherical"
    shared: bool


#: by what the parameter `covariance` is called
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
    """(1 − δ) Σ + δ tr(Σ)/d · I."""

    amount: float

    def __call__(self, covariance: Array, weight: float) -> EMShrinkage:
        d = len(covariance)
        return EMShrinkage(self.amount, np.full(d, np.trace(covariance) / d))


@stored()
@dataclass(frozen=True)
class StandardisedShrinkage:
    """(1 − δ) R + δ tr(R)/d · I for the standardised columns, so that units do not matter; R has their correlations."""

    amount: float

    def __call__(self, covariance: Array, weight: float) -> EMShrinkage:
        variance = np.diagonal(covariance)
        # a constant column is constant in any unit; all others have variance 1
        return EMShrinkage(self.amount, np.where(variance > 0, variance, 1.0) * np.mean(variance > 0))


@stored()
@dataclass(frozen=True)
class OracleShrinkage:
    """δ by the oracle approximating formula (Chen, Wiesel, Eldar and Hero 2010, eq. 23), for standardised columns."""

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
    """None for an amount of 0, which leaves covariances as they are."""
    return FixedShrinkage(float(amount)) if amount else None


def class_covariances(
    moments: ScatterMoments, shrinkage: AnyShrinkage | None, fourth: FourthMoments | None = None
) -> Array:
    """The covariance of each class, shrunk; by Ledoit and Wolf's amounts where fourth moments are given."""
    covariances = moments.covariance
    if fourth is not None:
        each: list[AnyShrinkage | None] = [StandardisedShrinkage(float(amount)) for amount in fourth.ledoit_wolf()]
    else:
        each = [shrinkage] * len(covariances)
    parts = zip(covariances, moments.weight.tolist(), each, strict=True)
    return np.stack([shrunk(covariance, weight, how) for covariance, weight, how in parts])


def shared_covariance(
    moments: ScatterMoments, shrinkage: AnyShrinkage | None, fourth: FourthMoments | None = None
) -> Array:
    """The covariance about the means of the classes, shrunk likewise."""
    weight = float(moments.weight.sum())
    if fourth is not None:
        shrinkage = StandardisedShrinkage(fourth.ledoit_wolf_within())
    return shrunk(moments.within() / weight, weight, shrinkage)


def shrunk(covariance: Array, weight: float, shrinkage: AnyShrinkage | None) -> Array:
    """`covariance`, estimated from so much weight, pulled as `shrinkage` says."""
    return covariance if shrinkage is None else shrinkage(covariance, weight).applied(covariance)


@stored(classes=floats("kdd"), total=floats("dd"))
@dataclass(frozen=True)
class DelegatedCovariances(Statistic):
    """The covariance of each class, and of all rows together: final, since no rows can be added or taken out."""

    classes: Array  # (classes, columns, columns)
    total: Array  # (columns, columns)

    grouped = ("classes",)

    @classmethod
    def of(cls, estimator: Any, X: Array, codes: Array, n_classes: int) -> Self:
        """By an estimator with `fit` and `covariance_`, which is copied first."""
        classes = [_covariance(estimator, X[codes == c]) for c in range(n_classes)]
        return cls(np.stack(classes), _covariance(estimator, X))

    @property
    def groups(self) -> int:
        return len(self.classes)

    def empty(self) -> Self:
        return self

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> NoReturn:
        raise DataError(
            "a covariance_estimator sees the rows themselves, so that nothing can be learnt or forgotten afterwards, "
            "nor models be merged; fit on all rows at once, or use shrinkage instead."
        )

    def merge(self, other: Self) -> NoReturn:
        self.update(None, np.zeros(0))

    def subtract(self, other: Self) -> NoReturn:
        self.update(None, np.zeros(0))


def _covariance(estimator: Any, rows: Array) -> Array:
    fitted = copy.deepcopy(estimator)
    fitted.fit(rows)
    if not hasattr(fitted, "covariance_"):
        raise DataError(
            f"{type(estimator).__name__} does not have a covariance_ attribute. Give an estimator of "
            "sklearn.covariance, or none."
        )
    return np.atleast_2d(fitted.covariance_)
