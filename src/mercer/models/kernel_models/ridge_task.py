"""What kernel ridge regression is fitted to: rows that have a weight, and targets of about 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.kernels import Kernel
from mercer.models.comparisons import take
from mercer.models.kernel_models.machine import Data
from mercer.solvers.certificate import Solution
from mercer.solvers.span.kernel_ridge import System


@dataclass(frozen=True, eq=False)
class Task:
    """Rows, or their kernel matrix; targets, (n, targets); and weights."""

    X: Any
    Y: Array
    weight: Array | None

    @cached_property
    def seen(self) -> Array:
        """Rows with a weight: others have the coefficient 0."""
        return np.arange(len(self.Y)) if self.weight is None else np.flatnonzero(self.weight)

    @cached_property
    def unit(self) -> float:
        """A power of 2 about as large as the targets, whose squares might be no numbers."""
        largest = float(np.abs(self.Y).max(initial=0.0))
        return 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0

    def squared(self, errors: Array) -> Array:
        """Squared errors in the units of the targets; inf where these are too large for squares."""
        with np.errstate(over="ignore"):
            return np.asarray(errors * self.unit * self.unit)

    @cached_property
    def rows(self) -> Any:
        """Those with a weight."""
        return self.X if len(self.seen) == len(self.Y) else take(self.X, self.seen)

    @cached_property
    def data(self) -> Data:
        """Of these rows: targets of about 1, and weights."""
        return Data(self.Y / self.unit, self.weight).take(self.seen)

    def system(self, kernel: Kernel | None) -> System:
        """The equations for a kernel; without one X is its matrix."""
        Y, weight, seen = self.data.y, self.data.weight, self.seen
        if kernel is None:
            return System.given(self.X if len(seen) == len(self.Y) else self.X[np.ix_(seen, seen)], Y, weight)
        return System.of(kernel, self.rows, Y, weight)

    def finished(self, solution: Solution) -> Solution:
        """With coefficients for all rows, in the units of the targets."""
        coefficients = np.zeros(self.Y.shape)
        coefficients[self.seen] = self.unit * solution.value.coefficients
        return replace(solution, value=replace(solution.value, coefficients=coefficients))
