"""Changes of variables w = w₀ + S u with S Sᵀ close to H⁻¹, and starts from a sample of the rows."""

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
from mercer.matrices import Matrix, Observations, TensorMatrix
from mercer.matrices.observations import ObservedBatch
from mercer.optim.certificate import Solution
from mercer.optim.curvature import Curvature
from mercer.optim.newton import SAMPLE_TOLERANCE
from mercer.optim.problem import Problem
from mercer.stats.quadratic import HESSIAN

#: the spread of a column is at least this share of its root mean square: smaller ones are rounding
LEAST_SPREAD = 1e-6
#: root of the curvature, in units of the penalty's, up to which the difference I − Bᵀ K B keeps half of its digits
MAX_WOODBURY_ROOT = 1e7


class Scaling(ABC):
    """S, for the coefficients of one or of several linear predictors: (p,) or (p, q)."""

    @abstractmethod
    def apply(self, u: Array) -> Array:
        """Return S u."""

    @abstractmethod
    def apply_transposed(self, gradient: Array) -> Array:
        """Return Sᵀ g."""


@dataclass(frozen=True, eq=False)
class WhiteningScaling(Scaling):
    """S is a root of the inverse of a Hessian, or of its pseudo-inverse if it is singular."""

    curvature: Curvature

    @classmethod
    def of(cls, hessian: Array) -> Self:
        """Factorise a Hessian."""
        # a Hessian that is not finite is detected with the objective
        return cls(Curvature.of(hessian if np.isfinite(hessian).all() else np.eye(len(hessian))))

    def apply(self, u: Array) -> Array:
        scale, factor = self.curvature.scale, self.curvature.factor
        if not self.curvature.definite:
            return np.asarray((scale * (factor @ u).T).T)
        with blas_for(len(scale)):
            v = solve_triangular(factor, u, trans=1, lower=True, check_finite=False)
        return np.asarray((scale * v.T).T)

    def apply_transposed(self, gradient: Array) -> Array:
        factor, scaled = self.curvature.factor, (self.curvature.scale * gradient.T).T
        if not self.curvature.definite:
            return np.asarray(factor.T @ scaled)
        with blas_for(len(factor)):
            return np.asarray(solve_triangular(factor, scaled, lower=True, check_finite=False))


@dataclass(frozen=True, eq=False)
class DiagonalScaling(Scaling):
    """S scales each column by the inverse root of its curvature about its mean, as if columns were uncorrelated.

    An intercept becomes that of centred columns: with the columns of a sparse matrix, which are not shifted, it shares
    nearly all of its curvature.
    """

    scale: Array
    #: means of the columns without the intercept; None without an intercept
    mean: Array | None

    @classmethod
    def of(cls, design: Matrix, h: Array, l2: Array) -> Self:
        """Compute the diagonal of Xᵀ diag(h) X + diag(l2) for centred columns."""
        squares = design.squares(h)
        if not design.coordinates.intercept:
            return cls(inverse_root(squares + l2), None)
        sums = design.rmatvec(h)
        mean = sums[:-1] / sums[-1]
        squares[:-1] = np.maximum(squares[:-1] - mean * sums[:-1], LEAST_SPREAD**2 * squares[:-1])
        return cls(inverse_root(squares + l2), mean)

    def apply(self, u: Array) -> Array:
        return _uncentre_coefficients(np.asarray((self.scale * u.T).T), self.mean)

    def apply_transposed(self, gradient: Array) -> Array:
        return np.asarray((self.scale * _centre_gradient(gradient, self.mean).T).T)


@dataclass(frozen=True, eq=False)
class WoodburyScaling(Scaling):
    """S is a root of the inverse of H = AᵀA + D for fewer rows than columns, by a factor of the size of the rows.

    With B = A D^(−½) and L Lᵀ = I + B Bᵀ, S = D^(−½) (I − Bᵀ K B) with K = L⁻ᵀ (I + L)⁻¹ (Andrews 1968): S Sᵀ is
    D^(−½) (I − Bᵀ (L Lᵀ)⁻¹ B) D^(−½), which is H⁻¹ by Woodbury's identity. An unpenalised intercept becomes that of
    centred columns, with which it shares no curvature.
    """

    scale: Array
    #: B
    rows: Array
    #: L
    factor: Array
    #: I + L
    raised: Array
    #: means of the columns without the intercept; None without an unpenalised intercept
    mean: Array | None

    @classmethod
    def of(cls, design: Matrix, h: Array, l2: Array) -> Self | None:
        """Factorise Xᵀ diag(h) X + diag(l2); None for a tensor, or if the penalty is too small for digits to remain."""
        apart = bool(design.coordinates.intercept) and l2[-1] == 0
        penalised = l2[:-1] if apart else l2
        if isinstance(design, TensorMatrix) or not (penalised > 0).all() or not h.sum() > 0:
            return None
        X = design.dense()[:, : len(penalised)]
        with blas_for(len(X)):
            mean = h @ X / h.sum() if apart else None
            B = (X if mean is None else X - mean) * np.sqrt(h)[:, None] / np.sqrt(penalised)
            one = np.eye(len(B))
            factor, failed = lapack.dpotrf(one + B @ B.T, lower=1, clean=1)
        if failed or not np.diagonal(factor).max() < MAX_WOODBURY_ROOT:
            return None
        diagonal = np.append(penalised, h.sum()) if apart else penalised
        return cls(inverse_root(diagonal), B, factor, np.asfortranarray(one + factor), mean)

    def apply(self, u: Array) -> Array:
        w = np.array(u, dtype=float)
        columns = w[: self.rows.shape[1]]
        inner = solve_triangular(self.raised, self.rows @ columns, lower=True, check_finite=False)
        columns -= self.rows.T @ solve_triangular(self.factor, inner, trans=1, lower=True, check_finite=False)
        return _uncentre_coefficients(np.asarray((self.scale * w.T).T), self.mean)

    def apply_transposed(self, gradient: Array) -> Array:
        scaled = np.asarray((self.scale * _centre_gradient(gradient, self.mean).T).T)
        columns = scaled[: self.rows.shape[1]]
        inner = solve_triangular(self.factor, self.rows @ columns, lower=True, check_finite=False)
        columns -= self.rows.T @ solve_triangular(self.raised, inner, trans=1, lower=True, check_finite=False)
        return scaled


