"""Learning rates: which are safe, and how they fall."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._errors import NonFiniteError
from mercer.solvers.threshold.lesson import Lesson
from mercer.solvers.threshold.rules import Rule

#: how fast a rate falls that would otherwise have the weights go round the optimum
DECAY = 0.1


class Rate(NamedTuple):
    """α after t passes, fractions included, is start / (1 + decay · t)."""

    start: float
    decay: float

    def after(self, passes: float) -> float:
        return self.start / (1 + self.decay * passes)


def rate_of(lesson: Lesson, rule: Rule, *, incremental: bool, start: float | None, decay: float | None) -> Rate:
    """The rate asked for; a safe one where it is None, which falls where it has to."""
    if start is not None:
        return Rate(start, decay or 0.0)
    if decay is None:
        decay = DECAY if incremental and rule.has_gradient else 0.0
    return Rate(safe_rate(lesson, rule, incremental=incremental), decay)


def safe_rate(lesson: Lesson, rule: Rule, *, incremental: bool) -> float:
    """Half of what the rule can bear: 1/curvature in the steepest direction.

    The loss of all rows is at most curvature · λmax(XᵀWX) curved, that of one row curvature · weight · ‖x‖². To the
    perceptron, starting from zero, the rate is a unit of its weights and nothing else.
    """
    if not rule.has_gradient:
        return 1.0
    size = rule.curvature * _steepness(lesson, incremental=incremental)
    return 1 / size if size > 0 else 1.0


def largest_rate(lesson: Lesson, rule: Rule, *, incremental: bool) -> float:
    """From which on steps may lead uphill; of LMS 2/λmax(XᵀWX), or 2/(weight · ‖x‖²) of the longest row."""
    return 2 * safe_rate(lesson, rule, incremental=incremental)


def _steepness(lesson: Lesson, *, incremental: bool) -> float:
    size = lesson.largest_row if incremental else lesson.largest_eigenvalue
    if not np.isfinite(size):
        raise NonFiniteError(
            "the squares of the data are too large for float64; divide the largest columns by a number."
        )
    return size
