"""The result of a direct solution of least squares, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._errors import NonFiniteError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.optim.certificate import Certificate, Solution

#: bound for the residual of the normal equations, as a portion of the terms that are summed in them
CLOSED_FORM_TOLERANCE = 1e-10
#: message for values or sums that are not finite
NOT_FINITE = (
    "the data are not finite, or too large for float64 to hold their sums or the coefficients; divide the largest "
    "columns by a number."
)


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Coefficients, with the rank and the factorisation of the columns."""

    coefficients: Array  # (columns, targets)
    intercept: Array  # (targets,)
    path: str
    #: R with RᵀR = XᵀX + alpha (of the first target), X about its means where there is an intercept
    root: Array | None = None
    #: singular values of that X, if they were computed
    values: Array | None = None
    rank: int | None = None
    #: columns without variation
    constant: tuple[int, ...] = ()
    #: columns that are linear combinations of one another
    collinear: tuple[int, ...] = ()

    def singular_values(self) -> Array:
        """Return the singular values of X, if nothing was penalised."""
        if self.values is not None or self.root is None:
            return np.zeros(0) if self.values is None else self.values
        with blas_for(self.root.shape[1]):
            return np.asarray(np.linalg.svd(self.root, compute_uv=False))


def check_representable(solution: Solution) -> Solution:
    """Return the solution; raise `NonFiniteError` if its coefficients are not finite."""
    fit: LinearFit = solution.coef
    if not (np.isfinite(fit.coefficients).all() and np.isfinite(fit.intercept).all()):
        raise NonFiniteError(NOT_FINITE)
    return solution


def closed_form_certificate(unexplained: Array, size: Array, how: str, left_out: Array) -> Certificate:
    """Return the certificate of the normal equations, given the lengths of the gradients in the space of y.

    Parameters
    ----------
    unexplained : array of shape (targets,)
        √(gᵀ(XᵀX + alpha)⁻¹g).
    size : array of shape (targets,)
        ‖y‖ + Σ ‖column‖ |coefficient|: rounding of the coefficients alone leaves a portion ε of it.
    how : str
        The method.
    left_out : array of shape (targets,)
        Length of the residual along directions that were left out as rounding of float32 columns.
    """
    size = np.where(size > 0, size, 1.0)
    worst = float(np.max(unexplained / size, initial=0.0))
    worst = np.inf if np.isnan(worst) else worst  # an overflow proves nothing
    sentence = f"the normal equations are solved by {how}; they hold to {worst:.1g} of what is added up in them"
    missing = float(np.max(left_out / size, initial=0.0))
    if missing:
        sentence += f", and to {missing:.1g} along directions in which float32 columns vary by rounding alone"
    return Certificate("closed form", worst + missing, CLOSED_FORM_TOLERANCE + missing, sentence)
