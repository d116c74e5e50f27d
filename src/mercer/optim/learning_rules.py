"""Linear threshold units and their four learning rules (lecture 2): the rules, the weights, the rows and the rates.

A linear threshold unit outputs 1 where u = w·x ≥ 0 and 0 elsewhere. Each rule changes its weights by w ← w + α e x:

    perceptron   e = y − s(u)                      s the step function, y 0 or 1
    LMS          e = t − u                         gradient of ½ (t − u)² (Widrow and Hoff), t = ±1
    logistic     e = y − σ(u)                      gradient of −y log σ(u) − (1 − y) log(1 − σ(u))
    sigmoid      e = σ(u) (1 − σ(u)) (y − σ(u))    gradient of ½ (y − σ(u))²

With targets 0 and 1, LMS would put the threshold at u = ½, not at u = 0 where the unit has it (on the lecture's three
points u(2, 2) = 0, so that the point of class 0 would be assigned to class 1); with −1 and 1 both agree.
"""

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
from mercer.matrices import Coordinates, DenseMatrix, Matrix, Observations, SparseMatrix, SplitMatrix
from mercer.matrices.base import CONSTANT_SQUARES
from mercer.matrices.entries import Entries
from mercer.optim import _online_loops as loops


@dataclass(frozen=True)
class LearningRule:
    """A learning rule, which compiled loops identify by its code.

    Examples
    --------
    >>> LEARNING_RULES["logistic"].curvature
    0.25
    """

    name: str
    code: int
    #: largest second derivative of the loss by u; 0 if the loss is not differentiable
    curvature: float
    #: loss of a row at u = 0, without any information
    ignorance: float

    @property
    def has_gradient(self) -> bool:
        """True if the rule is gradient descent on a differentiable loss."""
        return self.curvature > 0

    @property
    def has_probabilities(self) -> bool:
        """True if σ(u) is a probability of the class."""
        return self.code in (loops.LOGISTIC_RULE, loops.SIGMOID_RULE)


#: the second derivative of ½ (y − σ(u))² is largest where σ, or 1 − σ, is (15 − √33)/24
SIGMOID_CURVATURE = 0.07703

LEARNING_RULES = {
    rule.name: rule
    for rule in (
        LearningRule("perceptron", loops.PERCEPTRON_RULE, 0.0, 0.0),
        LearningRule("lms", loops.LMS_RULE, 1.0, 0.5),
        LearningRule("logistic", loops.LOGISTIC_RULE, 0.25, math.log(2)),
        LearningRule("sigmoid", loops.SIGMOID_RULE, SIGMOID_CURVATURE, 0.125),
    )
}


class RuleOptions(NamedTuple):
    """Options of a learning rule; `rate` None means a safe one."""

    incremental: bool = False
    rate: float | None = None
    decay: float | None = None
    average: bool = False
    #: generator of the order of the rows; None keeps their order
    rng: np.random.Generator | None = None
    #: rows × columns² × units up to which a linear programme decides if a separating hyperplane exists
    proof_size: float = 1e8


@stored(w=floats("du"), bias=floats("u"), w_sum=floats("du"), bias_sum=floats("u"))
@dataclass(eq=False)
class ThresholdUnits:
    """Weights of linear threshold units during learning, changed in place.

    `w_sum` accumulates t·Δ for the step Δ after t others. The mean of the weights after each of T steps is then
    w − w_sum/T: averaging costs no more than the steps do.
    """

    #: (columns, units): contiguous by unit for dense rows, by column for sparse rows
    w: Array
    bias: Array
    w_sum: Array
    bias_sum: Array
    steps: float = 0.0
    passes: float = 0.0

    @classmethod
    def of(cls, coefficients: Array, intercept: Array, *, by_column: bool) -> Self:
        """Copy coefficients (units, columns); `by_column` is the layout for sparse rows."""
        w = np.array(coefficients.T, dtype=float, order="C" if by_column else "F")
        bias = np.array(intercept, dtype=float)
        return cls(w, bias, np.zeros_like(w), np.zeros_like(bias))

    def copy(self) -> Self:
        w, w_sum = (np.array(part, order="K") for part in (self.w, self.w_sum))
        return type(self)(w, self.bias.copy(), w_sum, self.bias_sum.copy(), self.steps, self.passes)

    def stack(self, *, intercept: bool) -> Array:
        """Return the weights, with those of the intercept in the last row."""
        return np.vstack([self.w, self.bias]) if intercept else np.array(self.w)

    def average(self, *, intercept: bool) -> Array:
        """Return the mean of the weights after each step."""
        sums = np.vstack([self.w_sum, self.bias_sum]) if intercept else self.w_sum
        return np.asarray(self.stack(intercept=intercept) - sums / max(1.0, self.steps))

    def move(self, step: Array, *, intercept: bool) -> None:
        """Add one step, (columns, units) with that of the intercept last."""
        columns = len(self.w)
        self.w += step[:columns]
        self.w_sum += self.steps * step[:columns]
        if intercept:
            self.bias += step[columns]
            self.bias_sum += self.steps * step[columns]
        self.steps += 1
        self.passes += 1


