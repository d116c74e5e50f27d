"""What to do about units that have not learnt what they could."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.report.wording import counted
from mercer.solvers.threshold.lesson import Lesson
from mercer.solvers.threshold.rules import Rule

#: columns that differ in size by more than this make the descent slow
UNEQUAL = 30.0
LARGEST = float(np.finfo(float).max)

GOES_ROUND = (
    "At a constant rate the weights go round the optimum; let it fall (decay=1), average the weights (average=True), "
    'or use mode="batch".'
)


def diverged(rate: float, loss: Sequence[float]) -> str:
    """That LMS ran away, with the losses that show it."""
    what = f"rose from {loss[0]:.3g} to {loss[-1]:.3g}" if np.isfinite(loss[-1]) else "left the range of numbers"
    return (
        f"LMS has diverged: with rate={rate:.3g} the mean loss {what} in {counted(len(loss), 'pass')}; the weights "
        "with the lowest are kept."
    )


def overshot(rule: Rule, rate: float) -> str:
    """That σ was driven to where it is flat."""
    return f"The {rule.name} rule has overshot: with rate={rate:.3g} a unit has come to do worse than with no weights."


def slower(rule: Rule, largest: float, *, incremental: bool) -> str:
    """Which rates are safe."""
    numerator = f"{2 / rule.curvature:.3g}"
    over = f"{numerator}/‖x‖² of the longest row" if incremental else f"{numerator}/λmax(XᵀX)"
    return f'Only rates below {over} = {largest:.3g} are safe; use rate="auto".'


def no_hyperplane(lesson: Lesson, doubt: str | None) -> str:
    """What helps a perceptron: `doubt` says why it is not known whether it can be perfect."""
    if doubt is not None:
        return f'{doubt}; {_more_passes(lesson)}, or use rule="logistic", which need not separate the rows.'
    return f"There is one, found by linear programming; {_more_passes(lesson)}."


def more_passes(lesson: Lesson) -> str:
    """What helps a slow descent."""
    advice = _more_passes(lesson)
    return f"{advice[0].upper()}{advice[1:]}."


def _more_passes(lesson: Lesson) -> str:
    mean, size = lesson.spread
    with np.errstate(over="ignore"):  # it is only told, and the largest float says enough
        sizes = np.minimum(np.append(np.hypot(mean, size), np.ones(int(lesson.intercept))), LARGEST)
        factor = min(sizes.max() / sizes[sizes > 0].min(), LARGEST)
    if factor > UNEQUAL:
        return (
            f"the columns differ in size by a factor of {factor:.2g}, which makes for slow progress; centre each and "
            "divide it by its spread, e.g. with StandardScaler"
        )
    return "allow more passes (max_iter), or centre the columns, e.g. with StandardScaler"
