"""Support vector machines on features that stand for the kernel."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from mercer import SVC, SVR, Nystroem, RandomFourierFeatures, estimate_cost
from mercer._errors import DataError, FitInterrupted, KernelError, NoSpectrumError, TooLargeError
from mercer.kernels import RBF, Laplacian, Linear
from mercer.svm import _base
from tests._ctrl_c import interrupt

Array = np.ndarray
#: "uniform" landmarks of all rows are the rows, in some order
ALL = Nystroem(n_components=150)


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    noise = rng.normal(size=150)
    classes = np.digitize(X[:, 0] + X[:, 1] ** 2 - 1 + 0.5 * noise, [-0.5, 0.5])
    return X, classes, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * noise + 7.0, rng.uniform(0.5, 2, 150)


@pytest.fixture(scope="module")
def rows() -> Array:
    return np.random.default_rng(1).normal(size=(80, 3))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", Laplacian(gamma=0.5) + RBF(gamma=0.1)], ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"class_weight": "balanced"}, {"fit_intercept": False}, {"scaling": "mean", "C": 200.0}], ids=str
)
@pytest.mark.parametrize("labels", [2, 3])
def test_with_all_rows_as_landmarks_the_classifier_is_exact(
    data: Any, rows: Array, kernel: Any, options: Any, labels: int
) -> None:
    X, classes, _, weight = data
    y = classes if labels == 3 else classes > 0
    exact = SVC(kernel=kernel, tol=1e-8, **options).fit(X, y, weight)
    model = SVC(kernel=kernel, tol=1e-10, approximate=ALL, **options).fit(X, y, weight)
    np.testing.assert_allclose(model._decisions(rows), exact._decisions(rows), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(rows), exact.predict_proba(rows), atol=1e-3)
    np.testing.assert_allclose(model.intercept_, exact.intercept_, atol=1e-6)
    assert model.certificate_.holds
    assert model.certificate_.kind == "duality gap"
    assert not model.plan_.exact
    assert model.approximation_.error < 1e-9
    if kernel == "rbf":
        np.testing.assert_array_equal(model.support_, exact.support_)
        np.testing.assert_array_equal(model.n_support_, exact.n_support_)
        np.testing.assert_allclose(model.dual_coef_, exact.dual_coef_, atol=1e-5)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("options", [{}, {"epsilon": 0.0}, {"fit_intercept": False}, {"C": 20.0}], ids=str)
def test_with_all_rows_as_landmarks_the_regression_is_exact(data: Any, rows: Array, options: Any) -> None:
    X, _, t, weight = data
    exact = SVR(tol=1e-8, **options).fit(X, t, weight)
    model = SVR(tol=1e-10, approximate=ALL, **options).fit(X, t, weight)
    np.testing.assert_allclose(model.predict(rows), exact.predict(rows), atol=1e-6)
    assert model.certificate_.holds
    np.testing.assert_array_equal(model.support_, exact.support_)


def test_coefficients_of_columns_agree_with_the_exact_machine(data: Any) -> None:
    X, classes, t, _ = data
    for y, machine in ((classes, SVC), (classes > 0, SVC), (t, SVR)):
        exact = machine(kernel="linear", tol=1e-8).fit(X, y)
        model = machine(kernel="linear", tol=1e-10, approximate=Nystroem(n_components=5)).fit(X, y)
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-5)


@pytest.mark.parametrize(
    "approximate", ["nystroem", "fourier", Nystroem(n_components=40), RandomFourierFeatures(n_components=300)], ids=str
)
def test_features_of_every_kind_are_close_to_the_exact_machine(data: Any, rows: Array, approximate: Any) -> None:
    X, classes, t, _ = data
    exact, model = (SVC(gamma=0.1, approximate=features).fit(X, classes) for features in (None, approximate))
    assert np.mean(exact.predict(rows) == model.predict(rows)) > 0.85
    assert model.certificate_.holds
    assert 0 <= model.approximation_.error < 0.2
    assert model.approximation_.distance < 0.5
    if isinstance(approximate, Nystroem | RandomFourierFeatures):
        assert model.approximation_.n_components == approximate.n_components
    exact, model = (SVR(gamma=0.1, approximate=features).fit(X, t) for features in (None, approximate))
    assert np.corrcoef(exact.predict(rows), model.predict(rows))[0, 1] > 0.95


def test_fits_are_reproducible(data: Any, rows: Array) -> None:
    X, classes, _, _ = data
    first, second = (SVC(approximate="nystroem").fit(X, classes).decision_function(rows) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_auto_is_exact_if_that_takes_seconds_and_removes_old_attributes(data: Any) -> None:
    X, classes, _, _ = data
    model = SVC(approximate="nystroem").fit(X, classes)
    assert hasattr(model, "approximation_")
    model.set_params(approximate="auto").fit(X, classes)
    assert model.plan_.exact
    assert not hasattr(model, "approximation_")


def test_predictions_of_many_rows_agree_with_few() -> None:
    """Landmarks so near each other that their coefficients cancel in all but a few digits of float64."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 1))
    model = SVR(gamma=1.0, C=1e5, epsilon=0.001, approximate=Nystroem(n_components=60, random_state=0))
    model.fit(X, np.sin(8 * X[:, 0]))
    many = rng.uniform(size=(80_000, 1))
    np.testing.assert_allclose(model.predict(many)[:50], model.predict(many[:50]), atol=1e-6)
    np.testing.assert_allclose(model.predict(X), np.sin(8 * X[:, 0]), atol=0.05)


