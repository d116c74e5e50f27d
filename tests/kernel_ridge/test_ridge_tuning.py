"""The penalty and the width of kernel ridge regression: what leaving rows out chooses is what refits would choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from mercer import KernelRidge, kernels
from mercer._errors import PenaltyError
from tests.kernel_ridge._kernel_models import Array, draw


def left_out(model: KernelRidge, X: Any, Y: Array, weight: Array | None) -> Array:
    """Return leave-one-out errors by refitting."""
    predictions = np.empty_like(Y)
    for i in range(len(Y)):
        rest = np.arange(len(Y)) != i
        if model.kernel == "precomputed":
            fitted = clone(model).fit(X[np.ix_(rest, rest)], Y[rest], None if weight is None else weight[rest])
            predictions[i] = fitted.predict(X[[i]][:, rest])[0]
        else:
            fitted = clone(model).fit(X[rest], Y[rest], None if weight is None else weight[rest])
            predictions[i] = fitted.predict(X[[i]])[0]
    return predictions


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [None, 2])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_leave_one_out_errors_agree_with_refits(kernel: str, targets: int | None, weighted: bool) -> None:
    X, Y = draw(20, targets=targets)
    X = kernels.RBF()(X) if kernel == "precomputed" else X
    weight = np.random.default_rng(1).integers(0, 3, len(X)) + 0.0 if weighted else None
    model = KernelRidge("loo", kernel=kernel).fit(X, Y, weight)
    refitted = left_out(KernelRidge(model.alpha_, kernel=kernel), X, Y, weight)
    assert_allclose(model.loo_predictions_, refitted, atol=1e-8)
    squares = (Y - refitted) ** 2 if weight is None else weight.reshape(-1, *[1] * (Y.ndim - 1)) * (Y - refitted) ** 2
    n_weighted = len(X) if weight is None else np.count_nonzero(weight)
    per_target = squares.reshape(len(X), -1).sum(axis=0) / n_weighted
    assert_allclose(model.alpha_errors_.min(), per_target.mean(), rtol=1e-8)


def test_the_whole_curve_agrees_with_refits() -> None:
    X, y = draw(15)
    model = KernelRidge("loo", kernel="laplacian").fit(X, y)
    for alpha, error in list(zip(model.alphas_, model.alpha_errors_, strict=True))[::6]:
        refitted = left_out(KernelRidge(alpha, kernel="laplacian"), X, y, None)
        assert_allclose(error, np.mean((y - refitted) ** 2), rtol=1e-7)
    assert model.alpha_ == model.alphas_[np.argmin(model.alpha_errors_)]
    assert_allclose(model.dual_coef_, KernelRidge(model.alpha_, kernel="laplacian").fit(X, y).dual_coef_, rtol=1e-8)


def test_the_order_of_rows_does_not_affect_the_penalty() -> None:
    """One row is not 0: of it the others know nothing, and whatever the penalty they predict 0."""
    X, y, weight = np.zeros((20, 1)), np.random.default_rng(2).normal(size=20), np.repeat([1.0, 0.0], 10)
    X[[4, 12]] = [[0.04], [0.4]]
    orders = [np.random.default_rng(seed).permutation(20) for seed in range(20)]
    models = [KernelRidge("loo").fit(X[order], y[order], weight[order]) for order in orders]
    assert {model.alpha_ for model in models} == {models[0].alphas_[-1]}
    for model in models[1:]:
        assert_allclose(model.predict(X), models[0].predict(X), rtol=1e-10)


def test_a_width_cannot_be_chosen_without_a_penalty() -> None:
    X, Y = draw(15, targets=2)
    for alpha in (0, [0.1, 0.0]):
        with pytest.raises(PenaltyError, match=r"alpha is 0. Give a small one"):
            KernelRidge(alpha, kernel="rbf", gamma=[0.1, 1.0]).fit(X, Y)


def test_generalised_cross_validation_averages_the_leverage() -> None:
    X, y = draw(15)
    model = KernelRidge("gcv", kernel="rbf").fit(X, y)
    K = kernels.RBF()(X)
    for alpha, error in list(zip(model.alphas_, model.alpha_errors_, strict=True))[::5]:
        hat = K @ np.linalg.inv(K + alpha * np.eye(15))
        assert_allclose(error, np.mean((y - hat @ y) ** 2) / (1 - np.trace(hat) / 15) ** 2, rtol=1e-6)


@pytest.mark.parametrize("alpha", ["loo", "gcv", 0.1])
def test_the_width_is_chosen_too(alpha: Any) -> None:
    X, y = draw(60, 2)
    model = KernelRidge(alpha, kernel="rbf", gamma=[1e-3, 0.5, 300.0]).fit(X, y)
    alone = [KernelRidge(alpha, kernel="rbf", gamma=gamma).fit(X, y) for gamma in model.gammas_]
    assert model.gamma_ == 0.5
    assert model.kernel_ == kernels.RBF(gamma=0.5)
    assert_allclose(model.dual_coef_, alone[1].dual_coef_, rtol=1e-9)
    if alpha != 0.1:
        assert_allclose(model.gamma_errors_, [one.alpha_errors_.min() for one in alone], rtol=1e-9)
    else:
        refitted = left_out(KernelRidge(alpha, kernel="rbf", gamma=0.5), X, y, None)
        assert_allclose(model.gamma_errors_[1], np.mean((y - refitted) ** 2), rtol=1e-8)


def test_widths_around_the_median_distance_and_of_a_kernel_object() -> None:
    X, y = draw(60, 2)
    by_name = KernelRidge("loo", kernel="rbf", gamma="loo").fit(X, y)
    by_object = KernelRidge("loo", kernel=kernels.RBF(sigma=3), gamma="loo").fit(X, y)
    assert len(by_name.gammas_) == 7
    assert by_name.gammas_[3] == KernelRidge(kernel="rbf", gamma="median").fit(X, y).kernel_.gamma
    assert by_object.gamma_ == by_name.gamma_


@pytest.mark.parametrize("seed", [0, 2])
def test_many_rows_with_features_are_tuned(seed: int) -> None:
    """A step from an objective in float32 to one in float64 was halved, and its value taken from both."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20_000, 3))
    y = np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=len(X))
    model = KernelRidge("loo", kernel="rbf", gamma="median", approximate="nystroem").fit(X, y)
    assert model.certificate_.holds
    assert model.certificate_.value < 1e-6
