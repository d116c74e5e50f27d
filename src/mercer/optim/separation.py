"""Detection of separable responses by linear programming, with a proof of either answer.

A likelihood has no maximum if along some direction δ of the coefficients it never decreases (Albert and Anderson 1984):

    Bernoulli     x_i·δ ≥ 0 where y_i = 1, x_i·δ ≤ 0 where y_i = 0, x_i·δ = 0 where 0 < y_i < 1
    Categorical   x_i·(δ_c − δ_k) ≥ 0 for the class c of row i and every other class k
    Poisson       x_i·δ ≤ 0 where y_i = 0, x_i·δ = 0 where y_i > 0      (Correia, Guimarães and Zylkin 2019)

and not all of these are equalities. Signed so that all read a_i·δ ≥ 0, this is Konis' (2007) linear programme

    max  Σ_i a_i·δ    subject to    a_i·δ ≥ 0 for all i,    −1 ≤ δ_j ≤ 1.

Its maximum is positive for a direction that separates rows. Rows with a_i·δ > 0 stay separated whatever directions are
added, so that the programme is solved again for the others until no row is left (*complete* separation: every row lies
strictly on its side) or the maximum is 0. Then the dual of the last programme is a proof, by Stiemke's theorem: it has
multipliers μ_i > 0 with Σ μ_i a_i = 0 over the remaining rows, from which Σ μ_i a_i·δ = 0 for every δ, and no
direction has all a_i·δ ≥ 0 and one of them positive. Geometrically, the convex hulls of the classes meet (Gordan).

The programme starts with a sample of the rows, for which a maximum of 0 is a proof for all rows, and adds rows that its
direction has on the wrong side until there are none. If some rows require x_i·δ = 0, δ is restricted to directions that
leave the predictors of these rows unchanged.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import linprog

from mercer._errors import NonFiniteError, TooManyColumnsError
from mercer._stored import flags, floats, stored
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.matrices import Matrix, Observations
from mercer.optim.certificate import Certificate
from mercer.optim.curvature import FLAT_DIRECTION
from mercer.report.wording import format_count

# Systems of inequalities


def check_finite_sums(values: Array) -> Array:
    """Return the values; raise `NonFiniteError` if sums or squares of the rows have overflowed."""
    if not np.isfinite(values).all():
        raise NonFiniteError(
            "sums of these rows are too large for float64, so that a separating hyperplane cannot be computed; "
            "divide the columns by their largest values."
        )
    return values


class Cone(ABC):
    """Inequalities a_i · δ ≥ 0, with a_i made from the rows of a design."""

    design: Matrix
    #: mask of the rows of the design with positive weight
    counted: Array

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Return the shape of a direction: (columns,) or (columns, classes)."""

    @abstractmethod
    def counts(self) -> Array:
        """Return the mask of the a_i that have an inequality."""

    @abstractmethod
    def matvec(self, direction: Array) -> Array:
        """Return a_i · δ for all i."""

    @abstractmethod
    def rmatvec(self, multipliers: Array) -> Array:
        """Return Σ multiplier_i a_i."""

    @abstractmethod
    def take(self, rows: Array) -> Array:
        """Return the a_i at these positions, as rows of a matrix."""

    @abstractmethod
    def by_row(self, values: Array) -> Array:
        """Reshape values of the a_i by rows of the design: (rows,) or (rows, classes)."""


@dataclass(frozen=True, eq=False)
class SignedCone(Cone):
    """Inequalities for a_i = sign_i x_i; a row with sign 0 has none."""

    design: Matrix
    sign: Array
    counted: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.design.n_columns,)

    def counts(self) -> Array:
        return np.asarray(self.sign != 0)

    def matvec(self, direction: Array) -> Array:
        return np.asarray(self.sign * self.design.matvec(direction))

    def rmatvec(self, multipliers: Array) -> Array:
        return self.design.rmatvec(self.sign * multipliers)

    def take(self, rows: Array) -> Array:
        return self.sign[rows, None] * self.design.take(rows).dense()

    def by_row(self, values: Array) -> Array:
        return values


