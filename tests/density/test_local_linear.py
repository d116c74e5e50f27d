"""Local linear regression: exact on lines, no bias at ends, slopes; what it shares is in test_regressor.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer import LocalLinear, NadarayaWatson
from mercer._errors import TooLargeError
from mercer.density import Bandwidth, Gaussian
from mercer.density._mixed import MixedRows
from mercer.density._regression import LocalLines

NUMBER = st.floats(-5, 5)


@given(slopes=st.tuples(NUMBER, NUMBER), height=NUMBER, width=st.floats(0.3, 1e4))
def test_a_plane_is_reproduced_at_any_bandwidth(slopes: tuple[float, float], height: float, width: float) -> None:
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(50, 2)), rng.normal(size=(10, 2))
    fitted = LocalLinear(bandwidth=width).fit(X, X @ slopes + height)
    assert_allclose(fitted.predict(queries), queries @ slopes + height, atol=1e-7)
    assert_allclose(fitted.coef(queries), np.broadcast_to(slopes, (10, 2)), atol=1e-6)


@pytest.mark.parametrize("kernel", ["epanechnikov", "triangular", "exponential"])
def test_a_plane_is_reproduced_by_any_kernel_and_beyond_the_data(kernel: str) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    fitted = LocalLinear(kernel, 0.9).fit(X, X @ [2.0, -1.0] + 3)
    outside = np.array([[1.2, 1.0], [-1.3, 0.5]])
    assert_allclose(fitted.predict(outside), outside @ [2.0, -1.0] + 3, atol=1e-9)


def test_the_widest_bandwidth_is_chosen_for_a_line() -> None:
    x = np.random.default_rng(0).uniform(0, 1, size=(40, 1))
    fitted = LocalLinear().fit(x, 3 * x[:, 0])
    assert fitted.bandwidth_.value > 10
    assert_allclose(fitted.predict([[5.0]]), [15.0])


def test_there_is_no_bias_at_the_ends() -> None:
    """The bias at an end is of order h for a mean and h² for a line: at half the width a half and a quarter."""
    x = np.linspace(0, 1, 4001)[:, None]
    y = np.exp(x[:, 0])
    end = np.array([[0.0]])

    def bias(model: type, h: float) -> float:
        return abs(float(model(bandwidth=h).fit(x, y).predict(end)[0]) - 1.0)

    assert_allclose(bias(NadarayaWatson, 0.05) / bias(NadarayaWatson, 0.1), 1 / 2, atol=0.05)
    assert_allclose(bias(LocalLinear, 0.05) / bias(LocalLinear, 0.1), 1 / 4, atol=0.05)
    assert bias(LocalLinear, 0.1) < bias(NadarayaWatson, 0.1) / 10


def test_slopes_are_in_units_of_the_columns() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 0] * X[:, 1]])
    scale = np.array([1000.0, 0.01])
    original = LocalLinear(bandwidth=[0.5, 0.8]).fit(X, Y)
    scaled = LocalLinear(bandwidth=[0.5, 0.8] * scale).fit(X * scale, Y)
    matrix = LocalLinear(bandwidth=np.diag([0.25, 0.64])).fit(X, Y)
    assert original.coef(X).shape == (60, 2, 2)
    assert_allclose(scaled.coef(X * scale), original.coef(X) / scale, rtol=1e-8)
    assert_allclose(matrix.coef(X), original.coef(X), rtol=1e-8)
    assert_allclose(original.coef(X)[:, 0], LocalLinear(bandwidth=[0.5, 0.8]).fit(X, Y[:, 0]).coef(X))
    assert original.coef(np.zeros((1, 2)))[0, 0, 0] == pytest.approx(1.0, abs=0.2)  # of sin at 0


def test_with_too_few_rows_in_reach_the_prediction_is_their_mean() -> None:
    X, y = np.array([[0.0, 0.0], [5.0, 5.0], [5.2, 5.0]]), np.array([1.0, 2.0, 4.0])
    fitted = LocalLinear("epanechnikov", 1.0).fit(X, y)
    assert_allclose(fitted.predict([[0.3, 0.3], [5.1, 5.0], [5.1, 5.3]]), [1.0, 3.0, 3.0], atol=1e-12)
    assert_allclose(fitted.coef([[0.3, 0.3], [5.1, 5.0]]), [[0.0, 0.0], [10.0, 0.0]], atol=1e-9)
    assert np.isnan(fitted.coef([[50.0, 50.0]])).all()


def test_a_constant_column_has_no_slope() -> None:
    x = np.linspace(0, 1, 20)
    fitted = LocalLinear(bandwidth=0.5).fit(np.column_stack([x, np.full(20, 7.0)]), 2 * x)
    assert_allclose(fitted.coef([[0.5, 7.0]]), [[2.0, 0.0]], atol=1e-10)


def test_moments_of_many_columns_that_do_not_fit_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(5, 2100))
    fitted = LocalLinear(bandwidth=3.0).fit(X, X[:, 0])
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 10_000)
    with pytest.raises(TooLargeError, match="NadarayaWatson"):
        _ = fitted.leave_one_out_predictions_


@pytest.mark.parametrize("columns", [3, 20])
def test_blocks_of_queries_do_not_change_predictions(columns: int) -> None:
    """A block holds a few rows, or one whose moments exceed it."""

    class SmallBlocks(LocalLines):
        block_entries = 70

    X, y = np.random.default_rng(0).normal(size=(30, columns)), np.arange(30.0)[:, None]
    given = Gaussian(), Bandwidth(3.0), MixedRows(X), y, np.ones(30)
    assert_allclose(SmallBlocks(*given).at(MixedRows(X)), LocalLines(*given).at(MixedRows(X)), rtol=1e-13)


def test_a_plane_of_many_columns_is_reproduced() -> None:
    X = np.random.default_rng(0).normal(size=(30, 20))
    assert_allclose(LocalLinear(bandwidth=3.0).fit(X, X[:, 0]).predict(X), X[:, 0], atol=1e-8)
