"""Tests of hypotheses: they agree asymptotically, and hold their level."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mercer import GLM, LinearRegression, summary
from mercer._errors import InferenceError, NotConvergedWarning
from mercer.inference._covariance import compute_covariance
from mercer.inference._profile import profile_interval
from mercer.inference.reading import read_fit
from tests.inference._data import columns, glm, responses


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "gamma"])
def test_the_three_tests_agree_when_there_are_many_rows(family: str) -> None:
    X = columns(20_000)
    y = responses(family, X)
    table = summary(glm(family).fit(X, y), X, y)
    about = ["x0", "x2"]
    values = table.coefficients[[1, 3]] + table.standard_errors[[1, 3]]  # where the hypothesis is nearly true
    wald, ratio, score = (
        test(about, values) for test in (table.wald_test, table.likelihood_ratio_test, table.score_test)
    )
    scale = 1 if wald.residual_freedom is None else 2
    assert wald.statistic * scale == pytest.approx(2.0, rel=0.5)
    assert ratio.statistic == pytest.approx(wald.statistic, rel=0.02)
    assert score.statistic == pytest.approx(wald.statistic * scale, rel=0.02)


def test_for_least_squares_wald_and_likelihood_ratio_are_the_f_test() -> None:
    X = columns(40)
    y = responses("gaussian", X)
    table = summary(LinearRegression().fit(X, y), X, y)
    residuals = [np.square(y - LinearRegression().fit(A, y).predict(A)).sum() for A in (X[:, :1], X)]
    expected = (residuals[0] - residuals[1]) / 2 / (residuals[1] / 36)
    for test in (table.wald_test(["x1", "x2"]), table.likelihood_ratio_test(["x1", "x2"])):
        assert test.statistic == pytest.approx(expected, rel=1e-9)
        assert (test.freedom, test.residual_freedom) == (2, 36)
        assert test.p_value == pytest.approx(stats.f.sf(expected, 2, 36))


def test_one_coefficient_is_tested_by_its_statistic() -> None:
    X = columns(100)
    y = responses("poisson", X)
    table = summary(GLM("poisson").fit(X, y), X, y)
    test = table.wald_test("x1")
    assert test.statistic == pytest.approx(table.statistics[2] ** 2)
    assert test.p_value == pytest.approx(table.p_values[2])


def test_a_combination_is_tested_like_a_coefficient_of_transformed_columns() -> None:
    """β0 = β1 in columns a, b is that a − b has no coefficient in columns a + b, a − b."""
    X = columns(100)
    y = responses("poisson", X)
    turned = np.column_stack([X[:, 0] + X[:, 1], X[:, 0] - X[:, 1], X[:, 2]])
    table, other = (summary(GLM("poisson", tol=1e-10).fit(rows, y), rows, y) for rows in (X, turned))
    difference = np.array([[0.0, 1.0, -1.0, 0.0]])
    for name in ("wald_test", "likelihood_ratio_test", "score_test"):
        direct, by_column = getattr(table, name)(difference), getattr(other, name)("x1")
        assert direct.statistic == pytest.approx(by_column.statistic, rel=1e-6)


@pytest.mark.parametrize("left", ["nothing", "the intercept", "the columns"])
def test_the_likelihood_ratio_compares_with_the_restricted_fit(left: str) -> None:
    X = columns(80)
    y = responses("poisson", X)
    table = summary(GLM("poisson").fit(X, y), X, y)
    of_means_of_one = 2 * (stats.poisson.logpmf(y, y).sum() - stats.poisson.logpmf(y, 1.0).sum())
    about, deviance = {
        "nothing": (["(intercept)", "x0", "x1", "x2"], of_means_of_one),
        "the intercept": (["x0", "x1", "x2"], table.criteria.null_deviance),
        "the columns": ("(intercept)", GLM("poisson", fit_intercept=False).fit(X, y).deviance_),
    }[left]
    assert table.likelihood_ratio_test(about).statistic == pytest.approx(deviance - table.criteria.deviance, rel=1e-7)


def test_a_true_hypothesis_is_rarely_rejected() -> None:
    """In 100 samples, tests of a true hypothesis reject about 5 %."""
    rejected = np.zeros(3)
    for seed in range(100):
        X = columns(60, seed)
        y = np.random.default_rng(1000 + seed).poisson(np.exp(0.3 + 0.4 * (X[:, 0])), 60).astype(float)
        table = summary(GLM("poisson").fit(X, y), X, y)
        tests = (table.wald_test, table.likelihood_ratio_test, table.score_test)
        rejected += [test(["x1", "x2"]).p_value < 0.05 for test in tests]
    assert (rejected <= 12).all()
    assert (rejected >= 1).all()


def test_an_invalid_hypothesis_is_rejected() -> None:
    X = columns(50)
    y = responses("poisson", X)
    table = summary(GLM("poisson").fit(X, y), X, y)
    with pytest.raises(InferenceError, match=r"no coefficient is called 'x9'. There are .*'x2'"):
        table.wald_test("x9")
    with pytest.raises(InferenceError, match="one number per coefficient, 4"):
        table.wald_test(np.eye(3))
    with pytest.raises(InferenceError, match="repeat or contradict"):
        table.likelihood_ratio_test(["x0", "x0"], [0.0, 1.0])
    with pytest.raises(InferenceError, match="repeat or contradict"):
        table.wald_test(["x0", "x0"], [0.0, 1.0])


def test_a_test_reads_as_a_sentence() -> None:
    X = columns(50)
    y = responses("gaussian", X)
    table = summary(LinearRegression().fit(X, y), X, y)
    assert str(table.wald_test(["x0", "x1"], 1.0)).startswith("Wald test of x0, x1 = 1: F(2, 46) = ")


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [[1.0]], np.nan, np.inf])
def test_invalid_hypothesised_values_are_rejected(values: object) -> None:
    X = columns(40)
    y = responses("poisson", X)
    table = summary(GLM("poisson").fit(X, y), X, y)
    with pytest.raises(InferenceError, match=r"one value, or one for each|finite numbers"):
        table.wald_test(["x0", "x1"], values)
    with pytest.raises(InferenceError, match="finite numbers"):
        table.wald_test(np.array([[0.0, np.nan, 0.0, 1.0]]))


def test_after_firth_tests_do_not_reject_the_estimate() -> None:
    X, y = np.arange(6.0)[:, None], np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    table = summary(GLM("bernoulli", on_separation="firth").fit(X, y), X, y)
    estimate = table.coefficients[1]
    for test in (table.wald_test, table.likelihood_ratio_test, table.score_test):
        assert test("x0", estimate).statistic == pytest.approx(0.0, abs=1e-12)
        assert test("x0", 0.0).statistic > 1.0


@pytest.mark.parametrize("test", ["likelihood_ratio_test", "score_test"])
def test_a_restricted_fit_that_fails_is_reported(test: str) -> None:
    """With a coefficient of 100 the means of other rows overflow."""
    X = columns(80)
    y = responses("poisson", X)
    table = summary(GLM("poisson").fit(X, y), X, y)
    with pytest.warns(NotConvergedWarning, match=r"under the restriction was not found.*Newton step"):
        getattr(table, test)("x0", 100.0)


def test_a_profile_whose_fits_fail_is_reported() -> None:
    X = columns(80)
    y = responses("poisson", X)
    fitted = read_fit(GLM("poisson").fit(X, y), X, y, sample_weight=None, offset=None, exposure=None).fitted
    with pytest.warns(NotConvergedWarning, match=r"under the restriction was not found.*after 0 Newton step"):
        profile_interval(fitted, compute_covariance(fitted), 1, 0.95, most_steps=0)


def test_an_estimated_r_is_estimated_again_under_a_hypothesis() -> None:
    discrete = pytest.importorskip("statsmodels.discrete.discrete_model")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    mean = np.exp(0.3 + X @ [1.2, -0.3, 0.1])
    y = rng.negative_binomial(2, 2 / (2 + mean))
    table = summary(GLM("negative_binomial", link="log").fit(X, y), X, y)
    ones = np.ones((300, 1))
    full, without, null = (
        discrete.NegativeBinomial(y, np.hstack([ones, part])).fit(disp=0, maxiter=500).llf
        for part in (X, X[:, 1:], X[:, :0])
    )
    assert table.likelihood_ratio_test("x0").statistic == pytest.approx(2 * (full - without), rel=1e-5)
    assert table.criteria.null_log_likelihood == pytest.approx(null, rel=1e-7)
    assert table.criteria.r2_mcfadden == pytest.approx(1 - full / null, rel=1e-6)
    at_end = table.profile_interval("x0")[1]
    assert table.likelihood_ratio_test("x0", at_end).statistic == pytest.approx(stats.chi2.ppf(0.95, 1), rel=1e-6)
    near = table.coefficients[1] + table.standard_errors[1]
    assert table.score_test("x0", near).statistic == pytest.approx(1.0, rel=0.3)


def test_without_an_intercept_r_is_estimated_at_means_of_one() -> None:
    X = columns(200)
    y = np.random.default_rng(0).negative_binomial(2, 0.5, 200)
    model = GLM("negative_binomial", link="log", fit_intercept=False).fit(X, y)
    table = summary(model, X, y)
    size = np.exp(np.linspace(-3, 5, 4001))[:, None]
    best = stats.nbinom.logpmf(y, size, size / (size + 1)).sum(axis=1).max()
    assert table.criteria.null_log_likelihood == pytest.approx(best, rel=1e-5)
    ratio = table.likelihood_ratio_test(["x0", "x1", "x2"]).statistic
    assert ratio == pytest.approx(2 * (table.criteria.log_likelihood - best), rel=1e-4)
