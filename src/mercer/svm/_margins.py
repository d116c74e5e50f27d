"""Linear support vector machines: what is minimised, and its dual.

    minimise ½ ‖w‖² + Σ ℓᵢ(xᵢ·w),        ℓ(η) = max over lower ≤ β ≤ upper of  β (t − η) − ε |β| − ½ bend β²

is, for a target t of ±1 and β between 0 and t·C, C times the hinge loss of a margin; for β between −C and C it is C
times the ε-insensitive loss of a residual (lecture 5: β = a⁺ − a⁻). Without those bounds, a bend of 1/2C makes C times
their squares. Fenchel's dual is to minimise ½ ‖Σ β x‖² + Σ ½ bend β² − t β + ε |β| in that box, and for any w and β

    primal − dual = ½ ‖w − Σ β x‖² + Σ [ ℓ(η) − β (t − η) + ε |β| + ½ bend β² ],

where no term is negative: the gap is known to its last digit, however small it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from mercer._threads import blas_for, ordered_map
from mercer._typing import Array
from mercer.matrices import Coordinates, DenseDesign, Design, MixedDesign, SparseDesign
from mercer.matrices.sparse import Entries
from mercer.matrices.squares import column_squares
from mercer.optim.certificate import Solution
from mercer.svm import _linear_loops as loops
from mercer.svm._box_problem import Margins

#: gaps below this portion of the objective may be rounding
LEAST_GAP = 1e-12
#: weights below this have no finite inverse
LEAST_WEIGHT = 1e-300
#: the least width by which corners are rounded at first: of a smaller one the curvature would overflow
LEAST_WIDTH = 1e-150
#: numbers from which on rows are read block by block, in threads, and classes are fitted side by side
WORTH_THREADS = 400_000


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
            # loops are compiled for these; SciPy's sparse arrays keep whatever they are given
            X = type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
        if not X.has_canonical_format:  # stored twice
            X = X.copy()
            X.sum_duplicates()
        return cls(X, constant)

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        """With the constant."""
        return int(self.X.shape[1]) + 1

    @property
    def stored(self) -> int:
        """Numbers in memory."""
        return int(self.X.size)

    @cached_property
    def entries(self) -> Entries:
        """As compiled loops want them: dense rows have neither places nor columns."""
        if not isinstance(self.X, np.ndarray):
            return Entries.of(self.X)
        return Entries.of_dense(np.require(self.X, requirements=["C", "W"]).reshape(-1))

    @cached_property
    def squares(self) -> Array:
        """‖x‖² of each row; not finite where a value is not."""
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(self.X, np.ndarray):
                of_rows = np.einsum("ij,ij->i", self.X, self.X)
            else:
                of_rows = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
            return np.asarray(of_rows + self.constant**2)

    @cached_property
    def _small(self) -> Array | None:
        """Few dense rows with the constant beside them: plain products of these cost less than cutting them up."""
        if not isinstance(self.X, np.ndarray) or self.X.size >= WORTH_THREADS:
            return None
        return np.column_stack([self.X, np.full(self.n_rows, self.constant)])

    @cached_property
    def design(self) -> Design:
        """As they are: where the intercept is penalised nothing may be shifted."""
        if isinstance(self.X, np.ndarray):
            return DenseDesign(self.X, Coordinates.plain(self.X.shape[1], intercept=True))
        return MixedDesign.of(sparse=self.plain_design, intercept=True)

    @cached_property
    def plain_design(self) -> Any:
        """Without the constant."""
        plain = Coordinates.plain(self.X.shape[1], intercept=False)
        return DenseDesign(self.X, plain) if isinstance(self.X, np.ndarray) else SparseDesign.within(self.X, plain)

    def take(self, rows: Array) -> Self:
        return type(self)(self.X[rows], self.constant)

    def times(self, w: Array) -> Array:
        """X w."""
        if (small := self._small) is not None:
            return np.asarray(small @ w)
        return self.design.times(self._scaled(w))

    def transposed_times(self, r: Array) -> Array:
        """Xᵀ r."""
        if (small := self._small) is not None:
            return np.asarray(small.T @ r)
        return self._scaled(self.design.transposed_times(r))

    def gram(self, h: Array) -> Array:
        """Xᵀ diag(h) X, for h that is not negative."""
        if (small := self._small) is not None:
            weighted = small * np.sqrt(h)[:, None]
            return np.asarray(weighted.T @ weighted)
        return self._scaled(self._scaled(self.design.gram(h)).T)

    def outer(self) -> Array:
        """X Xᵀ."""
        products = self.X @ self.X.T
        dense = products if isinstance(products, np.ndarray) else products.toarray()
        return np.asarray(dense + self.constant**2)

    def column_squares(self, h: Array) -> Array:
        """The diagonal of Xᵀ diag(h) X."""
        return self._scaled(self._scaled(column_squares(self.design, h)))

    def _scaled(self, vector: Array) -> Array:
        """The design has ones instead of the constant."""
        vector = vector.copy()
        vector[-1] *= self.constant
        return vector


class Answers(NamedTuple):
    """β of the rows at their predictors, −∂β/∂η, the losses if β is held to a centre, the losses, and β's distance."""

    beta: Array
    curvature: Array
    held: float
    loss: float
    away: float


