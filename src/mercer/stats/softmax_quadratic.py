"""`Quadratic` for one of several classes: loss, gradient and Hessian at one matrix of coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._jit.gram import padded
from mercer._jit.stats import softmax_quadratic as loops
from mercer._stored import reals, stored
from mercer._typing import Array
from mercer.designs import Design, Tile
from mercer.designs.one_pass import OnePass
from mercer.designs.tensors import TensorTile
from mercer.families.softmax import SoftmaxResponse
from mercer.stats.base import as_weight, spoilt_sums_are_silent
from mercer.stats.quadratic import GRADIENT, HESSIAN, Expansion


@stored(point=reals(), gradient=reals(), hessian=reals())
@dataclass(frozen=True, eq=False)
class SoftmaxQuadratic(Expansion):
    """The loss of a linear predictor for each class, at the coefficients `point`, (p, columns of η).

    The Hessian is that of its entries column by column: block (k, l) of p × p is
    Σ weight · p_k (δ_kl − p_l) x xᵀ.

    Examples
    --------
    >>> from mercer.designs import DenseDesign
    >>> design = DenseDesign.of(np.array([[1.0], [2.0], [3.0]]))
    >>> sums = SoftmaxQuadratic.at(SoftmaxResponse(3), np.zeros((2, 3))).update(design, np.array([0, 1, 2]))
    >>> round(float(sums.loss / np.log(3)), 12)
    3.0
    """

    response: SoftmaxResponse

    @spoilt_sums_are_silent
    def update(self, design: Design, y: Array, weight: Array | None = None, offset: Array | None = None) -> Self:
        if self.order == GRADIENT and offset is None and (rows := OnePass.of(design)) is not None:
            return self._in_one_pass(rows, y, weight)
        return self._by_tiles(design, y, weight, offset)

    def _in_one_pass(self, rows: OnePass, y: Array, weight: Array | None) -> Self:
        coefficients, level = rows.factors(self.point)
        d, k = coefficients.shape
        W, total = np.zeros((d, padded(k))), np.zeros((padded(k), padded(d)))
        W[:, :k] = coefficients
        implied = self.response.reference is not None
        codes, weights = self.response.columns_of(y), as_weight(weight)
        loss, sums = loops.loss_and_gradient(rows.X, W, level, codes, weights, implied, total)
        gradient = rows.transposed_times(total[:k, :d].T, sums)
        return replace(self, loss=self.loss + loss, gradient=self.gradient + gradient)

    def _by_tiles(self, design: Design, y: Array, weight: Array | None, offset: Array | None) -> Self:
        loss, gradient, hessian = self.loss, self.gradient.copy(), self.hessian.copy()
        for rows, tile in design.tiles():
            eta = tile.times(self.point)
            if offset is not None:
                eta += offset[rows]
            of_rows = None if weight is None else weight[rows]
            if self.order == HESSIAN:
                curvature = self._curvature_of_tensors if isinstance(tile, TensorTile) else self._curvature
                hessian += curvature(tile, eta, of_rows)
            if self.order < GRADIENT:
                loss += self.response.loss(y[rows], eta, of_rows)
            else:
                more, slopes = self.response.slopes(y[rows], eta, of_rows)
                loss += more
                gradient += tile.transposed_times(slopes)
        return replace(self, loss=loss, gradient=gradient, hessian=hessian)

    def _curvature(self, tile: Tile, eta: Array, weight: Array | None) -> Array:
        """All pairs of classes in one product; then the diagonal blocks, where p − p² would lose digits."""
        X, k = tile.dense(), eta.shape[1]
        P, rest = _probabilities(self.response, eta)
        n, p = X.shape
        root = np.ones(n) if weight is None else np.sqrt(weight)
        rows = ((root[:, None] * P)[:, :, None] * X[:, None, :]).reshape(n, k * p)
        hessian = -(rows.T @ rows)
        rows.reshape(n, k, p)[...] = (np.square(root)[:, None] * P * rest)[:, :, None] * X[:, None, :]
        blocks = (rows.T @ X).reshape(k, p, p)
        for c, block in enumerate(blocks):
            hessian[c * p : (c + 1) * p, c * p : (c + 1) * p] = block
        return hessian

    def _curvature_of_tensors(self, tile: Tile, eta: Any, weight: Any) -> Array:
        """One pair of classes after the other, where the rows are."""
        P: Any = self.response.probabilities(eta)
        k, p = eta.shape[1], len(self.point)
        reference = self.response.reference
        kept = [c for c in range(P.shape[1]) if c != reference]
        hessian = np.empty((k, p, k, p))
        for c, this in enumerate(kept):
            others = P[:, :this].sum(dim=1) + P[:, this + 1 :].sum(dim=1)  # 1 − p would lose digits
            heavy = P[:, this] if weight is None else weight * P[:, this]
            hessian[c, :, c] = tile.gram(heavy * others)
            for b in range(c):
                hessian[c, :, b] = hessian[b, :, c] = -tile.gram(heavy * P[:, kept[b]])
        return hessian.reshape(k * p, k * p)


def _probabilities(response: SoftmaxResponse, eta: Array) -> tuple[Array, Array]:
    """p and 1 − p in the columns of η, both without cancellation."""
    every = response.probabilities(eta)
    rest = np.where(every > 0.5, 0.0, 1.0 - every)
    sure = np.flatnonzero((every > 0.5).any(axis=1))
    top = every[sure].argmax(axis=1)
    others = every[sure]
    others[np.arange(len(sure)), top] = 0.0
    rest[sure, top] = others.sum(axis=1)
    if response.reference is None:
        return every, rest
    return np.delete(every, response.reference, axis=1), np.delete(rest, response.reference, axis=1)
