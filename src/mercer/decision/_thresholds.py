"""Thresholds for the probability of the second of two classes, chosen on labelled rows."""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from mercer._errors import CalibrationWarning, CostError, DataError
from mercer._stored import stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.decision._conformal import exact_level, score_threshold
from mercer.decision._costs import Costs, implied_threshold
from mercer.report.wording import format_count


@stored()
class Threshold(NamedTuple):
    """A threshold for the probability of the second class, with its cost and rates on the rows it was chosen on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Decision, GaussianNB
    >>> x, y = np.arange(40.0)[:, None], np.arange(40) > 25
    >>> found = Decision(GaussianNB()).fit(x, y).choose_threshold(x, y)
    >>> round(found.value, 3), found.average_cost, found.guarantee
    (0.498, 0.0, 'the least average cost on the rows it was chosen on')
    """

    #: rows with a probability above it are classified as positive
    value: float
    average_cost: float
    false_positive_rate: float
    true_positive_rate: float
    #: the guarantee for new rows, in words
    guarantee: str


def find_threshold(
    p: Array, codes: Array, costs: Costs, weight: Array, *, rate: float | None, confidence: float | None
) -> Threshold:
    """Return the cheapest threshold for p (a column for each of two classes), or the lowest one that bounds a rate."""
    for name, value in (("false_positive_rate", rate), ("confidence", confidence)):
        if value is not None and not 0 < value < 1:
            raise DataError(f"{name}={value:g}, but it must be between 0 and 1.")
    if confidence is not None and rate is None:
        raise DataError(f"confidence={confidence:g} needs a bound: give false_positive_rate as well.")
    values = costs.values
    if values.shape != (2, 2):
        raise CostError(
            f"a threshold needs two classes and two actions; there are {values.shape[0]} and {values.shape[1]}. Give "
            "costs instead: `predict` uses them for any number of classes and actions."
        )
    implied_threshold(costs)  # raises CostError if the costs imply no threshold
    rows = p[:, 1], codes == 1, values, weight
    if rate is None:
        return find_cheapest_threshold(*rows)
    return find_bounded_threshold(*rows, rate=rate, confidence=confidence)


def find_cheapest_threshold(p: Array, positive: Array, costs: Array, weight: Array) -> Threshold:
    """Return the threshold with the least average cost on these rows.

    Parameters
    ----------
    p : array of shape (n_rows,)
        Probabilities of the second class.
    positive : bool array of shape (n_rows,)
        Whether the row is of the second class.
    costs : array of shape (2, 2)
        Cost of each true class (row) and action (column).
    weight : array of shape (n_rows,)
        Weights of the rows.
    """
    # classifying a row as positive adds this to the cost of classifying all rows as negative
    more = weight * np.where(positive, costs[1, 1] - costs[1, 0], costs[0, 1] - costs[0, 0])
    values, at = np.unique(p, return_inverse=True)
    added = np.bincount(at.reshape(-1), more)
    # thresholds below all values, between neighbours, and above all values
    total = np.append(np.cumsum(added[::-1])[::-1], 0.0)
    between = (values[:-1] + values[1:]) / 2
    between = np.where(between < values[1:], between, values[:-1])  # the mean of adjacent floats may be the upper one
    cuts = np.concatenate([[values[0] / 2], between, [(values[-1] + 1) / 2]])
    allowed = np.diff(np.concatenate([[0.0], values, [1.0]])) > 0
    allowed[-1] = True
    best = int(np.argmin(np.where(allowed, total, np.inf)))
    return measure_threshold(
        float(cuts[best]), p, positive, costs, weight, "the least average cost on the rows it was chosen on"
    )


def find_bounded_threshold(
    p: Array, positive: Array, costs: Array, weight: Array, *, rate: float, confidence: float | None
) -> Threshold:
    """Return the lowest threshold with a false positive rate of at most `rate` (Neyman and Pearson).

    Without `confidence` the bound holds on average over the rows used for the choice, because the rank of the threshold
    among the negative rows is that of a conformal p-value. With it, the bound holds with at least this probability,
    because the ranks of order statistics are binomial (Tong, Feng and Li 2018).
    """
    negatives = np.sort(p[~positive])
    n = len(negatives)
    if not n:
        raise DataError("bounding the false positive rate needs rows of the first class, and there are none; add some.")
    if confidence is None:
        # a row is classified as positive if its p-value among the negatives is too low
        cut, needed = -score_threshold(-negatives, exact_level(n, 1 - rate)), ceil(1 / rate) - 1
        guarantee = f"a new negative row is classified as positive with a probability of at most {rate:g}"
    else:
        ranks = np.arange(1, n + 1)
        safe = ranks[binom.sf(ranks - 1, n, 1 - rate) <= 1 - confidence]
        cut, needed = (negatives[safe[0] - 1] if len(safe) else np.inf), ceil(log(1 - confidence) / log(1 - rate))
        guarantee = (
            f"with a probability of at least {confidence:g} over the choice of these rows, at most {rate:g} of new "
            "negative rows are classified as positive"
        )
    if np.isinf(cut):
        warn(
            f"{format_count(n, 'negative row')} cannot bound the false positive rate by {rate:g}, so no row is "
            f"classified as positive: give {needed:,} or more, or allow a higher rate.",
            CalibrationWarning,
        )
    return measure_threshold(min(float(cut), 1.0), p, positive, costs, weight, guarantee)


def measure_threshold(
    value: float, p: Array, positive: Array, costs: Array, weight: Array, guarantee: str
) -> Threshold:
    """Return a threshold with its cost and rates on labelled rows."""
    predicted = p > value
    paid = costs[positive.astype(int), predicted.astype(int)]
    false, true = (_weighted_share(predicted, weight * rows) for rows in (~positive, positive))
    return Threshold(value, float(weight @ paid / weight.sum()), false, true, guarantee)


def _weighted_share(predicted: Array, weight: Array) -> float:
    return float(weight @ predicted / weight.sum()) if weight.any() else float("nan")
