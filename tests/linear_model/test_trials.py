"""Successes among trials whose number differs from row to row, against statsmodels and the trials one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

import mercer
from mercer import GLM, NaiveBayes, TableFeatures, summary
from mercer._errors import DataError, FamilyError, InferenceError, SupportError
from mercer.families import L2, Binomial

sm = pytest.importorskip("statsmodels.api")


@pytest.fixture(scope="module")
def star98() -> tuple[pd.DataFrame, pd.DataFrame]:
    data = sm.datasets.star98.load()
    return data.exog, data.endog


def by_trials(star98: tuple[pd.DataFrame, pd.DataFrame], kind: str) -> tuple[GLM, pd.DataFrame, Any]:
    X, Y = star98
    return (GLM("binomial"), X, Y) if kind == "two columns" else (GLM(Binomial(Y.sum(axis=1))), X, Y.iloc[:, 0])


@pytest.mark.parametrize("kind", ["two columns", "trials in the family"])
def test_star98_agrees_with_statsmodels(star98: tuple[pd.DataFrame, pd.DataFrame], kind: str) -> None:
    model, X, y = by_trials(star98, kind)
    theirs = sm.GLM(star98[1], sm.add_constant(X), family=sm.families.Binomial()).fit(tol=1e-12)
    ours, table = model.fit(X, y), summary(model, X, y)
    assert_allclose(table.coefficients, theirs.params, rtol=1e-8)
    assert_allclose(table.standard_errors, theirs.bse, rtol=1e-7)
    assert_allclose(table.p_values, theirs.pvalues, rtol=1e-6, atol=1e-200)
    assert_allclose([ours.deviance_, ours.null_deviance_], [theirs.deviance, theirs.null_deviance], rtol=1e-10)
    assert ours.df_residual_ == table.criteria.residual_freedom == theirs.df_resid == 282
    assert_allclose([ours.log_likelihood_, table.criteria.log_likelihood], theirs.llf, rtol=1e-10)
    assert_allclose([table.criteria.aic, table.criteria.bic], [theirs.aic, theirs.bic_llf], rtol=1e-10)
    assert_allclose(table.criteria.pearson, theirs.pearson_chi2, rtol=1e-8)
    assert_allclose(table.criteria.chi2_statistic, 2 * (theirs.llf - theirs.llnull), rtol=1e-8)
    assert_allclose(ours.predict(X), theirs.mu, rtol=1e-8)
    assert_allclose(ours.score(X, y), 1 - theirs.deviance / theirs.null_deviance)
    for residual, expected in {"deviance": theirs.resid_deviance, "pearson": theirs.resid_pearson}.items():
        assert_allclose(table.residuals(residual), expected, rtol=1e-6, atol=1e-9)
    robust = sm.GLM(star98[1], sm.add_constant(X), family=sm.families.Binomial()).fit(tol=1e-12, cov_type="HC0")
    assert_allclose(summary(model, X, y, covariance="HC0").standard_errors, robust.bse, rtol=1e-7)
    assert "Binomial, trials of each row, logit link" in str(table)
    assert "overdispersion" in ours.diagnosis_.codes  # as in the published table


def small() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x, n = rng.normal(size=(60, 2)), rng.integers(0, 9, 60)
    successes = rng.binomial(n, 1 / (1 + np.exp(-x[:, 0] + 0.3)))
    return x, np.column_stack([successes, n - successes])


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_coefficients_and_errors_agree_with_single_trials(link: str) -> None:
    X, Y = small()
    grouped, rows = GLM("binomial", link).fit(X, Y), np.repeat(np.arange(len(X)), Y.sum(axis=1))
    one_by_one = np.concatenate([[1] * k + [0] * failures for k, failures in Y])
    single = GLM("bernoulli", link).fit(X[rows], one_by_one)
    assert_allclose(grouped.coef_, single.coef_, rtol=1e-6)
    ours, theirs = summary(grouped, X, Y), summary(single, X[rows], one_by_one)
    assert_allclose(ours.standard_errors, theirs.standard_errors, rtol=1e-6)
    assert_allclose(ours.wald_test("x0").p_value, theirs.wald_test("x0").p_value, rtol=1e-5)
    assert_allclose(ours.likelihood_ratio_test("x1").p_value, theirs.likelihood_ratio_test("x1").p_value, rtol=1e-5)
    assert_allclose(ours.profile_interval("x0"), theirs.profile_interval("x0"), rtol=1e-4)
    interval, expected = (table.predict_interval(X[:3]) for table in (ours, theirs))
    assert_allclose(interval.upper, expected.upper, rtol=1e-6)
    # a row without trials is not an observation
    assert grouped.df_residual_ == np.count_nonzero(Y.sum(axis=1)) - 3
    assert_allclose(summary(grouped, X, Y).criteria.observations, np.count_nonzero(Y.sum(axis=1)))


@pytest.mark.parametrize("covariance", ["model", "HC0", "HC1", "HC2", "HC3"])
def test_weights_are_equivalent_to_repetitions(covariance: str) -> None:
    X, Y = small()
    times = np.random.default_rng(1).integers(1, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), times)
    weighted = GLM("binomial").fit(X, Y, sample_weight=times)
    plain = GLM("binomial").fit(X[repeated], Y[repeated])
    assert_allclose(weighted.coef_, plain.coef_, rtol=1e-7)
    assert_allclose([weighted.deviance_, weighted.log_likelihood_], [plain.deviance_, plain.log_likelihood_], rtol=1e-9)
    assert weighted.df_residual_ == plain.df_residual_
    ours = summary(weighted, X, Y, sample_weight=times, covariance=covariance)
    theirs = summary(plain, X[repeated], Y[repeated], covariance=covariance)
    assert_allclose(ours.standard_errors, theirs.standard_errors, rtol=1e-6)
    assert_allclose(weighted.score(X, Y, sample_weight=times), plain.score(X[repeated], Y[repeated]))


def test_selected_rows_keep_their_trials() -> None:
    X, Y = small()
    folds = KFold(4)
    scores = cross_val_score(GLM("binomial"), X, Y, cv=folds)
    for score, (train, test) in zip(scores, folds.split(X), strict=True):
        trials = Y.sum(axis=1)
        held_in = GLM(Binomial(trials[train])).fit(X[train], Y[train, 0])
        assert_allclose(score, held_in.set_params(family=Binomial(trials[test])).score(X[test], Y[test, 0]))
    search = GridSearchCV(GLM("binomial", penalty=L2(1.0)), {"penalty__strength": [0.1, 1000.0]}).fit(X, Y)
    assert search.best_params_ == {"penalty__strength": 0.1}
    with pytest.raises(
        DataError, match=r"60 numbers of trials, but y has the shape.*give family='binomial' and y of two"
    ):
        cross_val_score(GLM(Binomial(trials)), X, Y[:, 0], error_score="raise")


def test_models_are_copied_saved_and_used_in_pipelines(tmp_path: Any) -> None:
    X, Y = small()
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 1] > 0, "u", "v")})
    pipeline = make_pipeline(TableFeatures(), GLM("binomial", penalty=L2(0.1))).fit(frame, Y)
    assert 0 < pipeline.score(frame, Y) < 1
    assert summary(pipeline, frame, Y).posterior
    model = GLM(Binomial(Y.sum(axis=1))).fit(X, Y[:, 0])
    assert clone(model).family == model.family
    mercer.save(model, tmp_path / "a.mercer")
    loaded = mercer.load(tmp_path / "a.mercer")
    assert_allclose(loaded.predict(X), model.predict(X))
    assert loaded.family == model.family


def test_invalid_counts_of_successes_are_rejected() -> None:
    X, Y = small()
    trials = Y.sum(axis=1)
    wrong: list[tuple[type[Exception], str, Any]] = [
        (
            DataError,
            "takes two columns, successes and failures, but y has the shape \\(60,\\)",
            (GLM("binomial"), Y[:, 0]),
        ),
        (DataError, "takes two columns", (GLM("binomial"), np.column_stack([Y, Y]))),
        (SupportError, "successes among .* trials in row 0", (GLM("binomial"), -Y - 1)),
        (SupportError, "9 successes among", (GLM(Binomial(trials)), np.full(60, 9))),
        (DataError, "has no trials at all", (GLM("binomial"), 0 * Y)),
        (FamilyError, "not supported by GLM\\(kernel", (GLM("binomial", penalty="l2", kernel="rbf"), Y)),
    ]
    for kind, sentence, (model, y) in wrong:
        with pytest.raises(kind, match=sentence):
            model.fit(X, y)
    source = mercer.data.open(pd.DataFrame(X, columns=["a", "b"]).assign(y=Y[:, 0]), target="y")
    with pytest.raises(
        FamilyError, match="not supported by fits to a source; give shares of successes to Binomial\\(1\\)"
    ):
        GLM("binomial").fit(source)
    with pytest.raises(FamilyError, match="no single number of trials"):
        NaiveBayes(families=Binomial(trials)).fit(Y, X[:, 0] > 0)
    with pytest.raises(InferenceError, match="depends on the number of trials"):
        summary(GLM("binomial").fit(X, Y), X, Y).predict_interval(X, kind="observation")
