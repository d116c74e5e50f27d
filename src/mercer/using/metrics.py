"""Measures of predictions for rows that a model has not seen. Every measure equals scikit-learn's of that name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.report import Field

Array = NDArray[Any]


class Forecast(NamedTuple):
    """What a model says of some rows: its decisions, and how sure it is where it says so.

    Of classes, `decisions` are positions among the labels of the task (−1 for a label that is none of them),
    `log_proba` and `scores` have a column for each label; of numbers, there are decisions only.
    """

    decisions: Array
    log_proba: Array | None = None
    scores: Array | None = None


class Outcome(NamedTuple):
    """A forecast beside the truth.

    `baseline` is the mean of the target over the training rows. `seen` has, for each class, whether a training row has
    it. `lowest` is the mean that stands for a predicted count of 0 or less.
    """

    truth: Array
    forecast: Forecast
    baseline: float = math.nan
    seen: Array | None = None
    lowest: float = 0.0


class Metric(NamedTuple):
    """A measure: its name in `scores`, its heading, its format, which way is better, its bounds, and its meaning."""

    name: str
    heading: str
    form: str
    measure: Callable[[Outcome], float]
    larger_is_better: bool = False
    low: float = 0.0
    high: float = math.inf
    #: whether it has a column of the leaderboard; `frame()` has all
    shown: bool = True
    #: in words, for readers who do not know it by its heading
    meaning: str = ""
    #: whether it has the unit of the target
    in_units: bool = False

    @property
    def field(self) -> Field:
        return Field(self.heading, self.form)

    def gain(self, value: Array | float) -> Any:
        """The measure turned so that more is better."""
        return value if self.larger_is_better else np.negative(value)


#: log of the least probability that the log loss distinguishes from 0, as in scikit-learn
LEAST_LOG_PROBABILITY = math.log(np.finfo(np.float64).eps)


def log_loss(outcome: Outcome) -> float:
    """Mean of −log p(true class), with p raised to 2.2e-16 as in scikit-learn, so that it is at most 36.

    Rows of a class that no training row has are left out: no model can give them a probability.
    """
    if (log_proba := outcome.forecast.log_proba) is None:
        return math.nan
    of_truth = log_proba[np.arange(len(outcome.truth)), outcome.truth]
    if outcome.seen is not None:
        of_truth = of_truth[outcome.seen[outcome.truth]]
    return -float(np.maximum(of_truth, LEAST_LOG_PROBABILITY).mean()) if len(of_truth) else math.nan


def ranked_probability_score(outcome: Outcome) -> float:
    """Mean of Σₖ (P(class ≤ k) − 1{true class ≤ k})², in ranks: of a decision without probabilities its distance.

    It is proper, finite, and grows with the distance between the predicted and the true class.
    """
    forecast, truth = outcome.forecast, outcome.truth
    if forecast.log_proba is None:
        return rank_error(outcome)
    below = np.cumsum(np.exp(forecast.log_proba), axis=1)[:, :-1]
    happened = truth[:, None] <= np.arange(below.shape[1])
    return float(np.square(below - happened).sum(axis=1).mean())


def rank_error(outcome: Outcome) -> float:
    """Mean distance between the decided and the true class, in ranks."""
    return float(np.abs(outcome.forecast.decisions - outcome.truth).mean())


def within_one(outcome: Outcome) -> float:
    """Share of the rows whose decided class is the true one or next to it."""
    return float((np.abs(outcome.forecast.decisions - outcome.truth) <= 1).mean())


def accuracy(outcome: Outcome) -> float:
    return float((outcome.forecast.decisions == outcome.truth).mean())


def auc(outcome: Outcome) -> float:
    """Area under the ROC curve; of more than two classes the mean over one-against-the-rest of those that occur."""
    log_proba, scores = outcome.forecast.log_proba, outcome.forecast.scores
    ranking = scores if log_proba is None else log_proba
    if ranking is None:
        return math.nan
    classes = [1] if ranking.shape[1] == 2 else range(ranking.shape[1])
    areas = [_area(outcome.truth == k, ranking[:, k]) for k in classes]
    return float(np.mean([area for area in areas if not math.isnan(area)] or [math.nan]))


def _area(positive: Array, ranking: Array) -> float:
    """The share of pairs in which the positive row ranks higher, ties counting half."""
    from scipy.stats import rankdata

    n, n_positive = len(positive), int(positive.sum())
    if n_positive in (0, n):
        return math.nan
    above = rankdata(ranking)[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * (n - n_positive)))


def brier(outcome: Outcome) -> float:
    """Mean squared distance of the probabilities from what happened; of two classes, of the second only."""
    if (log_proba := outcome.forecast.log_proba) is None:
        return math.nan
    proba = np.exp(log_proba)
    happened = np.zeros_like(proba)
    happened[np.arange(len(outcome.truth)), outcome.truth] = 1
    squared = np.square(proba - happened).sum(axis=1).mean()
    return float(squared / 2 if proba.shape[1] == 2 else squared)


def rmse(outcome: Outcome) -> float:
    return float(np.sqrt(np.square(outcome.truth - outcome.forecast.decisions).mean()))


def mae(outcome: Outcome) -> float:
    return float(np.abs(outcome.truth - outcome.forecast.decisions).mean())


def poisson_deviance(outcome: Outcome) -> float:
    """Mean Poisson deviance; a prediction of 0 or less, which has none, counts as `outcome.lowest`."""
    return _poisson(outcome.truth, np.maximum(outcome.forecast.decisions, outcome.lowest))


def relative_error(outcome: Outcome) -> float:
    """Median of |prediction − truth| / truth over the rows where the truth is positive."""
    positive = outcome.truth > 0
    if not positive.any():
        return math.nan
    truth = outcome.truth[positive]
    return float(np.median(np.abs(outcome.forecast.decisions[positive] - truth) / truth))


def explained(outcome: Outcome) -> float:
    """The share of the squared error about the mean of the training rows that the model takes away: R²."""
    return _share(_squares, outcome)


def explained_deviance(outcome: Outcome) -> float:
    """The same with Poisson deviances."""
    return _share(_poisson, outcome, outcome.lowest)


def _share(deviance: Callable[[Array, Array], float], outcome: Outcome, lowest: float = -math.inf) -> float:
    about_mean = deviance(outcome.truth, np.full(len(outcome.truth), max(outcome.baseline, lowest)))
    left = deviance(outcome.truth, np.maximum(outcome.forecast.decisions, lowest))
    if about_mean == 0:
        return 1.0 if left == 0 else -math.inf
    return 1 - left / about_mean


def _squares(y: Array, mean: Array) -> float:
    return float(np.square(y - mean).mean())


def _poisson(y: Array, mean: Array) -> float:
    from mercer.families import Poisson

    possible = (mean > 0) | ((mean == 0) & (y == 0))
    return float(Poisson().unit_deviance(y, mean).mean()) if possible.all() else math.inf


_LOG_LOSS = Metric(
    "log_loss",
    "log loss",
    "#.4g",
    log_loss,
    meaning="The log loss is the mean of −log p, where p is the probability that was given to the true class",
)
_ACCURACY = Metric("accuracy", "accuracy", ".4f", accuracy, True, 0, 1)
_AUC = Metric("auc", "AUC", ".4f", auc, True, 0, 1)
_BRIER = Metric("brier", "Brier", ".4f", brier, False, 0, 2, shown=False)
_RMSE = Metric("rmse", "RMSE", "#.4g", rmse, meaning="RMSE is the root of the mean squared error", in_units=True)
_MAE = Metric("mae", "MAE", "#.4g", mae, in_units=True)
_EXPLAINED = Metric("explained", "share explained", ".4f", explained, True, -math.inf, 1)
_DEVIANCE = Metric(
    "deviance",
    "deviance",
    "#.4g",
    poisson_deviance,
    meaning="The deviance is the mean Poisson deviance of a row, 0 for a perfect prediction",
)
_SHARE = _EXPLAINED._replace(measure=explained_deviance)
_RPS = Metric(
    "rps",
    "RPS",
    "#.4g",
    ranked_probability_score,
    meaning="The ranked probability score (RPS) counts a mistake by how many classes it is off",
)
_WITHIN_ONE = Metric("within_one", "within one class", ".4f", within_one, True, 0, 1)
_RANK_ERROR = Metric("rank_error", "MAE in ranks", "#.4g", rank_error)
_RELATIVE = Metric("relative_error", "median relative error", ".4f", relative_error, shown=False)

#: the measures of each task; models are ranked by the first
CLASSES = (_LOG_LOSS, _ACCURACY, _AUC, _BRIER)
RANKS = (_RPS, _ACCURACY, _WITHIN_ONE, _RANK_ERROR, _LOG_LOSS._replace(shown=False))
NUMBERS = (_RMSE, _EXPLAINED, _MAE)
AMOUNTS = (_RMSE, _EXPLAINED, _MAE, _RELATIVE)
COUNTS = (_DEVIANCE, _SHARE, _RMSE, _MAE)
