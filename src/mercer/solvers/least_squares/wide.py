"""Least squares with at least as many columns as rows, on the side of the rows: w = Xᵀα (lecture 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import NonFiniteError
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.solvers.certificate import Solution
from mercer.solvers.least_squares._cholesky import factored, raised
from mercer.solvers.least_squares._triangle import DATA_ROUNDING, ROUNDING, lengths
from mercer.solvers.least_squares.fit import NOT_FINITE, LinearFit, closed_form
from mercer.solvers.least_squares.rows import Rows
from mercer.stats.joined import NEAR_ZERO, WIDE_TILE, dense


@dataclass(frozen=True, eq=False)
class Wide:
    """√weight · X and √weight · y, about their means where there is an intercept; never copied as a whole."""

    X: Any  # dense, or CSC
    y: Array  # (rows, targets): √weight · (y − mean)
    root: Array  # (rows, 1): √weight
    mean: tuple[Array, Array]

    @classmethod
    def of(cls, rows: Rows, *, intercept: bool) -> Wide:
        X, Y, weight = rows.X, rows.Y, rows.weight
        if weight is not None and not weight.all():
            X, Y, weight = X[weight > 0], Y[weight > 0], weight[weight > 0]
        X = X.tocsc() if rows.sparse else X
        values = X.data if rows.sparse else X
        with np.errstate(invalid="ignore", over="ignore"):
            if not np.isfinite(values.sum(dtype=float)) and not np.isfinite(values).all():
                raise NonFiniteError(NOT_FINITE)
        root = np.ones((len(Y), 1)) if weight is None else np.sqrt(weight)[:, None]
        mean = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
        if intercept:
            mean = np.concatenate([_average(tile, weight) for _, tile in column_tiles(X)]), _average(Y, weight)
        return cls(X, root * (Y - mean[1]), root, mean)

    def tiles(self) -> Iterator[tuple[slice, Array]]:
        """Some columns at a time, for all rows."""
        for columns, tile in column_tiles(self.X):
            yield columns, self.root * (tile - self.mean[0][columns])

    def whole(self) -> Array:
        """All columns, copied."""
        return np.asarray(self.root * (dense(self.X) - self.mean[0]))

    def kernel(self) -> Array:
        """X Xᵀ."""
        if hasattr(self.X, "indptr") and (sparse := self._sparse_kernel()) is not None:
            return sparse
        K = np.zeros((len(self.y), len(self.y)))
        for _, tile in self.tiles():
            K += tile @ tile.T
        return K

    def _sparse_kernel(self) -> Array | None:
        """From the stored entries; None where the means are so large that taking them out would lose digits."""
        mean = self.mean[0]
        raw = (self.X @ self.X.T).toarray()
        across = np.asarray(self.X @ mean)[:, None]
        centred = raw - across - across.T + mean @ mean
        if np.trace(raw) > NEAR_ZERO**2 * np.trace(centred):
            return None
        return np.asarray(self.root * centred * self.root.T)

    def times(self, w: Array) -> Array:
        """X w."""
        fitted = np.zeros_like(self.y)
        for columns, tile in self.tiles():
            fitted += tile @ w[columns]
        return fitted

    def transposed_times(self, dual: Array) -> Array:
        """Xᵀα."""
        return np.concatenate([tile.T @ dual for _, tile in self.tiles()])

    def solution(self, w: Array, left: Array, left_out: Array, path: str, **known: Any) -> Solution:
        """With the means put back; `left` and `left_out` are lengths of what is left: see `closed_form`."""
        x, y = self.mean
        size = lengths(self.y) + np.concatenate([lengths(tile) for _, tile in self.tiles()]) @ np.abs(w)
        certificate = closed_form(left, size, f"the {path}", left_out)
        return Solution(LinearFit(w, y - x @ w, path, **known), certificate, ())


def solve_wide(rows: Rows, alpha: Array, *, intercept: bool, stable: bool) -> Solution:
    """By the kernel of the rows; by singular values where that is ill-conditioned, or nothing is penalised."""
    wide = Wide.of(rows, intercept=intercept)
    solution = by_kernel(wide, alpha) if alpha.all() and not stable else None
    return solution or by_singular_values(wide, alpha, rows.precision)


def by_kernel(wide: Wide, alpha: Array) -> Solution | None:
    """α = (X Xᵀ + alpha)⁻¹ y by Cholesky; None where that is not accurate."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = wide.kernel()
    dual = np.empty_like(wide.y)
    for strength in np.unique(alpha):
        factor = factored(raised(K, strength))
        if factor is None:
            return None
        dual[:, alpha == strength] = factor.correction(wide.y[:, alpha == strength])
    w = wide.transposed_times(dual)
    # at the optimum alpha · α is the residual (lecture 1); the gradient is Xᵀ of the difference
    left = lengths(wide.y - wide.times(w) - alpha * dual)
    solution = wide.solution(w, left, np.zeros_like(left), "kernel of the rows, by Cholesky")
    return solution if solution.certificate.holds else None


def by_singular_values(wide: Wide, alpha: Array, precision: float) -> Solution:
    """X = U S Vᵀ, for which all of X is copied; the shortest solution where alpha is 0."""
    whole = wide.whole()
    Q, R = np.linalg.qr(whole.T)
    if not np.isfinite(R).all():
        raise NonFiniteError(NOT_FINITE)
    U, every, right = np.linalg.svd(R.T)
    # below the smallest normal number values lose their digits, and have no reciprocals
    rounding = max(len(every) * ROUNDING * every.max(initial=0.0), np.finfo(float).tiny)
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


def column_tiles(X: Any) -> Iterator[tuple[slice, Array]]:
    """Some columns at a time, dense."""
    for columns in row_blocks(X.shape[1], max(1, WIDE_TILE // (8 * max(1, X.shape[0])))):
        yield columns, dense(X[:, columns])


def _average(values: Array, weight: Array | None) -> Array:
    """Weighted mean of the columns, exact for constant ones."""
    first = values[0].astype(float)
    with np.errstate(over="ignore", invalid="ignore"):  # whether the fit is finite is checked at the end
        return np.asarray(first + np.average(values - first, axis=0, weights=weight))
