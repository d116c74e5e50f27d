"""The summary as a whole: frame, text and HTML, for any model and penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer import (
    GLM,
    ElasticNet,
    GammaRegressor,
    GaussianNB,
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    TweedieRegressor,
    summary,
)
from mercer._errors import ColumnMismatchError, DataError, InferenceError, NonFiniteError
from mercer.families import Tweedie
from mercer.families.penalties import L2
from mercer.families.penalties import ElasticNet as ElasticNetPenalty
from tests.inference._data import columns, responses, three_classes

#: a drop-in without a penalty, and the equivalent GLM
UNPENALISED = [
    (LinearRegression(), GLM("gaussian"), "gaussian"),
    (LogisticRegression(C=np.inf, tol=1e-8), GLM("bernoulli"), "bernoulli"),
    (PoissonRegressor(alpha=0, tol=1e-10), GLM("poisson"), "poisson"),
    (GammaRegressor(alpha=0, tol=1e-10), GLM("gamma", "log"), "gamma"),
    (TweedieRegressor(alpha=0, power=1.5, tol=1e-10), GLM(Tweedie(1.5), "log"), "gamma"),
]


@pytest.mark.parametrize(("drop_in", "glm", "family"), UNPENALISED, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("covariance", ["model", "HC3"])
def test_a_drop_in_estimator_has_the_errors_of_the_equivalent_glm(
    drop_in: Any, glm: Any, family: str, covariance: str
) -> None:
    X = columns(150)
    y = responses(family, X)
    ours, theirs = (summary(model.fit(X, y), X, y, covariance=covariance) for model in (drop_in, glm))
    np.testing.assert_allclose(ours.coefficients, theirs.coefficients, rtol=1e-5)
    np.testing.assert_allclose(ours.standard_errors, theirs.standard_errors, rtol=1e-5)
    np.testing.assert_allclose(ours.criteria, theirs.criteria, rtol=1e-5)


#: a drop-in with a penalty, and the equivalent GLM for a number of rows
PENALISED = [
    (Ridge(2.0), lambda n: GLM("gaussian", penalty=L2(2.0)), "gaussian"),
    (LogisticRegression(C=0.5, tol=1e-8), lambda n: GLM("bernoulli", penalty=L2(2.0)), "bernoulli"),
    (PoissonRegressor(alpha=0.1, tol=1e-10), lambda n: GLM("poisson", penalty=L2(0.1 * n)), "poisson"),
]


@pytest.mark.parametrize(("drop_in", "glm", "family"), PENALISED, ids=lambda value: type(value).__name__)
def test_after_l2_the_summary_is_the_posterior(drop_in: Any, glm: Any, family: str) -> None:
    X = columns(150)
    y = responses(family, X)
    ours, theirs = (summary(model.fit(X, y), X, y) for model in (drop_in, glm(150)))
    assert ours.posterior
    np.testing.assert_allclose(ours.coefficients, theirs.coefficients, rtol=1e-5)
    np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-5)
    assert list(ours.columns()) == ["term", "coefficient", "posterior_sd", "lower", "upper"]
    assert "no p-values" in str(ours)
    for call in (lambda: ours.p_values, lambda: ours.wald_test("x0"), lambda: ours.profile_interval("x0")):
        with pytest.raises(InferenceError, match="after an L2 penalty"):
            call()
    with pytest.raises(InferenceError, match="unpenalised"):
        summary(drop_in, X, y, covariance="HC0")


def test_the_posterior_of_ridge_is_that_of_bayesian_regression() -> None:
    """Under Normal(0, σ²/λ): σ² (XᵀX + λ)⁻¹, with σ² from the residuals and the parameters in effect."""
    X = columns(40)
    X = X - X.mean(axis=0)
    y = responses("gaussian", X)
    table = summary(Ridge(5.0, fit_intercept=False).fit(X, y), X, y)
    inverse = np.linalg.inv(X.T @ X + 5.0 * np.eye(3))
    beta, effective = inverse @ X.T @ y, np.trace(X.T @ X @ inverse)
    variance = np.square(y - X @ beta).sum() / (40 - effective)
    assert table.criteria.parameters == pytest.approx(effective)
    np.testing.assert_allclose(table.covariance, variance * inverse, rtol=1e-9)


def test_a_stronger_prior_makes_the_posterior_surer_and_a_weak_one_leaves_the_likelihood() -> None:
    X = columns(100)
    y = responses("bernoulli", X)
    plain = summary(GLM("bernoulli").fit(X, y), X, y)
    models = [GLM("bernoulli", penalty=L2(strength)).fit(X, y) for strength in (1e-8, 10.0, 1e4)]
    errors = [summary(model, X, y).standard_errors for model in models]
    np.testing.assert_allclose(errors[0], plain.standard_errors, rtol=1e-6)
    assert (np.diff(errors, axis=0)[:, 1:] < 0).all()


@pytest.mark.parametrize(
    "model", [Lasso(0.01), ElasticNet(0.01), GLM(penalty="l1"), GLM(penalty=ElasticNetPenalty(1.0))]
)
def test_after_l1_an_error_names_alternatives(model: Any) -> None:
    X = columns(60)
    y = responses("gaussian", X)
    with pytest.raises(InferenceError, match=r"after an L1 penalty.*one half of the rows.*L2 penalty.*bootstrap"):
        summary(model.fit(X, y), X, y)


def test_the_frame_is_of_any_library() -> None:
    X = columns(60)
    y = responses("gaussian", X)
    table = summary(LinearRegression().fit(X, y), X, y, level=0.9)
    frame = table.frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["term", "coefficient", "standard_error", "t", "p_value", "lower", "upper"]
    assert frame["term"].tolist() == ["(intercept)", "x0", "x1", "x2"]
    np.testing.assert_array_equal(frame["standard_error"], table.standard_errors)
    assert isinstance(table.frame("polars"), pl.DataFrame)
    np.testing.assert_array_equal(table.columns()["upper"], table.intervals[:, 1])


def test_terms_have_the_names_of_their_columns() -> None:
    frame = pd.DataFrame(columns(60), columns=["age", "income", "size"])
    y = responses("poisson", frame.to_numpy())
    assert summary(GLM("poisson").fit(frame, y), frame, y).names == ("(intercept)", "age", "income", "size")


def test_text_and_html_agree() -> None:
    X = pd.DataFrame(columns(60), columns=["age", "a<b", "c"])
    y = responses("poisson", X.to_numpy())
    table = summary(GLM("poisson").fit(X, y), X, y, covariance="HC1")
    text, html = str(table), table._repr_html_()
    for part in ("standard error", "p value", "0.025", "age", "Deviance", "AIC", "robust (HC1)"):
        assert part in text
        assert part in html
    assert "a&lt;b" in html
    assert repr(table) == text


def test_a_summary_does_not_modify_the_model() -> None:
    X = columns(60)
    y = responses("poisson", X)
    model = GLM("poisson").fit(X, y)
    before = dict(vars(model))
    summary(model, X, y, covariance="HC3").profile_interval("x0")
    assert vars(model) == before


def test_data_that_differ_from_the_fit_give_a_note() -> None:
    X = columns(60)
    y = responses("poisson", X)
    model = GLM("poisson").fit(X, y)
    assert "away from the optimum" not in str(summary(model, X, y))
    assert "standard errors away from the optimum" in str(summary(model, X, y + 3))
    frame = pd.DataFrame({"city": np.array(["Bonn", "Kiel"])[np.arange(60) % 2]})
    model.fit(frame, y)
    with pytest.raises(ColumnMismatchError, match=r"city\[Kiel\]"):
        summary(model, frame.replace("Kiel", "Bonn"), y)
    two = GLM("bernoulli").fit(X, y > 1)
    with pytest.raises(DataError, match="give the data of the fit"):
        summary(two, X, np.where(y > 1, "many", "few"))


def test_coefficients_of_classes_have_the_names_of_the_classes() -> None:
    X, classes = three_classes(200)
    y = np.array(["cat", "dog", "emu"])[classes]
    table = summary(GLM("categorical", reference="cat").fit(X, y), X, y)
    assert table.names[:4] == ("dog: (intercept)", "dog: x0", "dog: x1", "dog: x2")
    assert len(table.names) == 8
    assert table.wald_test(["dog: x0", "emu: x0"]).freedom == 2


def test_a_symmetric_softmax_has_the_contrasts_of_one_with_a_reference() -> None:
    X, y = three_classes(200)
    symmetric, referred = (
        summary(GLM("categorical", reference=reference, tol=1e-10).fit(X, y), X, y) for reference in (None, 0)
    )
    difference = np.kron(np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]]), np.eye(4))
    np.testing.assert_allclose(difference @ symmetric.coefficients, referred.coefficients, rtol=1e-6)
    np.testing.assert_allclose(difference @ symmetric.covariance @ difference.T, referred.covariance, rtol=1e-6)
    for test in ("wald_test", "likelihood_ratio_test", "score_test"):
        one = getattr(symmetric, test)(difference[[1, 5]])
        other = getattr(referred, test)(["1: x0", "2: x0"])
        assert one.statistic == pytest.approx(other.statistic, rel=1e-5)


@pytest.mark.parametrize("C", [np.inf, 0.5])
def test_logistic_regression_of_several_classes_is_a_softmax(C: float) -> None:
    X, y = three_classes(200)
    penalty = None if np.isinf(C) else L2(1 / C)
    table = summary(GLM("categorical", penalty=penalty, tol=1e-10).fit(X, y), X, y)
    drop_in = summary(LogisticRegression(C=C, tol=1e-10).fit(X, y), X, y)
    assert drop_in.names == table.names
    np.testing.assert_allclose(drop_in.coefficients, table.coefficients, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(drop_in.standard_errors, table.standard_errors, rtol=1e-4)
    assert drop_in.posterior == np.isfinite(C)


def test_class_weights_are_weights() -> None:
    X = columns(100)
    y = responses("bernoulli", X).astype(int)
    model = LogisticRegression(C=np.inf, class_weight={0: 3, 1: 1}, tol=1e-8).fit(X, y)
    weight = np.where(y == 0, 3.0, 1.0)
    table = summary(GLM("bernoulli").fit(X, y, sample_weight=weight), X, y, sample_weight=weight)
    np.testing.assert_allclose(summary(model, X, y).standard_errors, table.standard_errors, rtol=1e-5)
    with pytest.raises(InferenceError, match="penalised the intercept"):
        summary(LogisticRegression(solver="liblinear").fit(X, y), X, y)


def test_two_classes_are_a_logistic_regression() -> None:
    X = columns(200)
    y = responses("bernoulli", X).astype(int)
    softmax = summary(GLM("categorical", reference=0, tol=1e-10).fit(X, y), X, y)
    logistic = summary(GLM("bernoulli", tol=1e-10).fit(X, y), X, y)
    np.testing.assert_allclose(softmax.covariance, logistic.covariance, rtol=1e-6)
    np.testing.assert_allclose(softmax.criteria[:6], logistic.criteria[:6], rtol=1e-8)
    np.testing.assert_allclose(softmax.profile_interval("1: x0"), logistic.profile_interval("x0"), rtol=1e-5)


def test_models_without_standard_errors_raise_an_error() -> None:
    X = columns(60)
    y = responses("bernoulli", X)
    with pytest.raises(InferenceError, match="not for GaussianNB"):
        summary(GaussianNB().fit(X, y), X, y)
    with pytest.raises(InferenceError, match="bootstrap"):
        summary(LinearRegression(positive=True).fit(X, y), X, y)
    with pytest.raises(InferenceError, match="2 targets"):
        summary(LinearRegression().fit(X, X[:, :2]), X, X[:, :2])
    with pytest.raises(DataError, match="use GLM"):
        summary(LinearRegression().fit(X, y), X, y, offset=y)


@pytest.mark.parametrize("model", [LinearRegression(), GLM("poisson")])
def test_a_value_that_is_not_finite_is_named(model: Any) -> None:
    X = pd.DataFrame(columns(30), columns=["age", "income", "size"])
    y = responses("poisson", X.to_numpy())
    model.fit(X, y)
    X.loc[7, "income"] = np.nan
    with pytest.raises(NonFiniteError, match="'income' has a missing value in row 7"):
        summary(model, X, y)


def test_an_exact_fit_has_no_errors_and_no_warnings() -> None:
    X = columns(30)
    y = X @ [1.0, 2.0, 3.0]
    table = summary(LinearRegression().fit(X, y), X, y)
    assert table.standard_errors.max() < 1e-12
    assert "away from the optimum" not in str(table)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("legacy", [True, False])
def test_a_penalty_that_was_chosen_is_summarised_like_one_that_was_given(classes: int, legacy: bool) -> None:
    X = columns(150)
    y = responses("bernoulli", X).astype(int) + (X[:, 0] > 0.3) * (classes == 3)
    options: dict[str, Any] = {"scoring": "neg_log_loss", "use_legacy_attributes": legacy, "tol": 1e-10}
    chosen = LogisticRegressionCV(Cs=[0.1, 1.0], l1_ratios=(0,), **options).fit(X, y)
    given = LogisticRegression(C=float(np.ravel(chosen.C_)[0]), tol=1e-10).fit(X, y)
    table, expected = (summary(model, X, y) for model in (chosen, given))
    np.testing.assert_allclose(table.covariance, expected.covariance, rtol=1e-5)
    assert table.posterior
    with pytest.raises(InferenceError, match="refit=True"):
        summary(LogisticRegressionCV(Cs=[1.0], l1_ratios=(0,), refit=False, **options).fit(X, y), X, y)
    with pytest.raises(InferenceError, match="after an L1 penalty"):
        summary(LogisticRegressionCV(Cs=[1.0], l1_ratios=(1,), solver="saga", **options).fit(X, y), X, y)
    free = LogisticRegressionCV(Cs=[np.inf], l1_ratios=(0,), **options).fit(X, y)
    assert not summary(free, X, y).posterior


def test_a_chosen_ridge_penalty_is_summarised_like_a_given_one() -> None:
    X = columns(60)
    y = responses("gaussian", X)
    chosen = RidgeCV(alphas=[0.5, 5.0]).fit(X, y)
    table, expected = summary(chosen, X, y), summary(Ridge(chosen.alpha_).fit(X, y), X, y)
    np.testing.assert_allclose(table.covariance, expected.covariance, rtol=1e-9)


def test_a_class_of_weight_zero_has_no_effect() -> None:
    X = columns(60)
    y = np.array(list("abc"))[np.random.default_rng(0).integers(0, 3, 60)]
    weight, kept = (y != "c").astype(float), y != "c"
    table = summary(GLM("bernoulli").fit(X, y, sample_weight=weight), X, y, sample_weight=weight)
    other = summary(GLM("bernoulli").fit(X[kept], y[kept]), X[kept], y[kept])
    np.testing.assert_allclose(table.standard_errors, other.standard_errors, rtol=1e-6)
