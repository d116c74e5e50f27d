"""Least squares with more rows than columns: from XᵀX, or where that is ill-conditioned, from the triangle of X."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from mercer._errors import NonFiniteError
from mercer._threads import blas_for
from mercer.solvers._cholesky import factored, raised
from mercer.solvers._fit import NOT_FINITE, LinearFit, closed_form
from mercer.solvers._refine import EPS, Refinement
from mercer.solvers._rows import Rows
from mercer.solvers._triangle import Penalised, Span, lengths
from mercer.solvers.certificate import Solution
from mercer.stats.normal_equations import NormalEquations
from mercer.stats.r_factor import RFactor

Array = NDArray[Any]

#: condition number, columns scaled to unit length, up to which a QR factorisation has ten digits by itself
HEALTHY = 100.0


def by_normal_equations(sums: NormalEquations, alpha: Array, *, intercept: bool) -> Solution | None:
    """By Cholesky; None where that is not accurate."""
    if not np.isfinite(sums.moments.offset).all():
        raise NonFiniteError(NOT_FINITE)
    if not sums.finite:  # squares are too large, values are not
        return None
    gram, moment, squares = sums.products(centred=intercept)
    coefficients, left = np.empty_like(moment), np.empty(len(alpha))
    roots = {}
    for strength in np.unique(alpha):
        factor = factored(raised(gram, strength))
        if factor is None:
            return None
        which = alpha == strength
        w = coefficients[:, which] = factor.solve(moment[:, which])
        left[which] = _length(factor.root, moment[:, which] - gram @ w - strength * w)
        roots[strength] = factor.root
    size = np.sqrt(squares) + np.sqrt(np.diagonal(gram)) @ np.abs(coefficients)
    certificate = closed_form(left, size, "Cholesky factorisation")
    if not certificate.holds:
        return None
    x, y = sums.mean
    level = y - x @ coefficients if intercept else np.zeros(len(alpha))
    fit = LinearFit(coefficients, level, "normal equations by Cholesky", roots[alpha[0]], rank=len(gram))
    return Solution(fit, certificate, ())


def _length(root: Array, gradient: Array) -> Array:
    return lengths(solve_triangular(root, gradient, trans="T", check_finite=False))


def by_triangle(rows: Rows, alpha: Array, *, intercept: bool) -> Solution:
    """By the triangle of a QR factorisation, found block by block, and refined."""
    factor = rows.summarised(RFactor)
    if not factor.finite:
        raise NonFiniteError(NOT_FINITE)
    with blas_for(rows.shape[1]):
        return _of_factor(rows, factor, alpha, intercept=intercept)


def _of_factor(rows: Rows, factor: RFactor, alpha: Array, *, intercept: bool) -> Solution:
    R, z, rest = factor.triangle(centred=intercept)
    span = Span.of(R, still(factor, centred=intercept), rows.precision)
    refine = span.condition > HEALTHY
    coefficients, level, left = np.empty((R.shape[1], len(alpha))), np.empty(len(alpha)), np.empty(len(alpha))
    roots = {}
    for strength in np.unique(alpha).tolist():
        which = alpha == strength
        penalised = Penalised.of(R, z[:, which], strength, span)
        part = Refinement(
            Rows(rows.X, rows.Y[:, which], rows.weight), factor.only(which), penalised, strength, intercept
        )
        refined = part.run(R, z[:, which]) if refine else part.unrefined(R, z[:, which])
        coefficients[:, which], level[which], left[which] = refined
        roots[strength] = penalised.root if span.basis is None else R
    size = lengths(np.concatenate([z, rest])) + lengths(R) @ np.abs(coefficients)
    path = "QR factorisation by blocks (TSQR)"
    path = f"{path}, refined with gradients of twice the digits" if refine else path
    fit = LinearFit(
        coefficients,
        level,
        path,
        roots[alpha[0]],
        rank=span.rank,
        constant=span.constant,
        collinear=span.collinear,
    )
    return Solution(fit, closed_form(left, size, path), ())


def still(factor: RFactor, *, centred: bool) -> Array:
    """Lengths up to which columns vary by no more than rounding."""
    if not centred:
        return np.zeros(factor.n_columns)
    return np.asarray(4 * EPS * np.abs(factor.mean[0]) * np.sqrt(factor.weight))
