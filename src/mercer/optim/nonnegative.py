"""Least squares with nonnegative coefficients."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from mercer._errors import NonFiniteError
from mercer._typing import Array
from mercer.matrices import Observations
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.least_squares import WideLeastSquares, lengths, rounding_lengths, triangle_factor
from mercer.optim.linear_fit import CLOSED_FORM_TOLERANCE, NOT_FINITE, LinearFit, check_representable

#: path of coefficients by the active set method
ACTIVE_SET = "active set (NNLS) on the triangle of X"
#: path of coefficients for which that took too many steps
BOUNDED = f"{ACTIVE_SET}, which took too many steps, then L-BFGS-B"


def nonnegative_least_squares(
    rows: Observations, alpha: Array, *, intercept: bool, most_steps: int | None = None
) -> Solution:
    """Minimise Σ weight (y − X w − b)² + alpha ‖w‖² over w ≥ 0, for each target; see `least_squares`.

    The active set method of Lawson and Hanson is applied to the triangle R of X, since ‖X w − y‖ and ‖R w − z‖ differ
    by a constant. If it needs more than `most_steps`, as many steps of L-BFGS-B replace it, and the certificate has the
    remaining violation.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # overflow raises an error below
        A, y, mean, rounding = _reduce_rows(rows, intercept)
        size, largest = lengths(A), np.abs(y).max(axis=0, initial=0.0)
        if not (np.isfinite(size).all() and np.isfinite(largest).all()):
            raise NonFiniteError(NOT_FINITE)
        # lengths of subnormal numbers, which have few digits and no reciprocals, count as 0
        size = np.where(size <= np.maximum(rounding, np.finfo(float).tiny), 0.0, size)
        A = np.where(size > 0, A, 0.0)
        w, worst, path = np.empty((A.shape[1], rows.targets)), 0.0, ACTIVE_SET
        for k, strength in enumerate(alpha.tolist()):
            stacked, unit = _scale_to_unit_length(A, size, strength)
            target = np.concatenate([y[:, k] / (largest[k] or 1.0), np.zeros(len(stacked) - len(A))])
            scaled, found_by = _solve_target(stacked, target, most_steps)
            path = path if found_by == ACTIVE_SET else found_by
            worst = max(worst, _largest_violation(stacked, target, scaled))
            w[:, k] = scaled * largest[k] / unit
        certificate = Certificate(
            "KKT",
            worst,
            CLOSED_FORM_TOLERANCE,
            "largest violation of the optimality conditions of w ≥ 0, as a part of y",
        )
        x, level = mean
        return check_representable(Solution(LinearFit(w, level - x @ w, path), certificate))


def _scale_to_unit_length(A: Array, size: Array, strength: float) -> tuple[Array, Array]:
    """Return the columns of A with the rows √strength of the penalty below, scaled to length 1, and their lengths.

    `size` has the lengths of the columns of A. A column whose length has no reciprocal is not scaled.
    """
    unit = np.hypot(size, np.sqrt(strength))
    unit = np.where(unit < np.finfo(float).tiny, 1.0, unit)
    return (np.concatenate([A / unit, np.diag(np.sqrt(strength) / unit)]) if strength else A / unit), unit


def _reduce_rows(rows: Observations, intercept: bool) -> tuple[Array, Array, tuple[Array, Array], Array]:
    """Return a matrix and targets with few rows and the same solution, the means, and the lengths that are rounding."""
    n, d = rows.shape
    if n <= d:
        wide = WideLeastSquares.of(rows, intercept=intercept)
        return wide.whole(), wide.y, wide.mean, np.zeros(d)
    factor = triangle_factor(rows)
    if not factor.finite:
        raise NonFiniteError(NOT_FINITE)
    R, z, _ = factor.triangle(centred=intercept)
    mean = factor.mean if intercept else (np.zeros(d), np.zeros(rows.targets))
    return R, z, mean, rounding_lengths(factor, centred=intercept)


def _solve_target(A: Array, y: Array, most_steps: int | None) -> tuple[Array, str]:
    """Return the coefficients for columns of unit length, and the path."""
    try:
        return np.asarray(optimize.nnls(A, y, maxiter=most_steps)[0]), ACTIVE_SET
    except RuntimeError:  # too many steps
        gram, moment = A.T @ A, A.T @ y
        found = optimize.fmin_l_bfgs_b(
            lambda w: (0.5 * w @ gram @ w - moment @ w, gram @ w - moment),
            np.zeros(len(moment)),
            bounds=[(0, None)] * len(moment),
            maxiter=most_steps or 15_000,
        )
        return np.asarray(found[0]), BOUNDED


def _largest_violation(A: Array, y: Array, w: Array) -> float:
    """Return the largest violation of optimality as a portion of ‖y‖, for columns of unit length."""
    gradient = A.T @ (y - A @ w)
    wrong = np.where(w > 0, np.abs(gradient), np.maximum(gradient, 0.0))
    return float(np.max(wrong, initial=0.0) / (np.linalg.norm(y) or 1.0))