def test_new_rows_are_not_compared_with_support_vectors(data: Any, rows: Array) -> None:
    X, classes, _, _ = data
    model = SVC(approximate=Nystroem(n_components=10)).fit(X, classes)
    before = model.decision_function(rows)
    model.support_vectors_[:] = np.nan
    np.testing.assert_array_equal(model.decision_function(rows), before)


@pytest.mark.parametrize("approximate", ["nystroem", "fourier"])
def test_sparse_rows_and_pickles_give_the_same_answers(data: Any, rows: Array, approximate: str) -> None:
    X, classes, t, _ = data
    for y, machine in ((classes, SVC), (t, SVR)):
        model = machine(approximate=approximate, gamma=0.3).fit(X, y)
        sparse = machine(approximate=approximate, gamma=0.3).fit(sp.csr_matrix(X), y)
        if approximate == "nystroem":  # sparse rows are not moved, so that they have other cosines
            np.testing.assert_allclose(sparse.predict(sp.csr_matrix(rows)), model.predict(rows), atol=1e-4)
        assert sparse.score(sp.csr_matrix(X), y) > 0.6
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(rows), model.predict(rows))


def test_a_path_of_C_begins_where_the_last_fit_ended(data: Any) -> None:
    X, classes, _, _ = data
    cold = SVC(C=1.1, approximate=ALL).fit(X, classes > 0)
    warm = SVC(C=1.0, approximate=ALL, warm_start=True).fit(X, classes > 0).set_params(C=1.1).fit(X, classes > 0)
    assert warm.certificate_.holds
    np.testing.assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-3)
    assert warm.n_iter_[0] < cold.n_iter_[0]


def test_rows_of_weight_zero_have_no_effect(data: Any, rows: Array) -> None:
    X, classes, _, _ = data
    weight = (np.arange(150) % 3 > 0).astype(float)
    some = weight > 0
    model = SVC(tol=1e-8, gamma=0.3, approximate="nystroem").fit(X, classes, weight)
    without = SVC(tol=1e-8, gamma=0.3, approximate="nystroem").fit(X[some], classes[some])
    np.testing.assert_allclose(model._decisions(rows), without._decisions(rows), atol=1e-6)
    assert some[model.support_].all()


@pytest.mark.parametrize(("scale", "move"), [(1e-150, 0.0), (1e100, 0.0), (1.0, 1e6)])
def test_targets_of_any_size(data: Any, rows: Array, scale: float, move: float) -> None:
    X, _, t, _ = data
    plain = SVR(C=1.0, epsilon=0.1, approximate=ALL, tol=1e-9).fit(X, t)
    model = SVR(C=scale, epsilon=0.1 * scale, approximate=ALL, tol=1e-9).fit(X, scale * t + move)
    np.testing.assert_allclose((model.predict(rows) - move) / scale, plain.predict(rows), atol=1e-6)


