"""Local lines are weighted least squares; tests/density/test_regression.py has what they share with local means."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.density._mixed import MixedRows
from mercer.density._regression import LocalLines
from tests.density._local_fits import draw, fit, heights


@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "triweight"])
@pytest.mark.parametrize("bandwidth", [2.0, [2.5, 1.5], [[3.0, 0.5], [0.5, 4.0]]], ids=["number", "vector", "matrix"])
def test_a_local_line_is_weighted_least_squares(kernel: str, bandwidth: object) -> None:
    X, Y, weight = draw()
    queries = draw(10, seed=1)[0]
    lines = fit(LocalLines, kernel, bandwidth, X, Y, weight)
    found, slopes = lines.at(MixedRows(queries)), lines.slopes(MixedRows(queries))
    for i, x in enumerate(queries):
        root = np.sqrt(weight * heights(kernel, bandwidth, x, X))[:, None]
        design = np.column_stack([np.ones(len(X)), X - x])
        expected = np.linalg.lstsq(root * design, root * Y, rcond=None)[0]
        assert_allclose(found[i], expected[0], atol=1e-9)
        assert_allclose(slopes[i], expected[1:].T, atol=1e-9)


def test_with_a_single_point_in_reach_a_line_predicts_its_value() -> None:
    X, Y = np.array([[0.0, 0.0], [10.0, 0.0]]), np.array([[3.0], [5.0]])
    lines = fit(LocalLines, "epanechnikov", 1.0, X, Y, np.ones(2))
    assert_allclose(lines.at(MixedRows(np.array([[0.3, 0.4]]))), [[3.0]])
    assert_allclose(lines.slopes(MixedRows(np.array([[0.3, 0.4]]))), [[[0.0, 0.0]]])


def test_a_line_has_no_slope_perpendicular_to_collinear_points() -> None:
    """Two of three coefficients are determined; the third is that of least norm."""
    t = np.linspace(-1, 1, 9)
    X, Y = np.column_stack([t, np.zeros(9)]), (2 * t + 1)[:, None]
    lines = fit(LocalLines, "gaussian", 1.0, X, Y, np.ones(9))
    query = MixedRows(np.array([[0.5, 0.7]]))
    assert_allclose(lines.slopes(query), [[[2.0, 0.0]]], atol=1e-10)
    assert_allclose(lines.at(query), [[2.0]], atol=1e-10)


def test_a_bandwidth_beyond_all_distances_gives_ordinary_least_squares() -> None:
    """In units of the bandwidth squares are 1e-306, and the inverse of a covariance that is nearly flat no float."""
    rng = np.random.default_rng(0)
    t = rng.normal(size=20)
    X = np.column_stack([t, t + 1e-4 * rng.normal(size=20)])
    Y = X @ [[1.0], [2.0]] + 3.0
    lines = fit(LocalLines, "gaussian", 1e153, X, Y, np.ones(20))
    assert_allclose(lines.at(MixedRows(X)), Y, atol=1e-6)
    assert_allclose(lines.slopes(MixedRows(X)), np.tile([1.0, 2.0], (20, 1, 1)), rtol=1e-4)
    ones = np.column_stack([np.ones(20), X])
    hat = ones @ np.linalg.pinv(ones)
    assert_allclose(lines.weights(MixedRows(X)), hat, atol=1e-6)
    assert_allclose(lines.variances(MixedRows(X), np.ones((20, 1)))[:, 0], np.diag(hat), atol=1e-6)
