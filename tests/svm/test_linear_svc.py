"""Linear support vector classification: scikit-learn's optimum, its certificate, and errors that name."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import InvalidParameterError

from mercer import LinearSVC
from mercer._errors import DataError, FitInterrupted, NonFiniteError
from mercer.optim.proximal_newton import ProximalDescent
from mercer.svm._margin_newton import MarginNewton
from tests._ctrl_c import interrupted_at, stop_at

KINDS: dict[str, dict[str, Any]] = {
    "squared hinge": {},
    "hinge": {"loss": "hinge"},
    "L1": {"penalty": "l1"},
    "Crammer-Singer": {"multi_class": "crammer_singer"},
}


def standardised(load: Any) -> tuple[Any, Any]:
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9), y


def objective(model: Any, X: Any, y: Any, weight: Any = 1.0) -> float:
    """liblinear's, of one class against the rest or of the second of two."""
    scores = np.atleast_2d(model.decision_function(X).T)
    names = model.classes_ if len(scores) > 1 else model.classes_[1:]
    short = np.stack([np.maximum(1 - np.where(y == name, s, -s), 0.0) for name, s in zip(names, scores, strict=True)])
    coefficients = np.append(model.coef_, np.ravel(model.intercept_) / model.intercept_scaling)
    penalty = np.abs(coefficients).sum() if model.penalty == "l1" else 0.5 * coefficients @ coefficients
    losses = short if model.loss == "hinge" else short**2
    return float(penalty + model.C * (weight * losses).sum())


@pytest.mark.parametrize("kind", ["squared hinge", "hinge", "L1"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_digits])
def test_the_objective_is_not_above_that_of_scikit_learn(kind: str, load: Any) -> None:
    X, y = standardised(load)
    options = {"C": 0.05, **KINDS[kind]}
    ours = LinearSVC(**options).fit(X, y)
    assert ours.certificate_.holds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = svm.LinearSVC(**options, tol=1e-6, max_iter=2000, random_state=0).fit(X, y)
    assert objective(ours, X, y) <= objective(theirs, X, y) * (1 + 1e-6)
    assert objective(theirs, X, y) <= objective(ours, X, y) * (1 + (1e-6 if load is not load_digits else 1e-3))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"intercept_scaling": 10.0, "C": 0.1},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0}},
    ],
    ids=str,
)
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_coefficients_agree_with_scikit_learn(kind: str, options: dict[str, Any], load: Any) -> None:
    X, y = standardised(load)
    X, y = X[::2], y[::2]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) * (np.arange(len(y)) % 7 > 0)
    theirs = svm.LinearSVC(**KINDS[kind], **options, tol=1e-8, max_iter=100_000, random_state=0).fit(X, y, weight)
    ours = LinearSVC(**KINDS[kind], **options, tol=1e-8, max_iter=100_000).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows_and_frames_agree_with_arrays(kind: str) -> None:
    X, y = standardised(load_iris)
    X = X * (np.abs(X) > 0.5)
    model = LinearSVC(**KINDS[kind], tol=1e-7, max_iter=50_000)
    dense = model.fit(X, y).coef_
    for other in (sparse.csr_array(X), sparse.csc_matrix(X), np.asfortranarray(X), pd.DataFrame(X), pl.DataFrame(X)):
        np.testing.assert_allclose(model.fit(other, y).coef_, dense, rtol=1e-3, atol=1e-4)
    assert model.fit(X.astype(np.float32), y).coef_.dtype == np.float64


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_equivalent_to_repetitions(kind: str) -> None:
    X, y = standardised(load_iris)
    repeats = np.random.default_rng(1).integers(0, 4, len(y))
    model = LinearSVC(**KINDS[kind], tol=1e-8, max_iter=50_000)
    weighted = model.fit(X, y, sample_weight=repeats).coef_
    np.testing.assert_allclose(
        model.fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats)).coef_, weighted, rtol=1e-3, atol=1e-4
    )


def test_many_columns_with_the_hinge_use_the_dual() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((1200, 1500), density=0.01, rng=rng, format="csr")
    y = np.asarray(X.sum(axis=1)).ravel() + 0.5 * rng.normal(size=1200) > 7.5
    model = LinearSVC(loss="hinge", random_state=0).fit(X, y)
    assert model.plan_.path == "dual coordinate descent"
    assert model.certificate_.holds
    again = LinearSVC(loss="hinge", random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    theirs = svm.LinearSVC(loss="hinge", tol=1e-6, max_iter=20_000, random_state=0).fit(X, y)
    assert objective(model, X, y) == pytest.approx(objective(theirs, X, y), rel=1e-6)


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer])
def test_unscaled_columns_are_fitted_with_crammer_singer(load: Any) -> None:
    """liblinear has not arrived after 100,000 passes over the second."""
    X, y = load(return_X_y=True)
    model = LinearSVC(multi_class="crammer_singer").fit(X[:600], y[:600])
    assert model.plan_.path == "Newton's method, all classes at once"
    assert model.certificate_.holds


def test_many_columns_with_crammer_singer_use_the_dual() -> None:
    X, y = standardised(load_digits)
    X = np.hstack([X[:300], np.random.default_rng(0).normal(size=(300, 60))])
    model = LinearSVC(multi_class="crammer_singer", random_state=0).fit(X, y[:300])
    assert model.plan_.path == "dual coordinate descent, all classes at once"
    assert model.certificate_.holds


