"""Factorised Hessians, also singular ones: they map a gradient to a Newton step and measure its length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer._threads import blas_for
from mercer._typing import Array

#: rounding error of float64
EPSILON = float(np.finfo(float).eps)
#: with columns scaled to unit curvature, a direction whose curvature per column is below this has none but rounding
FLAT_DIRECTION = 1e-13


@dataclass(frozen=True, eq=False)
class Curvature:
    """H⁻¹ of a positive semidefinite H; the pseudo-inverse, with columns scaled to unit curvature, if H is singular."""

    scale: Array
    factor: Array
    #: whether `factor` is a Cholesky factor; else it is a square root of the pseudo-inverse
    definite: bool
    rank: int

    @classmethod
    def of(cls, hessian: Array) -> Self:
        """Factorise a Hessian."""
        diagonal = np.diagonal(hessian)
        # 0 where there is no curvature: rounding of other, possibly large columns must not cause a step
        scale = np.where(diagonal > 0, np.where(diagonal > 0, diagonal, 1.0) ** -0.5, 0.0)
        scaled = hessian * scale * scale[:, None]
        with blas_for(len(scale)):
            factor, failed = lapack.dpotrf(scaled, lower=1, clean=1)
            if not failed and np.diagonal(factor).min(initial=1.0) ** 2 > FLAT_DIRECTION * len(scale):
                return cls(scale, factor, True, len(scale))
            values, vectors = np.linalg.eigh(scaled)
        kept = values > FLAT_DIRECTION * len(scale)
        return cls(scale, vectors[:, kept] / np.sqrt(values[kept]), False, int(kept.sum()))

    def solve(self, gradient: Array) -> Array:
        """Return H⁻¹ g."""
        scaled = self.scale * gradient
        if self.definite and len(scaled):
            solution, _ = lapack.dpotrs(self.factor, scaled, lower=1)  # `cho_solve` takes ten times as long
            return np.asarray(self.scale * solution)
        return np.asarray(self.scale * (self.factor @ (self.factor.T @ scaled)))

    def length(self, gradient: Array) -> float:
        """Return √(gᵀH⁻¹g)."""
        return float(np.sqrt(np.maximum(0.0, gradient @ self.solve(gradient))))  # NaN stays NaN

    def length_outside_range(self, gradient: Array, rounding: Array) -> float:
        """Return a lower bound of √(gᵀH⁻¹g) by the part of g outside the range of H; 0 if that is `rounding`."""
        if self.definite:
            return 0.0
        none = (self.scale == 0) & (np.abs(gradient) > rounding)
        least = np.abs(gradient[none]).max(initial=0.0) / np.sqrt(np.finfo(float).tiny)
        scaled = self.scale * gradient
        vectors = self.factor / np.linalg.norm(self.factor, axis=0)
        left = float(np.linalg.norm(scaled - vectors @ (vectors.T @ scaled)))
        if left > np.linalg.norm(self.scale * rounding):
            least = max(least, left / np.sqrt(FLAT_DIRECTION * len(self.scale)))
        return float(least)

    def norm(self, w: Array) -> float:
        """Return √(wᵀHw)."""
        w = np.divide(w, self.scale, out=np.zeros(len(w)), where=self.scale > 0)
        image = self.factor.T @ w
        return float(np.linalg.norm(image if self.definite else image / np.square(self.factor).sum(axis=0)))

    def share(self, l2: Array) -> float:
        """Return tr H⁻¹ diag(l2), the share of a penalty in H, of which it is a part."""
        # H is at least the penalty: these products are at most 1, also where the squares would overflow
        portion = np.square(np.sqrt(l2) * self.scale)
        if not self.definite:
            return float(portion @ np.square(self.factor).sum(axis=1))
        with blas_for(len(self.scale)):
            root = solve_triangular(self.factor, np.eye(len(self.scale)), lower=True, check_finite=False)
        return float(portion @ np.square(root).sum(axis=0))

    def scaled_by(self, factor: float) -> Self:
        """Return the curvature of an objective `factor` times as large."""
        root = factor**-0.5
        return type(self)(self.scale * root, self.factor, self.definite, self.rank)
