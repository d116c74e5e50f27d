"""Least squares with certificates: min Σ weight (y − X w − b)² + alpha ‖w‖², b not penalised.

`least_squares` chooses among four direct ways, the cheapest that is accurate:

* more rows than columns: the normal equations, one pass over the rows, by Cholesky, refined if they are ill-conditioned
  (`solve_normal_equations`);
* if these are nearly singular, or overflow: the triangle of a QR factorisation, computed block by block, which reveals
  the rank, and is refined (`solve_by_triangle`);
* at least as many columns as rows, with a penalty: the same equations in the space of the rows, w = Xᵀα
  (`solve_by_kernel`);
* if these are ill-conditioned, or nothing is penalised: singular values (`solve_by_singular_values`).

If columns are linearly dependent and nothing is penalised, the solution is the shortest w. Wide sparse data are left to
`solve_by_conjugate_gradients`. `solve_least_squares` solves a `Problem` with squared losses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer._errors import NonFiniteError
from mercer._gpu import to_numpy
from mercer._threads import blas_for, ordered_map, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import rows_per_block
from mercer.families import IDENTITY, Gaussian
from mercer.families.multivariate import NEGLIGIBLE_COEFFICIENT
from mercer.matrices import Coordinates, Matrix, Observations, Tile, observations_of
from mercer.matrices.base import add_high_low
from mercer.matrices.cross_products import WIDE_TILE_BYTES
from mercer.optim.certificate import Solution
from mercer.optim.curvature import EPSILON
from mercer.optim.krylov import conjugate_gradient
from mercer.optim.linear_fit import (
    CLOSED_FORM_TOLERANCE,
    NOT_FINITE,
    LinearFit,
    check_representable,
    closed_form_certificate,
)
from mercer.optim.problem import Problem
from mercer.stats.base import silence_infinities
from mercer.stats.normal_equations import CrossProducts, NormalEquations, RFactor, Triangle

# The triangle R: rank, minimum norm, penalties, and the inverse of RᵀR

#: with columns scaled to unit length, relative singular values below d times this are rounding
TRIANGLE_ROUNDING = 64 * EPSILON
#: relative singular values below this many rounding errors of the data are rounding, too
DATA_ROUNDING = 4.0


@dataclass(frozen=True, eq=False)
class TriangleSpan:
    """The directions in which the columns vary: all, or those of `basis`."""

    rank: int
    #: orthonormal columns; None for all directions
    basis: Array | None
    #: ratio of the largest to the smallest singular value in the span, columns scaled to unit length
    condition: float
    #: columns without variation
    constant: tuple[int, ...]
    #: columns that are linear combinations of one another
    collinear: tuple[int, ...]
    #: orthonormal rows: images under R of directions in which the columns vary by rounding of the data only
    doubtful: Array

    @classmethod
    def of(cls, R: Array, still: Array, precision: float) -> TriangleSpan:
        """Find the rank of R; columns up to the length `still` are constant, and `precision` is that of the data.

        Columns are first scaled to unit length, so that the rank does not depend on units. The basis is orthonormal in
        the units of the data, so that a solution in it is the shortest.
        """
        d = R.shape[1]
        length = lengths(R)
        if not np.isfinite(length).all():
            raise NonFiniteError(NOT_FINITE)
        still = np.maximum(still, np.finfo(float).tiny)  # subnormal numbers have few digits and no reciprocals
        alive = np.flatnonzero(length > still)
        scale = length[alive]
        images, values, axes = np.linalg.svd(R[:, alive] / scale, full_matrices=True)
        largest = values.max(initial=0.0)
        rank = int(np.sum(values > max(d * TRIANGLE_ROUNDING, DATA_ROUNDING * precision) * largest))
        doubtful = images[:, rank : max(rank, int(np.sum(values > d * TRIANGLE_ROUNDING * largest)))].T
        condition = float(values[0] / values[rank - 1]) if rank else 1.0
        constant = tuple(np.flatnonzero(length <= still).tolist())
        if rank == d:
            return cls(rank, None, condition, constant, (), doubtful)
        without = axes[rank:].T  # (alive columns, directions without variation)
        collinear = tuple(alive[np.linalg.norm(without, axis=1) > NEGLIGIBLE_COEFFICIENT].tolist())
        complement, _ = np.linalg.qr(without * (scale.min(initial=np.inf) / scale)[:, None], mode="complete")
        basis = np.zeros((d, rank))
        basis[alive] = complement[:, without.shape[1] :]
        return cls(rank, basis, condition, constant, collinear, doubtful)

    def within(self, R: Array) -> Array:
        """Return R in the coordinates of the basis."""
        return R if self.basis is None else R @ self.basis

    def to_coefficients(self, v: Array) -> Array:
        """Return the coefficients for coordinates in the basis."""
        return v if self.basis is None else np.asarray(self.basis @ v)

    def to_basis(self, w: Array) -> Array:
        """Return the coordinates in the basis of coefficients, or of a gradient."""
        return w if self.basis is None else np.asarray(self.basis.T @ w)


@dataclass(frozen=True, eq=False)
class PenalisedTriangle:
    """The solution of min ‖R w − z‖² + alpha ‖w‖² within a span; rootᵀ root is RᵀR + alpha in its coordinates."""

    span: TriangleSpan
    root: Array
    coefficients: Array

    @classmethod
    def of(cls, R: Array, z: Array, alpha: float, span: TriangleSpan) -> PenalisedTriangle:
        A, r = span.within(R), span.rank
        if alpha > 0:
            A, z = np.concatenate([A, np.sqrt(alpha) * np.eye(r)]), np.concatenate([z, np.zeros((r, z.shape[1]))])
        Q, root = np.linalg.qr(A)
        return cls(span, root, span.to_coefficients(solve_triangular(root, Q.T @ z, check_finite=False)))

    def correction(self, gradient: Array) -> Array:
        """Return (RᵀR + alpha)⁻¹ gradient."""
        inner = solve_triangular(self.root, self.span.to_basis(gradient), trans="T", check_finite=False)
        return self.span.to_coefficients(solve_triangular(self.root, inner, check_finite=False))

    def length(self, gradient: Array) -> Array:
        """Return √(gᵀ(RᵀR + alpha)⁻¹g) of each column: the part of y that is still to be explained."""
        return lengths(solve_triangular(self.root, self.span.to_basis(gradient), trans="T", check_finite=False))


def lengths(R: Array) -> Array:
    """Return the Euclidean norms of the columns without overflow or underflow of squares."""
    largest = np.abs(R).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    return np.asarray(unit * np.linalg.norm(R / unit, axis=0))


# Symmetric systems by Cholesky

#: reciprocal condition number down to which a solution has ten digits
WELL_CONDITIONED = 1e-5
#: reciprocal condition number down to which a solution has a few digits, so that refinement converges
REFINABLE = 1e-12
#: squares below this may have lost digits to underflow
SMALLEST_SQUARE = 1e-290
#: squares above this may lead to overflow
LARGEST_SQUARE = 1e300


@dataclass(frozen=True, eq=False)
class ScaledCholesky:
    """A = scale · L Lᵀ · scale, and an estimate of the reciprocal condition number of L Lᵀ."""

    scale: Array
    lower: Array
    reciprocal: float

    @property
    def is_accurate(self) -> bool:
        """True if a solution has ten digits."""
        return self.reciprocal > WELL_CONDITIONED

    def correction(self, gradient: Array) -> Array:
        """Return A⁻¹ gradient."""
        scale = self.scale[:, None]
        return np.asarray(lapack.dpotrs(self.lower, gradient / scale, lower=1)[0] / scale)

    def length(self, gradient: Array) -> Array:
        """Return √(gᵀA⁻¹g) of each column."""
        return lengths(lapack.dtrtrs(self.lower, gradient / self.scale[:, None], lower=1)[0])

    @property
    def root(self) -> Array:
        """Return the upper triangle R with RᵀR = A."""
        return self.lower.T * self.scale


def factorise(matrix: Array, smallest: float = WELL_CONDITIONED) -> ScaledCholesky | None:
    """Return the Cholesky factor of a matrix; None if its reciprocal condition number is not above `smallest`.

    Rows and columns are first scaled to a diagonal of ones, so that the condition does not depend on units.
    """
    squares = np.diagonal(matrix)
    if not ((squares > SMALLEST_SQUARE) & (squares < LARGEST_SQUARE)).all():
        return None
    scale = np.sqrt(squares)
    scaled = matrix / scale[:, None]
    scaled /= scale
    norm = np.abs(scaled).sum(axis=0).max(initial=0.0)
    with blas_for(len(scale)):
        # the transpose is the same matrix, in the memory order that LAPACK needs
        lower, failed = lapack.dpotrf(scaled.T, lower=1, clean=1, overwrite_a=1)
        if failed:
            return None
        reciprocal, _ = lapack.dpocon(lower, norm, uplo="L")
    return ScaledCholesky(scale, lower, float(reciprocal)) if reciprocal > smallest else None


def add_to_diagonal(matrix: Array, amount: float) -> Array:
    """Return the matrix with `amount` added to its diagonal."""
    if amount == 0:
        return matrix
    higher = matrix.copy()
    np.einsum("ii->i", higher)[...] += amount
    return higher


# Iterative refinement

#: corrections after which no more digits are gained
MOST_CORRECTIONS = 4
#: a correction that is not smaller than the previous one by this factor consists of rounding errors
LEAST_PROGRESS = 0.5


class RefinedSystem(Protocol):
    """XᵀX + alpha, factorised."""

    def correction(self, gradient: Array) -> Array:
        """Return (XᵀX + alpha)⁻¹ gradient."""
        ...

    def length(self, gradient: Array) -> Array:
        """Return √(gᵀ(XᵀX + alpha)⁻¹g) of each column: the part of y that is still to be explained."""
        ...


class RefinedFit(NamedTuple):
    """Coefficients, the intercept, and the length of each target's remaining gradient in the space of y."""

    coefficients: Array  # (columns, targets)
    intercept: Array  # (targets,)
    length: Array  # (targets,)


