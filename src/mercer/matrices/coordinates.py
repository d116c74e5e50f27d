"""Working coordinates: columns shifted and scaled so that arithmetic keeps its digits, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer._stored import floats, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.families.penalties import Strengths

#: rows from which shift and scale are taken; any value near the data will do
PILOT_ROWS = 1000
#: rows of a column read at once
READ_ROWS = 1 << 16
#: scales lie between 2^−1000 and 2^1000, so that they and their inverses are normal numbers
LARGEST_EXPONENT = 1000
#: a penalty of a working coefficient stays below this, so that it can be multiplied; and one that is not 0 above that
LARGEST_STRENGTH, SMALLEST_STRENGTH = 1e290, 1e-290
#: a column without spread gets a scale this many times smaller than its value: "far from zero", see `near`
FAR = 256.0
#: distances up to this portion of the value are rounding; they get a scale at which their squares vanish
ROUNDING, VANISHING = 4 * float(np.finfo(float).eps), 2.0**520
#: shifts up to this many scales cost two digits when they are taken out of a product instead of out of the data
NEAR = 64.0


@stored(shift=floats("d"), scale=floats("d"), tag="DesignCoordinates")
@dataclass(frozen=True, eq=False)
class Coordinates:
    """Column j is (x_j − shift_j) / scale_j; with an intercept, a column of ones comes last.

    A shift moves the intercept, so that without an intercept there are no shifts. Scales are powers of two: they round
    nothing.
    """

    shift: Array
    scale: Array
    intercept: bool

    @classmethod
    def plain(cls, columns: int, *, intercept: bool) -> Self:
        return cls(np.zeros(columns), np.ones(columns), intercept)

    @classmethod
    def of(cls, X: Array, *, intercept: bool, extremes: Array | None = None) -> Self:
        """From rows spread over X: shift and scale need not be the mean and spread, only near them.

        Where X are but some of the rows, `extremes` are two more, with the lowest and highest values of all.
        """
        shift, scale = _centre_and_spread(_pilot(X), intercept=intercept)
        if (still := np.flatnonzero(scale == 0)).size:
            scale[still] = _largest_distance(X if extremes is None else extremes, still, shift[still])
        value = np.abs(shift)
        with np.errstate(over="ignore"):
            scale = np.where(scale > ROUNDING * value, scale, value * np.where(scale > 0, VANISHING, 1 / FAR))
        return cls(shift, power_of_two(scale), intercept)

    def at(self, places: Array) -> Self:
        """Of some columns, without an intercept of their own."""
        return type(self)(self.shift[places], self.scale[places], intercept=False)

    @property
    def n_columns(self) -> int:
        return len(self.shift) + self.intercept

    @cached_property
    def shifted(self) -> bool:
        """Whether any shift is not 0."""
        return bool(self.shift.any())

    @cached_property
    def unscaled(self) -> bool:
        """Whether every scale is 1."""
        return bool((self.scale == 1).all())

    @cached_property
    def near(self) -> bool:
        """Whether the shifts may be taken out of products: (Xᵀr)_j − shift_j Σr keeps all but two digits.

        Not of columns without spread, which are to be exactly 0 and not a rounding error.
        """
        return bool((np.abs(self.shift) <= NEAR * self.scale).all())

    def to_user(self, w: Array) -> tuple[Array, Array]:
        """Coefficients and intercept in the units of the data; the columns of `w` may be several, (p, k)."""
        p = len(self.shift)
        coefficients = (w[:p].T / self.scale).T
        intercept = w[p] - self.shift @ coefficients if self.intercept else np.zeros(w.shape[1:])
        return coefficients, np.asarray(intercept)

    def from_user(self, coefficients: Array, intercept: Array | float = 0.0) -> Array:
        """The inverse of `to_user`."""
        scaled = (coefficients.T * self.scale).T
        if not self.intercept:
            return np.asarray(scaled)
        return np.concatenate([scaled, np.asarray(intercept + self.shift @ coefficients)[None]])

    def jacobian(self) -> Array:
        """The matrix that takes working coefficients to the user's, intercept last."""
        matrix = np.diag(np.append(1 / self.scale, np.ones(int(self.intercept))))
        if self.intercept:
            matrix[-1, :-1] = -self.shift / self.scale
        return matrix

    def strengths(self, penalty: Strengths) -> Strengths:
        """A penalty of the user's coefficients, as one of the working coefficients; the intercept goes free."""
        free = np.zeros(int(self.intercept))
        l1, l2, mean = penalty
        with np.errstate(over="ignore", under="ignore"):
            l1, l2 = _bounded(l1, l1 / self.scale), _bounded(l2, l2 / self.scale / self.scale)
        return Strengths(np.append(l1, free), np.append(l2, free), np.append(mean * self.scale, free))


def that_count(X: Any, weight: Any) -> Any:
    """The rows that weigh something, from which coordinates are chosen; X itself where all of them do, or none does."""
    if weight is None:
        return X
    counts = weight != 0
    return X if bool(counts.all()) or not bool(counts.any()) else X[counts]


def _bounded(penalty: Array, strength: Array) -> Array:
    """A strength within bounds; 0 only where the penalty is."""
    return np.where(penalty > 0, np.clip(strength, SMALLEST_STRENGTH, LARGEST_STRENGTH), 0.0)


def _pilot(X: Array) -> Array:
    """Rows spread over X, as floats; what is not finite is left for the products to find."""
    rows = np.asarray(X[:: max(1, len(X) // PILOT_ROWS)], dtype=float)
    return np.where(np.isfinite(rows), rows, 0.0)


def _centre_and_spread(rows: Array, *, intercept: bool) -> tuple[Array, Array]:
    """Mean (0 without an intercept) and root mean square about it, of numbers of any size."""
    size = np.abs(rows).max(axis=0, initial=0.0)
    size[size == 0] = 1.0
    rows = rows / size
    count = max(1, len(rows))
    mean = rows.sum(axis=0) / count if intercept else np.zeros(rows.shape[1])
    spread = np.sqrt(np.square(rows - mean).sum(axis=0) / count)
    # rounding alone gives a constant column some spread
    spread[spread <= 1e-14] = 0.0
    return np.where(spread == 0, rows[:1].sum(axis=0) * bool(intercept), mean) * size, spread * size


def _largest_distance(X: Array, columns: Array, shift: Array) -> Array:
    """max |x − shift| of columns that are constant in the pilot, over all rows: rare values, or none."""
    largest = np.zeros(len(columns))
    for block in row_blocks(len(X), READ_ROWS):
        with np.errstate(over="ignore", invalid="ignore"):
            away = np.abs(X[block][:, columns] - shift)
        largest = np.maximum(largest, np.where(np.isfinite(away), away, 0.0).max(axis=0))
    return largest


def power_of_two(scale: Array) -> Array:
    """The power of two nearest to `scale`; 1 for 0."""
    exponent = np.round(np.log2(np.where(scale > 0, scale, 1.0)))
    return np.exp2(np.clip(exponent, -LARGEST_EXPONENT, LARGEST_EXPONENT))
