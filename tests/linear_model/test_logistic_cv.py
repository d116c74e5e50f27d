"""Logistic regression by cross-validation: scikit-learn's paths, scores and choices, and folds fitted by hand."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.preprocessing import scale

from mercer import LogisticRegression, LogisticRegressionCV
from mercer._errors import DataError, NonFiniteError
from mercer.linear_model import logistic_path
from tests.linear_model._rows import rows

QUIET: dict[str, Any] = {"scoring": "neg_log_loss", "use_legacy_attributes": False}


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_paths_scores_and_choice_agree_with_scikit_learn(load: Any, legacy: bool) -> None:
    X, y = load(return_X_y=True)
    X = scale(X)
    options: dict[str, Any] = {"Cs": 4, "l1_ratios": (0,), "cv": 3, "scoring": "neg_log_loss"}
    options |= {"use_legacy_attributes": legacy, "solver": "newton-cholesky", "tol": 1e-10}
    ours, theirs = (model(**options).fit(X, y) for model in (LogisticRegressionCV, linear_model.LogisticRegressionCV))
    np.testing.assert_array_equal(ours.C_, theirs.C_)
    np.testing.assert_array_equal(ours.l1_ratio_, theirs.l1_ratio_)
    np.testing.assert_allclose(ours.Cs_, theirs.Cs_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-6)
    assert ours.n_iter_.shape == theirs.n_iter_.shape
    for name in ("scores_", "coefs_paths_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert type(mine) is type(other)
        pairs = zip(mine.values(), other.values(), strict=True) if legacy else [(mine, other)]
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("l1_ratios", [None, np.array([0.0, 0.5, 1.0])])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_attributes_have_the_shapes_of_scikit_learn(l1_ratios: Any, classes: int, refit: bool, legacy: bool) -> None:
    X, y = rows(classes, n=120)
    options: dict[str, Any] = {"Cs": [0.1, 1.0], "l1_ratios": l1_ratios, "cv": 2, "refit": refit, "solver": "saga"}
    options |= {"use_legacy_attributes": legacy, "scoring": None, "max_iter": 500, "tol": 1e-3}
    ours, theirs = (model(**options).fit(X, y) for model in (LogisticRegressionCV, linear_model.LogisticRegressionCV))
    for name in ("coef_", "intercept_", "C_", "l1_ratio_", "Cs_", "l1_ratios_", "n_iter_", "scores_", "coefs_paths_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if isinstance(other, dict):
            assert list(mine) == list(other)
            mine, other = (np.array(list(attribute.values())) for attribute in (mine, other))
        assert np.shape(mine) == np.shape(other), name
        assert isinstance(mine, float) == isinstance(other, float), name


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("splitter", [KFold(3), StratifiedKFold(3), ShuffleSplit(3, random_state=0)])
def test_a_fold_is_fitted_to_its_own_rows_only(classes: int, splitter: Any) -> None:
    """It is fitted to all rows, those outside it with the weight 0; here the rows inside are copied."""
    X, y = rows(classes, n=120)
    weight = np.random.default_rng(1).uniform(size=len(y))
    options: dict[str, Any] = {"solver": "newton-cholesky", "tol": 1e-9}
    model = LogisticRegressionCV(Cs=[0.1, 10.0], l1_ratios=(0,), cv=splitter, **options, **QUIET)
    model.fit(X, y, sample_weight=weight)
    for fold, (train, test) in enumerate(splitter.split(X, y)):
        for at, C in enumerate([0.1, 10.0]):
            alone = LogisticRegression(C=C, **options).fit(X[train], y[train], sample_weight=weight[train])
            expected = np.hstack([alone.coef_, alone.intercept_[:, None]])
            np.testing.assert_allclose(model.coefs_paths_[fold, 0, at], expected, atol=1e-6)
            losses = -alone.predict_log_proba(X[test])[np.arange(len(test)), y[test]]
            assert model.scores_[fold, 0, at] == pytest.approx(-np.average(losses, weights=weight[test]), rel=1e-5)


def test_the_best_is_fitted_to_all_rows() -> None:
    X, y = rows(3, n=120)
    model = LogisticRegressionCV(Cs=5, l1_ratios=(0,), **QUIET).fit(X, y)
    best = LogisticRegression(C=model.C_).fit(X, y)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-6)
    assert model.certificate_.holds
    assert "5 penalties" in str(model.plan_)
    # the mean score of the choice is the highest
    mean = model.scores_.mean(axis=0)[0]
    assert model.Cs_[np.argmax(mean)] == model.C_


def test_without_refit_the_folds_are_averaged() -> None:
    X, y = rows(2, n=120)
    model = LogisticRegressionCV(Cs=[1.0], l1_ratios=(0,), refit=False, **QUIET).fit(X, y)
    np.testing.assert_allclose(model.coef_, model.coefs_paths_[:, 0, 0, :, :-1].mean(axis=0))
    np.testing.assert_allclose(model.intercept_, model.coefs_paths_[:, 0, 0, :, -1].mean(axis=0))
    assert model.C_ == 1.0


def test_l1_is_chosen_along_a_path() -> None:
    X, y = rows(2, n=120)
    X = np.hstack([X, np.random.default_rng(2).normal(size=(len(X), 10))])
    model = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], l1_ratios=(1.0,), solver="saga", **QUIET).fit(X, y)
    zeros = (model.coefs_paths_[0, 0, :, 0, :-1] == 0).sum(axis=1)
    assert zeros[0] > zeros[-1]
    assert model.l1_ratio_ == 1.0


def test_data_of_other_kinds_are_accepted() -> None:
    X, y = rows(2, n=120)
    plain = LogisticRegressionCV(Cs=2, l1_ratios=(0,), **QUIET).fit(X, y)
    for other in (sparse.csr_array(X), np.asfortranarray(X), pd.DataFrame(X, columns=list("abcd"))):
        model = LogisticRegressionCV(Cs=2, l1_ratios=(0,), **QUIET).fit(other, y)
        np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    single = LogisticRegressionCV(Cs=2, l1_ratios=(0,), **QUIET).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float64


def test_errors_name_the_cause() -> None:
    X, y = rows(2, n=120)
    broken = X.copy()
    broken[5, 1] = np.nan
    with pytest.raises(NonFiniteError, match=r"Input X contains NaN.*'x1'.*row 5"):
        LogisticRegressionCV(Cs=2, l1_ratios=(0,), **QUIET).fit(broken, y)
    with pytest.raises(DataError, match="only one class"):
        LogisticRegressionCV(Cs=2, l1_ratios=(0,), **QUIET).fit(X, np.zeros(len(y)))
    with pytest.raises(DataError, match="must have the class labels as keys"):
        LogisticRegressionCV(Cs=2, l1_ratios=(0,), class_weight={7: 1.0}, **QUIET).fit(X, y)
    with pytest.raises(DataError, match="l1_ratios must be an array-like of numbers between 0 and 1"):
        LogisticRegressionCV(Cs=2, l1_ratios=(0, 2), solver="saga", **QUIET).fit(X, y)
    for Cs in ([], [1.0, 0.0], [-1.0], [np.nan]):
        with pytest.raises(DataError, match="Cs must be one or more numbers above 0"):
            LogisticRegressionCV(Cs=Cs, l1_ratios=(0,), **QUIET).fit(X, y)
    split = [(np.arange(10), np.arange(10, 20))]
    with pytest.raises(DataError, match="weight zero"):
        LogisticRegressionCV(Cs=2, l1_ratios=(0,), cv=split, **QUIET).fit(X, y, (np.arange(len(y)) >= 10) * 1.0)


def test_a_failed_fit_leaves_the_old_model() -> None:
    X, y = rows(2, n=120)
    model = LogisticRegressionCV(Cs=2, l1_ratios=(0,), **QUIET).fit(X, y)
    before = vars(model).copy()
    with pytest.raises(DataError):
        model.fit(X, np.zeros(len(y)))
    assert vars(model) == before


def test_a_best_fit_without_a_penalty_is_diagnosed() -> None:
    X, y = rows(2, n=120)
    twice = np.column_stack([X, X[:, 0]])
    options: dict[str, Any] = {"Cs": [np.inf], "l1_ratios": (0,), "cv": 2, **QUIET}
    assert LogisticRegressionCV(**options).fit(twice, y).diagnosis_.codes == ("collinear",)
    assert not LogisticRegressionCV(**options).fit(X, y).diagnosis_
    assert not LogisticRegressionCV(Cs=2, l1_ratios=(0,), refit=False, cv=2, **QUIET).fit(twice, y).diagnosis_


@pytest.mark.parametrize("fits_before", [1, 4])
def test_an_interruption_keeps_a_fit_to_all_rows_or_the_old_model(fits_before: int, monkeypatch: Any) -> None:
    """Two folds of two penalties are four fits; then the best is fitted to all rows."""
    X, y = rows(2, n=120)
    model = LogisticRegressionCV(Cs=[0.1, 1.0], l1_ratios=(0,), cv=2, **QUIET).fit(X, y)
    before, solved, count = dict(vars(model)), logistic_path.minimize, 0

    def interrupted(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        solution = solved(*arguments, **options)
        if count > fits_before:
            return replace(solution, certificate=replace(solution.certificate, value=1.0), interrupted=True)
        return solution

    monkeypatch.setattr(logistic_path, "minimize", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :3], y)
    if fits_before == 1:
        assert vars(model) == before
    else:
        assert model.coef_.shape == (1, 3)
        assert not model.certificate_.holds
        assert model.scores_.shape == (2, 1, 2)


def test_the_largest_numbers_are_rejected_with_a_sentence() -> None:
    X = np.finfo(float).max * np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=(12, 2))
    model = LogisticRegressionCV(Cs=3, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy")
    with pytest.raises(NonFiniteError, match="too large for float64"):
        model.fit(X, np.arange(12) % 2)


@pytest.mark.parametrize(
    ("signs", "y", "form", "rejected"),
    [
        ([0, 1, 0, -1, 0, 1, -1, 0], [1, 0, 1, 1, 0, 0, 0, 0], np.asarray, False),
        ([1, -1, 0, 1, 0, -1, 1, 0, 0, 1, -1, 1], [0, 1, 2] * 4, np.asarray, True),
        ([1, -1, 0, 1, 0, -1, 1, 0, 0, 1, -1, 1], [0, 1, 2] * 4, sparse.csr_array, True),
        ([1, -1, 0, 1, 0, -1, 1, 0, 0, 1, -1, 1], [0, 1] * 6, sparse.csr_array, True),
    ],
)
def test_the_largest_numbers_give_no_arithmetic_warnings(
    signs: list[int], y: list[int], form: Any, rejected: bool
) -> None:
    X = form(np.finfo(float).max * np.array(signs, float)[:, None])
    model = LogisticRegressionCV(Cs=3, cv=2, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy")
    with pytest.raises(NonFiniteError, match="too large for float64") if rejected else nullcontext():
        model.fit(X, np.array(y))
        assert np.isfinite(model.certificate_.value)


def test_callbacks_work_as_in_scikit_learn() -> None:
    from_sklearn = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    watcher = from_sklearn.ProgressBar()
    for model in (LogisticRegressionCV, linear_model.LogisticRegressionCV):
        assert model().set_callbacks(watcher)._skl_callbacks == [watcher]
        assert not hasattr(model().set_callbacks(), "_skl_callbacks")
        with pytest.warns(UserWarning, match="only supported in LogisticRegressionCV for solver='lbfgs'"):
            model(solver="saga").set_callbacks(watcher)
        with pytest.raises(TypeError, match="must be instances"):
            model().set_callbacks(3)