@dataclass(frozen=True, eq=False)
class RefinementCentre:
    """A point near the means of x and y, and the offsets of the means from it; both 0 without an intercept."""

    pilot: tuple[Array, Array]
    offset: tuple[Array, Array]
    weight: float
    intercept: bool

    @classmethod
    def of(cls, summary: NormalEquations | RFactor, *, intercept: bool) -> Self:
        if isinstance(summary, RFactor):
            pilot, offset = summary.pilot, summary.R[0, 1:] / summary.R[0, 0]
        else:
            pilot, offset = summary.moments.pilot[0], summary.moments.offset[0]
        d = summary.n_columns
        pilot, offset = pilot * intercept, offset * intercept
        return cls((pilot[:d], pilot[d:]), (offset[:d], offset[d:]), summary.weight, intercept)

    def select_targets(self, targets: Array) -> Self:
        """Return the centre for some of the targets."""
        pilot, offset = ((x, y[targets]) for x, y in (self.pilot, self.offset))
        return type(self)(pilot, offset, self.weight, self.intercept)

    def level(self, w: Array) -> Array:
        """Return the intercept about the pilot."""
        return np.asarray(self.offset[1] - self.offset[0] @ w)

    def make_fit(self, w: Array, length: Array, level: Array | None = None) -> RefinedFit:
        """Return the fit with the intercept about zero."""
        level = self.level(w) if level is None else level
        return RefinedFit(w, self.pilot[1] + level - self.pilot[0] @ w, length)


