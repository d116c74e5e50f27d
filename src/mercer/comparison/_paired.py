"""Intervals and paired tests of scores, by splits that share rows or by independent units of rows.

The variance of a mean over J splits is not s²/J, because the models of two splits were fitted to many of the same rows.
Nadeau and Bengio (2003) replace it by (1/J + n_test/n_train) s².

Losses vary with the held-out rows: if these have large counts, all models have a large deviance. The difference of two
losses that are far apart then varies as much, and a test of it has no power although one loss is larger in every split.
Their logarithms vary little and are tested as well. For losses that are close, both tests are nearly the same.

Units of rows show the uncertainty of a score better than a few splits. Units are rows, whole groups, or blocks of time:
rows of different units are assumed to be independent. The score of a model is the mean over J splits of a measure m.
With tᵢ the part of row i in the measure of its split of n rows (`Metric.by_row`, whose mean is that measure), the part
of unit u is

    vᵤ = m + U Σ (tᵢ − m) / (J n),   the sum over the held-out rows of u, and U the number of units.

Its mean is m, and its variance divided by U is that of the score for the fitted models (Bayle et al. 2020): deviations
of rows include those between splits. A row held out in several repeats counts once, with the sum of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.application.metrics import Metric, Outcome


def scores_by_unit(metrics: Sequence[Metric], outcomes: Sequence[Outcome], units: Sequence[Array]) -> dict[str, Array]:
    """Return the parts of the units for each measure, except for measures without parts of rows, such as a median.

    `outcomes` and `units` have an entry for each split: the forecasts of its held-out rows, and their units.
    """
    by_metric = {}
    for metric in metrics:
        if metric.by_row is None:
            continue
        parts = [metric.by_row(outcome) for outcome in outcomes]
        means = [float(metric.measure(outcome)) for outcome in outcomes]
        mean = float(np.mean([each for each in means if not np.isnan(each)] or [np.nan]))
        if np.isfinite(mean):
            by_metric[metric.name] = mean + _sum_by_unit(
                [None if part is None else part - mean for part in parts], units
            )
    return by_metric


def signals_by_unit(metrics: Sequence[Metric], outcomes: Sequence[Outcome], units: Sequence[Array]) -> dict[str, Array]:
    """Return the parts of the units in the covariance of target and forecast within splits, for each measure.

    For Y and G of `Metric.pairing`, the mean of Σ (Y − Ȳ)(G − Ḡ) is the reduction of the loss compared with the same
    forecasts assigned to the targets of the split in random order.
    """
    by_metric = {}
    for metric in metrics:
        pairs = [None if metric.pairing is None else metric.pairing(outcome) for outcome in outcomes]
        if all(pair is not None for pair in pairs):
            parts = [((Y - Y.mean(axis=0)) * (G - G.mean(axis=0))).sum(axis=1) for Y, G in filter(None, pairs)]
            by_metric[metric.name] = _sum_by_unit(parts, units)
    return by_metric


def _sum_by_unit(parts: Sequence[Array | None], units: Sequence[Array]) -> Array:
    """Return U Σ pᵢ / (J n) for each unit with held-out rows; splits and rows without a part (NaN) are left out."""
    codes, places = np.unique(np.concatenate(units), return_inverse=True)
    ends = np.cumsum([len(each) for each in units])[:-1]
    total, splits = np.zeros(len(codes)), 0
    for part, of in zip(parts, np.split(places, ends), strict=True):
        if part is not None and (known := ~np.isnan(part)).any():
            total += np.bincount(of[known], part[known] / known.sum(), minlength=len(codes))
            splits += 1
    return total * len(codes) / max(splits, 1)


#: level of the intervals
INTERVAL_CONFIDENCE = 0.95
#: a difference with a smaller p-value is beyond chance
SIGNIFICANCE_LEVEL = 0.05
#: relative difference of scores below which they are equal but for rounding
SCORE_ROUNDING = 1e-10
#: ratio of mean losses above which their logarithms are tested as well
MIN_LOSS_RATIO = 1.25
#: factor of the variance of the covariance of targets and forecasts, as rows are forecast from each other. It is 2 for
#: a given size of the forecasts; but of noise, a large covariance has large forecasts and hence a large estimated
#: variance, so that a test with 2 errs in 1 % of fields instead of 5 % (decision 17)
SIGNAL_VARIANCE_FACTOR = 1.5


class Interval(NamedTuple):
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """The result of a test of equal means: `p` is its p-value, `adjusted` the one corrected for a family of tests."""

    mean: float
    low: float
    high: float
    p: float
    adjusted: float = math.nan


def overlap_of(splits: Sequence[tuple[Array, Array]]) -> float:
    """Return the average number of scored rows per training row."""
    return float(np.mean([len(test) / len(train) for train, test in splits]))


def interval_of(scores: Array, overlap: float, low: float = -math.inf, high: float = math.inf) -> Interval:
    """Return the mean over splits and its 95% interval, clipped to the bounds of the measure.

    Splits without the measure (NaN, such as the AUC of a single class) are left out.

    Examples
    --------
    >>> mean, low, high = interval_of(np.array([0.9, 0.8, 1.0, 0.9, 0.9]), overlap=0.25, high=1.0)
    >>> print(f"{mean:.2f} {low:.3f} {high:.3f}")
    0.90 0.768 1.000
    """
    scores = drop_missing(scores)
    mean, half = mean_of(scores), _t_quantile(len(scores)) * _standard_error(scores, overlap)
    if not math.isfinite(mean) or math.isnan(half):
        return Interval(mean, math.nan, math.nan)
    return Interval(mean, max(mean - half, low), min(mean + half, high))


def difference_of(one: Array, other: Array, overlap: float) -> Difference:
    """Test by the corrected resampled t-test whether paired scores have the same mean; the difference is one − other.

    If both are losses (negative) and one is at least `MIN_LOSS_RATIO` times the other, the smaller p-value of this
    test and of the same test of their logarithms counts.
    """
    both = ~(np.isnan(one) | np.isnan(other))
    one, other = one[both], other[both]
    difference = paired_t(one, other, overlap)
    if math.isnan(difference.p):
        return difference
    return difference._replace(p=min(difference.p, p_of_ratios(one, other, overlap)))


def paired_t(one: Array, other: Array, overlap: float = 0.0) -> Difference:
    """Test by a t-test whether paired numbers have the same mean; with an overlap of 0 the pairs are independent."""
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        differences = one - other
        # differences by rounding are set to 0, because they may all have the same sign
        scale = np.minimum(np.abs(one), np.abs(other))
        differences = np.where(np.abs(differences) <= SCORE_ROUNDING * scale, 0.0, differences)
    if np.isnan(differences).any():
        return Difference(math.nan, math.nan, math.nan, math.nan)
    mean, low, high = interval_of(differences, overlap)
    return Difference(mean, low, high, _p_value(mean, _standard_error(differences, overlap), len(differences)))


def p_of_ratios(one: Array, other: Array, overlap: float) -> float:
    """Return the p-value of the logarithms of two losses (negative gains) whose means are far apart, else 1.

    A loss of 40,000 ± 50,000 is not significantly larger than one of 1 by a t-test of differences, even if it is larger
    in every split; its logarithm is.
    """
    losses = -one, -other
    if not len(one) or not all((each > 0).all() and np.isfinite(each).all() for each in losses):
        return 1.0
    means = [float(each.mean()) for each in losses]
    if max(means) < MIN_LOSS_RATIO * min(means):
        return 1.0
    ratios = np.log(losses[0]) - np.log(losses[1])
    p = _p_value(float(ratios.mean()), _standard_error(ratios, overlap), len(ratios))
    agree = (ratios.mean() > 0) == (means[0] > means[1])
    return p if agree and not math.isnan(p) else 1.0


def p_of_signal(parts: Array) -> float:
    """Return the one-sided p-value of a positive mean of parts, with 1.5 times the variance of independent parts."""
    mean, error = float(parts.mean()), math.sqrt(SIGNAL_VARIANCE_FACTOR) * _standard_error(parts, 0.0)
    return _p_value(mean, error, len(parts)) / 2 if mean > 0 else 1.0


def drop_missing(scores: Array) -> Array:
    """Return the scores of the splits that have the measure."""
    return np.asarray(scores[~np.isnan(scores)])


def mean_of(scores: Array) -> float:
    """Return the mean over the splits that have the measure; NaN if none has it."""
    known = drop_missing(scores)
    return float(known.mean()) if len(known) else math.nan


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm (1979), which bound the probability of any false rejection.

    Missing tests (NaN) stay missing and are not members of the family.

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    adjusted = np.full(len(p), math.nan)
    adjusted[order] = np.maximum.accumulate(np.minimum(p[order] * np.arange(len(order), 0, -1), 1.0))
    return [float(each) for each in adjusted]


#: draws of the joint distribution of statistics, for p-values adjusted by their correlations
JOINT_DRAWS = 10_000


def adjust_jointly(
    p_values: Sequence[float],
    parts: Sequence[Array | None],
    *,
    draws: int = JOINT_DRAWS,
    random_state: int = 0,
) -> list[float]:
    """Return one-sided p-values adjusted for a family of correlated tests by their joint distribution.

    The step-down method of Westfall and Young (1993), with the smallest p-value as the statistic: the j-th smallest
    p-value is compared with the smallest one of the tests j, …, m if all of their hypotheses are true. Then their
    statistics have a multivariate t-distribution with the correlations of the parts, one part for each unit. Tests of
    similar models are strongly correlated, so that the correction costs less power than that of Holm, which holds for
    any dependence. A test without parts counts in full.

    Parameters
    ----------
    p_values : sequence of float
        One p-value for each test; missing ones (NaN) stay missing and are not members of the family.
    parts : sequence of arrays of shape (n_units,), or None
        The parts of the units in the statistic of each test.
    draws : int, default=10_000
        Number of draws from the joint distribution.
    random_state : int, default=0
        Seed of the draws.

    Examples
    --------
    >>> parts = np.random.default_rng(0).normal(size=50)
    >>> [round(p, 2) for p in adjust_jointly([0.04, 0.01], [parts, parts])]  # twice the same test
    [0.04, 0.01]
    >>> adjust_jointly([0.04, 0.01], [None, None])  # Holm
    [0.04, 0.02]
    """
    from scipy.stats import t

    p = np.asarray(p_values, dtype=float)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    adjusted = np.full(len(p), math.nan)
    # 1. draw statistics of true hypotheses; a test without parts, or with equal ones, is not drawn
    drawn = [k for k in order.tolist() if (of := parts[k]) is not None and len(of) > 1 and np.ptp(of) > 0]
    joint, freedom = np.empty((draws, 0)), 1
    if drawn:
        rng = np.random.default_rng(random_state)
        freedom = len(np.asarray(parts[drawn[0]])) - 1
        values, vectors = np.linalg.eigh(np.atleast_2d(np.corrcoef(np.stack([np.asarray(parts[k]) for k in drawn]))))
        normal = rng.standard_normal((draws, len(drawn))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        joint = normal / np.sqrt(rng.chisquare(freedom, size=(draws, 1)) / freedom)
    # 2. step down from the smallest p-value, with the largest drawn statistic of the tests that are left
    largest = 0.0
    for place, k in enumerate(order.tolist()):
        left = [column for column, each in enumerate(drawn) if each in order[place:]]
        exceeding = int((joint[:, left].max(axis=1) >= t.isf(p[k], freedom)).sum()) if left else 0
        chance = (1 + exceeding) / (1 + draws) if left else 0.0
        alone = len(order) - place - len(left)
        # 3. the p-value itself and Holm's bound limit the error of the draws
        bounded = min(max(chance, p[k] * bool(left)) + alone * p[k], (len(order) - place) * p[k], 1.0)
        adjusted[k] = largest = max(largest, bounded)
    return [float(each) for each in adjusted]


def _standard_error(scores: Array, overlap: float) -> float:
    if len(scores) < 2 or not np.isfinite(scores).all():
        return math.nan
    spread = float(np.std(scores, ddof=1))
    spread = 0.0 if spread <= SCORE_ROUNDING * float(np.abs(scores).max()) else spread
    return math.sqrt(1 / len(scores) + overlap) * spread


def _p_value(mean: float, error: float, splits: int) -> float:
    from scipy.stats import t

    if math.isnan(error):
        return math.nan
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * t.sf(abs(mean) / error, splits - 1))


def _t_quantile(splits: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + INTERVAL_CONFIDENCE) / 2, splits - 1)) if splits > 1 else math.nan
