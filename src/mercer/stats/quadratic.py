"""Loss, gradient and expected Hessian of one Newton step, as statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._jit.gram import mirror, padded
from mercer._stored import reals, stored
from mercer._typing import Array
from mercer.families.loss_loops import BernoulliLogit
from mercer.families.losses import as_vector, as_weight
from mercer.families.response import Response, SoftmaxResponse
from mercer.matrices import DenseMatrix, Matrix, TensorMatrix, Tile
from mercer.matrices.dense import is_for_loops
from mercer.matrices.observations import OnePass
from mercer.matrices.tensor import TensorTile
from mercer.stats import _quadratic_loops as loops
from mercer.stats import _softmax_loops as loops_softmax_quadratic
from mercer.stats.base import silence_infinities

#: orders of an expansion: the loss only
LOSS = 0
#: the loss and its gradient
GRADIENT = 1
#: the loss, its gradient and its Hessian
HESSIAN = 2


@dataclass(frozen=True, eq=False)
class LossExpansion:
    """Mergeable sums at `point`: Σ weight · loss, its gradient and its expected Hessian (empty beyond `order`)."""

    response: Any
    point: Array
    order: int
    loss: float
    gradient: Array
    hessian: Array

    @classmethod
    def at(cls, response: Any, point: Array, order: int = HESSIAN) -> Self:
        """Return the sums of no rows. The gradient has the shape of the point, the Hessian a row per entry."""
        gradient = np.zeros(point.shape if order >= GRADIENT else (0,) * point.ndim)
        size = point.size if order == HESSIAN else 0
        return cls(response, point, order, 0.0, gradient, np.zeros((size, size)))

    def empty(self) -> Self:
        return self.at(self.response, self.point, self.order)

    @silence_infinities
    def merge(self, other: Self) -> Self:
        return replace(
            self,
            loss=self.loss + other.loss,
            gradient=self.gradient + other.gradient,
            hessian=self.hessian + other.hessian,
        )


@stored(point=reals(), gradient=reals(), hessian=reals(), tag="QuadraticStatistic")
@dataclass(frozen=True, eq=False)
class QuadraticExpansion(LossExpansion):
    """Expansion of the loss of one linear predictor for each row, at the coefficients `point`.

    A value of the design that is not finite makes the gradient, and mostly the loss, not finite.

    Examples
    --------
    >>> from mercer.matrices import DenseMatrix
    >>> from mercer.families import IDENTITY, Gaussian
    >>> design = DenseMatrix.of(np.array([[1.0], [2.0]]), intercept=False)
    >>> point = design.coordinates.from_user(np.array([1.0]))
    >>> float(QuadraticExpansion.at(Response(Gaussian(), IDENTITY), point).update(design, np.array([1.0, 4.0])).loss)
    2.0
    """

    response: Response

    @silence_infinities
    def update(self, design: Matrix, y: Array, weight: Array | None = None, offset: Array | None = None) -> Self:
        design.check_length(self.point)
        if self.order == HESSIAN:
            design.check_gram_columns()
        if isinstance(design, TensorMatrix):
            return self._update_tensors(design, y, weight, offset)
        if (updated := self._in_one_pass(design, y, weight, offset)) is not None:
            return updated
        loss, gradients, hessians = self.loss, _ExpansionSum(), _ExpansionSum()
        for rows, tile in design.tiles():
            eta = tile.matvec(self.point)
            if offset is not None:
                eta += offset[rows]
            of_rows = None if weight is None else weight[rows]
            if self.order == LOSS:
                loss += self.response.loss(y[rows], eta, of_rows)
                continue
            slopes = self.response.slopes(y[rows], eta, of_rows)
            loss += slopes.loss
            gradients.add(tile.rmatvec(slopes.first))
            if self.order == HESSIAN:
                hessians.add(tile.gram(slopes.second))
        return replace(self, loss=loss, gradient=gradients.plus(self.gradient), hessian=hessians.plus(self.hessian))

    def _update_tensors(self, design: TensorMatrix, y: Any, weight: Any, offset: Any) -> Self:
        """Add rows of tensors, which are read once, or twice if slopes need their own pass; once more for a Hessian."""
        logistic = isinstance(self.response.lower(), BernoulliLogit) and offset is None
        if logistic and self.order == GRADIENT and design.in_one_pass:  # pragma: no cover – only on a card
            loss, gradient = design.logistic(self.point, y, weight)
            if np.isfinite(loss):
                return replace(self, loss=self.loss + loss, gradient=self.gradient + gradient)
        eta = design.matvec(self.point)
        slopes = self.response.slopes(y, eta if offset is None else eta + offset, weight)
        if self.order == LOSS:
            return replace(self, loss=self.loss + slopes.loss)
        gradient = self.gradient + design.rmatvec(slopes.first)
        hessian = self.hessian + design.gram(slopes.second) if self.order == HESSIAN else self.hessian
        return replace(self, loss=self.loss + slopes.loss, gradient=gradient, hessian=hessian)

    def _in_one_pass(self, design: Matrix, y: Array, weight: Array | None, offset: Array | None) -> Self | None:
        """Compute all sums by a compiled loop; return None if there is none, or if the loss is not finite."""
        lowered = self.response.lower()
        if lowered is None or not isinstance(design, DenseMatrix):
            return None
        if self.order == HESSIAN and is_for_loops(design):
            return self._newton(lowered, design, y, weight, offset)
        if self.order == GRADIENT and offset is None and (rows := OnePass.of(design)) is not None:
            return self._gradient(lowered, rows, y, weight)
        return None

    def _gradient(self, lowered: Any, rows: OnePass, y: Array, weight: Array | None) -> Self | None:
        coefficients, level = rows.factors(self.point)
        total = np.zeros(len(coefficients))
        arrays = as_vector(y), as_weight(weight), total
        loss, slopes = loops.loss_and_gradient(lowered, rows.X, coefficients, float(level), *arrays)
        if not np.isfinite(loss):
            return None
        gradient = rows.rmatvec(total, np.asarray(slopes))
        return replace(self, loss=self.loss + loss, gradient=self.gradient + gradient)

    def _newton(
        self, lowered: Any, design: DenseMatrix, y: Array, weight: Array | None, offset: Array | None
    ) -> Self | None:
        p, working = len(self.point), design.coordinates
        width = padded(len(working.shift) + 1)
        point, gradient, hessian = np.zeros(width), np.zeros(width), np.zeros((width, width))
        point[:p] = self.point
        rows = as_vector(y), as_weight(weight), as_weight(offset)
        loss = loops.newton(lowered, design.X, working.shift, 1 / working.scale, point, *rows, gradient, hessian)
        if not np.isfinite(loss):
            return None
        mirror(hessian)
        return replace(
            self,
            loss=self.loss + loss,
            gradient=self.gradient + gradient[:p],
            hessian=self.hessian + hessian[:p, :p],
        )


class _ExpansionSum:
    """A sum of arrays that is accumulated in the first of them: a sparse design may have a million columns."""

    def __init__(self) -> None:
        self._total: Array | None = None

    def add(self, term: Array) -> None:
        if self._total is None:
            self._total = term
        else:
            self._total += term

    def plus(self, before: Array) -> Array:
        return before if self._total is None else np.add(before, self._total, out=self._total)


@stored(point=reals(), gradient=reals(), hessian=reals())
@dataclass(frozen=True, eq=False)
class SoftmaxExpansion(LossExpansion):
    """Expansion of the loss of a linear predictor for each class, at the coefficients `point`, (p, columns of η).

    The Hessian refers to the entries of the point column by column: block (k, l) of p × p is
    Σ weight · p_k (δ_kl − p_l) x xᵀ.

    Examples
    --------
    >>> from mercer.matrices import DenseMatrix
    >>> design = DenseMatrix.of(np.array([[1.0], [2.0], [3.0]]))
    >>> sums = SoftmaxExpansion.at(SoftmaxResponse(3), np.zeros((2, 3))).update(design, np.array([0, 1, 2]))
    >>> round(float(sums.loss / np.log(3)), 12)
    3.0
    """

    response: SoftmaxResponse

    @silence_infinities
    def update(self, design: Matrix, y: Array, weight: Array | None = None, offset: Array | None = None) -> Self:
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
        loss, sums = loops_softmax_quadratic.loss_and_gradient(rows.X, W, level, codes, weights, implied, total)
        gradient = rows.rmatvec(total[:k, :d].T, sums)
        return replace(self, loss=self.loss + loss, gradient=self.gradient + gradient)

    def _by_tiles(self, design: Matrix, y: Array, weight: Array | None, offset: Array | None) -> Self:
        loss, gradient, hessian = self.loss, self.gradient.copy(), self.hessian.copy()
        for rows, tile in design.tiles():
            eta = tile.matvec(self.point)
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
                gradient += tile.rmatvec(slopes)
        return replace(self, loss=loss, gradient=gradient, hessian=hessian)

    def _curvature(self, tile: Tile, eta: Array, weight: Array | None) -> Array:
        """Compute all pairs of classes in one product, then the diagonal blocks, where p − p² would lose digits."""
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
        """Compute one pair of classes after the other, on the device."""
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
    """Return p and 1 − p in the columns of η, both without cancellation."""
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
