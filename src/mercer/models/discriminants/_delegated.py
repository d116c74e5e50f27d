"""Covariances found by another estimator, which has to see the rows themselves."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np

from mercer._errors import DataError
from mercer._stored import floats, stored
from mercer._typing import Array
from mercer.stats import Statistic


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
