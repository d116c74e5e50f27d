"""Local means and lines: what they are by definition, and without a row of their own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.density import Bandwidth, smoothing_kernel_from
from mercer.density._kernels import SMOOTHING_KERNELS
from mercer.density._mixed import MixedRows
from mercer.density._regression import (
    LocalFit,
    LocalLines,
    LocalMeans,
    compute_left_out_error,
    evaluate,
    evaluate_left_out,
)
from tests.density._local_fits import draw, fit, heights
from tests.density._widths import FEW

BANDWIDTHS = [0.8, [0.6, 1.1], [[0.7, 0.2], [0.2, 0.9]]]


@pytest.mark.parametrize("kernel", sorted(SMOOTHING_KERNELS))
@pytest.mark.parametrize("bandwidth", BANDWIDTHS, ids=["number", "vector", "matrix"])
def test_a_local_mean_is_the_ratio_of_two_sums(kernel: str, bandwidth: object) -> None:
    X, Y, weight = draw()
    queries = draw(10, seed=1)[0]
    found = fit(LocalMeans, kernel, bandwidth, X, Y, weight).at(MixedRows(queries))
    for x, y in zip(queries, found, strict=True):
        k = weight * heights(kernel, bandwidth, x, X)
        assert_allclose(y, k @ Y / k.sum() if k.any() else np.nan, atol=1e-12)


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "uniform"])
@pytest.mark.parametrize("out_of_reach", ["nearest", "mean", "nan"])
def test_leave_one_out_agrees_with_a_fit_without_the_row(kind: type[LocalFit], kernel: str, out_of_reach: str) -> None:
    X, Y, weight = draw()
    found = evaluate_left_out(fit(kind, kernel, 0.5, X, Y, weight), out_of_reach)
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        without = fit(kind, kernel, 0.5, X[others], Y[others], weight[others])
        assert_allclose(found[i], evaluate(without, MixedRows(X[[i]]), out_of_reach)[0], atol=1e-10)
    some = np.array([7, 3, 20])
    assert_allclose(
        evaluate_left_out(fit(kind, kernel, 0.5, X, Y, weight), out_of_reach, some), found[some], atol=1e-12
    )
    if kernel != "gaussian":
        assert np.isnan(found).any() == (out_of_reach == "nan")


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
def test_leave_one_out_residuals_divide_by_one_minus_the_own_weight(kind: type[LocalFit]) -> None:
    X, Y, weight = draw()
    local = fit(kind, "gaussian", 0.7, X, Y, weight)
    own = np.diag(local.weights(MixedRows(X)))[:, None]
    assert_allclose(Y - local.left_out(np.arange(30)), (Y - local.at(MixedRows(X))) / (1 - own), atol=1e-10)


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
@pytest.mark.parametrize("sensitivity", [0.0, 0.5])
def test_weights_give_the_prediction_and_sum_to_one(kind: type[LocalFit], sensitivity: float) -> None:
    X, Y, weight = draw()
    local = kind(smoothing_kernel_from("gaussian"), Bandwidth(0.7, sensitivity=sensitivity), MixedRows(X), Y, weight)
    queries = MixedRows(draw(10, seed=1)[0])
    weights = local.weights(queries)
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-13)
    assert_allclose(weights @ Y, local.at(queries), atol=1e-11)


def every_kernel_in_every_way() -> Iterator[Any]:
    """Each is a loop to compile: in `make test`, all kernels in one way, and two, endless and compact, in every way."""
    for kernel, form, sensitivity in product(sorted(SMOOTHING_KERNELS), ("radial", "product"), (0.0, 0.5)):
        usual = (form, sensitivity) == ("radial", 0.0) or kernel in FEW
        yield pytest.param(kernel, form, sensitivity, marks=() if usual else pytest.mark.slow)


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
@pytest.mark.parametrize(("kernel", "form", "sensitivity"), every_kernel_in_every_way())
def test_variances_are_sums_of_squared_weights_times_local_noise(
    kind: type[LocalFit], kernel: str, form: str, sensitivity: float
) -> None:
    """Near, where kernels are squared, and far, where weights are."""
    X, Y, weight = draw()
    noise, K = np.square(Y), SMOOTHING_KERNELS[kernel](form)
    queries = MixedRows(np.vstack([draw(10, seed=1)[0], [[30.0, 40.0], [1e5, -1e5]]]))
    bandwidth = Bandwidth([1.2, 0.9], sensitivity=sensitivity)
    local = kind(K, bandwidth, MixedRows(X), Y, weight)
    means = LocalMeans(K, bandwidth, MixedRows(X), noise, weight)
    expected = np.square(local.weights(queries)).sum(axis=1)[:, None] * means.at(queries)
    assert_allclose(local.variances(queries, noise), expected, rtol=1e-7)
    assert np.isnan(expected[-1, 0]) == (kernel not in ("gaussian", "exponential"))


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
@pytest.mark.parametrize("n", [30, 600], ids=["pair by pair", "cell by cell"])
def test_variances_with_categories(kind: type[LocalFit], n: int) -> None:
    X, Y, weight = draw(n)
    levels = np.array([3, 2])
    codes = np.random.default_rng(5).integers(0, levels, size=(n, 2))
    K, rows, mismatch = smoothing_kernel_from("gaussian"), MixedRows(X, codes), np.array([0.2, 0.1])
    local = kind(K, Bandwidth(0.9), rows, Y, weight, mismatch=mismatch, levels=levels)
    means = LocalMeans(K, Bandwidth(0.9), rows, Y**2, weight, mismatch=mismatch, levels=levels)
    expected = np.square(local.weights(rows)).sum(axis=1)[:, None] * means.at(rows)
    assert_allclose(local.variances(rows, Y**2), expected, rtol=1e-9)


def test_the_variance_of_rows_with_tiny_weights() -> None:
    X, Y = np.array([[0.0], [0.1], [9.0]]), np.array([[1.0], [2.0], [4.0]])
    local = fit(LocalMeans, "epanechnikov", 1.0, X, Y, np.array([1e-170, 1e-170, 1.0]))
    assert_allclose(local.variances(MixedRows(np.array([[0.05]])), np.ones((3, 1))), [[0.5]])


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
@pytest.mark.parametrize("codes", [False, True])
def test_a_nearest_row_exists_at_any_distance(kind: type[LocalFit], codes: bool) -> None:
    X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[3.0], [4.0], [5.0]])
    own, query_codes = (np.zeros((3, 1), int), np.zeros((2, 1), int)) if codes else (None, None)
    given = {"mismatch": np.zeros(1), "levels": np.ones(1)} if codes else {}
    queries = MixedRows(np.array([[1e200], [-1e10]]), query_codes)
    for kernel in ("gaussian", "uniform"):
        local = kind(smoothing_kernel_from(kernel), Bandwidth(0.5), MixedRows(X, own), Y, np.ones(3), **given)
        found = evaluate(local, queries, "nearest")
        assert found[0, 0] == 5.0
        assert found[1, 0] == 3.0


def test_wider_kernels_of_isolated_points_change_the_weights() -> None:
    X, Y, weight = draw()
    plain, adaptive = (
        LocalMeans(smoothing_kernel_from("gaussian"), Bandwidth(0.7, sensitivity=s), MixedRows(X), Y, weight)
        for s in (0.0, 0.5)
    )
    assert np.abs(plain.at(MixedRows(X)) - adaptive.at(MixedRows(X))).max() > 1e-3


def test_the_error_is_a_mean_of_squares_in_units_of_each_output() -> None:
    X, Y, weight = draw()
    local = fit(LocalMeans, "gaussian", 0.7, X, Y, weight)
    units = np.array([2.0, 0.5])
    squares = ((Y - local.left_out(np.arange(30))) ** 2 / units**2).sum(axis=1)
    assert_allclose(compute_left_out_error(local, units, "nearest"), weight @ squares / weight.sum())


def test_a_row_without_prediction_counts_with_the_error_of_the_mean_of_the_others() -> None:
    X, Y = np.array([[0.0], [0.1], [9.0]]), np.array([[1.0], [1.0], [4.0]])
    local = fit(LocalMeans, "uniform", 1.0, X, Y, np.ones(3))
    assert_allclose(compute_left_out_error(local, np.ones(1), "nan"), (4.0 - 1.0) ** 2 / 3)
