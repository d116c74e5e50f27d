"""Changes of variables that make an objective round: w = w₀ + S u, with S Sᵀ close to the inverse of its Hessian."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.designs import Design, TensorDesign
from mercer.designs.squares import column_squares
from mercer.solvers.curvature import Curvature

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
class Whitening(Scaling):
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
class Standardising(Scaling):
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
        return _about_zero(np.asarray((self.scale * u.T).T), self.mean)

    def back(self, gradient: Array) -> Array:
        return np.asarray((self.scale * _about_means(gradient, self.mean).T).T)


@dataclass(frozen=True, eq=False)
class FewRows(Scaling):
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
        return _about_zero(np.asarray((self.scale * w.T).T), self.mean)

    def back(self, gradient: Array) -> Array:
        scaled = np.asarray((self.scale * _about_means(gradient, self.mean).T).T)
        columns = scaled[: self.rows.shape[1]]
        inner = solve_triangular(self.factor, self.rows @ columns, lower=True, check_finite=False)
        columns -= self.rows.T @ solve_triangular(self.raised, inner, trans=1, lower=True, check_finite=False)
        return scaled


@dataclass(frozen=True, eq=False)
class Repeated(Scaling):
    """The same for each of q linear predictors, but for a factor; coefficients come as one vector, (p · q,)."""

    of_each: Scaling
    factors: Array

    def forth(self, u: Array) -> Array:
        return self.of_each.forth(u.reshape(-1, len(self.factors)) * self.factors).ravel()

    def back(self, gradient: Array) -> Array:
        return self.of_each.back(gradient.reshape(-1, len(self.factors)) * self.factors).ravel()


def _about_zero(w: Array, mean: Array | None) -> Array:
    """Coefficients of columns about their means as those of the columns themselves, in place."""
    if mean is not None:
        w[-1] -= mean @ w[:-1]
    return w


def _about_means(gradient: Array, mean: Array | None) -> Array:
    """The gradient for coefficients of columns about their means."""
    if mean is None:
        return gradient
    gradient = gradient.copy()
    gradient[:-1] -= np.multiply.outer(mean, gradient[-1])
    return gradient


def inverse_root(diagonal: Array) -> Array:
    """1/√ of squares; 1 where there is nothing to be scaled."""
    return np.asarray(np.where(diagonal > 0, diagonal, 1.0) ** -0.5)
