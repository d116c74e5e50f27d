"""Ridge regression: scikit-learn's numbers, and penalties chosen by the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from mercer._errors import DataError, FitInterrupted, NonFiniteError, PenaltyError
from mercer.linear_model import Ridge
from mercer.optim.least_squares import CentredProducts
from tests._ctrl_c import interrupted_at
from tests.linear_model._regressions import CONTAINERS, Array, assert_same_attributes, draw, draw_wide

SOLVERS = ["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"]


@pytest.mark.parametrize("shape", [(60, 5), (5, 5), (4, 9), (1, 3)], ids=str)
@pytest.mark.parametrize("targets", [None, 1, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_coefficients_agree_with_scikit_learn(
    shape: tuple[int, int], targets: int | None, intercept: bool, weighted: bool
) -> None:
    X, y = draw(*shape, targets)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    ours = Ridge(2.5, fit_intercept=intercept).fit(X, y, sample_weight=weight)
    theirs = linear_model.Ridge(2.5, fit_intercept=intercept, solver="svd").fit(X, y, sample_weight=weight)
    assert_same_attributes(ours, theirs, ("coef_", "intercept_"), rtol=1e-10, atol=1e-11)
    assert ours.certificate_.holds
    assert ours.alpha_ == 2.5


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(60, 5), (4, 9)], ids=str)
def test_every_solver_gives_the_same_answer(solver: str, shape: tuple[int, int]) -> None:
    X, y = draw(*shape, 2)
    model = Ridge(3.0, solver=solver).fit(X, y)
    np.testing.assert_allclose(model.coef_, Ridge(3.0).fit(X, y).coef_, rtol=1e-9, atol=1e-12)
    assert model.solver_ == ("cholesky" if solver == "auto" else solver)
    assert (model.n_iter_ is None) == (solver not in ("lsqr", "sag", "saga"))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("solver", ["auto", "sag", "lsqr", "sparse_cg"])
def test_any_container_is_accepted(container: str, solver: str) -> None:
    X, y = draw(60, 5)
    model, plain = Ridge(solver=solver).fit(CONTAINERS[container](X), y), Ridge().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(CONTAINERS[container](X)), plain.predict(X), rtol=1e-9)


@pytest.mark.parametrize("shape", [(60, 4), (4, 9)], ids=str)
def test_one_penalty_for_each_target(shape: tuple[int, int]) -> None:
    X, y = draw(*shape, 3)
    alphas = [0.1, 10.0, 0.1]
    model = Ridge(alphas).fit(X, y)
    for k, alpha in enumerate(alphas):
        np.testing.assert_allclose(model.coef_[k], Ridge(alpha).fit(X, y[:, k]).coef_, rtol=1e-9)
    np.testing.assert_array_equal(model.alpha_, alphas)


def test_wide_sparse_data_by_conjugate_gradients() -> None:
    X, y, wide = draw_wide(300, 700)
    model = Ridge(solver="lsqr", tol=1e-10).fit(wide, y)
    assert model.plan_.path == "conjugate gradients"
    assert model.n_iter_[0] > 1
    exact = Ridge().fit(X.toarray(), y)
    np.testing.assert_allclose(model.coef_[:700], exact.coef_, atol=1e-7)
    unfinished = Ridge(tol=1e-12, max_iter=2).fit(wide, y)
    assert not unfinished.certificate_.holds
    assert "not converged" in unfinished.diagnosis_.codes


def test_an_interrupted_fit_keeps_the_best_coefficients(monkeypatch: pytest.MonkeyPatch) -> None:
    X = sparse.random_array((1500, 1100), density=0.01, rng=np.random.default_rng(0), format="csr")
    y = np.arange(1500.0)
    monkeypatch.setattr(CentredProducts, "gram_times", interrupted_at(3, CentredProducts.gram_times))
    model = Ridge(tol=1e-12)
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert not model.certificate_.holds
    assert np.isfinite(model.predict(X)).all()


# A penalty that the data choose.


def left_out(X: Array, y: Array, alpha: float) -> float:
    errors = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        errors.append(y[i] - Ridge(alpha).fit(X[rest], y[rest]).predict(X[[i]])[0])
    return float(np.mean(np.square(errors)))


@pytest.mark.parametrize("shape", [(40, 5), (8, 20)], ids=str)
def test_leave_one_out_chooses_the_penalty(shape: tuple[int, int]) -> None:
    X, y = draw(*shape)
    model = Ridge("loo").fit(X, y)
    assert model.alpha_ == model.alphas_[np.argmin(model.alpha_errors_)]
    for position in (0, 5, 10, -1):
        np.testing.assert_allclose(model.alpha_errors_[position], left_out(X, y, model.alphas_[position]), rtol=1e-5)
    np.testing.assert_allclose(model.coef_, Ridge(model.alpha_).fit(X, y).coef_, rtol=1e-12)


@pytest.mark.parametrize("shape", [(40, 5), (8, 20)], ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_generalised_cross_validation_chooses_the_penalty(shape: tuple[int, int], intercept: bool) -> None:
    X, y = draw(*shape)
    model = Ridge("gcv", fit_intercept=intercept).fit(X, y)
    n = len(y)
    for position in (0, 5, 10, -1):
        alpha = model.alphas_[position]
        fitted = Ridge(alpha, fit_intercept=intercept).fit(X, y).predict(X)
        A = X - X.mean(axis=0) if intercept else X
        trace = np.trace(A @ np.linalg.solve(A.T @ A + alpha * np.eye(A.shape[1]), A.T)) + intercept
        expected = np.mean((y - fitted) ** 2) / (1 - trace / n) ** 2
        np.testing.assert_allclose(model.alpha_errors_[position], expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["loo", "gcv"])
def test_noise_leads_to_a_large_penalty_and_a_clear_signal_to_a_small_one(method: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10))
    noisy = Ridge(method).fit(X, rng.normal(size=60))
    clear = Ridge(method).fit(X, X @ rng.normal(size=10) + 0.01 * rng.normal(size=60))
    assert noisy.alpha_ > 30 > 0.1 > clear.alpha_


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_the_order_of_rows_does_not_affect_the_penalty(scale: float) -> None:
    """If each row is not 0 in one column only, no row predicts another: all penalties are equally good."""
    X, y = np.zeros((10, 2)), np.random.default_rng(2).normal(size=10)
    X[3, 0], X[5, 1] = 0.189, 0.3 * scale
    orders = [np.random.default_rng(seed).permutation(10) for seed in range(10)]
    models = [Ridge("loo", fit_intercept=False).fit(X[order], y[order]) for order in orders]
    assert {model.alpha_ for model in models} == {models[0].alphas_[-1]}


def test_a_tuned_penalty_with_several_targets_sparse_rows_and_weights() -> None:
    X, y = draw(50, 4, 2)
    weight = np.arange(50) % 3 + 0.5
    dense, sparse_ = (Ridge("loo").fit(wrap(X), y, weight) for wrap in (np.asarray, sparse.csr_array))
    np.testing.assert_allclose(dense.alpha_errors_, sparse_.alpha_errors_, rtol=1e-8)
    np.testing.assert_allclose(dense.coef_, sparse_.coef_, rtol=1e-8)


def test_dependent_columns_have_a_unique_ridge_solution() -> None:
    X, y = draw(40, 3)
    X = np.column_stack([X, X[:, 0]])
    diagnosis = Ridge(1e-12).fit(X, y).diagnosis_
    assert diagnosis.findings[0].columns == ("x0", "x3")
    assert "The penalty decides" in str(diagnosis)


def test_a_new_fit_replaces_the_old_one() -> None:
    X, y = draw(30, 3)
    model = Ridge("loo").fit(X, y)
    model.set_params(alpha=1.0).fit(X, y)
    assert not hasattr(model, "alphas_")


# Bounds.


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_nonnegative_coefficients(wrap: Callable[[Array], Any], intercept: bool) -> None:
    X, y = draw(60, 5, 2)
    ours = Ridge(2.0, positive=True, fit_intercept=intercept).fit(wrap(X), y)
    theirs = linear_model.Ridge(2.0, positive=True, fit_intercept=intercept, tol=1e-14, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.solver_ == "lbfgs"
    assert ours.certificate_.holds


def test_a_fit_that_stops_too_early_gives_a_warning() -> None:
    X, y = draw(300, 40)
    with pytest.warns(ConvergenceWarning, match="lbfgs solver did not converge"):
        Ridge(positive=True, max_iter=1).fit(X, y)


# Rejections.


def test_incompatible_parameters_are_rejected() -> None:
    X, y = draw(20, 3)
    with pytest.raises(DataError, match="only when positive=True"):
        Ridge(solver="lbfgs").fit(X, y)
    with pytest.raises(DataError, match="does not support positive fitting"):
        Ridge(solver="svd", positive=True).fit(X, y)
    with pytest.raises(DataError, match="no closed form"):
        Ridge("loo", positive=True).fit(X, y)
    with pytest.raises(DataError, match="2 != 1"):
        Ridge([1.0, 2.0]).fit(X, y)
    with pytest.raises(PenaltyError, match="-1"):
        Ridge([-1.0]).fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        Ridge("best").fit(X, y)
    with pytest.raises(TypeError, match="SVD solver does not support sparse"):
        Ridge(solver="svd", fit_intercept=False).fit(sparse.csr_array(X), y)
    with pytest.raises(DataError, match="minimum of 2"):
        Ridge("loo").fit(X[:1], y[:1])


@pytest.mark.parametrize("alpha", [1.0, "loo", "gcv"])
@pytest.mark.parametrize("solver", ["auto", "sag"])
@pytest.mark.parametrize("shape", [(30, 3), (3, 30)], ids=str)
def test_a_value_that_is_not_finite_is_named(alpha: Any, solver: str, shape: tuple[int, int]) -> None:
    X, y = draw(*shape)
    X[2, 1] = np.nan
    with pytest.raises(NonFiniteError, match=r"Input X contains NaN. Column 'x1'.*row 2"):
        Ridge(alpha, solver=solver).fit(X, y)


def test_coefficients_beyond_single_precision_are_kept_in_double() -> None:
    X, y = np.arange(6.0).reshape(-1, 1), 1e150 * np.arange(6.0)
    model = Ridge(1e-3).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(model.coef_, Ridge(1e-3).fit(X, y).coef_, rtol=1e-6)
