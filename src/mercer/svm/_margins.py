"""Linear support vector machines: the objective, its dual, and the operations on rows that solvers need.

    minimise ½ ‖w‖² + Σ ℓᵢ(xᵢ·w),        ℓ(η) = max over lower ≤ β ≤ upper of  β (t − η) − ε |β| − ½ bend β²

For a target t of ±1 and β between 0 and t·C, ℓ is C times the hinge loss of a margin; for β between −C and C it is C
times the ε-insensitive loss of a residual (lecture 5: β = a⁺ − a⁻). Without those bounds, a bend of 1/2C makes C times
their squares. Fenchel's dual is to minimise ½ ‖Σ β x‖² + Σ ½ bend β² − t β + ε |β| in that box, and for any w and β

    primal − dual = ½ ‖w − Σ β x‖² + Σ [ ℓ(η) − β (t − η) + ε |β| + ½ bend β² ],

where no term is negative: the gap is accurate to its last digit, however small it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from mercer._threads import blas_for, ordered_map
from mercer._typing import Array
from mercer.matrices import Coordinates, DenseMatrix, Matrix, SparseMatrix, SplitMatrix
from mercer.matrices.entries import Entries
from mercer.optim.certificate import Solution
from mercer.optim.descent import Callback, Step
from mercer.svm import _linear_loops as loops
from mercer.svm._box_problem import Margins

#: gaps below this portion of the objective may be rounding
LEAST_RELATIVE_GAP = 1e-12
#: weights below this have no finite inverse
LEAST_WEIGHT = 1e-300
#: least initial width by which corners are rounded: with a smaller one the curvature would overflow
LEAST_WIDTH = 1e-150
#: stored numbers from which rows are read block by block in threads, and classes are fitted in parallel
THREADED_SIZE = 400_000


@dataclass(frozen=True, eq=False)
class MarginRows:
    """Rows of numbers in C order, or of a CSR matrix, each followed by a `constant`: 0 where there is no intercept."""

    X: Any
    constant: float

    @classmethod
    def of(cls, X: Any, constant: float) -> Self:
        if isinstance(X, np.ndarray):
            return cls(X, constant)
        if X.indices.dtype != np.int32 and max(X.nnz, X.shape[1]) <= np.iinfo(np.int32).max:
            # loops are compiled for int32; SciPy's sparse arrays keep the type of the indices
            X = type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
        if not X.has_canonical_format:  # entries may be stored twice
            X = X.copy()
            X.sum_duplicates()
        return cls(X, constant)

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns, with the constant."""
        return int(self.X.shape[1]) + 1

    @property
    def stored(self) -> int:
        """Number of stored values."""
        return int(self.X.size)

    @cached_property
    def entries(self) -> Entries:
        """Return the arrays that compiled loops read: for dense rows without positions and columns."""
        if not isinstance(self.X, np.ndarray):
            return Entries.of(self.X)
        return Entries.of_dense(np.require(self.X, requirements=["C", "W"]).reshape(-1))

    @cached_property
    def squares(self) -> Array:
        """Return ‖x‖² of each row; not finite where a value is not."""
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(self.X, np.ndarray):
                of_rows = np.einsum("ij,ij->i", self.X, self.X)
            else:
                of_rows = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
            return np.asarray(of_rows + self.constant**2)

    @cached_property
    def _small(self) -> Array | None:
        """Return few dense rows with the constant appended: plain products cost less than products by blocks."""
        if not isinstance(self.X, np.ndarray) or self.X.size >= THREADED_SIZE:
            return None
        return np.column_stack([self.X, np.full(self.n_rows, self.constant)])

    @cached_property
    def design(self) -> Matrix:
        """Return the rows as a design without shift or scale, since the intercept is penalised."""
        if isinstance(self.X, np.ndarray):
            return DenseMatrix(self.X, Coordinates.plain(self.X.shape[1], intercept=True))
        return SplitMatrix.of(sparse=self.plain_design, intercept=True)

    @cached_property
    def plain_design(self) -> Any:
        """Return the rows as a design without the constant."""
        plain = Coordinates.plain(self.X.shape[1], intercept=False)
        return DenseMatrix(self.X, plain) if isinstance(self.X, np.ndarray) else SparseMatrix.of_matrix(self.X, plain)

    def take(self, rows: Array) -> Self:
        return type(self)(self.X[rows], self.constant)

    def matvec(self, w: Array) -> Array:
        """Return X w."""
        if (small := self._small) is not None:
            return np.asarray(small @ w)
        return self.design.matvec(self._scale_last(w))

    def rmatvec(self, r: Array) -> Array:
        """Return Xᵀ r."""
        if (small := self._small) is not None:
            return np.asarray(small.T @ r)
        return self._scale_last(self.design.rmatvec(r))

    def gram(self, h: Array) -> Array:
        """Return Xᵀ diag(h) X, for h that is not negative."""
        if (small := self._small) is not None:
            weighted = small * np.sqrt(h)[:, None]
            return np.asarray(weighted.T @ weighted)
        return self._scale_last(self._scale_last(self.design.gram(h)).T)

    def outer(self) -> Array:
        """Return X Xᵀ."""
        products = self.X @ self.X.T
        dense = products if isinstance(products, np.ndarray) else products.toarray()
        return np.asarray(dense + self.constant**2)

    def column_squares(self, h: Array) -> Array:
        """Return the diagonal of Xᵀ diag(h) X."""
        return self._scale_last(self._scale_last(self.design.squares(h)))

    def _scale_last(self, vector: Array) -> Array:
        """Return a vector whose last entry is multiplied by the constant, since the design has ones."""
        vector = vector.copy()
        vector[-1] *= self.constant
        return vector


