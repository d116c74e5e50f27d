"""Profile intervals: at their ends the deviance has risen by the quantile, and no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from mercer import GLM, LinearRegression, summary
from mercer._errors import InferenceError
from tests.inference._data import columns, glm, responses
from tests.known import endometrial


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "gamma"])
@pytest.mark.parametrize("term", ["(intercept)", "x1"])
def test_the_ends_are_where_the_likelihood_ratio_test_is_undecided(family: str, term: str) -> None:
    X = columns(80)
    y = responses(family, X)
    table = summary(glm(family).fit(X, y), X, y)
    lower, upper = table.profile_interval(term, 0.9)
    assert lower < table.coefficients[table.names.index(term)] < upper
    for end in (lower, upper):
        assert table.likelihood_ratio_test(term, end).p_value == pytest.approx(0.1, rel=1e-5)


def test_the_deviance_of_a_model_with_that_offset_has_risen_by_the_quantile() -> None:
    X = columns(80)
    y = responses("poisson", X)
    model = GLM("poisson").fit(X, y)
    for end in summary(model, X, y).profile_interval("x0"):
        fixed = GLM("poisson", tol=1e-10).fit(X[:, 1:], y, offset=end * X[:, 0])
        assert fixed.deviance_ - model.deviance_ == pytest.approx(stats.chi2.ppf(0.95, 1), rel=1e-6)


def test_for_least_squares_it_is_the_t_interval() -> None:
    X = columns(30)
    y = responses("gaussian", X)
    table = summary(LinearRegression().fit(X, y), X, y)
    for position, name in enumerate(table.names):
        np.testing.assert_allclose(table.profile_interval(name), table.intervals[position], rtol=1e-6)


def test_the_published_intervals_of_firths_estimate() -> None:
    model = GLM("bernoulli", on_separation="firth").fit(endometrial.X, endometrial.y)
    table = summary(model, endometrial.X, endometrial.y)
    found = [table.profile_interval(name) for name in ("x0", "x1", "x2", "(intercept)")]
    np.testing.assert_allclose(found, endometrial.FIRTH_INTERVALS, rtol=1e-5)


def test_an_unbounded_interval_is_infinite() -> None:
    """All who were exposed fell ill: the odds have no upper bound."""
    with pytest.warns(UserWarning, match="separat"):
        model = GLM("bernoulli").fit(endometrial.X, endometrial.y)
    table = summary(model, endometrial.X, endometrial.y)
    assert table.profile_interval("x1")[1] < 1
    lower, upper = table.profile_interval("x0")
    assert upper == np.inf
    assert np.isfinite(lower)
    assert table.likelihood_ratio_test("x0", lower).p_value == pytest.approx(0.05, rel=1e-3)


@pytest.mark.parametrize("level", [95, 0, 1, np.nan, "a", None])
def test_an_invalid_level_is_rejected(level: Any) -> None:
    X = columns(30)
    y = responses("gaussian", X)
    with pytest.raises(InferenceError, match=f"between 0 and 1; got {level!r}"):
        summary(LinearRegression().fit(X, y), X, y, level=level)


def test_ends_too_far_away_to_be_found_are_rejected() -> None:
    """One standard error from the estimate the means are beyond floats."""
    X = columns(60)
    y, weight = responses("poisson", X), np.full(60, 1e-8)
    table = summary(GLM("poisson").fit(X, y, sample_weight=weight), X, y, sample_weight=weight)
    with pytest.raises(InferenceError, match="so far from the estimate"):
        table.profile_interval("x0")
