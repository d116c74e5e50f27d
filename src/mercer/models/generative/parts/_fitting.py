"""Fitting a family to every class at once, when some classes have seen little or nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DegenerateDataError
from mercer._typing import Array
from mercer.families import Bernoulli, Binomial, Family, Histogram, Parameters, Prior
from mercer.families.pseudo_counts import add_alpha
from mercer.models.generative.parts._base import CLOSED_FORM, Smoothing
from mercer.solvers.certificate import Certificate

#: largest gradient of the mean log likelihood, relative to the size of T, that a fit may leave
GRADIENT = 1e-8

BRACKETED = Certificate(
    "bracketed root", 0.0, 0.0, "the slope of the likelihood changes its sign at the parameter, to rounding"
)


class Fits(NamedTuple):
    """Parameters of all classes, and how we know that they are the best ones."""

    parameters: Parameters
    certificate: Certificate


def fit_classes(family: Family, statistic: Any, smoothing: Smoothing) -> Fits:
    """Fit every class; one that has not observed a column takes the parameters of all classes together.

    Discrete families have a prior: `smoothing.counts` for each level where they have levels, else as many
    observations that look like all classes together.
    """
    common = family.fit(statistic.pooled())
    if family.discrete or isinstance(family, Histogram):
        parameters = family.fit(statistic, _pseudo_counts(family, smoothing.counts, common))
        return Fits(filled(parameters, common), CLOSED_FORM if family.exponential else BRACKETED)
    parameters = _maximum_likelihood(family, statistic, smoothing, common)
    return Fits(filled(parameters, common), _certificate(family, statistic, parameters))


def filled(parameters: Parameters, common: Parameters, *, where: Array | None = None) -> Parameters:
    """Parameters `where` a class has seen nothing (NaN, if not given) replaced by those of all classes together."""
    pairs = zip(parameters, common, strict=True)
    fields = (np.where(np.isnan(own) if where is None else where, shared, own) for own, shared in pairs)
    return type(parameters)(*fields)


def _pseudo_counts(family: Family, alpha: float, common: Parameters) -> Prior | None:
    if alpha == 0:
        return None
    if isinstance(family, Bernoulli | Binomial | Histogram):
        return add_alpha(family, alpha)
    # a column that no class has observed has nothing to look like; an r of ∞, a Poisson's, is to stay one
    return Prior(alpha, type(common)(*(np.where(np.isnan(field), 1.0, field) for field in common)))


def _maximum_likelihood(family: Family, statistic: Any, smoothing: Smoothing, common: Parameters) -> Parameters:
    """Maximum likelihood; where a class has no spread and hence no fit, it borrows a little from all classes."""
    try:
        return family.fit(statistic)
    except DegenerateDataError:
        if smoothing.variance == 0:
            raise
    return family.fit(statistic, Prior(smoothing.variance * np.asarray(statistic.weight), common))


def _certificate(family: Family, statistic: Any, parameters: Parameters) -> Certificate:
    """The gradient of the mean log likelihood in η is what the data's mean of T exceeds its expectation by."""
    mean = np.asarray(statistic.mean)
    gradient = np.abs(mean - family.expected(parameters)) / (1 + np.abs(mean))
    largest = np.max(gradient[np.asarray(statistic.weight) > 0], initial=0.0)
    return Certificate(
        "gradient norm", float(largest), GRADIENT, "the expectation of T(x) in every class is its mean over the data"
    )


def without_fit(family: Family, statistic: Any) -> int:
    """The first column to which `family` has no maximum likelihood fit, in all classes together or in one of them."""
    for seen in (statistic.pooled(), statistic):
        mean = np.where(seen.weight[..., None] > 0, seen.mean, np.nan)
        for j in range(mean.shape[1]):
            try:
                family.from_mean(mean[:, [j]])
            except DegenerateDataError:
                return j
    raise ValueError(f"{family!r} has a maximum likelihood fit to every column.")
