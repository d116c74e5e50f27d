"""Is there a hyperplane that separates the responses? By linear programming, with a proof of either answer.

A likelihood has no maximum where some direction δ of the coefficients raises it for ever (Albert and Anderson 1984):

    Bernoulli     x_i·δ ≥ 0 where y_i = 1, x_i·δ ≤ 0 where y_i = 0, x_i·δ = 0 where 0 < y_i < 1
    Categorical   x_i·(δ_c − δ_k) ≥ 0 for the class c of row i and every other class k
    Poisson       x_i·δ ≤ 0 where y_i = 0, x_i·δ = 0 where y_i > 0      (Correia, Guimarães and Zylkin 2019)

and not all of these are equalities. Signed so that all read a_i·δ ≥ 0, this is Konis' (2007) linear programme

    max  Σ_i a_i·δ    subject to    a_i·δ ≥ 0 for all i,    −1 ≤ δ_j ≤ 1.

Its maximum is positive for a direction that separates rows. Those with a_i·δ > 0 are settled by it, whatever is done on
top, so that the programme is solved again for the others until nothing is left (*complete* separation: every row lies
strictly on its side) or the maximum is 0. Then the dual of the last programme is a proof, by Stiemke's theorem: it has
multipliers μ_i > 0 with Σ μ_i a_i = 0 over the rows that are left, from which Σ μ_i a_i·δ = 0 for every δ, and no
direction has all a_i·δ ≥ 0 and one of them positive. In words, the convex hulls of the two classes meet (Gordan).

Only rows that matter enter the programme: it starts with a sample, whose maximum of 0 is a proof for all rows, and
takes in rows that its direction has on the wrong side until there are none. Where x_i·δ = 0 is asked for, only
directions are looked at that do not move these rows.
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
from mercer.matrices import Design, Observations
from mercer.optim.certificate import Certificate
from mercer.optim.curvature import FLAT
from mercer.report.wording import counted

# Systems of inequalities a_i · δ ≥ 0 over the rows of a design, known by products: what separation is about.


def check_finite_sums(values: Array) -> Array:
    """The values, if they are numbers: rows of ±1.8e308 have sums and squares that are none."""
    if not np.isfinite(values).all():
        raise NonFiniteError(
            "sums of these rows are too large for float64, so that no hyperplane between them can be looked for; "
            "divide the columns by their largest values."
        )
    return values


class Cone(ABC):
    """Rows a_i made from the rows of a design, and which of them ask for a_i · δ ≥ 0."""

    design: Design
    #: which rows of the design there are: those with a weight above 0
    counted: Array

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Of a direction: (columns,) or (columns, classes)."""

    @abstractmethod
    def counts(self) -> Array:
        """Which rows a_i ask for a_i · δ ≥ 0."""

    @abstractmethod
    def times(self, direction: Array) -> Array:
        """a_i · δ of every row."""

    @abstractmethod
    def transposed_times(self, multipliers: Array) -> Array:
        """Σ multiplier_i a_i."""

    @abstractmethod
    def take(self, rows: Array) -> Array:
        """The rows a_i at these positions, as a matrix."""

    @abstractmethod
    def by_row(self, values: Array) -> Array:
        """Something known of the a_i, for each row of the design: (rows,) or (rows, classes)."""


@dataclass(frozen=True, eq=False)
class SignedCone(Cone):
    """a_i = sign_i x_i; a sign of 0 means a row of no interest."""

    design: Design
    sign: Array
    counted: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.design.n_columns,)

    def counts(self) -> Array:
        return np.asarray(self.sign != 0)

    def times(self, direction: Array) -> Array:
        return np.asarray(self.sign * self.design.times(direction))

    def transposed_times(self, multipliers: Array) -> Array:
        return self.design.transposed_times(self.sign * multipliers)

    def take(self, rows: Array) -> Array:
        return self.sign[rows, None] * self.design.take(rows).dense()

    def by_row(self, values: Array) -> Array:
        return values


