"""The principal axes of a covariance, whatever the units of its columns."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from mercer._errors import SingularCovarianceError
from mercer._typing import Array
from mercer.families.collinear import cholesky

#: smallest part of the largest variance of a column at which an eigenvalue solver, whose errors are parts of the
#: largest, leaves the smallest half of its digits
UNEVEN = 1e-8


def principal_axes(covariance: Array) -> tuple[Array, Array]:
    """Variances along the principal axes, descending, and the axes in columns.

    Beside columns of much larger numbers a small one has digits of its own: Jacobi rotations of the Cholesky factor
    find every variance to a small part of itself (Drmač and Veselić, 2008).
    """
    variance = np.diagonal(covariance)
    if variance.min() < UNEVEN * variance.max():
        try:
            return _by_rotations(cholesky(covariance).T)
        except SingularCovarianceError:
            pass  # there is a variance of 0, to rounding
    variances, axes = np.linalg.eigh(covariance)
    return np.maximum(variances[::-1], 0.0), axes[:, ::-1]


def _by_rotations(factor: Array) -> tuple[Array, Array]:
    """Squared singular values and right vectors of a triangle B D, however uneven the diagonal D is."""
    columns_scaled, left_unwanted, right_wanted, whole_range = 0, 3, 0, 0  # LAPACK's "C", "N", "V", "N"
    deviations, _, axes, work, *_ = lapack.dgejsv(
        factor, joba=columns_scaled, jobu=left_unwanted, jobv=right_wanted, jobr=whole_range
    )
    return np.square(deviations * (work[0] / work[1])), axes
