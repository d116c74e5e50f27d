"""A length that takes a pass over the rows: measured where a solver believes that it has arrived, and nowhere twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: where a length turns out to be too long, the next aim is this much below what would be short enough
BELOW = 0.7


class Measured:
    """A length by the curvature of the point, for solvers whose steps use that of the start."""

    def __init__(self, measure: Callable[[], float]) -> None:
        self._measure = measure
        self._value, self._point = np.inf, None

    def at(self, point: Any) -> float:
        """The length at a point, which is the one that `measure` looks at now."""
        if self._point is not point:
            self._value, self._point = self._measure(), point
        return self._value

    def aim(self, point: Any, length: float, tolerance: float) -> float | None:
        """How short the length by which steps are taken has to become; None where nothing more is to be done."""
        measured = self.at(point)
        return BELOW * length * tolerance / measured if tolerance < measured < np.inf else None
