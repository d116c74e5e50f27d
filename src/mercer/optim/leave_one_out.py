"""Ridge regression for many penalties at once: its leave-one-out errors in closed form, from one decomposition.

With ŷ = H y and h the diagonal of H, the error of a row that was left out is (y − ŷ) / (1 − h) (Allen's PRESS), and the
average of h in its place gives generalised cross-validation (Golub, Heath and Wahba). Both follow for every penalty
from the eigenvalues of XᵀX, or of X Xᵀ where that is smaller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from mercer._errors import NonFiniteError
from mercer._threads import blas_for, ordered_stream, row_blocks
from mercer._typing import Array
from mercer.optim.least_squares import WideLeastSquares
from mercer.optim.least_squares_rows import LeastSquaresRows
from mercer.optim.linear_fit import NOT_FINITE
from mercer.stats.normal_equations import NormalEquations, RFactor
from mercer.stats.tiles import JOINED_TILE, dense, triangle

A = TypeVar("A")

#: eigenvalues of XᵀX, with a penalty, down to this portion of the largest have digits enough
RESOLVED = 1e-6
#: penalties to try: portions of the largest eigenvalue
SMALLEST, LARGEST, PER_DECADE = 1e-8, 1e2, 3
#: … but none below this portion of the smallest, which would change no coefficient by more than that
UNFELT = 1e-6
#: relative rounding of an error: of the sum that it is, and of eigenvalues, which counts in proportion to the largest
#: eigenvalue over the penalty
ROUNDING_OF_SUMS, ROUNDING = 10 * np.finfo(float).eps, np.finfo(float).eps
#: tiles that one thread takes at a time
TILES = 16


class LeaveOneOutErrors(NamedTuple):
    """Of some rows, each left out in turn: what was seen less what was predicted, for each target and penalty."""

    rows: slice
    values: Array  # (rows, targets, penalties)


class RidgeSpectrum(ABC):
    """Eigenvalues of X, about its means where there is an intercept, and what the penalties act upon."""

    values: Array  # (k,): eigenvalues, none negative
    #: statistic of the same rows, if there is one to fit from
    sums: NormalEquations | None = None

    @abstractmethod
    def errors(self, alphas: Array, use: Callable[[LeaveOneOutErrors], A]) -> Iterator[A]:
        """What is made of y − ŷ of every row, had it been left out: some rows at a time, in order, on all threads.

        The errors are `use`'s to change; those of other rows overwrite nothing. A row that weighs so much that its own
        fit is all of it, up to rounding, has an error that is not finite; so may one of enormous numbers and no weight.
        """

    @abstractmethod
    def generalised(self, alphas: Array) -> Array:
        """Generalised cross-validation: (penalties, targets)."""

    def shrunk(self, alphas: Array) -> Array:
        """alpha / (eigenvalue + alpha): what a penalty leaves unexplained; (k, penalties)."""
        return np.asarray(alphas / (self.values[:, None] + alphas))


def candidate_penalties(spectrum: RidgeSpectrum) -> Array:
    """Penalties from hardly any to nearly all, spaced evenly on a logarithmic scale."""
    largest = float(spectrum.values.max(initial=0.0)) or 1.0
    felt = UNFELT * float(spectrum.values.min(initial=largest)) / largest
    decades = np.log10(LARGEST / max(SMALLEST, felt if felt < LARGEST else 0.0))
    steps = round(PER_DECADE * decades)
    return largest * LARGEST * 10.0 ** (np.arange(-steps, 1) / PER_DECADE)


def index_of_least(spectrum: RidgeSpectrum, alphas: Array, errors: Array) -> int:
    """Where the error is least, of penalties in ascending order; NaN counts as the largest error of all.

    Of penalties whose errors differ by no more than rounding it is the largest: of rows that say nothing about each
    other all errors are equal, and rounding, which depends on the order of the rows, must not choose among them.
    """
    errors = np.where(np.isnan(errors), np.inf, errors)
    rounding = ROUNDING_OF_SUMS + ROUNDING * float(spectrum.values.max(initial=0.0)) / alphas
    with np.errstate(over="ignore"):
        within = errors * (1 - rounding) <= np.min(errors * (1 + rounding))
    return int(np.flatnonzero(within)[-1])


def decompose(
    rows: LeastSquaresRows, *, intercept: bool, stable: bool = False, smallest: float = np.inf
) -> RidgeSpectrum:
    """The spectrum of X; by an orthogonal factorisation if it has to be `stable`.

    It has to where the `smallest` penalty is too small to hide the rounding errors of XᵀX.
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
    """By the columns: XᵀX = axes · values · axesᵀ."""

    rows: LeastSquaresRows
    mean: tuple[Array, Array]
    weight: float
    axes: Array  # (columns, k)
    values: Array
    along: Array  # (k, targets): axesᵀ Xᵀ y
    rest: Array  # (targets,): squares that no coefficients explain
    intercept: bool
    #: what it was found from, unless by an orthogonal factorisation
    sums: NormalEquations | None = None

    def resolves(self, smallest: float) -> bool:
        """Whether rounding of the eigenvalues is small beside them and the smallest penalty."""
        return bool((self.values + smallest > RESOLVED * self.values.max(initial=0.0)).all())

    def errors(self, alphas: Array, use: Callable[[LeaveOneOutErrors], A]) -> Iterator[A]:
        n, d = self.rows.shape
        k, targets = self.along.shape
        inverse = 1 / (self.values[:, None] + alphas)  # (k, penalties)
        coefficients = self.axes @ (self.along[:, :, None] * inverse[:, None, :]).reshape(k, targets * len(alphas))
        size = max(64, JOINED_TILE // (8 * (2 * d + len(alphas) * (1 + targets))))

        def of_tile(rows: slice) -> A:
            X, Y, weight = self.rows.batch(rows)
            x = _subtract_mean(dense(X), self.mean[0], weight)
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                left = self._left(x @ self.axes, inverse, weight)
                error = (x @ coefficients).reshape(len(x), targets, -1)
                np.subtract((Y - self.mean[1])[:, :, None], error, out=error)
                error /= left[:, None, :]
                return use(LeaveOneOutErrors(rows, error))

        def of_block(block: slice) -> list[A]:
            firsts = range(block.start, block.stop, size)
            return [of_tile(slice(first, min(first + size, block.stop))) for first in firsts]

        for answers in ordered_stream(of_block, row_blocks(n, TILES * size)):
            yield from answers

    def _left(self, Z: Array, inverse: Array, weight: Array | None) -> Array:
        """1 − h of rows whose coordinates along the axes are Z, which are used up."""
        if weight is not None:  # before they are squared: of numbers about 1e160 the squares alone are beyond float64
            Z *= np.sqrt(weight)[:, None]
        own = np.square(Z, out=Z) @ inverse
        if self.intercept:
            own += 1 / self.weight if weight is None else (weight / self.weight)[:, None]
        np.subtract(1.0, own, out=own)
        return np.asarray(own)

    def generalised(self, alphas: Array) -> Array:
        n = self.rows.heavy
        shrunk = self.shrunk(alphas)
        # what lies along a direction without variation is rounding
        explained = np.divide(
            self.along**2, self.values[:, None], out=np.zeros_like(self.along), where=self.values[:, None] > 0
        )
        squares = self.rest + (shrunk**2).T @ explained
        free = n - self.intercept - len(self.values) + shrunk.sum(axis=0)
        return np.asarray(n * squares / free[:, None] ** 2)


def _spectrum_from_sums(rows: LeastSquaresRows, intercept: bool) -> TallSpectrum | None:
    """None where squares are not finite, though values may be."""
    sums = rows.summarised(NormalEquations)
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


def _spectrum_from_triangle(rows: LeastSquaresRows, intercept: bool) -> TallSpectrum:
    factor = rows.summarised(RFactor)
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
    """By the rows: X Xᵀ = vectors · values · vectorsᵀ, on what is orthogonal to √weight where there is an intercept."""

    rows: LeastSquaresRows
    wide: WideLeastSquares
    vectors: Array  # (rows with weight, k)
    values: Array

    @classmethod
    def of(cls, rows: LeastSquaresRows, *, intercept: bool, stable: bool) -> WideSpectrum:
        wide = WideLeastSquares.of(rows, intercept=intercept)
        turn = HouseholderReflection.of(wide.root[:, 0]) if intercept else None
        with blas_for(len(wide.y)):
            if stable:
                whole = wide.whole() if turn is None else turn.reduced(wide.whole())
                vectors, singular, _ = np.linalg.svd(_check_finite(triangle(whole.T)).T)
                values = _check_finite(singular**2)
            else:
                kernel = _check_finite(wide.kernel())
                values, vectors = np.linalg.eigh(kernel if turn is None else turn.reduced(turn.reduced(kernel).T))
        return cls(rows, wide, vectors if turn is None else turn.restored(vectors), np.maximum(values, 0.0))

    def _dual(self, alphas: Array) -> tuple[Array, Array]:
        """alpha · (X Xᵀ + alpha)⁻¹ y, (rows, targets, penalties), and the diagonal of alpha · (…)⁻¹."""
        shrunk = self.shrunk(alphas)
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
        assert self.rows.weight is not None  # or no row would have been left out
        heavy = self.rows.weight > 0
        errors = np.empty((len(self.rows), *kept.shape[1:]))
        errors[heavy] = kept
        X, Y = dense(self.rows.X[~heavy]), self.rows.Y[~heavy]
        for position, alpha in enumerate(alphas):
            w = self.wide.transposed_times(residual[:, :, position] / alpha)
            with np.errstate(over="ignore", invalid="ignore"):
                errors[~heavy, :, position] = Y - self.wide.mean[1] - (X - self.wide.mean[0]) @ w
        return errors

    def generalised(self, alphas: Array) -> Array:
        residual, left = self._dual(alphas)
        free = left.sum(axis=0)
        return np.asarray(len(residual) * np.sum(residual**2, axis=0).T / free[:, None] ** 2)


def _subtract_mean(rows: Array, mean: Array, weight: Array | None) -> Array:
    """Rows less their mean, which tiny weights may have kept finite where differences are not."""
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
    """A matrix that can be decomposed; LAPACK knows no infinity."""
    if not np.isfinite(square).all():
        raise NonFiniteError(NOT_FINITE)
    return square


@dataclass(frozen=True, eq=False)
class HouseholderReflection:
    """The Householder reflection that takes a direction to the first axis: I − u uᵀ."""

    u: Array

    @classmethod
    def of(cls, direction: Array) -> HouseholderReflection:
        u = direction / np.linalg.norm(direction)
        u[0] += 1.0  # the direction has no negative entries, so that nothing cancels
        return cls(u * np.sqrt(2) / np.linalg.norm(u))

    def reduced(self, matrix: Array) -> Array:
        """The reflected matrix without its first row."""
        return np.asarray((matrix - self.u[:, None] * (self.u @ matrix))[1:])

    def restored(self, matrix: Array) -> Array:
        """Back again, with the first row 0."""
        padded = np.concatenate([np.zeros((1, matrix.shape[1])), matrix])
        return np.asarray(padded - self.u[:, None] * (self.u @ padded))
