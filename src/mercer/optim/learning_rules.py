"""Rows for linear threshold units to learn from, one unit per class."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._errors import NonFiniteError
from mercer._stored import floats, stored
from mercer._threads import blas_for, ordered_stream
from mercer._typing import Array
from mercer.matrices import Coordinates, DenseDesign, Design, MixedDesign, Observations, SparseDesign
from mercer.matrices.sparse import Entries
from mercer.optim import _online_loops as loops

# The four learning rules of lecture 2: how wrong a unit is about a row, and how much that costs.
#
# A linear threshold unit says 1 where u = w·x ≥ 0 and 0 elsewhere. Each rule moves its weights by w ← w + α e x:
#
#     perceptron   e = y − s(u)                      s the step function, y 0 or 1
#     LMS          e = t − u                         of ½ (t − u)²; Widrow and Hoff. t = ±1, see below
#     logistic     e = y − σ(u)                      of −y log σ(u) − (1 − y) log(1 − σ(u))
#     sigmoid      e = σ(u) (1 − σ(u)) (y − σ(u))    of ½ (y − σ(u))²
#
# With targets 0 and 1, LMS would put the threshold where u = ½, not where the unit has it (on the lecture's three
# points u(2, 2) = 0, so that the point of class 0 would be given to class 1); with −1 and 1 both agree.


@dataclass(frozen=True)
class LearningRule:
    """A learning rule; compiled loops know it by its code.

    Examples
    --------
    >>> RULES["logistic"].curvature
    0.25
    """

    name: str
    code: int
    #: the largest second derivative of the loss by u; 0 where it has none
    curvature: float
    #: the loss of a row where u = 0: what it costs to know nothing
    ignorance: float

    @property
    def has_gradient(self) -> bool:
        """Whether it descends along the gradient of a differentiable loss."""
        return self.curvature > 0

    @property
    def has_probabilities(self) -> bool:
        return self.code in (loops.LOGISTIC, loops.SIGMOID)


#: the second derivative of ½ (y − σ(u))² is largest where σ, or 1 − σ, is (15 − √33)/24
SIGMOID_CURVATURE = 0.07703

RULES = {
    rule.name: rule
    for rule in (
        LearningRule("perceptron", loops.PERCEPTRON, 0.0, 0.0),
        LearningRule("lms", loops.LMS, 1.0, 0.5),
        LearningRule("logistic", loops.LOGISTIC, 0.25, math.log(2)),
        LearningRule("sigmoid", loops.SIGMOID, SIGMOID_CURVATURE, 0.125),
    )
}


class RuleOptions(NamedTuple):
    """How a rule is applied; `rate` None stands for a safe one."""

    incremental: bool = False
    rate: float | None = None
    decay: float | None = None
    average: bool = False
    #: None for the order that the rows have
    rng: np.random.Generator | None = None
    #: rows × columns² × units up to which a linear programme decides whether a separating hyperplane exists
    proof_size: float = 1e8


# Linear threshold units while they learn: their weights, and what the average of their weights needs.


@stored(w=floats("du"), bias=floats("u"), w_sum=floats("du"), bias_sum=floats("u"))
@dataclass(eq=False)
class ThresholdUnits:
    """Weights of units, changed in place as they learn.

    With every step Δ also added `steps before it` times to a sum, the mean of the weights after each step is what they
    are now less that sum over the number of steps: averaging costs no more than the steps do.
    """

    #: (columns, units): in order of units for rows of numbers, in order of columns for sparse rows
    w: Array
    bias: Array
    w_sum: Array
    bias_sum: Array
    steps: float = 0.0
    passes: float = 0.0

    @classmethod
    def of(cls, coefficients: Array, intercept: Array, *, by_column: bool) -> Self:
        """From coefficients (units, columns), not shared with them; `by_column` for sparse rows."""
        w = np.array(coefficients.T, dtype=float, order="C" if by_column else "F")
        bias = np.array(intercept, dtype=float)
        return cls(w, bias, np.zeros_like(w), np.zeros_like(bias))

    def copy(self) -> Self:
        w, w_sum = (np.array(part, order="K") for part in (self.w, self.w_sum))
        return type(self)(w, self.bias.copy(), w_sum, self.bias_sum.copy(), self.steps, self.passes)

    def stacked(self, *, intercept: bool) -> Array:
        """Weights, those of the intercept last."""
        return np.vstack([self.w, self.bias]) if intercept else np.array(self.w)

    def averaged(self, *, intercept: bool) -> Array:
        """The mean of the weights after each step."""
        sums = np.vstack([self.w_sum, self.bias_sum]) if intercept else self.w_sum
        return np.asarray(self.stacked(intercept=intercept) - sums / max(1.0, self.steps))

    def move(self, step: Array, *, intercept: bool) -> None:
        """Take one step, (columns, units) with that of the intercept last."""
        columns = len(self.w)
        self.w += step[:columns]
        self.w_sum += self.steps * step[:columns]
        if intercept:
            self.bias += step[columns]
            self.bias_sum += self.steps * step[columns]
        self.steps += 1
        self.passes += 1


#: columns up to which XᵀX is formed to know its largest eigenvalue
FEW_COLUMNS = 500
#: products with XᵀX that tell it well enough otherwise: a rate may be twice too large
POWERS = 30
#: a variance this much smaller than the mean square is that of a constant
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows, their classes and their weights.

    Attributes
    ----------
    X : ndarray or CSR matrix
        Of any order; floats.
    codes : ndarray of int32
        The class of each row, from 0 to `classes` − 1.
    classes : int
        Two are learnt by one unit, that of class 1; more by one unit each.
    weight : ndarray or None
        How much each row counts, more than 0.
    intercept : bool
        Whether the units have one.
    """

    X: Any
    codes: Array
    classes: int
    weight: Array | None = None
    intercept: bool = True

    @property
    def units(self) -> int:
        return 1 if self.classes <= 2 else self.classes

    @property
    def first(self) -> int:
        """The class of unit 0."""
        return self.classes - 1 if self.units == 1 else 0

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def entries(self) -> Entries | None:
        """Of a sparse matrix; None if it is an array."""
        return None if isinstance(self.X, np.ndarray) else Entries.of(self.X)

    @cached_property
    def total_weight(self) -> float:
        return float(self.n_rows if self.weight is None else self.weight.sum())

    # As designs.

    @cached_property
    def observations(self) -> Observations:
        """With the columns as they are: gradients are those of the user's weights."""
        plain = Coordinates.plain(self.n_columns, intercept=self.intercept)
        design: Design = DenseDesign(self.X, plain) if self.entries is None else self._with_intercept(plain)
        return Observations(design, self.codes, self.weight)

    def unit_observations(self, unit: int) -> Observations:
        """0 or 1 for one unit, with columns shifted and scaled as is best for looking at them all."""
        y = (self.codes == self.first + unit).astype(float)
        at = self._coordinates
        return Observations(
            DenseDesign(self.X, at) if self.entries is None else self._with_intercept(at), y, self.weight
        )

    def _with_intercept(self, coordinates: Coordinates) -> Design:
        design = SparseDesign.within(self.X, replace(coordinates, intercept=False))
        return MixedDesign.of(sparse=design, intercept=True) if self.intercept else design

    # Sizes, which rates depend on and gradients are compared with.

    @cached_property
    def largest_row(self) -> float:
        """The largest weight · ‖x‖², with the 1 of the intercept."""

        def of_block(rows: slice) -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                squares = np.ravel(_squared(self.X[rows]).sum(axis=1)) + self.intercept
                return float(np.max(self._weight[rows] * squares))

        return float(np.max(list(ordered_stream(of_block, self.observations.design.blocks()))))

    @cached_property
    def largest_eigenvalue(self) -> float:
        """λmax(XᵀWX), of X with its column of ones; where columns are many, from below and close."""
        design = self.observations.design
        with np.errstate(over="ignore", invalid="ignore"), blas_for(design.n_columns):
            if design.n_columns > FEW_COLUMNS:
                return _power_iteration(design, self._weight)
            gram = design.gram(self._weight)
            return float(np.linalg.eigvalsh(gram)[-1]) if np.isfinite(gram).all() else np.inf

    @cached_property
    def spread(self) -> RowSpread:
        """About their means where there is an intercept, which makes up for any shift; else about 0."""
        shift, scale = self._coordinates.shift, self._coordinates.scale

        def of_block(rows: slice) -> Array:
            z = self._standard(rows, shift, scale)
            with np.errstate(over="ignore", invalid="ignore"):
                return np.stack([z.T @ self._weight[rows], _squared(z).T @ self._weight[rows]])

        blocks = self.observations.design.blocks()
        first, second = sum(ordered_stream(of_block, blocks), np.zeros((2, self.n_columns))) / self.total_weight
        mean = first if self.intercept else np.zeros_like(first)
        variance = second - np.square(mean)
        variance[variance <= ROUNDING * second] = 0.0
        return RowSpread(shift + scale * mean, scale * np.sqrt(variance))

    @cached_property
    def _weight(self) -> Array:
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @cached_property
    def _coordinates(self) -> Coordinates:
        if self.entries is None:
            return Coordinates.of(self.X, intercept=self.intercept)
        return SparseDesign.of(self.X).coordinates

    def _standard(self, rows: slice, shift: Array, scale: Array) -> Any:
        block = self.X[rows]
        if isinstance(block, np.ndarray):
            return (block - shift) / scale
        block = block.astype(float)
        block.data /= scale[block.indices]
        return block


