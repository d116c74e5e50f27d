"""Loss, gradient and expected Hessian of linear predictors: the sums of one Newton step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.families.response import SoftmaxResponse

if TYPE_CHECKING:
    from mercer.matrices.base import Matrix

#: orders of the terms: the loss only
LOSS = 0
#: the loss and its gradient
GRADIENT = 1
#: the loss, its gradient and its Hessian
HESSIAN = 2


class NewtonTerms(NamedTuple):
    """Σ weight · loss, and unless the order is lower its gradient, like w, and its Hessian, a row for each entry of w.

    With several linear predictors the Hessian refers to the entries of w column by column: block (k, l) of p × p is
    Σ weight · p_k (δ_kl − p_l) x xᵀ.
    """

    loss: float
    gradient: Array | None
    hessian: Array | None


class ArraySum:
    """A sum of arrays that is accumulated in the first of them: a sparse matrix may have a million columns."""

    def __init__(self) -> None:
        self.total: Array | None = None

    def add(self, term: Array) -> None:
        if self.total is None:
            self.total = term
        else:
            self.total += term


def terms_by_tiles(
    X: Matrix, response: Any, w: Array, y: Array, weight: Array | None, offset: Array | None, order: int
) -> NewtonTerms:
    """Sum the terms of all tiles, each of which stays in the cache for all of its products."""
    loss, gradient, hessian = 0.0, ArraySum(), ArraySum()
    for rows, tile in X.tiles():
        eta = tile.matvec(w)
        if offset is not None:
            eta += offset[rows]
        of_rows = None if weight is None else weight[rows]
        if order == LOSS:
            loss += response.loss(y[rows], eta, of_rows)
            continue
        if w.ndim > 1:
            if order == HESSIAN:  # first, as slopes take the place of η
                hessian.add(tile.softmax_hessian(response, eta, of_rows))
            value, first = response.slopes(y[rows], eta, of_rows)
            gradient.add(tile.rmatvec(first))
        else:
            value, first, second = response.slopes(y[rows], eta, of_rows)
            gradient.add(tile.rmatvec(first))
            if order == HESSIAN:
                hessian.add(tile.gram(second))
        loss += value
    return NewtonTerms(loss, gradient.total, hessian.total)


def softmax_hessian(response: SoftmaxResponse, X: Array, eta: Array, weight: Array | None) -> Array:
    """Compute all pairs of classes in one product, then the diagonal blocks, where p − p² would lose digits."""
    k = eta.shape[1]
    P, rest = _probabilities(response, eta)
    n, p = X.shape
    root = np.ones(n) if weight is None else np.sqrt(weight)
    rows = ((root[:, None] * P)[:, :, None] * X[:, None, :]).reshape(n, k * p)
    hessian = -(rows.T @ rows)
    rows.reshape(n, k, p)[...] = (np.square(root)[:, None] * P * rest)[:, :, None] * X[:, None, :]
    blocks = (rows.T @ X).reshape(k, p, p)
    for c, block in enumerate(blocks):
        hessian[c * p : (c + 1) * p, c * p : (c + 1) * p] = block
    return hessian


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
