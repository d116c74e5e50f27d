"""Symmetric systems by Cholesky, where that is accurate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, lapack

from mercer._threads import blas_for

Array = NDArray[Any]

#: reciprocal condition number down to which a solution has ten digits
WELL_CONDITIONED = 1e-5
#: squares outside of these bounds may have lost digits to underflow, or be close to overflow
SMALLEST_SQUARE, LARGEST_SQUARE = 1e-290, 1e300


@dataclass(frozen=True, eq=False)
class Factored:
    """A = scale · L Lᵀ · scale."""

    scale: Array
    lower: Array

    def solve(self, right: Array) -> Array:
        """A⁻¹ right."""
        scale = self.scale[:, None]
        return np.asarray(cho_solve((self.lower, True), right / scale, check_finite=False) / scale)

    @property
    def root(self) -> Array:
        """Upper triangle R with RᵀR = A."""
        return self.lower.T * self.scale


def factored(matrix: Array) -> Factored | None:
    """The Cholesky factor of a matrix, or None where a solution would have fewer than ten digits.

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
    return Factored(scale, lower) if reciprocal > WELL_CONDITIONED else None


def raised(matrix: Array, amount: float) -> Array:
    """With a number added to its diagonal."""
    if amount == 0:
        return matrix
    higher = matrix.copy()
    np.einsum("ii->i", higher)[...] += amount
    return higher
