"""Logistic regression: scikit-learn's numbers at a tight tolerance, the edges of floats, and errors that name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.multiclass import OneVsRestClassifier

from mercer import GLM, LogisticRegression, engine
from mercer._errors import DataError, FitInterrupted, NonFiniteError
from mercer.families import L2
from mercer.optim import newton
from tests._ctrl_c import interrupt, stop_at
from tests.base._layouts import read_only
from tests.linear_model._rows import rows

SETS: dict[str, Callable[..., Any]] = {
    "breast cancer": load_breast_cancer,
    "iris": load_iris,
    "wine": load_wine,
}


def same(ours: Any, theirs: Any, tolerance: float) -> None:
    size = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=tolerance, atol=tolerance * size)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=tolerance, atol=tolerance)


# scikit-learn's numbers.


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    "options",
    [{}, {"C": 0.01}, {"C": 100.0}, {"fit_intercept": False}, {"class_weight": "balanced"}],
    ids=lambda options: " ".join(map(str, options.items())) or "default",
)
def test_coefficients_agree_with_scikit_learn(name: str, options: dict[str, Any]) -> None:
    X, y = SETS[name](return_X_y=True)
    theirs = linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000, **options).fit(X, y)
    ours = LogisticRegression(tol=1e-10, **options).fit(X, y)
    same(ours, theirs, 1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.certificate_.holds


def test_coefficients_on_real_data_agree_with_scikit_learn(real_data: Callable[[str], Path]) -> None:
    table = pd.read_csv(real_data("heart.csv"))
    X, y = table.iloc[:, :-1].select_dtypes("number").dropna(axis=1), table.iloc[:, -1]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    theirs = linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(X, y, weight)
    same(LogisticRegression(tol=1e-10).fit(X, y, weight), theirs, 1e-8)


@pytest.mark.parametrize("scaling", [1.0, 10.0, 0.1])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_liblinear_penalises_the_intercept(scaling: float, l1_ratio: float) -> None:
    X, y = rows(n=300)
    options: dict[str, Any] = {"solver": "liblinear", "C": 0.3, "l1_ratio": l1_ratio, "intercept_scaling": scaling}
    theirs = linear_model.LogisticRegression(tol=1e-10, max_iter=100_000, **options).fit(X + 0.5, y)
    same(LogisticRegression(tol=1e-8, **options).fit(X + 0.5, y), theirs, 1e-5)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_l1_penalties_agree_with_saga(classes: int, l1_ratio: float) -> None:
    X, y = rows(classes)
    options: dict[str, Any] = {"solver": "saga", "C": 0.1, "l1_ratio": l1_ratio}
    theirs = linear_model.LogisticRegression(tol=1e-8, max_iter=5000, **options).fit(X, y)
    ours = LogisticRegression(tol=1e-8, max_iter=1000, **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)


def test_all_solvers_find_the_optimum_of_one_objective() -> None:
    X, y = rows(3)
    fits = [LogisticRegression(solver=s).fit(X, y) for s in ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)
    assert all(repr(fit.solver) in str(fit.plan_) for fit in fits)


def test_softmax_has_a_larger_likelihood_than_one_against_the_rest() -> None:
    X, y = rows(3, d=6)
    place = np.arange(len(y)), y
    softmax = LogisticRegression().fit(X, y).predict_log_proba(X)[place].sum()
    separate = np.log(OneVsRestClassifier(LogisticRegression()).fit(X, y).predict_proba(X)[place]).sum()
    assert softmax > separate


def test_many_columns_are_fitted_by_gradients_with_the_same_optimum() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 320))
    binary = (X[:, 0] + rng.normal(size=700) > 0).astype(int)
    many = LogisticRegression(C=0.01, tol=1e-9).fit(X, binary)
    newton = GLM("bernoulli", penalty=L2(100.0), solver="newton").fit(X, binary)
    assert "L-BFGS" in str(many.plan_)
    np.testing.assert_allclose(many.coef_[0], newton.coef_, atol=1e-7)
    X, y = load_digits(return_X_y=True)
    theirs = linear_model.LogisticRegression(C=0.01, tol=1e-6, max_iter=10_000).fit(X[:500], y[:500])
    ten = LogisticRegression(C=0.01, tol=1e-6).fit(X[:500], y[:500])
    assert "L-BFGS" in str(ten.plan_)
    np.testing.assert_allclose(ten.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


# Data of every kind.


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_far_from_zero(classes: int, C: float) -> None:
    X, y = rows(classes)
    near, far = LogisticRegression(C=C, tol=1e-8).fit(X, y), LogisticRegression(C=C, tol=1e-8).fit(X + 1e8, y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6, atol=1e-7)
    # 1e8 has 8 digits of its 16 left for what varies
    np.testing.assert_allclose(far.predict_proba(X + 1e8), near.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_scales_at_the_edge_of_floats(classes: int, scale: float) -> None:
    X, y = rows(classes)
    plain, scaled = LogisticRegression(C=np.inf).fit(X, y), LogisticRegression(C=np.inf).fit(X * scale, y)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(scaled.predict_proba(X * scale), plain.predict_proba(X), atol=1e-9)
    penalised = LogisticRegression().fit(X * scale, y)
    assert np.isfinite(penalised.predict_proba(X * scale)).all()
    assert np.isfinite(penalised.coef_).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_collinear_columns(classes: int) -> None:
    X, y = rows(classes)
    twice = np.column_stack([X, X[:, 0], np.full(len(X), 3.0)])
    for C in (1.0, np.inf):
        theirs = linear_model.LogisticRegression(C=C, tol=1e-9, max_iter=10_000).fit(twice, y)
        np.testing.assert_allclose(
            LogisticRegression(C=C).fit(twice, y).predict_proba(twice), theirs.predict_proba(twice), atol=1e-5
        )


@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_that_are_not_unique_are_the_smallest(classes: int) -> None:
    X, y = rows(classes)
    dependent = np.column_stack([X, 10 * X[:, 0] - X[:, 1]])
    theirs = linear_model.LogisticRegression(C=np.inf, tol=1e-9, max_iter=10_000).fit(dependent, y)
    ours = LogisticRegression(C=np.inf).fit(dependent, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.diagnosis_.codes == ("collinear",)
    assert {"x0", "x1", "x4"} <= set(next(iter(ours.diagnosis_)).columns)


@pytest.mark.parametrize("classes", [2, 3])
def test_separated_classes_are_diagnosed_without_a_warning(classes: int) -> None:
    X, overlapping = rows(classes)
    separated = np.digitize(X[:, 1], [0.0, 1.0][: classes - 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "separation" in LogisticRegression(C=np.inf).fit(X, separated).diagnosis_.codes
        assert not LogisticRegression(C=np.inf).fit(X, overlapping).diagnosis_
        assert not LogisticRegression().fit(X, separated).diagnosis_


@pytest.mark.parametrize("classes", [2, 3])
def test_any_container_is_accepted(classes: int) -> None:
    X, y = rows(classes)
    expected = LogisticRegression().fit(X, y)
    names = list("abcd")
    frames = (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names))
    for same_rows in (
        np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], read_only(X), X.tolist(), sparse.csr_array(X),
        sparse.csc_matrix(X), sparse.coo_array(X), *frames,
    ):  # fmt: skip
        model = LogisticRegression().fit(same_rows, y)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-9)
        np.testing.assert_allclose(model.predict_proba(same_rows), expected.predict_proba(X), atol=1e-9)
    assert LogisticRegression().fit(frames[0], pd.Series(y)).feature_names_in_.tolist() == names


@pytest.mark.parametrize("classes", [2, 3])
def test_float32_stays_float32(classes: int) -> None:
    X, y = rows(classes)
    single, double = LogisticRegression().fit(X.astype(np.float32), y), LogisticRegression().fit(X, y)
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-5)
    X = X.astype(np.float32)
    outputs = single.coef_, single.intercept_, single.decision_function(X), single.predict_proba(X)
    assert {value.dtype for value in (*outputs, single.predict_log_proba(X))} == {np.dtype(np.float32)}


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 400)), np.arange(30) % 2
    ours, theirs = LogisticRegression(tol=1e-9), linear_model.LogisticRegression(tol=1e-9, max_iter=1000)
    same(ours.fit(X, y), theirs.fit(X, y), 1e-6)


def test_strings_are_labels() -> None:
    X, y = rows(3)
    names = np.array(["ant", "bee", "cat"])[y]
    assert set(LogisticRegression().fit(X, names).predict(X)) <= {"ant", "bee", "cat"}


# Weights.


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), classes=st.sampled_from([2, 3]))
def test_weights_are_equivalent_to_repetitions(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rows(classes, n=60, seed=seed)
    weight = rng.integers(0, 4, 60)
    assume(len(np.unique(y[weight > 0])) == classes)
    weighted = LogisticRegression(tol=1e-9).fit(X, y, sample_weight=weight)
    repeated = LogisticRegression(tol=1e-9).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("factor", [1e-150, 1e-20, 1e20, 1e150])
def test_the_unit_of_weights_does_not_matter(factor: float, classes: int) -> None:
    X, y = rows(classes)
    plain = LogisticRegression(C=np.inf).fit(X, y)
    other = LogisticRegression(C=np.inf).fit(X, y, sample_weight=np.full(len(y), factor))
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-5)
    assert other.certificate_.holds


def test_class_weights_multiply_sample_weights() -> None:
    X, y = rows(3)
    rng = np.random.default_rng(1)
    weight, of_class = rng.uniform(size=len(y)), {0: 2.0, 1: 0.5, 2: 3.0}
    both = LogisticRegression(class_weight=of_class).fit(X, y, sample_weight=weight)
    one = LogisticRegression().fit(X, y, sample_weight=weight * np.array([2.0, 0.5, 3.0])[y])
    np.testing.assert_allclose(both.coef_, one.coef_, atol=1e-12)


# What cannot be fitted.


def test_one_class_is_not_enough() -> None:
    with pytest.raises(
        DataError, match=r"This solver needs samples of at least 2 classes .* only one class: .*selected"
    ):
        LogisticRegression().fit(np.ones((5, 2)), np.ones(5))


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")]
)
def test_a_value_that_is_not_finite_is_named(value: float, message: str, classes: int, wide: bool) -> None:
    X, y = rows(classes, d=400 if wide else 4)
    X[7, 2] = value
    frame = pd.DataFrame(X).rename(columns=lambda j: f"column {j}")
    good = LogisticRegression().fit(frame.fillna(0.0).replace(np.inf, 0.0), y)
    for act in (lambda: LogisticRegression().fit(frame, y), lambda: good.predict(frame)):
        with pytest.raises(NonFiniteError, match=f"{message}.*'column 2'.*row 7"):
            act()


def test_a_label_that_is_missing_is_named() -> None:
    X, y = rows()
    labels = y.astype(float)
    labels[5] = np.nan
    with pytest.raises(NonFiniteError, match=r"Input y contains NaN.*row 5"):
        LogisticRegression().fit(X, labels)


def test_a_coefficient_that_overflows_is_rejected() -> None:
    X, y = rows()
    with pytest.raises(NonFiniteError, match="'x1' is too large for float64"):
        LogisticRegression(C=np.inf).fit(X * [1.0, 1e-315, 1.0, 1.0], y)


def test_weights_of_zero_are_rejected() -> None:
    X, y = rows()
    with pytest.raises(DataError, match="Sample weights must contain at least one non-zero number"):
        LogisticRegression().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(DataError, match=r"not in class_weight.*as keys"):
        LogisticRegression(class_weight={7: 1.0}).fit(X, y)
    with pytest.raises(DataError, match="weights of the classes"):
        LogisticRegression(class_weight={0: 0.0, 1: 0.0}).fit(X, y)
    with pytest.raises(DataError, match="Negative values"):
        LogisticRegression().fit(X, y, sample_weight=-np.ones(len(y)))


def test_a_failed_fit_leaves_the_old_model() -> None:
    X, y = rows()
    model = LogisticRegression().fit(X, y)
    before = model.coef_.copy()
    for bad in (lambda: model.fit(X, np.zeros(len(y))), lambda: model.set_params(solver="lbfgs", dual=True).fit(X, y)):
        with pytest.raises(DataError):
            bad()
        np.testing.assert_array_equal(model.coef_, before)
        assert model.n_features_in_ == 4
    with pytest.raises(NotFittedError):
        LogisticRegression().predict(X)


# Stopping early.


def test_too_few_steps_warn_with_the_remedy() -> None:
    X, y = rows()
    with pytest.warns(
        ConvergenceWarning, match=r"lbfgs failed to converge after 1 iteration.*standard errors.*max_iter"
    ):
        model = LogisticRegression(max_iter=1).fit(X, y)
    assert model.n_iter_.tolist() == [1]
    assert not model.certificate_.holds


@pytest.mark.parametrize("classes", [2, 3])
def test_an_interruption_keeps_the_best_coefficients(classes: int, monkeypatch: Any) -> None:
    X, y = rows(classes)
    full = LogisticRegression().fit(X, y)
    watch = nullcontext(SimpleNamespace(callback=stop_at(2)))
    monkeypatch.setattr("mercer.linear_model._logistic.watch_fit", lambda *_, **__: watch)
    model = LogisticRegression()
    with pytest.raises(FitInterrupted) as stopped:
        model.fit(X, y)
    assert stopped.value.solution.certificate == model.certificate_
    assert not model.certificate_.holds
    assert model.n_iter_.tolist() == [2]
    assert np.abs(model.coef_ - full.coef_).max() < 0.5


def test_ctrl_c_before_the_first_report_to_a_callback_keeps_the_start(monkeypatch: Any) -> None:
    from_sklearn = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
    X, y = rows(2)
    monkeypatch.setattr(newton.NewtonDescent, "begin", interrupt)
    model = LogisticRegression().set_callbacks(from_sklearn.ProgressBar())
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert not model.certificate_.holds
    assert not model.coef_.any()


def test_a_warm_start_begins_at_the_last_coefficients() -> None:
    X, y = rows(3)
    model = LogisticRegression(warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_[0] == 0
    with pytest.raises(DataError, match="Initialization coef is of shape"):
        model.fit(X[:, :2], y)
    model.coef_[:] = np.nan
    with pytest.raises(NonFiniteError, match="to begin with hold NaN or infinity"):
        model.fit(X, y)


# Predicting.


@pytest.mark.parametrize("classes", [2, 3])
def test_log_probabilities_have_no_log_of_zero(classes: int) -> None:
    X, y = rows(classes)
    model = LogisticRegression().fit(X, y)
    far = X * 1e3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logs = model.predict_log_proba(far)
    assert np.isfinite(logs).all()
    assert logs.min() < -800  # whose exponential is 0
    np.testing.assert_allclose(np.exp(logs), model.predict_proba(far), atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_predictions_do_not_depend_on_blocks_or_threads(classes: int) -> None:
    X, y = rows(classes, n=40_000)
    model = LogisticRegression().fit(X, y)
    with engine(threads=1):
        alone = LogisticRegression().fit(X, y)
        np.testing.assert_array_equal(alone.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(alone.coef_, model.coef_)
    np.testing.assert_allclose(model.decision_function(X)[-3:], model.decision_function(X[-3:]), rtol=1e-12)


def test_a_large_fit_begins_at_a_sample() -> None:
    X, y = rows(n=60_000)
    ours, theirs = LogisticRegression(), linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-9)
    np.testing.assert_allclose(ours.fit(X, y).coef_, theirs.fit(X, y).coef_, atol=1e-3)
    # distances are in standard errors, which are about 0.01 here
    assert np.abs(ours.coef_ - theirs.coef_).max() < 1e-2 * 0.02
    assert ours.certificate_.holds


@pytest.mark.parametrize("solver", [{}, {"solver": "saga", "l1_ratio": 1.0}], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_largest_numbers_are_rejected_with_a_sentence(solver: dict[str, Any], classes: int) -> None:
    """Without one, the coefficients would be those of the start, and the certificate no number."""
    X = np.finfo(float).max * np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=(12, 2))
    with pytest.raises(NonFiniteError, match="too large for float64"):
        LogisticRegression(**solver).fit(X, np.arange(12) % classes)


def test_small_columns_of_several_classes_with_an_l1_penalty() -> None:
    """The scale of the columns times their penalty is at the limit of float64."""
    X = 5e-324 * np.random.default_rng(0).integers(-3, 4, size=(30, 4))
    model = LogisticRegression(l1_ratio=1.0, solver="saga").fit(X, np.arange(30) % 3)
    assert not model.coef_.any()


def test_an_infinite_column_of_many_classes_is_named() -> None:
    """There are too many coefficients for Newton's method, and L-BFGS begins by looking at products of columns."""
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(21, 30)))
    X[:, 0] = -np.inf
    with pytest.raises(NonFiniteError, match="Column 'x0' is -inf in row 0"):
        LogisticRegression(C=1e6).fit(X, np.arange(21) % 13, sample_weight=np.full(21, 1e150))
