"""Where to cut the probability of one of two classes, chosen on rows whose class is known."""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from mercer._errors import CalibrationWarning, CostError, DataError
from mercer._stored import stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.decision._conformal import exact_level, threshold
from mercer.decision._costs import Costs, implied_threshold
from mercer.report.wording import counted


@stored()
class Threshold(NamedTuple):
    """A cut of the probability of the second class, and what it did on the rows it was chosen on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Decision, GaussianNB
    >>> x, y = np.arange(40.0)[:, None], np.arange(40) > 25
    >>> cut = Decision(GaussianNB()).fit(x, y).choose_threshold(x, y)
    >>> round(cut.value, 3), cut.average_cost, cut.guarantee
    (0.498, 0.0, 'the least average cost on the rows it was chosen on')
    """

    #: rows with a probability above it are called positive
    value: float
    average_cost: float
    false_positive_rate: float
    true_positive_rate: float
    #: what is promised for new rows
    guarantee: str


def chosen_threshold(
    p: Array, codes: Array, costs: Costs, weight: Array, *, rate: float | None, confidence: float | None
) -> Threshold:
    """The cheapest cut of the probabilities p (a column for each of two classes), or one that keeps a rate."""
    for name, value in (("false_positive_rate", rate), ("confidence", confidence)):
        if value is not None and not 0 < value < 1:
            raise DataError(f"{name}={value:g}, but it lies between 0 and 1.")
    if confidence is not None and rate is None:
        raise DataError(f"confidence={confidence:g} is that of a bound; give the bound, too: a false_positive_rate.")
    values = costs.values
    if values.shape != (2, 2):
        raise CostError(
            f"a threshold is for two classes and two actions; there are {values.shape[0]} and {values.shape[1]}. Give "
            "costs, by which `predict` decides for any number."
        )
    implied_threshold(costs)  # which refuses costs that no threshold goes with
    given = p[:, 1], codes == 1, values, weight
    return cheapest_threshold(*given) if rate is None else bounded_threshold(*given, rate=rate, confidence=confidence)


def cheapest_threshold(p: Array, positive: Array, costs: Array, weight: Array) -> Threshold:
    """The cut of the least average cost on these rows.

    Parameters
    ----------
    p : array of shape (n_rows,)
        Probabilities of the second class.
    positive : bool array of shape (n_rows,)
        Whether the row is of the second class.
    costs : array of shape (2, 2)
        Of each true class (row) and action (column).
    weight : array of shape (n_rows,)
        Of the rows.
    """
    # a row called positive adds this to the cost of calling none so
    more = weight * np.where(positive, costs[1, 1] - costs[1, 0], costs[0, 1] - costs[0, 0])
    values, at = np.unique(p, return_inverse=True)
    added = np.bincount(at.reshape(-1), more)
    # cuts below all values, between each two, and above all
    total = np.append(np.cumsum(added[::-1])[::-1], 0.0)
    between = (values[:-1] + values[1:]) / 2
    between = np.where(between < values[1:], between, values[:-1])  # of neighbouring floats the mean may be the upper
    cuts = np.concatenate([[values[0] / 2], between, [(values[-1] + 1) / 2]])
    allowed = np.diff(np.concatenate([[0.0], values, [1.0]])) > 0
    allowed[-1] = True
    best = int(np.argmin(np.where(allowed, total, np.inf)))
    return measured(
        float(cuts[best]), p, positive, costs, weight, "the least average cost on the rows it was chosen on"
    )


def bounded_threshold(
    p: Array, positive: Array, costs: Array, weight: Array, *, rate: float, confidence: float | None
) -> Threshold:
    """The lowest cut that calls at most the share `rate` of negative rows positive (Neyman and Pearson).

    On average over what it may be chosen on, as its rank among the negative rows is that of a conformal p-value; or
    with a probability of at least `confidence`, as order statistics have binomial ranks (Tong, Feng and Li 2018).
    """
    negatives = np.sort(p[~positive])
    n = len(negatives)
    if not n:
        raise DataError("there is no negative row to bound the false positive rate by; give some of the first class.")
    if confidence is None:
        # a row is called positive where its p-value among the negatives is too low
        cut, needed = -threshold(-negatives, exact_level(n, 1 - rate)), ceil(1 / rate) - 1
        promise = f"a new negative row is called positive with a probability of at most {rate:g}"
    else:
        ranks = np.arange(1, n + 1)
        safe = ranks[binom.sf(ranks - 1, n, 1 - rate) <= 1 - confidence]
        cut, needed = (negatives[safe[0] - 1] if len(safe) else np.inf), ceil(log(1 - confidence) / log(1 - rate))
        promise = (
            f"with a probability of at least {confidence:g} over the choice of these rows, at most {rate:g} of new "
            "negative rows are called positive"
        )
    if np.isinf(cut):
        warn(
            f"{counted(n, 'negative row')} cannot show that at most {rate:g} of them are called positive, so that none "
            f"is: give {needed:,} or more, or allow a higher rate.",
            CalibrationWarning,
        )
    return measured(min(float(cut), 1.0), p, positive, costs, weight, promise)


def measured(value: float, p: Array, positive: Array, costs: Array, weight: Array, promise: str) -> Threshold:
    """What a cut did on rows whose class is known."""
    called = p > value
    paid = costs[positive.astype(int), called.astype(int)]
    false, true = (_share(called, weight * rows) for rows in (~positive, positive))
    return Threshold(value, float(weight @ paid / weight.sum()), false, true, promise)


def _share(called: Array, weight: Array) -> float:
    return float(weight @ called / weight.sum()) if weight.any() else float("nan")
