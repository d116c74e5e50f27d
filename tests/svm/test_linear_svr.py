"""Linear support vector regression: scikit-learn's optimum, the tube of lecture 5, and errors that name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from mercer import LinearSVR
from mercer._errors import DataError, FitInterrupted, NonFiniteError
from tests._ctrl_c import interrupt

LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive"]


def diabetes() -> tuple[Any, Any]:
    X, y = load_diabetes(return_X_y=True)
    return X / X.std(axis=0), y / y.std()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "options", [{}, {"epsilon": 0.3}, {"fit_intercept": False}, {"intercept_scaling": 10.0, "C": 0.1}], ids=str
)
def test_coefficients_agree_with_scikit_learn(loss: str, options: dict[str, Any]) -> None:
    X, y = diabetes()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) * (np.arange(len(y)) % 7 > 0)
    theirs = svm.LinearSVR(loss=loss, **options, tol=1e-9, max_iter=200_000, random_state=0).fit(X, y, weight)
    ours = LinearSVR(loss=loss, **options).fit(X, y, weight)
    assert ours.certificate_.holds
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def test_residuals_within_the_tube_have_loss_zero() -> None:
    """Rows that lie strictly within it may be left out, and no row beyond it is missed."""
    X, y = diabetes()
    model = LinearSVR(epsilon=0.5, C=10.0, tol=1e-8).fit(X, y)
    residuals = np.abs(y - model.predict(X))
    beyond = residuals > 0.5 - 1e-9
    assert 0 < beyond.sum() < len(y)
    again = LinearSVR(epsilon=0.5, C=10.0, tol=1e-8).fit(X[beyond], y[beyond])
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_rows_and_integer_weights_agree_with_dense_repetitions(loss: str) -> None:
    X, y = diabetes()
    model = LinearSVR(loss=loss, epsilon=0.1, tol=1e-9)
    dense = model.fit(X, y).coef_
    np.testing.assert_allclose(model.fit(sparse.csr_array(X), y).coef_, dense, atol=1e-7)
    repeats = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = model.fit(X, y, sample_weight=repeats).coef_
    repeated = model.fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats)).coef_
    np.testing.assert_allclose(repeated, weighted, atol=1e-7)


def test_targets_without_spread_are_fitted() -> None:
    X, _ = diabetes()
    assert LinearSVR().fit(X, np.zeros(len(X))).certificate_.holds
    np.testing.assert_allclose(LinearSVR(C=100.0).fit(X, np.full(len(X), 3.0)).predict(X), 3.0, atol=1e-6)


def test_targets_below_rounding_are_zeros() -> None:
    X, y = diabetes()
    model = LinearSVR().fit(X, np.sign(y - 2) * 5e-324)
    np.testing.assert_allclose(model.predict(X), 0.0, atol=1e-300)
    assert model.certificate_.holds


def test_an_unfinished_fit_gives_a_warning_and_ctrl_c_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = diabetes()
    with pytest.warns(ConvergenceWarning, match="Liblinear failed to converge"):
        assert LinearSVR(max_iter=2).fit(X, y).n_iter_ == 2
    model = LinearSVR()
    monkeypatch.setattr("mercer.svm._margin_newton.MarginNewton.step", interrupt)
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert model.n_iter_ == 0
    assert not model.certificate_.holds


def test_invalid_input_is_rejected_by_name() -> None:
    X, y = diabetes()
    with pytest.raises(DataError, match="epsilon must be 0 or a positive number, got -1"):
        LinearSVR(epsilon=-1.0).fit(X, y)
    with pytest.raises(DataError, match=r"Unsupported set of arguments.*dual=False"):
        LinearSVR(dual=False).fit(X, y)
    with pytest.raises(NonFiniteError, match="Input X contains"):
        LinearSVR().fit(np.where(X > 4, np.inf, X), y)
    with pytest.raises(NonFiniteError, match="squares of column 'x0' are too large for float64"):
        LinearSVR().fit(np.where(np.arange(X.shape[1]) == 0, 1e200, X), y)
    with pytest.raises(NonFiniteError, match="Input y contains"):
        LinearSVR().fit(X, np.where(np.arange(len(y)) == 5, np.nan, y))
    with pytest.raises(DataError, match=r"could not convert string to float: .*'high'.*LinearSVR predicts numbers"):
        LinearSVR().fit(X, np.where(y > 1, "high", "low"))
