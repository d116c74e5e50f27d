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
from mercer.inference._covariance import DETERMINED, Covariance
from mercer.inference._fitted import FittedModel, MeanRows, squared_lengths
from mercer.inference._profile import quantile
from mercer.matrices import Design

#: points at which a mean that is not known for sure is tried, for the distribution of an observation
NODES = 21
#: halvings that leave no more than rounding of an interval
HALVINGS = 60
#: a mean of 0, which is no parameter of most families, is this part of the largest one that is tried
VANISHING = 1e-100


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows to predict for, by a fit."""

    fitted: FittedModel
    design: Design
    offset: Array | None

    @cached_property
    def eta(self) -> Array:
        """η of every row, of shape (rows, predictors)."""
        eta = self.design.times(self.fitted.theta.reshape(self.fitted.rows.predictors, -1).T)
        return eta if self.offset is None else eta + self.offset[:, None]


def _errors_of_predictor(new: NewRows, covariance: Covariance) -> Array:
    """Standard errors of η, where there is one for each row; see `_errors`."""
    return _errors(lambda root: np.sqrt(squared_lengths(new.design, root)), new, covariance)


def _errors(moved: Callable[[Array], Array], new: NewRows, covariance: Covariance) -> Array:
    """Standard errors of what `moved` says how far it moves as θ goes along the columns of a matrix.

    NaN where the rows of the fit do not determine it: collinear columns no longer go together, or a column that did not
    vary has another value.
    """
    errors, bread, free = moved(covariance.spread), covariance.bread, new.fitted.free
    if not bread.flat.size:
        return errors
    return np.where(moved(free @ bread.flat) > DETERMINED * moved(free @ bread.root), np.nan, errors)


def interval_of_mean(new: NewRows, covariance: Covariance, level: float) -> PredictionInterval:
    """On the scale of the linear predictor, where the estimate is nearest to normal, and carried over to the mean."""
    wanted, rows, eta = quantile(covariance, level), new.fitted.rows, new.eta
    if not isinstance(rows, MeanRows):
        return PredictionInterval(*_shares(new, covariance, eta, wanted), level, "mean")
    eta, half = eta[:, 0], wanted * _errors_of_predictor(new, covariance)
    mean, *ends = (rows.response.limited_mean(eta + move, eta) for move in (0.0, -half, half))
    lower, upper = np.sort(ends, axis=0)  # some links fall
    return PredictionInterval(mean, lower, upper, level, "mean")


def _shares(new: NewRows, covariance: Covariance, eta: Array, wanted: float) -> tuple[Array, Array, Array]:
    """Probabilities of classes, by the delta method on their log odds: log p_k/(1 − p_k) = η_k − log Σ_{j≠k} e^η_j."""
    k = eta.shape[1]

    def of_block(block: slice) -> Array:
        others = np.where(np.eye(k, dtype=bool), -np.inf, eta[block, None, :])
        slopes = np.eye(k) - softmax(others, axis=2)  # (rows, class, predictor)
        rows = new.design.rows(block)

        def moved(root: Array) -> Array:
            moves = np.stack([rows.times(part) for part in root.reshape(k, -1, root.shape[1])], axis=1)
            return np.asarray(np.sqrt(np.square(slopes @ moves).sum(axis=2)))

        half = wanted * _errors(moved, new, covariance)
        odds = eta[block] - logsumexp(others, axis=2)
        return np.stack([expit(odds - half), expit(odds + half)])

    ends = [np.zeros((2, 0, k)), *ordered_stream(of_block, _blocks_of_classes(new.design, k))]
    return softmax(eta, axis=1), *np.concatenate(ends, axis=1)


def _blocks_of_classes(design: Design, classes: int) -> list[slice]:
    """So that a block's moves, a number for each row, class and parameter, are as many as others are of a matrix."""
    return row_blocks(design.n_rows, rows_per_block(design.n_columns * classes**2))


def interval_of_observation(new: NewRows, covariance: Covariance, level: float) -> PredictionInterval:
    """For a normal response with the identity link exact; else from the family's distribution, averaged over η."""
    rows = new.fitted.rows
    if not isinstance(rows, MeanRows):
        raise InferenceError("a class is not a number, so no interval can hold it; use predict_proba, or kind='mean'.")
    if new.fitted.trials is not None:
        raise InferenceError(
            "how far a share of successes spreads depends on the number of trials, which new rows do not have; use "
            "kind='mean'."
        )
    wanted, eta = quantile(covariance, level), new.eta[:, 0]
    error = _errors_of_predictor(new, covariance)
    if isinstance(rows.family, Gaussian) and rows.response.link == IDENTITY:
        half = wanted * np.sqrt(np.square(error) + covariance.dispersion)
        return PredictionInterval(eta, eta - half, eta + half, level, "observation")
    nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
    mean = rows.response.limited_mean(eta, eta)
    means = rows.response.limited_mean(eta + error * nodes[:, None], eta)
    mixture = PredictiveMixture.of(rows.family, means, covariance.dispersion, shares[:, None] / shares.sum())
    lower, upper = (np.where(np.isnan(error), np.nan, mixture.quantile((1 + s) / 2)) for s in (-level, level))
    return PredictionInterval(mean, lower, upper, level, "observation")


@dataclass(frozen=True, eq=False)
class PredictiveMixture:
    """Distributions of a family with several means for each row, on the first axis, and the share of each."""

    parts: Distribution
    shares: Array
    #: the shares of means −∞, and of all that are finite
    below: Array
    finite: Array

    @classmethod
    def of(cls, family: Family, means: Array, dispersion: float, shares: Array) -> Self:
        """Of means at the edge of the range, too: one that is infinite leaves no probability for any number."""
        there = np.isfinite(means)
        held = np.where(there, means, 1.0)
        held = np.where(held == 0, VANISHING * np.abs(held).max(axis=0), held)
        parts = Distribution(family, family.at_mean(held, dispersion))
        shares = np.broadcast_to(shares, means.shape)
        below = np.where(np.isneginf(means), shares, 0.0).sum(axis=0)
        shares = np.where(there, shares, 0.0)
        return cls(parts, shares, below, np.where(there.all(axis=0), 1.0, shares.sum(axis=0)))

    def quantile(self, q: float) -> Array:
        """The smallest value that each row stays below with probability q."""
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = (q - self.below) / self.finite
        some = (wanted > 0) & (wanted < 1)
        shares = np.where(some, self.shares / np.where(some, self.finite, 1.0), 1.0)
        found = _quantile(self.parts, shares, np.where(some, wanted, 0.5))
        return np.where(some, found, np.where(wanted <= 0, -np.inf, np.inf))


def _quantile(mixture: Distribution, shares: Array, q: Array) -> Array:
    """The smallest value that a mixture over the first axis stays below with probability q."""
    each = mixture.quantile(np.broadcast_to(q, shares.shape))
    low, high = np.where(shares > 0, each, np.inf).min(axis=0), np.where(shares > 0, each, -np.inf).max(axis=0)
    for _ in range(HALVINGS):
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