#: columns up to which XᵀX is formed for its largest eigenvalue
MAX_EIGENVALUE_GRAM = 500
#: power iterations with XᵀX otherwise: enough precision, since a rate may be twice too large
POWER_ITERATIONS = 30


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with their classes and weights, to be learnt by linear threshold units.

    Attributes
    ----------
    X : ndarray or CSR matrix
        Floats, in any memory order.
    codes : ndarray of int32
        The class of each row, from 0 to `classes` − 1.
    classes : int
        Number of classes. Two are learnt by one unit, positive for class 1; more by one unit each.
    weight : ndarray or None
        Weights of the rows, above 0.
    intercept : bool
        Whether the units have an intercept.
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
        """Return the class of unit 0."""
        return self.classes - 1 if self.units == 1 else 0

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def entries(self) -> Entries | None:
        """Return the stored entries of a sparse matrix; None for an array."""
        return None if isinstance(self.X, np.ndarray) else Entries.of(self.X)

    @cached_property
    def total_weight(self) -> float:
        return float(self.n_rows if self.weight is None else self.weight.sum())

    @cached_property
    def observations(self) -> Observations:
        """Return the rows as observations with unscaled columns: gradients are those of the user's weights."""
        plain = Coordinates.plain(self.n_columns, intercept=self.intercept)
        design: Matrix = DenseMatrix(self.X, plain) if self.entries is None else self._with_intercept(plain)
        return Observations(design, self.codes, self.weight)

    def unit_observations(self, unit: int) -> Observations:
        """Return the rows with targets 0 or 1 for one unit, and with standardised columns."""
        y = (self.codes == self.first + unit).astype(float)
        at = self._coordinates
        return Observations(
            DenseMatrix(self.X, at) if self.entries is None else self._with_intercept(at), y, self.weight
        )

    def _with_intercept(self, coordinates: Coordinates) -> Matrix:
        design = SparseMatrix.of_matrix(self.X, replace(coordinates, intercept=False))
        return SplitMatrix.of(sparse=design, intercept=True) if self.intercept else design

    @cached_property
    def largest_row(self) -> float:
        """Return the largest weight · ‖x‖², with the 1 of the intercept."""

        def of_block(rows: slice) -> float:
            with np.errstate(over="ignore", invalid="ignore"):
                squares = np.ravel(_squared(self.X[rows]).sum(axis=1)) + self.intercept
                return float(np.max(self._weight[rows] * squares))

        return float(np.max(list(ordered_stream(of_block, self.observations.design.blocks()))))

    @cached_property
    def largest_eigenvalue(self) -> float:
        """Return λmax(XᵀWX) for X with its column of ones; for many columns a close lower bound."""
        return largest_eigenvalue(self.observations.design, self._weight)

    @cached_property
    def spread(self) -> RowSpread:
        """Return the spread of the columns about their means if an intercept absorbs these, else about 0."""
        shift, scale = self._coordinates.shift, self._coordinates.scale

        def of_block(rows: slice) -> Array:
            z = self._standard(rows, shift, scale)
            with np.errstate(over="ignore", invalid="ignore"):
                return np.stack([z.T @ self._weight[rows], _squared(z).T @ self._weight[rows]])

        blocks = self.observations.design.blocks()
        first, second = sum(ordered_stream(of_block, blocks), np.zeros((2, self.n_columns))) / self.total_weight
        mean = first if self.intercept else np.zeros_like(first)
        variance = second - np.square(mean)
        variance[variance <= CONSTANT_SQUARES * second] = 0.0
        return RowSpread(shift + scale * mean, scale * np.sqrt(variance))

    @cached_property
    def _weight(self) -> Array:
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @cached_property
    def _coordinates(self) -> Coordinates:
        if self.entries is None:
            return Coordinates.of(self.X, intercept=self.intercept)
        return SparseMatrix.of(self.X).coordinates

    def _standard(self, rows: slice, shift: Array, scale: Array) -> Any:
        block = self.X[rows]
        if isinstance(block, np.ndarray):
            return (block - shift) / scale
        block = block.astype(float)
        block.data /= scale[block.indices]
        return block


