"""Working coordinates: shifts and scales of columns that avoid cancellation and overflow, and their inverse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer._stored import floats, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.families.penalties import Strengths

#: rows from which shift and scale are estimated; rough values are enough
COORDINATE_ROWS = 1000
#: rows of constant columns that are read at once
CONSTANT_COLUMN_ROWS = 1 << 16
#: scales lie between 2^−1000 and 2^1000, so that they and their inverses are normal numbers
LARGEST_SCALE_EXPONENT = 1000
#: upper limit of penalties of working coefficients, so that products with them do not overflow
LARGEST_STRENGTH = 1e290
#: lower limit of penalties that are not 0, so that products with them do not underflow
SMALLEST_STRENGTH = 1e-290
#: |shift| of a constant column in units of its scale, above LARGEST_FOLDED_SHIFT so that `near` is False
SHIFT_OF_CONSTANT = 256.0
#: largest distance, relative to the value, that rounding explains
RELATIVE_ROUNDING = 4 * float(np.finfo(float).eps)
#: scale of columns with such distances relative to their value: squares of the distances underflow
SCALE_OF_ROUNDING = 2.0**520
#: |shift| / scale up to which subtracting the shift from a product instead of from the data costs at most two digits
LARGEST_FOLDED_SHIFT = 64.0


@stored(shift=floats("d"), scale=floats("d"), tag="DesignCoordinates")
@dataclass(frozen=True, eq=False)
class Coordinates:
    """Column j is (x_j − shift_j) / scale_j; with an intercept, a column of ones comes last.

    A shift changes the intercept, so that without an intercept there are no shifts. Scales are powers of two, which
    cause no rounding.
    """

    shift: Array
    scale: Array
    intercept: bool

    @classmethod
    def plain(cls, columns: int, *, intercept: bool) -> Self:
        return cls(np.zeros(columns), np.ones(columns), intercept)

    @classmethod
    def of(cls, X: Array, *, intercept: bool, extremes: Array | None = None) -> Self:
        """Choose shift and scale near the mean and the standard deviation of rows spread over X.

        Where X is a sample, `extremes` are two further rows with the lowest and highest values of all rows.
        """
        # every k-th row, with 0 for what is not finite: products with X find those
        pilot = np.asarray(X[:: max(1, len(X) // COORDINATE_ROWS)], dtype=float)
        shift, scale = _mean_and_deviation(np.where(np.isfinite(pilot), pilot, 0.0), intercept=intercept)
        if (constant := np.flatnonzero(scale == 0)).size:
            scale[constant] = _largest_distance(X if extremes is None else extremes, constant, shift[constant])
        value = np.abs(shift)
        with np.errstate(over="ignore"):
            of_rounding = value * np.where(scale > 0, SCALE_OF_ROUNDING, 1 / SHIFT_OF_CONSTANT)
            scale = np.where(scale > RELATIVE_ROUNDING * value, scale, of_rounding)
        return cls(shift, power_of_two(scale), intercept)

    def at(self, places: Array) -> Self:
        """Return the coordinates of some columns, without an intercept."""
        return type(self)(self.shift[places], self.scale[places], intercept=False)

    @property
    def n_columns(self) -> int:
        return len(self.shift) + self.intercept

    @cached_property
    def shifted(self) -> bool:
        """Return whether any shift is not 0."""
        return bool(self.shift.any())

    @cached_property
    def unscaled(self) -> bool:
        """Return whether every scale is 1."""
        return bool((self.scale == 1).all())

    @cached_property
    def is_plain(self) -> bool:
        """Return whether the columns are those of the data, without an intercept."""
        return self.unscaled and not self.shifted and not self.intercept

    @cached_property
    def near(self) -> bool:
        """Return whether shifts may be subtracted from products: (Xᵀr)_j − shift_j Σr loses at most two digits.

        False for constant columns, which must be exactly 0 and not a rounding error.
        """
        return bool((np.abs(self.shift) <= LARGEST_FOLDED_SHIFT * self.scale).all())

    def to_user(self, w: Array) -> tuple[Array, Array]:
        """Convert working coefficients (p,) or (p, k) to coefficients and intercept in the units of the data."""
        p = len(self.shift)
        coefficients = (w[:p].T / self.scale).T
        intercept = w[p] - self.shift @ coefficients if self.intercept else np.zeros(w.shape[1:])
        return coefficients, np.asarray(intercept)

    def from_user(self, coefficients: Array, intercept: Array | float = 0.0) -> Array:
        """Convert coefficients and intercept to working coefficients, the inverse of `to_user`."""
        scaled = (coefficients.T * self.scale).T
        if not self.intercept:
            return np.asarray(scaled)
        return np.concatenate([scaled, np.asarray(intercept + self.shift @ coefficients)[None]])

    def jacobian(self) -> Array:
        """Matrix that converts working coefficients to the user's, intercept last."""
        matrix = np.diag(np.append(1 / self.scale, np.ones(int(self.intercept))))
        if self.intercept:
            matrix[-1, :-1] = -self.shift / self.scale
        return matrix

    def strengths(self, penalty: Strengths) -> Strengths:
        """Convert a penalty of the user's coefficients to one of the working coefficients, without the intercept."""
        unpenalized = np.zeros(int(self.intercept))
        l1, l2, mean = penalty
        with np.errstate(over="ignore", under="ignore"):
            l1, l2 = _bound(l1, l1 / self.scale), _bound(l2, l2 / self.scale / self.scale)
        return Strengths(*(np.append(part, unpenalized) for part in (l1, l2, mean * self.scale)))


def positive_weight_rows(X: Any, weight: Any) -> Any:
    """Return the rows of X with a positive weight; X itself if all of them have one, or none has."""
    if weight is None:
        return X
    positive = weight != 0
    return X if bool(positive.all()) or not bool(positive.any()) else X[positive]


def _bound(penalty: Array, strength: Array) -> Array:
    """Clip a strength; it is 0 only where the penalty is 0."""
    return np.where(penalty > 0, np.clip(strength, SMALLEST_STRENGTH, LARGEST_STRENGTH), 0.0)


def _mean_and_deviation(rows: Array, *, intercept: bool) -> tuple[Array, Array]:
    """Mean (0 without an intercept) and root mean square deviation, without overflow."""
    size = np.abs(rows).max(axis=0, initial=0.0)
    size[size == 0] = 1.0
    rows = rows / size
    count = max(1, len(rows))
    mean = rows.sum(axis=0) / count if intercept else np.zeros(rows.shape[1])
    spread = np.sqrt(np.square(rows - mean).sum(axis=0) / count)
    # the deviation of a constant column may be rounding
    spread[spread <= 1e-14] = 0.0
    return np.where(spread == 0, rows[:1].sum(axis=0) * bool(intercept), mean) * size, spread * size


def _largest_distance(X: Array, columns: Array, shift: Array) -> Array:
    """max |x − shift| over all rows, of columns that are constant in the pilot rows."""
    largest = np.zeros(len(columns))
    for block in row_blocks(len(X), CONSTANT_COLUMN_ROWS):
        with np.errstate(over="ignore", invalid="ignore"):
            away = np.abs(X[block][:, columns] - shift)
        largest = np.maximum(largest, np.where(np.isfinite(away), away, 0.0).max(axis=0))
    return largest


def power_of_two(scale: Array) -> Array:
    """Round `scale` to the nearest power of two; 0 to 1."""
    exponent = np.round(np.log2(np.where(scale > 0, scale, 1.0)))
    return np.exp2(np.clip(exponent, -LARGEST_SCALE_EXPONENT, LARGEST_SCALE_EXPONENT))
