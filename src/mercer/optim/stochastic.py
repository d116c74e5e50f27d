"""Incremental (stochastic) gradient descent: a step after every row or few (lecture 2).

The objective falls from the first row on; then the iterates circle the optimum at a distance that depends on the rate,
and converge if the rate decays to zero. `solve` minimises the objective of a conditional model this way; `learn_pass`
updates linear threshold units once for every row, by any of the four learning rules, in compiled loops.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.data.blocks import COPIED_BLOCK, rows_per_block
from mercer.matrices.dense import is_block
from mercer.optim import _online_loops as loops
from mercer.optim.certificate import Certificate, Solution, gradient_certificate
from mercer.optim.curvature import Curvature
from mercer.optim.descent import Callback, Descent, descend
from mercer.optim.learning_rules import LabelledRows, LearningRate, LearningRule, ThresholdUnits
from mercer.optim.problem import Problem, Slope
from mercer.stats.quadratic import HESSIAN

#: distance to the optimum, in standard errors: stochastic steps are for a rough optimum
ONLINE_TOLERANCE = 0.1
#: passes over the rows
MAX_ONLINE_PASSES = 100
#: steps per pass for the default batch size, if there are as many rows
STEPS_PER_PASS = 1000
#: entries of the rows that are copied at once
CHUNK_ENTRIES = 1 << 18
#: rows beyond which shuffling keeps neighbours together, so that memory is read in longer pieces
MAX_SHUFFLED_ROWS = 1 << 17
#: neighbouring rows that are kept together then: a few cache lines
NEIGHBOURS = 16
#: the empty array, by which compiled loops recognise "every row weighs 1" and "no averaging"
EMPTY = np.zeros(0)
#: the empty order, by which compiled loops recognise "row after row"
ROW_AFTER_ROW = np.zeros(0, dtype=np.int64)


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    rate: float | None = None,
    decay: float = 1.0,
    batch_rows: int | None = None,
    tolerance: float = ONLINE_TOLERANCE,
    most_steps: int = MAX_ONLINE_PASSES,
    random_state: int | None = 0,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a smooth problem by steps along the gradient of one batch of rows at a time.

    Parameters
    ----------
    problem : Problem
        Its penalty must have no absolute values; each step includes its share of it.
    start : array, optional
        Initial coefficients; `problem.start()` by default.
    rate : float, optional
        α after t passes, fractions included, is rate / (1 + decay · t), in working coordinates. By default a rate that
        is safe for rows of average length, halved whenever the objective after a pass is above its initial value.
    decay : float
        Decay of the rate.
    batch_rows : int, optional
        Rows per step; by default one, or a thousandth of the rows.
    tolerance : float
        Upper bound for √(gᵀH⁻¹g), the distance to the optimum in standard errors.
    most_steps : int
        Maximum number of passes over the rows; beyond it the certificate does not hold.
    random_state : int or None
        Seed of the order of the rows, drawn anew in each pass; None keeps their order.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.

    Returns
    -------
    solution : Solution
        `coef` has the working coefficients, a mean over all passes with larger weights for later ones: the best of the
        means after each pass, which the history records.
    """
    size = batch_rows or max(1, len(problem.observations) // STEPS_PER_PASS)
    rng = None if random_state is None else np.random.default_rng(random_state)
    descent = StochasticDescent(problem, problem.start() if start is None else start, rate, decay, size, rng, tolerance)
    return descend(descent, max_iter=most_steps, callback=callback)


class _BestIterate(NamedTuple):
    w: Array
    slope: Slope


class StochasticDescent(Descent):
    """Passes of stochastic gradient descent, and the best mean of the coefficients so far."""

    patience = np.inf

    def __init__(
        self,
        problem: Problem,
        start: Array,
        rate: float | None,
        decay: float,
        size: int,
        rng: np.random.Generator | None,
        tolerance: float,
    ) -> None:
        self._problem, self._size, self._rng, self.tolerance = problem, size, rng, tolerance
        self._w = np.array(start, dtype=float)
        self._mean = np.zeros_like(self._w)
        with np.errstate(all="ignore"):
            self._improve(self._w, problem.at(self._w, HESSIAN))
        rows = len(problem.observations)
        safe = rows / (float(np.trace(self._best.slope.hessian)) or 1.0) / size
        self._rate, self._adapts = LearningRate(safe if rate is None else rate, decay), rate is None
        self._first = self.objective

    def _improve(self, w: Array, slope: Slope) -> None:
        """Make `w` the best point, and measure its distance to the optimum."""
        value, gradient, hessian = slope
        finite = bool(np.isfinite(hessian).all())
        self.distance = Curvature.of(hessian).length(gradient) / self._problem.unit(value) if finite else np.inf
        self._best = _BestIterate(w.copy(), slope)

    @property
    def coef(self) -> Array:
        return self._best.w

    @property
    def objective(self) -> float:
        return self._best.slope.value

    def advance(self) -> bool:
        """Make a pass over the rows."""
        with np.errstate(all="ignore"):
            # mean of all passes so far, the t-th with weight t
            self._mean += (self._pass(self.n_iter) - self._mean) * 2 / (self.n_iter + 2)
            there = self._problem.at(self._mean, HESSIAN)
        if there.value < self.objective:
            self._improve(self._mean, there)
        elif self._adapts and not there.value <= self._first:
            self._rate = LearningRate(0.5 * self._rate.start, self._rate.decay)
            self._w, self._mean = self._best.w.copy(), self._best.w.copy()
        return True

    def _pass(self, number: int) -> Array:
        """Take one step per batch of rows; return the mean of the coefficients over the steps."""
        total, steps = np.zeros_like(self._w), 0
        n = len(self._problem.observations)
        order = np.arange(n) if self._rng is None else self._rng.permutation(n)
        chunk = self._size * max(1, CHUNK_ENTRIES // (self._size * self._problem.n_columns))
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

    def certificate(self) -> Certificate:
        how = f"√(gᵀH⁻¹g), after {self.n_iter} passes of stochastic gradient descent"
        return gradient_certificate(self.distance, self.tolerance, how, is_convex=self._problem.is_convex)


# Linear threshold units


class LearningPass(NamedTuple):
    """Losses and mistakes during a pass, each row evaluated before the step for it."""

    #: Σ weight · loss of each unit
    loss: Array
    #: number of rows on the wrong side of each unit
    mistakes: Array
    #: weight of the misclassified rows
    misclassified: float
    #: whether every value was finite
    finite: bool


def learn_pass(
    labelled: LabelledRows,
    rule: LearningRule,
    units: ThresholdUnits,
    rate: LearningRate,
    *,
    order: Array = ROW_AFTER_ROW,
    average: bool = False,
) -> LearningPass:
    """Update units by every row once, one after the other.

    Parameters
    ----------
    labelled : LabelledRows
        The rows.
    rule : LearningRule
        The error that a step corrects.
    units : ThresholdUnits
        Changed in place.
    rate : LearningRate
        Step sizes.
    order : array of int
        Rows to visit, in this order; all of them in their order by default.
    average : bool
        Whether to accumulate the sums for the average of the weights.

    Returns
    -------
    summary : LearningPass
        Losses and mistakes.
    """
    tally = np.zeros((labelled.units + 1, 2))
    for rows in _row_portions(labelled):
        pace = loops.Pace(*rate, units.passes + rows.start / labelled.n_rows, 1 / labelled.n_rows, units.steps)
        _learn(labelled, rule, units, order if order.size == 0 else order[rows], rows, pace, average, tally)
        units.steps += rows.stop - rows.start
    units.passes += 1
    return LearningPass(tally[:-1, 0], tally[:-1, 1], float(tally[-1, 0]), bool(np.isfinite(tally[-1, 1])))


def shuffle_rows(n: int, rng: np.random.Generator) -> Array:
    """Return the numbers of n rows in random order; of many rows, blocks of neighbours stay together."""
    if n <= MAX_SHUFFLED_ROWS:
        return rng.permutation(n)
    order = (NEIGHBOURS * rng.permutation(-(-n // NEIGHBOURS))[:, None] + np.arange(NEIGHBOURS)).ravel()
    return np.asarray(order[order < n])


def _row_portions(labelled: LabelledRows) -> list[slice]:
    """Return one slice of all rows if loops can read them in place, else blocks to be copied."""
    if labelled.entries is not None or is_block(labelled.X):
        return [slice(0, labelled.n_rows)]
    return row_blocks(labelled.n_rows, rows_per_block(labelled.n_columns, COPIED_BLOCK))


def _learn(
    labelled: LabelledRows,
    rule: LearningRule,
    units: ThresholdUnits,
    order: Array,
    rows: slice,
    pace: loops.Pace,
    average: bool,
    tally: Array,
) -> None:
    """Call the compiled loop for dense rows, sparse rows with one unit, or sparse rows with several units."""
    weight = EMPTY if labelled.weight is None else labelled.weight
    w, w_sum = units.w, units.w_sum if average else EMPTY.reshape(0, 0)
    if labelled.entries is None:
        learn, (X, codes, weight, order) = loops.learn_dense, _readable_block(labelled, order, rows, weight)
        data: tuple[Array, ...] = (X,)
        w, w_sum = w.T, w_sum.T
    else:
        learn, codes, data = loops.learn_sparse_units, labelled.codes, labelled.entries
        if labelled.units == 1:
            learn, w, w_sum = loops.learn_sparse, w.ravel(), w_sum.ravel()
    bias, learns = units.bias, float(labelled.intercept)
    learn(rule.code, *data, codes, labelled.first, weight, order, pace, w, bias, learns, w_sum, units.bias_sum, tally)


def _readable_block(
    labelled: LabelledRows, order: Array, rows: slice, weight: Array
) -> tuple[Array, Array, Array, Array]:
    """Return dense rows as loops read them: in place if possible, else copied in their order."""
    if is_block(labelled.X):
        return labelled.X, labelled.codes, weight, order
    chosen = order if order.size else np.arange(rows.start, rows.stop)
    X = np.require(labelled.X[chosen], np.float64, ["C", "W"])
    return X, labelled.codes[chosen], weight[chosen] if weight.size else weight, ROW_AFTER_ROW