@dataclass(frozen=True, eq=False)
class ClassCone(Cone):
    """Inequalities for a_ik · δ = x_i · (δ_c − δ_k), for row i of class c and every other class k, in row order."""

    design: Matrix
    codes: Array
    classes: int
    counted: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.design.n_columns, self.classes

    def counts(self) -> Array:
        others = self.codes[:, None] != np.arange(self.classes)
        return np.asarray((others & self.counted[:, None]).ravel())

    def matvec(self, direction: Array) -> Array:
        eta = self.design.matvec(np.ascontiguousarray(direction))
        return np.asarray((eta[np.arange(len(eta)), self.codes][:, None] - eta).ravel())

    def rmatvec(self, multipliers: Array) -> Array:
        each = -multipliers.reshape(-1, self.classes)
        each[np.arange(len(each)), self.codes] -= each.sum(axis=1)
        return self.design.rmatvec(each)

    def take(self, rows: Array) -> Array:
        row, other = np.divmod(rows, self.classes)
        x = self.design.take(row).dense()
        matrix = np.zeros((len(rows), *self.shape))
        matrix[np.arange(len(rows)), :, self.codes[row]] = x
        matrix[np.arange(len(rows)), :, other] -= x
        return matrix.reshape(len(rows), -1)

    def by_row(self, values: Array) -> Array:
        return values.reshape(-1, self.classes)


@dataclass(frozen=True, eq=False)
class InvariantDirections:
    """Directions along which the predictors of some rows of a design do not change."""

    size: Array
    #: orthonormal basis of the span of these rows, for columns divided by their size
    span: Array
    #: orthonormal basis of its complement, the directions; None if it is computed when it is used
    complement: Array | None = None

    @classmethod
    def of(cls, design: Matrix, rows: Array) -> Self:
        """Find these directions for the rows of a mask."""
        flat = FLAT_DIRECTION * design.n_columns
        if np.count_nonzero(rows) < design.n_columns:  # XᵀX and its eigenvectors would take the cube of the columns
            taken = design.take(np.flatnonzero(rows)).dense()
            with np.errstate(over="ignore"):
                squared = check_finite_sums(np.square(taken).sum(axis=0))
            size = np.sqrt(np.where(squared > 0, squared, 1.0))
            with blas_for(len(size)):
                _, singular, span = np.linalg.svd(taken / size, full_matrices=False)
            return cls(size, span[np.square(singular) > flat].T)
        gram = check_finite_sums(design.gram(rows.astype(float)))
        size = np.sqrt(np.where(np.diagonal(gram) > 0, np.diagonal(gram), 1.0))
        with blas_for(len(size)):
            values, vectors = np.linalg.eigh(gram / size / size[:, None])
        return cls(size, vectors[:, values > flat], vectors[:, values <= flat])

    @property
    def rank(self) -> int:
        """Return the number of independent directions."""
        return int(len(self.size) - self.span.shape[1])

    def basis(self) -> Array:
        """Return a basis whose columns have the largest entry 1."""
        vectors = orthogonal_complement(self.span) if self.complement is None else self.complement
        basis = vectors / self.size[:, None]
        return np.asarray(basis / np.abs(basis).max(axis=0, initial=0.0))

    def shorten(self, direction: Array, *, intercept: bool) -> Array:
        """Return the direction with the smallest coefficients that changes the predictors of the rows alike.

        The last coefficient, the intercept, does not count: it replaces columns that are constant in the rows.
        """
        scaled = (direction.T * self.size).T
        if not intercept:
            shortest = self.span @ (self.span.T @ scaled)
        else:
            # with the invariant directions N: s minimises ‖d − N s‖ without the last row u of N, so that
            # (I − uuᵀ) s = Nᵀd, where d has 0 for the intercept; by I − NNᵀ = VVᵀ for the span V with the last row v
            last = self.span[-1]
            others = scaled.copy()
            others[-1] = 0.0
            inside = self.span.T @ others
            moved = others - self.span @ inside
            unit = np.zeros(len(scaled))
            unit[-1] = 1.0
            share = (last @ inside) / (last @ last)
            shortest = scaled - moved + np.multiply.outer(unit - self.span @ last, share)
        return np.asarray((shortest.T / self.size).T)


def orthogonal_complement(span: Array) -> Array:
    """Return an orthonormal basis of the complement of orthonormal columns."""
    with blas_for(len(span)):
        return np.asarray(np.linalg.qr(span, mode="complete").Q[:, span.shape[1] :])


