"""Covariance structures, and shrinkage towards a diagonal target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.solvers.gaps.em import Pull
from mercer.stats import FourthMoments, ScatterMoments


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

    def __call__(self, covariance: Array, weight: float) -> Pull:
        d = len(covariance)
        return Pull(self.amount, np.full(d, np.trace(covariance) / d))


@stored()
@dataclass(frozen=True)
class StandardisedShrinkage:
    """(1 − δ) R + δ tr(R)/d · I for the standardised columns, so that units do not matter; R has their correlations."""

    amount: float

    def __call__(self, covariance: Array, weight: float) -> Pull:
        variance = np.diagonal(covariance)
        # a constant column is constant in any unit; all others have variance 1
        return Pull(self.amount, np.where(variance > 0, variance, 1.0) * np.mean(variance > 0))


@stored()
@dataclass(frozen=True)
class OracleShrinkage:
    """δ by the oracle approximating formula (Chen, Wiesel, Eldar and Hero 2010, eq. 23), for standardised columns."""

    def __call__(self, covariance: Array, weight: float) -> Pull:
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
