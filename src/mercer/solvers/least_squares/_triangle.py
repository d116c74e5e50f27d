"""Least squares from a triangle R: rank, minimum norm, penalties, and the inverse of RᵀR."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer._errors import NonFiniteError
from mercer._typing import Array
from mercer.families.collinear import NEGLIGIBLE
from mercer.solvers.least_squares.fit import NOT_FINITE

#: singular values below d times this, columns scaled to unit length, are zero to rounding
ROUNDING = 64 * float(np.finfo(float).eps)
#: … or below this many rounding errors of the data themselves
DATA_ROUNDING = 4.0


@dataclass(frozen=True, eq=False)
class Span:
    """The directions in which the columns vary: all of them, or those of `basis`."""

    rank: int
    #: orthonormal columns, or None for all directions
    basis: Array | None
    #: largest by smallest singular value within, columns scaled to unit length
    condition: float
    #: columns without variation
    constant: tuple[int, ...]
    #: columns that are linear combinations of one another
    collinear: tuple[int, ...]
    #: orthonormal rows: the images under R of directions without variation but for the rounding of the data
    doubtful: Array

    @classmethod
    def of(cls, R: Array, still: Array, precision: float) -> Span:
        """`still` is the length up to which each column of R counts as constant; `precision` that of the data.

        Columns are scaled to unit length first: units do not decide about the rank. The basis is orthonormal in the
        units of the data, so that a solution in it is the shortest.
        """
        d = R.shape[1]
        length = lengths(R)
        if not np.isfinite(length).all():
            raise NonFiniteError(NOT_FINITE)
        still = np.maximum(still, np.finfo(float).tiny)  # below it numbers lose their digits, and have no reciprocals
        alive = np.flatnonzero(length > still)
        scale = length[alive]
        images, values, axes = np.linalg.svd(R[:, alive] / scale, full_matrices=True)
        largest = values.max(initial=0.0)
        rank = int(np.sum(values > max(d * ROUNDING, DATA_ROUNDING * precision) * largest))
        doubtful = images[:, rank : max(rank, int(np.sum(values > d * ROUNDING * largest)))].T
        condition = float(values[0] / values[rank - 1]) if rank else 1.0
        constant = tuple(np.flatnonzero(length <= still).tolist())
        if rank == d:
            return cls(rank, None, condition, constant, (), doubtful)
        without = axes[rank:].T  # (alive columns, directions without variation)
        collinear = tuple(alive[np.linalg.norm(without, axis=1) > NEGLIGIBLE].tolist())
        complement, _ = np.linalg.qr(without * (scale.min(initial=np.inf) / scale)[:, None], mode="complete")
        basis = np.zeros((d, rank))
        basis[alive] = complement[:, without.shape[1] :]
        return cls(rank, basis, condition, constant, collinear, doubtful)

    def within(self, R: Array) -> Array:
        """R in the coordinates of the basis."""
        return R if self.basis is None else R @ self.basis

    def outwards(self, v: Array) -> Array:
        """From coordinates of the basis to coefficients."""
        return v if self.basis is None else np.asarray(self.basis @ v)

    def inwards(self, w: Array) -> Array:
        """From coefficients, or a gradient, to coordinates of the basis."""
        return w if self.basis is None else np.asarray(self.basis.T @ w)


@dataclass(frozen=True, eq=False)
class Penalised:
    """min ‖R w − z‖² + alpha ‖w‖² within a span, factorised: root ᵀroot is RᵀR + alpha in its coordinates."""

    span: Span
    root: Array
    coefficients: Array

    @classmethod
    def of(cls, R: Array, z: Array, alpha: float, span: Span) -> Penalised:
        A, r = span.within(R), span.rank
        if alpha > 0:
            A, z = np.concatenate([A, np.sqrt(alpha) * np.eye(r)]), np.concatenate([z, np.zeros((r, z.shape[1]))])
        Q, root = np.linalg.qr(A)
        return cls(span, root, span.outwards(solve_triangular(root, Q.T @ z, check_finite=False)))

    def correction(self, gradient: Array) -> Array:
        """(RᵀR + alpha)⁻¹ gradient."""
        inner = solve_triangular(self.root, self.span.inwards(gradient), trans="T", check_finite=False)
        return self.span.outwards(solve_triangular(self.root, inner, check_finite=False))

    def length(self, gradient: Array) -> Array:
        """√(gᵀ(RᵀR + alpha)⁻¹g) of each column: the part of y that is still to be explained."""
        return lengths(solve_triangular(self.root, self.span.inwards(gradient), trans="T", check_finite=False))


def lengths(R: Array) -> Array:
    """Euclidean norms of the columns, without squares that overflow or vanish."""
    largest = np.abs(R).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return np.asarray(unit * np.linalg.norm(R / unit, axis=0))
