"""The rules that descend along a gradient: how near they are to the end, and whether their steps were too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from mercer._errors import DivergedWarning, NotConvergedWarning
from mercer._typing import Array
from mercer.solvers.certificate import STATIONARY, Certificate
from mercer.solvers.smooth.gradient import Errors
from mercer.solvers.threshold import _advice
from mercer.solvers.threshold.lesson import Lesson
from mercer.solvers.threshold.rates import Rate, largest_rate
from mercer.solvers.threshold.rules import How, Rule

#: a loss that grew by this factor will not come back
LOST = 1e6
#: … and one that is higher at the end by more than these is on its way there: met row by row, or of all rows
NOISE, ROUNDING = 10.0, 1 + 1e-9
#: from so many passes on, a gradient that shrank by less than this while they doubled has stopped shrinking
MANY_PASSES, STILL = 16, 0.7

GRADIENTS = {
    "lms": "largest cosine between a column and what is left of the targets, 0 where the normal equations hold",
    "logistic": "largest cosine between a column and the errors, 0 where the gradient of the likelihood vanishes",
    "sigmoid": "largest cosine between a column and the errors, 0 at a stationary point; the loss is not convex, so "
    "that there may be others",
}


class Descent:
    """The gradient of the weights to be published, when last looked at, and the losses met on the way."""

    def __init__(self, lesson: Lesson, rule: Rule, how: How, rate: Rate, tolerance: float | None, start: Array) -> None:
        self._lesson, self._rule, self._how, self._rate = lesson, rule, how, rate
        self._tolerance = tolerance or 0.0
        self._losses: Sequence[float] = ()
        self._look: Errors | None = None
        self.gradient = self._gradient_before = np.inf
        #: the lowest loss that LMS has had, and with which weights
        self._lowest = (np.inf, start)
        self._ran_away = self._circles = False

    def lost(self, losses: Sequence[float], finite: bool, weights: Callable[[], Array]) -> bool:
        """Whether the loss of LMS, which nothing bounds, runs away after so many passes; keeps the best weights."""
        self._losses = losses
        if self._rule.name != "lms":
            return False
        if finite and losses[-1] < self._lowest[0]:
            self._lowest = (losses[-1], weights())
        self._ran_away = not finite or losses[-1] > LOST * losses[0]
        return self._ran_away

    def settled(self, look: Errors) -> bool:
        """Whether weights are final, given what they do wrong."""
        self._look = look
        self._gradient_before, self.gradient = self.gradient, look.distance()
        self._circles = self._goes_round()
        return self._circles or self.gradient <= self._tolerance

    def _goes_round(self) -> bool:
        """Whether a constant rate has taken the weights as near to the optimum as it can."""
        constant = self._how.incremental and not self._how.average and self._rate.decay == 0
        return constant and len(self._losses) >= MANY_PASSES and self.gradient > STILL * self._gradient_before

    # Steps that were too long.

    @property
    def weights(self) -> Array | None:
        """Those to return to, where LMS has diverged."""
        return self._lowest[1] if self._diverged() else None

    def _diverged(self) -> bool:
        if self._ran_away or self._rule.name != "lms":
            return self._ran_away
        loss, noise = self._losses, NOISE if self._how.incremental else ROUNDING
        return self.gradient > self._tolerance and len(loss) > 1 and loss[-1] > noise * loss[0]

    def _overshot(self) -> bool:
        """Whether σ was driven to where it is flat: some unit is worse than one that knows nothing."""
        if self._look is None or not self._rule.has_probabilities or not self._unsafe:
            return False
        nothing_known = ROUNDING * self._rule.ignorance * self._lesson.total_weight
        return bool(((self._look.loss > nothing_known) & (self._look.mistakes > 0)).any())

    @cached_property
    def _unsafe(self) -> bool:
        """Whether a rate was asked for that may lead uphill."""
        return self._how.rate is not None and self._how.rate >= self._largest_rate

    @property
    def _largest_rate(self) -> float:
        return largest_rate(self._lesson, self._rule, incremental=self._how.incremental)

    # The end.

    def certificate(self) -> Certificate:
        """That the gradient vanishes, or that it never will."""
        if self._rule.has_probabilities and self.gradient > self._tolerance and self._perfect():
            sentence = "rows on the wrong side; where there are none the loss has no minimum, it falls for ever"
            return Certificate("separation", 0.0, 0.0, sentence)
        value = np.inf if self._diverged() or self._overshot() else self.gradient
        kind = STATIONARY if self._rule.name == "sigmoid" else "gradient norm"
        return Certificate(kind, value, self._tolerance, GRADIENTS[self._rule.name])

    def _perfect(self) -> bool:
        return self._look is not None and not self._look.mistakes.any()

    def trouble(self, passes: int) -> Warning | None:
        """Evidence, cause, and one thing to do, where the certificate does not hold."""
        if self._diverged():
            return DivergedWarning(f"{_advice.diverged(self._rate.start, self._losses)} {self._slower()}")
        if self._overshot():
            return DivergedWarning(f"{_advice.overshot(self._rule, self._rate.start)} {self._slower()}")
        if self._look is None or self.certificate().holds:
            return None
        evidence = f"The {self._rule.name} rule has not converged: {self.certificate()}, after {passes} passes."
        return NotConvergedWarning(f"{evidence} {self._remedy()}")

    def _remedy(self) -> str:
        if self._unsafe:
            return self._slower()
        return _advice.GOES_ROUND if self._circles else _advice.more_passes(self._lesson)

    def _slower(self) -> str:
        return _advice.slower(self._rule, self._largest_rate, incremental=self._how.incremental)
