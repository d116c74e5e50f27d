"""Symmetric systems by Cholesky, where that is accurate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.solvers.least_squares._triangle import lengths

#: reciprocal condition number down to which a solution has ten digits, and down to which it has a few to build upon
WELL_CONDITIONED, REFINABLE = 1e-5, 1e-12
#: squares outside of these bounds may have lost digits to underflow, or be close to overflow
SMALLEST_SQUARE, LARGEST_SQUARE = 1e-290, 1e300


@dataclass(frozen=True, eq=False)
class Factored:
    """A = scale · L Lᵀ · scale, and an estimate of the reciprocal condition number of L Lᵀ."""

    scale: Array
    lower: Array
    reciprocal: float

    @property
    def accurate(self) -> bool:
        """Whether a solution has ten digits."""
        return self.reciprocal > WELL_CONDITIONED

    def correction(self, gradient: Array) -> Array:
        """A⁻¹ gradient."""
        scale = self.scale[:, None]
        return np.asarray(lapack.dpotrs(self.lower, gradient / scale, lower=1)[0] / scale)

    def length(self, gradient: Array) -> Array:
        """√(gᵀA⁻¹g) of each column."""
        return lengths(lapack.dtrtrs(self.lower, gradient / self.scale[:, None], lower=1)[0])

    @property
    def root(self) -> Array:
        """Upper triangle R with RᵀR = A."""
        return self.lower.T * self.scale


def factored(matrix: Array, smallest: float = WELL_CONDITIONED) -> Factored | None:
    """The Cholesky factor of a matrix; None where its reciprocal condition number is not above `smallest`.

    Rows and columns are scaled to a diagonal of ones first: units do not decide what is ill-conditioned.
    """
    squares = np.diagonal(matrix)
    if not ((squares > SMALLEST_SQUARE) & (squares < LARGEST_SQUARE)).all():
        return None
    scale = np.sqrt(squares)
    scaled = matrix / scale[:, None]
    scaled /= scale
    norm = np.abs(scaled).sum(axis=0).max(initial=0.0)
    with blas_for(len(scale)):
        # transposed it is the same matrix, in the order that LAPACK takes without a copy
        lower, failed = lapack.dpotrf(scaled.T, lower=1, clean=1, overwrite_a=1)
        if failed:
            return None
        reciprocal, _ = lapack.dpocon(lower, norm, uplo="L")
    return Factored(scale, lower, float(reciprocal)) if reciprocal > smallest else None


def raised(matrix: Array, amount: float) -> Array:
    """With a number added to its diagonal."""
    if amount == 0:
        return matrix
    higher = matrix.copy()
    np.einsum("ii->i", higher)[...] += amount
    return higher
