"""Penalised least squares in working coordinates: columns centred and of length about one, responses likewise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._errors import NonFiniteError
from mercer._typing import Array
from mercer.families.penalties import Strengths
from mercer.solvers.least_squares.rows import Rows
from mercer.solvers.sparse._columns import CONSTANT, SMALL, Columns, DenseColumns, SparseColumns, unit_of
from mercer.solvers.sparse.duality import STRONGEST, Penalty
from mercer.stats.normal_equations import NormalEquations

__all__ = ["CONSTANT", "Regression"]

#: columns up to which all of their products are formed, if there are so many times as many rows
ALL_AT_ONCE, ROWS_PER_COLUMN = 1_000, 2


@dataclass(frozen=True, eq=False)
class Regression:
    """½ Σ weight (y − b − X β)² with X β = unit · X̃ w, where X̃ are the `columns` and `target` is (y − ȳ) / unit."""

    columns: Columns
    lengths: Array  # of the columns
    weight: Array
    target: Array
    level: float  # ȳ, or 0 without an intercept
    unit: float
    intercept: bool
    mean: Array  # of the coefficients, a priori
    #: products of all columns with each other, and their slopes where all coefficients are zero, if these are known
    gram: Array | None = None
    first: Array | None = None

    @classmethod
    def of(cls, X: Any, y: Array, weight: Array | None, mean: Array, *, intercept: bool) -> Self:
        """From data of any scale; `NonFiniteError` if sums of their squares are not finite."""
        ones = np.ones(len(y)) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            target = np.asarray(y, dtype=np.float64) - (X @ mean if mean.any() else 0.0)
            # about the first value, which is exact where all are the same
            level = float(target[0] + np.average(target - target[0], weights=ones)) if intercept else 0.0
            target -= level
            unit = float(unit_of(np.asarray(ones @ np.square(target))))
            columns, squares, gram, first = _columns(X, target, weight, ones, intercept=intercept)
            known = np.isfinite(squares).all() and np.isfinite(target).all() and np.isfinite(np.square(unit))
        if not known:
            raise NonFiniteError("the data are not finite, or their squares are not; divide the largest columns.")
        first = None if first is None else first / unit
        return cls(columns, np.sqrt(squares), ones, target / unit, level, unit, intercept, mean, gram, first)

    @property
    def n_columns(self) -> int:
        return self.columns.n_columns

    @property
    def scale(self) -> float:
        """Σ weight (y − ȳ)², in working units."""
        return float(self.weight @ np.square(self.target))

    def penalty(self, strengths: Strengths, *, positive: bool = False) -> Penalty:
        """A penalty of the user's coefficients, as one of the working ones; columns without spread stay at zero."""
        scale = self.columns.scale
        with np.errstate(over="ignore", under="ignore"):
            l1, l2 = strengths.l1 / scale / self.unit, strengths.l2 / scale / scale
        l1[self.lengths == 0] = STRONGEST
        return Penalty(np.minimum(l1, STRONGEST), np.minimum(l2, STRONGEST), positive)

    def residuals(self, fitted: Array) -> Array:
        """Of several X̃ w at once, about their weighted means."""
        R = self.target - fitted
        if self.intercept:
            R -= (R @ self.weight / self.weight.sum())[:, None]
        return np.asarray(R)

    def slopes(self, R: Array, ids: Array | None = None) -> Array:
        """X̃ᵀ weight r."""
        return self.columns.products(R * self.weight, ids)

    def slopes_at_zero(self) -> Array:
        """Of coefficients that are all zero."""
        return self.slopes(self.target[None])[0] if self.first is None else self.first

    def squares(self, R: Array) -> Array:
        """Σ weight r² of each."""
        return np.asarray(np.square(R) @ self.weight)

    def working(self, coefficients: Array) -> Array:
        """Working coefficients of the user's."""
        w = (coefficients - self.mean) * self.columns.scale / self.unit
        return np.asarray(np.where(self.lengths > 0, w, 0.0))

    def coefficients(self, w: Array) -> tuple[Array, float]:
        """The user's coefficients and intercept."""
        away = w * self.unit / self.columns.scale
        intercept = self.level - float(self.columns.centre @ away) if self.intercept else 0.0
        return self.mean + away, intercept


def _columns(
    X: Any, target: Array, weight: Array | None, ones: Array, *, intercept: bool
) -> tuple[Columns, Array, Array | None, Array | None]:
    """Columns and their squared lengths; of few columns with many rows also their products, from the same pass."""
    if hasattr(X, "indptr"):
        return *SparseColumns.standardised(X, ones, centred=intercept), None, None
    n, p = X.shape
    if p > min(ALL_AT_ONCE, n // ROWS_PER_COLUMN) or n * p <= SMALL:
        return *DenseColumns.standardised(X, ones, centred=intercept), None, None
    sums = Rows(X, target[:, None], weight).summarised(NormalEquations)
    gram, moment, _ = sums.products(centred=intercept)
    centre = sums.mean[0] if intercept else np.zeros(p)
    squares = np.array(gram.diagonal())
    squares[squares <= sums.weight * np.square(CONSTANT * centre)] = 0.0
    columns = DenseColumns(X, centre, unit_of(squares))
    units = columns.scale[:, None] * columns.scale
    return columns, squares / np.square(columns.scale), gram / units, moment[:, 0] / columns.scale