@pytest.mark.parametrize("kind", KINDS)
def test_columns_far_from_zero_have_a_valid_certificate(kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="columns that are centred and of about the same size"):
        assert not LinearSVC(**KINDS[kind]).fit(X + 1e8, y).certificate_.holds


def test_64_bit_indices_are_accepted() -> None:
    X, y = standardised(load_iris)
    wide, narrow = sparse.csr_array(X), sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(LinearSVC().fit(wide, y).coef_, LinearSVC().fit(narrow, y).coef_)


def test_unscaled_columns_and_a_large_C_are_fitted() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    for loss in ("hinge", "squared_hinge"):
        assert LinearSVC(loss=loss, C=1e3).fit(X, y).certificate_.holds


def test_an_unfinished_fit_reports_cause_evidence_and_remedy() -> None:
    X, y = load_digits(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"(?s)Liblinear failed to converge.*duality gap .* > 1e-06.*max_iter"):
        model = LinearSVC(max_iter=2).fit(X, y)
    assert model.n_iter_ == 2
    assert not model.certificate_.holds
    with pytest.warns(ConvergenceWarning):
        assert not LinearSVC(max_iter=0).fit(X, y).coef_.any()


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_keeps_the_best_so_far(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = standardised(load_digits)
    watch = nullcontext(SimpleNamespace(callback=stop_at(1)))
    monkeypatch.setattr("mercer.svm._linear_svc.watch_fit", lambda *_, **__: watch)
    model = LinearSVC(**KINDS[kind])
    with pytest.raises(FitInterrupted) as stopped:
        model.fit(X, y)
    assert stopped.value.solution.certificate == model.certificate_
    assert not model.certificate_.holds
    assert model.coef_.any()


@pytest.mark.parametrize("call", [1, 2, 3])
def test_ctrl_c_at_the_optimum_of_a_class_keeps_the_coefficients(call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = standardised(load_iris)
    monkeypatch.setattr(ProximalDescent, "certificate", interrupted_at(call, ProximalDescent.certificate))
    model = LinearSVC(penalty="l1")
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert not model.certificate_.holds
    assert model.coef_[call - 1].any()


@pytest.mark.parametrize("step", [1, 5, 9, 13])
def test_no_certificate_holds_after_ctrl_c(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = standardised(load_iris)
    monkeypatch.setattr(MarginNewton, "step", interrupted_at(step, MarginNewton.step))
    model = LinearSVC(loss="hinge", tol=0.1)
    with pytest.raises(FitInterrupted) as stopped:
        model.fit(X[50:], y[50:])
    assert not model.certificate_.holds
    assert not stopped.value.solution.certificate.holds


def test_a_failed_fit_leaves_the_old_model() -> None:
    X, y = standardised(load_iris)
    model = LinearSVC().fit(X, y)
    before = model.coef_
    with pytest.raises(NonFiniteError, match=r"Input X contains NaN. Column 'x2' has a missing value in row 3"):
        model.fit(np.where(np.arange(4) == 2, np.where(np.arange(150)[:, None] == 3, np.nan, X), X), y)
    assert model.coef_ is before


def test_invalid_input_is_rejected_by_name() -> None:
    X, y = standardised(load_iris)
    with pytest.raises(DataError, match=r"needs samples of at least 2 classes .* only one class: 0\.0"):
        LinearSVC().fit(X, np.zeros(150))
    with pytest.raises(InvalidParameterError, match="'C' parameter of LinearSVC must be a float in the range"):
        LinearSVC(C=0.0).fit(X, y)
    with pytest.raises(DataError, match=r"Unsupported set of arguments.*penalty='l1'.*loss='hinge'"):
        LinearSVC(penalty="l1", loss="hinge").fit(X, y)
    with pytest.raises(DataError, match="Negative values in data passed to `sample_weight`"):
        LinearSVC().fit(X, y, sample_weight=np.full(150, -1.0))
    with pytest.raises(DataError, match="at least one non-zero"):
        LinearSVC().fit(X, y, sample_weight=np.zeros(150))
    with pytest.raises(NonFiniteError, match="column 'x1' are too large"):
        LinearSVC().fit(X * np.array([1.0, 1e200, 1.0, 1.0]), y)
    with pytest.raises(NonFiniteError, match="too large for float64 with C=1e\\+300"):
        LinearSVC(C=1e300).fit(X, y)


def test_probabilities_are_absent_and_coefficients_can_be_sparse() -> None:
    X, y = standardised(load_iris)
    model = LinearSVC(penalty="l1", C=0.05).fit(X, y)
    assert not hasattr(model, "predict_proba")
    scores = model.decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), scores)
    assert isinstance(model.densify().coef_, np.ndarray)
    assert (model.coef_ == 0).any()


def test_labels_of_several_types_are_rejected_with_a_sentence() -> None:
    with pytest.raises(DataError, match=r"^Labels must be all strings or all numbers, but y holds int, str"):
        LinearSVC().fit([[0.0], [1.0], [2.0]], np.array(["a", 1, "a"], dtype=object))
