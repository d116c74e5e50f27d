"""Intervals for new rows: for the mean, and for an observation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import expit, logsumexp, softmax

from mercer._errors import InferenceError
from mercer._threads import ordered_stream, row_blocks
from mercer._typing import Array
from mercer.base.prediction_interval import PredictionInterval
from mercer.data.blocks import rows_per_block
from mercer.families import IDENTITY, Distribution, Family, Gaussian
from mercer.inference._covariance import UNDETERMINED_RATIO, Covariance
from mercer.inference._fitted import FittedModel, MeanRows, squared_lengths
from mercer.inference._profile import interval_quantile
from mercer.matrices import Matrix

#: number of nodes of the quadrature over η, for the distribution of an observation
QUADRATURE_NODES = 21
#: number of bisections that determine a quantile to rounding
QUANTILE_BISECTIONS = 60
#: ratio to the largest mean by which a mean of 0, which most families do not allow, is replaced
REPLACED_ZERO_MEAN = 1e-100


@dataclass(frozen=True, eq=False)
class NewRows:
    """New rows, with the fit that predicts them."""

    fitted: FittedModel
    design: Matrix
    offset: Array | None

    @cached_property
    def eta(self) -> Array:
        """Linear predictors η of every row, of shape (rows, predictors)."""
        eta = self.design.matvec(self.fitted.theta.reshape(self.fitted.rows.predictors, -1).T)
        return eta if self.offset is None else eta + self.offset[:, None]


def _errors_of_predictor(new: NewRows, covariance: Covariance) -> Array:
    """Return standard errors of η, for one predictor per row; see `_errors`."""
    return _errors(lambda root: np.sqrt(squared_lengths(new.design, root)), new, covariance)


def _errors(length: Callable[[Array], Array], new: NewRows, covariance: Covariance) -> Array:
    """Return standard errors of a linear function of θ; `length` returns its change, as θ moves by columns of a matrix.

    They are NaN if the rows of the fit do not determine the function: columns that were collinear no longer are, or a
    column that did not vary has another value.
    """
    errors, bread, free = length(covariance.spread), covariance.bread, new.fitted.free
    if not bread.flat.size:
        return errors
    return np.where(length(free @ bread.flat) > UNDETERMINED_RATIO * length(free @ bread.root), np.nan, errors)


def interval_of_mean(new: NewRows, covariance: Covariance, level: float) -> PredictionInterval:
    """Return intervals of the mean: intervals of η, whose estimate is closest to normal, transformed by the link."""
    wanted, rows, eta = interval_quantile(covariance, level), new.fitted.rows, new.eta
    if not isinstance(rows, MeanRows):
        return PredictionInterval(*_shares(new, covariance, eta, wanted), level, "mean")
    eta, half = eta[:, 0], wanted * _errors_of_predictor(new, covariance)
    mean, *ends = (rows.response.limited_mean(eta + move, eta) for move in (0.0, -half, half))
    lower, upper = np.sort(ends, axis=0)  # some links decrease
    return PredictionInterval(mean, lower, upper, level, "mean")


def _shares(new: NewRows, covariance: Covariance, eta: Array, wanted: float) -> tuple[Array, Array, Array]:
    """Return probabilities of classes and their intervals, by the delta method on log p_k/(1 − p_k) = η_k −
    log Σ_{j≠k} e^η_j.
    """
    k = eta.shape[1]

    def compute_block(block: slice) -> Array:
        others = np.where(np.eye(k, dtype=bool), -np.inf, eta[block, None, :])
        slopes = np.eye(k) - softmax(others, axis=2)  # (rows, class, predictor)
        rows = new.design.rows(block)

        def length(root: Array) -> Array:
            moves = np.stack([rows.matvec(part) for part in root.reshape(k, -1, root.shape[1])], axis=1)
            return np.asarray(np.sqrt(np.square(slopes @ moves).sum(axis=2)))

        half = wanted * _errors(length, new, covariance)
        odds = eta[block] - logsumexp(others, axis=2)
        return np.stack([expit(odds - half), expit(odds + half)])

    # the moves of a block have a number for each row, class and parameter
    blocks = row_blocks(new.design.n_rows, rows_per_block(new.design.n_columns * k**2))
    ends = [np.zeros((2, 0, k)), *ordered_stream(compute_block, blocks)]
    return softmax(eta, axis=1), *np.concatenate(ends, axis=1)


def interval_of_observation(new: NewRows, covariance: Covariance, level: float) -> PredictionInterval:
    """Return intervals of an observation: exact for a normal response with the identity link, otherwise from the
    family's distribution, averaged over η.
    """
    rows = new.fitted.rows
    if not isinstance(rows, MeanRows):
        raise InferenceError("a class is not a number, so no interval can hold it; use predict_proba, or kind='mean'.")
    if new.fitted.trials is not None:
        raise InferenceError(
            "how far a share of successes spreads depends on the number of trials, which new rows do not have; use "
            "kind='mean'."
        )
    wanted, eta = interval_quantile(covariance, level), new.eta[:, 0]
    error = _errors_of_predictor(new, covariance)
    if isinstance(rows.family, Gaussian) and rows.response.link == IDENTITY:
        half = wanted * np.sqrt(np.square(error) + covariance.dispersion)
        return PredictionInterval(eta, eta - half, eta + half, level, "observation")
    nodes, shares = np.polynomial.hermite_e.hermegauss(QUADRATURE_NODES)
    mean = rows.response.limited_mean(eta, eta)
    means = rows.response.limited_mean(eta + error * nodes[:, None], eta)
    mixture = PredictiveMixture.of(rows.family, means, covariance.dispersion, shares[:, None] / shares.sum())
    lower, upper = (np.where(np.isnan(error), np.nan, mixture.quantile((1 + s) / 2)) for s in (-level, level))
    return PredictionInterval(mean, lower, upper, level, "observation")


@dataclass(frozen=True, eq=False)
class PredictiveMixture:
    """Mixture of distributions of a family with several means for each row, on the first axis, and their shares."""

    parts: Distribution
    shares: Array
    #: shares of means −∞
    below: Array
    #: shares of finite means
    finite: Array

    @classmethod
    def of(cls, family: Family, means: Array, dispersion: float, shares: Array) -> Self:
        """Return the mixture, also for means at the edge of the range: an infinite mean has no finite quantile."""
        is_finite = np.isfinite(means)
        allowed = np.where(is_finite, means, 1.0)
        allowed = np.where(allowed == 0, REPLACED_ZERO_MEAN * np.abs(allowed).max(axis=0), allowed)
        parts = Distribution(family, family.at_mean(allowed, dispersion))
        shares = np.broadcast_to(shares, means.shape)
        below = np.where(np.isneginf(means), shares, 0.0).sum(axis=0)
        shares = np.where(is_finite, shares, 0.0)
        return cls(parts, shares, below, np.where(is_finite.all(axis=0), 1.0, shares.sum(axis=0)))

    def quantile(self, q: float) -> Array:
        """Return the quantile of each row."""
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = (q - self.below) / self.finite
        is_inside = (wanted > 0) & (wanted < 1)
        shares = np.where(is_inside, self.shares / np.where(is_inside, self.finite, 1.0), 1.0)
        quantiles = _quantile(self.parts, shares, np.where(is_inside, wanted, 0.5))
        return np.where(is_inside, quantiles, np.where(wanted <= 0, -np.inf, np.inf))


def _quantile(mixture: Distribution, shares: Array, q: Array) -> Array:
    """Return the quantiles of mixtures over the first axis, by bisection."""
    each = mixture.quantile(np.broadcast_to(q, shares.shape))
    low, high = np.where(shares > 0, each, np.inf).min(axis=0), np.where(shares > 0, each, -np.inf).max(axis=0)
    for _ in range(QUANTILE_BISECTIONS):
        middle = (low + high) / 2
        middle = np.floor(middle) if mixture.family.discrete else middle
        enough = (shares * mixture.cdf(np.broadcast_to(middle, each.shape))).sum(axis=0) >= q
        low, high = (
            np.where(enough, low, middle + 1 if mixture.family.discrete else middle),
            np.where(enough, middle, high),
        )
        if (low >= high).all():
            break
    return np.asarray(high)
