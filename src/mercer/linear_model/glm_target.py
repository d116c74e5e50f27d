"""The response of a GLM as numbers: measurements and counts as they are, labels as codes, successes among trials as \
shares.

k successes among n trials have the likelihood of the share k/n with the weight n, up to the binomial coefficient, which
does not depend on the coefficients of the model. So if the number of trials differs from row to row, the fit is one of
shares weighted by trials; the number of observations and their likelihood are those of the counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError, FamilyError, NonFiniteError, SupportError
from mercer._typing import Array
from mercer.data.labels import encode_labels
from mercer.families import Bernoulli, BernoulliParameters, Binomial, Categorical, Family


class GLMTarget(NamedTuple):
    """One number per row and, if they are codes, the labels."""

    values: Array
    classes: Array | None = None


def is_label_family(family: Family) -> bool:
    """Return whether the response is one of several labels."""
    return isinstance(family, Bernoulli | Categorical)


def read_target(family: Family, y: Any, weight: Array | None = None) -> GLMTarget:
    """Return y as the family needs it, or raise an error that names the first value outside its support."""
    if is_label_family(family):
        classes, codes = encode_labels(np.asarray(y))
        if weight is not None and len(classes) > 1:
            # a class without weight is left out; the codes of its rows do not matter
            has_weight = np.bincount(codes, weight, minlength=len(classes)) > 0
            codes = np.where(has_weight, np.cumsum(has_weight) - 1, 0)[codes]
            classes = classes[has_weight]
        check_number_of_classes(family, classes)
        return GLMTarget(codes.astype(np.float64), classes)
    values = read_numbers(y)
    family.check_response(values)
    return GLMTarget(values)


def read_numbers(y: Any) -> Array:
    """Return y as float64, or raise an error if it is not numeric or not finite."""
    given = np.asarray(y)
    if given.dtype.kind == "c":
        raise DataError("Complex data not supported: give the real and the imaginary part each a model of its own.")
    try:
        if given.dtype.kind in "US":
            raise TypeError
        values = given.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise DataError(
            f"y holds {given.ravel().tolist()[0]!r}, but the family describes numbers; convert y, or for labels use "
            'family="bernoulli" or "categorical".'
        ) from None
    if not (finite := np.isfinite(values)).all():
        row = int(np.argmin(finite))
        what = "NaN" if np.isnan(values[row]) else f"infinity or a value too large for {values.dtype!r}"
        raise NonFiniteError(f"Input y contains {what}. It is {values[row]} in row {row}; drop the row.")
    return values


def check_number_of_classes(family: Family, classes: Array) -> None:
    """Raise an error if the family does not have this number of classes."""
    if len(classes) < 2:
        raise DataError(
            f"{type(family).__name__} needs 2 classes, but y holds only one class: {classes.tolist()[0]!r}. Add rows "
            "of another class; one class cannot be distinguished from anything."
        )
    if isinstance(family, Bernoulli) and len(classes) > 2:
        raise SupportError(
            f"Only binary classification is supported by family='bernoulli', but y holds {len(classes)} labels, such "
            f"as {classes[:3].tolist()}. Use family='categorical'."
        )
    if isinstance(family, Categorical) and family.levels not in (None, len(classes)):
        raise SupportError(f"y holds {len(classes)} labels, but the family has {family.levels} levels; drop `levels`.")


class ResponseTrials(NamedTuple):
    """Response for a fit; `number` is None unless the number of trials differs from row to row."""

    #: the family of shares, if there are trials
    family: Family
    y: Any
    number: Array | None = None

    def weighted(self, weight: Array | None) -> Array | None:
        """Return the weights of the rows times their numbers of trials."""
        if self.number is None:
            return weight
        return self.number if weight is None else weight * self.number


def is_grouped(family: Family) -> bool:
    """Return whether the number of trials differs from row to row."""
    return isinstance(family, Binomial) and not isinstance(family.trials, int | np.integer | float)


def family_of_shares(family: Family) -> Family:
    """Return the family of one trial if the number of trials differs from row to row, else the family itself."""
    return Binomial(1) if is_grouped(family) else family


def read_trials(family: Family, y: Any) -> ResponseTrials:
    """Return shares and numbers of trials, from counts of successes, or from columns of successes and failures.

    >>> read_trials(Binomial(), [[3, 1], [2, 2]])
    ResponseTrials(family=Binomial(trials=1), y=array([0.75, 0.5 ]), number=array([4., 4.]))
    """
    if not is_grouped(family):
        return ResponseTrials(family, y)
    assert isinstance(family, Binomial)
    if y is None:  # the model raises the error
        return ResponseTrials(family_of_shares(family), None)
    table: Array = np.asarray(y)
    counts: Any = read_numbers(table.ravel()).reshape(table.shape)
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


def check_equal_trials(family: Family, what: str) -> None:
    """Raise an error if the number of trials differs from row to row."""
    if is_grouped(family):
        raise FamilyError(
            f"Trials that differ from row to row are not supported by {what}; give shares of successes to Binomial(1), "
            "and the trials as sample_weight."
        )


def saturated_counts(shares: Array, number: Array, weight: Array) -> float:
    """Return Σ weight · log C(n, k) pᵏ (1 − p)ⁿ⁻ᵏ at p = k/n; NaN if counts are not whole numbers."""
    positive = (weight > 0) & (number > 0)
    total = 0.0
    for n in np.unique(number[positive]):
        if n != np.floor(n):
            return np.nan
        rows = positive & (number == n)
        # n · (k/n) equals k up to rounding
        counts = shares[rows] * n
        whole = np.rint(counts)
        if not np.allclose(counts, whole, rtol=0, atol=1e-6):
            return np.nan
        total += float(weight[rows] @ Binomial(int(n)).log_density(whole, BernoulliParameters(whole / n)))
    return total
