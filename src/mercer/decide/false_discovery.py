"""Many tests at once: how many of those that are called positive are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array


def adjusted_p_values(p: Any) -> Array:
    """min over k ≥ rank of p₍ₖ₎ m/k: the least level at which Benjamini and Hochberg call each test positive.

    Parameters
    ----------
    p : array-like of shape (m,)
        The p-value of each test.

    Returns
    -------
    adjusted : ndarray of shape (m,)
        In the order of `p`, at most 1.

    Examples
    --------
    >>> adjusted_p_values([0.01, 0.04, 0.03, 0.9])
    array([0.04      , 0.05333333, 0.05333333, 0.9       ])
    """
    values = np.asarray(p, dtype=float)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise DataError("p-values are numbers from 0 to 1 in one dimension; look at how these were computed.")
    order = np.argsort(values)[::-1]
    scaled = values[order] * len(values) / np.arange(len(values), 0, -1)
    result = np.empty_like(values)
    result[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return result


def benjamini_hochberg(p: Any, level: float) -> Array:
    """Which tests are positive: on average over batches, at most the share `level` of these is so by mistake.

    The k smallest p-values, for the largest k with p₍ₖ₎ ≤ level · k/m. This holds for p-values that are independent or
    positively dependent on each true hypothesis, as conformal ones are.

    Parameters
    ----------
    p : array-like of shape (m,)
        The p-value of each test.
    level : float
        The false discovery rate that is allowed.

    Returns
    -------
    positive : ndarray of shape (m,), bool
        In the order of `p`.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.9], level=0.06)
    array([ True,  True,  True, False])
    """
    return np.asarray(adjusted_p_values(p) <= level)
