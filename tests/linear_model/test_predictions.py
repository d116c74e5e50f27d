"""Predictions of a fitted GLM: distributions, scores, and probabilities that do not underflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import GLM, TweedieRegressor
from mercer.families import Tweedie
from tests.linear_model._responses import LABELS, X0, N, made, rows_of


@pytest.mark.parametrize(
    "family", ["gaussian", "bernoulli", "poisson", "gamma", "inverse_gaussian", "negative_binomial"]
)
def test_the_fitted_distribution_is_that_of_the_family(family: str) -> None:
    X, y = rows_of(family)
    model = made(family).fit(X, y)
    rows = model.predict_distribution(X)
    mean = model.predict_proba(X)[:, 1] if family == "bernoulli" else model.predict(X)
    np.testing.assert_allclose(rows.mean, mean)
    if family != "gaussian":  # whose likelihood is at the maximum likelihood variance, not the unbiased one
        np.testing.assert_allclose(rows.log_density(y).sum(), model.log_likelihood_, rtol=1e-9)
    np.testing.assert_allclose(rows.variance, model.dispersion_ * model.family_.unit_variance(mean), rtol=1e-9)


@pytest.mark.parametrize("power", [-1.0, 2.5])
def test_a_family_without_a_density_has_a_fit_and_no_likelihood(power: float) -> None:
    X, y = rows_of("gamma")
    model = GLM(Tweedie(power), link="log").fit(X, y)
    other = TweedieRegressor(power=power, alpha=0, link="log", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6)
    assert np.isnan(model.log_likelihood_)
    np.testing.assert_allclose(model.predict_distribution(X).mean, other.predict(X), rtol=1e-6)


def test_classes_are_sampled_with_their_probabilities() -> None:
    X, y = rows_of("categorical")
    model = GLM("categorical").fit(X, y)
    draws = model.predict_distribution(X[:1]).sample(20_000, random_state=0)
    np.testing.assert_allclose(np.bincount(draws[:, 0]) / 20_000, model.predict_proba(X[:1])[0], atol=0.02)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma"])
def test_the_score_is_the_share_of_explained_deviance(family: str) -> None:
    X, y = rows_of(family)
    model = made(family).fit(X, y)
    assert model.score(X, y) == pytest.approx(1 - model.deviance_ / model.null_deviance_, rel=1e-9)


LABELLED = [("bernoulli", link, None) for link in ("canonical", "probit", "cloglog", "cauchit")]
LABELLED += [("categorical", "canonical", reference) for reference in (None, 1)]


@pytest.mark.parametrize(("family", "link", "reference"), LABELLED)
def test_log_probabilities_agree_with_probabilities(family: str, link: str, reference: Any) -> None:
    model = GLM(family, link, reference=reference).fit(X0, LABELS if family == "bernoulli" else np.arange(N) % 3)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X0)), model.predict_proba(X0), rtol=1e-12)


@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
def test_log_probabilities_do_not_underflow(family: str) -> None:
    model = GLM(family).fit(X0, LABELS)
    far = 1e6 * X0[:1]
    eta = model.predict_linear(far)
    odds = eta if eta.ndim == 1 else eta[:, 1] - eta[:, 0]
    assert np.abs(odds) > 2000
    log_p = model.predict_log_proba(far)
    np.testing.assert_allclose(log_p[:, 1] - log_p[:, 0], odds, rtol=1e-12)
    assert log_p.max() == 0


def test_only_labels_have_log_probabilities() -> None:
    assert not hasattr(GLM("poisson"), "predict_log_proba")