@dataclass(frozen=True, eq=False)
class Refinement:
    """Iterative refinement for one penalty, with gradients in twice the working precision.

    A correction solves with a factor of XᵀX + alpha that needs only a digit or two: each correction gains as many
    digits as the factor has, until the coefficients have all of them (Björck 1987, "corrected semi-normal equations").
    """

    rows: Observations
    centre: RefinementCentre
    system: RefinedSystem
    alpha: float
    #: whether gradients have twice the working precision even where that is slow
    exact: bool = True

    def run(self, w: Array) -> RefinedFit:
        """Correct coefficients until no digits are gained; `length` is not finite if gradients overflow."""
        level = self.centre.level(w)
        best, shortest = (w, level), np.full(self.rows.targets, np.inf)
        for _ in range(MOST_CORRECTIONS):
            first, slope = self._gradient(w, level)
            length = self.system.length(slope)
            better = length < LEAST_PROGRESS * shortest
            if not better.any():
                break
            best = np.where(better, w, best[0]), np.where(better, level, best[1])
            shortest = np.where(better, length, shortest)
            step = self.system.correction(slope)
            w = w + step
            level = level + first - self.centre.offset[0] @ step
            if (np.abs(step) <= EPSILON * np.abs(w)).all():
                break
        return self.centre.make_fit(best[0], shortest, best[1])

    @silence_infinities
    def _gradient(self, w: Array, level: Array) -> tuple[Array, Array]:
        """Return the correction of the intercept for fixed w, and the gradient by w at the corrected intercept."""
        shift, v = np.concatenate(self.centre.pilot), np.concatenate([level[None], w])
        high, low = self.rows.fold(functools.partial(_residual_gradient, shift, v, self.exact), add_high_low)
        offset = self.centre.offset[0][:, None]
        slope = high[1:] - offset * high[0] + (low[1:] - offset * low[0])
        return high[0] / self.centre.weight * self.centre.intercept, slope - self.alpha * w


def _residual_gradient(shift: Array, v: Array, exact: bool, rows: Observations) -> tuple[Array, Array]:
    return rows.design.residual_gradient(rows.y, rows.weight, shift, v, exact=exact)


def normal_equations(rows: Observations) -> NormalEquations:
    """Return the means of all columns and targets, and their products about the means."""
    return rows.summarise(NormalEquations.zero(rows.shape[1], rows.targets))


def triangle_factor(rows: Observations) -> RFactor:
    """Return the triangle of all columns and targets."""
    return rows.summarise(RFactor.zero(rows.shape[1], rows.targets))


# More rows than columns: from XᵀX, or if that is ill-conditioned, from the triangle of X

