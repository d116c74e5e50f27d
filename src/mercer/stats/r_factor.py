"""The triangle R of the QR factorisation of [1, X, y], block by block (TSQR)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._stored import reals, stored, whole
from mercer._typing import Array
from mercer.stats.base import same_shape, spoilt_sums_are_silent
from mercer.stats.joined import pilot, tiles, triangle


class Triangle(NamedTuple):
    """Least squares of many rows as one of few: ‖X w − y‖² = ‖R w − z‖² + ‖rest‖² for every w."""

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
    """R with RᵀR = AᵀA for A = √weight · [1, x − pilot, y − pilot]: it knows as much as A does, without squaring it.

    A sum of squares loses half of the digits of what is small beside it; an orthogonal factorisation does not. The
    column of ones comes first: what remains below its row of R belongs to columns about their means.
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

    @spoilt_sums_are_silent
    def update(self, X: Any, Y: Array, weight: Array | None = None) -> Self:
        """With rows added; those of weight zero are no rows."""
        shift = np.concatenate([pilot(X), pilot(Y)])
        R, rows = np.zeros((0, 1 + len(shift))), 0
        for tile in tiles(X, Y, weight, shift):
            if not np.isfinite(tile).all():  # LAPACK may never come back from NaN
                return replace(self, rows=1, R=np.full((1, 1 + len(shift)), np.nan))
            R = triangle(np.concatenate([R, tile]))
            rows += len(tile)
        return self.merge(replace(self, rows=rows, pilot=shift, R=R))

    @spoilt_sums_are_silent
    def merge(self, other: Self) -> Self:
        same_shape("R factors", self.pilot.shape, other.pilot.shape)
        if self.rows == 0 or not other.finite:
            return other
        if other.rows == 0 or not self.finite:
            return self
        stacked = np.concatenate([self.R, other.about(self.pilot).R])
        return replace(self, rows=self.rows + other.rows, R=triangle(stacked))

    def about(self, pilot: Array) -> Self:
        """The same rows about another point: x − new = (x − old) + (old − new) · 1."""
        R = self.R.copy()
        R[:1, 1:] += R[:1, :1] * (self.pilot - pilot)
        return replace(self, R=R, pilot=pilot)

    def only(self, targets: Array) -> Self:
        """With some of the targets."""
        kept = np.concatenate([np.ones(self.n_columns, dtype=bool), targets])
        return replace(self, pilot=self.pilot[kept], R=self.R[:, np.concatenate([[True], kept])])

    @property
    def finite(self) -> bool:
        """False once a value that is not a number has gone in."""
        return bool(np.isfinite(self.R).all())

    @property
    def weight(self) -> float:
        return float(self.R[0, 0] ** 2) if self.rows else 0.0

    @property
    def mean(self) -> tuple[Array, Array]:
        """Of X and of y."""
        mean = self.pilot + self.R[0, 1:] / self.R[0, 0] if self.rows else self.pilot
        return mean[: self.n_columns], mean[self.n_columns :]

    def triangle(self, *, centred: bool) -> Triangle:
        """Of columns about their means, or about zero."""
        R = self.R[1:, 1:] if centred else triangle(self.about(np.zeros_like(self.pilot)).R[:, 1:])
        d = self.n_columns
        return Triangle(R[:d, :d], R[:d, d:], R[d:, d:])
