"""Incremental (stochastic) gradient descent: a step after every row or few (lecture 2, "Incremental Gradient Descent").

It makes headway from the first row on, and then goes round the optimum at a distance that depends on the rate; a rate
that falls to zero brings it there. `solve` minimises a conditional model's objective this way; `pass_over` lets linear
threshold units learn every row once, by any of the four learning rules, in compiled loops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.data.blocks import COPIED_BLOCK, rows_per_block
from mercer.matrices.dense import is_block
from mercer.optim import _online_loops as loops
from mercer.optim.certificate import Progress, Solution, gradient_certificate, keep_on_interrupt
from mercer.optim.curvature import Curvature
from mercer.optim.learning_rules import LearningRule, LabelledRows, LearningRate, ThresholdUnits
from mercer.optim.problem import Problem, Slope
from mercer.stats.quadratic import HESSIAN

TOLERANCE = 0.1
MOST_PASSES = 100
#: steps of one pass, where there are as many rows
STEPS = 1000
#: numbers of the rows that are taken out at once
CHUNK = 1 << 18
#: rows beyond which shuffling leaves neighbours together, so that memory is read in pieces; and how many
MANY_ROWS, NEIGHBOURS = 1 << 17, 16
#: what compiled loops take for "every row weighs 1", "no averaging" and "row after row"
NOTHING = np.zeros(0)
IN_ORDER = np.zeros(0, dtype=np.int64)


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    rate: float | None = None,
    decay: float = 1.0,
    batch_rows: int | None = None,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_PASSES,
    random_state: int | None = 0,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a smooth problem by steps along the gradients of few rows at a time.

    Parameters
    ----------
    problem : Problem
        Its penalty must have no absolute values; each step takes its share of it.
    start : array, optional
        Where to begin; by default where the problem says.
    rate : float, optional
        α after t passes, fractions included, is rate / (1 + decay · t), in working coordinates. By default one that is
        safe for rows of average length, and half of it whenever a pass has made things worse than they were at first.
    decay : float
        How fast the rate falls.
    batch_rows : int, optional
        Rows of a step; by default one, or as many as make a thousand steps of a pass.
    tolerance : float
        How small √(gᵀH⁻¹g) has to become: the distance to the optimum, in standard errors.
    most_steps : int
        Passes over the rows after which to give up; the certificate then does not hold.
    random_state : int or None
        The order of the rows, anew in each pass; None for the order they have.
    progress : callable, optional
        Called after each pass with its number, the objective and the distance.

    Returns
    -------
    solution : Solution
        `value` are working coefficients, a mean over all passes in which later ones count more; `trace` has the
        objective at the start and after each pass.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    size = batch_rows or max(1, len(problem.observations) // STEPS)
    rng = None if random_state is None else np.random.default_rng(random_state)
    descent = _StochasticDescent(problem, problem.start() if start is None else start, rate, decay, size, rng)
    with keep_on_interrupt(lambda: descent.solution(tolerance)):
        descent.run(tolerance, most_steps, progress)
    return descent.solution(tolerance)


class _BestIterate(NamedTuple):
    w: Array
    slope: Slope


class _StochasticDescent:
    def __init__(
        self,
        problem: Problem,
        start: Array,
        rate: float | None,
        decay: float,
        size: int,
        rng: np.random.Generator | None,
    ) -> None:
        self._problem, self._size, self._rng = problem, size, rng
        self._w = np.array(start, dtype=float)
        with np.errstate(all="ignore"):
            self._best = _BestIterate(self._w.copy(), problem.at(self._w, HESSIAN))
        rows = len(problem.observations)
        safe = rows / (float(np.trace(self._best.slope.hessian)) or 1.0) / size
        self._rate, self._adapts = LearningRate(safe if rate is None else rate, decay), rate is None
        self._trace = [self._best.slope.value]

    def run(self, tolerance: float, most_passes: int, progress: Progress | None) -> None:
        mean = np.zeros_like(self._w)
        for number in range(most_passes):
            if not tolerance < self._distance() < np.inf:
                return  # there, or nowhere to go: the data are not finite
            with np.errstate(all="ignore"):
                # the mean of all passes so far, in which the t-th counts t times
                mean += (self._pass(number) - mean) * 2 / (number + 2)
                there = self._problem.at(mean, HESSIAN)
            self._trace.append(there.value)
            if there.value < self._best.slope.value:
                self._best = _BestIterate(mean.copy(), there)
            elif self._adapts and not there.value <= self._trace[0]:
                self._rate = LearningRate(0.5 * self._rate.start, self._rate.decay)
                self._w, mean = self._best.w.copy(), self._best.w.copy()
            if progress is not None:
                progress(number + 1, there.value, self._distance())

    def _pass(self, number: int) -> Array:
        """Learn every row once; returns the mean of the coefficients on the way."""
        total, steps = np.zeros_like(self._w), 0
        n = len(self._problem.observations)
        order = np.arange(n) if self._rng is None else self._rng.permutation(n)
        chunk = self._size * max(1, CHUNK // (self._size * self._problem.n_columns))
        for some in row_blocks(n, chunk):
            taken = self._problem.observations.take(order[some])
            x = taken.design.dense()
            for rows in row_blocks(len(x), self._size):
                weight, offset = (None if v is None else v[rows] for v in (taken.weight, taken.offset))
                gradient = self._problem.gradient_of_rows(self._w, x[rows], taken.y[rows], weight, offset)
                self._w -= self._rate.after(number + (some.start + rows.start) / n) * gradient
                total += self._w
                steps += 1
        return total / steps

    def _distance(self) -> float:
        value, gradient, hessian = self._best.slope
        if not np.isfinite(hessian).all():
            return np.inf
        return Curvature.of(hessian).length(gradient) / self._problem.unit(value)

    def solution(self, tolerance: float) -> Solution:
        passes = len(self._trace) - 1
        how = f"√(gᵀH⁻¹g), after {passes} passes of stochastic gradient descent"
        certificate = gradient_certificate(self._distance(), tolerance, how, is_convex=self._problem.is_convex)
        return Solution(self._best.w, certificate, tuple(self._trace))


# Linear threshold units.


class LearningPass(NamedTuple):
    """How units fared while they learnt: what each row cost before it was learnt."""

    #: Σ weight · loss of each unit
    loss: Array
    #: rows that each unit had on the wrong side
    mistakes: Array
    #: weight of the rows given to a wrong class
    misclassified: float
    #: whether every value met was finite
    finite: bool


def learn_pass(
    lesson: LabelledRows, rule: LearningRule, units: ThresholdUnits, rate: LearningRate, *, order: Array = IN_ORDER, average: bool = False
) -> LearningPass:
    """Let units learn every row once, one after the other.

    Parameters
    ----------
    lesson : Lesson
        The rows.
    rule : Rule
        How they are learnt.
    units : Units
        Changed in place.
    rate : Rate
        By how much.
    order : array of int
        Which rows to take, in which order; by default all as they come.
    average : bool
        Whether to keep what the average of the weights needs.

    Returns
    -------
    fared : Pass
    """
    tally = np.zeros((lesson.units + 1, 2))
    for rows in _row_portions(lesson):
        pace = loops.Pace(*rate, units.passes + rows.start / lesson.n_rows, 1 / lesson.n_rows, units.steps)
        _learn(lesson, rule, units, order if order.size == 0 else order[rows], rows, pace, average, tally)
        units.steps += rows.stop - rows.start
    units.passes += 1
    return LearningPass(tally[:-1, 0], tally[:-1, 1], float(tally[-1, 0]), bool(np.isfinite(tally[-1, 1])))


def shuffle_rows(n: int, rng: np.random.Generator) -> Array:
    """Rows in random order; where they are many, neighbours stay together."""
    if n <= MANY_ROWS:
        return rng.permutation(n)
    order = (NEIGHBOURS * rng.permutation(-(-n // NEIGHBOURS))[:, None] + np.arange(NEIGHBOURS)).ravel()
    return np.asarray(order[order < n])


def _row_portions(lesson: LabelledRows) -> list[slice]:
    """All rows at once if loops can read them as they are, else blocks to be copied."""
    if lesson.entries is not None or is_block(lesson.X):
        return [slice(0, lesson.n_rows)]
    return row_blocks(lesson.n_rows, rows_per_block(lesson.n_columns, COPIED_BLOCK))


def _learn(
    lesson: LabelledRows,
    rule: LearningRule,
    units: ThresholdUnits,
    order: Array,
    rows: slice,
    pace: loops.Pace,
    average: bool,
    tally: Array,
) -> None:
    """Hand rows and weights to the loop that is made for them."""
    weight = NOTHING if lesson.weight is None else lesson.weight
    w, w_sum = units.w, units.w_sum if average else NOTHING.reshape(0, 0)
    if lesson.entries is None:
        learn, (X, codes, weight, order) = loops.learn_dense, _readable_block(lesson, order, rows, weight)
        data: tuple[Array, ...] = (X,)
        w, w_sum = w.T, w_sum.T
    else:
        learn, codes, data = loops.learn_sparse_units, lesson.codes, lesson.entries
        if lesson.units == 1:
            learn, w, w_sum = loops.learn_sparse, w.ravel(), w_sum.ravel()
    bias, learns = units.bias, float(lesson.intercept)
    learn(rule.code, *data, codes, lesson.first, weight, order, pace, w, bias, learns, w_sum, units.bias_sum, tally)


def _readable_block(lesson: LabelledRows, order: Array, rows: slice, weight: Array) -> tuple[Array, Array, Array, Array]:
    """Rows of numbers as loops read them: in place if they can be, else copied in their order."""
    if is_block(lesson.X):
        return lesson.X, lesson.codes, weight, order
    chosen = order if order.size else np.arange(rows.start, rows.stop)
    X = np.require(lesson.X[chosen], np.float64, ["C", "W"])
    return X, lesson.codes[chosen], weight[chosen] if weight.size else weight, IN_ORDER