@dataclass(frozen=True, eq=False)
class ClassCone(Cone):
    """a_ik · δ = x_i · (δ_c − δ_k) for a row of class c and every other class k, row after row."""

    design: Design
    codes: Array
    classes: int
    counted: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.design.n_columns, self.classes

    def counts(self) -> Array:
        others = self.codes[:, None] != np.arange(self.classes)
        return np.asarray((others & self.counted[:, None]).ravel())

    def times(self, direction: Array) -> Array:
        eta = self.design.times(np.ascontiguousarray(direction))
        return np.asarray((eta[np.arange(len(eta)), self.codes][:, None] - eta).ravel())

    def transposed_times(self, multipliers: Array) -> Array:
        each = -multipliers.reshape(-1, self.classes)
        each[np.arange(len(each)), self.codes] -= each.sum(axis=1)
        return self.design.transposed_times(each)

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
    """The directions that move none of some rows of a design."""

    size: Array
    #: orthonormal, for columns divided by their size
    vectors: Array

    @classmethod
    def by(cls, design: Design, rows: Array) -> Self:
        gram = check_finite_sums(design.gram(rows.astype(float)))
        size = np.sqrt(np.where(np.diagonal(gram) > 0, np.diagonal(gram), 1.0))
        with blas_for(len(size)):
            values, vectors = np.linalg.eigh(gram / size / size[:, None])
        return cls(size, vectors[:, values <= FLAT * len(size)])

    def basis(self) -> Array:
        """As columns whose largest entry is 1."""
        basis = self.vectors / self.size[:, None]
        return np.asarray(basis / np.abs(basis).max(axis=0, initial=0.0))

    def taken_out(self, direction: Array, *, intercept: bool) -> Array:
        """What moves the rows as `direction` does, by coefficients as small as they can be.

        The intercept, the last, may be any: of a column that does not vary among the rows it does all the work.
        """
        scaled = (direction.T * self.size).T
        columns = slice(0, len(self.size) - intercept)
        share = np.linalg.lstsq(self.vectors[columns], scaled[columns], rcond=None)[0]
        return np.asarray(((scaled - self.vectors @ share).T / self.size).T)


#: a_i·δ within this of 0, for |δ_j| up to 1 and columns of unit size, is 0
ZERO = 1e-9
#: a sum of n rows of unit size within n times this of 0 is 0
SUM_ROUNDING = 1e-13
#: columns beyond which directions that move none of some rows are not looked for
MOST_COLUMNS = 2000
#: numbers up to which the rows of a programme are written out, zeros included: 1 GiB
MOST_NUMBERS = 1 << 27
#: how well multipliers have to balance the rows
BALANCE_TOLERANCE = 1e-8
#: rows up to which all of them enter the programme, and by how many it grows otherwise
FEW_ROWS, MORE_ROWS, MORE_PER_COLUMN = 1000, 500, 4
#: the tightest that HiGHS takes
HIGHS_OPTIONS: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@stored(direction=floats("w"), separated=flags("n"), multipliers=floats("n"))
@dataclass(frozen=True, eq=False)
class Separation:
    """Whether responses are separated, along which direction, and the proof.

    Attributes
    ----------
    kind : {"none", "quasi", "complete"}
        "complete" if every row lies strictly on its side of a hyperplane, "quasi" if some do and others lie on it.
    direction : ndarray of shape (columns,) or (columns, classes)
        Along which coefficients, in the units of the data and the intercept last, raise the likelihood for ever; 0 if
        they cannot. Where several directions do, it is one of them.
    separated : ndarray of shape (rows,)
        The rows that lie strictly on their side.
    multipliers : ndarray of shape (rows,) or (rows, classes)
        Of the others: weights under which they balance, Σ μ_i a_i = 0; 0 for rows that are separated.
    certificate : Certificate
        That the direction has no row on the wrong side and that the multipliers balance.
    """

    kind: str
    direction: Array
    separated: Array
    multipliers: Array
    certificate: Certificate

    @property
    def limits(self) -> Array:
        """Where each coefficient goes: ∞, −∞, or NaN for one that stays finite."""
        return np.select([self.direction > 0, self.direction < 0], [np.inf, -np.inf], np.nan)


def bernoulli(observations: Observations) -> Separation:
    """Separation of responses between 0 and 1.

    Parameters
    ----------
    observations : Observations
        `y` is 0 or 1, or for a share of several trials anything in between. Rows of weight 0 do not count.

    Returns
    -------
    separation : Separation

    Examples
    --------
    >>> from mercer.matrices import DenseDesign
    >>> x = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> bernoulli(Observations(DenseDesign.of(x), np.array([0.0, 0.0, 1.0, 1.0]))).limits
    array([ inf, -inf])
    >>> bernoulli(Observations(DenseDesign.of(x), np.array([0.0, 1.0, 0.0, 1.0]))).kind
    'none'
    """
    y = observations.y
    return _separate_signed(observations, np.where(y >= 1, 1.0, np.where(y <= 0, -1.0, 0.0)))


