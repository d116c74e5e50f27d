"""How much each row has to say in its own fit, and slopes with that taken off.

With A = xᵀ I⁻¹ x of a row and h its curvature, h A is its leverage: a fit to the other rows would have left a residual
1/(1 − h A) times as large. A row with a predictor for each class has matrices in their place, A_kl = x_kᵀ I⁻¹ x_l and
the curvature W = diag(p) − p pᵀ, and slopes (1 − W A)⁻¹ e for HC3, (1 − W A)^(−½) e for HC2 (the cluster of one row's
predictors, Bell and McCaffrey 2002).

A row of leverage 1 (the only one of its level, say) goes through its own response: its slope is 0 but for rounding and
the tolerance of the fit, which 1/(1 − 1) would blow up. It counts as 0.
"""

from __future__ import annotations

import numpy as np

from mercer._threads import ordered_stream, row_blocks
from mercer._typing import Array
from mercer.data.blocks import rows_per_block
from mercer.models.inference.bread import Bread
from mercer.models.inference.fitted import Fitted, squared_lengths

#: the largest leverage that leaves a row a residual of its own
MOST_LEVERAGE = 1 - 1e-10


def corrected_slopes(fitted: Fitted, bread: Bread, power: float) -> Array:
    """∂loss/∂η of each row times (1 − leverage)^−power, of shape (rows, predictors)."""
    # a frequency is so many rows, each of which has the leverage of one
    each = fitted.each if fitted.frequency else fitted.weight
    if fitted.rows.predictors > 1:
        return _of_classes(fitted, bread, power, each)
    h = each * fitted.rows.curvatures(fitted.observations.y, fitted.eta)(0, 0)
    leverage = h * squared_lengths(fitted.observations.design, fitted.free @ bread.root)
    return np.asarray(fitted.slopes / (_left(leverage) ** power)[:, None])


def _left(leverage: Array) -> Array:
    """1 − leverage; infinity, by which nothing is left of a slope, where there is no residual."""
    return np.where(leverage <= MOST_LEVERAGE, 1 - leverage, np.inf)


def _of_classes(fitted: Fitted, bread: Bread, power: float, each: Array) -> Array:
    k, design, slopes = fitted.rows.predictors, fitted.observations.design, fitted.slopes
    roots = (fitted.free @ bread.root).reshape(k, design.n_columns, bread.rank)

    def of_block(block: slice) -> Array:
        rows, y, eta = design.rows(block), fitted.observations.y[block], fitted.eta[block]
        moves = np.stack([rows.times(root) for root in roots], axis=1)
        curvature = fitted.rows.curvatures(y, eta)
        W = np.stack([np.stack([curvature(a, b) for b in range(k)], axis=1) for a in range(k)], axis=1)
        return _corrected(each[block, None, None] * W, moves @ moves.swapaxes(1, 2), slopes[block], power)

    blocks = row_blocks(design.n_rows, rows_per_block(k * bread.rank))
    return np.concatenate([np.zeros((0, k)), *ordered_stream(of_block, blocks)])


def _corrected(W: Array, A: Array, slopes: Array, power: float) -> Array:
    """(1 − W A)^−power e of each row.

    That is e + W A^½ g(M) A^½ e for M = A^½ W A^½ and g(z) = ((1 − z)^−power − 1) / z: nothing is inverted.
    """
    sizes, axes = np.linalg.eigh(A)
    root = (axes * np.sqrt(np.maximum(sizes, 0.0))[:, None, :]) @ axes.swapaxes(1, 2)
    leverages, turned = np.linalg.eigh(root @ W @ root)
    across = turned.swapaxes(1, 2) @ (root @ slopes[:, :, None])
    return np.asarray(slopes + (W @ (root @ (turned @ (_growth(leverages, power)[:, :, None] * across))))[:, :, 0])


def _growth(leverage: Array, power: float) -> Array:
    """g of leverages from 0 to 1; −1, by which nothing is left of a slope, where there is no residual."""
    z = np.clip(leverage, 0.0, MOST_LEVERAGE)
    growth = np.divide(np.expm1(-power * np.log1p(-z)), z, out=np.full_like(z, power), where=z > 0)
    return np.where(leverage <= MOST_LEVERAGE, growth, -1.0)
