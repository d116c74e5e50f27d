"""Conformal p-values: how strange a score is, as its rank among scores of rows that are known to be usual."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from mercer._errors import DataError, NonFiniteError
from mercer._typing import Array

#: (n + 1) coverage may be above a whole number by this because coverage has no exact binary form
ROUNDING = 1e-9


def conformal_p_values(scores: Any, calibration: Any, *, rng: np.random.Generator | None = None) -> Array:
    """(1 + #{calibration ≤ score}) / (n + 1): small for scores lower than most of the calibration's.

    For a row exchangeable with those of the calibration P(p ≤ t) ≤ t, whatever made the scores, as long as it has seen
    neither. All p-values rest on the same calibration, which makes them positively dependent (Bates et al. 2023).

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Of the rows to be judged; low is strange.
    calibration : array-like of shape (n,)
        Scores of usual rows.
    rng : numpy.random.Generator, default=None
        Breaks ties at random, so that p-values of usual rows are exactly uniform; without it they are on the safe side.

    Returns
    -------
    p : ndarray of shape (n_rows,)
        Multiples of 1/(n + 1), unless ties are broken at random.

    Examples
    --------
    >>> conformal_p_values([-9.0, 0.5], calibration=[-1.0, 0.0, 1.0])
    array([0.25, 0.75])
    """
    asked, known = _checked(scores, "scores"), np.sort(_checked(calibration, "calibration"))
    if not known.size:
        raise DataError("there is no calibration score to rank others by; hold some rows out.")
    if rng is None:
        return np.asarray((1 + np.searchsorted(known, asked, side="right")) / (len(known) + 1))
    below, upto = (np.searchsorted(known, asked, side=side) for side in ("left", "right"))
    return np.asarray((below + rng.random(asked.shape) * (1 + upto - below)) / (len(known) + 1))


def least_p_value(calibration: Array) -> float:
    """That of the strangest row there can be, whose score is −inf."""
    return float(conformal_p_values([-np.inf], calibration)[0])


def exact_rank(n: int, coverage: float) -> int:
    """⌈(n + 1) coverage⌉: which of n ascending scores a new one stays below or at with that probability.

    More than n where there are too few of them.

    Examples
    --------
    >>> exact_rank(9, 0.9), exact_rank(99, 0.95), exact_rank(5, 0.9)
    (9, 95, 6)
    """
    return ceil((n + 1) * coverage - ROUNDING)


def exact_level(n: int, coverage: float) -> float:
    """The greatest p-value among n scores at which a row is left out, so that the rest is `coverage` or more.

    A multiple of 1/(n + 1) to the last bit, as p-values are: 1 − coverage is none where it cannot be written exactly.
    """
    return max(0, n + 1 - exact_rank(n, coverage)) / (n + 1)


def threshold(calibration: Array, level: float) -> float:
    """The score from which on a row has a conformal p-value above `level`; −inf where every row has."""
    ranks = np.arange(1, len(calibration) + 1) / (len(calibration) + 1)
    flagged = int(np.count_nonzero(ranks <= level))
    return float(np.partition(calibration, flagged - 1)[flagged - 1]) if flagged else -np.inf


def ranks_among_themselves(scores: Array) -> Array:
    """#{j: s_j ≤ s_i}/n: the conformal p-value of each row with all others as its calibration."""
    return np.asarray(np.searchsorted(np.sort(scores), scores, side="right") / len(scores))


def _checked(scores: Any, name: str) -> Array:
    values = np.asarray(scores, dtype=float)
    if np.isnan(values).any():
        raise NonFiniteError(f"{name} holds NaN at position {int(np.argmax(np.isnan(values)))}, which has no rank.")
    return values
