"""Local means and lines: what they are by definition, and without a row of their own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import sqrtm

from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.kernels import KERNELS, smoothing_kernel_from
from mercer.smoothing.mixed import Rows
from mercer.smoothing.regression import LocalFit, LocalLines, LocalMeans, answers, answers_left_out, left_out_error

Array = np.ndarray
BANDWIDTHS = [0.8, [0.6, 1.1], [[0.7, 0.2], [0.2, 0.9]]]


def draw(n: int = 30, d: int = 2, outputs: int = 2, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(X @ rng.normal(size=(d, outputs))) + 0.1 * rng.normal(size=(n, outputs))
    return X, Y, rng.uniform(0.5, 2.0, n)


def fit(kind: type[LocalFit], kernel: str, bandwidth: object, X: Array, Y: Array, weight: Array) -> LocalFit:
    return kind(smoothing_kernel_from(kernel), Bandwidth(bandwidth), Rows(X), Y, weight)


def heights(kernel: str, bandwidth: object, x: Array, X: Array) -> Array:
    """K of the differences, from the definition of each form of a bandwidth."""
    h = np.asarray(bandwidth)
    u = (X - x) @ np.linalg.inv(sqrtm(h)) if h.ndim == 2 else (X - x) / h
    return smoothing_kernel_from(kernel).profile(np.linalg.norm(u, axis=1))


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize("bandwidth", BANDWIDTHS, ids=["number", "vector", "matrix"])
def test_a_local_mean_is_the_ratio_of_two_sums(kernel: str, bandwidth: object) -> None:
    X, Y, weight = draw()
    queries = draw(10, seed=1)[0]
    found = fit(LocalMeans, kernel, bandwidth, X, Y, weight).at(Rows(queries))
    for x, y in zip(queries, found, strict=True):
        k = weight * heights(kernel, bandwidth, x, X)
        assert_allclose(y, k @ Y / k.sum() if k.any() else np.nan, atol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "triweight"])
@pytest.mark.parametrize("bandwidth", [2.0, [2.5, 1.5], [[3.0, 0.5], [0.5, 4.0]]], ids=["number", "vector", "matrix"])
def test_a_local_line_is_weighted_least_squares(kernel: str, bandwidth: object) -> None:
    X, Y, weight = draw()
    queries = draw(10, seed=1)[0]
    lines = fit(LocalLines, kernel, bandwidth, X, Y, weight)
    assert isinstance(lines, LocalLines)
    found, slopes = lines.at(Rows(queries)), lines.slopes(Rows(queries))
    for i, x in enumerate(queries):
        root = np.sqrt(weight * heights(kernel, bandwidth, x, X))[:, None]
        design = np.column_stack([np.ones(len(X)), X - x])
        expected = np.linalg.lstsq(root * design, root * Y, rcond=None)[0]
        assert_allclose(found[i], expected[0], atol=1e-9)
        assert_allclose(slopes[i], expected[1:].T, atol=1e-9)


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "uniform"])
@pytest.mark.parametrize("out_of_reach", ["nearest", "mean", "nan"])
def test_leaving_out_is_a_fit_without_the_row(kind: type[LocalFit], kernel: str, out_of_reach: str) -> None:
    X, Y, weight = draw()
    found = answers_left_out(fit(kind, kernel, 0.5, X, Y, weight), out_of_reach)
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        without = fit(kind, kernel, 0.5, X[others], Y[others], weight[others])
        assert_allclose(found[i], answers(without, Rows(X[[i]]), out_of_reach)[0], atol=1e-10)
    if kernel != "gaussian":
        assert np.isnan(found).any() == (out_of_reach == "nan")


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
def test_leaving_out_is_a_division_by_one_minus_the_own_weight(kind: type[LocalFit]) -> None:
    X, Y, weight = draw()
    local = fit(kind, "gaussian", 0.7, X, Y, weight)
    own = np.diag(local.weights(Rows(X)))[:, None]
    assert_allclose(Y - local.left_out(), (Y - local.at(Rows(X))) / (1 - own), atol=1e-10)


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
@pytest.mark.parametrize("sensitivity", [0.0, 0.5])
def test_weights_are_those_of_the_answer_and_sum_to_one(kind: type[LocalFit], sensitivity: float) -> None:
    X, Y, weight = draw()
    local = kind(smoothing_kernel_from("gaussian"), Bandwidth(0.7, sensitivity=sensitivity), Rows(X), Y, weight)
    queries = Rows(draw(10, seed=1)[0])
    weights = local.weights(queries)
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-13)
    assert_allclose(weights @ Y, local.at(queries), atol=1e-11)


def test_wider_kernels_of_lonely_points_change_the_weights() -> None:
    X, Y, weight = draw()
    plain, adaptive = (
        LocalMeans(smoothing_kernel_from("gaussian"), Bandwidth(0.7, sensitivity=s), Rows(X), Y, weight)
        for s in (0.0, 0.5)
    )
    assert np.abs(plain.at(Rows(X)) - adaptive.at(Rows(X))).max() > 1e-3


def test_the_error_is_a_mean_of_squares_in_units_of_each_output() -> None:
    X, Y, weight = draw()
    local = fit(LocalMeans, "gaussian", 0.7, X, Y, weight)
    units = np.array([2.0, 0.5])
    squares = ((Y - local.left_out()) ** 2 / units**2).sum(axis=1)
    assert_allclose(left_out_error(local, Y, units, "nearest"), weight @ squares / weight.sum())


def test_a_row_without_answer_is_charged_the_error_of_the_mean_of_others() -> None:
    X, Y = np.array([[0.0], [0.1], [9.0]]), np.array([[1.0], [1.0], [4.0]])
    local = fit(LocalMeans, "uniform", 1.0, X, Y, np.ones(3))
    assert_allclose(left_out_error(local, Y, np.ones(1), "nan"), (4.0 - 1.0) ** 2 / 3)


def test_a_single_point_in_reach_is_the_answer_of_a_line() -> None:
    X, Y = np.array([[0.0, 0.0], [10.0, 0.0]]), np.array([[3.0], [5.0]])
    lines = fit(LocalLines, "epanechnikov", 1.0, X, Y, np.ones(2))
    assert isinstance(lines, LocalLines)
    assert_allclose(lines.at(Rows(np.array([[0.3, 0.4]]))), [[3.0]])
    assert_allclose(lines.slopes(Rows(np.array([[0.3, 0.4]]))), [[[0.0, 0.0]]])


def test_a_line_has_no_slope_across_points_on_a_line() -> None:
    """Two of three coefficients are determined; the third is that of least norm."""
    t = np.linspace(-1, 1, 9)
    X, Y = np.column_stack([t, np.zeros(9)]), (2 * t + 1)[:, None]
    lines = fit(LocalLines, "gaussian", 1.0, X, Y, np.ones(9))
    assert isinstance(lines, LocalLines)
    query = Rows(np.array([[0.5, 0.7]]))
    assert_allclose(lines.slopes(query), [[[2.0, 0.0]]], atol=1e-10)
    assert_allclose(lines.at(query), [[2.0]], atol=1e-10)
