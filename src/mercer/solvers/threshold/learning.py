"""Linear threshold units learn: pass after pass by one of the four rules, until there is a reason to stop.

A reason is a proof. The perceptron stops when no row is on the wrong side, which the hyperplane itself proves, or, when
it makes no headway, with the proof that no hyperplane separates the rows (see `separation`), where it would otherwise
go round for ever. The other rules stop when the gradient of their loss vanishes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import NonFiniteError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer._warn import warn
from mercer.solvers.certificate import Certificate, Progress, Solution, keeping
from mercer.solvers.separation import Separation
from mercer.solvers.smooth import online
from mercer.solvers.smooth.gradient import Errors
from mercer.solvers.threshold._descent import Descent
from mercer.solvers.threshold._pocket import Pocket
from mercer.solvers.threshold.history import History, Log
from mercer.solvers.threshold.lesson import Lesson
from mercer.solvers.threshold.rates import rate_of
from mercer.solvers.threshold.rules import How, Rule
from mercer.solvers.threshold.units import Units


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
    # threads are chosen once, not in every pass
    with keeping(course.solution, "the weights learnt so far are kept"), blas_for(lesson.n_columns):
        course.run(most_passes, progress)
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
        self._log, self._pocket = Log(), Pocket(lesson, how.proof_size)
        self._descent = Descent(lesson, rule, how, self._rate, tolerance, self._weights())
        self._judge: Pocket | Descent = self._descent if rule.has_gradient else self._pocket
        #: whether the judge has seen the weights as they are
        self._looked = False

    def run(self, most_passes: int, progress: Progress | None) -> None:
        for number in range(1, most_passes + 1):
            last = number == most_passes
            done = self._incremental_pass(number, last) if self._how.incremental else self._batch_pass()
            if progress is not None:
                progress(number, self._log.loss[-1], self._descent.gradient)
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
            self._looked = False
        self._log.keep(units.w, units.bias)
        return done

    def _incremental_pass(self, number: int, last: bool) -> bool:
        lesson, rule, units = self._lesson, self._rule, self._units
        at_first, self._looked = self._rate.after(units.passes), False
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
        return self._descent.lost(self._log.loss, fared.finite, self._weights)

    def _settled(self, look: Errors | None) -> bool:
        """Look at the weights to be published, unless that was done, and say whether they are final."""
        if self._tolerance is None:
            return False
        look, self._looked = look or Errors.of(self._lesson, self._rule, self._weights()), True
        return bool(self._blaming(lambda: self._judge.settled(look)))

    # What was learnt.

    def _weights(self) -> Array:
        """Those to be published, were this the end."""
        weights = self._units.averaged if self._how.average else self._units.stacked
        return weights(intercept=self._lesson.intercept)

    def solution(self) -> Solution:
        history, columns = self._log.history(), self._lesson.n_columns
        w = self._weights() if self._judge.weights is None else self._judge.weights
        bias = w[columns] if self._lesson.intercept else np.zeros(self._lesson.units)
        learnt = Learnt(w[:columns].T.copy(), bias, history, tuple(self._pocket.separations))
        return Solution(learnt, self.certificate(), tuple(history.loss.tolist()))

    def certificate(self) -> Certificate:
        if self._looked or self._judge.weights is not None:
            return self._judge.certificate()
        if not self._rule.has_gradient and len(self._log) and not self._how.average:
            return Certificate("separation", self._log.mistakes[-1], 0.0, "mistakes in the last pass")
        kind = "gradient norm" if self._rule.has_gradient else "separation"
        why = "every pass asked for was made (tol=None)" if self._tolerance is None else "there was no time for it"
        return Certificate(kind, np.inf, 0.0, f"was not looked at: {why}")

    def warn(self) -> None:
        """Of an end that is not proven."""
        trouble = self._judge.trouble(len(self._log))
        if trouble is not None:
            warn(trouble)
