"""Support vector regression: the tube, scikit-learn's numbers, and what is new."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.svm
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR
from mercer._errors import DataError, FitInterrupted, NonFiniteError
from mercer.kernels import RBF, Linear
from tests._ctrl_c import interrupt
from tests.svm._tubes import tube, waves

# The optimum.


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_coefficients_agree_with_the_positions_of_rows(kernel: str, fit_intercept: bool) -> None:
    X, t = waves()
    model = SVR(kernel=kernel, C=2.0, epsilon=0.15, fit_intercept=fit_intercept, tol=1e-5).fit(X, t)
    plus, minus = tube(model, len(X))
    residual = t - model.predict(X)
    assert np.all(plus * minus == 0)
    assert max(plus.max(), minus.max()) <= 2.0
    assert np.all(np.abs(residual[(plus == 0) & (minus == 0)]) <= 0.15 + 1e-4)
    assert np.all(residual[plus > 0] >= 0.15 - 1e-4)  # a⁺ belongs to t − y ≥ ε
    assert np.all(residual[minus > 0] <= -0.15 + 1e-4)  # a⁻ to y − t ≥ ε
    on_the_edge = ((plus > 0) & (plus < 2)) | ((minus > 0) & (minus < 2))
    np.testing.assert_allclose(np.abs(residual[on_the_edge]), 0.15, atol=1e-4)
    np.testing.assert_allclose(model.dual_coef_[0], model.a_plus_ - model.a_minus_)
    assert (abs((plus - minus).sum()) < 1e-10) if fit_intercept else (model.intercept_ == 0)


def test_primal_equals_dual_at_the_optimum() -> None:
    X, t = waves()
    model = SVR(C=3.0, gamma=1.0, epsilon=0.1, tol=1e-6).fit(X, t)
    plus, minus = tube(model, len(X))
    K, beta = RBF(gamma=1.0)(X), plus - minus
    norm = 0.5 * beta @ K @ beta
    dual = t @ beta - 0.1 * np.abs(beta).sum() - norm
    primal = norm + 3.0 * np.maximum(0, np.abs(t - model.predict(X)) - 0.1).sum()
    assert primal == pytest.approx(dual, rel=1e-4)
    assert model.certificate_.dual == pytest.approx(dual, rel=1e-8)
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-8)
    assert model.certificate_.holds


@pytest.mark.parametrize("model", [SVR(C=100.0), SVC(C=100.0)])
def test_a_large_gap_is_named_first_and_claims_no_global_optimum(model: Any) -> None:
    X, t = waves()
    y = t if isinstance(model, SVR) else (t > 0).astype(int)
    far = model.set_params(tol=0.9).fit(X, y).certificate_
    assert far.holds
    assert far.gap > 1e-3 * far.primal
    assert not far.is_global
    assert far.sentence.startswith(f"the objective may be {far.gap:.2g} above its minimum")
    near = model.set_params(tol=1e-5).fit(X, y).certificate_
    assert near.is_global
    assert near.sentence.startswith("no coefficient can move")


def test_a_tube_around_everything_needs_no_support_vectors() -> None:
    X, t = waves()
    model = SVR(epsilon=10.0).fit(X, t)
    assert len(model.support_) == 0
    assert len(set(model.predict(X).tolist())) == 1
    assert np.abs(t - model.predict(X)).max() <= 10


# scikit-learn's numbers.


@pytest.mark.parametrize("options", [{"C": 50.0}, {"kernel": "linear", "epsilon": 5.0}, {"kernel": "poly"}], ids=str)
@pytest.mark.parametrize("sparse", [True, False])
def test_diabetes_agrees_with_scikit_learn(options: dict[str, Any], sparse: bool) -> None:
    X, t = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X = sp.csr_matrix(X) if sparse else X
    ours, theirs = SVR(**options).fit(X, t), sklearn.svm.SVR(**options).fit(X, t)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=5e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=5e-3)
    assert ours.n_support_ == pytest.approx(theirs.n_support_, abs=2)
    assert ours.dual_coef_.shape[0] == 1
    assert type(ours.dual_coef_) is type(theirs.dual_coef_)
    assert isinstance(ours.n_iter_, int)


def test_weights_of_columns() -> None:
    X, t = make_regression(60, 5, noise=3, random_state=0)
    model = SVR(kernel="linear", C=10).fit(X, t)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, model.predict(X), atol=1e-9)
    same = SVR(kernel=Linear(), C=10).fit(X, t)
    np.testing.assert_allclose(same.coef_, model.coef_, atol=1e-8)
    with pytest.raises(AttributeError, match="linear"):
        _ = SVR().fit(X, t).coef_


# Weights, prices and starts.


@settings(max_examples=15)
@given(st.lists(st.integers(0, 3), min_size=30, max_size=30))
def test_weights_are_equivalent_to_repetitions(counts: list[int]) -> None:
    X, t = waves(30)
    weight = np.array(counts)
    assume(weight.any())
    weighted = SVR(gamma=1.0, tol=1e-6).fit(X, t, sample_weight=weight)
    repeated = SVR(gamma=1.0, tol=1e-6).fit(np.repeat(X, weight, axis=0), np.repeat(t, weight))
    assert weighted.certificate_.dual == pytest.approx(repeated.certificate_.dual, rel=1e-4, abs=1e-6)
    np.testing.assert_allclose(weighted.predict(X) - repeated.predict(X), 0, atol=1e-2)


def test_the_mean_of_losses_is_the_sum_at_another_price() -> None:
    X, t = waves()
    mean, summed = SVR(C=160.0, scaling="mean").fit(X, t), SVR(C=2.0).fit(X, t)
    np.testing.assert_allclose(mean.predict(X), summed.predict(X), atol=1e-8)


def test_a_path_of_prices_begins_where_the_last_fit_ended() -> None:
    X, t = waves()
    warm = SVR(warm_start=True, tol=1e-5).fit(X, t)
    assert warm.fit(X, t).n_iter_ == 0
    for C in (5.0, 0.2):
        warm.set_params(C=C).fit(X, t)
        np.testing.assert_allclose(warm.predict(X), SVR(C=C, tol=1e-5).fit(X, t).predict(X), atol=1e-3)


def test_rounding_of_a_warm_start_does_not_affect_the_intercept() -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 5))
    t = X[:, 0] + rng.normal(size=300)
    warm = SVR(C=0.1, epsilon=0.0, warm_start=True, tol=1e-8).fit(X, t).set_params(epsilon=6.0).fit(X, t)
    assert warm.support_.size == 0  # all rows are inside the tube
    assert warm.intercept_ == pytest.approx((t.min() + t.max()) / 2)


def test_out_of_time_or_steps_the_fit_reports_its_gap() -> None:
    X, t = waves(300)
    with pytest.warns(ConvergenceWarning, match="time_limit.*gap"):
        model = SVR(C=1e3, time_limit=0.0).fit(X, t)
    assert not model.certificate_.holds
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3\)"):
        assert SVR(C=1e3, max_iter=3).fit(X, t).n_iter_ == 3


def test_an_interruption_keeps_the_best_point_so_far() -> None:
    X, t = waves(300)
    model = SVR(callback=interrupt)
    with pytest.raises(FitInterrupted):
        model.fit(X, t)
    assert not model.certificate_.holds
    assert np.isfinite(model.predict(X)).all()


# Kernels and bad input.


def test_targets_far_from_zero_only_move_the_intercept() -> None:
    X, t = waves()
    original, moved = SVR(tol=1e-6).fit(X, t), SVR(tol=1e-6).fit(X, t + 1e8)
    assert moved.certificate_.holds
    np.testing.assert_allclose(moved.predict(X) - 1e8, original.predict(X), atol=1e-5)


@pytest.mark.parametrize("scale", [2.0**-100, 2.0**100, 2.0**500])
def test_units_of_targets_scale_predictions_also_for_many_rows(scale: float) -> None:
    X, t = waves(1200)  # enough rows for float32 kernel rows where targets permit
    model = SVR(C=scale, epsilon=0.1 * scale, tol=1e-3 * scale, max_iter=200_000).fit(X, t * scale)
    assert model.certificate_.holds
    np.testing.assert_allclose(model.predict(X) / scale, SVR().fit(X, t).predict(X), atol=5e-3)


def test_an_absolute_tolerance_is_reached_with_a_huge_objective() -> None:
    X, t = waves()
    model = SVR(C=1e8, epsilon=1e7, gamma=1.0).fit(X, t * 1e8)
    assert model.certificate_.holds
    assert model.certificate_.dual > 1e15


@pytest.mark.compiled("takes minutes as plain Python")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_optimum_is_found_with_weights_over_twelve_decades(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    t, weight = X[:, 0] + rng.normal(size=60), 10.0 ** rng.uniform(-6, 6, size=60)
    model = SVR(kernel="linear", C=406, tol=1e-6).fit(X, t, sample_weight=weight)
    losses = np.maximum(0, np.abs(t - model.predict(X)) - 0.1)
    primal = 0.5 * float(np.sum(model.coef_**2)) + 406 * float(weight @ losses)
    assert model.certificate_.holds
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-6)
    assert model.certificate_.gap <= 1e-5 * primal
    assert model.n_iter_ < 100_000


def test_functions_and_matrices_agree_with_names() -> None:
    X, t = waves()
    expected = SVR(gamma=0.5, tol=1e-6).fit(X, t).predict(X)
    for kernel in (RBF(gamma=0.5), lambda A, B: RBF(gamma=0.5)(A, B), lambda x, z: np.exp(-0.5 * ((x - z) ** 2).sum())):
        np.testing.assert_allclose(SVR(kernel=kernel, tol=1e-6).fit(X, t).predict(X), expected, atol=1e-4)
    K = RBF(gamma=0.5)(X)
    np.testing.assert_allclose(SVR(kernel="precomputed", tol=1e-6).fit(K, t).predict(K), expected, atol=1e-4)


def test_invalid_input_is_rejected_by_name() -> None:
    X, t = waves(20)
    for options in ({"C": 0.0}, {"epsilon": -0.1}, {"gamma": -1.0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            SVR(**options).fit(X, t)
    with pytest.raises(NonFiniteError, match="Row 4"):
        SVR().fit(X, np.where(np.arange(20) == 4, np.nan, t))
    with pytest.raises(NonFiniteError, match="Row 4"):
        SVR(kernel=lambda A, B: A @ B.T).fit(X, np.where(np.arange(20) == 4, np.nan, t))
    with pytest.raises(NonFiniteError, match=r"'x0'.*row 0"):
        SVR().fit(np.where(np.arange(20)[:, None] == 0, np.inf, X), t)
    with pytest.raises(DataError, match="y holds 'low'"):
        SVR().fit(X, np.array(["low", "high"] * 10))
    with pytest.raises(DataError, match="y is None"):
        SVR().fit(X, None)
    with pytest.raises(DataError, match="incompatible shapes"):
        SVR().fit(X, t, sample_weight=np.ones(3))


def test_frames_are_accepted() -> None:
    X, t = waves()
    frame = pd.DataFrame({"x": X[:, 0]})
    model = SVR().fit(frame, pd.Series(t))
    np.testing.assert_allclose(model.predict(frame), SVR().fit(X, t).predict(X))
    assert model.feature_names_in_.tolist() == ["x"]