#: |a_i·δ| below this counts as 0, for |δ_j| up to 1 and columns of unit size
ZERO_SLACK = 1e-9
#: a sum of n rows of unit size below n times this is rounding
GAIN_ROUNDING = 1e-13
#: columns beyond which invariant directions are not computed
MAX_INVARIANT_COLUMNS = 2000
#: entries of the dense matrix of a programme: 1 GiB
MAX_PROGRAMME_ENTRIES = 1 << 27
#: bound for ‖Σ μ_i a_i‖∞ / Σ μ_i
BALANCE_TOLERANCE = 1e-8
#: rows up to which all of them enter the programme
FEW_PROGRAMME_ROWS = 1000
#: rows by which the programme grows otherwise
MORE_PROGRAMME_ROWS = 500
#: rows by which it grows in addition for each column
MORE_ROWS_PER_COLUMN = 4
#: the smallest tolerances that HiGHS accepts
HIGHS_OPTIONS: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@stored(direction=floats("w"), separated=flags("n"), multipliers=floats("n"))
@dataclass(frozen=True, eq=False)
class Separation:
    """The separation of responses: its kind and its direction, with a proof.

    Attributes
    ----------
    kind : {"none", "quasi", "complete"}
        "complete" if every row lies strictly on its side of a hyperplane, "quasi" if some do and others lie on it.
    direction : ndarray of shape (columns,) or (columns, classes)
        A direction along which the likelihood never decreases, in the units of the data and with the intercept last; 0
        if there is none.
    separated : ndarray of shape (rows,)
        Mask of the rows that lie strictly on their side.
    multipliers : ndarray of shape (rows,) or (rows, classes)
        Weights under which the other rows balance, Σ μ_i a_i = 0; 0 for separated rows.
    certificate : Certificate
        Evidence that the direction has no row on the wrong side, and that the multipliers balance.
    """

    kind: str
    direction: Array
    separated: Array
    multipliers: Array
    certificate: Certificate

    @property
    def limits(self) -> Array:
        """Return the limit of each coefficient: ∞, −∞, or NaN for a finite one."""
        return np.select([self.direction > 0, self.direction < 0], [np.inf, -np.inf], np.nan)


def bernoulli(observations: Observations, *, max_numbers: int = MAX_PROGRAMME_ENTRIES) -> Separation:
    """Detect separation of responses between 0 and 1.

    Parameters
    ----------
    observations : Observations
        `y` is 0 or 1, or a share of several trials in between. Rows of weight 0 do not count.
    max_numbers : int
        Largest number of entries of the dense matrix of a programme.

    Returns
    -------
    separation : Separation

    Examples
    --------
    >>> from mercer.matrices import DenseMatrix
    >>> x = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> bernoulli(Observations(DenseMatrix.of(x), np.array([0.0, 0.0, 1.0, 1.0]))).limits
    array([ inf, -inf])
    >>> bernoulli(Observations(DenseMatrix.of(x), np.array([0.0, 1.0, 0.0, 1.0]))).kind
    'none'
    """
    y = observations.y
    sign = np.where(y >= 1, 1.0, np.where(y <= 0, -1.0, 0.0))
    return _separate_signed(observations, sign, max_numbers=max_numbers)


def poisson(observations: Observations, *, max_columns: int = MAX_INVARIANT_COLUMNS) -> Separation:
    """Detect separation of counts, or of other responses ≥ 0 with a log link and a likelihood that is finite at mean 0.

    Parameters
    ----------
    observations : Observations
        Rows of weight 0 do not count.
    max_columns : int
        Largest number of columns for which the directions are computed that leave the predictors of positive counts
        unchanged.

    Returns
    -------
    separation : Separation
        Its separated rows have y = 0, and means that converge to 0.
    """
    return _separate_signed(observations, np.where(observations.y > 0, 0.0, -1.0), max_columns=max_columns)


def categorical(observations: Observations, classes: int, *, max_numbers: int = MAX_PROGRAMME_ENTRIES) -> Separation:
    """Detect separation of classes under a softmax.

    Parameters
    ----------
    observations : Observations
        `y` are codes from 0 to `classes` − 1. Rows of weight 0 do not count.
    classes : int
        Number of classes.
    max_numbers : int
        Largest number of entries of the dense matrix of a programme.

    Returns
    -------
    separation : Separation
        Its direction sums to 0 over the classes: only differences between classes matter. A row is separated if it is
        separated from every other class.
    """
    cone = ClassCone(observations.design, observations.y.astype(np.intp), classes, _positive_weight(observations))
    return _SeparationSearch(cone, max_numbers=max_numbers).run()