class RowSpread(NamedTuple):
    """Mean of each column, and the root of its mean square about it: 0 for a constant column."""

    mean: Array
    size: Array


def _squared(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return np.square(X, dtype=float)
    squares = X.astype(float)
    squares.data **= 2
    return squares


def largest_eigenvalue(design: Matrix, weight: Array, *, max_gram: int = MAX_EIGENVALUE_GRAM) -> float:
    """Return λmax(XᵀWX); for more than `max_gram` columns a close lower bound by power iterations."""
    with np.errstate(over="ignore", invalid="ignore"), blas_for(design.n_columns):
        if design.n_columns <= max_gram:
            gram = design.gram(weight)
            return float(np.linalg.eigvalsh(gram)[-1]) if np.isfinite(gram).all() else np.inf
        v, size = np.random.default_rng(0).standard_normal(design.n_columns), 0.0
        for _ in range(POWER_ITERATIONS):
            v = design.rmatvec(weight * design.matvec(v / np.linalg.norm(v)))
            size = float(np.linalg.norm(v))
            if size == 0 or not np.isfinite(size):
                break
        return size


# Learning rates

#: decay of a safe rate for incremental steps, which would otherwise circle the optimum
SAFE_DECAY = 0.1


class LearningRate(NamedTuple):
    """α after t passes, fractions included, is start / (1 + decay · t)."""

    start: float
    decay: float

    def after(self, passes: float) -> float:
        """Return α after that many passes."""
        return self.start / (1 + self.decay * passes)


def choose_rate(
    labelled: LabelledRows, rule: LearningRule, *, incremental: bool, start: float | None, decay: float | None
) -> LearningRate:
    """Return the given rate, or a safe one where `start` is None, which decays if incremental steps require it."""
    if start is not None:
        return LearningRate(start, decay or 0.0)
    if decay is None:
        decay = SAFE_DECAY if incremental and rule.has_gradient else 0.0
    return LearningRate(safe_rate(labelled, rule, incremental=incremental), decay)


def safe_rate(labelled: LabelledRows, rule: LearningRule, *, incremental: bool) -> float:
    """Return half of the largest stable rate: 1/curvature in the steepest direction.

    The second derivative of the loss of all rows is at most curvature · λmax(XᵀWX), that of one row
    curvature · weight · ‖x‖². For the perceptron, starting from zero, the rate is only a unit of the weights.
    """
    if not rule.has_gradient:
        return 1.0
    size = rule.curvature * _steepness(labelled, incremental=incremental)
    return 1 / size if size > 0 else 1.0


def largest_rate(labelled: LabelledRows, rule: LearningRule, *, incremental: bool) -> float:
    """Return the rate from which on steps may increase the loss; for LMS 2/λmax(XᵀWX), or 2/(weight · ‖x‖²) at most."""
    return 2 * safe_rate(labelled, rule, incremental=incremental)


def _steepness(labelled: LabelledRows, *, incremental: bool) -> float:
    size = labelled.largest_row if incremental else labelled.largest_eigenvalue
    if not np.isfinite(size):
        raise NonFiniteError(
            "the squares of the data are too large for float64; divide the largest columns by a number."
        )
    return size
