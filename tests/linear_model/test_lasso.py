"""The lasso: scikit-learn's numbers, with a proof, for any data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from mercer import engine, lasso_path
from mercer._errors import DataError, FitInterrupted, NonFiniteError
from mercer.linear_model import Lasso
from mercer.optim.lasso import LassoPath, WorkingRegression
from tests._ctrl_c import interrupt
from tests.linear_model._regressions import CONTAINERS, Array, assert_same_attributes, draw

TIGHT = {"tol": 1e-13, "max_iter": 100_000}


def objective(model: Any, X: Array, y: Array) -> float:
    residual = y - model.predict(X)
    return float(0.5 * np.mean(residual**2) + model.alpha * np.abs(model.coef_).sum())


@pytest.mark.parametrize("shape", [(40, 5), (7, 20)], ids=str)
@pytest.mark.parametrize("targets", [None, 1, 3])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("positive", [True, False])
def test_coefficients_agree_with_scikit_learn(
    shape: tuple[int, int], targets: int | None, weighted: bool, intercept: bool, positive: bool
) -> None:
    X, y = draw(*shape, targets)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    options = {"fit_intercept": intercept, "positive": positive, **TIGHT}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # theirs, on wide data
        theirs = linear_model.Lasso(0.3, **options).fit(X, y, weight)
    ours = Lasso(0.3, fit_intercept=intercept, positive=positive).fit(X, y, weight)
    assert_same_attributes(ours, theirs, ("coef_", "intercept_"), rtol=1e-6, atol=1e-8)
    assert np.shape(ours.dual_gap_) == np.shape(theirs.dual_gap_)
    assert np.shape(ours.n_iter_) == np.shape(theirs.n_iter_)
    assert ours.certificate_.holds


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("shape", [(40, 5), (7, 20)], ids=str)
def test_any_container_is_accepted(container: str, shape: tuple[int, int]) -> None:
    X, y = draw(*shape)
    before = X.copy()
    expected = Lasso(0.2).fit(X, y)
    np.testing.assert_array_equal(X, before)
    model = Lasso(0.2).fit(CONTAINERS[container](X), y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-7)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_are_accepted(frame: Any) -> None:
    X, y = draw(30, 3)
    data = frame({"a": X[:, 0], "b": X[:, 1], "c": np.ones(30)})
    model = Lasso(0.01).fit(data, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.diagnosis_.codes == ("constant",)
    assert model.diagnosis_.findings[0].columns == ("c",)
    assert model.coef_[2] == 0
    np.testing.assert_allclose(model.predict(data), data.to_numpy() @ model.coef_ + model.intercept_)


def test_single_precision_is_kept() -> None:
    X, y = draw(40, 5)
    model = Lasso(0.1).fit(X.astype(np.float32), y)
    assert model.coef_.dtype == model.intercept_.dtype == model.dual_gap_.dtype == np.float32
    np.testing.assert_allclose(model.coef_, Lasso(0.1).fit(X, y).coef_, rtol=1e-4)


@pytest.mark.parametrize("alpha", [1e-3, 1e-9])
def test_the_gap_is_computed_for_coefficients_in_single_precision(alpha: float) -> None:
    X, y = draw(3, 30)
    X = X.astype(np.float32)
    model = Lasso(alpha, fit_intercept=False).fit(X, y)
    best = objective(Lasso(alpha, fit_intercept=False, tol=1e-15).fit(X.astype(float), y), X.astype(float), y)
    residual = y - X.astype(float) @ model.coef_.astype(float)
    mine = 0.5 * np.mean(residual**2) + alpha * np.abs(model.coef_.astype(float)).sum()
    assert 0 <= mine - best <= 1.001 * model.dual_gap_ + 1e-15 * best
    assert model.certificate_.holds
    assert model.certificate_.value == pytest.approx(len(X) * model.dual_gap_, rel=1e-5)


def test_the_gap_bounds_the_distance_from_the_minimum() -> None:
    X, y = draw(40, 60)
    best = objective(Lasso(0.05, tol=1e-14).fit(X, y), X, y)
    for sweeps in (1, 2, 4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rough = Lasso(0.05, max_iter=sweeps).fit(X, y)
        assert -1e-12 <= objective(rough, X, y) - best <= rough.dual_gap_ + 1e-12


@settings(max_examples=25)
@given(n=st.integers(2, 12), d=st.integers(1, 8), intercept=st.booleans(), dense=st.booleans(), seed=st.integers(0, 99))
def test_weights_are_equivalent_to_repetitions(n: int, d: int, intercept: bool, dense: bool, seed: int) -> None:
    X, y = draw(n, d, seed=seed)
    weight = np.random.default_rng(seed).integers(0, 4, n)
    weight[0] += 1
    repeated = np.repeat(np.arange(n), weight)
    wrap = np.asarray if dense else sparse.csr_array
    model = Lasso(0.1, fit_intercept=intercept)
    one = model.fit(wrap(X), y, weight).predict(X[repeated])
    np.testing.assert_allclose(
        one, model.fit(wrap(X[repeated]), y[repeated]).predict(X[repeated]), rtol=1e-6, atol=1e-6
    )


def test_far_from_zero_and_extreme_units() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X @ [3.0, -2.0, 0.0, 1.0] + rng.normal(size=60)
    plain = Lasso(0.1, tol=1e-12).fit(X, y)
    for wrap in (np.asarray, sparse.csr_array):
        far = Lasso(0.1, tol=1e-12).fit(wrap(X + 1e8), y + 1e8)
        np.testing.assert_allclose(far.coef_, plain.coef_, rtol=1e-6, atol=1e-8)
    for unit in (1e150, 1e-150):
        np.testing.assert_allclose(Lasso(0.1 * unit, tol=1e-12).fit(X, unit * y).coef_, unit * plain.coef_, rtol=1e-10)
        np.testing.assert_allclose(Lasso(0.1 * unit, tol=1e-12).fit(unit * X, y).coef_ * unit, plain.coef_, rtol=1e-10)


def test_many_more_columns_than_rows() -> None:
    X, y = draw(30, 3000)
    model = Lasso(0.5).fit(np.asfortranarray(X), y)
    assert model.certificate_.holds
    residual = y - model.predict(X)
    slopes = X.T @ residual / len(y)
    assert np.abs(slopes).max() <= 0.5 * (1 + 1e-6)
    np.testing.assert_allclose(slopes[model.coef_ != 0], 0.5 * np.sign(model.coef_[model.coef_ != 0]), rtol=1e-6)


def test_degenerate_data() -> None:
    one = Lasso(0.1).fit([[1.0, 2.0]], [3.0])
    assert one.intercept_ == 3
    assert not one.coef_.any()
    flat = Lasso(0.1).fit(np.arange(6.0).reshape(3, 2), [5.0, 5.0, 5.0])
    np.testing.assert_array_equal(flat.predict([[9.0, 9.0]]), [5.0])
    assert flat.diagnosis_.codes == ("empty",)
    twins = Lasso(0.1).fit(np.column_stack([np.arange(5.0)] * 2), np.arange(5.0))
    np.testing.assert_allclose(twins.coef_.sum(), 0.95, rtol=1e-6)


def test_without_a_penalty_it_is_least_squares() -> None:
    X, y = draw(40, 5)
    with pytest.warns(UserWarning, match="With alpha=0, this algorithm does not converge well"):
        model = Lasso(0.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, linear_model.LinearRegression().fit(X, y).coef_, rtol=1e-9)
    assert model.dual_gap_ < 1e-12


def test_the_order_of_descent_has_no_effect_according_to_the_plan() -> None:
    X, y = draw(40, 5)
    cyclic, random = (Lasso(0.1, selection=selection).fit(X, y) for selection in ("cyclic", "random"))
    np.testing.assert_array_equal(cyclic.coef_, random.coef_)
    assert cyclic.plan_.path == "coordinate descent on working sets"
    assert "selection='random' has the same optimum" in random.plan_.path


def test_threads_do_not_change_the_result() -> None:
    X, y = draw(500, 300)
    with engine(threads=1):
        one = Lasso(0.1).fit(X, y)
    np.testing.assert_allclose(Lasso(0.1).fit(X, y).coef_, one.coef_, rtol=1e-10, atol=1e-12)


def test_a_gram_matrix_is_used_or_rejected() -> None:
    X, y = draw(40, 5)
    X -= X.mean(axis=0)
    expected = Lasso(0.1).fit(X, y).coef_
    np.testing.assert_allclose(Lasso(0.1, precompute=X.T @ X).fit(X, y).coef_, expected, rtol=1e-8)
    with pytest.raises(DataError, match="did not pass validation"):
        Lasso(0.1, precompute=2 * X.T @ X).fit(X, y)
    with pytest.raises(DataError, match=r"shape \(2, 2\), but X has 5 columns"):
        Lasso(0.1, precompute=np.eye(2)).fit(X, y)
    with pytest.warns(UserWarning, match="Gram matrix was provided but X was centered"):
        np.testing.assert_allclose(Lasso(0.1, precompute=X.T @ X).fit(X + 1, y).coef_, expected, rtol=1e-8)


def test_a_warm_start_takes_no_step() -> None:
    X, y = draw(40, 60, targets=2)
    model = Lasso(0.1, warm_start=True).fit(X, y)
    assert min(model.n_iter_) > 0
    assert model.fit(X, y).n_iter_ == [0, 0]
    with pytest.raises(DataError, match=r"coef_ has shape \(2, 60\).*1 target and 60 columns"):
        model.fit(X, y[:, 0])


@pytest.mark.parametrize("spoilt", [np.nan, np.inf])
def test_coefficients_of_nan_are_rejected_as_a_start(spoilt: float) -> None:
    """Such coefficients were formerly returned unchanged, with a certificate that held."""
    X, y = draw(40, 5)
    model = Lasso(0.1, warm_start=True).fit(X, y)
    model.coef_[0] = spoilt
    with pytest.raises(NonFiniteError, match=r"to begin with hold NaN or infinity: set warm_start=False"):
        model.fit(X, y)
    with pytest.raises(NonFiniteError, match=r"or give others \(coef_init\)"):
        lasso_path(X, y, coef_init=np.full(5, spoilt))


def test_too_few_iterations() -> None:
    X, y = draw(40, 60)
    with pytest.warns(ConvergenceWarning, match=r"(?s)Objective did not converge\..*Duality gap: .*raise max_iter"):
        model = Lasso(1e-3, max_iter=1).fit(X, y)
    assert not model.certificate_.holds
    assert "not converged" in model.diagnosis_.codes


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("container", ["C", "F", "csr"])
def test_a_value_that_is_not_finite_is_named(bad: float, container: str) -> None:
    X, y = draw(20, 3)
    X[4, 1] = bad
    with pytest.raises(NonFiniteError, match=r"Column 'x1' .* row 4"):
        Lasso().fit(CONTAINERS[container](X), y)


def test_other_invalid_arguments_are_rejected() -> None:
    X, y = draw(20, 3)
    with pytest.raises(NonFiniteError, match="Row 2 has y = nan"):
        Lasso().fit(X, np.where(np.arange(20) == 2, np.nan, y))
    with pytest.raises(ValueError, match="at least one non-zero number"):
        Lasso().fit(X, y, np.zeros(20))
    with pytest.raises(DataError, match="Row 0 has the weight -1"):
        Lasso().fit(X, y, -np.ones(20))
    with pytest.raises(NonFiniteError, match=r"non-finite parameter values.*column 2 "):
        Lasso().fit(X * [1, 1, 1e300], y)


def test_a_failed_fit_leaves_the_old_model() -> None:
    X, y = draw(30, 3)
    model = Lasso().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(DataError):
        model.fit(np.full_like(X, np.nan), y)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


@pytest.mark.parametrize("targets", [None, 2])
def test_an_interrupted_fit_keeps_the_best_coefficients(monkeypatch: pytest.MonkeyPatch, targets: int | None) -> None:
    X, y = draw(30, 50, targets)
    monkeypatch.setattr(LassoPath, "solve_along", interrupt)
    model = Lasso(0.1)
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert not model.certificate_.holds
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("warm_start", [False, True])
def test_ctrl_c_before_the_first_slopes_keeps_the_start(monkeypatch: pytest.MonkeyPatch, warm_start: bool) -> None:
    X, y = draw(30, 5)
    model = Lasso(0.1, warm_start=warm_start, tol=1e-12).fit(X, y)
    before = model.coef_.copy()
    monkeypatch.setattr(LassoPath, "_varies", property(interrupt))
    monkeypatch.setattr(WorkingRegression, "slopes", interrupt)
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert not model.certificate_.holds
    np.testing.assert_allclose(model.coef_, before if warm_start else 0.0, rtol=1e-12)


def test_coefficients_as_a_sparse_matrix() -> None:
    X, y = draw(30, 5)
    model = Lasso(1.0).fit(X, y)
    np.testing.assert_array_equal(model.sparse_coef_.toarray()[0], model.coef_)


def test_a_gap_beyond_single_precision_is_kept_in_double() -> None:
    X, y = np.arange(6.0, dtype=np.float32).reshape(-1, 1), 1e150 * np.random.default_rng(0).normal(size=6)
    model = Lasso(0.1).fit(X, y)
    assert model.dual_gap_.dtype == np.float64
    assert np.isfinite(model.dual_gap_)