def poisson(observations: Observations) -> Separation:
    """Separation of counts, or of any responses ≥ 0 with a logarithmic link whose likelihood is finite at mean 0.

    Parameters
    ----------
    observations : Observations
        Rows of weight 0 do not count.

    Returns
    -------
    separation : Separation
        Its separated rows have y = 0, and a mean that goes to 0.
    """
    return _separate_signed(observations, np.where(observations.y > 0, 0.0, -1.0))


def categorical(observations: Observations, classes: int) -> Separation:
    """Separation of classes under a softmax.

    Parameters
    ----------
    observations : Observations
        `y` are codes from 0 to `classes` − 1. Rows of weight 0 do not count.
    classes : int
        How many there are.

    Returns
    -------
    separation : Separation
        Its direction has columns that sum to 0 in every row: only differences between classes matter. A row is
        separated if it is from every other class.
    """
    cone = ClassCone(observations.design, observations.y.astype(np.intp), classes, _positive_weight(observations))
    return _SeparationSearch(cone).run()


def _separate_signed(observations: Observations, sign: Array) -> Separation:
    counted = _positive_weight(observations)
    still = counted & (sign == 0)
    cone = SignedCone(observations.design, np.where(counted, sign, 0.0), counted)
    if not still.any():
        return _SeparationSearch(cone).run()
    if (columns := observations.design.n_columns) > MOST_COLUMNS:
        raise _too_many_columns(columns)
    return _SeparationSearch(cone, InvariantDirections.by(observations.design, still).basis()).run()


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
    """One linear programme after the other, until no row is left or none of the rest can be separated."""

    def __init__(self, cone: Cone, basis: Array | None = None) -> None:
        self._cone, self._basis = cone, basis
        self._left = cone.counts()
        self._slack = np.zeros(len(self._left))
        self._direction = np.zeros(cone.shape)
        self._multipliers = np.zeros(len(self._left))

    def run(self) -> Separation:
        with np.errstate(over="ignore", invalid="ignore"):  # refused where it matters
            while self._left.any():
                step = self._separating()
                if step is None:
                    break
                self._follow(step)
        return self._separation()

    def _follow(self, step: Array) -> None:
        """Put a direction on top of those before, which come first: no row that they have settled turns round."""
        slack = self._cone.times(step)
        turned = (self._slack > 0) & (slack < 0)
        before = 1 + np.max(-slack[turned] / self._slack[turned], initial=0.0)
        self._slack = before * self._slack + np.where(np.abs(slack) <= ZERO, 0.0, slack)
        self._direction = check_finite_sums(before * self._direction + self._clean(step))
        self._left &= slack <= ZERO

    def _separating(self) -> Array | None:
        """A direction that separates some of the rows that are left and puts none on the wrong side, or None."""
        left = np.flatnonzero(self._left)
        gain = check_finite_sums(self._reduced(self._cone.transposed_times(self._left.astype(float))))
        unit = np.abs(gain).max(initial=0.0)
        if unit <= SUM_ROUNDING * len(left):
            self._multipliers[left] = 1.0
            return None
        if (direction := self._by_equations(left)) is not None:
            return direction
        rows = _sample_rows(left, self._batch)
        while True:
            solution, multipliers = _maximise(gain / unit, self._taken(rows))
            direction = self._expanded(solution)
            slack = self._cone.times(direction)[left]
            # many rows may gain next to nothing each
            if gain @ solution <= ZERO * unit or slack.max() <= ZERO:
                self._multipliers[left] = 1.0
                self._multipliers[rows] += unit * multipliers
                return None
            wrong = self._wrong(slack, left)
            if np.isin(wrong, rows).all():
                return direction
            rows = np.union1d(rows, wrong)

    def _by_equations(self, left: Array) -> Array | None:
        """The shortest direction with a_i·δ = 1 for all rows that are left, or None where there is none.

        Rows fewer than columns are mostly independent of each other, and programmes of thousands of columns take long.
        """
        columns = self._direction.size if self._basis is None else self._basis.shape[1]
        if len(left) > columns:
            return None
        solution = np.linalg.lstsq(self._taken(left), np.ones(len(left)), rcond=None)[0]
        if not (np.isfinite(solution).all() and solution.any()):
            return None
        direction = self._expanded(solution / np.abs(solution).max())
        return direction if self._cone.times(direction)[left].min() > ZERO else None

    def _wrong(self, slack: Array, left: Array) -> Array:
        """The rows that lie farthest on the wrong side."""
        worst = left[np.argsort(slack)[: self._batch]]
        return worst[: int((slack < -ZERO).sum())]

    @property
    def _batch(self) -> int:
        return MORE_ROWS + MORE_PER_COLUMN * self._direction.size

    # Directions as variables of the programme.

    def _reduced(self, gradient: Array) -> Array:
        return gradient.ravel() if self._basis is None else self._basis.T @ gradient

    def _expanded(self, solution: Array) -> Array:
        return solution.reshape(self._cone.shape) if self._basis is None else self._basis @ solution

    def _taken(self, rows: Array) -> Array:
        if len(rows) * self._direction.size > MOST_NUMBERS:
            raise _too_many_columns(self._cone.design.n_columns)
        return self._cone.take(rows) if self._basis is None else self._cone.take(rows) @ self._basis

    # What was found.

    @functools.cached_property
    def _idle(self) -> InvariantDirections | None:
        design = self._cone.design
        return InvariantDirections.by(design, self._cone.counted) if design.n_columns <= MOST_COLUMNS else None

    def _clean(self, direction: Array) -> Array:
        """In the units of the data, without what moves no row and without rounding errors."""
        coordinates = self._cone.design.coordinates
        if direction.ndim == 2:
            direction = direction - direction.mean(axis=1, keepdims=True)
        if self._idle is not None and self._idle.vectors.size:
            direction = self._idle.taken_out(direction, intercept=coordinates.intercept)
        direction = np.where(np.abs(direction) > ZERO * np.abs(direction).max(), direction, 0.0)
        coefficients, intercept = coordinates.to_user(direction)
        if not coordinates.intercept:
            return coefficients
        size = np.abs(direction[-1]) + np.abs(coordinates.shift) @ np.abs(coefficients)
        return np.concatenate([coefficients, np.where(np.abs(intercept) > ZERO * size, intercept, 0.0)[None]])

    def _separation(self) -> Separation:
        counts = self._cone.counts()
        on_plane = self._left.any() or self._basis is not None
        kind = "none" if not (counts & ~self._left).any() else "quasi" if on_plane else "complete"
        settled = self._cone.by_row(counts & ~self._left)
        return Separation(
            kind,
            self._direction,
            settled if settled.ndim == 1 else np.asarray((settled | ~self._cone.by_row(counts)).all(axis=1)),
            self._cone.by_row(self._multipliers),
            self._certificate(int((self._slack[counts] < 0).sum())),
        )

    def _certificate(self, wrong: int) -> Certificate:
        if not self._left.any():
            sentence = "rows on the wrong side of a hyperplane that has each of the others strictly on its side"
            return Certificate("separation", float(wrong), 0.0, sentence)
        rest = self._reduced(self._cone.transposed_times(self._multipliers))
        value = float(np.abs(rest).max(initial=0.0) / self._multipliers.sum())
        sentence = (
            f"distance of {counted(int(self._left.sum()), 'row')} from balancing under positive weights, which proves "
            "that no hyperplane separates them"
        )
        return Certificate("no separation", np.inf if wrong else value, BALANCE_TOLERANCE, sentence)


def _sample_rows(rows: Array, size: int) -> Array:
    """All rows if they are few, else some."""
    if len(rows) <= max(FEW_ROWS, size):
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, size, replace=False))


def _maximise(gain: Array, rows: Array) -> tuple[Array, Array]:
    """max gain·γ with rows·γ ≥ 0 and |γ_j| ≤ 1: γ, and multipliers with gain + rowsᵀ·multipliers = 0 if that is 0."""
    bounds, right = (-1, 1), np.zeros(len(rows))
    result: Any = linprog(-gain, A_ub=-rows, b_ub=right, bounds=bounds, method="highs", options=HIGHS_OPTIONS)
    if result.x is None:  # no proof: the certificate will not hold
        return np.zeros(len(gain)), np.zeros(len(rows))
    return result.x, -result.ineqlin.marginals
