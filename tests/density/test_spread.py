"""Weighted spread: NumPy's numbers, repeated points for whole weights, and digits that offsets leave alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._errors import BandwidthError, NonFiniteError
from mercer.density._rules import IQR_OF_GAUSSIAN, SampleSpread

RNG = np.random.default_rng(1)
X = RNG.normal(size=(50, 3)) * [1.0, 10.0, 0.1]
WEIGHT = RNG.uniform(0.2, 2.0, size=50)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_covariances_agree_with_numpy(weight: np.ndarray | None) -> None:
    spread = SampleSpread(X, weight)
    np.testing.assert_allclose(spread.covariance, np.cov(X.T, aweights=weight), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(spread.deviations**2, np.diag(np.cov(X.T, aweights=weight)), rtol=1e-12)


def test_the_effective_count_of_equal_weights_is_the_number_of_points() -> None:
    assert SampleSpread(X).count == 50
    assert SampleSpread(X, np.full(50, 0.3)).count == pytest.approx(50)
    assert SampleSpread(X, WEIGHT).count == pytest.approx(WEIGHT.sum() ** 2 / np.square(WEIGHT).sum())


def test_quartiles_of_equal_weights_agree_with_numpy() -> None:
    expected = np.minimum(np.ptp(np.percentile(X, [25, 75], axis=0), axis=0) / IQR_OF_GAUSSIAN, X.std(axis=0, ddof=1))
    np.testing.assert_allclose(SampleSpread(X).robust, expected, rtol=1e-12)
    np.testing.assert_allclose(SampleSpread(X, np.full(50, 7.0)).robust, expected, rtol=1e-12)


def test_quartiles_with_whole_weights_are_nearly_those_of_repeated_points() -> None:
    x, times = RNG.standard_t(2, size=(2000, 1)), RNG.integers(1, 5, size=2000)
    repeated = SampleSpread(np.repeat(x, times, axis=0)).robust
    np.testing.assert_allclose(SampleSpread(x, times.astype(float)).robust, repeated, rtol=2e-3)


@settings(max_examples=30)
@given(st.floats(-1e8, 1e8), st.integers(-400, 400))
def test_offsets_and_scales_lose_no_digits(offset: float, power: int) -> None:
    scale = 2.0**power
    np.testing.assert_allclose(SampleSpread(X * scale).deviations, SampleSpread(X).deviations * scale, rtol=1e-13)
    np.testing.assert_allclose(SampleSpread(X + offset).deviations, SampleSpread(X).deviations, rtol=1e-6)


def test_a_constant_far_from_zero_is_constant_and_almost_constant_is_not() -> None:
    x = np.full((5, 1), 1e8)
    with pytest.raises(ValueError, match="constant"):
        SampleSpread(x)
    x[0] += 1e-6
    assert SampleSpread(x).deviations > 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_named(bad: float) -> None:
    spoilt = X.copy()
    spoilt[7, 1] = bad
    with pytest.raises(NonFiniteError, match=f"column 'age' has {bad}"):
        SampleSpread(spoilt, names=["size", "age", "mass"])
    assert SampleSpread(spoilt, np.where(np.arange(50) == 7, 0.0, 1.0)).columns == 3


def test_a_column_whose_spread_overflows_is_rejected_by_name() -> None:
    with pytest.raises(BandwidthError, match=r"^column 'x' is so wide that its spread is too large for float64"):
        SampleSpread(np.finfo(float).max * np.array([[1.0], [-1.0], [0.0]]), names=["x"])
