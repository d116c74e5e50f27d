"""Kernel ridge regression: scikit-learn's numbers, many rows, and what is singular, extreme or rejected."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import LinAlgWarning
from sklearn import kernel_ridge as theirs
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import KernelRidge, Ridge, kernels
from mercer._errors import (
    AsymmetricKernelError,
    DataError,
    FitInterrupted,
    KernelError,
    MercerError,
    NonFiniteError,
    NotPositiveDefiniteError,
    PenaltyError,
    TooLargeError,
)
from mercer.optim.span import steps
from tests._ctrl_c import interrupted_at
from tests.kernel_ridge._kernel_models import draw

# A drop-in.


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"kernel": "rbf"},
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "poly", "degree": 2, "coef0": 0.5},
        {"kernel": "polynomial", "coef0": -1, "alpha": 30},
        {"kernel": "poly", "degree": 2.5},
        {"kernel": "sigmoid", "gamma": 0.01},
        {"kernel": "laplacian"},
        {"kernel": "cosine"},
        {"kernel": "chi2", "gamma": 0.2},
        {"kernel": "additive_chi2", "alpha": 100.0},
        {"kernel": lambda x, z: np.exp(-np.abs(x - z).max())},
        {"kernel": lambda x, z, power: (1 + x @ z) ** power, "kernel_params": {"power": 2}},
    ],
    ids=lambda params: getattr(params.get("kernel", ""), "__name__", str(params.get("kernel", ""))),
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [None, 2])
def test_coefficients_and_predictions_agree_with_scikit_learn(
    params: dict[str, Any], weighted: bool, targets: int | None
) -> None:
    X, y = draw(targets=targets)
    weight = np.random.default_rng(1).uniform(0.2, 2, len(X)) if weighted else None
    ours, known = (cls(**params).fit(X, y, weight) for cls in (KernelRidge, theirs.KernelRidge))
    assert_allclose(ours.dual_coef_, known.dual_coef_, rtol=1e-9, atol=1e-10)
    assert_allclose(ours.predict(X[:7]), known.predict(X[:7]), rtol=1e-10, atol=1e-10)
    assert_allclose(ours.X_fit_, known.X_fit_)
    assert ours.certificate_.holds
    assert ours.certificate_.value < 1e-10


def test_a_penalty_for_each_target() -> None:
    X, Y = draw(targets=3)
    alpha = [0.1, 2.0, 0.1]
    ours, known = (cls(alpha, kernel="rbf").fit(X, Y) for cls in (KernelRidge, theirs.KernelRidge))
    assert_allclose(ours.dual_coef_, known.dual_coef_, rtol=1e-10)
    assert_allclose(ours.alpha_, alpha)


@pytest.mark.parametrize("wrap", [sparse.csr_array, sparse.csc_matrix, np.asfortranarray, pd.DataFrame])
def test_the_container_of_the_rows_does_not_matter(wrap: Any) -> None:
    X, y = draw()
    expected = KernelRidge(kernel="rbf").fit(X, y).predict(X)
    assert_allclose(KernelRidge(kernel="rbf").fit(wrap(X), y).predict(wrap(X)), expected, rtol=1e-10)


def test_read_only_rows_are_accepted() -> None:
    X, y = draw()
    K = X @ X.T
    for given in (X, y, K):
        given.flags.writeable = False
    KernelRidge(kernel="rbf").fit(X, y)
    KernelRidge(kernel="precomputed").fit(K, y)


def test_single_precision_rows() -> None:
    X, y = draw()
    narrow = KernelRidge(kernel="rbf").fit(X.astype(np.float32), y)
    assert narrow.X_fit_.dtype == np.float32
    assert_allclose(narrow.predict(X), KernelRidge(kernel="rbf").fit(X, y).predict(X), rtol=1e-5)


def test_a_matrix_in_place_of_rows() -> None:
    X, y = draw()
    kernel = kernels.RBF(gamma=0.4)
    by_rows, by_matrix = KernelRidge(kernel=kernel).fit(X, y), KernelRidge(kernel="precomputed").fit(kernel(X), y)
    assert_allclose(by_matrix.dual_coef_, by_rows.dual_coef_, rtol=1e-12)
    assert_allclose(by_matrix.predict(kernel(X[:3], X)), by_rows.predict(X[:3]), rtol=1e-12)


def test_weights_are_equivalent_to_repetitions_and_weight_zero_removes_a_row() -> None:
    X, y = draw(12)
    count = np.array([0, 1, 2, 3] * 3)
    weighted = KernelRidge(kernel="rbf", alpha=0.3).fit(X, y, count)
    repeated = KernelRidge(kernel="rbf", alpha=0.3).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-10)
    assert (weighted.dual_coef_[count == 0] == 0).all()


def test_a_linear_kernel_is_ridge_regression_without_intercept() -> None:
    X, y = draw()
    assert_allclose(KernelRidge(2.0).fit(X, y).predict(X), Ridge(2.0, fit_intercept=False).fit(X, y).predict(X))


def test_the_coefficients_are_residuals_over_alpha() -> None:
    """α* = (y − f)/λ (lecture 1)."""
    X, y = draw()
    model = KernelRidge(0.7, kernel="rbf").fit(X, y)
    assert_allclose(model.dual_coef_, (y - model.predict(X)) / 0.7, rtol=1e-9)


def test_a_kernel_is_searched_over() -> None:
    X, y = draw()
    search = GridSearchCV(KernelRidge(kernel=kernels.RBF(gamma=1)), {"kernel__gamma": [1e-3, 1.0]}).fit(X, y)
    assert search.best_estimator_.kernel_.gamma == search.best_params_["kernel__gamma"]
    assert clone(search.best_estimator_).kernel == search.best_estimator_.kernel


def test_texts_with_a_kernel_for_texts() -> None:
    texts = ["abab", "abba", "cdcd", "cddc"]
    model = KernelRidge(1e-3, kernel=kernels.Spectrum(2)).fit(texts, [0.0, 0.0, 1.0, 1.0])
    assert model.X_fit_ == texts
    assert_allclose(model.predict(["ababab", "cdcdcd"]) > 0.5, [0.0, 1.0])


# Singular, extreme and small.


def test_a_singular_matrix_without_penalty_is_solved_by_least_squares() -> None:
    X, _ = draw(30, 3)
    y = X @ [1.0, -2.0, 3.0]
    model = KernelRidge(0.0)
    with pytest.warns(UserWarning, match="Singular matrix in solving dual problem. Using least-squares"):
        model.fit(X, y)
    assert_allclose(model.predict(X), y, rtol=1e-8)
    assert model.certificate_.holds


def test_least_squares_leave_the_unexplained_residual() -> None:
    X, y = draw(30, 3)
    with pytest.warns(UserWarning, match="least-squares"):
        model = KernelRidge(0.0).fit(X, y)
    assert_allclose(model.predict(X), X @ np.linalg.lstsq(X, y)[0], rtol=1e-8)
    assert model.certificate_.holds
    assert "least squares" in model.certificate_.sentence


def test_an_indefinite_kernel_is_solved() -> None:
    X, y = draw()
    with pytest.warns(UserWarning, match="eigenvalues of 0 or less"):
        model = KernelRidge(1e-3, kernel=kernels.Sigmoid(gamma=-1.0, constant=1.0)).fit(X, y)
    K = np.tanh(-X @ X.T + 1)
    assert_allclose((K + 1e-3 * np.eye(len(X))) @ model.dual_coef_, y, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-150, 1e150, 1e200])
def test_the_unit_of_y_does_not_matter(unit: float) -> None:
    X, y = draw()
    for params in ({}, {"alpha": "loo"}):
        assert_allclose(
            KernelRidge(kernel="rbf", **params).fit(X, unit * y).dual_coef_ / unit,
            KernelRidge(kernel="rbf", **params).fit(X, y).dual_coef_,
            rtol=1e-9,
        )


def test_rows_far_from_the_origin() -> None:
    X, y = draw()
    X = np.round(X, 3) + 0.0
    far = KernelRidge(kernel="rbf", gamma=0.5).fit(X + 1e8, y)
    near = KernelRidge(kernel="rbf", gamma=0.5).fit((X + 1e8) - 1e8, y)
    assert_allclose(far.dual_coef_, near.dual_coef_, rtol=1e-9)


def test_an_ill_conditioned_matrix_gives_a_warning() -> None:
    X, y = draw()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KernelRidge(1.0).fit(X + 1e8, y)
    assert model.certificate_.holds or ({w.category for w in caught} <= {LinAlgWarning, UserWarning} and caught)


def test_one_row_and_a_constant_target() -> None:
    assert_allclose(KernelRidge(1.0, kernel="rbf").fit([[3.0]], [4.0]).dual_coef_, [2.0])
    assert (KernelRidge(kernel="rbf").fit([[1.0], [2.0]], [0.0, 0.0]).predict([[1.0]]) == 0).all()


# Many rows.


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_are_solved_by_steps_with_half_of_the_matrix(weighted: bool) -> None:
    X, Y = draw(2100, 3, targets=2)
    weight = np.random.default_rng(1).integers(0, 3, len(X)) + 0.5 if weighted else None
    model = KernelRidge([1.0, 5.0], kernel="rbf").fit(X, Y, weight)
    assert "conjugate gradients" in model.plan_.path
    assert "float32" in model.plan_.path
    assert model.certificate_.holds
    known = theirs.KernelRidge([1.0, 5.0], kernel="rbf").fit(X, Y, weight)
    assert_allclose(model.dual_coef_, known.dual_coef_, atol=1e-7 * np.abs(Y).max())


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_many_rows_with_few_features_need_no_matrix(wrap: Any) -> None:
    X, Y = draw(2100, 3, targets=2)
    model = KernelRidge(kernel="poly", degree=2).fit(wrap(X), Y)
    assert "10 features" in model.plan_.path
    known = theirs.KernelRidge(kernel="poly", degree=2).fit(X, Y)
    assert_allclose(model.dual_coef_, known.dual_coef_, rtol=1e-9, atol=1e-10)


def test_a_penalty_too_small_for_steps_is_solved_by_cholesky() -> None:
    X, y = draw(2100, 10)
    model = KernelRidge(1e-5, kernel="rbf", gamma=2.0).fit(X, y)
    assert "Cholesky" in model.plan_.path
    assert model.certificate_.holds


def test_ctrl_c_keeps_the_best_coefficients_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = draw(2100, 3)
    triangle = steps.KeptTriangle
    monkeypatch.setattr(triangle, "matvec", interrupted_at(4, triangle.matvec))
    model = KernelRidge(kernel="rbf")
    with pytest.raises(FitInterrupted):
        model.fit(X, y)
    assert not model.certificate_.holds
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.5


# Bad input.


def test_more_rows_than_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 10_000)
    X, y = draw(60)
    for params in ({}, {"alpha": "loo"}):
        with pytest.raises(TooLargeError, match=r"60 rows needs .* GB of memory, but 1e-05 GB are left; .*Nystr"):
            KernelRidge(kernel="rbf", **params).fit(X, y)


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [
        ({"alpha": [1.0, 2.0]}, DataError, "Number of targets and number of penalties do not correspond"),
        ({"alpha": [-1.0]}, PenaltyError, "alpha must not be negative"),
        ({"kernel": lambda x, z: x}, KernelError, "number"),
        ({"kernel": lambda x, z: float(x[0])}, AsymmetricKernelError, "rows"),
        ({"kernel": lambda x, z: np.nan}, MercerError, "nan"),
        ({"kernel": "linear", "gamma": [1.0, 2.0]}, KernelError, "no gamma"),
        ({"kernel": "rbf", "gamma": [[1.0]]}, DataError, "gamma must be"),
        ({"kernel": "rbf", "gamma": [-1.0]}, DataError, "none negative"),
        ({"kernel": "rbf", "gamma": ["wide"]}, DataError, "gamma must be"),
        ({"alpha": "loo", "kernel": kernels.Sigmoid(gamma=-1.0)}, NotPositiveDefiniteError, "eigenvalue"),
        ({"kernel": "poly", "degree": 900, "gamma": 50.0}, MercerError, "float64"),
    ],
)
def test_unsupported_options_are_explained(params: dict[str, Any], error: type[Exception], match: str) -> None:
    X, y = draw()
    with pytest.raises(error, match=match):
        KernelRidge(**params).fit(X, y)


@pytest.mark.parametrize("params", [{"alpha": -1.0}, {"alpha": "best"}, {"kernel": "fbr"}, {"gamma": -1.0}])
def test_parameters_out_of_range_are_rejected_as_in_scikit_learn(params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"The .* parameter of KernelRidge must be"):
        KernelRidge(**params).fit([[1.0]], [1.0])


def test_invalid_kernel_matrices_are_rejected() -> None:
    X, y = draw(5)
    model = KernelRidge(kernel="precomputed")
    with pytest.raises(DataError, match="square"):
        model.fit(X, y)
    with pytest.raises(AsymmetricKernelError, match="rows 1 and 2"):
        model.fit(np.eye(5) + np.outer(np.arange(5) == 2, np.arange(5) == 1), y)
    with pytest.raises(NonFiniteError):
        model.fit(np.full((5, 5), np.nan), y)
    with pytest.raises(KernelError, match="precomputed matrix has no gamma"):
        KernelRidge(kernel="precomputed", gamma="loo").fit(np.eye(5), y)


def test_values_that_are_not_finite_are_rejected() -> None:
    X, y = draw(5)
    X[1, 2] = np.nan
    with pytest.raises(NonFiniteError, match=r"Input X contains NaN. Column 'x2'"):
        KernelRidge(kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match="could not convert"):
        KernelRidge().fit([["a", "b"]], [1.0])
    with pytest.raises(DataError, match="are not numbers"):
        KernelRidge(kernel=kernels.Spectrum(2)).fit(["ab"], ["cd"])
    with pytest.raises(NonFiniteError, match="row 1"):
        KernelRidge(kernel=kernels.Spectrum(2)).fit(["ab", "cd"], [1.0, np.inf])
    with pytest.raises(DataError, match="requires y"):
        KernelRidge().fit([[1.0]], None)
    with pytest.raises(DataError, match="at least one non-zero"):
        KernelRidge().fit([[1.0]], [1.0], [0.0])
    with pytest.raises(DataError, match="minimum of 2"):
        KernelRidge("loo").fit([[1.0]], [1.0])


def test_a_failed_fit_leaves_the_old_model() -> None:
    X, y = draw()
    model = KernelRidge(kernel="rbf").fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X * np.nan, y)
    assert_allclose(model.predict(X), before)
