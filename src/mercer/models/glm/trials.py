"""Responses that are counts of successes among several trials, whose number differs from row to row.

The number of trials belongs to a row as its weight does: k successes among n trials have the likelihood of the share
k/n with the weight n, but for the binomial coefficient, which no coefficient of the model changes. A fit is therefore
one of shares; how many observations there are, and their likelihood, are those of the counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError, FamilyError, SupportError
from mercer._typing import Array
from mercer.families import BernoulliParameters, Binomial, Family
from mercer.models.glm.target import read_numbers


class ResponseTrials(NamedTuple):
    """A response as a fit needs it; `number` is None where every row has as many trials as the family says."""

    #: that of a share, where there are trials
    family: Family
    y: Any
    number: Array | None = None

    def weighted(self, weight: Array | None) -> Array | None:
        """Weights of the rows with their trials among them."""
        if self.number is None:
            return weight
        return self.number if weight is None else weight * self.number


def is_grouped(family: Family) -> bool:
    """Whether the number of trials differs from row to row."""
    return isinstance(family, Binomial) and not isinstance(family.trials, int | np.integer | float)


def family_of_shares(family: Family) -> Family:
    """The family of one trial, for one whose number of trials differs from row to row; else the family itself."""
    return Binomial(1) if is_grouped(family) else family


def read_trials(family: Family, y: Any) -> ResponseTrials:
    """Return shares and numbers of trials, from counts of successes, or from columns of successes and failures.

    >>> read_trials(Binomial(), [[3, 1], [2, 2]])
    ResponseTrials(family=Binomial(trials=1), y=array([0.75, 0.5 ]), number=array([4., 4.]))
    """
    if not is_grouped(family):
        return ResponseTrials(family, y)
    assert isinstance(family, Binomial)
    if y is None:  # for the model to complain about
        return ResponseTrials(family_of_shares(family), None)
    counts = read_numbers_of_columns(y)
    if family.trials is None:
        if counts.ndim != 2 or counts.shape[1] != 2:
            raise DataError(
                f"The family 'binomial' takes two columns, successes and failures, but y has the shape {counts.shape}. "
                "For counts of successes give Binomial(trials=…), for labels family='bernoulli'."
            )
        successes, number = counts[:, 0], counts.sum(axis=1)
    else:
        number = np.asarray(family.trials, dtype=np.float64)
        if counts.ndim == 2 and counts.shape[1] == 1:
            counts = counts[:, 0]
        if counts.shape != number.shape:
            raise DataError(
                f"Binomial(trials=…) has {len(number)} numbers of trials, but y has the shape {counts.shape}. Where "
                "rows are taken apart, as in cross-validation, give family='binomial' and y of two columns, successes "
                "and failures."
            )
        successes = counts
    outside = (successes < 0) | (successes > number)
    if outside.any():
        row = int(np.argmax(outside))
        raise SupportError(
            f"y has {successes[row]:g} successes among {number[row]:g} trials in row {row}. Successes and failures are "
            "counts of 0 or more."
        )
    if not number.any():
        raise DataError("y has no trials at all; give rows with successes or failures.")
    shares = np.divide(successes, number, out=np.zeros(len(number)), where=number > 0)
    return ResponseTrials(family_of_shares(family), shares, number)


def read_numbers_of_columns(y: Any) -> Array:
    """Finite numbers as float64, of one column or several."""
    given = np.asarray(y)
    return read_numbers(given.ravel()).reshape(given.shape)


def refuse_grouped(family: Family, what: str) -> None:
    """Raise where a fit cannot have trials that differ from row to row."""
    if is_grouped(family):
        raise FamilyError(
            f"Trials that differ from row to row are not known to {what}; give shares of successes to Binomial(1), and "
            "the trials as sample_weight."
        )


def saturated_counts(shares: Array, number: Array, weight: Array) -> float:
    """Σ weight · log C(n, k) pᵏ (1 − p)ⁿ⁻ᵏ at p = k/n; NaN where counts are not whole."""
    seen = (weight > 0) & (number > 0)
    total = 0.0
    for n in np.unique(number[seen]):
        if n != np.floor(n):
            return np.nan
        rows = seen & (number == n)
        # k = n · (k/n) but for rounding
        counts = shares[rows] * n
        whole = np.rint(counts)
        if not np.allclose(counts, whole, rtol=0, atol=1e-6):
            return np.nan
        total += float(weight[rows] @ Binomial(int(n)).log_density(whole, BernoulliParameters(whole / n)))
    return total