#: condition number, columns scaled to unit length, up to which a QR factorisation has ten digits by itself
MOST_CONDITION_UNREFINED = 100.0


def solve_normal_equations(
    rows: Observations, alpha: Array, *, intercept: bool, sums: NormalEquations | None = None
) -> Solution | None:
    """Solve the normal equations by Cholesky, refined if they are ill-conditioned; None if refinement would fail.

    `sums` is the statistic of the rows, if it is known already.
    """
    sums = sums or normal_equations(rows)
    if not np.isfinite(sums.moments.offset).all():
        raise NonFiniteError(NOT_FINITE)
    if not sums.finite:  # squares are too large, values are not
        return None
    products = sums.products(centred=intercept)
    squares = np.diagonal(products.gram)
    if not alpha.all() and (squares <= _squares_rounding(sums, centred=intercept)).any():
        return None  # the coefficient of a constant column is determined by a penalty only
    factors = _factorise_all(products.gram, alpha, rows.design.precision)
    if factors is None:
        return None
    refine = not all(factor.is_accurate for factor in factors.values())
    centre = RefinementCentre.of(sums, intercept=intercept)
    fit = _TallFit(rows, alpha, centre, exact=rows.design.has_exact_gradients)
    for strength, factor in factors.items():
        which = alpha == strength
        part = _solve_unrefined(products, factor, strength, which, centre)
        if refine:
            part = fit.refinement(which, factor, strength).run(part.coefficients)
            if not _has_ten_digits(part, factor):
                return None
        fit.put(which, part)
    path = "normal equations by Cholesky" + f", refined with {fit.gradients}" * refine
    size = np.sqrt(products.squares) + np.sqrt(squares) @ np.abs(fit.coefficients)
    solution = fit.solution(path, size, root=factors[alpha[0]].root, rank=len(squares))
    return solution if solution.certificate.holds else None


def _factorise_all(gram: Array, alpha: Array, precision: float) -> dict[float, ScaledCholesky] | None:
    """Factorise XᵀX + alpha for each penalty; None if one is too ill-conditioned, or columns may be dependent."""
    smallest = max(REFINABLE, len(gram) * (DATA_ROUNDING * precision) ** 2)
    factors = {}
    for strength in dict.fromkeys(alpha.tolist()):
        factor = factorise(add_to_diagonal(gram, strength), smallest)
        if factor is None:
            return None
        factors[strength] = factor
    return factors


def _solve_unrefined(
    products: CrossProducts, factor: ScaledCholesky, strength: float, which: Array, centre: RefinementCentre
) -> RefinedFit:
    moment = products.moment[:, which]
    w = factor.correction(moment)
    return centre.select_targets(which).make_fit(w, factor.length(moment - products.gram @ w - strength * w))


def _has_ten_digits(part: RefinedFit, factor: ScaledCholesky) -> bool:
    """Return whether the gradient changes no coefficient by more than the tolerance, even in the worst direction."""
    size = lengths(factor.scale[:, None] * part.coefficients)
    return bool((part.length <= CLOSED_FORM_TOLERANCE * np.sqrt(factor.reciprocal) * size).all())


def solve_by_triangle(rows: Observations, alpha: Array, *, intercept: bool) -> Solution:
    """Solve by the triangle of a QR factorisation, computed block by block, and refine."""
    factor = triangle_factor(rows)
    if not factor.finite:
        raise NonFiniteError(NOT_FINITE)
    with blas_for(rows.shape[1]):
        return _fit_triangle(rows, factor, alpha, intercept=intercept)


def _fit_triangle(rows: Observations, factor: RFactor, alpha: Array, *, intercept: bool) -> Solution:
    triangle = factor.triangle(centred=intercept)
    span = TriangleSpan.of(triangle.R, rounding_lengths(factor, centred=intercept), rows.design.precision)
    refine = span.condition > MOST_CONDITION_UNREFINED
    fit = _TallFit(rows, alpha, RefinementCentre.of(factor, intercept=intercept), exact=True)
    roots = {}
    for strength in dict.fromkeys(alpha.tolist()):
        which = alpha == strength
        penalised = PenalisedTriangle.of(triangle.R, triangle.z[:, which], strength, span)
        part = _triangle_fit(triangle, penalised, strength, which, fit.centre)
        if refine:
            refined = fit.refinement(which, penalised, strength).run(part.coefficients)
            part = refined if np.isfinite(refined.length).all() else part  # unrefined if gradients overflow
        fit.put(which, part)
        roots[strength] = penalised.root if span.basis is None else triangle.R
    path = "QR factorisation by blocks (TSQR)" + f", refined with {fit.gradients}" * refine
    size = lengths(np.concatenate([triangle.z, triangle.rest])) + lengths(triangle.R) @ np.abs(fit.coefficients)
    left_out = lengths(span.doubtful @ (triangle.z - triangle.R @ fit.coefficients))
    known = {"rank": span.rank, "constant": span.constant, "collinear": span.collinear}
    return fit.solution(path, size, left_out=left_out, root=roots[alpha[0]], **known)