class LossResponse(NamedTuple):
    """β of the rows at their predictors, −∂β/∂η, and losses.

    `held` is the sum of the losses with β held to a centre, `loss` without; `away` is the distance of β from the
    latter.
    """

    beta: Array
    curvature: Array
    held: float
    loss: float
    away: float


class RoundedLosses(Protocol):
    """Losses whose corners `_margin_newton` can round off."""

    @property
    def smooth(self) -> bool: ...
    @property
    def width(self) -> float: ...
    @property
    def most(self) -> Array: ...
    @property
    def many(self) -> tuple[int, ...]: ...

    def respond(self, eta: Array, centre: Array, hold: Array) -> LossResponse: ...

    def sensitivity(self, eta: Array, beta: Array, error: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class MarginLosses:
    """The loss ℓ of each row; see the module."""

    target: Array
    lower: Array
    upper: Array
    bend: Array
    epsilon: float

    @classmethod
    def for_classes(cls, y: Array, weight: Array, *, squared: bool) -> Self:
        """Return the hinge losses of y = ±1, times the weights (C), or their squares."""
        most, bend = _make_box(weight, squared)
        return cls(y, np.where(y > 0, 0.0, -most), np.where(y > 0, most, 0.0), bend, 0.0)

    @classmethod
    def for_numbers(cls, y: Array, weight: Array, epsilon: float, *, squared: bool) -> Self:
        """Return the ε-insensitive losses of residuals, times the weights (C), or their squares."""
        most, bend = _make_box(weight, squared)
        return cls(y, -most, most, bend, float(epsilon))

    @cached_property
    def smooth(self) -> bool:
        """Return whether no loss has a corner."""
        return bool(((self.bend > 0) | (self.upper == self.lower)).all())

    @property
    def width(self) -> float:
        """Initial width of the rounding of corners, on the scale of the predictors."""
        largest = float(np.abs(self.target).max(initial=0.0))
        return max(largest, LEAST_WIDTH) if largest else 1.0

    @property
    def most(self) -> Array:
        """Return the largest |β| of each row."""
        return np.maximum(self.upper, -self.lower)

    #: further axes of the predictors of a row
    many: ClassVar[tuple[int, ...]] = ()

    @property
    def box(self) -> tuple[Any, ...]:
        return self.target, self.lower, self.upper, self.bend, self.epsilon

    def respond(self, eta: Array, centre: Array, hold: Array) -> LossResponse:
        """Compute β of all rows, each held to its centre by ½ hold (β − centre)²."""
        beta, curvature = np.empty(len(eta)), np.empty(len(eta))
        return LossResponse(beta, curvature, *loops.respond(eta, *self.box, centre, hold, beta, curvature))

    def sensitivity(self, eta: Array, beta: Array, error: Array) -> Array:
        """Return how much the distance of each β from its loss can change per unit of error of its predictor.

        The distance is convex in η, and its slope there is β less the maximising β of the row.
        """
        none = np.zeros(len(eta))
        own = [self.respond(eta + side * error, none, none).beta for side in (1.0, -1.0)]
        return np.asarray(np.maximum(*(np.abs(answer - beta) for answer in own)))

    def measure(self, eta: Array, beta: Array) -> tuple[float, float]:
        """Return the losses, and the distance of β from them."""
        loss, away = loops.measure(eta, *self.box, beta)
        return float(loss), float(away)


def _make_box(weight: Array, squared: bool) -> tuple[Array, Array]:
    """Return the largest |β|, and the bend; both are 0 for a row without weight."""
    if not squared:
        return weight, np.zeros(len(weight))
    some = weight > LEAST_WEIGHT
    return np.where(some, np.inf, 0.0), np.where(some, 0.5 / np.where(some, weight, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """Minimise ½ ‖w‖² + Σ ℓ(x·w)."""

    rows: MarginRows
    losses: MarginLosses


def estimate_rounding(
    rows: MarginRows, losses: RoundedLosses, w: Array, eta: Array, beta: Array, apart: float
) -> float:
    """Return how much of the gap rounding may hide; `apart` is the computed ‖w − Σ β x‖.

    Far from the origin the terms of x·w and Σ β x are far larger than their sums. The given predictors η may be sums of
    the changes of many steps.
    """
    unit = np.finfo(float).eps
    sizes = np.sqrt(rows.squares)
    many = (1,) * (beta.ndim - 1)
    of_rows = unit * np.sqrt(rows.n_columns) * sizes.reshape(-1, *many) * np.linalg.norm(w, axis=0)
    of_rows = of_rows + np.abs(rows.matvec(w) - eta)
    of_sum = unit * np.sqrt(rows.n_rows) * float(np.linalg.norm(sizes @ np.abs(beta)))
    spread = losses.sensitivity(eta, beta, of_rows)
    worth = unit * float(np.abs(beta * eta).sum())
    return float((spread * of_rows).sum() + of_sum * (apart + 0.5 * of_sum) + worth)


class MarginPoint(NamedTuple):
    """Coefficients, the last of them that of the constant, β of the rows, and the number of steps."""

    w: Array
    beta: Array
    n_iter: int


class MarginObjectives(NamedTuple):
    """The primal objective and the duality gap at a point."""

    primal: float
    gap: float

    def add_to_gap(self, by: float) -> MarginObjectives:
        """Return the objectives with a gap that includes its rounding."""
        return MarginObjectives(self.primal, self.gap + by)

    @property
    def share(self) -> float:
        """Return the gap as a portion of the objective."""
        return self.gap / max(abs(self.primal), np.finfo(float).tiny)

    def certificate(self, required: float, steps: str) -> Margins:
        sentence = (
            f"the objective, {self.primal:.10g}, can fall by no more than this portion of it (the dual is "
            f"{self.primal - self.gap:.10g}), rounding included, after {steps}"
        )
        return Margins("duality gap", self.share, required, sentence, self.primal, self.primal - self.gap)


class MarginDescent(Protocol):
    """A fit in progress."""

    n_iter: int

    @property
    def finished(self) -> bool: ...
    @property
    def w(self) -> Array: ...
    @property
    def objectives(self) -> MarginObjectives: ...

    def step(self) -> None:
        """Make a step."""

    def solution(self) -> Solution: ...


def run_descents(descents: Sequence[MarginDescent], numbers: int, callback: Callback | None = None) -> None:
    """Make steps until all descents are finished, in parallel if that is worthwhile; a step reads `numbers` values.

    Descents make one step at a time, so that Ctrl-C finds each at a point where it can stop.
    """
    in_parallel = len(descents) > 1 and numbers >= THREADED_SIZE
    with blas_for(1):  # rows are read in threads, and BLAS's own threads would spin in between
        while active := [descent for descent in descents if not descent.finished]:
            if in_parallel:
                ordered_map(lambda descent: descent.step(), active)
            else:
                for descent in active:
                    descent.step()
            if callback is not None:
                worst = max(descents, key=lambda descent: descent.objectives.share)
                total = sum(descent.objectives.primal for descent in descents)
                coef = [descent.w for descent in descents]
                callback(Step(max(descent.n_iter for descent in descents), total, worst.objectives.share, coef))
