"""Tests of hypotheses: that they agree where theory says so, and that they hold their level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from mercer import GLM, LinearRegression, summary
from mercer._errors import InferenceError, NotConvergedWarning
from mercer.optim import newton
from tests.inference._data import columns, glm, responses


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "gamma"])
def test_the_three_tests_agree_when_there_are_many_rows(family: str) -> None:
    X = columns(20_000)
    y = responses(family, X)
    told = summary(glm(family).fit(X, y), X, y)
    about = ["x0", "x2"]
    values = told.coefficients[[1, 3]] + told.standard_errors[[1, 3]]  # where the hypothesis is nearly true
    wald, ratio, score = (test(about, values) for test in (told.wald_test, told.likelihood_ratio_test, told.score_test))
    scale = 1 if wald.residual_freedom is None else 2
    assert wald.statistic * scale == pytest.approx(2.0, rel=0.5)
    assert ratio.statistic == pytest.approx(wald.statistic, rel=0.02)
    assert score.statistic == pytest.approx(wald.statistic * scale, rel=0.02)


def test_for_least_squares_wald_and_likelihood_ratio_are_the_f_test() -> None:
    X = columns(40)
    y = responses("gaussian", X)
    told = summary(LinearRegression().fit(X, y), X, y)
    residuals = [np.square(y - LinearRegression().fit(A, y).predict(A)).sum() for A in (X[:, :1], X)]
    expected = (residuals[0] - residuals[1]) / 2 / (residuals[1] / 36)
    for test in (told.wald_test(["x1", "x2"]), told.likelihood_ratio_test(["x1", "x2"])):
        assert test.statistic == pytest.approx(expected, rel=1e-9)
        assert (test.freedom, test.residual_freedom) == (2, 36)
        assert test.p_value == pytest.approx(stats.f.sf(expected, 2, 36))


def test_one_coefficient_is_tested_by_its_statistic() -> None:
    X = columns(100)
    y = responses("poisson", X)
    told = summary(GLM("poisson").fit(X, y), X, y)
    test = told.wald_test("x1")
    assert test.statistic == pytest.approx(told.statistics[2] ** 2)
    assert test.p_value == pytest.approx(told.p_values[2])


def test_a_combination_is_tested_like_the_coefficient_that_it_is_in_other_columns() -> None:
    """β0 = β1 in columns a, b is that a − b has no coefficient in columns a + b, a − b."""
    X = columns(100)
    y = responses("poisson", X)
    turned = np.column_stack([X[:, 0] + X[:, 1], X[:, 0] - X[:, 1], X[:, 2]])
    told, other = (summary(GLM("poisson", tol=1e-10).fit(rows, y), rows, y) for rows in (X, turned))
    difference = np.array([[0.0, 1.0, -1.0, 0.0]])
    for name in ("wald_test", "likelihood_ratio_test", "score_test"):
        direct, by_column = getattr(told, name)(difference), getattr(other, name)("x1")
        assert direct.statistic == pytest.approx(by_column.statistic, rel=1e-6)


@pytest.mark.parametrize("left", ["nothing", "the intercept", "the columns"])
def test_the_ratio_compares_with_the_fit_that_the_hypothesis_leaves(left: str) -> None:
    X = columns(80)
    y = responses("poisson", X)
    told = summary(GLM("poisson").fit(X, y), X, y)
    of_means_of_one = 2 * (stats.poisson.logpmf(y, y).sum() - stats.poisson.logpmf(y, 1.0).sum())
    about, deviance = {
        "nothing": (["(intercept)", "x0", "x1", "x2"], of_means_of_one),
        "the intercept": (["x0", "x1", "x2"], told.criteria.null_deviance),
        "the columns": ("(intercept)", GLM("poisson", fit_intercept=False).fit(X, y).deviance_),
    }[left]
    assert told.likelihood_ratio_test(about).statistic == pytest.approx(deviance - told.criteria.deviance, rel=1e-7)


def test_what_is_true_is_rarely_rejected() -> None:
    """Of 100 samples, the tests of a true hypothesis reject about 5 %."""
    rejected = np.zeros(3)
    for seed in range(100):
        X = columns(60, seed)
        y = np.random.default_rng(1000 + seed).poisson(np.exp(0.3 + 0.4 * (X[:, 0])), 60).astype(float)
        told = summary(GLM("poisson").fit(X, y), X, y)
        tests = (told.wald_test, told.likelihood_ratio_test, told.score_test)
        rejected += [test(["x1", "x2"]).p_value < 0.05 for test in tests]
    assert (rejected <= 12).all()
    assert (rejected >= 1).all()


def test_a_hypothesis_that_cannot_be_is_refused() -> None:
    X = columns(50)
    y = responses("poisson", X)
    told = summary(GLM("poisson").fit(X, y), X, y)
    with pytest.raises(InferenceError, match=r"no coefficient is called 'x9'. There are .*'x2'"):
        told.wald_test("x9")
    with pytest.raises(InferenceError, match="one number per coefficient, 4"):
        told.wald_test(np.eye(3))
    with pytest.raises(InferenceError, match="repeat or contradict"):
        told.likelihood_ratio_test(["x0", "x0"], [0.0, 1.0])
    with pytest.raises(InferenceError, match="repeat or contradict"):
        told.wald_test(["x0", "x0"], [0.0, 1.0])


def test_a_test_reads_as_a_sentence() -> None:
    X = columns(50)
    y = responses("gaussian", X)
    told = summary(LinearRegression().fit(X, y), X, y)
    assert str(told.wald_test(["x0", "x1"], 1.0)).startswith("Wald test of x0, x1 = 1: F(2, 46) = ")


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [[1.0]], np.nan, np.inf])
def test_values_that_do_not_fit_are_refused(values: object) -> None:
    X = columns(40)
    y = responses("poisson", X)
    told = summary(GLM("poisson").fit(X, y), X, y)
    with pytest.raises(InferenceError, match=r"one value, or one for each|finite numbers"):
        told.wald_test(["x0", "x1"], values)
    with pytest.raises(InferenceError, match="finite numbers"):
        told.wald_test(np.array([[0.0, np.nan, 0.0, 1.0]]))


def test_after_firth_nothing_speaks_against_the_estimate() -> None:
    X, y = np.arange(6.0)[:, None], np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    told = summary(GLM("bernoulli", on_separation="firth").fit(X, y), X, y)
    estimate = told.coefficients[1]
    for test in (told.wald_test, told.likelihood_ratio_test, told.score_test):
        assert test("x0", estimate).statistic == pytest.approx(0.0, abs=1e-12)
        assert test("x0", 0.0).statistic > 1.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda told: told.likelihood_ratio_test("x0", 3.0),
        lambda told: told.score_test("x0", 3.0),
        lambda told: told.profile_interval("x0"),
    ],
)
def test_a_restricted_fit_that_was_not_found_is_admitted(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X = columns(80)
    y = responses("poisson", X)
    told = summary(GLM("poisson").fit(X, y), X, y)
    solve = newton.solve
    monkeypatch.setattr(newton, "solve", lambda problem, start: solve(problem, start, most_steps=0))
    with pytest.warns(NotConvergedWarning, match=r"under the restriction was not found.*after 0 Newton step"):
        ask(told)


def test_an_r_that_was_estimated_is_found_anew_under_a_hypothesis() -> None:
    discrete = pytest.importorskip("statsmodels.discrete.discrete_model")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    mean = np.exp(0.3 + X @ [1.2, -0.3, 0.1])
    y = rng.negative_binomial(2, 2 / (2 + mean))
    told = summary(GLM("negative_binomial", link="log").fit(X, y), X, y)
    ones = np.ones((300, 1))
    full, without, null = (
        discrete.NegativeBinomial(y, np.hstack([ones, part])).fit(disp=0, maxiter=500).llf
        for part in (X, X[:, 1:], X[:, :0])
    )
    assert told.likelihood_ratio_test("x0").statistic == pytest.approx(2 * (full - without), rel=1e-5)
    assert told.criteria.null_log_likelihood == pytest.approx(null, rel=1e-7)
    assert told.criteria.r2_mcfadden == pytest.approx(1 - full / null, rel=1e-6)
    at_end = told.profile_interval("x0")[1]
    assert told.likelihood_ratio_test("x0", at_end).statistic == pytest.approx(stats.chi2.ppf(0.95, 1), rel=1e-6)
    near = told.coefficients[1] + told.standard_errors[1]
    assert told.score_test("x0", near).statistic == pytest.approx(1.0, rel=0.3)


def test_without_an_intercept_r_is_found_at_means_of_one() -> None:
    X = columns(200)
    y = np.random.default_rng(0).negative_binomial(2, 0.5, 200)
    model = GLM("negative_binomial", link="log", fit_intercept=False).fit(X, y)
    told = summary(model, X, y)
    size = np.exp(np.linspace(-3, 5, 4001))[:, None]
    best = stats.nbinom.logpmf(y, size, size / (size + 1)).sum(axis=1).max()
    assert told.criteria.null_log_likelihood == pytest.approx(best, rel=1e-5)
    ratio = told.likelihood_ratio_test(["x0", "x1", "x2"]).statistic
    assert ratio == pytest.approx(2 * (told.criteria.log_likelihood - best), rel=1e-4)
