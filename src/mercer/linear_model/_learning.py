"""Train linear threshold units, pass after pass by one of the four learning rules, until a proof that they are final.

The perceptron stops when no row is on the wrong side, which the hyperplane itself proves. If it makes no progress, it
stops with the proof that no hyperplane separates the rows (see `mercer.optim.separation`); otherwise it would never
end. The other rules stop when the gradient of their loss vanishes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DivergedWarning, NonFiniteError, NotConvergedWarning
from mercer._threads import blas_for
from mercer._typing import Array
from mercer._warn import warn
from mercer.linear_model._learning_history import HistoryLog, LearningHistory
from mercer.matrices import Observations
from mercer.optim import separation, stochastic
from mercer.optim.certificate import STATIONARY, Certificate, History, Solution
from mercer.optim.descent import Callback, Step
from mercer.optim.gradient import ErrorSums
from mercer.optim.learning_rules import (
    LabelledRows,
    LearningRate,
    LearningRule,
    RuleOptions,
    ThresholdUnits,
    choose_rate,
    largest_rate,
)
from mercer.optim.separation import Separation
from mercer.report.wording import format_count

#: ratio of the sizes of columns above which the descent is slow
UNEQUAL_SIZES = 30.0
#: largest finite number
LARGEST_FLOAT = float(np.finfo(float).max)
#: tests without fewer mistakes after which the existence of a separating hyperplane is decided
IDLE_TESTS_BEFORE_PROOF = 10
#: increase of the loss from which it does not recover
LOST_FACTOR = 1e6
#: increase of the loss over all passes that means divergence, if weights change after each row
DIVERGENCE_OF_INCREMENTAL_LOSS = 10.0
#: the same if weights change after each pass, where only rounding is allowed
LOSS_ROUNDING = 1 + 1e-9
#: number of passes from which on a gradient that no longer shrinks is detected
MANY_PASSES = 16
#: ratio of the gradients before and after the passes have doubled, above which the gradient no longer shrinks
STAGNATION_RATIO = 0.7

#: remedy for a constant rate in incremental mode
CIRCLING_REMEDY = (
    "At a constant rate the weights circle around the optimum; let the rate decrease (decay=1), average the weights "
    '(average=True), or use mode="batch".'
)


def advise_on_slow_descent(data: LabelledRows) -> str:
    """Return the advice to scale the columns if their sizes differ, else to allow more passes."""
    mean, size = data.spread
    with np.errstate(over="ignore"):  # the factor is only for the message, and may be the largest float
        sizes = np.minimum(np.append(np.hypot(mean, size), np.ones(int(data.intercept))), LARGEST_FLOAT)
        factor = min(sizes.max() / sizes[sizes > 0].min(), LARGEST_FLOAT)
    if factor > UNEQUAL_SIZES:
        return (
            f"the columns differ in size by a factor of {factor:.2g}, which makes for slow progress; centre each and "
            "divide it by its spread, e.g. with StandardScaler"
        )
    return "allow more passes (max_iter), or centre the columns, e.g. with StandardScaler"


class PocketMonitor:
    """Keep the weights with the fewest mistakes of each perceptron (Gallant's pocket), and decide if they are best.

    Parameters
    ----------
    data : LabelledRows
        The rows.
    proof_size : float
        Rows × columns² × units up to which linear programmes decide whether separating hyperplanes exist.
    decide : callable, optional
        Function of the observations of a unit that returns a `Separation`.
    """

    def __init__(
        self,
        data: LabelledRows,
        proof_size: float,
        decide: Callable[[Observations], Separation] = separation.bernoulli,
    ) -> None:
        self._data, self._decide = data, decide
        self._provable = data.n_rows * float(data.n_columns) ** 2 * data.units <= proof_size
        self._wrong = np.full(data.units, np.inf)
        self._mistakes = np.zeros(data.units)
        self._idle = 0
        self._has_programmes = False
        self.weights: Array | None = None
        self.separations: list[Separation | None] = [None] * data.units

    def is_final(self, errors: ErrorSums) -> bool:
        """Keep weights that are better; return whether every unit is perfect, or proved never to be."""
        if self.weights is None:
            self.weights = errors.w.copy()
        better = errors.wrong < self._wrong
        self.weights[:, better] = errors.w[:, better]
        self._wrong[better], self._mistakes[better] = errors.wrong[better], errors.mistakes[better]
        self._idle = 0 if better.any() else self._idle + 1
        if self._idle >= IDLE_TESTS_BEFORE_PROOF:
            self.decide_separability()
        return self._is_done()

    def decide_separability(self) -> None:
        """Decide by linear programming, once, whether units without a separating hyperplane have one."""
        if self._has_programmes or self.weights is None or not self._provable:
            return
        self._has_programmes = True
        for unit in range(self._data.units):
            if not self._is_perfect(unit):
                self.separations[unit] = self._decide(self._data.unit_observations(unit))

    def _is_perfect(self, unit: int) -> bool:
        return bool(self._wrong[unit] == 0)

    def is_hopeless(self, unit: int) -> bool:
        """Return whether it is proved that no weights put every row on its own side.

        Rows of class 1 may have u = 0, the others may not; with an intercept that makes no difference.
        """
        found = self.separations[unit]
        if found is None or not found.certificate.holds:
            return False
        return not bool(found.separated[self._data.codes != self._data.first + unit].all())

    @property
    def mistakes(self) -> int:
        return int(self._mistakes.sum())

    def certificate(self) -> Certificate:
        """Return the certificate that every unit is perfect, or cannot be."""
        hopeless = [k for k in range(self._data.units) if self.is_hopeless(k)]
        proofs = [found.certificate for k in hopeless if (found := self.separations[k]) is not None]
        if not proofs or not self._is_done():
            return Certificate("separation", float(self.mistakes), 0.0, "rows on the wrong side of a hyperplane")
        worst = max(proofs, key=lambda proof: proof.value)
        which = "the classes" if self._data.units == 1 else f"any of classes_[{hopeless}] from the others"
        sentence = (
            f"distance at which weighted means of the rows of both sides meet, so that no hyperplane separates "
            f"{which}; {format_count(self.mistakes, 'mistake')} at best so far"
        )
        return Certificate("no separation", worst.value, worst.tolerance, sentence)

    def _is_done(self) -> bool:
        return all(self._is_perfect(k) or self.is_hopeless(k) for k in range(self._data.units))

    def warning(self, passes: int) -> Warning | None:
        """Return a warning with evidence, cause and one remedy, or None if the certificate holds."""
        if self.weights is None or self.certificate().holds:
            return None
        evidence = (
            f"the perceptron has found no separating hyperplane: {format_count(self.mistakes, 'mistake')} left after "
            f"{format_count(passes, 'pass')}."
        )
        advice, doubt = advise_on_slow_descent(self._data), self._reason_of_doubt()
        if doubt is None:
            return NotConvergedWarning(f"{evidence} There is one, found by linear programming; {advice}.")
        return NotConvergedWarning(
            f'{evidence} {doubt}; {advice}, or use rule="logistic", which need not separate the rows.'
        )

    def _reason_of_doubt(self) -> str | None:
        """Return the reason why it is unknown whether the units could be perfect, or None if it is known."""
        if not self._has_programmes:
            return "Whether there is one was not examined: the table exceeds proof_size"
        if any(found is not None and not found.certificate.holds for found in self.separations):
            return "Whether there is one could not be distinguished from rounding errors"
        return None


#: sentences of the certificates of rules that follow a gradient
GRADIENT_SENTENCES = {
    "lms": "largest cosine between a column and what is left of the targets, 0 where the normal equations hold",
    "logistic": "largest cosine between a column and the errors, 0 where the gradient of the likelihood vanishes",
    "sigmoid": "largest cosine between a column and the errors, 0 at a stationary point; the loss is not convex, so "
    "that there may be others",
}


class GradientMonitor:
    """Monitor of a rule that follows a gradient, by the gradient at the published weights and the losses of passes."""

    def __init__(
        self,
        data: LabelledRows,
        rule: LearningRule,
        options: RuleOptions,
        rate: LearningRate,
        tolerance: float | None,
        start: Array,
    ) -> None:
        self._data, self._rule, self._options, self._rate = data, rule, options, rate
        self._tolerance = tolerance or 0.0
        self._losses: Sequence[float] = ()
        self._errors: ErrorSums | None = None
        self.gradient = self._gradient_before = np.inf
        #: lowest loss of LMS so far, and its weights
        self._lowest = (np.inf, start)
        self._is_lost = self._is_circling = False

    def check_loss(self, losses: Sequence[float], finite: bool, weights: Callable[[], Array]) -> bool:
        """Keep the weights of the lowest loss of LMS; return whether its loss, which is unbounded, diverges."""
        self._losses = losses
        if self._rule.name != "lms":
            return False
        if finite and losses[-1] < self._lowest[0]:
            self._lowest = (losses[-1], weights())
        self._is_lost = not finite or losses[-1] > LOST_FACTOR * losses[0]
        return self._is_lost

    def is_final(self, errors: ErrorSums) -> bool:
        """Return whether weights with these errors are final."""
        self._errors = errors
        self._gradient_before, self.gradient = self.gradient, errors.distance()
        # a constant rate in incremental mode leads only to a neighbourhood of the optimum
        has_constant_rate = self._options.incremental and not self._options.average and self._rate.decay == 0
        is_stagnant = len(self._losses) >= MANY_PASSES and self.gradient > STAGNATION_RATIO * self._gradient_before
        self._is_circling = has_constant_rate and is_stagnant
        return self._is_circling or self.gradient <= self._tolerance

    # Steps that were too long.

    @property
    def weights(self) -> Array | None:
        """Weights of the lowest loss if LMS has diverged, else None."""
        return self._lowest[1] if self._has_diverged() else None

    def _has_diverged(self) -> bool:
        if self._is_lost or self._rule.name != "lms":
            return self._is_lost
        loss = self._losses
        allowed = DIVERGENCE_OF_INCREMENTAL_LOSS if self._options.incremental else LOSS_ROUNDING
        return self.gradient > self._tolerance and len(loss) > 1 and loss[-1] > allowed * loss[0]

    def _has_overshot(self) -> bool:
        """Return whether some unit was driven to where σ is flat: it is worse than a unit with weights of zero."""
        if self._errors is None or not self._rule.has_probabilities or not self._is_unsafe:
            return False
        loss_of_zero = LOSS_ROUNDING * self._rule.ignorance * self._data.total_weight
        return bool(((self._errors.loss > loss_of_zero) & (self._errors.mistakes > 0)).any())

    @cached_property
    def _is_unsafe(self) -> bool:
        """True if the given rate may increase the loss."""
        return self._options.rate is not None and self._options.rate >= self._largest_rate

    @property
    def _largest_rate(self) -> float:
        return largest_rate(self._data, self._rule, incremental=self._options.incremental)

    # The result.

    def certificate(self) -> Certificate:
        """Return the certificate that the gradient vanishes, or that the rows are separated and it never does."""
        if self._rule.has_probabilities and self.gradient > self._tolerance and self._is_perfect():
            sentence = "rows on the wrong side; if there are none, the loss has no minimum and decreases without end"
            return Certificate("separation", 0.0, 0.0, sentence)
        value = np.inf if self._has_diverged() or self._has_overshot() else self.gradient
        kind = STATIONARY if self._rule.name == "sigmoid" else "gradient norm"
        return Certificate(kind, value, self._tolerance, GRADIENT_SENTENCES[self._rule.name])

    def _is_perfect(self) -> bool:
        return self._errors is not None and not self._errors.mistakes.any()

    def warning(self, passes: int) -> Warning | None:
        """Return a warning with evidence, cause and one remedy, or None if the certificate holds."""
        name, rate = self._rule.name, self._rate.start
        if self._has_diverged():
            loss = self._losses
            is_finite = np.isfinite(loss[-1])
            rise = f"rose from {loss[0]:.3g} to {loss[-1]:.3g}" if is_finite else "left the range of numbers"
            return DivergedWarning(
                f"LMS has diverged: with rate={rate:.3g} the mean loss {rise} in {format_count(len(loss), 'pass')}; "
                f"the weights with the lowest are kept. {self._advise_smaller_rate()}"
            )
        if self._has_overshot():
            return DivergedWarning(
                f"The {name} rule has overshot: with rate={rate:.3g} a unit is worse than with weights of zero. "
                f"{self._advise_smaller_rate()}"
            )
        if self._errors is None or self.certificate().holds:
            return None
        evidence = f"The {name} rule has not converged: {self.certificate()}, after {passes} passes."
        if self._is_unsafe:
            return NotConvergedWarning(f"{evidence} {self._advise_smaller_rate()}")
        if self._is_circling:
            return NotConvergedWarning(f"{evidence} {CIRCLING_REMEDY}")
        advice = advise_on_slow_descent(self._data)
        return NotConvergedWarning(f"{evidence} {advice[0].upper()}{advice[1:]}.")

    def _advise_smaller_rate(self) -> str:
        numerator = f"{2 / self._rule.curvature:.3g}"
        over = f"{numerator}/‖x‖² of the longest row" if self._options.incremental else f"{numerator}/λmax(XᵀX)"
        return f'Only rates below {over} = {self._largest_rate:.3g} are safe; use rate="auto".'


class LearnedWeights(NamedTuple):
    """Weights of units, history of their passes, and for each unit the decision on separability, if there is one."""

    coefficients: Array
    intercept: Array
    history: LearningHistory
    separations: tuple[Separation | None, ...]


def learn(
    data: LabelledRows,
    rule: LearningRule,
    options: RuleOptions,
    units: ThresholdUnits,
    *,
    tolerance: float | None,
    most_passes: int,
    callback: Callback | None = None,
    blame: Callable[[], None] = lambda: None,
) -> Solution:
    """Train units.

    Parameters
    ----------
    data : LabelledRows
        The rows.
    rule : LearningRule
        One of the four rules.
    options : RuleOptions
        Mode, rate and averaging.
    units : ThresholdUnits
        Units to begin with; changed in place.
    tolerance : float or None
        Tolerance of the gradient, as the largest cosine between a column and the errors; for the perceptron any number
        means "until a proof". None makes all passes without a test for convergence.
    most_passes : int
        Maximum number of passes; without convergence a `NotConvergedWarning` follows (unless the tolerance is None).
    callback : callable, optional
        Called after each pass with a `Step`: the mean loss, and the gradient as distance (∞ until it was computed).
    blame : callable
        Called if a number is not finite; raises an error if the data are the cause.

    Returns
    -------
    solution : Solution
        `coef` is `LearnedWeights`; the history has the mean loss of each pass.
    """
    run = LearningRun(data, rule, options, units, tolerance, blame)
    # threads are chosen once, not in every pass
    try:
        with blas_for(data.n_columns):
            run.make_passes(most_passes, callback)
    except KeyboardInterrupt:
        solution = run.solution()
        return replace(solution, certificate=solution.certificate.after_interruption(), interrupted=True)
    run.warn()
    return run.solution()


class LearningRun:
    """Passes over the rows that train units."""

    def __init__(
        self,
        data: LabelledRows,
        rule: LearningRule,
        options: RuleOptions,
        units: ThresholdUnits,
        tolerance: float | None,
        blame: Callable[[], None],
    ) -> None:
        self._data, self._rule, self._options, self._units = data, rule, options, units
        self._tolerance, self._blame = tolerance, blame
        self._rate = self._blaming(
            lambda: choose_rate(data, rule, incremental=options.incremental, start=options.rate, decay=options.decay)
        )
        self._log, self._pocket = HistoryLog(), PocketMonitor(data, options.proof_size)
        self._descent = GradientMonitor(data, rule, options, self._rate, tolerance, self._weights())
        self._monitor: PocketMonitor | GradientMonitor = self._descent if rule.has_gradient else self._pocket
        #: whether the monitor has examined the current weights
        self._is_examined = False

    def make_passes(self, most_passes: int, callback: Callback | None) -> None:
        for number in range(1, most_passes + 1):
            last = number == most_passes
            done = self._incremental_pass(number, last) if self._options.incremental else self._batch_pass()
            if callback is not None:
                callback(Step(number, self._log.loss[-1], self._descent.gradient, self._units.w))
            if done:
                return
        # the weights after the last step over all rows are not examined yet
        if self._options.incremental or not self._is_final(None):
            self._pocket.decide_separability()

    def _blaming(self, compute: Callable[[], Any]) -> Any:
        """Return `compute()`, which needs squares of the data; an error of the data precedes that of a result."""
        try:
            return compute()
        except NonFiniteError:
            self._blame()
            raise

    # Passes; each returns whether no further pass is needed.

    def _batch_pass(self) -> bool:
        data, units = self._data, self._units
        errors = ErrorSums.of(data, self._rule, units.stack(intercept=data.intercept))
        rate = self._rate.after(units.passes)
        finite = bool(np.isfinite(errors.gradient).all() and np.isfinite(errors.tally).all())
        done = self._note(stochastic.LearningPass(errors.loss, errors.mistakes, errors.misclassified, finite), rate)
        done = done or self._is_final(None if self._options.average else errors)
        if not done:
            units.move(rate * errors.gradient, intercept=data.intercept)
            self._is_examined = False
        self._log.keep(units.w, units.bias)
        return done

    def _incremental_pass(self, number: int, last: bool) -> bool:
        data, rule, units = self._data, self._rule, self._units
        first_rate, self._is_examined = self._rate.after(units.passes), False
        result = stochastic.learn_pass(
            data, rule, units, self._rate, order=self._order(), average=self._options.average
        )
        is_finite = result.finite and bool(np.isfinite(units.w).all())
        is_lost = self._note(result._replace(finite=is_finite), first_rate)
        self._log.keep(units.w, units.bias)
        # the gradient costs another pass, so it is computed only each time that the number of passes has doubled
        if is_lost or (rule.has_gradient and not last and number & (number - 1)):
            return is_lost
        return self._is_final(None)

    def _order(self) -> Array:
        return (
            stochastic.ROW_AFTER_ROW
            if self._options.rng is None
            else stochastic.shuffle_rows(self._data.n_rows, self._options.rng)
        )

    def _note(self, result: stochastic.LearningPass, rate: float) -> bool:
        """Record a pass; return whether the weights diverge, so that a further pass is useless."""
        weight, loss = self._data.total_weight, float(result.loss.sum()) / self._data.total_weight
        if not result.finite:
            self._blame()
            if self._rule.name != "lms":
                raise NonFiniteError(
                    "the weights, or their products with rows, are too large for float64; divide the largest columns "
                    'by a number, or use rate="auto".'
                )
        self._log.note(loss=loss, error=result.misclassified / weight, mistakes=float(result.mistakes.sum()), rate=rate)
        return self._descent.check_loss(self._log.loss, result.finite, self._weights)

    def _is_final(self, errors: ErrorSums | None) -> bool:
        """Return whether the weights to be published are final; their errors are computed unless given."""
        if self._tolerance is None:
            return False
        found, self._is_examined = errors or ErrorSums.of(self._data, self._rule, self._weights()), True
        return bool(self._blaming(lambda: self._monitor.is_final(found)))

    # The result.

    def _weights(self) -> Array:
        """Return the weights that would be published now."""
        weights = self._units.average if self._options.average else self._units.stack
        return weights(intercept=self._data.intercept)

    def solution(self) -> Solution:
        history, columns = self._log.history(), self._data.n_columns
        w = self._weights() if self._monitor.weights is None else self._monitor.weights
        bias = w[columns] if self._data.intercept else np.zeros(self._data.units)
        learned = LearnedWeights(w[:columns].T.copy(), bias, history, tuple(self._pocket.separations))
        return Solution(learned, self.certificate(), History.of(history.loss))

    def certificate(self) -> Certificate:
        if self._is_examined or self._monitor.weights is not None:
            return self._monitor.certificate()
        if not self._rule.has_gradient and len(self._log) and not self._options.average:
            return Certificate("separation", self._log.mistakes[-1], 0.0, "mistakes in the last pass")
        kind = "gradient norm" if self._rule.has_gradient else "separation"
        why = "all passes were made without a test (tol=None)" if self._tolerance is None else "the fit was interrupted"
        return Certificate(kind, np.inf, 0.0, f"was not computed: {why}")

    def warn(self) -> None:
        """Warn if the result is not proved."""
        warning = self._monitor.warning(len(self._log))
        if warning is not None:
            warn(warning)