@pytest.mark.parametrize("away", [1e6, 1e8])
def test_columns_far_from_the_origin_lose_no_digits(data: Any, away: float) -> None:
    X, classes, _, _ = data
    moved = X + away
    X = moved - away  # with the digits that are left of it there
    near, far = (SVC(kernel="linear", approximate=ALL, tol=1e-9).fit(A, classes) for A in (X, moved))
    np.testing.assert_allclose(far._decisions(moved), near._decisions(X), atol=1e-6)
    np.testing.assert_allclose(far.predict_proba(moved), near.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("C", [1e20, 1e150, np.inf])
def test_any_price_above_all_coefficients_gives_the_same_machine(data: Any, rows: Array, C: float) -> None:
    X, classes, _, _ = data
    high, higher = (SVC(C=price, gamma=3.0, approximate=ALL).fit(X, classes) for price in (1e7, C))
    assert higher.certificate_.holds
    np.testing.assert_allclose(higher._decisions(rows), high._decisions(rows), atol=1e-2)
    with pytest.warns(ConvergenceWarning, match="C is too high"):
        SVC(C=C, approximate=Nystroem(n_components=3)).fit(X, classes)


def test_a_function_of_the_user_is_a_kernel_too(data: Any, rows: Array) -> None:
    X, classes, _, _ = data

    def products(A: Array, B: Array) -> Array:
        return (1 + A @ B.T) ** 2

    exact = SVC(kernel=products, tol=1e-8).fit(X, classes)
    model = SVC(kernel=products, tol=1e-9, approximate=ALL).fit(X, classes)
    np.testing.assert_allclose(model._decisions(rows), exact._decisions(rows), atol=1e-5)


def test_options_incompatible_with_approximations_are_rejected(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, classes, _, _ = data
    with pytest.raises(KernelError, match="precomputed"):
        SVC(kernel="precomputed", approximate="nystroem").fit(X @ X.T, classes)
    with pytest.raises(NoSpectrumError):
        SVC(kernel=Linear(), approximate="fourier").fit(X, classes)
    with pytest.raises(ValueError, match="approximate"):
        SVC(approximate="magic").fit(X, classes)
    with pytest.raises(KernelError, match="Pipeline"):
        SVC(approximate=OtherFeatures()).fit(X, classes)
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 10_000)
    with pytest.raises(TooLargeError, match="features of each of 150 rows"):
        SVC(approximate="nystroem").fit(X, classes)


class OtherFeatures:
    """Transformer that is not a feature map of a kernel."""

    def fit(self, X: Any) -> None: ...
    def transform(self, X: Any) -> None: ...


def test_limits_and_interruptions_keep_the_best_point(data: Any) -> None:
    X, classes, t, _ = data
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = SVC(approximate="nystroem", max_iter=2).fit(X, classes)
    assert model.fit_status_ == 1
    model = SVC(approximate="nystroem", callback=interrupt)
    with pytest.raises(FitInterrupted):
        model.fit(X, classes)
    assert model.predict(X).shape == (150,)
    assert not model.certificate_.holds
    before = SVR(approximate="nystroem").fit(X, t)
    answers = before.predict(X)
    with pytest.raises(DataError):
        before.fit(X[:, :2], np.full(150, np.nan))
    np.testing.assert_array_equal(before.predict(X), answers)


def test_ctrl_c_in_the_comparison_with_the_exact_machine_keeps_the_fit(
    data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, classes, _, _ = data
    whole = SVC(approximate="nystroem").fit(X, classes)

    def fit_to_sample(*_: Any) -> None:
        raise FitInterrupted("stopped in the fit of a sample")

    monkeypatch.setattr(_base, "assess_features", fit_to_sample)
    model = SVC(approximate="nystroem")
    with pytest.raises(FitInterrupted):
        model.fit(X, classes)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    assert model.certificate_.holds
    assert not hasattr(model, "approximation_")


def test_a_class_absent_from_the_sample_leaves_the_distance_unknown() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 2))
    sampled = np.random.default_rng(0).permutation(5000)[:1000]  # by `_approximate.approximation`
    model = SVC(approximate=Nystroem(n_components=20)).fit(X, ~np.isin(np.arange(5000), sampled))
    assert np.isnan(model.approximation_.distance)


def test_the_cost_is_linear_in_the_rows() -> None:
    X = np.zeros((20_000, 3))
    cost = estimate_cost(SVC(approximate=Nystroem(n_components=100)), X)
    assert "100 features" in cost.sentence
    assert cost.bytes < 0.1 * 8 * 20_000**2


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(
    "model", [SVC(approximate="nystroem"), pytest.param(SVR(approximate="nystroem"), marks=pytest.mark.slow)]
)
def test_follows_the_conventions_of_scikit_learn(model: Any) -> None:
    reason = "probabilities come from leaving rows out, and the scale of gamma from all rows alike"
    failing = {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    check_estimator(model, expected_failed_checks=failing, on_skip=None)
    assert clone(model.set_params(approximate=ALL)).approximate.n_components == 150
