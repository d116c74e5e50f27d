"""Least squares as a statistic: the normal equations XᵀX and Xᵀy, or the triangular factor of [1, X, y]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._stored import reals, stored, whole
from mercer._typing import Array
from mercer.matrices import Matrix, as_matrix
from mercer.matrices.cross_products import joined_tiles, pilot_of
from mercer.stats.base import check_same_shape, silence_infinities
from mercer.stats.centred import ScatterMoments
from mercer.stats.tiles import factorize


class Triangle(NamedTuple):
    """Least squares with a triangular matrix: ‖X w − y‖² = ‖R w − z‖² + ‖rest‖² for every w."""

    R: Array  # (columns or fewer, columns)
    z: Array  # (columns or fewer, targets)
    rest: Array  # (targets or fewer, targets): squares of its columns sum to those of the residuals


@stored(
    lambda own: own.n_columns <= len(own.pilot) and bool(len(own.R) or not own.rows),
    n_columns=whole(0),
    pilot=reals("p"),
    R=reals("r p+1"),
)
@dataclass(frozen=True, eq=False)
class RFactor:
    """R with RᵀR = AᵀA for A = √weight · [1, x − pilot, y − pilot], computed block by block without squaring (TSQR).

    A sum of squares loses half of the digits of small contributions; an orthogonal factorisation does not. The
    column of ones comes first: the part below its row of R belongs to columns about their means.
    """

    rows: int
    pilot: Array  # (columns + targets,)
    R: Array  # (1 + columns + targets or fewer, 1 + columns + targets)
    n_columns: int

    @classmethod
    def zero(cls, columns: int, targets: int) -> Self:
        p = columns + targets
        return cls(0, np.zeros(p), np.zeros((0, 1 + p)), columns)

    def empty(self) -> Self:
        return self.zero(self.n_columns, len(self.pilot) - self.n_columns)

    @silence_infinities
    def update(self, X: Any, Y: Array, weight: Array | None = None, offset: None = None) -> Self:
        """Add rows; those of weight zero are ignored."""
        X = as_matrix(X)
        shift = pilot_of(X, Y)
        R, rows = np.zeros((0, 1 + len(shift))), 0
        for tile in joined_tiles(X, Y, weight, shift):
            if not np.isfinite(tile).all():  # LAPACK may not terminate with NaN
                return replace(self, rows=1, R=np.full((1, 1 + len(shift)), np.nan))
            R = factorize(np.concatenate([R, tile]))
            rows += len(tile)
        return self.merge(replace(self, rows=rows, pilot=shift, R=R))

    def blocks_of(self, X: Matrix) -> list[slice]:
        """Return blocks of rows that are worth a thread each."""
        return X.triangle_blocks()

    @silence_infinities
    def merge(self, other: Self) -> Self:
        check_same_shape("R factors", self.pilot.shape, other.pilot.shape)
        if self.rows == 0 or not other.finite:
            return other
        if other.rows == 0 or not self.finite:
            return self
        stacked = np.concatenate([self.R, other.about(self.pilot).R])
        return replace(self, rows=self.rows + other.rows, R=factorize(stacked))

    def about(self, pilot: Array) -> Self:
        """Return the factor for the same rows about another point: x − new = (x − old) + (old − new) · 1."""
        R = self.R.copy()
        R[:1, 1:] += R[:1, :1] * (self.pilot - pilot)
        return replace(self, R=R, pilot=pilot)

    def only(self, targets: Array) -> Self:
        """Return the factor for some of the targets."""
        kept = np.concatenate([np.ones(self.n_columns, dtype=bool), targets])
        return replace(self, pilot=self.pilot[kept], R=self.R[:, np.concatenate([[True], kept])])

    @property
    def finite(self) -> bool:
        """True if all values so far were finite."""
        return bool(np.isfinite(self.R).all())

    @property
    def weight(self) -> float:
        return float(self.R[0, 0] ** 2) if self.rows else 0.0

    @property
    def mean(self) -> tuple[Array, Array]:
        """Means of X and of y."""
        mean = self.pilot + self.R[0, 1:] / self.R[0, 0] if self.rows else self.pilot
        return mean[: self.n_columns], mean[self.n_columns :]

    def triangle(self, *, centred: bool) -> Triangle:
        """Return the triangle of columns about their means, or about zero."""
        R = self.R[1:, 1:] if centred else factorize(self.about(np.zeros_like(self.pilot)).R[:, 1:])
        d = self.n_columns
        return Triangle(R[:d, :d], R[:d, d:], R[d:, d:])


class CrossProducts(NamedTuple):
    """XᵀX (columns, columns), Xᵀy (columns, targets) and the squares Σy² of each target."""

    gram: Array
    moment: Array
    squares: Array


@stored()
@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Means of [x, y] and products of all its columns about the means.

    X may be a matrix of any storage, or data for `mercer.matrices.as_matrix`.
    """

    moments: ScatterMoments
    n_columns: int

    @classmethod
    def zero(cls, columns: int, targets: int) -> Self:
        return cls(ScatterMoments.zero(1, columns + targets), columns)

    def empty(self) -> Self:
        return replace(self, moments=self.moments.empty())

    def update(self, X: Any, Y: Array, weight: Array | None = None, offset: None = None) -> Self:
        """Add rows; those of weight zero are ignored."""
        made = _compute_moments(X, Y, weight)
        return replace(self, moments=self.moments.merge(made) if self.rows else made)

    def blocks_of(self, X: Matrix) -> list[slice]:
        """Return blocks of rows that are worth a thread each."""
        return X.cross_product_blocks()

    def merge(self, other: Self) -> Self:
        return replace(self, moments=self.moments.merge(other.moments))

    def remove(self, X: Any, Y: Array, weight: Array | None = None) -> Self:
        """Remove rows again."""
        return replace(self, moments=self.moments.subtract(_compute_moments(X, Y, weight)))

    @property
    def finite(self) -> bool:
        """True if all values so far, and their squares, were finite."""
        return self.moments.finite

    @property
    def rows(self) -> int:
        return int(self.moments.rows[0])

    @property
    def weight(self) -> float:
        return float(self.moments.weight[0])

    @property
    def mean(self) -> tuple[Array, Array]:
        """Means of X and of y."""
        mean = self.moments.mean[0]
        return mean[: self.n_columns], mean[self.n_columns :]

    def products(self, *, centred: bool) -> CrossProducts:
        """Return the products about the means, or about zero."""
        second = self.moments.scatter[0]
        if not centred:
            mean = self.moments.mean[0]
            second = second + self.weight * mean[:, None] * mean
        d = self.n_columns
        return CrossProducts(second[:d, :d], second[:d, d:], np.diagonal(second)[d:])


@silence_infinities
def _compute_moments(X: Any, Y: Array, weight: Array | None) -> ScatterMoments:
    return _centre_moments(*as_matrix(X).cross_products(Y, weight))


def _centre_moments(rows: int, weight: float, shift: Array, first: Array, second: Array) -> ScatterMoments:
    """Return centred moments from sums about `shift`."""
    if rows == 0:
        return ScatterMoments.zero(1, len(shift))
    offset = first / weight
    scatter = second - (weight * offset)[:, None] * offset
    np.maximum(scatter.diagonal(), 0.0, out=np.einsum("ii->i", scatter))
    return ScatterMoments(np.array([rows]), np.array([weight]), shift[None], offset[None], scatter[None])
