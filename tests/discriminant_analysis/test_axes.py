"""Principal axes: every variance has digits of its own, whatever the units of the columns."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.discriminant_analysis._covariance import principal_axes


def covariance(d: int) -> np.ndarray:
    return np.cov(np.random.default_rng(d).normal(size=(3 * d + 5, d)), rowvar=False).reshape(d, d)


@pytest.mark.parametrize("units", [1.0, 1e-5])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_axes_reconstruct_the_covariance(d: int, units: float) -> None:
    unit = units ** np.arange(d)
    given = covariance(d) * unit * unit[:, None]
    variances, axes = principal_axes(given)
    assert (np.diff(variances) <= 0).all()
    np.testing.assert_allclose(axes.T @ axes, np.eye(d), atol=1e-14)
    deviation = np.sqrt(np.diagonal(given))
    np.testing.assert_allclose((axes * variances) @ axes.T / deviation, given / deviation, rtol=1e-9, atol=1e-9)


def test_the_volume_is_the_standardized_one_times_the_scales() -> None:
    units = 10.0 ** np.array([100, -90, 3, 0, -140, 60])
    variances, _ = principal_axes(covariance(6) * units * units[:, None])
    expected = np.linalg.slogdet(covariance(6))[1] + 2 * np.log(units).sum()
    assert np.log(variances).sum() == pytest.approx(expected, rel=1e-12)


def test_a_singular_covariance_has_a_variance_of_zero() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2)) * [1.0, 1e6]
    variances, _ = principal_axes(np.cov(np.column_stack([X, X[:, 1]]), rowvar=False))
    assert variances[-1] <= 1e-15 * variances[0]