class RowSpread(NamedTuple):
    """The mean of each column, and the root of its mean square about it: 0 for a constant."""

    mean: Array
    size: Array


def _squared(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return np.square(X, dtype=float)
    squares = X.astype(float)
    squares.data **= 2
    return squares


def _power_iteration(design: Design, weight: Array) -> float:
    v, size = np.random.default_rng(0).standard_normal(design.n_columns), 0.0
    for _ in range(POWERS):
        v = design.transposed_times(weight * design.times(v / np.linalg.norm(v)))
        size = float(np.linalg.norm(v))
        if size == 0 or not np.isfinite(size):
            break
    return size


# Learning rates: which are safe, and how they fall.

#: how fast a rate falls that would otherwise have the weights go round the optimum
DECAY = 0.1


class LearningRate(NamedTuple):
    """α after t passes, fractions included, is start / (1 + decay · t)."""

    start: float
    decay: float

    def after(self, passes: float) -> float:
        return self.start / (1 + self.decay * passes)


def choose_rate(lesson: LabelledRows, rule: LearningRule, *, incremental: bool, start: float | None, decay: float | None) -> LearningRate:
    """The rate asked for; a safe one where it is None, which falls where it has to."""
    if start is not None:
        return LearningRate(start, decay or 0.0)
    if decay is None:
        decay = DECAY if incremental and rule.has_gradient else 0.0
    return LearningRate(safe_rate(lesson, rule, incremental=incremental), decay)


def safe_rate(lesson: LabelledRows, rule: LearningRule, *, incremental: bool) -> float:
    """Half of what the rule can bear: 1/curvature in the steepest direction.

    The loss of all rows is at most curvature · λmax(XᵀWX) curved, that of one row curvature · weight · ‖x‖². To the
    perceptron, starting from zero, the rate is a unit of its weights and nothing else.
    """
    if not rule.has_gradient:
        return 1.0
    size = rule.curvature * _steepness(lesson, incremental=incremental)
    return 1 / size if size > 0 else 1.0


def largest_rate(lesson: LabelledRows, rule: LearningRule, *, incremental: bool) -> float:
    """From which on steps may lead uphill; of LMS 2/λmax(XᵀWX), or 2/(weight · ‖x‖²) of the longest row."""
    return 2 * safe_rate(lesson, rule, incremental=incremental)


def _steepness(lesson: LabelledRows, *, incremental: bool) -> float:
    size = lesson.largest_row if incremental else lesson.largest_eigenvalue
    if not np.isfinite(size):
        raise NonFiniteError(
            "the squares of the data are too large for float64; divide the largest columns by a number."
        )
    return size
