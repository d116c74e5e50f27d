"""Where a discriminative fit begins: at the coefficients that make it the generative classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.models import linear_form
from mercer.models.linear_forms.features import Centred, CentredMonomials
from mercer.models.linear_forms.units import statistic_scale


class Start(NamedTuple):
    """As `LogisticRegression` has them: of two classes only the second, relative to the first."""

    coef: Array
    intercept: Array


def start_of(model: Any, features: str, *, standardised: bool) -> Start:
    """The linear form of a fitted generative model, for the features that its counterpart sees."""
    form = linear_form(model)
    coef, intercept = form.coef, form.intercept
    if features == "statistics":
        return _relative(coef * statistic_scale(model), intercept)
    if features == "squares":
        return _relative(coef * _square_scale(model), intercept)
    if features == "words":
        return _relative(coef, intercept)
    mean, spread = _moments(model) if standardised else (np.zeros(model.n_features_in_), np.ones(model.n_features_in_))
    shape = form.feature_map.pieces[0].features
    about = shape.about if isinstance(shape, Centred | CentredMonomials) else 0.0
    away = mean - about
    if features == "monomials":
        return _relative(*_quadratic(coef, intercept, away, spread))
    return _relative(coef * spread, intercept + coef @ away)


def _quadratic(coef: Array, intercept: Array, away: Array, spread: Array) -> tuple[Array, Array]:
    """A function of x − about = away + spread · z, written in monomials of z."""
    d = len(away)
    linear, products = coef[:, :d].copy(), coef[:, d:]
    i, j = np.triu_indices(d)
    intercept = intercept + linear @ away + products @ (away[i] * away[j])
    for a, b in ((i, j), (j, i)):  # (away_i + s_i z_i)(away_j + s_j z_j) has two terms of degree 1
        np.add.at(linear.T, a, (products * away[b]).T)
    return np.hstack([linear * spread, products * (spread[i] * spread[j])]), intercept


def _moments(model: Any) -> tuple[Array, Array]:
    """Mean and standard deviation of each column over all rows, from what a fitted model has seen."""
    moments, weight = model.statistic_.parts[0], model.statistic_.weight
    share = (weight / weight.sum())[:, None]
    means = np.nan_to_num(moments.mean)
    within = moments.variance if hasattr(moments, "variance") else np.diagonal(moments.covariance, axis1=1, axis2=2)
    mean = (share * means).sum(axis=0)
    variance = (share * (np.nan_to_num(within) + np.square(means - mean))).sum(axis=0)
    return mean, np.where(variance > 0, np.sqrt(variance), 1.0)


def _square_scale(model: Any) -> Array:
    """Return the units of columns and their squares, in the order of the statistics of Gaussian naive Bayes."""
    _, spread = _moments(model)
    gaps = len(linear_form(model).names) - 2 * len(spread)
    return np.append(np.column_stack([spread, spread**2]).ravel(), np.ones(gaps))


def _relative(coef: Array, intercept: Array) -> Start:
    if len(coef) == 2:
        return Start(coef[1:] - coef[:1], intercept[1:] - intercept[:1])
    return Start(coef - coef.mean(axis=0), intercept - intercept.mean())