@dataclass(frozen=True, eq=False)
class RepeatedScaling(Scaling):
    """One scaling for each of q linear predictors, times a factor for each; coefficients are one vector (p · q,)."""

    of_each: Scaling
    factors: Array

    def apply(self, u: Array) -> Array:
        return self.of_each.apply(u.reshape(-1, len(self.factors)) * self.factors).ravel()

    def apply_transposed(self, gradient: Array) -> Array:
        return self.of_each.apply_transposed(gradient.reshape(-1, len(self.factors)) * self.factors).ravel()


def _uncentre_coefficients(w: Array, mean: Array | None) -> Array:
    """Transform coefficients of centred columns to those of the columns themselves, in place."""
    if mean is not None:
        w[-1] -= mean @ w[:-1]
    return w


def _centre_gradient(gradient: Array, mean: Array | None) -> Array:
    """Return the gradient by coefficients of centred columns."""
    if mean is None:
        return gradient
    gradient = gradient.copy()
    gradient[:-1] -= np.multiply.outer(mean, gradient[-1])
    return gradient


def inverse_root(diagonal: Array) -> Array:
    """Return 1/√diagonal; 1 for entries of 0."""
    return np.asarray(np.where(diagonal > 0, diagonal, 1.0) ** -0.5)


#: columns up to which a Hessian is factorised
MAX_FACTORISED_COLUMNS = 1500
#: sampled rows per column
HESSIAN_ROWS_PER_COLUMN = 8
#: smallest number of sampled rows
MIN_HESSIAN_ROWS = 1000
#: factor by which samples of a source are larger, whose rows in memory cost no pass
MORE_IN_MEMORY = 10
#: share of the diagonal that is added to the Hessian of a sample, which may lack directions of all rows
SAMPLE_SHRINKAGE = 1e-3


def choose_scaling(problem: Problem, w: Array, *, max_factorised: int = MAX_FACTORISED_COLUMNS) -> Scaling:
    """Return variables in which the Hessian at `w` is close to the identity.

    For up to `max_factorised` columns it is factorised, from fewer rows than columns by Woodbury's identity, else from
    a sample of the rows; for more columns only its diagonal is used.
    """
    if problem.n_columns <= max_factorised:
        few = woodbury_scaling(problem, w) if len(problem.observations) < problem.n_columns else None
        return few or WhiteningScaling.of(sampled_hessian(problem, w))
    (design, y, weight, _), factor = typical_rows(problem.observations)
    # if no column has an effect, the expected curvature is the same in all rows
    level = np.full(1, problem.start()[-1] if design.coordinates.intercept else 0.0)
    curvature = factor * float(problem.response.slopes(to_numpy(y[:1]), level).second[0])
    return DiagonalScaling.of(design, curvature * (np.ones(len(y)) if weight is None else weight), problem.strengths.l2)


def woodbury_scaling(problem: Problem, w: Array) -> WoodburyScaling | None:
    """Return the scaling by the whole Hessian at `w` for fewer rows than columns, without forming it."""
    if problem.observations.streamed or isinstance(problem.observations.design, TensorMatrix):
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return WoodburyScaling.of(problem.observations.design, problem.row_curvatures(w), problem.strengths.l2)


def typical_rows(observations: Observations) -> tuple[ObservedBatch, float]:
    """Return all rows, or those of a source that are in memory, and the ratio of all rows to these."""
    some = observations.some(len(observations)) if observations.streamed else observations
    assert some is not None  # there are as many
    return some.batch(slice(None)), len(observations) / len(some)


def fit_to_sample(problem: Any, solve: Callable[..., Solution]) -> Array | None:
    """Return the fit to the rows of a source that are in memory; None if it does not converge."""
    solution = solve(problem.on(problem.observations.some(len(problem.observations))), tolerance=SAMPLE_TOLERANCE)
    solution.require_completion()
    return np.asarray(solution.coef) if solution.certificate.holds else None


def sampled_hessian(problem: Any, w: Array, *, smallest: int = MIN_HESSIAN_ROWS) -> Array:
    """Return the Hessian at `w`, estimated from evenly spaced rows, at least `smallest`."""
    n, size = len(problem.observations), sample_size(problem.n_columns, smallest)
    # another pass over a source would cost more than many rows in memory
    some = problem.observations.some(size * (MORE_IN_MEMORY if problem.observations.streamed else 1), of=2)
    if some is None:
        return np.asarray(problem.at(w, HESSIAN).hessian)
    return extrapolate_hessian(problem.on(some).at(w, HESSIAN).hessian, n / len(some))


def sample_size(columns: int, smallest: int = MIN_HESSIAN_ROWS) -> int:
    """Return the number of rows that estimate the Hessian well enough, at least `smallest`."""
    return max(smallest, HESSIAN_ROWS_PER_COLUMN * columns)


def extrapolate_hessian(hessian: Array, factor: float) -> Array:
    """Return the Hessian of all rows from that of a sample, with a small share of its diagonal added."""
    hessian = hessian * factor
    hessian[np.diag_indices(len(hessian))] *= 1 + SAMPLE_SHRINKAGE
    return np.asarray(hessian)
