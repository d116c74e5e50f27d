"""Linear threshold units learn: pass after pass by one of the four rules, until there is a reason to stop.

A reason is a proof. The perceptron stops when no row is on the wrong side, which the hyperplane itself proves, or, when
it makes no headway, with the proof that no hyperplane separates the rows (see `separation`), where it would otherwise
go round for ever. The other rules stop when the gradient of their loss vanishes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DivergedWarning, FitInterrupted, NonFiniteError, NotConvergedWarning
from mercer._threads import blas_for
from mercer.solvers import online
from mercer.solvers._pocket import Pocket
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.gradient import Errors
from mercer.solvers.history import History, Log
from mercer.solvers.lesson import Lesson
from mercer.solvers.rates import largest_rate, rate_of
from mercer.solvers.rules import Rule
from mercer.solvers.separation import Separation
from mercer.solvers.units import Units

Array = NDArray[Any]
Progress = Callable[[int, float, float], None]

#: a loss that grew by this factor will not come back
LOST = 1e6
#: … and one that is higher at the end by more than these is on its way there: met row by row, or of all rows
NOISE, ROUNDING = 10.0, 1 + 1e-9
#: from so many passes on, a gradient that shrank by less than this while they doubled has stopped shrinking
MANY_PASSES, STILL = 16, 0.7


#: columns that differ in size by more than this make the descent slow
UNEQUAL = 30.0

#: frames between a warning and the line that asked for the fit
USER = 6

GRADIENTS = {
    "lms": "largest cosine between a column and what is left of the targets, 0 where the normal equations hold",
    "logistic": "largest cosine between a column and the errors, 0 where the gradient of the likelihood vanishes",
    "sigmoid": "largest cosine between a column and the errors, 0 at a stationary point; the loss is not convex, so "
    "that there may be others",
}


class How(NamedTuple):
    """The parameters of learning; `rate` None stands for a safe one."""

    incremental: bool = False
    rate: float | None = None
    decay: float | None = None
    average: bool = False
    #: None for the order that the rows have
    rng: np.random.Generator | None = None


class Learnt(NamedTuple):
    """Weights of units, how they came about, and for each unit whether it can be perfect, where that was asked."""

    coefficients: Array
    intercept: Array
    history: History
    separations: tuple[Separation | None, ...]


def learn(
    lesson: Lesson,
    rule: Rule,
    how: How,
    units: Units,
    *,
    tolerance: float | None,
    most_passes: int,
    progress: Progress | None = None,
    blame: Callable[[], None] = lambda: None,
) -> Solution:
    """Let units learn.

    Parameters
    ----------
    lesson : Lesson
        The rows.
    rule : Rule
        One of the four.
    how : How
        Mode, rate and averaging.
    units : Units
        Where to begin; changed in place.
    tolerance : float or None
        How small the gradient has to become, as the largest cosine between a column and the errors; for the perceptron
        any number means "until proven". None makes all passes without looking for a reason to stop.
    most_passes : int
        After which to give up, with a `NotConvergedWarning` (unless the tolerance is None).
    progress : callable, optional
        Called after each pass with its number, the mean loss and the gradient (∞ until it was computed).
    blame : callable
        Called when a number is not finite: to raise an error if the data are to blame.

    Returns
    -------
    solution : Solution
        `value` is `Learnt`; `trace` has the mean loss of each pass.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with what was learnt so far.
    """
    course = Course(lesson, rule, how, units, tolerance, blame)
    try:
        with blas_for(lesson.n_columns):  # once, not in every pass
            course.run(most_passes, progress)
    except KeyboardInterrupt:
        message = "stopped by the user; the weights learnt so far are kept."
        raise FitInterrupted(message, course.solution()) from None
    course.warn()
    return course.solution()


class Course:
    """Units in the course of learning."""

    def __init__(
        self, lesson: Lesson, rule: Rule, how: How, units: Units, tolerance: float | None, blame: Callable[[], None]
    ) -> None:
        self._lesson, self._rule, self._how, self._units = lesson, rule, how, units
        self._tolerance, self._blame = tolerance, blame
        self._rate = self._blaming(
            lambda: rate_of(lesson, rule, incremental=how.incremental, start=how.rate, decay=how.decay)
        )
        self._log, self._pocket = Log(), Pocket(lesson)
        #: what the weights to be published do wrong, when last looked at, and the gradient then and the time before
        self._look: Errors | None = None
        self._gradient = self._gradient_before = np.inf
        #: the lowest loss that LMS has had, and with which weights
        self._lowest: tuple[float, Array] = (np.inf, self._weights())
        self._diverged = self._circles = False

    def run(self, most_passes: int, progress: Progress | None) -> None:
        for number in range(1, most_passes + 1):
            last = number == most_passes
            done = self._incremental_pass(number, last) if self._how.incremental else self._batch_pass()
            if progress is not None:
                progress(number, self._log.loss[-1], self._gradient)
            if done:
                return
        # the last step over all rows has not been looked at
        if self._how.incremental or not self._settled(None):
            self._pocket.ask()

    def _blaming(self, compute: Callable[[], Any]) -> Any:
        """What needs squares of the data: if they are not finite, the data are to blame before anything else is."""
        try:
            return compute()
        except NonFiniteError:
            self._blame()
            raise

    # Passes: each returns whether it was the last one needed.

    def _batch_pass(self) -> bool:
        lesson, units = self._lesson, self._units
        errors = Errors.of(lesson, self._rule, units.stacked(intercept=lesson.intercept))
        rate = self._rate.after(units.passes)
        finite = bool(np.isfinite(errors.gradient).all() and np.isfinite(errors.tally).all())
        done = self._note(online.Pass(errors.loss, errors.mistakes, errors.misclassified, finite), rate)
        done = done or self._settled(None if self._how.average else errors)
        if not done:
            units.move(rate * errors.gradient, intercept=lesson.intercept)
        self._log.keep(units.w, units.bias)
        return done

    def _incremental_pass(self, number: int, last: bool) -> bool:
        lesson, rule, units = self._lesson, self._rule, self._units
        at_first = self._rate.after(units.passes)
        fared = online.pass_over(lesson, rule, units, self._rate, order=self._order(), average=self._how.average)
        lost = self._note(fared._replace(finite=fared.finite and bool(np.isfinite(units.w).all())), at_first)
        self._log.keep(units.w, units.bias)
        # a look costs another pass: to know a gradient it is worth one each time that the passes have doubled
        if lost or (rule.has_gradient and not last and number & (number - 1)):
            return lost
        return self._settled(None)

    def _order(self) -> Array:
        return online.IN_ORDER if self._how.rng is None else online.shuffled(self._lesson.n_rows, self._how.rng)

    def _note(self, fared: online.Pass, rate: float) -> bool:
        """Write down how a pass went; True if the weights run away, so that there is no point in another."""
        weight, loss = self._lesson.total_weight, float(fared.loss.sum()) / self._lesson.total_weight
        if not fared.finite:
            self._blame()
            if self._rule.name != "lms":
                raise NonFiniteError(
                    "the weights, or their products with rows, are too large for float64; divide the largest columns "
                    'by a number, or use rate="auto".'
                )
        self._log.note(loss=loss, error=fared.misclassified / weight, mistakes=float(fared.mistakes.sum()), rate=rate)
        if self._rule.name == "lms":
            if fared.finite and loss < self._lowest[0]:
                self._lowest = (loss, self._weights())
            self._diverged = not fared.finite or loss > LOST * self._log.loss[0]
        return self._diverged

    # Reasons to stop.

    def _settled(self, look: Errors | None) -> bool:
        """Look at the weights to be published, unless that was done, and say whether they are final."""
        if self._tolerance is None:
            return False
        self._look = look or Errors.of(self._lesson, self._rule, self._weights())
        if not self._rule.has_gradient:
            return self._pocket.settled(self._look)
        look = self._look
        self._gradient_before, self._gradient = self._gradient, self._blaming(look.distance)
        self._circles = self._goes_round()
        return self._circles or self._gradient <= self._tolerance

    def _goes_round(self) -> bool:
        """Whether a constant rate has taken the weights as near to the optimum as it can."""
        constant = self._how.incremental and not self._how.average and self._rate.decay == 0
        still = len(self._log) >= MANY_PASSES and self._gradient > STILL * self._gradient_before
        return constant and still

    # What was learnt.

    def _weights(self) -> Array:
        """Those to be published, were this the end."""
        weights = self._units.averaged if self._how.average else self._units.stacked
        return weights(intercept=self._lesson.intercept)

    def _rose(self) -> bool:
        """Whether the loss is higher than it was at first, so that the steps are too long."""
        if self._rule.name != "lms" or self._gradient <= (self._tolerance or 0.0):
            return self._diverged
        loss, noise = self._log.loss, NOISE if self._how.incremental else ROUNDING
        return self._diverged or (len(loss) > 1 and loss[-1] > noise * loss[0])

    def solution(self) -> Solution:
        history, columns = self._log.history(), self._lesson.n_columns
        w = self._weights() if self._pocket.weights is None else self._pocket.weights
        w = self._lowest[1] if self._rose() else w
        bias = w[columns] if self._lesson.intercept else np.zeros(self._lesson.units)
        learnt = Learnt(w[:columns].T.copy(), bias, history, tuple(self._pocket.separations))
        return Solution(learnt, self.certificate(), tuple(history.loss.tolist()))

    def certificate(self) -> Certificate:
        if self._look is None:
            return self._unasked()
        if not self._rule.has_gradient:
            return self._pocket.certificate()
        assert self._tolerance is not None
        if self._rule.has_probabilities and self._gradient > self._tolerance and not self._look.mistakes.any():
            sentence = "rows on the wrong side; where there are none the loss has no minimum, it falls for ever"
            return Certificate("separation", 0.0, 0.0, sentence)
        value = np.inf if self._rose() else self._gradient
        return Certificate("gradient norm", value, self._tolerance, GRADIENTS[self._rule.name])

    def _unasked(self) -> Certificate:
        if self._rule.has_gradient or not len(self._log):
            return Certificate(
                "gradient norm", np.inf, 0.0, "was not looked at: every pass asked for was made (tol=None)"
            )
        return Certificate("separation", self._log.mistakes[-1], 0.0, "mistakes in the last pass")

    def warn(self) -> None:
        """Evidence, cause, and one thing to do, where the end is not proven."""
        if self._rose():
            warnings.warn(self._too_long(), DivergedWarning, stacklevel=USER)
        elif self._tolerance is not None and not self.certificate().holds:
            trouble = self._unfinished() if self._rule.has_gradient else self._unsolved()
            warnings.warn(trouble, NotConvergedWarning, stacklevel=USER)

    def _too_long(self) -> str:
        incremental, loss = self._how.incremental, self._log.loss
        over = "2/‖x‖² of the longest row" if incremental else "2/λmax(XᵀX)"
        return (
            f"LMS has diverged: with rate={self._rate.start:.3g} the mean loss rose from {loss[0]:.3g} to "
            f"{loss[-1]:.3g} in {len(loss)} passes; the weights with the lowest are kept. Only rates below {over} = "
            f'{largest_rate(self._lesson, incremental=incremental):.3g} are safe; use rate="auto".'
        )

    def _unsolved(self) -> str:
        return (
            f"the perceptron has found no separating hyperplane: {self._pocket.mistakes} mistake(s) are left after "
            f"{len(self._log)} passes. {self._pocket.evidence()}"
        )

    def _unfinished(self) -> str:
        evidence = (
            f"The {self._rule.name} rule has not converged: {self.certificate()}, after {len(self._log)} passes. "
        )
        if self._circles:
            return evidence + (
                "At a constant rate the weights go round the optimum; let it fall (decay=1), average the weights "
                '(average=True), or use mode="batch".'
            )
        mean, size = self._lesson.spread
        sizes = np.append(np.hypot(mean, size), np.ones(int(self._lesson.intercept)))
        factor = sizes.max() / sizes[sizes > 0].min()
        if factor > UNEQUAL:
            return evidence + (
                f"The columns differ in size by a factor of {factor:.2g}, which makes for short steps; centre each and "
                "divide it by its spread, e.g. with StandardScaler."
            )
        return evidence + "Allow more passes (max_iter), or centre the columns, e.g. with StandardScaler."
