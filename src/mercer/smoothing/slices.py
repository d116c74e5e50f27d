"""Kernels cut by a condition: what a joint density leaves of each window where some columns have given values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth

if TYPE_CHECKING:
    from mercer.smoothing.windows import Windows


@dataclass(frozen=True, eq=False)
class Slice:
    """Windows of the columns that are left: log weights (w_j K_x(x − x_j)), their points, and their bandwidth."""

    log_weight: Array
    points: Array
    bandwidth: Bandwidth


def slice_at(windows: Windows, given: Mapping[int, float]) -> Slice:
    """Every kernel of `windows` where the columns `given` have these values; exact for products and for Gaussians.

    A Gaussian with a full Σ moves with the condition: its mean is x_jB + Σ_BA Σ_AA⁻¹(x_A − x_jA), its covariance the
    Schur complement Σ_BB − Σ_BA Σ_AA⁻¹ Σ_AB, whatever the factor by which it is wider.
    """
    A = list(given)
    B = [column for column in range(windows.columns) if column not in given]
    away = np.array([given[column] for column in A], dtype=float) - windows.points[:, A]
    if windows.is_separable or np.ndim(windows.bandwidth.value) < 2:
        return Slice(_log_weight(windows, A, away), windows.points[:, B], narrowed(windows.bandwidth, B))
    Sigma = np.asarray(windows.bandwidth.value)
    pull = cho_solve(cho_factor(Sigma[np.ix_(A, A)], lower=True), Sigma[np.ix_(A, B)])
    left = Sigma[np.ix_(B, B)] - Sigma[np.ix_(B, A)] @ pull
    bandwidth = replace(windows.bandwidth, value=(left + left.T) / 2, criterion=None)
    return Slice(_log_weight(windows, A, away), windows.points[:, B] + away @ pull, bandwidth)


def _log_weight(windows: Windows, A: list[int], away: Array) -> Array:
    """log w_j λ_j⁻ᵃ k((x − x_j)/λ_j), less what is the same for all points."""
    narrow = narrowed(windows.bandwidth, A)
    U, logs = narrow.whiten(away), np.zeros(len(away))
    if windows.factors is not None:
        U, logs = U / windows.factors[:, None], -len(A) * np.log(windows.factors)
    if windows.share is not None:
        with np.errstate(divide="ignore"):
            logs = logs + np.log(windows.share)
    return logs + windows.kernel.log_density(U)


def narrowed(bandwidth: Bandwidth, keep: list[int]) -> Bandwidth:
    """The bandwidth of some of the columns."""
    value = np.asarray(bandwidth.value)
    if value.ndim == 0:
        return bandwidth
    return replace(bandwidth, value=value[keep] if value.ndim == 1 else value[np.ix_(keep, keep)], criterion=None)
