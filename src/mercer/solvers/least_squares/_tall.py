"""Least squares with more rows than columns: from XᵀX, or where that is ill-conditioned, from the triangle of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import NonFiniteError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.solvers.certificate import Solution
from mercer.solvers.least_squares._cholesky import REFINABLE, Factored, factored, raised
from mercer.solvers.least_squares._refine import EPS, Centre, Refined, Refinement
from mercer.solvers.least_squares._triangle import DATA_ROUNDING, Penalised, Span, lengths
from mercer.solvers.least_squares.fit import NOT_FINITE, TOLERANCE, LinearFit, closed_form
from mercer.solvers.least_squares.rows import Rows
from mercer.stats.normal_equations import NormalEquations, Products
from mercer.stats.r_factor import RFactor, Triangle

#: condition number, columns scaled to unit length, up to which a QR factorisation has ten digits by itself
HEALTHY = 100.0


def by_normal_equations(
    rows: Rows, alpha: Array, *, intercept: bool, sums: NormalEquations | None = None
) -> Solution | None:
    """By Cholesky, refined where that gains the digits that squares have lost; None where they are too few for it.

    `sums` is the statistic of the rows, where it is known already.
    """
    sums = sums or rows.summarised(NormalEquations)
    if not np.isfinite(sums.moments.offset).all():
        raise NonFiniteError(NOT_FINITE)
    if not sums.finite:  # squares are too large, values are not
        return None
    products = sums.products(centred=intercept)
    squares = np.diagonal(products.gram)
    if not alpha.all() and (squares <= _rounding_of_squares(sums, centred=intercept)).any():
        return None  # nothing but a penalty tells the coefficient of a constant column
    factors = _factors(products.gram, alpha, rows.precision)
    if factors is None:
        return None
    refine = not all(factor.accurate for factor in factors.values())
    centre = Centre.of(sums, intercept=intercept)
    fit = _Fit(rows, alpha, centre)
    for strength, factor in factors.items():
        which = alpha == strength
        part = _solved(products, factor, strength, which, centre)
        if refine:
            part = fit.refinement(which, factor, strength).run(part.coefficients)
            if not _has_ten_digits(part, factor):
                return None
        fit.put(which, part)
    path = "normal equations by Cholesky" + f", refined with {rows.gradients}" * refine
    size = np.sqrt(products.squares) + np.sqrt(squares) @ np.abs(fit.coefficients)
    solution = fit.solution(path, size, root=factors[alpha[0]].root, rank=len(squares))
    return solution if solution.certificate.holds else None


def _factors(gram: Array, alpha: Array, precision: float) -> dict[float, Factored] | None:
    """Of XᵀX + alpha for each penalty; None if one of them is too ill-conditioned, or columns may be dependent."""
    smallest = max(REFINABLE, len(gram) * (DATA_ROUNDING * precision) ** 2)
    factors = {}
    for strength in dict.fromkeys(alpha.tolist()):
        factor = factored(raised(gram, strength), smallest)
        if factor is None:
            return None
        factors[strength] = factor
    return factors


def _solved(products: Products, factor: Factored, strength: float, which: Array, centre: Centre) -> Refined:
    moment = products.moment[:, which]
    w = factor.correction(moment)
    return centre.only(which).refined(w, factor.length(moment - products.gram @ w - strength * w))


def _has_ten_digits(part: Refined, factor: Factored) -> bool:
    """Whether what is left of the gradient moves no coefficients by more, even in the direction that is told worst."""
    size = lengths(factor.scale[:, None] * part.coefficients)
    return bool((part.length <= TOLERANCE * np.sqrt(factor.reciprocal) * size).all())


def by_triangle(rows: Rows, alpha: Array, *, intercept: bool) -> Solution:
    """By the triangle of a QR factorisation, found block by block, and refined."""
    rows = rows.one_by_one()
    factor = rows.summarised(RFactor)
    if not factor.finite:
        raise NonFiniteError(NOT_FINITE)
    with blas_for(rows.shape[1]):
        return _of_factor(rows, factor, alpha, intercept=intercept)


def _of_factor(rows: Rows, factor: RFactor, alpha: Array, *, intercept: bool) -> Solution:
    triangle = factor.triangle(centred=intercept)
    span = Span.of(triangle.R, still(factor, centred=intercept), rows.precision)
    refine = span.condition > HEALTHY
    fit = _Fit(rows, alpha, Centre.of(factor, intercept=intercept))
    roots = {}
    for strength in dict.fromkeys(alpha.tolist()):
        which = alpha == strength
        penalised = Penalised.of(triangle.R, triangle.z[:, which], strength, span)
        part = _unrefined(triangle, penalised, strength, which, fit.centre)
        if refine:
            refined = fit.refinement(which, penalised, strength).run(part.coefficients)
            part = refined if np.isfinite(refined.length).all() else part  # as it is, where gradients overflow
        fit.put(which, part)
        roots[strength] = penalised.root if span.basis is None else triangle.R
    path = "QR factorisation by blocks (TSQR)" + f", refined with {rows.gradients}" * refine
    size = lengths(np.concatenate([triangle.z, triangle.rest])) + lengths(triangle.R) @ np.abs(fit.coefficients)
    left_out = lengths(span.doubtful @ (triangle.z - triangle.R @ fit.coefficients))
    known = {"rank": span.rank, "constant": span.constant, "collinear": span.collinear}
    return fit.solution(path, size, left_out=left_out, root=roots[alpha[0]], **known)


def _unrefined(triangle: Triangle, penalised: Penalised, strength: float, which: Array, centre: Centre) -> Refined:
    w = penalised.coefficients
    gradient = triangle.R.T @ (triangle.z[:, which] - triangle.R @ w) - strength * w
    return centre.only(which).refined(w, penalised.length(gradient))


class _Fit:
    """The coefficients of all targets, as they are found penalty by penalty."""

    def __init__(self, rows: Rows, alpha: Array, centre: Centre) -> None:
        self.rows, self.centre = rows, centre
        self.coefficients = np.empty((rows.shape[1], len(alpha)))
        self._intercept, self._left = np.empty((2, len(alpha)))

    def refinement(self, which: Array, system: Any, strength: float) -> Refinement:
        return Refinement(self.rows.only(which), self.centre.only(which), system, strength)

    def put(self, which: Array, part: Refined) -> None:
        self.coefficients[:, which], self._intercept[which], self._left[which] = part

    def solution(self, path: str, size: Array, *, left_out: Array | None = None, **known: Any) -> Solution:
        missing = np.zeros_like(size) if left_out is None else left_out
        certificate = closed_form(self._left, size, path.removeprefix("normal equations by "), missing)
        return Solution(LinearFit(self.coefficients, self._intercept, path, **known), certificate, ())


def _rounding_of_squares(sums: NormalEquations, *, centred: bool) -> Array:
    """Squares of columns that vary by no more than rounding; where rows that weigh lie far from the pilot, by sums."""
    lost = 4 * EPS * sums.weight * np.square(sums.moments.offset[0, : sums.n_columns]) if centred else 0.0
    return np.maximum(np.square(still(sums, centred=centred)), lost)


def still(summary: NormalEquations | RFactor, *, centred: bool) -> Array:
    """Lengths up to which columns vary by no more than rounding."""
    if not centred:
        return np.zeros(summary.n_columns)
    return np.asarray(4 * EPS * np.abs(summary.mean[0]) * np.sqrt(summary.weight))