def _triangle_fit(
    triangle: Triangle, penalised: PenalisedTriangle, strength: float, which: Array, centre: RefinementCentre
) -> RefinedFit:
    w = penalised.coefficients
    gradient = triangle.R.T @ (triangle.z[:, which] - triangle.R @ w) - strength * w
    return centre.select_targets(which).make_fit(w, penalised.length(gradient))


class _TallFit:
    """The coefficients of all targets, collected penalty by penalty."""

    def __init__(self, rows: Observations, alpha: Array, centre: RefinementCentre, *, exact: bool) -> None:
        self.rows, self.centre, self._exact = rows, centre, exact
        self.coefficients = np.empty((rows.shape[1], len(alpha)))
        self._intercept, self._left = np.empty((2, len(alpha)))

    def refinement(self, which: Array, system: Any, strength: float) -> Refinement:
        rows, centre = self.rows.select_targets(which), self.centre.select_targets(which)
        return Refinement(rows, centre, system, strength, self._exact)

    @property
    def gradients(self) -> str:
        """Precision of the gradients, in the path of a solution."""
        return "gradients of twice the digits" if self._exact else "gradients of codes as they are"

    def put(self, which: Array, part: RefinedFit) -> None:
        self.coefficients[:, which], self._intercept[which], self._left[which] = part

    def solution(self, path: str, size: Array, *, left_out: Array | None = None, **known: Any) -> Solution:
        missing = np.zeros_like(size) if left_out is None else left_out
        certificate = closed_form_certificate(self._left, size, path.removeprefix("normal equations by "), missing)
        return Solution(LinearFit(self.coefficients, self._intercept, path, **known), certificate)


def _squares_rounding(sums: NormalEquations, *, centred: bool) -> Array:
    """Return squares up to which columns vary by rounding only, also of sums far from the pilot."""
    lost = 4 * EPSILON * sums.weight * np.square(sums.moments.offset[0, : sums.n_columns]) if centred else 0.0
    return np.maximum(np.square(rounding_lengths(sums, centred=centred)), lost)


def rounding_lengths(summary: NormalEquations | RFactor, *, centred: bool) -> Array:
    """Return lengths up to which columns vary by rounding only."""
    if not centred:
        return np.zeros(summary.n_columns)
    return np.asarray(4 * EPSILON * np.abs(summary.mean[0]) * np.sqrt(summary.weight))


# At least as many columns as rows: w = Xᵀα (lecture 1)


@dataclass(frozen=True, eq=False)
class WideLeastSquares:
    """√weight · X and √weight · y, about their means if there is an intercept, in tiles of columns."""

    X: Matrix
    y: Array  # (rows, targets): √weight · (y − mean)
    root: Array  # (rows, 1): √weight
    mean: tuple[Array, Array]
    tile_bytes: int = WIDE_TILE_BYTES

    @classmethod
    def of(cls, rows: Observations, *, intercept: bool, tile_bytes: int = WIDE_TILE_BYTES) -> WideLeastSquares:
        if rows.weight is not None and not rows.weight.all():
            rows = rows.take(np.flatnonzero(rows.weight))
        X, Y, weight = rows.design, rows.y, rows.weight
        if not X.is_finite():
            raise NonFiniteError(NOT_FINITE)
        root = np.ones((len(Y), 1)) if weight is None else np.sqrt(weight)[:, None]
        mean = np.zeros(X.n_columns), np.zeros(Y.shape[1])
        if intercept:
            x = np.concatenate([_weighted_mean(tile, weight) for _, tile in X.column_tiles(tile_bytes)])
            mean = x, _weighted_mean(Y, weight)
        return cls(X, root * (Y - mean[1]), root, mean, tile_bytes)

    def tiles(self) -> Iterator[tuple[slice, Array]]:
        """Yield a few columns at a time, for all rows."""
        for columns, tile in self.X.column_tiles(self.tile_bytes):
            yield columns, self.root * np.subtract(tile, self.mean[0][columns], dtype=np.float64)

    def whole(self) -> Array:
        """Return a copy of all columns."""
        return np.asarray(
            self.root * np.subtract(self.X.dense_rows(slice(0, len(self.y))), self.mean[0], dtype=np.float64)
        )

    def kernel(self) -> Array:
        """Return X Xᵀ."""
        if (kernel := self.X.sparse_kernel(self.mean[0])) is not None:
            return np.asarray(self.root * kernel * self.root.T)
        K = np.zeros((len(self.y), len(self.y)))
        for _, tile in self.tiles():
            K += tile @ tile.T
        return K

    def matvec(self, w: Array) -> Array:
        """Return X w."""
        fitted = np.zeros_like(self.y)
        for columns, tile in self.tiles():
            fitted += tile @ w[columns]
        return fitted

    def rmatvec(self, dual: Array) -> Array:
        """Return Xᵀα."""
        return np.concatenate([tile.T @ dual for _, tile in self.tiles()])

    def solution(self, w: Array, left: Array, left_out: Array, path: str, **known: Any) -> Solution:
        """Return the solution with its intercept; `left` and `left_out` are those of `closed_form_certificate`."""
        x, y = self.mean
        size = lengths(self.y) + np.concatenate([lengths(tile) for _, tile in self.tiles()]) @ np.abs(w)
        certificate = closed_form_certificate(left, size, f"the {path}", left_out)
        return Solution(LinearFit(w, y - x @ w, path, **known), certificate)


