"""What a direct solution of least squares consists of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._errors import NonFiniteError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.optim.certificate import Certificate, Solution

#: how large a part of what was added up a solution may leave unexplained though it could explain it
TOLERANCE = 1e-10
NOT_FINITE = (
    "the data are not finite, or too large for float64 to hold their sums or the coefficients; divide the largest "
    "columns by a number."
)


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Coefficients, and what was found out about the columns on the way."""

    coefficients: Array  # (columns, targets)
    intercept: Array  # (targets,)
    path: str
    #: R with RᵀR = XᵀX + alpha (of the first target), X about its means where there is an intercept
    root: Array | None = None
    #: singular values of that X, where they were needed
    values: Array | None = None
    rank: int | None = None
    #: columns without variation, and columns that are linear combinations of one another
    constant: tuple[int, ...] = ()
    collinear: tuple[int, ...] = ()

    def singular_values(self) -> Array:
        """Of X, where nothing was penalised."""
        if self.values is not None or self.root is None:
            return np.zeros(0) if self.values is None else self.values
        with blas_for(self.root.shape[1]):
            return np.asarray(np.linalg.svd(self.root, compute_uv=False))


def check_representable(solution: Solution) -> Solution:
    """The solution, if its coefficients are numbers."""
    fit: LinearFit = solution.value
    if not (np.isfinite(fit.coefficients).all() and np.isfinite(fit.intercept).all()):
        raise NonFiniteError(NOT_FINITE)
    return solution


def closed_form_certificate(unexplained: Array, size: Array, how: str, left_out: Array) -> Certificate:
    """Of the length of what is left of the gradient of each target.

    `size` is ‖y‖ + Σ ‖column‖ |coefficient|: rounding the coefficients alone leaves a portion ε of it. `left_out` is
    the length of what is left along directions that were left out as the rounding of float32 columns.
    """
    size = np.where(size > 0, size, 1.0)
    worst = float(np.max(unexplained / size, initial=0.0))
    worst = np.inf if np.isnan(worst) else worst  # what overflowed was not looked at, and proves nothing
    sentence = f"the normal equations are solved by {how}; they hold to {worst:.1g} of what is added up in them"
    missing = float(np.max(left_out / size, initial=0.0))
    if missing:
        sentence += f", and to {missing:.1g} along directions in which float32 columns vary by rounding alone"
    return Certificate("closed form", worst + missing, TOLERANCE + missing, sentence)
