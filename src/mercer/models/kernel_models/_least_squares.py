"""Least squares with a kernel and an intercept that is not penalised, by the equations of kernel ridge regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import FitInterrupted
from mercer._typing import Array
from mercer.kernels import Kernel
from mercer.solvers.certificate import Solution
from mercer.solvers.span.kernel_newton import Expansion
from mercer.solvers.span.kernel_ridge import DualFit, kernel_ridge, proof
from mercer.solvers.span.kernel_system import System


def least_squares(
    kernel: Kernel, X: Any, Y: Array, weight: Array | None, strengths: Array, *, intercept: bool
) -> tuple[Solution, str]:
    """min Σ weight (y − f − b)²/2 + λ/2 ‖f‖² for each target, and how it was found.

    (K + λW⁻¹) α = y − b with Σ α = 0: the equations are solved for y and for a target of ones, by which b is found.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the solution so far.
    """
    unit = powers_of_2(Y)  # sums of the largest numbers are none
    level = np.average(Y / unit, axis=0, weights=weight) if intercept else np.zeros(Y.shape[1])
    scale = powers_of_2(Y / unit - level)
    centred = (Y / unit - level) / scale
    distinct, of = np.unique(strengths, return_inverse=True)
    ones = np.ones((len(Y), len(distinct))) if intercept else np.zeros((len(Y), 0))
    system = System.of(kernel, X, np.hstack([centred, ones]), weight)
    alphas = np.concatenate([strengths, distinct]) if intercept else strengths

    def told(fit: DualFit) -> Solution:
        alpha, b = fit.coefficients[:, : Y.shape[1]], np.zeros(Y.shape[1])
        if intercept:
            of_ones = fit.coefficients[:, Y.shape[1] :]
            b = alpha.sum(axis=0) / of_ones.sum(axis=0)[of]
            alpha = alpha - of_ones[:, of] * b
        bent = alpha if weight is None else alpha / weight[:, None]
        found = System(system.K, system.rough, centred - b, weight)
        error, _ = found.left_over(found.scaled(bent), strengths)
        values = ((centred - strengths * bent) * scale + level) * unit
        return Solution(Expansion(alpha * scale * unit, (b * scale + level) * unit, values), proof(error), ())

    try:
        solution = kernel_ridge(system, alphas)
    except FitInterrupted as stop:
        raise FitInterrupted(str(stop), told(stop.solution.value)) from None
    return told(solution.value), str(solution.value.path)


def powers_of_2(Y: Array) -> Array:
    """About as large as each column, so that nothing is rounded by it; 1 where there is nothing."""
    size = np.abs(Y).max(axis=0, initial=0.0)
    return np.asarray(np.exp2(np.floor(np.log2(np.where(size > 0, size, 1.0)))))
