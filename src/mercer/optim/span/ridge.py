"""Kernel ridge regression: (K + alpha W⁻¹) a = y (lecture 1), certified by the residual.

`kernel_ridge` chooses:

* few rows: Cholesky, in place of K (`solve_by_cholesky`);
* many rows and few features of the kernel: ridge regression on the features (`solve_by_features`);
* many rows, if conjugate gradients are expected to be faster than Cholesky: conjugate gradients with half of K, or if
  that does not fit in memory, with the tiles of K that fit and the others recomputed in each step (`span.steps`);
* if S K S + alpha is singular or indefinite: least squares by eigenvalues (`solve_by_least_squares`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack

from mercer._memory import MAX_MEMORY_SHARE, available_bytes, check_memory
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.matrices import observations_of
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.least_squares import least_squares
from mercer.optim.span.spectrum import Eigenvalues, decompose_kernel
from mercer.optim.span.steps import (
    BYTES_PER_PIVOT,
    ROWS_PER_PIVOT,
    STEP_VECTORS,
    RidgeSteps,
    solve_beyond_memory,
    solve_by_steps,
)
from mercer.optim.span.system import FEWER_ROWS_REMEDY, FeatureGram, RidgeSystem

#: bound for the relative residual
RIDGE_TOLERANCE = 1e-8
#: relative residual at which iterations stop
RIDGE_AIM = 1e-9
#: rows from which on conjugate gradients are tried
MANY_KERNEL_ROWS = 2000
#: relative residual that is rounding, and not reduced by corrections
RIDGE_ROUNDING = 1e-13
#: number of corrections
MAX_CORRECTIONS_OF_RIDGE = 3
#: smallest number of pivots if the matrix does not fit in memory: with fewer, too many steps are needed
FEWEST_PIVOTS = 20
#: right-hand side ↦ approximate solution c
Correction = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class DualFit:
    """Coefficients a of the rows, (n, targets), and the path to them; `singular` if by least squares."""

    coefficients: Array
    path: str
    singular: bool = False


def kernel_ridge(system: RidgeSystem, alpha: Array, *, many_rows: int = MANY_KERNEL_ROWS) -> Solution:
    """Solve for a `DualFit`.

    Parameters
    ----------
    system : RidgeSystem
        The equations.
    alpha : array of shape (targets,)
        The penalty of each target.
    many_rows : int
        Rows from which on features and conjugate gradients are tried.

    Raises
    ------
    TooLargeError
        Before allocating more than the free memory.
    """
    system, alpha = _scale_weights(system, alpha)
    if len(system) >= many_rows:
        if (by_columns := solve_by_features(system, alpha)) is not None:
            return by_columns
        steps = _try_steps(system, alpha, many_rows)
        if steps is not None:
            return _steps_solution(system, steps)
    check_memory(8.0 * len(system) ** 2, _describe(len(system)), FEWER_ROWS_REMEDY)
    return solve_by_cholesky(system, alpha) or solve_by_least_squares(system, alpha)


def _scale_weights(system: RidgeSystem, alpha: Array) -> tuple[RidgeSystem, Array]:
    """Return the equations divided by a power of 4 near the root of the largest weight, exactly, against overflow."""
    heaviest = 0.0 if system.weight is None else float(system.weight.max(initial=0.0))
    if system.weight is None or not 0 < heaviest < np.inf:
        return system, alpha
    unit = 4.0 ** np.floor(np.log2(heaviest) / 2)
    return replace(system, weight=system.weight / unit), alpha / unit


def _try_steps(system: RidgeSystem, alpha: Array, many_rows: int) -> RidgeSteps | None:
    n = len(system)
    steps = solve_by_steps(system, alpha, RIDGE_AIM) if has_room(bytes_needed(n, many_rows=many_rows)) else None
    if steps is not None or has_room(8.0 * n**2):
        return steps
    check_memory(bytes_at_least(n, alpha.size, many_rows=many_rows), _describe(n), FEWER_ROWS_REMEDY)
    return solve_beyond_memory(system, alpha, RIDGE_AIM)


def has_room(needed: float) -> bool:
    """Return whether that many bytes are free."""
    return needed <= MAX_MEMORY_SHARE * available_bytes()


def bytes_needed(rows: int, *, many_rows: int = MANY_KERNEL_ROWS) -> float:
    """Return the memory of the fastest fit: a square for Cholesky, or half of one in float32 and the pivots."""
    return 8.0 * rows**2 if rows < many_rows else 2.0 * rows**2 + BYTES_PER_PIVOT * rows**2 / ROWS_PER_PIVOT


def bytes_at_least(rows: int, targets: int = 1, *, many_rows: int = MANY_KERNEL_ROWS) -> float:
    """Return the memory of the smallest fit: a square for few rows, else the vectors of the steps and some pivots."""
    if rows < many_rows:
        return 8.0 * rows**2
    return 8.0 * STEP_VECTORS * rows * targets + BYTES_PER_PIVOT * rows * FEWEST_PIVOTS


def solve_by_features(system: RidgeSystem, alpha: Array) -> Solution | None:
    """Solve by ridge regression on the features of the kernel, with a = (y − ψw)/alpha (lecture 1).

    Return None if there are many features, or if y − ψw is too small to determine a.
    """
    features = system.features() if (alpha > 0).all() else None
    if features is None:
        return None
    root = np.ones((len(system), 1)) if system.root is None else system.root[:, None]

    def correct(right: Array) -> Array:
        y = right / root
        w = least_squares(observations_of(features, y, system.weight), alpha, intercept=False).coef.coefficients
        return np.asarray(root * (y - features @ w) / alpha)

    c, error = refine(system, alpha, correct, FeatureGram(features))
    fit = DualFit(system.apply_roots(c), f"ridge regression on {features.shape[1]} features of the kernel")
    return Solution(fit, residual_certificate(error)) if error <= RIDGE_AIM else None


def solve_by_cholesky(system: RidgeSystem, alpha: Array) -> Solution | None:
    """Solve by a Cholesky factor for each penalty; None if there is none, or if it is not accurate."""
    c, errors = np.empty_like(system.Y), []
    for strength in np.unique(alpha):
        of = alpha == strength
        correct = _factor(system, float(strength))
        if correct is None:
            return None
        c[:, of], error = refine(replace(system, Y=system.Y[:, of]), alpha[of], correct)
        errors.append(error)
    fit = DualFit(system.apply_roots(c), "a Cholesky factor")
    return Solution(fit, residual_certificate(max(errors))) if max(errors) <= RIDGE_TOLERANCE else None


def _factor(system: RidgeSystem, alpha: float) -> Correction | None:
    square = system.triangle()
    np.einsum("ii->i", square)[...] += alpha
    with blas_for(len(square)):
        # in the memory order of LAPACK, the lower triangle is the upper one
        upper, failed = lapack.dpotrf(square.T, lower=0, clean=0, overwrite_a=1)
    return None if failed else partial(_solve_upper, upper)


def _solve_upper(upper: Array, right: Array) -> Array:
    with blas_for(len(upper)):
        return np.asarray(lapack.dpotrs(upper, right, lower=0)[0])


def solve_by_least_squares(system: RidgeSystem, alpha: Array) -> Solution:
    """Return the shortest least squares solution, by the eigenvalues that are above rounding."""
    spectrum = decompose_kernel(system)
    values = spectrum.values[:, None] + alpha
    size = np.abs(values).max(axis=0)
    felt = np.abs(values) > len(values) * np.finfo(float).eps * size
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=felt)
    c, error = refine(system, alpha, lambda right: spectrum.vectors @ (inverse * (spectrum.vectors.T @ right)))
    fit = DualFit(system.apply_roots(c), "least squares by eigenvalues, since the matrix is singular", singular=True)
    if error <= RIDGE_TOLERANCE:
        return Solution(fit, residual_certificate(error))
    _, residual = system.compute_residual(c, alpha)
    slope = np.linalg.norm(system.matvec(residual) + alpha * residual, axis=0)
    length = size * np.linalg.norm(system.right, axis=0)
    sentence = f"A(Ac − y) / (‖A‖‖y‖) of least squares, where A is singular; {error:.2g} of y is left over"
    value = float(np.max(slope / np.where(length > 0, length, 1.0)))
    return Solution(fit, Certificate("gradient norm", value, RIDGE_TOLERANCE, sentence))


def solve_by_eigenvalues(system: RidgeSystem, alpha: Array, spectrum: Eigenvalues) -> Solution:
    """Solve by eigenvalues that are known already."""
    values = spectrum.values[:, None] + alpha
    c, error = refine(system, alpha, lambda right: spectrum.vectors @ ((spectrum.vectors.T @ right) / values))
    return Solution(DualFit(system.apply_roots(c), "eigenvalues of the kernel matrix"), residual_certificate(error))


def refine(system: RidgeSystem, alpha: Array, correct: Correction, K: Any = None) -> tuple[Array, float]:
    """Return c, corrected while that reduces the residual, and the relative residual; K may replace the system's."""
    c = correct(system.right)
    error, residual = system.compute_residual(c, alpha, K)
    for _ in range(MAX_CORRECTIONS_OF_RIDGE):
        if error <= RIDGE_ROUNDING:
            break
        better = c + correct(residual)
        smaller, rest = system.compute_residual(better, alpha, K)
        if not smaller < error:
            break
        c, error, residual = better, smaller, rest
    return c, error


def residual_certificate(error: float, tolerance: float = RIDGE_TOLERANCE) -> Certificate:
    """Return the certificate of a relative residual."""
    return Certificate("gradient norm", error, tolerance, "‖(K + alpha)a − y‖ / ‖y‖, with √weights if there are any")


def _steps_solution(system: RidgeSystem, steps: RidgeSteps) -> Solution:
    certificate = residual_certificate(steps.error)
    fit = DualFit(system.apply_roots(steps.value), steps.path)
    if steps.interrupted:
        return Solution(fit, certificate.after_interruption(), interrupted=True)
    return Solution(fit, certificate)


def _describe(rows: int) -> str:
    return f"an exact kernel ridge regression of {rows:,} rows"
