"""Quantiles invert the distribution function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mercer._errors import DataError, NoClosedFormError
from mercer.density import Bandwidth, Gaussian, Windows, smoothing_kernel_from
from tests.density._kernels import NAMES


@given(st.sampled_from(NAMES), st.floats(1e-3, 10), st.lists(st.floats(-100, 100), min_size=1, max_size=8))
@settings(max_examples=60)
def test_the_cdf_of_a_quantile(name: str, h: float, x: list[float]) -> None:
    windows = Windows(smoothing_kernel_from(name), Bandwidth(h), np.array(x)[:, None])
    q = np.array([1e-9, 0.01, 0.3, 0.5, 0.77, 0.999])
    found = windows.quantile(q)
    assert (np.diff(found) >= 0).all()
    # in units of what a rounding of x may change
    rounding = 8 * np.finfo(float).eps * (1 + 200 / h)
    np.testing.assert_allclose(windows.cdf(found[:, None]), q, rtol=1e-8, atol=rounding)


def test_one_kernel_has_the_quantiles_of_its_distribution() -> None:
    windows = Windows(Gaussian(), Bandwidth(2.0), np.array([[3.0]]))
    q = np.array([[1e-12, 0.2], [0.5, 1 - 1e-10]])
    # 1 − 1e-10 has six digits of what is beyond
    np.testing.assert_allclose(windows.quantile(q), stats.norm(3, 2).ppf(q), rtol=1e-7)


def test_a_quantile_in_a_gap_is_the_end_of_the_lower_part() -> None:
    """inf {x : F(x) ≥ q} where nothing lies between two kernels."""
    windows = Windows(smoothing_kernel_from("epanechnikov"), Bandwidth(1.0), np.array([[0.0], [100.0]]))
    assert windows.quantile(0.5 - 1e-12) < 1.0
    assert windows.quantile(0.5 + 1e-12) > 99.0


def test_quantiles_of_zero_and_one() -> None:
    X = np.array([[0.0], [2.0]])
    assert Windows(smoothing_kernel_from("cosine"), Bandwidth(0.5), X).quantile([0, 1]).tolist() == [-0.5, 2.5]
    assert Windows(Gaussian(), Bandwidth(0.5), X).quantile([0, 1]).tolist() == [-np.inf, np.inf]


def test_quantiles_with_offsets_and_weights() -> None:
    X, weight = np.array([[0.0], [1.0], [5.0]]), np.array([1e150, 2e150, 0.0])
    near = Windows(Gaussian(), Bandwidth(0.5), X, weight).quantile([0.1, 0.6])
    far = Windows(Gaussian(), Bandwidth(0.5), X + 1e8, weight).quantile([0.1, 0.6])
    np.testing.assert_allclose(far - 1e8, near, atol=1e-7)


def test_invalid_probabilities_and_densities_without_quantiles_are_rejected() -> None:
    with pytest.raises(DataError, match=r"from 0 to 1; got 1\.5"):
        Windows(Gaussian(), Bandwidth(0.5), np.zeros((1, 1))).quantile([0.1, 1.5])
    with pytest.raises(DataError, match="got 'median'"):
        Windows(Gaussian(), Bandwidth(0.5), np.zeros((1, 1))).quantile("median")
    with pytest.raises(NoClosedFormError, match="one column"):
        Windows(Gaussian(), Bandwidth(0.5), np.zeros((1, 2))).quantile(0.5)
