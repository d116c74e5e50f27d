"""Leave-one-out errors of ridge regression in closed form, for many penalties from one decomposition.

With ŷ = H y and h the diagonal of H, the leave-one-out error of a row is (y − ŷ) / (1 − h) (Allen's PRESS); with the
mean of h in its place it gives generalised cross-validation (Golub, Heath and Wahba). Both follow for every penalty
from the eigenvalues of XᵀX, or of X Xᵀ if that is smaller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from mercer._errors import NonFiniteError
from mercer._threads import blas_for, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.matrices import Observations
from mercer.matrices.cross_products import JOINED_TILE_BYTES
from mercer.optim.curvature import EPSILON
from mercer.optim.least_squares import WideLeastSquares, normal_equations, triangle_factor
from mercer.optim.linear_fit import NOT_FINITE
from mercer.stats.normal_equations import NormalEquations
from mercer.stats.tiles import factorize

A = TypeVar("A")

#: eigenvalues of XᵀX plus the penalty down to this portion of the largest have enough digits
RESOLVED_EIGENVALUE = 1e-6
#: smallest candidate penalty, as a portion of the largest eigenvalue
SMALLEST_CANDIDATE = 1e-8
#: largest candidate penalty, as a multiple of the largest eigenvalue
LARGEST_CANDIDATE = 1e2
#: candidates per decade
CANDIDATES_PER_DECADE = 3
#: no candidate is below this portion of the smallest eigenvalue: it would change no coefficient by more than that
NEGLIGIBLE_CANDIDATE = 1e-6
#: relative rounding error of the sum that an error is
ROUNDING_OF_SUMS = 10 * EPSILON
#: tiles that a thread takes at a time
TILES_PER_THREAD = 16


class LeaveOneOutErrors(NamedTuple):
    """Leave-one-out errors of some rows, y less its prediction, for each target and penalty."""

    rows: slice
    values: Array  # (rows, targets, penalties)


class RidgeSpectrum(ABC):
    """Eigenvalues of XᵀX or X Xᵀ, with X about its means if there is an intercept."""

    values: Array  # (k,): eigenvalues, none negative
    #: statistic of the same rows, if it was computed
    sums: NormalEquations | None = None

    @abstractmethod
    def errors(self, alphas: Array, use: Callable[[LeaveOneOutErrors], A]) -> Iterator[A]:
        """Yield `use(errors)` for the leave-one-out errors of some rows at a time, in order, on all threads.

        `use` may change the errors in place. The error is not finite for a row with leverage 1 up to rounding, and
        perhaps for a row of weight 0 with very large values.
        """

    @abstractmethod
    def on(self, rows: Observations) -> RidgeSpectrum:
        """Return the spectrum for the errors of these rows, all or some of those that it was computed from."""

    @abstractmethod
    def generalised_errors(self, alphas: Array) -> Array:
        """Return the generalised cross-validation errors: (penalties, targets)."""

    def unexplained_shares(self, alphas: Array) -> Array:
        """Return alpha / (eigenvalue + alpha), the unexplained share of each direction: (k, penalties)."""
        return np.asarray(alphas / (self.values[:, None] + alphas))


def candidate_penalties(spectrum: RidgeSpectrum) -> Array:
    """Return candidate penalties in ascending order, evenly spaced on a logarithmic scale."""
    largest = float(spectrum.values.max(initial=0.0)) or 1.0
    felt = NEGLIGIBLE_CANDIDATE * float(spectrum.values.min(initial=largest)) / largest
    decades = np.log10(LARGEST_CANDIDATE / max(SMALLEST_CANDIDATE, felt if felt < LARGEST_CANDIDATE else 0.0))
    steps = round(CANDIDATES_PER_DECADE * decades)
    return largest * LARGEST_CANDIDATE * 10.0 ** (np.arange(-steps, 1) / CANDIDATES_PER_DECADE)


def index_of_least(spectrum: RidgeSpectrum, alphas: Array, errors: Array) -> int:
    """Return the index of the least error, for penalties in ascending order; NaN counts as the largest error.

    Among penalties whose errors differ by rounding only, the largest is chosen: for unrelated rows all errors are
    equal, and the choice must not depend on rounding, which depends on the order of the rows.
    """
    errors = np.where(np.isnan(errors), np.inf, errors)
    # eigenvalues have rounding errors in units of the largest, and errors have them over the penalty
    rounding = ROUNDING_OF_SUMS + EPSILON * float(spectrum.values.max(initial=0.0)) / alphas
    with np.errstate(over="ignore"):
        within = errors * (1 - rounding) <= np.min(errors * (1 + rounding))
    return int(np.flatnonzero(within)[-1])


def decompose(rows: Observations, *, intercept: bool, stable: bool = False, smallest: float = np.inf) -> RidgeSpectrum:
    """Return the spectrum of X, by an orthogonal factorisation if `stable`.

    It is also used if the `smallest` penalty is too small to hide the rounding errors of XᵀX.
    """
    n, d = rows.shape
    with np.errstate(over="ignore", invalid="ignore"):
        if n <= d:
            return WideSpectrum.of(rows, intercept=intercept, stable=stable)
        if not stable:
            spectrum = _spectrum_from_sums(rows, intercept)
            if spectrum is not None and spectrum.resolves(smallest):
                return spectrum
        return _spectrum_from_triangle(rows, intercept)


@dataclass(frozen=True, eq=False)
class TallSpectrum(RidgeSpectrum):
    """The spectrum by columns: XᵀX = axes · values · axesᵀ."""

    rows: Observations
    mean: tuple[Array, Array]
    weight: float
    axes: Array  # (columns, k)
    values: Array
    along: Array  # (k, targets): axesᵀ Xᵀ y
    rest: Array  # (targets,): residual squares without a penalty
    intercept: bool
    #: statistic of the rows, unless the spectrum is from an orthogonal factorisation
    sums: NormalEquations | None = None

    def on(self, rows: Observations) -> TallSpectrum:
        return replace(self, rows=rows, sums=None)

    def resolves(self, smallest: float) -> bool:
        """Return whether rounding errors are small compared with the eigenvalues plus the smallest penalty."""
        return bool((self.values + smallest > RESOLVED_EIGENVALUE * self.values.max(initial=0.0)).all())

    def errors(self, alphas: Array, use: Callable[[LeaveOneOutErrors], A]) -> Iterator[A]:
        n, d = self.rows.shape
        k, targets = self.along.shape
        inverse = 1 / (self.values[:, None] + alphas)  # (k, penalties)
        coefficients = self.axes @ (self.along[:, :, None] * inverse[:, None, :]).reshape(k, targets * len(alphas))
        size = max(64, JOINED_TILE_BYTES // (8 * (2 * d + len(alphas) * (1 + targets))))

        def of_tile(rows: slice) -> A:
            Y, weight = self.rows.y[rows], None if self.rows.weight is None else self.rows.weight[rows]
            x = _subtract_mean(self.rows.design.dense_rows(rows), self.mean[0], weight)
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                left = self._left(x @ self.axes, inverse, weight)
                error = (x @ coefficients).reshape(len(x), targets, -1)
                np.subtract((Y - self.mean[1])[:, :, None], error, out=error)
                error /= left[:, None, :]
                return use(LeaveOneOutErrors(rows, error))

        def of_block(block: slice) -> list[A]:
            firsts = range(block.start, block.stop, size)
            return [of_tile(slice(first, min(first + size, block.stop))) for first in firsts]

        for answers in ordered_stream(of_block, row_blocks(n, TILES_PER_THREAD * size)):
            yield from answers

    def _left(self, Z: Array, inverse: Array, weight: Array | None) -> Array:
        """Return 1 − h of rows with the coordinates Z along the axes; Z is overwritten."""
        if weight is not None:  # before squaring: squares of numbers about 1e160 overflow without the weights
            Z *= np.sqrt(weight)[:, None]
        own = np.square(Z, out=Z) @ inverse
        if self.intercept:
            own += 1 / self.weight if weight is None else (weight / self.weight)[:, None]
        np.subtract(1.0, own, out=own)
        return np.asarray(own)

    def generalised_errors(self, alphas: Array) -> Array:
        n = self.rows.heavy
        shrunk = self.unexplained_shares(alphas)
        # components along directions without variation are rounding
        explained = np.divide(
            self.along**2, self.values[:, None], out=np.zeros_like(self.along), where=self.values[:, None] > 0
        )
        squares = self.rest + (shrunk**2).T @ explained
        free = n - self.intercept - len(self.values) + shrunk.sum(axis=0)
        return np.asarray(n * squares / free[:, None] ** 2)


def _spectrum_from_sums(rows: Observations, intercept: bool) -> TallSpectrum | None:
    """Return the spectrum of XᵀX; None if squares overflow."""
    sums = normal_equations(rows)
    if not sums.finite:
        return None
    gram, moment, squares = sums.products(centred=intercept)
    with blas_for(len(gram)):
        values, axes = np.linalg.eigh(_check_finite(gram))
    values = np.maximum(values, 0.0)
    along = axes.T @ moment
    known = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
    explained = np.divide(along**2, values[:, None], out=np.zeros_like(along), where=known[:, None])
    rest = np.maximum(squares - explained.sum(axis=0), 0.0)
    mean = sums.mean if intercept else (np.zeros(len(gram)), np.zeros(rows.targets))
    return TallSpectrum(rows, mean, sums.weight, axes, values, along, rest, intercept, sums)


def _spectrum_from_triangle(rows: Observations, intercept: bool) -> TallSpectrum:
    factor = triangle_factor(rows)
    if not factor.finite:
        raise NonFiniteError(NOT_FINITE)
    R, z, rest = factor.triangle(centred=intercept)
    with blas_for(R.shape[1]):
        left, singular, right = np.linalg.svd(_check_finite(R), full_matrices=False)
    along = _check_finite(singular[:, None] * (left.T @ z))
    mean = factor.mean if intercept else (np.zeros(R.shape[1]), np.zeros(rows.targets))
    squares = np.sum(rest**2, axis=0)
    return TallSpectrum(rows, mean, factor.weight, right.T, _check_finite(singular**2), along, squares, intercept)


@dataclass(frozen=True, eq=False)
class WideSpectrum(RidgeSpectrum):
    """The spectrum by rows: X Xᵀ = vectors · values · vectorsᵀ, orthogonal to √weight if there is an intercept."""

    rows: Observations
    wide: WideLeastSquares
    vectors: Array  # (rows with weight, k)
    values: Array

    @classmethod
    def of(cls, rows: Observations, *, intercept: bool, stable: bool) -> WideSpectrum:
        wide = WideLeastSquares.of(rows, intercept=intercept)
        turn = HouseholderReflection.of(wide.root[:, 0]) if intercept else None
        with blas_for(len(wide.y)):
            if stable:
                whole = wide.whole() if turn is None else turn.reduce(wide.whole())
                vectors, singular, _ = np.linalg.svd(_check_finite(factorize(whole.T)).T)
                values = _check_finite(singular**2)
            else:
                kernel = _check_finite(wide.kernel())
                values, vectors = np.linalg.eigh(kernel if turn is None else turn.reduce(turn.reduce(kernel).T))
        return cls(rows, wide, vectors if turn is None else turn.restore(vectors), np.maximum(values, 0.0))

    def on(self, rows: Observations) -> WideSpectrum:
        return self  # it has an eigenvector entry for each row

    def _dual(self, alphas: Array) -> tuple[Array, Array]:
        """Return D y, (rows, targets, penalties), and the diagonal of D = alpha · (X Xᵀ + alpha)⁻¹."""
        shrunk = self.unexplained_shares(alphas)
        along = self.vectors.T @ self.wide.y
        residual = np.tensordot(self.vectors, along[:, :, None] * shrunk[:, None, :], axes=1)
        return residual, self.vectors**2 @ shrunk

    def errors(self, alphas: Array, use: Callable[[LeaveOneOutErrors], A]) -> Iterator[A]:
        errors = LeaveOneOutErrors(slice(0, len(self.rows)), self._errors(alphas))
        with np.errstate(over="ignore", invalid="ignore"):
            used = use(errors)
        yield used

    def _errors(self, alphas: Array) -> Array:
        residual, left = self._dual(alphas)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            kept = residual / left[:, None, :] / self.wide.root[:, :, None]
        if len(kept) == len(self.rows):
            return np.asarray(kept)
        assert self.rows.weight is not None  # else no row would be missing
        heavy = self.rows.weight > 0
        errors = np.empty((len(self.rows), *kept.shape[1:]))
        errors[heavy] = kept
        X, Y = self.rows.design.dense_rows(np.flatnonzero(~heavy)), self.rows.y[~heavy]
        for position, alpha in enumerate(alphas):
            w = self.wide.rmatvec(residual[:, :, position] / alpha)
            with np.errstate(over="ignore", invalid="ignore"):
                errors[~heavy, :, position] = Y - self.wide.mean[1] - (X - self.wide.mean[0]) @ w
        return errors

    def generalised_errors(self, alphas: Array) -> Array:
        residual, left = self._dual(alphas)
        free = left.sum(axis=0)
        return np.asarray(len(residual) * np.sum(residual**2, axis=0).T / free[:, None] ** 2)


def _subtract_mean(rows: Array, mean: Array, weight: Array | None) -> Array:
    """Return rows − mean; raise `NonFiniteError` if a difference of a row with positive weight overflows."""
    try:
        with np.errstate(over="raise"):
            return np.asarray(rows - mean)
    except FloatingPointError:
        with np.errstate(over="ignore"):
            x = np.asarray(rows - mean)
    if not np.isfinite(x if weight is None else x[weight > 0]).all():
        raise NonFiniteError(NOT_FINITE)
    return x


def _check_finite(square: Array) -> Array:
    """Return the matrix; raise `NonFiniteError` if an entry is not finite, which LAPACK does not support."""
    if not np.isfinite(square).all():
        raise NonFiniteError(NOT_FINITE)
    return square


@dataclass(frozen=True, eq=False)
class HouseholderReflection:
    """The Householder reflection I − u uᵀ that maps a direction to the first axis."""

    u: Array

    @classmethod
    def of(cls, direction: Array) -> HouseholderReflection:
        u = direction / np.linalg.norm(direction)
        u[0] += 1.0  # entries of the direction are nonnegative, so that nothing cancels
        return cls(u * np.sqrt(2) / np.linalg.norm(u))

    def reduce(self, matrix: Array) -> Array:
        """Return the reflected matrix without its first row."""
        return np.asarray((matrix - self.u[:, None] * (self.u @ matrix))[1:])

    def restore(self, matrix: Array) -> Array:
        """Return the inverse reflection of the matrix with a first row of 0."""
        padded = np.concatenate([np.zeros((1, matrix.shape[1])), matrix])
        return np.asarray(padded - self.u[:, None] * (self.u @ padded))
