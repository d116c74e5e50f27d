"""Abramson's widths: a base by any name, and kernels that are wider exactly where points are sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from mercer._errors import BandwidthError
from mercer.density import Adaptive, Gaussian, Scott, Windows, bandwidth_from

X = np.random.default_rng(9).standard_t(2, size=(200, 1))


@pytest.mark.parametrize("base", ["silverman-scaled", "isj", "likelihood-cv", Scott("matrix"), 0.5, [0.5]], ids=repr)
def test_any_bandwidth_can_be_the_base(base: Any) -> None:
    plain = bandwidth_from(base, X, None, Gaussian())
    adaptive = bandwidth_from(Adaptive(base, sensitivity=0.3), X, None, Gaussian())
    np.testing.assert_array_equal(adaptive.value, plain.value)
    assert (adaptive.sensitivity, adaptive.method) == (0.3, plain.method)
    assert plain.sensitivity == 0


def test_kernels_are_wider_where_points_are_sparse_and_the_density_still_integrates_to_one() -> None:
    windows = Windows(Gaussian(), bandwidth_from(Adaptive(), X, None, Gaussian()), X)
    factors = windows.sums.factors
    assert factors is not None
    assert factors[np.argmax(np.abs(X))] > 2 > 1 > factors[np.argmin(np.abs(X))]
    assert np.log(factors).mean() == pytest.approx(0, abs=1e-12)
    mass = quad(lambda x: np.exp(windows.log_density(np.array([[x]]))[0]), -2000, 2000, points=[-5, 0, 5], limit=500)[0]
    assert mass == pytest.approx(1, abs=1e-6)


def test_a_sensitivity_out_of_range_is_rejected() -> None:
    with pytest.raises(BandwidthError, match="from 0 to 1"):
        bandwidth_from(Adaptive(sensitivity=2.0), X, None, Gaussian())
