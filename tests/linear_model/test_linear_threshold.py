"""Linear threshold units as an estimator: four rules, two modes, any input, classes that appear later."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import LinearThreshold
from mercer._errors import DataError, FitInterrupted, NonFiniteError, NotConvergedWarning
from mercer.linear_model import _learning as learning
from tests._ctrl_c import interrupted_at
from tests.base._layouts import read_only

RULES = ["perceptron", "lms", "logistic", "sigmoid"]
MODES = ["batch", "incremental"]


@pytest.fixture(scope="module")
def cancer() -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :6], y


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", RULES)
def test_real_classes_are_learnt(rule: str, mode: str, cancer: Any, iris: Any) -> None:
    for X, y in (cancer, iris):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            model = LinearThreshold(rule, mode=mode).fit(X, y)
        assert model.score(X, y) > 0.8
        units = 1 if len(model.classes_) == 2 else 3
        assert model.coef_.shape == (units, X.shape[1])
        assert model.intercept_.shape == (units,)
        assert model.decision_function(X).shape == ((len(X),) if units == 1 else (len(X), 3))
        assert len(model.trace_) == model.n_iter_
        assert rule in str(model.plan_)


def test_lms_is_least_squares_against_plus_and_minus_one(iris: Any) -> None:
    X, y = iris
    model = LinearThreshold("lms", tol=1e-10, max_iter=100_000).fit(X, y)
    expected = LinearRegression().fit(X, 2.0 * np.eye(3)[y] - 1)
    assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    assert_allclose(model.intercept_, expected.intercept_, atol=1e-8)


def test_the_logistic_rule_agrees_with_logistic_regression(cancer: Any) -> None:
    X, y = cancer[0][:, :2], cancer[1]
    model = LinearThreshold("logistic", tol=1e-9, max_iter=100_000).fit(X, y)
    expected = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-5)
    assert_allclose(model.intercept_, expected.intercept_, rtol=1e-5)
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("rule", ["logistic", "sigmoid"])
def test_probabilities_agree_with_the_units(rule: str, cancer: Any, iris: Any) -> None:
    X, y = cancer
    model = LinearThreshold(rule, tol=None, max_iter=20).fit(X, y)
    assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)))
    X, y = iris
    model = LinearThreshold(rule, tol=None, max_iter=20).fit(X, y)
    p = expit(model.decision_function(X))
    assert_allclose(model.predict_proba(X), p / p.sum(axis=1, keepdims=True))
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    # far from all classes every unit is negative, and probabilities still sum to one
    assert_allclose(model.predict_proba(1e4 * X).sum(axis=1), 1.0)


@pytest.mark.parametrize("rule", ["perceptron", "lms"])
def test_rules_without_probabilities_raise_an_error(rule: str, cancer: Any) -> None:
    model = LinearThreshold(rule, tol=None, max_iter=2).fit(*cancer)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_log_proba"):
        model.predict_log_proba(cancer[0])


def test_a_score_of_zero_belongs_to_class_1() -> None:
    model = LinearThreshold("lms", tol=None, max_iter=1).fit([[-1.0], [1.0]], ["no", "yes"])
    assert model.decision_function([[0.0]]) == 0.0
    assert_array_equal(model.predict([[0.0]]), ["yes"])


# Input of every kind.


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", RULES)
def test_the_same_rows_in_another_container_give_the_same_weights(rule: str, mode: str, iris: Any) -> None:
    X, y = iris
    X = np.round(8 * X) / 8  # exact in float32
    options = {"rule": rule, "mode": mode, "tol": None, "max_iter": 3}
    expected = LinearThreshold(**options).fit(X, y)
    forms = (
        np.asfortranarray(X),
        read_only(X),
        X.astype(np.float32),
        sparse.csr_array(X),
        sparse.csc_matrix(X),
        pd.DataFrame(X, columns=list("abcd")),
        pl.DataFrame({name: X[:, j] for j, name in enumerate("abcd")}),
    )
    for form in forms:
        model = LinearThreshold(**options).fit(form, y)
        assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
        assert_allclose(model.intercept_, expected.intercept_, rtol=1e-9, atol=1e-12)
        assert_array_equal(model.predict(form), expected.predict(X))


@pytest.mark.parametrize("rule", RULES)
def test_weights_are_equivalent_to_repetitions_in_batch_mode(rule: str, iris: Any) -> None:
    X, y = iris
    times = np.random.default_rng(0).integers(0, 3, len(X))
    options = {"rule": rule, "tol": None, "max_iter": 5, "rate": 0.002}
    weighted = LinearThreshold(**options).fit(X, y, sample_weight=times)
    repeated = LinearThreshold(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-12)


def test_a_row_of_weight_zero_has_no_effect(iris: Any) -> None:
    X, y = iris
    X = X.copy()
    X[7] = np.nan
    model = LinearThreshold("lms", mode="incremental", tol=None, max_iter=2)
    weighted = model.fit(X, y, sample_weight=np.arange(150) != 7).coef_
    assert_array_equal(weighted, model.fit(np.delete(X, 7, axis=0), np.delete(y, 7)).coef_)


def test_only_the_random_state_determines_the_order(iris: Any) -> None:
    X, y = iris

    def learnt(**options: Any) -> Any:
        return LinearThreshold(mode="incremental", tol=None, max_iter=2, **options).fit(X, y).coef_

    assert_array_equal(learnt(random_state=1), learnt(random_state=1))
    assert (learnt(random_state=1) != learnt(random_state=2)).any()
    assert_array_equal(learnt(shuffle=False, random_state=1), learnt(shuffle=False, random_state=2))


@settings(max_examples=30)
@given(st.sampled_from(["perceptron", "logistic"]), st.sampled_from(MODES), st.integers(0, 10_000))
def test_classes_with_a_margin_are_separated(rule: str, mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    u = X @ [1.0, -1.0] + 0.5
    X, y = X[np.abs(u) > 0.4], (u > 0)[np.abs(u) > 0.4]
    if len(set(y)) == 2:
        model = LinearThreshold(rule, mode=mode).fit(X, y)
        assert model.score(X, y) == 1.0
        assert model.certificate_.holds


# Learning more.


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_partial_fits_agree_with_one_unshuffled_pass(rule: str, storage: Any, iris: Any) -> None:
    X, y = iris
    options = {"rule": rule, "mode": "incremental", "rate": 0.05, "shuffle": False, "tol": None, "average": True}
    whole = LinearThreshold(**options, max_iter=1).fit(storage(X), y)
    parts = LinearThreshold(**options)
    for rows in (slice(0, 50), slice(50, 51), slice(51, 150)):
        parts.partial_fit(storage(X[rows]), y[rows], classes=[0, 1, 2])
    assert_allclose(parts.coef_, whole.coef_, atol=1e-12)
    assert_allclose(parts.intercept_, whole.intercept_, atol=1e-12)


@pytest.mark.parametrize("rule", ["lms", "logistic", "sigmoid"])
def test_classes_may_appear_one_by_one(rule: str, iris: Any) -> None:
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    options = {"mode": "incremental", "rate": 0.02, "shuffle": False}
    model = LinearThreshold(rule, **options)
    model.partial_fit(X[50:100], names[50:100])
    assert_array_equal(model.predict(X[:3]), ["versicolor"] * 3)
    model.partial_fit(X[:50], names[:50])
    assert_array_equal(model.classes_, ["setosa", "versicolor"])
    known = LinearThreshold(rule, **options)
    for rows in (slice(50, 100), slice(0, 50)):
        known.partial_fit(X[rows], names[rows], classes=["setosa", "versicolor"])
    assert_allclose(model.coef_, known.coef_)
    # a third class: the unit of the second is that of before, that of the first its negative
    before = model.coef_[0]
    model.partial_fit(X[100:101], names[100:101], sample_weight=[1e-12])
    assert_allclose(model.coef_[:2], [-before, before], atol=1e-9)
    for _ in range(50):
        model.partial_fit(X, names)
    assert model.score(X, names) > 0.6


def test_announced_classes_exclude_others(iris: Any) -> None:
    X, y = iris
    model = LinearThreshold().partial_fit(X[:50], y[:50], classes=[0, 1])
    with pytest.raises(DataError, match=r"\[2\] in y do not exist"):
        model.partial_fit(X, y)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(DataError, match="all text or all numbers"):
        LinearThreshold().partial_fit(X, y).partial_fit(X, y.astype(str))


def test_dense_and_sparse_batches_may_alternate(iris: Any) -> None:
    X, y = iris
    options = {"rule": "logistic", "mode": "incremental", "rate": 0.1, "shuffle": False}
    plain, mixed = LinearThreshold(**options), LinearThreshold(**options)
    for t, rows in enumerate((slice(0, 75), slice(75, 120), slice(120, 150))):
        plain.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        mixed.partial_fit(sparse.csr_array(X[rows]) if t % 2 else X[rows], y[rows], classes=[0, 1, 2])
    assert_allclose(mixed.coef_, plain.coef_, atol=1e-12)


def test_averaged_weights_vary_less_than_the_last_ones(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    options = {"rule": "lms", "mode": "incremental", "rate": 0.05, "tol": None, "max_iter": 30}
    best = LinearRegression().fit(X, 2 * y - 1).coef_
    last, mean = (LinearThreshold(**options, average=average).fit(X, y).coef_[0] for average in (False, True))
    assert np.linalg.norm(mean - best) < 0.5 * np.linalg.norm(last - best)


# Rejections, interruptions, state.


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_values_that_are_not_finite_are_named(rule: str, mode: str, bad: float, storage: Any, iris: Any) -> None:
    X, y = iris
    model = LinearThreshold(rule, mode=mode, tol=None, max_iter=2).fit(X, y)
    before = model.coef_
    spoilt = X.copy()
    spoilt[140, 2] = bad
    with pytest.raises(NonFiniteError, match=r"'x2' .*row 140"):
        model.fit(storage(spoilt), y)
    assert model.coef_ is before
    with pytest.raises(NonFiniteError, match=r"'x2'"):
        model.partial_fit(storage(spoilt), y)
    assert model.coef_ is before
    with pytest.raises(NonFiniteError, match=r"'x2'"):
        model.predict(storage(spoilt))


def test_a_failed_pass_leaves_weights_that_can_learn_further(iris: Any) -> None:
    X, y = iris
    model, other = (LinearThreshold(mode="incremental", shuffle=False).partial_fit(X, y) for _ in range(2))
    spoilt = X.copy()
    spoilt[140, 2] = np.nan
    with pytest.raises(NonFiniteError):
        model.partial_fit(spoilt, y)
    assert_array_equal(model.partial_fit(X, y).coef_, other.partial_fit(X, y).coef_)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.zeros(150), "got 1 class"),
        (np.linspace(0, 1, 150), "Unknown label type: continuous"),
        (None, "requires y to be passed"),
    ],
)
def test_labels_that_are_not_classes_are_rejected(y: Any, words: str, iris: Any) -> None:
    with pytest.raises(DataError, match=words):
        LinearThreshold().fit(iris[0], y)


@pytest.mark.parametrize(
    "options",
    [{"rule": "hebb"}, {"mode": "online"}, {"rate": 0}, {"rate": "fast"}, {"decay": -1}, {"max_iter": 0}, {"tol": -1}],
)
def test_parameters_are_checked(options: dict[str, Any], iris: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        LinearThreshold(**options).fit(*iris)


def test_an_interruption_keeps_the_learnt_weights(monkeypatch: pytest.MonkeyPatch, iris: Any) -> None:
    monkeypatch.setattr(learning.LearningRun, "_batch_pass", interrupted_at(4, learning.LearningRun._batch_pass))
    model = LinearThreshold("logistic")
    with pytest.raises(FitInterrupted):
        model.fit(*iris)
    assert model.n_iter_ == 3
    assert not model.certificate_.holds
    assert model.score(*iris) > 0.5


def test_progress_is_shown_if_verbose(capsys: pytest.CaptureFixture[str], iris: Any) -> None:
    LinearThreshold("lms", verbose=1, tol=None, max_iter=3).fit(*iris)
    assert "LinearThreshold: 3 steps" in capsys.readouterr().out
    LinearThreshold("lms", tol=None, max_iter=3).fit(*iris)
    assert capsys.readouterr().out == ""


def test_pickled_models_can_learn_further(iris: Any) -> None:
    X, y = iris
    model = LinearThreshold(mode="incremental").partial_fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


def test_hashed_text_is_learnt_in_one_pass() -> None:
    """Many columns, few per row: the weights found are those of the dense loop."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 3000), density=0.01, rng=rng, format="csr")
    y = (X @ rng.normal(size=3000) > 0).astype(int)
    options = {"rule": "logistic", "mode": "incremental", "rate": 0.5, "shuffle": False, "tol": None, "max_iter": 1}
    thin, full = LinearThreshold(**options).fit(X, y), LinearThreshold(**options).fit(X.toarray(), y)
    assert_allclose(thin.coef_, full.coef_, atol=1e-12)
    assert thin.score(X, y) > 0.9


@pytest.mark.filterwarnings("ignore::mercer.errors.NotConvergedWarning")
@pytest.mark.parametrize("rule", ["perceptron", "lms", "logistic"])
def test_a_model_is_saved_whether_or_not_a_hyperplane_was_searched_for(rule: str, iris: Any, tmp_path: Any) -> None:
    model = LinearThreshold(rule=rule, mode="incremental", random_state=0).fit(*iris)
    mercer.save(model, tmp_path / "model.mercer")
    assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(iris[0]), model.predict(iris[0]))
