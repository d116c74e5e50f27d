"""Linear threshold units learn: pass after pass by one of the four rules, until there is a reason to stop.

A reason is a proof. The perceptron stops when no row is on the wrong side, which the hyperplane itself proves, or, when
it makes no headway, with the proof that no hyperplane separates the rows (see `separation`), where it would otherwise
go round for ever. The other rules stop when the gradient of their loss vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DivergedWarning, NonFiniteError, NotConvergedWarning
from mercer._threads import blas_for
from mercer._typing import Array
from mercer._warn import warn
from mercer.linear_model._learning_history import History, HistoryLog
from mercer.optim import separation, stochastic
from mercer.optim.certificate import STATIONARY, Certificate, Progress, Solution, keep_on_interrupt
from mercer.optim.gradient import ErrorSums
from mercer.optim.learning_rules import LearningRule, LabelledRows, LearningRate, RuleOptions, ThresholdUnits, largest_rate, choose_rate
from mercer.optim.separation import Separation
from mercer.report.wording import counted

# What to do about units that have not learnt what they could.

#: columns that differ in size by more than this make the descent slow
UNEQUAL_SIZES = 30.0
LARGEST_FLOAT = float(np.finfo(float).max)

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


def overshot(rule: LearningRule, rate: float) -> str:
    """That σ was driven to where it is flat."""
    return f"The {rule.name} rule has overshot: with rate={rate:.3g} a unit has come to do worse than with no weights."


def slower(rule: LearningRule, largest: float, *, incremental: bool) -> str:
    """Which rates are safe."""
    numerator = f"{2 / rule.curvature:.3g}"
    over = f"{numerator}/‖x‖² of the longest row" if incremental else f"{numerator}/λmax(XᵀX)"
    return f'Only rates below {over} = {largest:.3g} are safe; use rate="auto".'


def no_hyperplane(lesson: LabelledRows, doubt: str | None) -> str:
    """What helps a perceptron: `doubt` says why it is not known whether it can be perfect."""
    if doubt is not None:
        return f'{doubt}; {_more_passes(lesson)}, or use rule="logistic", which need not separate the rows.'
    return f"There is one, found by linear programming; {_more_passes(lesson)}."


def more_passes(lesson: LabelledRows) -> str:
    """What helps a slow descent."""
    advice = _more_passes(lesson)
    return f"{advice[0].upper()}{advice[1:]}."


def _more_passes(lesson: LabelledRows) -> str:
    mean, size = lesson.spread
    with np.errstate(over="ignore"):  # it is only told, and the largest float says enough
        sizes = np.minimum(np.append(np.hypot(mean, size), np.ones(int(lesson.intercept))), LARGEST_FLOAT)
        factor = min(sizes.max() / sizes[sizes > 0].min(), LARGEST_FLOAT)
    if factor > UNEQUAL_SIZES:
        return (
            f"the columns differ in size by a factor of {factor:.2g}, which makes for slow progress; centre each and "
            "divide it by its spread, e.g. with StandardScaler"
        )
    return "allow more passes (max_iter), or centre the columns, e.g. with StandardScaler"


# The best weights that each perceptron has had (Gallant's pocket), and whether it can do better.

#: looks without fewer mistakes after which to ask whether there is a separating hyperplane at all
PATIENCE = 10


class PocketMonitor:
    """Weights with the fewest mistakes, unit by unit.

    Parameters
    ----------
    lesson : Lesson
        The rows.
    proof_size : float
        Rows × columns² × units up to which linear programmes decide whether separating hyperplanes exist.
    """

    def __init__(self, lesson: LabelledRows, proof_size: float) -> None:
        self._lesson = lesson
        self._provable = lesson.n_rows * float(lesson.n_columns) ** 2 * lesson.units <= proof_size
        self._wrong = np.full(lesson.units, np.inf)
        self._mistakes = np.zeros(lesson.units)
        self._idle = 0
        self._asked = False
        self.weights: Array | None = None
        self.separations: list[Separation | None] = [None] * lesson.units

    def settled(self, look: ErrorSums) -> bool:
        """Take weights in where they are better; True once every unit is perfect or known never to be."""
        if self.weights is None:
            self.weights = look.w.copy()
        better = look.wrong < self._wrong
        self.weights[:, better] = look.w[:, better]
        self._wrong[better], self._mistakes[better] = look.wrong[better], look.mistakes[better]
        self._idle = 0 if better.any() else self._idle + 1
        if self._idle >= PATIENCE:
            self.ask()
        return self._done()

    def ask(self) -> None:
        """Whether there are separating hyperplanes for the units that have found none; once."""
        if self._asked or self.weights is None or not self._provable:
            return
        self._asked = True
        for unit in range(self._lesson.units):
            if not self._perfect(unit):
                self.separations[unit] = separation.bernoulli(self._lesson.unit_observations(unit))

    def _perfect(self, unit: int) -> bool:
        return bool(self._wrong[unit] == 0)

    def hopeless(self, unit: int) -> bool:
        """Whether it is proven that no weights have every row on its side.

        Rows of class 1 may have u = 0, the others may not; with an intercept that is no difference.
        """
        found = self.separations[unit]
        if found is None or not found.certificate.holds:
            return False
        return not bool(found.separated[self._lesson.codes != self._lesson.first + unit].all())

    @property
    def mistakes(self) -> int:
        return int(self._mistakes.sum())

    def certificate(self) -> Certificate:
        """That the units are perfect, or that those which are not cannot be."""
        hopeless = [k for k in range(self._lesson.units) if self.hopeless(k)]
        proofs = [found.certificate for k in hopeless if (found := self.separations[k]) is not None]
        if not proofs or not self._done():
            return Certificate("separation", float(self.mistakes), 0.0, "rows on the wrong side of a hyperplane")
        worst = max(proofs, key=lambda proof: proof.value)
        which = "the classes" if self._lesson.units == 1 else f"any of classes_[{hopeless}] from the others"
        sentence = (
            f"distance at which weighted means of the rows of both sides meet, so that no hyperplane separates "
            f"{which}; {counted(self.mistakes, 'mistake')} at best so far"
        )
        return Certificate("no separation", worst.value, worst.tolerance, sentence)

    def _done(self) -> bool:
        return all(self._perfect(k) or self.hopeless(k) for k in range(self._lesson.units))

    def trouble(self, passes: int) -> Warning | None:
        """Evidence, cause, and one thing to do, where the certificate does not hold."""
        if self.weights is None or self.certificate().holds:
            return None
        evidence = (
            f"the perceptron has found no separating hyperplane: {counted(self.mistakes, 'mistake')} left after "
            f"{counted(passes, 'pass')}."
        )
        return NotConvergedWarning(f"{evidence} {no_hyperplane(self._lesson, self._doubt())}")

    def _doubt(self) -> str | None:
        """Why it is not known whether the units could be perfect."""
        if not self._asked:
            return "Whether there is one was not examined: the table exceeds proof_size"
        if any(found is not None and not found.certificate.holds for found in self.separations):
            return "Whether there is one could not be told from rounding errors"
        return None


# The rules that descend along a gradient: how near they are to the end, and whether their steps were too long.

#: a loss that grew by this factor will not come back
LOST_FACTOR = 1e6
#: … and one that is higher at the end by more than these is on its way there: met row by row, or of all rows
NOISE, ROUNDING = 10.0, 1 + 1e-9
#: from so many passes on, a gradient that shrank by less than this while they doubled has stopped shrinking
MANY_PASSES, STAGNATION_RATIO = 16, 0.7

GRADIENTS = {
    "lms": "largest cosine between a column and what is left of the targets, 0 where the normal equations hold",
    "logistic": "largest cosine between a column and the errors, 0 where the gradient of the likelihood vanishes",
    "sigmoid": "largest cosine between a column and the errors, 0 at a stationary point; the loss is not convex, so "
    "that there may be others",
}


class GradientMonitor:
    """The gradient of the weights to be published, when last looked at, and the losses met on the way."""

    def __init__(
        self, lesson: LabelledRows, rule: LearningRule, how: RuleOptions, rate: LearningRate, tolerance: float | None, start: Array
    ) -> None:
        self._lesson, self._rule, self._how, self._rate = lesson, rule, how, rate
        self._tolerance = tolerance or 0.0
        self._losses: Sequence[float] = ()
        self._look: ErrorSums | None = None
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
        self._ran_away = not finite or losses[-1] > LOST_FACTOR * losses[0]
        return self._ran_away

    def settled(self, look: ErrorSums) -> bool:
        """Whether weights are final, given what they do wrong."""
        self._look = look
        self._gradient_before, self.gradient = self.gradient, look.distance()
        self._circles = self._goes_round()
        return self._circles or self.gradient <= self._tolerance

    def _goes_round(self) -> bool:
        """Whether a constant rate has taken the weights as near to the optimum as it can."""
        constant = self._how.incremental and not self._how.average and self._rate.decay == 0
        return constant and len(self._losses) >= MANY_PASSES and self.gradient > STAGNATION_RATIO * self._gradient_before

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
            return DivergedWarning(f"{diverged(self._rate.start, self._losses)} {self._slower()}")
        if self._overshot():
            return DivergedWarning(f"{overshot(self._rule, self._rate.start)} {self._slower()}")
        if self._look is None or self.certificate().holds:
            return None
        evidence = f"The {self._rule.name} rule has not converged: {self.certificate()}, after {passes} passes."
        return NotConvergedWarning(f"{evidence} {self._remedy()}")

    def _remedy(self) -> str:
        if self._unsafe:
            return self._slower()
        return GOES_ROUND if self._circles else more_passes(self._lesson)

    def _slower(self) -> str:
        return slower(self._rule, self._largest_rate, incremental=self._how.incremental)


class LearnedWeights(NamedTuple):
    """Weights of units, how they came about, and for each unit whether it can be perfect, where that was asked."""

    coefficients: Array
    intercept: Array
    history: History
    separations: tuple[Separation | None, ...]


def learn(
    lesson: LabelledRows,
    rule: LearningRule,
    how: RuleOptions,
    units: ThresholdUnits,
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
    course = LearningRun(lesson, rule, how, units, tolerance, blame)
    # threads are chosen once, not in every pass
    with keep_on_interrupt(course.solution, "the weights learnt so far are kept"), blas_for(lesson.n_columns):
        course.run(most_passes, progress)
    course.warn()
    return course.solution()


class LearningRun:
    """Units in the course of learning."""

    def __init__(
        self,
        lesson: LabelledRows,
        rule: LearningRule,
        how: RuleOptions,
        units: ThresholdUnits,
        tolerance: float | None,
        blame: Callable[[], None],
    ) -> None:
        self._lesson, self._rule, self._how, self._units = lesson, rule, how, units
        self._tolerance, self._blame = tolerance, blame
        self._rate = self._blaming(
            lambda: choose_rate(lesson, rule, incremental=how.incremental, start=how.rate, decay=how.decay)
        )
        self._log, self._pocket = HistoryLog(), PocketMonitor(lesson, how.proof_size)
        self._descent = GradientMonitor(lesson, rule, how, self._rate, tolerance, self._weights())
        self._judge: PocketMonitor | GradientMonitor = self._descent if rule.has_gradient else self._pocket
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
        errors = ErrorSums.of(lesson, self._rule, units.stacked(intercept=lesson.intercept))
        rate = self._rate.after(units.passes)
        finite = bool(np.isfinite(errors.gradient).all() and np.isfinite(errors.tally).all())
        done = self._note(stochastic.LearningPass(errors.loss, errors.mistakes, errors.misclassified, finite), rate)
        done = done or self._settled(None if self._how.average else errors)
        if not done:
            units.move(rate * errors.gradient, intercept=lesson.intercept)
            self._looked = False
        self._log.keep(units.w, units.bias)
        return done

    def _incremental_pass(self, number: int, last: bool) -> bool:
        lesson, rule, units = self._lesson, self._rule, self._units
        at_first, self._looked = self._rate.after(units.passes), False
        fared = stochastic.learn_pass(lesson, rule, units, self._rate, order=self._order(), average=self._how.average)
        lost = self._note(fared._replace(finite=fared.finite and bool(np.isfinite(units.w).all())), at_first)
        self._log.keep(units.w, units.bias)
        # a look costs another pass: to know a gradient it is worth one each time that the passes have doubled
        if lost or (rule.has_gradient and not last and number & (number - 1)):
            return lost
        return self._settled(None)

    def _order(self) -> Array:
        return stochastic.IN_ORDER if self._how.rng is None else stochastic.shuffle_rows(self._lesson.n_rows, self._how.rng)

    def _note(self, fared: stochastic.LearningPass, rate: float) -> bool:
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

    def _settled(self, look: ErrorSums | None) -> bool:
        """Look at the weights to be published, unless that was done, and say whether they are final."""
        if self._tolerance is None:
            return False
        look, self._looked = look or ErrorSums.of(self._lesson, self._rule, self._weights()), True
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
        learnt = LearnedWeights(w[:columns].T.copy(), bias, history, tuple(self._pocket.separations))
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