def solve_wide(rows: Observations, alpha: Array, *, intercept: bool, stable: bool) -> Solution:
    """Solve by the kernel of the rows, or by singular values if that is ill-conditioned or nothing is penalised."""
    wide = WideLeastSquares.of(rows, intercept=intercept)
    solution = solve_by_kernel(wide, alpha) if alpha.all() and not stable else None
    return solution or solve_by_singular_values(wide, alpha, rows.design.precision)


def solve_by_kernel(wide: WideLeastSquares, alpha: Array) -> Solution | None:
    """Solve (X Xᵀ + alpha) α = y by Cholesky; None if that is not accurate."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = wide.kernel()
    dual = np.empty_like(wide.y)
    for strength in np.unique(alpha):
        factor = factorise(add_to_diagonal(K, strength))
        if factor is None:
            return None
        dual[:, alpha == strength] = factor.correction(wide.y[:, alpha == strength])
    w = wide.rmatvec(dual)
    # at the optimum alpha · α is the residual (lecture 1); the gradient is Xᵀ times the difference
    left = lengths(wide.y - wide.matvec(w) - alpha * dual)
    solution = wide.solution(w, left, np.zeros_like(left), "kernel of the rows, by Cholesky")
    return solution if solution.certificate.holds else None


def solve_by_singular_values(wide: WideLeastSquares, alpha: Array, precision: float) -> Solution:
    """Solve by X = U S Vᵀ, for which X is copied; the solution for alpha = 0 is the shortest."""
    whole = wide.whole()
    Q, R = np.linalg.qr(whole.T)
    if not np.isfinite(R).all():
        raise NonFiniteError(NOT_FINITE)
    U, every, right = np.linalg.svd(R.T)
    # subnormal numbers have few digits and no reciprocals
    rounding = max(len(every) * TRIANGLE_ROUNDING * every.max(initial=0.0), np.finfo(float).tiny)
    kept = every > max(rounding, DATA_ROUNDING * precision * every.max(initial=0.0))
    doubtful = U[:, ~kept & (every > rounding)]
    U, S, V = U[:, kept], every[kept, None], Q @ right[kept].T
    w = V @ ((U.T @ wide.y) / (S + alpha / S))  # S / (S² + alpha), but squares may overflow
    rest = wide.y - whole @ w
    gradient = S * (U.T @ rest) - alpha * (V.T @ w)
    left = lengths(gradient / np.hypot(S, np.sqrt(alpha)))
    left_out = lengths(doubtful.T @ rest)
    constant = tuple(np.flatnonzero(~whole.any(axis=0)).tolist())
    known = {"values": every, "rank": int(kept.sum()), "constant": constant}
    return wide.solution(w, left, left_out, "singular values", **known)


def _weighted_mean(values: Array, weight: Array | None) -> Array:
    """Return the weighted means of the columns, exact for constant ones."""
    first = values[0].astype(float)
    with np.errstate(over="ignore", invalid="ignore"):  # whether the fit is finite is checked at the end
        return np.asarray(first + np.average(values - first, axis=0, weights=weight), dtype=np.float64)


# Conjugate gradients, for data with too many columns for a square matrix of them

#: path of a solution by conjugate gradients
ITERATIVE_PATH = "conjugate gradients"


def solve_by_conjugate_gradients(
    rows: Observations,
    alpha: Array,
    *,
    intercept: bool,
    tolerance: float,
    most_steps: int | None = None,
    block_rows: int | None = None,
) -> Solution:
    """Minimise Σ weight (y − X w − b)² + alpha ‖w‖² for each target; see `least_squares`.

    Fewer rows than columns, all penalised, are solved in the space of the rows: (X Xᵀ + alpha) α = y, w = Xᵀα. Rows are
    multiplied `block_rows` at a time, by default as many as fit in a block.
    """
    products = CentredProducts(rows, intercept, block_rows)
    if not np.isfinite(products.right).all():
        raise NonFiniteError(NOT_FINITE)
    on_rows = rows.shape[0] < rows.shape[1] and bool((alpha > 0).all())
    finish = products.from_dual if on_rows else products.finish
    iterate = _iterate_on_rows if on_rows else _iterate_on_columns
    return finish(iterate(products, alpha, tolerance, most_steps))


def _iterate_on_rows(products: CentredProducts, alpha: Array, tolerance: float, most_steps: int | None) -> Solution:
    return conjugate_gradient(
        lambda dual: products.kernel_times(dual) + alpha * dual, products.y, tolerance=tolerance, most_steps=most_steps
    )


def _iterate_on_columns(products: CentredProducts, alpha: Array, tolerance: float, most_steps: int | None) -> Solution:
    squares = products.squares[:, None] + alpha
    # without a penalty the solution is the shortest, which preconditioning by scales would change
    scaled: Callable[[Array], Array] | None = (lambda r: r / squares) if (alpha > 0).all() else None
    return conjugate_gradient(
        lambda v: products.gram_times(v) + alpha * v,
        products.right,
        precondition=scaled,
        tolerance=tolerance,
        most_steps=most_steps,
    )


@dataclass(frozen=True, eq=False)
class CentredProducts:
    """Products with √weight · X, about its means if there is an intercept, without forming it."""

    rows: Observations
    intercept: bool
    #: rows that are multiplied at once; as many as fit in a block by default
    block_rows: int | None = None

    @cached_property
    def blocks(self) -> list[tuple[Matrix, Array, Array]]:
        """Return views of the rows: X, y and weight."""
        X, n, weight = self.rows.design, len(self.rows), self.rows.weight
        every = np.ones(n) if weight is None else weight
        blocks = row_blocks(n, rows_per_block(X.stored_per_row) if self.block_rows is None else self.block_rows)
        return [(X.rows(rows), self.rows.y[rows], every[rows]) for rows in blocks]

    def _sum(self, of_block: Callable[[Tile, Array, Array], Array]) -> Array:
        parts = ordered_stream(lambda block: of_block(block[0].tile(), *block[1:]), self.blocks)
        return functools.reduce(np.add, parts)

    @cached_property
    def mean(self) -> tuple[Array, Array]:
        """Return the means of X and y, or zeros without an intercept."""
        if not self.intercept:
            return np.zeros(self.rows.shape[1]), np.zeros(self.rows.targets)
        with np.errstate(invalid="ignore", over="ignore"):
            x = self._sum(lambda X, _, weight: X.rmatvec(weight))
        return x / self.rows.total_weight, np.average(self.rows.y, axis=0, weights=self.rows.weight)

    @cached_property
    def right(self) -> Array:
        """Return Xᵀ y."""
        _, y = self.mean
        return self._sum(lambda X, Y, weight: X.rmatvec(weight[:, None] * (Y - y)))

    @cached_property
    def squares(self) -> Array:
        """Return Σ x² of each column."""
        x, _ = self.mean
        total = self._sum(lambda X, _, weight: X.squares(weight))
        return np.maximum(total - self.rows.total_weight * x**2, 0.0)

    def gram_times(self, v: Array) -> Array:
        """Return XᵀX v, in one pass."""
        x, _ = self.mean
        is_single = v.shape[1] == 1
        v = v[:, 0] if is_single else v  # products with vectors are faster than with matrices of one column
        level = x @ v

        def of_block(X: Tile, _: Array, weight: Array) -> Array:
            image = ((X.matvec(v) - level).T * weight).T
            return np.append(X.rmatvec(image), [image.sum(axis=0)], axis=0)

        product = self._sum(of_block)
        centred = product[:-1].T - np.multiply.outer(product[-1], x)
        return np.asarray(centred[:, None] if is_single else centred.T)

    @cached_property
    def y(self) -> Array:
        """Return √weight · y, about its mean."""
        return np.asarray(self._root * (self.rows.y - self.mean[1]))

    @cached_property
    def _root(self) -> Array:
        """Return √weight."""
        root: Array = np.sqrt(np.concatenate([weight for _, _, weight in self.blocks]))
        return root[:, None]

    def rmatvec(self, dual: Array) -> Array:
        """Return Xᵀα."""
        heavy = self._root * dual
        parts = np.split(heavy, np.cumsum([len(weight) for _, _, weight in self.blocks])[:-1])
        pairs = zip(self.blocks, parts, strict=True)
        w = functools.reduce(np.add, ordered_stream(lambda pair: pair[0][0].tile().rmatvec(pair[1]), pairs))
        return np.asarray(w - self.mean[0][:, None] * heavy.sum(axis=0))

    def kernel_times(self, dual: Array) -> Array:
        """Return X Xᵀα."""
        w = self.rmatvec(dual)
        image = np.concatenate(ordered_map(lambda block: block[0].tile().matvec(w), self.blocks))
        return np.asarray(self._root * (image - self.mean[0] @ w))

    def from_dual(self, solution: Solution) -> Solution:
        """Return the solution w = Xᵀα."""
        return self.finish(replace(solution, coef=self.rmatvec(solution.coef)))

    def finish(self, solution: Solution) -> Solution:
        """Return the solution with its intercept."""
        x, y = self.mean
        w = solution.coef
        return replace(solution, coef=LinearFit(w, y - x @ w, ITERATIVE_PATH))


# The choice

#: columns of sparse data up to which a square matrix of them is cheaper than iterations
MAX_SQUARE_COLUMNS = 1000
#: entries up to which wide sparse data may be converted to dense
MAX_WIDE_DENSE_ENTRIES = 1 << 23


def is_direct_cheap(rows: Observations) -> bool:
    """Return whether a direct solution is cheap, as it is except for sparse data with too many columns.

    For a source it always is: each step of conjugate gradients would be a pass over it.
    """
    (n, d), is_sparse = rows.shape, rows.design.is_sparse
    if not is_sparse or not rows.has_cheap_products:
        return True
    return n * d <= MAX_WIDE_DENSE_ENTRIES if n <= d else d <= MAX_SQUARE_COLUMNS


def least_squares(
    rows: Observations,
    alpha: Array,
    *,
    intercept: bool = True,
    stable: bool = False,
    sums: NormalEquations | None = None,
) -> Solution:
    """Minimise Σ weight (y − X w − b)² + alpha ‖w‖² for each target.

    Parameters
    ----------
    rows : Observations
        The data, with a column of `y` for each target.
    alpha : array of shape (targets,)
        Penalties, none negative.
    intercept : bool
        Whether there is a b.
    stable : bool
        Whether to use orthogonal factorisations only.
    sums : NormalEquations, optional
        The statistic of the rows, if it is known already.

    Returns
    -------
    solution : Solution
        `coef` is a `LinearFit`.

    Raises
    ------
    NonFiniteError
        If a value is not finite, or so large that a sum or a coefficient is not.

    Examples
    --------
    >>> import numpy as np
    >>> rows = observations_of(np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [3.0], [5.0]]))
    >>> fit = least_squares(rows, np.zeros(1)).coef
    >>> fit.coefficients.round(12), fit.intercept.round(12)
    (array([[2.]]), array([1.]))
    """
    n, d = rows.shape
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # overflow raises an error below
        if n <= d:
            return check_representable(solve_wide(rows, alpha, intercept=intercept, stable=stable))
        with blas_for(d):
            solution = None if stable else solve_normal_equations(rows, alpha, intercept=intercept, sums=sums)
            return check_representable(solution or solve_by_triangle(rows, alpha, intercept=intercept))


@dataclass(frozen=True, kw_only=True)
class LinearSolution(Solution):
    """A solution with its `LinearFit`."""

    fit: LinearFit


def has_closed_form(problem: Problem) -> bool:
    """Return whether a problem has squared losses, one strength for all coefficients and no prior means.

    A sparse matrix may have too many columns for a direct solution, and a source takes a pass for each sum.
    """
    squares = isinstance(problem.response.family, Gaussian) and problem.response.link == IDENTITY
    in_memory = problem.observations.has_rows and not problem.observations.design.is_sparse
    if not (squares and in_memory and problem.strengths.smooth):
        return False
    strengths = _user_strengths(problem)
    same = len(strengths) == 0 or bool((strengths == strengths[0]).all() and np.isfinite(strengths[0]))
    return same and (len(strengths) == 0 or not problem.strengths.mean.any())


def solve_least_squares(problem: Problem) -> LinearSolution:
    """Solve a problem in closed form; `coef` has the working coefficients."""
    y, weight, offset = problem.observations.y, problem.observations.weight, problem.observations.offset
    design = problem.observations.design
    plain = design.within(Coordinates.plain(len(design.coordinates.shift), intercept=False))
    Y = to_numpy(y if offset is None else y - offset)[:, None]
    rows = observations_of(plain, Y, None if weight is None else to_numpy(weight))
    alpha = np.append(_user_strengths(problem), 0.0)[:1]
    solution = least_squares(rows, alpha, intercept=design.coordinates.intercept)
    fit: LinearFit = solution.coef
    w = design.coordinates.from_user(fit.coefficients[:, 0], fit.intercept[0])
    return LinearSolution(w, solution.certificate, fit=fit)


def _user_strengths(problem: Problem) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the strength of the penalty on each coefficient in the units of the data."""
    scale = problem.observations.design.coordinates.scale
    # overflow: the strength for a column this large was limited to a bound before, and is unknown
    with np.errstate(over="ignore"):
        return np.asarray(problem.strengths.l2[: len(scale)] * scale * scale)