class RoundedLosses(Protocol):
    """Losses whose corners `margin_newton` can round off."""

    @property
    def smooth(self) -> bool: ...
    @property
    def width(self) -> float: ...
    @property
    def most(self) -> Array: ...
    @property
    def many(self) -> tuple[int, ...]: ...

    def answers(self, eta: Array, centre: Array, hold: Array) -> Answers: ...

    def sensitivity(self, eta: Array, beta: Array, error: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class MarginLosses:
    """ℓ of each row; see above."""

    target: Array
    lower: Array
    upper: Array
    bend: Array
    epsilon: float

    @classmethod
    def of_classes(cls, y: Array, weight: Array, *, squared: bool) -> Self:
        """Hinge losses of y = ±1, times the weights (C), or their squares."""
        most, bend = _box(weight, squared)
        return cls(y, np.where(y > 0, 0.0, -most), np.where(y > 0, most, 0.0), bend, 0.0)

    @classmethod
    def of_numbers(cls, y: Array, weight: Array, epsilon: float, *, squared: bool) -> Self:
        """ε-insensitive losses of residuals, times the weights (C), or their squares."""
        most, bend = _box(weight, squared)
        return cls(y, -most, most, bend, float(epsilon))

    @cached_property
    def smooth(self) -> bool:
        """Whether no loss has a corner."""
        return bool(((self.bend > 0) | (self.upper == self.lower)).all())

    @property
    def width(self) -> float:
        """On the scale of the predictors."""
        largest = float(np.abs(self.target).max(initial=0.0))
        return max(largest, LEAST_WIDTH) if largest else 1.0

    @property
    def most(self) -> Array:
        """How large |β| can be."""
        return np.maximum(self.upper, -self.lower)

    #: predictors of a row have no further axis
    many: ClassVar[tuple[int, ...]] = ()

    @property
    def box(self) -> tuple[Any, ...]:
        return self.target, self.lower, self.upper, self.bend, self.epsilon

    def answers(self, eta: Array, centre: Array, hold: Array) -> Answers:
        """Of all rows, where each β is held to its centre by ½ hold (β − centre)²."""
        beta, curvature = np.empty(len(eta)), np.empty(len(eta))
        return Answers(beta, curvature, *loops.respond(eta, *self.box, centre, hold, beta, curvature))

    def sensitivity(self, eta: Array, beta: Array, error: Array) -> Array:
        """By how much the distance of each β from its loss can change for a predictor that is off by an `error` of 1.

        The distance is convex in η, and its slope there is β less the answer of the row.
        """
        none = np.zeros(len(eta))
        own = [self.answers(eta + side * error, none, none).beta for side in (1.0, -1.0)]
        return np.asarray(np.maximum(*(np.abs(answer - beta) for answer in own)))

    def judged(self, eta: Array, beta: Array) -> tuple[float, float]:
        """The losses, and the distance of β from them."""
        loss, away = loops.judge(eta, *self.box, beta)
        return float(loss), float(away)


def _box(weight: Array, squared: bool) -> tuple[Array, Array]:
    """How large |β| may be, and its bend; a row without weight has neither."""
    if not squared:
        return weight, np.zeros(len(weight))
    some = weight > LEAST_WEIGHT
    return np.where(some, np.inf, 0.0), np.where(some, 0.5 / np.where(some, weight, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """½ ‖w‖² + Σ ℓ(x·w)."""

    rows: MarginRows
    losses: MarginLosses


def rounding(rows: MarginRows, losses: RoundedLosses, w: Array, eta: Array, beta: Array, apart: float) -> float:
    """By how much rounding may hide a part of the gap; `apart` is ‖w − Σ β x‖ as it was computed.

    Far from the origin the terms of x·w and Σ β x are far larger than their sums. And the predictors η at hand may be
    sums of the changes of many steps.
    """
    unit = np.finfo(float).eps
    sizes = np.sqrt(rows.squares)
    many = (1,) * (beta.ndim - 1)
    of_rows = unit * np.sqrt(rows.n_columns) * sizes.reshape(-1, *many) * np.linalg.norm(w, axis=0)
    of_rows = of_rows + np.abs(rows.times(w) - eta)
    of_sum = unit * np.sqrt(rows.n_rows) * float(np.linalg.norm(sizes @ np.abs(beta)))
    spread = losses.sensitivity(eta, beta, of_rows)
    worth = unit * float(np.abs(beta * eta).sum())
    return float((spread * of_rows).sum() + of_sum * (apart + 0.5 * of_sum) + worth)


class MarginPoint(NamedTuple):
    """Coefficients, the last of them that of the constant, what the rows answered, and the steps it took."""

    w: Array
    beta: Array
    n_iter: int


class Judgement(NamedTuple):
    """Both objectives at a point."""

    primal: float
    gap: float

    def widened(self, by: float) -> Judgement:
        """With a gap that includes the rounding it was computed with."""
        return Judgement(self.primal, self.gap + by)

    @property
    def share(self) -> float:
        """The gap as a portion of the objective."""
        return self.gap / max(abs(self.primal), np.finfo(float).tiny)

    def certificate(self, asked: float, steps: str) -> Margins:
        sentence = (
            f"the objective, {self.primal:.10g}, can fall by no more than this portion of it (the dual is "
            f"{self.primal - self.gap:.10g}), rounding included, after {steps}"
        )
        return Margins("duality gap", self.share, asked, sentence, self.primal, self.primal - self.gap)


class MarginDescent(Protocol):
    """A fit on its way."""

    n_iter: int

    @property
    def finished(self) -> bool: ...
    @property
    def judgement(self) -> Judgement: ...

    def step(self) -> None:
        """Go on for a while."""

    def solution(self) -> Solution: ...


def run(
    descents: Sequence[MarginDescent], numbers: int, progress: Callable[[int, float, float], None] | None = None
) -> None:
    """Step until all are finished, in parallel if that is worth it; `numbers` is how many numbers one step reads.

    One step at a time, so that Ctrl-C finds each at a point where it can stop.
    """
    side_by_side = len(descents) > 1 and numbers >= WORTH_THREADS
    with blas_for(1):  # rows are read in threads, and in between BLAS's own would go on spinning
        while active := [descent for descent in descents if not descent.finished]:
            if side_by_side:
                ordered_map(lambda descent: descent.step(), active)
            else:
                for descent in active:
                    descent.step()
            if progress is not None:
                worst = max(descents, key=lambda descent: descent.judgement.share)
                total = sum(descent.judgement.primal for descent in descents)
                progress(max(descent.n_iter for descent in descents), total, worst.judgement.share)
