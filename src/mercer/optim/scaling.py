"""What some of the rows tell of all before the first step: variables in which the objective is round, and a start."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer._gpu import to_numpy
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.matrices import Design, Observations, TensorDesign
from mercer.matrices.observations import ObservedBatch
from mercer.matrices.squares import column_squares
from mercer.optim.certificate import Solution
from mercer.optim.curvature import Curvature
from mercer.optim.newton import SAMPLE_TOLERANCE
from mercer.optim.problem import Problem
from mercer.stats.quadratic import HESSIAN

# Changes of variables that make an objective round: w = w₀ + S u, with S Sᵀ close to the inverse of its Hessian.

#: the spread of a column is at least this share of its root mean square: rounding alone leaves as much
LEAST_SPREAD = 1e-6
#: the root of a curvature, in units of the penalty's, up to which 1 less what is nearly 1 keeps half of its digits
MOST_CURVED = 1e7


class Scaling(ABC):
    """S, for the coefficients of one or of several linear predictors: (p,) or (p, q)."""

    @abstractmethod
    def forth(self, u: Array) -> Array:
        """S u."""

    @abstractmethod
    def back(self, gradient: Array) -> Array:
        """Sᵀ g."""


@dataclass(frozen=True, eq=False)
class WhiteningScaling(Scaling):
    """By a root of the inverse of a Hessian; where that is singular, of its pseudo-inverse."""

    curvature: Curvature

    @classmethod
    def of(cls, hessian: Array) -> Self:
        # of what is not finite there is nothing to know: whoever looks at the objective will find out
        return cls(Curvature.of(hessian if np.isfinite(hessian).all() else np.eye(len(hessian))))

    def forth(self, u: Array) -> Array:
        scale, factor = self.curvature.scale, self.curvature.factor
        if not self.curvature.definite:
            return np.asarray((scale * (factor @ u).T).T)
        with blas_for(len(scale)):
            v = solve_triangular(factor, u, trans=1, lower=True, check_finite=False)
        return np.asarray((scale * v.T).T)

    def back(self, gradient: Array) -> Array:
        factor, scaled = self.curvature.factor, (self.curvature.scale * gradient.T).T
        if not self.curvature.definite:
            return np.asarray(factor.T @ scaled)
        with blas_for(len(factor)):
            return np.asarray(solve_triangular(factor, scaled, lower=True, check_finite=False))


@dataclass(frozen=True, eq=False)
class DiagonalScaling(Scaling):
    """By mean and spread of each column: as if they were uncorrelated.

    Where there is an intercept, it becomes that of columns about their means: on the columns of a sparse matrix, which
    are not shifted, nearly all of its curvature is shared with theirs.
    """

    scale: Array
    #: of the columns without the intercept; None where there is none
    mean: Array | None

    @classmethod
    def of(cls, design: Design, h: Array, l2: Array) -> Self:
        """The diagonal of Xᵀ diag(h) X + diag(l2) for centred columns."""
        squares = column_squares(design, h)
        if not design.coordinates.intercept:
            return cls(inverse_root(squares + l2), None)
        sums = design.transposed_times(h)
        mean = sums[:-1] / sums[-1]
        squares[:-1] = np.maximum(squares[:-1] - mean * sums[:-1], LEAST_SPREAD**2 * squares[:-1])
        return cls(inverse_root(squares + l2), mean)

    def forth(self, u: Array) -> Array:
        return _uncentre_coefficients(np.asarray((self.scale * u.T).T), self.mean)

    def back(self, gradient: Array) -> Array:
        return np.asarray((self.scale * _centre_gradient(gradient, self.mean).T).T)


@dataclass(frozen=True, eq=False)
class WoodburyScaling(Scaling):
    """By a root of the inverse of the Hessian AᵀA + D of fewer rows than columns, from a matrix of as many rows.

    With B = A D^(−½) and L Lᵀ = I + B Bᵀ it is D^(−½) (I − Bᵀ K B), K = L⁻ᵀ (I + L)⁻¹ (Andrews 1968): multiplied by its
    transpose it gives D^(−½) (I − Bᵀ (L Lᵀ)⁻¹ B) D^(−½), which is H⁻¹ by Woodbury's identity. An intercept that is not
    penalised becomes that of columns about their means, with which it shares no curvature.
    """

    scale: Array
    #: B
    rows: Array
    #: L, and I + L
    factor: Array
    raised: Array
    #: of the columns without the intercept; None where there is none, or where it is a column like others
    mean: Array | None

    @classmethod
    def of(cls, design: Design, h: Array, l2: Array) -> Self | None:
        """For Xᵀ diag(h) X + diag(l2); None of a tensor, and where too little is penalised for digits to be left."""
        apart = bool(design.coordinates.intercept) and l2[-1] == 0
        penalised = l2[:-1] if apart else l2
        if isinstance(design, TensorDesign) or not (penalised > 0).all() or not h.sum() > 0:
            return None
        X = design.dense()[:, : len(penalised)]
        with blas_for(len(X)):
            mean = h @ X / h.sum() if apart else None
            B = (X if mean is None else X - mean) * np.sqrt(h)[:, None] / np.sqrt(penalised)
            one = np.eye(len(B))
            factor, failed = lapack.dpotrf(one + B @ B.T, lower=1, clean=1)
        if failed or not np.diagonal(factor).max() < MOST_CURVED:
            return None
        diagonal = np.append(penalised, h.sum()) if apart else penalised
        return cls(inverse_root(diagonal), B, factor, np.asfortranarray(one + factor), mean)

    def forth(self, u: Array) -> Array:
        w = np.array(u, dtype=float)
        columns = w[: self.rows.shape[1]]
        inner = solve_triangular(self.raised, self.rows @ columns, lower=True, check_finite=False)
        columns -= self.rows.T @ solve_triangular(self.factor, inner, trans=1, lower=True, check_finite=False)
        return _uncentre_coefficients(np.asarray((self.scale * w.T).T), self.mean)

    def back(self, gradient: Array) -> Array:
        scaled = np.asarray((self.scale * _centre_gradient(gradient, self.mean).T).T)
        columns = scaled[: self.rows.shape[1]]
        inner = solve_triangular(self.factor, self.rows @ columns, lower=True, check_finite=False)
        columns -= self.rows.T @ solve_triangular(self.raised, inner, trans=1, lower=True, check_finite=False)
        return scaled


@dataclass(frozen=True, eq=False)
class RepeatedScaling(Scaling):
    """The same for each of q linear predictors, but for a factor; coefficients come as one vector, (p · q,)."""

    of_each: Scaling
    factors: Array

    def forth(self, u: Array) -> Array:
        return self.of_each.forth(u.reshape(-1, len(self.factors)) * self.factors).ravel()

    def back(self, gradient: Array) -> Array:
        return self.of_each.back(gradient.reshape(-1, len(self.factors)) * self.factors).ravel()


def _uncentre_coefficients(w: Array, mean: Array | None) -> Array:
    """Coefficients of columns about their means as those of the columns themselves, in place."""
    if mean is not None:
        w[-1] -= mean @ w[:-1]
    return w


def _centre_gradient(gradient: Array, mean: Array | None) -> Array:
    """The gradient for coefficients of columns about their means."""
    if mean is None:
        return gradient
    gradient = gradient.copy()
    gradient[:-1] -= np.multiply.outer(mean, gradient[-1])
    return gradient


def inverse_root(diagonal: Array) -> Array:
    """1/√ of squares; 1 where there is nothing to be scaled."""
    return np.asarray(np.where(diagonal > 0, diagonal, 1.0) ** -0.5)


#: columns up to which a Hessian is factorised
MOST_WHITENED = 1500
#: rows of the sample per column, and at least
SAMPLE_PER_COLUMN, SMALLEST_SAMPLE = 8, 1000
#: … and how many times as many of a source, where they are at hand
MORE_AT_HAND = 10
#: how much of the diagonal is added to the Hessian of a sample, which may lack directions that all rows have
SAMPLE_SHRINKAGE = 1e-3


def choose_scaling(problem: Problem, w: Array) -> Scaling:
    """Variables in which the Hessian at `w` is close to the identity."""
    if problem.n_columns <= MOST_WHITENED:
        few = woodbury_scaling(problem, w) if len(problem.observations) < problem.n_columns else None
        return few or WhiteningScaling.of(sampled_hessian(problem, w))
    (design, y, weight, _), factor = typical_rows(problem.observations)
    # as if no column had an effect: the expected curvature is then the same in all rows
    level = np.full(1, problem.start()[-1] if design.coordinates.intercept else 0.0)
    curvature = factor * float(problem.response.slopes(to_numpy(y[:1]), level).second[0])
    return DiagonalScaling.of(design, curvature * (np.ones(len(y)) if weight is None else weight), problem.strengths.l2)


def woodbury_scaling(problem: Problem, w: Array) -> WoodburyScaling | None:
    """Of fewer rows than columns: all of the Hessian at `w`, which is not formed."""
    if problem.observations.streamed or isinstance(problem.observations.design, TensorDesign):
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return WoodburyScaling.of(problem.observations.design, problem.row_curvatures(w), problem.strengths.l2)


def typical_rows(observations: Observations) -> tuple[ObservedBatch, float]:
    """All rows, or of a source those at hand, and how many times as many there are."""
    some = observations.some(len(observations)) if observations.streamed else observations
    assert some is not None  # there are as many
    return some.batch(slice(None)), len(observations) / len(some)


def fit_to_sample(problem: Any, solve: Callable[..., Solution]) -> Array | None:
    """Where a fit to the rows at hand of a source ends; None where it gets nowhere."""
    solution = solve(problem.on(problem.observations.some(len(problem.observations))), tolerance=SAMPLE_TOLERANCE)
    return np.asarray(solution.value) if solution.certificate.holds else None


def sampled_hessian(problem: Any, w: Array) -> Array:
    """The Hessian at `w`, from rows spread evenly over all."""
    n, p = len(problem.observations), problem.n_columns
    # one pass more would cost more than many rows at hand
    some = problem.observations.some(sample_size(p) * (MORE_AT_HAND if problem.observations.streamed else 1), of=2)
    if some is None:
        return np.asarray(problem.at(w, HESSIAN).hessian)
    return extrapolate_hessian(problem.on(some).at(w, HESSIAN).hessian, n / len(some))


def sample_size(columns: int) -> int:
    """How many rows tell enough of the Hessian."""
    return max(SMALLEST_SAMPLE, SAMPLE_PER_COLUMN * columns)


def extrapolate_hessian(hessian: Array, factor: float) -> Array:
    """The Hessian of a sample, times how many times more rows there are; directions that it may lack have a little."""
    hessian = hessian * factor
    hessian[np.diag_indices(len(hessian))] *= 1 + SAMPLE_SHRINKAGE
    return np.asarray(hessian)
