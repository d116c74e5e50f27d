"""Eigenvalues of a kernel matrix, which give the leave-one-out errors of every penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from mercer._errors import NotPositiveDefiniteError
from mercer._memory import check_memory
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.matrices import as_matrix, observations_of
from mercer.optim.least_squares import WideLeastSquares
from mercer.optim.leave_one_out import WideSpectrum
from mercer.optim.span.system import FEWER_ROWS_REMEDY, RidgeSystem

#: memory of a decomposition in matrices: the matrix, which becomes the vectors, and two as work space
DECOMPOSITION_MATRICES = 3


@dataclass(frozen=True, eq=False)
class Eigenvalues:
    """S K S = vectors · values · vectorsᵀ."""

    system: RidgeSystem
    values: Array
    vectors: Array

    def leave_one_out(self) -> WideSpectrum:
        """Return the spectrum for leave-one-out errors, with S K S in place of X Xᵀ."""
        error = len(self.values) * np.finfo(float).eps * float(np.abs(self.values).max(initial=0.0))
        if self.values[0] < -10 * error:
            raise NotPositiveDefiniteError(
                f"the kernel matrix has the eigenvalue {self.values[0]:.3g}: it is not positive definite, and "
                "leave-one-out errors have no formula; give a positive definite kernel, or a fixed alpha and gamma."
            )
        system, n = self.system, len(self.system)
        root = np.ones((n, 1)) if system.root is None else system.root[:, None]
        wide = WideLeastSquares(as_matrix(system.Y), system.right, root, (np.zeros(0), np.zeros(system.Y.shape[1])))
        return WideSpectrum(
            observations_of(system.Y, system.Y, system.weight), wide, self.vectors, np.maximum(self.values, 0.0)
        )


def decompose_kernel(system: RidgeSystem) -> Eigenvalues:
    """Return the eigenvalues in ascending order."""
    n = len(system)
    check_memory(
        8.0 * DECOMPOSITION_MATRICES * n**2, f"the eigenvalues of the kernel matrix of {n:,} rows", FEWER_ROWS_REMEDY
    )
    square = system.triangle()
    with blas_for(n):
        values, vectors = eigh(square.T, lower=False, overwrite_a=True, check_finite=False, driver="evd")
    return Eigenvalues(system, values, vectors)
