"""The loss of successes among trials, computed from log p and log(1 − p): both exist where p rounds to 0 or 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from mercer._jit.families.losses import BernoulliLogit
from mercer._typing import Array
from mercer.families._link import Interval, Link
from mercer.families._row_loss import SMALLEST, RowLoss, Rows
from mercer.families._saddle import deviance
from mercer.families.power_links import exponent_of
from mercer.families.share_links import ComplementaryLogLog, Logit, Probit


@dataclass(frozen=True)
class ShareLoss(RowLoss):
    """V = μ(1 − μ/N): the link is one of the share μ/N.

    `binary` promises responses of 0 or 1, which have a faster way.
    """

    trials: int
    binary: bool = False

    def lower(self, link: Link) -> Any:
        return BernoulliLogit() if self.binary and link == Logit() else None

    def is_convex(self, link: Link) -> bool:
        """Where log p and log(1 − p) are both concave: for p = η^(1/k) if 0 ≤ k ≤ 1, with k = 0 for the logarithm."""
        k = exponent_of(link)
        return isinstance(link, Logit | Probit | ComplementaryLogLog) if k is None else 0 <= k <= 1

    @property
    def means(self) -> Interval:
        return (0.0, float(self.trials))

    def variance(self, mean: Array) -> Array:
        return np.asarray(mean * (1 - mean / self.trials))

    def deviance(self, y: Array, mean: Array) -> Array:
        return 2 * (deviance(y, mean) + deviance(self.trials - np.asarray(y), self.trials - np.asarray(mean)))

    def rows(self, y: Array, eta: Array, link: Link) -> Rows:
        success, failure = link.log_curve(eta), link.log_rest_curve(eta)
        first = -_times(y, success.first) - _times(self.trials - y, failure.first)
        loss = self._loss(y, success.value, failure.value, link.inverse(eta))
        return Rows(loss, first, -self.trials * success.first * failure.first)

    def losses(self, y: Array, eta: Array, link: Link) -> Array:
        return self._loss(y, link.log_curve(eta).value, link.log_rest_curve(eta).value, link.inverse(eta))

    def _loss(self, y: Array, log_p: Array, log_q: Array, p: Array) -> Array:
        rest = self.trials - y
        away = -_times(y, log_p) - _times(rest, log_q)
        between = (y > 0) & (rest > 0)
        if not between.any():
            return away
        # less what a perfect fit would leave; where both chances are numbers, without subtracting large ones
        away = away + xlogy(y, y / self.trials) + xlogy(rest, rest / self.trials)
        q = np.exp(log_q)
        near = deviance(y, self.trials * p) + deviance(rest, self.trials * q)
        return np.where(between & (p > SMALLEST) & (q > SMALLEST), near, away)

    def observed(self, y: Array, eta: Array, link: Link) -> Array:
        success, failure = link.log_curve(eta), link.log_rest_curve(eta)
        return -_times(y, success.second) - _times(self.trials - y, failure.second)


def _times(count: Array, logarithm: Array) -> Array:
    """count · logarithm, where what did not happen costs nothing however unlikely it was."""
    return np.where((count == 0) & ~np.isnan(logarithm), 0.0, count * logarithm)
