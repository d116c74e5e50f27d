"""Measures of predictions for held-out rows. Every measure equals scikit-learn's of the same name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.report import Field


class Prediction(NamedTuple):
    """Predictions of a model for some rows.

    In a classification, `decisions` are positions among the labels of the task (−1 for any other label); `log_proba`
    and `scores` have a column for each label, and are None if the model does not provide them. In a regression,
    `decisions` are the predicted numbers, and the others are None.
    """

    decisions: Array
    log_proba: Array | None = None
    scores: Array | None = None


class Outcome(NamedTuple):
    """A forecast and the truth.

    `baseline` is the mean of the target over the training rows. `in_training` has, for each class, whether it occurs in
    the training rows. `lowest` is the mean by which a predicted count of 0 or less is replaced.
    """

    truth: Array
    forecast: Prediction
    baseline: float = math.nan
    in_training: Array | None = None
    lowest: float = 0.0


class Metric(NamedTuple):
    """A measure: its name in `scores`, its heading, its format, its direction, its bounds, and its meaning.

    `by_row` returns the contribution of each row: numbers whose mean is the measure, and whose variance divided by
    their number is the variance of the measure (to first order, if it is not a mean over rows). Rows that are left out
    are NaN. It is None for a measure without such numbers, such as a median.

    `pairing` returns columns Y of the truth and G of the forecast such that the loss of row i is aᵢ + bᵢ − Yᵢ·Gᵢ, where
    aᵢ depends only on the forecast and bᵢ only on the truth; the sign is reversed if larger is better. It is None for
    a measure without such a form.
    """

    name: str
    heading: str
    form: str
    measure: Callable[[Outcome], float]
    larger_is_better: bool = False
    low: float = 0.0
    high: float = math.inf
    #: whether the leaderboard has a column for it; `frame()` contains all measures
    shown: bool = True
    #: definition in words
    meaning: str = ""
    #: whether its unit is that of the target
    in_units: bool = False
    by_row: Callable[[Outcome], Array | None] | None = None
    pairing: Callable[[Outcome], tuple[Array, Array] | None] | None = None

    @property
    def field(self) -> Field:
        return Field(self.heading, self.form)

    def gain(self, value: Array | float) -> Any:
        """Return the measure with the sign for which larger is better."""
        return value if self.larger_is_better else np.negative(value)


#: logarithm of the smallest probability that the log loss distinguishes from 0, as in scikit-learn
LEAST_LOG_PROBABILITY = math.log(np.finfo(np.float64).eps)


def log_loss(outcome: Outcome) -> float:
    """Return the mean of −log p(true class), with p at least 2.2e-16 as in scikit-learn, so that it is at most 36.

    Rows of a class that does not occur in the training rows are left out, since no model can predict it.
    """
    return _mean(_log_losses(outcome))


def ranked_probability_score(outcome: Outcome) -> float:
    """Return the mean of Σₖ (P(class ≤ k) − 1{true class ≤ k})²; without probabilities, the mean distance in ranks.

    The score is proper, finite, and grows with the distance between the predicted and the true class.
    """
    return _mean(_ranked_scores(outcome))


def rank_error(outcome: Outcome) -> float:
    """Return the mean distance between the predicted and the true class, in ranks."""
    return _mean(_distances(outcome))


def within_one(outcome: Outcome) -> float:
    """Return the share of the rows whose predicted class is the true one or next to it."""
    return _mean(_within_one_rows(outcome))


def accuracy(outcome: Outcome) -> float:
    """Return the share of the rows whose predicted class is the true one."""
    return _mean(_correct_rows(outcome))


def auc(outcome: Outcome) -> float:
    """Return the area under the ROC curve; for more than two classes, the mean over those that occur, one-vs-rest."""
    return _mean(_areas(outcome))


def brier(outcome: Outcome) -> float:
    """Return the mean squared distance of the probabilities from the indicators; half of it for two classes."""
    return _mean(_squared_distances(outcome))


def rmse(outcome: Outcome) -> float:
    """Return the root of the mean squared error."""
    return float(np.sqrt(np.square(outcome.truth - outcome.forecast.decisions).mean()))


def mae(outcome: Outcome) -> float:
    """Return the mean absolute error."""
    return _mean(_distances(outcome))


def poisson_deviance(outcome: Outcome) -> float:
    """Return the mean Poisson deviance; a prediction of 0 or less is replaced by `outcome.lowest`."""
    return _mean(_deviances(outcome))


def relative_error(outcome: Outcome) -> float:
    """Return the median of |prediction − truth| / truth over the rows with a positive truth."""
    positive = outcome.truth > 0
    if not positive.any():
        return math.nan
    truth = outcome.truth[positive]
    return float(np.median(np.abs(outcome.forecast.decisions[positive] - truth) / truth))


def r2(outcome: Outcome) -> float:
    """Return R²: the share by which the squared error about the mean of the training rows is reduced."""
    return _explained_share(_squared_errors, outcome)[0]


def explained_deviance(outcome: Outcome) -> float:
    """Return the share by which the Poisson deviance about the mean of the training rows is reduced."""
    return _explained_share(_poisson_deviances, outcome, outcome.lowest)[0]


# The contribution of each row to a measure.


def _mean(rows: Array | None) -> float:
    """Return the mean of the rows that are not NaN; NaN if there are none."""
    if rows is None:
        return math.nan
    counted = rows[~np.isnan(rows)]
    return float(counted.mean()) if len(counted) else math.nan


def _log_losses(outcome: Outcome) -> Array | None:
    if (log_proba := outcome.forecast.log_proba) is None:
        return None
    losses = -np.maximum(log_proba[np.arange(len(outcome.truth)), outcome.truth], LEAST_LOG_PROBABILITY)
    return losses if outcome.in_training is None else np.where(outcome.in_training[outcome.truth], losses, np.nan)


def _ranked_scores(outcome: Outcome) -> Array:
    if outcome.forecast.log_proba is None:
        return _distances(outcome)
    below, observed = _cumulative(outcome)
    return np.asarray(np.square(below - observed).sum(axis=1))


def _distances(outcome: Outcome) -> Array:
    return np.asarray(np.abs(outcome.truth - outcome.forecast.decisions).astype(float))


def _within_one_rows(outcome: Outcome) -> Array:
    return (_distances(outcome) <= 1).astype(float)


def _correct_rows(outcome: Outcome) -> Array:
    return np.asarray(outcome.forecast.decisions == outcome.truth, dtype=float)


def _squared_distances(outcome: Outcome) -> Array | None:
    if (log_proba := outcome.forecast.log_proba) is None:
        return None
    proba = np.exp(log_proba)
    squared = np.square(proba - _indicators(outcome, proba.shape[1])).sum(axis=1)
    return np.asarray(squared / 2 if proba.shape[1] == 2 else squared)


def _areas(outcome: Outcome) -> Array | None:
    """Return the AUC by rows (DeLong, DeLong and Clarke-Pearson 1988), averaged over classes."""
    log_proba, scores = outcome.forecast.log_proba, outcome.forecast.scores
    ranking = scores if log_proba is None else log_proba
    if ranking is None:
        return None
    classes = [1] if ranking.shape[1] == 2 else range(ranking.shape[1])
    areas = [_area(outcome.truth == k, ranking[:, k]) for k in classes]
    known = [area for area in areas if area is not None]
    return np.asarray(np.mean(known, axis=0)) if known else None


def _area(positive: Array, ranking: Array) -> Array | None:
    """Return, by rows, the share of pairs in which the positive row ranks higher; a tie counts half."""
    from scipy.stats import rankdata

    n, n_positive = len(positive), int(positive.sum())
    if n_positive in (0, n):
        return None
    # share of the rows of the other class above which (positive rows) or below which (negative rows) a row ranks
    within = np.empty(n)
    within[positive], within[~positive] = rankdata(ranking[positive]), rankdata(ranking[~positive])
    beaten = rankdata(ranking) - within
    places = np.where(positive, beaten / (n - n_positive), 1 - beaten / n_positive)
    area = float(places[positive].mean())
    return area + (places - area) * np.where(positive, n / n_positive, n / (n - n_positive))


def _roots(outcome: Outcome) -> Array:
    """Return the RMSE by rows: √m + (eᵢ² − m)/(2√m), where m is the mean of the squared errors eᵢ²."""
    squares = np.square(outcome.truth - outcome.forecast.decisions)
    root = math.sqrt(squares.mean())
    return np.asarray(root + (squares - root**2) / (2 * root) if root > 0 else squares)


def _deviances(outcome: Outcome) -> Array:
    return _poisson_deviances(outcome.truth, np.maximum(outcome.forecast.decisions, outcome.lowest))


def _explained_rows(outcome: Outcome) -> Array:
    return _explained_share(_squared_errors, outcome)[1]


def _explained_deviances(outcome: Outcome) -> Array:
    return _explained_share(_poisson_deviances, outcome, outcome.lowest)[1]


def _explained_share(
    deviance: Callable[[Array, Array], Array], outcome: Outcome, lowest: float = -math.inf
) -> tuple[float, Array]:
    """Return 1 − L/A, where A and L are the mean deviances about the mean and of the forecast, and its rows."""
    about_mean = deviance(outcome.truth, np.full(len(outcome.truth), max(outcome.baseline, lowest)))
    left = deviance(outcome.truth, np.maximum(outcome.forecast.decisions, lowest))
    total, rest = float(about_mean.mean()), float(left.mean())
    if total == 0 or not math.isfinite(rest):
        share = 1.0 if rest == 0 else -math.inf
        return share, np.full(len(left), share)
    share = 1 - rest / total
    return share, share - (left - rest) / total + rest / total**2 * (about_mean - total)


def _squared_errors(y: Array, mean: Array) -> Array:
    return np.asarray(np.square(y - mean))


def _poisson_deviances(y: Array, mean: Array) -> Array:
    from mercer.families import Poisson

    possible = (mean > 0) | ((mean == 0) & (y == 0))
    return np.where(possible, Poisson().unit_deviance(y, np.where(possible, mean, 1.0)), math.inf)


# Columns of the truth and of the forecast whose products are the loss.


def _indicators(outcome: Outcome, classes: int) -> Array:
    return np.equal.outer(outcome.truth, np.arange(classes)).astype(float)


def _cumulative(outcome: Outcome) -> tuple[Array, Array]:
    """Return P(class ≤ k) and the indicator of true class ≤ k, for every k but the last."""
    assert outcome.forecast.log_proba is not None
    below = np.cumsum(np.exp(outcome.forecast.log_proba), axis=1)[:, :-1]
    return below, (outcome.truth[:, None] <= np.arange(below.shape[1])).astype(float)


def _pair_log_loss(outcome: Outcome) -> tuple[Array, Array] | None:
    if (log_proba := outcome.forecast.log_proba) is None:
        return None
    return _indicators(outcome, log_proba.shape[1]), np.maximum(log_proba, LEAST_LOG_PROBABILITY)


def _pair_decisions(outcome: Outcome) -> tuple[Array, Array]:
    classes = int(max(outcome.truth.max(), outcome.forecast.decisions.max())) + 1
    return _indicators(outcome, classes), np.equal.outer(outcome.forecast.decisions, np.arange(classes)).astype(float)


def _pair_ranks(outcome: Outcome) -> tuple[Array, Array] | None:
    if outcome.forecast.log_proba is None:
        return None
    below, observed = _cumulative(outcome)
    return observed, 2 * below


def _pair_squares(outcome: Outcome) -> tuple[Array, Array]:
    return outcome.truth[:, None], outcome.forecast.decisions[:, None]


def _pair_counts(outcome: Outcome) -> tuple[Array, Array] | None:
    """Return y and log μ: the Poisson deviance is 2(y log y − y − y log μ + μ)."""
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
_ACCURACY = Metric("accuracy", "accuracy", ".4f", accuracy, True, 0, 1, by_row=_correct_rows, pairing=_pair_decisions)
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
_EXPLAINED = Metric("explained", "share explained", ".4f", r2, True, -math.inf, 1, by_row=_explained_rows)
_POISSON_DEVIANCE = Metric(
    "deviance",
    "deviance",
    "#.4g",
    poisson_deviance,
    meaning="The deviance is the mean Poisson deviance of a row, 0 for a perfect prediction",
    by_row=_deviances,
    pairing=_pair_counts,
)
_EXPLAINED_DEVIANCE = _EXPLAINED._replace(measure=explained_deviance, by_row=_explained_deviances)
_RPS = Metric(
    "rps",
    "RPS",
    "#.4g",
    ranked_probability_score,
    meaning="The ranked probability score (RPS) counts a mistake by how many classes it is off",
    by_row=_ranked_scores,
    pairing=_pair_ranks,
)
_WITHIN_ONE = Metric("within_one", "within one class", ".4f", within_one, True, 0, 1, by_row=_within_one_rows)
_RANK_ERROR = Metric("rank_error", "MAE in ranks", "#.4g", rank_error, by_row=_distances)
_RELATIVE = Metric("relative_error", "median relative error", ".4f", relative_error, shown=False)

#: the measures of each task; models are ranked by the first
CLASS_METRICS = (_LOG_LOSS, _ACCURACY, _AUC, _BRIER)
RANK_METRICS = (_RPS, _ACCURACY, _WITHIN_ONE, _RANK_ERROR, _LOG_LOSS._replace(shown=False))
NUMBER_METRICS = (_RMSE, _EXPLAINED, _MAE)
AMOUNT_METRICS = (_RMSE, _EXPLAINED, _MAE, _RELATIVE)
COUNT_METRICS = (_POISSON_DEVIANCE, _EXPLAINED_DEVIANCE, _RMSE, _MAE)
