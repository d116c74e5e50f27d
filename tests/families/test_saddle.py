"""The two functions behind the discrete and gamma densities, against arithmetic with fifty digits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext

import numpy as np
import pytest

from mercer import families as f
from mercer.families._saddle import deviance, peak
from tests.families._fifty_digits import log_factorial


@pytest.fixture(autouse=True)
def _fifty_digits() -> Iterator[None]:
    with localcontext(prec=50):
        yield


def test_the_reference_values_are_correct() -> None:
    assert float(abs(log_factorial(1500) - Decimal(math.factorial(1500)).ln())) < 1e-30


@pytest.mark.parametrize("n", [1, 2, 7, 15, 16, 17, 100, 10**6, 10**12])
def test_peak_keeps_all_digits(n: int) -> None:
    expected = n * Decimal(n).ln() - n - log_factorial(n)
    assert peak(np.array(float(n))) == pytest.approx(float(expected), rel=2e-14)


def test_peak_is_continuous_where_the_series_takes_over() -> None:
    below, above = peak(np.array([16 - 1e-9, 16.0]))
    assert below == pytest.approx(above, abs=1e-10)
    assert peak(np.array(0.0)) == 0.0


@pytest.mark.parametrize("ratio", [1 + 1e-12, 1 + 1e-6, 1.1, 1.25, 3.0, 1e-3, 1e200, 1e-200])
def test_deviance_keeps_all_digits(ratio: float) -> None:
    x, mean = 1e5, 1e5 * ratio
    expected = Decimal(x) * (Decimal(x) / Decimal(mean)).ln() + Decimal(mean) - Decimal(x)
    assert deviance(np.array(x), np.array(mean)) == pytest.approx(float(expected), rel=1e-13)


def test_deviance_of_the_largest_numbers_is_finite() -> None:
    largest = np.finfo(float).max
    assert deviance(np.array(largest), np.array(largest)) == 0.0
    assert deviance(np.array(largest), np.array(0.999 * largest)) == pytest.approx(5.003e-7 * largest, rel=1e-3)


def test_deviance_at_zero_needs_no_limit() -> None:
    np.testing.assert_array_equal(deviance(np.array([0.0, 0.0, 2.0]), np.array([0.0, 3.0, 0.0])), [0.0, 3.0, np.inf])


@pytest.mark.parametrize(("x", "n"), [(500_000, 1_000_000), (499_000, 1_000_000), (0, 1_000_000), (7, 12)])
def test_a_binomial_of_a_million_trials_keeps_its_digits(x: int, n: int) -> None:
    expected = log_factorial(n) - log_factorial(x) - log_factorial(n - x) - n * Decimal(2).ln()
    ours = f.Binomial(n).log_density(x, f.BernoulliParameters(0.5))
    assert float(ours) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize(("x", "rate"), [(10**8 + 3 * 10**4, 10**8), (5, 10**8), (10**8, 5)])
def test_a_poisson_of_large_counts_keeps_its_digits(x: int, rate: int) -> None:
    expected = x * Decimal(rate).ln() - rate - log_factorial(x)
    assert float(f.Poisson().log_density(x, f.PoissonParameters(rate))) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize(("x", "mean", "r"), [(3, 2, 10**9), (10**6, 10**6 + 10, 10**3), (0, 7, 10**12)])
def test_a_negative_binomial_keeps_its_digits_to_the_poisson_limit(x: int, mean: int, r: int) -> None:
    success, failure = Decimal(r) / (r + mean), Decimal(mean) / (r + mean)
    ways = log_factorial(x + r - 1) - log_factorial(r - 1) - log_factorial(x)
    expected = ways + r * success.ln() + x * failure.ln()
    ours = f.NegativeBinomial().log_density(x, f.NegativeBinomialParameters(mean, r))
    assert float(ours) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize(("shape", "x"), [(10**6, 10**6 + 500), (10**6, 1), (2, 10**3)])
def test_a_gamma_of_large_shape_keeps_its_digits(shape: int, x: int) -> None:
    expected = (shape - 1) * Decimal(x).ln() - x - log_factorial(shape - 1)
    ours = f.Gamma().log_density(x, f.GammaParameters(float(shape), 1.0))
    assert float(ours) == pytest.approx(float(expected), rel=1e-13)
