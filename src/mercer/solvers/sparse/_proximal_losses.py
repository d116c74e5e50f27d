"""Losses of rows at a linear predictor, and how much they lose by a share of their slopes: see `duality`.

By the definition of the conjugate, D(s) = f(η) − f(η') − f'(η') (η − η') at the η' where f'(η') = s f'(η): Bregman's
divergence. For the losses below it is one of Kullback and Leibler's, K(a, b) = a log(a/b) − a + b:

    Bernoulli, logit            K(p', p) + K(1 − p', 1 − p)           p' = y + s (p − y)
    negative binomial, log      the same of y + r trials              the share of successes is μ/(μ + r)
    Poisson, log                K(μ', μ)                              μ' = y + s (μ − y)
    gamma, log                  K(z', z) at z = y/μ                   z' = 1 − s (1 − z)

and of squared hinge losses it is (1 − s)² (1 − yη)₊², as for least squares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, kl_div

from mercer._jit.families import losses
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.designs import Observations
from mercer.families.response import Response, Slopes
from mercer.solvers.sparse.duality import squares_lost
from mercer.solvers.sparse.squared_hinge import SquaredHinge

#: rows that a thread takes at a time
BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class Losses:
    """Of all rows, as functions of their linear predictors."""

    observations: Observations
    response: Response

    def slopes(self, eta: Array) -> Slopes:
        """Σ weight · loss, and for each row its slope and expected curvature."""
        y, weight = self.observations.y, self.observations.weight

        def of_block(rows: slice) -> Slopes:
            return self.response.slopes(y[rows], eta[rows], None if weight is None else weight[rows])

        parts = ordered_map(of_block, row_blocks(len(eta), BLOCK))
        first, second = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
        return Slopes(sum(part.loss for part in parts), first, second)

    @property
    def total(self) -> float:
        """Σ weight."""
        weight = self.observations.weight
        return float(len(self.observations) if weight is None else weight.sum())

    @property
    def dual(self) -> bool:
        """Whether D(s) is known."""
        return type(self.response.lower()) in DIVERGENCES

    def lost(self, eta: Array) -> Callable[[float], float]:
        """D(s)."""
        y, weight, loss = self.observations.y, self.observations.weight, self.response.lower()
        if isinstance(loss, losses.GaussianIdentity):
            squares = np.square(y - eta)
            return squares_lost(float(squares.sum() if weight is None else weight @ squares))

        def divergence(share: float) -> float:
            if share == 1:
                return 0.0
            return sum(ordered_map(lambda block: of_block(block, share), row_blocks(len(eta), BLOCK)))

        def of_block(block: slice, share: float) -> float:
            rows: Array = DIVERGENCES[type(loss)](loss, y[block], eta[block], share)
            return float(rows.sum() if weight is None else weight[block] @ rows)

        return divergence


def _of_shares(y: Array, eta: Array, share: float) -> Array:
    p, q = expit(eta), expit(-eta)
    return np.asarray(kl_div((1 - share) * y + share * p, p) + kl_div((1 - share) * (1 - y) + share * q, q))


def _bernoulli(loss: losses.BernoulliLogit, y: Array, eta: Array, share: float) -> Array:
    return _of_shares(y, eta, share)


def _negative_binomial(loss: losses.NegativeBinomialLog, y: Array, eta: Array, share: float) -> Array:
    trials = y + loss.r
    return np.asarray(trials * _of_shares(y / trials, eta - loss.log_r, share))


def _poisson(loss: losses.PoissonLog, y: Array, eta: Array, share: float) -> Array:
    mean = np.exp(eta)
    return np.asarray(kl_div((1 - share) * y + share * mean, mean))


def _gamma(loss: losses.GammaLog, y: Array, eta: Array, share: float) -> Array:
    ratio = y * np.exp(-eta)
    return np.asarray(kl_div((1 - share) + share * ratio, ratio))


def _squared_hinge(loss: SquaredHinge, y: Array, eta: Array, share: float) -> Array:
    return np.asarray(np.square((1 - share) * np.maximum(1 - y * eta, 0.0)))


DIVERGENCES: dict[type[Any], Any] = {
    losses.GaussianIdentity: None,
    losses.BernoulliLogit: _bernoulli,
    losses.NegativeBinomialLog: _negative_binomial,
    losses.PoissonLog: _poisson,
    losses.GammaLog: _gamma,
    SquaredHinge: _squared_hinge,
}
