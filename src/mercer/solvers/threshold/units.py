"""Linear threshold units while they learn: their weights, and what the average of their weights needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer._stored import floats, stored
from mercer._typing import Array


@stored(w=floats("du"), bias=floats("u"), w_sum=floats("du"), bias_sum=floats("u"))
@dataclass(eq=False)
class Units:
    """Weights of units, changed in place as they learn.

    With every step Δ also added `steps before it` times to a sum, the mean of the weights after each step is what they
    are now less that sum over the number of steps: averaging costs no more than the steps do.
    """

    #: (columns, units): in order of units for rows of numbers, in order of columns for sparse rows
    w: Array
    bias: Array
    w_sum: Array
    bias_sum: Array
    steps: float = 0.0
    passes: float = 0.0

    @classmethod
    def of(cls, coefficients: Array, intercept: Array, *, by_column: bool) -> Self:
        """From coefficients (units, columns), not shared with them; `by_column` for sparse rows."""
        w = np.array(coefficients.T, dtype=float, order="C" if by_column else "F")
        bias = np.array(intercept, dtype=float)
        return cls(w, bias, np.zeros_like(w), np.zeros_like(bias))

    def copy(self) -> Self:
        w, w_sum = (np.array(part, order="K") for part in (self.w, self.w_sum))
        return type(self)(w, self.bias.copy(), w_sum, self.bias_sum.copy(), self.steps, self.passes)

    def stacked(self, *, intercept: bool) -> Array:
        """Weights, those of the intercept last."""
        return np.vstack([self.w, self.bias]) if intercept else np.array(self.w)

    def averaged(self, *, intercept: bool) -> Array:
        """The mean of the weights after each step."""
        sums = np.vstack([self.w_sum, self.bias_sum]) if intercept else self.w_sum
        return np.asarray(self.stacked(intercept=intercept) - sums / max(1.0, self.steps))

    def move(self, step: Array, *, intercept: bool) -> None:
        """Take one step, (columns, units) with that of the intercept last."""
        columns = len(self.w)
        self.w += step[:columns]
        self.w_sum += self.steps * step[:columns]
        if intercept:
            self.bias += step[columns]
            self.bias_sum += self.steps * step[columns]
        self.steps += 1
        self.passes += 1
