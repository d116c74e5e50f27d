"""eˣ for x ≤ 0 to all digits of its type, and the ends of its range."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._jit import jit
from mercer._jit.decay import SMALLEST_BINARY_EXPONENT, exp2_below
from mercer.kernels._value_loops import ExponentialValue, apply_kernel

X = np.concatenate([np.linspace(-750, 0, 40_001), -np.logspace(-300, 2, 5000), [-0.0]])


@pytest.mark.parametrize(("dtype", "least"), [(np.float64, -708.0), (np.float32, -87.3)])
def test_all_digits_are_kept_down_to_the_smallest_normal_number(dtype: type[np.floating], least: float) -> None:
    x = X.astype(dtype)
    found = x.copy()[None]
    apply_kernel(ExponentialValue(dtype(-1.0)), found)
    with np.errstate(under="ignore"):
        expected = np.exp(x.astype(np.longdouble))
    normal = x > dtype(least)
    np.testing.assert_allclose(found[0][normal], expected[normal].astype(float), rtol=2.5 * np.finfo(dtype).eps)
    assert (found[0][~normal] == 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nan_is_propagated(dtype: type[np.floating]) -> None:
    found = np.full((1, 3), np.nan, dtype)
    apply_kernel(ExponentialValue(dtype(1.0)), found)
    assert np.isnan(found).all()


@jit
def powers(x, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[i] = exp2_below(x[i])


def powers_of_two(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    powers(x, out)
    return out


def test_powers_of_two_are_accurate_down_to_the_smallest() -> None:
    """In their middle and at their ends, where the nearest whole number is another one."""
    whole = -np.arange(1020.0)
    halves = np.concatenate([whole - 0.5, np.nextafter(whole - 0.5, 0), np.nextafter(whole - 0.5, -2000)])
    x = np.concatenate(
        [np.linspace(SMALLEST_BINARY_EXPONENT, 0, 100_001)[1:], -np.logspace(-300, 3, 5000), whole, halves]
    )
    x = x[x > SMALLEST_BINARY_EXPONENT]
    expected = np.exp2(x.astype(np.longdouble)).astype(float)
    np.testing.assert_allclose(powers_of_two(x), expected, rtol=4e-14)
    np.testing.assert_allclose([exp2_below(value) for value in x[::997]], expected[::997], rtol=4e-14)


def test_whole_powers_of_two_are_exact() -> None:
    whole = -np.arange(1020.0)
    np.testing.assert_array_equal(powers_of_two(whole), np.exp2(whole))


def test_powers_below_the_smallest_exponent_are_zero() -> None:
    x = np.array(
        [SMALLEST_BINARY_EXPONENT, np.nextafter(SMALLEST_BINARY_EXPONENT, -2000), -1100.0, -1e19, -1e300, -np.inf]
    )
    assert (powers_of_two(x) == 0).all()


def test_powers_are_at_most_one() -> None:
    """Arguments that rounding made positive count as 0."""
    assert (powers_of_two(np.array([0.0, -0.0, 1e-300, 1e-10, 0.7, 50.0, 1e6, 1e300])) == 1).all()
    x = np.sort(-np.random.default_rng(0).uniform(0, 1100, 100_000))
    assert powers_of_two(x).max() <= 1
    assert (np.diff(powers_of_two(x)) >= -1e-13).all()
