"""The inverse of the information, by a root of it that keeps its digits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer._threads import blas_for, ordered_stream
from mercer._typing import Array
from mercer.models.inference.fitted import Fitted
from mercer.solvers.smooth.scaling import inverse_root

#: an information with a smaller pivot, parameters scaled to unit curvature, has lost too many digits to rounding for
#: its inverse: the R factor of the design keeps twice as many
ILL_CONDITIONED = 1e-6
#: an eigenvalue of a scaled p × p information below p times this, or its root of a scaled design, is zero to rounding
FLAT = 1e-15


@dataclass(frozen=True, eq=False)
class Bread:
    """`root` rootᵀ is the inverse of the information of the free parameters; `flat` spans what it says nothing of."""

    root: Array
    flat: Array

    @property
    def rank(self) -> int:
        return int(self.root.shape[1])

    @property
    def inverse(self) -> Array:
        return np.asarray(self.root @ self.root.T)


def bread_of(fitted: Fitted, *, observed: bool = False) -> Bread:
    """The inverse information at the estimate, the prior's part in it."""
    information = fitted.information(observed=observed)
    scale = inverse_root(np.diagonal(information))
    with blas_for(len(scale)):
        root = _root(information * scale * scale[:, None])
        if root is not None:
            return Bread(scale[:, None] * root, np.zeros((len(scale), 0)))
        if fitted.rows.predictors == 1 and not observed:
            return _from_r_factor(_r_factor(fitted))
        values, vectors = np.linalg.eigh(information * scale * scale[:, None])
    return _split(np.sqrt(np.maximum(values, 0.0)), vectors, scale, np.sqrt(FLAT * len(scale)))


def _root(information: Array) -> Array | None:
    """L⁻ᵀ of L Lᵀ; None where that would lose digits."""
    try:
        factor = np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return None
    if np.square(np.diagonal(factor)).min(initial=1.0) < ILL_CONDITIONED:
        return None
    return np.asarray(solve_triangular(factor, np.eye(len(factor)), lower=True).T)


def _r_factor(fitted: Fitted) -> Array:
    """R of √h X with √λ below it, block by block: the information is RᵀR, but never formed."""
    design, y, eta, weight = fitted.observations.design, fitted.observations.y, fitted.eta, fitted.weight

    def of_block(block: slice) -> Array:
        rows = design.rows(block).dense()
        h = weight[block] * fitted.rows.curvatures(y[block], eta[block])(0, 0)
        return np.asarray(np.linalg.qr(np.sqrt(h)[:, None] * rows, mode="r"))

    R = np.diag(np.sqrt(fitted.strengths.l2))
    for factor in ordered_stream(of_block, design.dense_blocks()):
        R = np.asarray(np.linalg.qr(np.vstack([R, factor]), mode="r"))
    return R


def _from_r_factor(factor: Array) -> Bread:
    scale = inverse_root(np.square(factor).sum(axis=0))
    scaled = factor * scale
    values, vectors = np.linalg.svd(scaled)[1:]
    values = np.append(values, np.zeros(len(scale) - len(values)))
    least = FLAT * len(scale)
    if values.min(initial=1.0) > least:
        triangle = np.linalg.qr(scaled, mode="r")
        return Bread(scale[:, None] * solve_triangular(triangle, np.eye(len(scale))), np.zeros((len(scale), 0)))
    return _split(values, vectors.T, scale, least)


def _split(values: Array, vectors: Array, scale: Array, least: float) -> Bread:
    """From square roots of the eigenvalues of a scaled information."""
    kept = values > least
    return Bread(scale[:, None] * vectors[:, kept] / values[kept], scale[:, None] * vectors[:, ~kept])