def _separate_signed(
    observations: Observations,
    sign: Array,
    *,
    max_columns: int = MAX_INVARIANT_COLUMNS,
    max_numbers: int = MAX_PROGRAMME_ENTRIES,
) -> Separation:
    counted = _positive_weight(observations)
    still = counted & (sign == 0)
    cone = SignedCone(observations.design, np.where(counted, sign, 0.0), counted)
    if not still.any():
        return _SeparationSearch(cone, max_numbers=max_numbers).run()
    if (columns := observations.design.n_columns) > max_columns:
        raise _too_many_columns(columns)
    basis = InvariantDirections.of(observations.design, still).basis()
    return _SeparationSearch(cone, basis, max_numbers=max_numbers).run()


def _too_many_columns(columns: int) -> TooManyColumnsError:
    return TooManyColumnsError(
        f"a hyperplane that separates these rows would take too long to find among {columns} columns; leave columns "
        "out, or use a penalty."
    )


def _positive_weight(observations: Observations) -> Array:
    if observations.weight is None:
        return np.ones(len(observations), dtype=bool)
    return np.asarray(observations.weight > 0)


class _SeparationSearch:
    """Linear programmes, one after the other, until no row is left or none of the rest can be separated."""

    def __init__(self, cone: Cone, basis: Array | None = None, *, max_numbers: int = MAX_PROGRAMME_ENTRIES) -> None:
        self._cone, self._basis, self._max_numbers = cone, basis, max_numbers
        self._left = cone.counts()
        self._slack = np.zeros(len(self._left))
        self._direction = np.zeros(cone.shape)
        self._multipliers = np.zeros(len(self._left))

    def run(self) -> Separation:
        """Return the result."""
        with np.errstate(over="ignore", invalid="ignore"):  # `check_finite_sums` raises an error where it matters
            while self._left.any():
                step = self._find_direction()
                if step is None:
                    break
                self._follow(step)
        return self._separation()

    def _follow(self, step: Array) -> None:
        """Add a direction to a multiple of those before, which is so large that rows they separate stay separated."""
        slack = self._cone.matvec(step)
        turned = (self._slack > 0) & (slack < 0)
        before = 1 + np.max(-slack[turned] / self._slack[turned], initial=0.0)
        self._slack = before * self._slack + np.where(np.abs(slack) <= ZERO_SLACK, 0.0, slack)
        self._direction = check_finite_sums(before * self._direction + self._clean(step))
        self._left &= slack <= ZERO_SLACK

    def _find_direction(self) -> Array | None:
        """Return a direction that separates some of the remaining rows and puts none on the wrong side, or None."""
        left = np.flatnonzero(self._left)
        gain = check_finite_sums(self._reduced(self._cone.rmatvec(self._left.astype(float))))
        unit = np.abs(gain).max(initial=0.0)
        if unit <= GAIN_ROUNDING * len(left):
            self._multipliers[left] = 1.0
            return None
        if (direction := self._by_equations(left)) is not None:
            return direction
        rows = _sample_rows(left, self._batch)
        while True:
            solution, multipliers = maximise(gain / unit, self._taken(rows))
            direction = self._expanded(solution)
            slack = self._cone.matvec(direction)[left]
            # the gain may be a sum of negligible gains of many rows
            if gain @ solution <= ZERO_SLACK * unit or slack.max() <= ZERO_SLACK:
                self._multipliers[left] = 1.0
                self._multipliers[rows] += unit * multipliers
                return None
            wrong = self._most_violated(slack, left)
            if np.isin(wrong, rows).all():
                return direction
            rows = np.union1d(rows, wrong)

    def _by_equations(self, left: Array) -> Array | None:
        """Return the shortest direction with a_i·δ = 1 for all remaining rows, or None if there is none.

        Fewer rows than columns are mostly linearly independent, and programmes with thousands of columns take long.
        """
        columns = self._direction.size if self._basis is None else self._basis.shape[1]
        if len(left) > columns:
            return None
        solution = np.linalg.lstsq(self._taken(left), np.ones(len(left)), rcond=None)[0]
        if not (np.isfinite(solution).all() and solution.any()):
            return None
        direction = self._expanded(solution / np.abs(solution).max())
        return direction if self._cone.matvec(direction)[left].min() > ZERO_SLACK else None

    def _most_violated(self, slack: Array, left: Array) -> Array:
        """Return the rows that lie farthest on the wrong side."""
        worst = left[np.argsort(slack)[: self._batch]]
        return worst[: int((slack < -ZERO_SLACK).sum())]

    @property
    def _batch(self) -> int:
        return MORE_PROGRAMME_ROWS + MORE_ROWS_PER_COLUMN * self._direction.size

    def _reduced(self, gradient: Array) -> Array:
        return gradient.ravel() if self._basis is None else self._basis.T @ gradient

    def _expanded(self, solution: Array) -> Array:
        return solution.reshape(self._cone.shape) if self._basis is None else self._basis @ solution

    def _taken(self, rows: Array) -> Array:
        if len(rows) * self._direction.size > self._max_numbers:
            raise _too_many_columns(self._cone.design.n_columns)
        return self._cone.take(rows) if self._basis is None else self._cone.take(rows) @ self._basis

    @functools.cached_property
    def _idle(self) -> InvariantDirections | None:
        design = self._cone.design
        return InvariantDirections.of(design, self._cone.counted) if design.n_columns <= MAX_INVARIANT_COLUMNS else None

    def _clean(self, direction: Array) -> Array:
        """Return the direction in the units of the data, without rounding and parts that change no predictor."""
        coordinates = self._cone.design.coordinates
        if direction.ndim == 2:
            direction = direction - direction.mean(axis=1, keepdims=True)
        if self._idle is not None and self._idle.rank:
            direction = self._idle.shorten(direction, intercept=coordinates.intercept)
        direction = np.where(np.abs(direction) > ZERO_SLACK * np.abs(direction).max(), direction, 0.0)
        coefficients, intercept = coordinates.to_user(direction)
        if not coordinates.intercept:
            return coefficients
        size = np.abs(direction[-1]) + np.abs(coordinates.shift) @ np.abs(coefficients)
        return np.concatenate([coefficients, np.where(np.abs(intercept) > ZERO_SLACK * size, intercept, 0.0)[None]])

    def _separation(self) -> Separation:
        counts = self._cone.counts()
        on_plane = self._left.any() or self._basis is not None
        kind = "none" if not (counts & ~self._left).any() else "quasi" if on_plane else "complete"
        separated = self._cone.by_row(counts & ~self._left)
        return Separation(
            kind,
            self._direction,
            separated if separated.ndim == 1 else np.asarray((separated | ~self._cone.by_row(counts)).all(axis=1)),
            self._cone.by_row(self._multipliers),
            self._certificate(int((self._slack[counts] < 0).sum())),
        )

    def _certificate(self, wrong: int) -> Certificate:
        if not self._left.any():
            sentence = "rows on the wrong side of a hyperplane that has each of the others strictly on its side"
            return Certificate("separation", float(wrong), 0.0, sentence)
        rest = self._reduced(self._cone.rmatvec(self._multipliers))
        value = float(np.abs(rest).max(initial=0.0) / self._multipliers.sum())
        sentence = (
            f"distance of {format_count(int(self._left.sum()), 'row')} from balancing under positive weights, "
            "which proves that no hyperplane separates them"
        )
        return Certificate("no separation", np.inf if wrong else value, BALANCE_TOLERANCE, sentence)


def _sample_rows(rows: Array, size: int) -> Array:
    """Return all rows if they are few, else a random sample."""
    if len(rows) <= max(FEW_PROGRAMME_ROWS, size):
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, size, replace=False))


def maximise(gain: Array, rows: Array, **options: float) -> tuple[Array, Array]:
    """Maximise gain·γ for rows·γ ≥ 0 and |γ_j| ≤ 1; return γ and multipliers, or zeros if the maximum is not found.

    If the maximum is 0, gain + rowsᵀ·multipliers = 0. The options are those of SciPy's `linprog`.
    """
    bounds, right, every = (-1, 1), np.zeros(len(rows)), HIGHS_OPTIONS | options
    result: Any = linprog(-gain, A_ub=-rows, b_ub=right, bounds=bounds, method="highs", options=every)
    if result.x is None:  # without multipliers the certificate does not hold
        return np.zeros(len(gain)), np.zeros(len(rows))
    return result.x, -result.ineqlin.marginals
