"""Measures of predictions for rows that a model has not seen. Every measure equals scikit-learn's of that name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.report import Field


class Prediction(NamedTuple):
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
    forecast: Prediction
    baseline: float = math.nan
    seen: Array | None = None
    lowest: float = 0.0


class Metric(NamedTuple):
    """A measure: its name in `scores`, its heading, its format, which way is better, its bounds, and its meaning.

    `by_row` has the part of each row in the measure: numbers whose mean is the measure, and whose variance divided by
    their number is that of the measure (to first order, where it is not a mean of rows). NaN for rows that are left
    out. None where there are no such numbers, as of a median.

    `pairing` has columns Y of the truth and G of the forecast such that the loss of row i is aᵢ + bᵢ − Yᵢ·Gᵢ, where aᵢ
    depends on the forecast and bᵢ on the truth alone; the sign is turned where more is better. None where the measure
    has no such form.
    """

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
    by_row: Callable[[Outcome], Array | None] | None = None
    pairing: Callable[[Outcome], tuple[Array, Array] | None] | None = None

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
    return _mean(_log_losses(outcome))


def ranked_probability_score(outcome: Outcome) -> float:
    """Mean of Σₖ (P(class ≤ k) − 1{true class ≤ k})², in ranks: of a decision without probabilities its distance.

    It is proper, finite, and grows with the distance between the predicted and the true class.
    """
    return _mean(_ranked_scores(outcome))


def rank_error(outcome: Outcome) -> float:
    """Mean distance between the decided and the true class, in ranks."""
    return _mean(_distances(outcome))


def within_one(outcome: Outcome) -> float:
    """Share of the rows whose decided class is the true one or next to it."""
    return _mean(_near(outcome))


def accuracy(outcome: Outcome) -> float:
    return _mean(_right(outcome))


def auc(outcome: Outcome) -> float:
    """Area under the ROC curve; of more than two classes the mean over one-against-the-rest of those that occur."""
    return _mean(_areas(outcome))


def brier(outcome: Outcome) -> float:
    """Mean squared distance of the probabilities from what happened; of two classes, of the second only."""
    return _mean(_squared_distances(outcome))


def rmse(outcome: Outcome) -> float:
    return float(np.sqrt(np.square(outcome.truth - outcome.forecast.decisions).mean()))


def mae(outcome: Outcome) -> float:
    return _mean(_distances(outcome))


def poisson_deviance(outcome: Outcome) -> float:
    """Mean Poisson deviance; a prediction of 0 or less, which has none, counts as `outcome.lowest`."""
    return _mean(_deviances(outcome))


def relative_error(outcome: Outcome) -> float:
    """Median of |prediction − truth| / truth over the rows where the truth is positive."""
    positive = outcome.truth > 0
    if not positive.any():
        return math.nan
    truth = outcome.truth[positive]
    return float(np.median(np.abs(outcome.forecast.decisions[positive] - truth) / truth))


def explained(outcome: Outcome) -> float:
    """The share of the squared error about the mean of the training rows that the model takes away: R²."""
    return _share(_squares, outcome)[0]


def explained_deviance(outcome: Outcome) -> float:
    """The same with Poisson deviances."""
    return _share(_poisson, outcome, outcome.lowest)[0]


# The part of each row in a measure.


def _mean(rows: Array | None) -> float:
    """Mean of the rows that count; NaN where none does."""
    if rows is None:
        return math.nan
    counted = rows[~np.isnan(rows)]
    return float(counted.mean()) if len(counted) else math.nan


def _log_losses(outcome: Outcome) -> Array | None:
    if (log_proba := outcome.forecast.log_proba) is None:
        return None
    losses = -np.maximum(log_proba[np.arange(len(outcome.truth)), outcome.truth], LEAST_LOG_PROBABILITY)
    return losses if outcome.seen is None else np.where(outcome.seen[outcome.truth], losses, np.nan)


def _ranked_scores(outcome: Outcome) -> Array:
    if outcome.forecast.log_proba is None:
        return _distances(outcome)
    below, happened = _cumulative(outcome)
    return np.asarray(np.square(below - happened).sum(axis=1))


def _distances(outcome: Outcome) -> Array:
    return np.asarray(np.abs(outcome.truth - outcome.forecast.decisions).astype(float))


def _near(outcome: Outcome) -> Array:
    return (_distances(outcome) <= 1).astype(float)


def _right(outcome: Outcome) -> Array:
    return np.asarray(outcome.forecast.decisions == outcome.truth, dtype=float)


def _squared_distances(outcome: Outcome) -> Array | None:
    if (log_proba := outcome.forecast.log_proba) is None:
        return None
    proba = np.exp(log_proba)
    squared = np.square(proba - _happened(outcome, proba.shape[1])).sum(axis=1)
    return np.asarray(squared / 2 if proba.shape[1] == 2 else squared)


def _areas(outcome: Outcome) -> Array | None:
    """AUC by rows (DeLong, DeLong and Clarke-Pearson 1988), the mean over classes."""
    log_proba, scores = outcome.forecast.log_proba, outcome.forecast.scores
    ranking = scores if log_proba is None else log_proba
    if ranking is None:
        return None
    classes = [1] if ranking.shape[1] == 2 else range(ranking.shape[1])
    areas = [_area(outcome.truth == k, ranking[:, k]) for k in classes]
    known = [area for area in areas if area is not None]
    return np.asarray(np.mean(known, axis=0)) if known else None


def _area(positive: Array, ranking: Array) -> Array | None:
    """The share of pairs in which the positive row ranks higher, ties counting half, by rows."""
    from scipy.stats import rankdata

    n, n_positive = len(positive), int(positive.sum())
    if n_positive in (0, n):
        return None
    # of the rows of the other class, the share that a row is above (positive) or below (negative)
    within = np.empty(n)
    within[positive], within[~positive] = rankdata(ranking[positive]), rankdata(ranking[~positive])
    beaten = rankdata(ranking) - within
    places = np.where(positive, beaten / (n - n_positive), 1 - beaten / n_positive)
    area = float(places[positive].mean())
    return area + (places - area) * np.where(positive, n / n_positive, n / (n - n_positive))


def _roots(outcome: Outcome) -> Array:
    """RMSE by rows: √m + (eᵢ² − m)/(2√m), where m is the mean of the squared errors eᵢ²."""
    squares = np.square(outcome.truth - outcome.forecast.decisions)
    root = math.sqrt(squares.mean())
    return np.asarray(root + (squares - root**2) / (2 * root) if root > 0 else squares)


def _deviances(outcome: Outcome) -> Array:
    return _poisson(outcome.truth, np.maximum(outcome.forecast.decisions, outcome.lowest))


def _explained_rows(outcome: Outcome) -> Array:
    return _share(_squares, outcome)[1]


def _explained_deviances(outcome: Outcome) -> Array:
    return _share(_poisson, outcome, outcome.lowest)[1]


def _share(
    deviance: Callable[[Array, Array], Array], outcome: Outcome, lowest: float = -math.inf
) -> tuple[float, Array]:
    """1 − L/A, where A and L are the mean deviances about the mean and of the forecast; and the same by rows."""
    about_mean = deviance(outcome.truth, np.full(len(outcome.truth), max(outcome.baseline, lowest)))
    left = deviance(outcome.truth, np.maximum(outcome.forecast.decisions, lowest))
    total, rest = float(about_mean.mean()), float(left.mean())
    if total == 0 or not math.isfinite(rest):
        share = 1.0 if rest == 0 else -math.inf
        return share, np.full(len(left), share)
    share = 1 - rest / total
    return share, share - (left - rest) / total + rest / total**2 * (about_mean - total)


def _squares(y: Array, mean: Array) -> Array:
    return np.asarray(np.square(y - mean))


def _poisson(y: Array, mean: Array) -> Array:
    from mercer.families import Poisson

    possible = (mean > 0) | ((mean == 0) & (y == 0))
    return np.where(possible, Poisson().unit_deviance(y, np.where(possible, mean, 1.0)), math.inf)


# Truth and forecast, paired.


def _happened(outcome: Outcome, classes: int) -> Array:
    return np.equal.outer(outcome.truth, np.arange(classes)).astype(float)


def _cumulative(outcome: Outcome) -> tuple[Array, Array]:
    """P(class ≤ k) and whether the true class is at most k, for every k but the last."""
    assert outcome.forecast.log_proba is not None
    below = np.cumsum(np.exp(outcome.forecast.log_proba), axis=1)[:, :-1]
    return below, (outcome.truth[:, None] <= np.arange(below.shape[1])).astype(float)


def _pair_log_loss(outcome: Outcome) -> tuple[Array, Array] | None:
    if (log_proba := outcome.forecast.log_proba) is None:
        return None
    return _happened(outcome, log_proba.shape[1]), np.maximum(log_proba, LEAST_LOG_PROBABILITY)


def _pair_decisions(outcome: Outcome) -> tuple[Array, Array]:
    classes = int(max(outcome.truth.max(), outcome.forecast.decisions.max())) + 1
    return _happened(outcome, classes), np.equal.outer(outcome.forecast.decisions, np.arange(classes)).astype(float)


def _pair_ranks(outcome: Outcome) -> tuple[Array, Array] | None:
    if outcome.forecast.log_proba is None:
        return None
    below, happened = _cumulative(outcome)
    return happened, 2 * below


def _pair_squares(outcome: Outcome) -> tuple[Array, Array]:
    return outcome.truth[:, None], outcome.forecast.decisions[:, None]


def _pair_counts(outcome: Outcome) -> tuple[Array, Array] | None:
    """The Poisson deviance is 2(y log y − y − y log μ + μ)."""
    mean = np.maximum(outcome.forecast.decisions, outcome.lowest)
    return (outcome.truth[:, None], np.log(mean)[:, None]) if (mean > 0).all() else None


_LOG_LOSS = Metric(
    "log_loss",
    "log loss",
    "#.4g",
    log_loss,
    meaning="The log loss is the mean of −log p, where p is the probability that was given to the true class",
    by_row=_log_losses,
    pairing=_pair_log_loss,
)
_ACCURACY = Metric("accuracy", "accuracy", ".4f", accuracy, True, 0, 1, by_row=_right, pairing=_pair_decisions)
_AUC = Metric("auc", "AUC", ".4f", auc, True, 0, 1, by_row=_areas)
_BRIER = Metric("brier", "Brier", ".4f", brier, False, 0, 2, shown=False, by_row=_squared_distances)
_RMSE = Metric(
    "rmse",
    "RMSE",
    "#.4g",
    rmse,
    meaning="RMSE is the root of the mean squared error",
    in_units=True,
    by_row=_roots,
    pairing=_pair_squares,
)
_MAE = Metric("mae", "MAE", "#.4g", mae, in_units=True, by_row=_distances)
_EXPLAINED = Metric("explained", "share explained", ".4f", explained, True, -math.inf, 1, by_row=_explained_rows)
_DEVIANCE = Metric(
    "deviance",
    "deviance",
    "#.4g",
    poisson_deviance,
    meaning="The deviance is the mean Poisson deviance of a row, 0 for a perfect prediction",
    by_row=_deviances,
    pairing=_pair_counts,
)
_SHARE = _EXPLAINED._replace(measure=explained_deviance, by_row=_explained_deviances)
_RPS = Metric(
    "rps",
    "RPS",
    "#.4g",
    ranked_probability_score,
    meaning="The ranked probability score (RPS) counts a mistake by how many classes it is off",
    by_row=_ranked_scores,
    pairing=_pair_ranks,
)
_WITHIN_ONE = Metric("within_one", "within one class", ".4f", within_one, True, 0, 1, by_row=_near)
_RANK_ERROR = Metric("rank_error", "MAE in ranks", "#.4g", rank_error, by_row=_distances)
_RELATIVE = Metric("relative_error", "median relative error", ".4f", relative_error, shown=False)

#: the measures of each task; models are ranked by the first
CLASSES = (_LOG_LOSS, _ACCURACY, _AUC, _BRIER)
RANKS = (_RPS, _ACCURACY, _WITHIN_ONE, _RANK_ERROR, _LOG_LOSS._replace(shown=False))
NUMBERS = (_RMSE, _EXPLAINED, _MAE)
AMOUNTS = (_RMSE, _EXPLAINED, _MAE, _RELATIVE)
COUNTS = (_DEVIANCE, _SHARE, _RMSE, _MAE)
