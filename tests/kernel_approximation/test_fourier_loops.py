"""cos and sin of half turns to all digits, however many turns there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.kernel_approximation._fourier_loops import cos_half_turns, put_cosines, put_pairs, sin_half_turns

Array = np.ndarray


def turned(t: Array) -> tuple[Array, Array]:
    """cos πt and sin πt with the digits of a long double, whole turns taken away first, exactly."""
    rest = t.astype(np.longdouble) % 2
    angle = rest * np.longdouble("3.14159265358979323846264338327950288")
    return np.cos(angle).astype(float), np.sin(angle).astype(float)


def angles(dtype: Any, most: float) -> Array:
    rng = np.random.default_rng(0)
    halves = np.arange(-40, 41) / 2
    t = np.concatenate([rng.uniform(-most, most, 5000), np.nextafter(halves, 100), np.nextafter(halves, -100), halves])
    return t.astype(dtype)[None]


@pytest.mark.parametrize("most", [1.0, 1e3, 1e8, 1e12, 2.0**50])
def test_all_digits_of_float64(most: float) -> None:
    t = angles(np.float64, most)
    cosine, sine = turned(t)
    found, both = t.copy(), np.empty((1, 2 * t.shape[1]))
    put_cosines(found, np.zeros(t.shape[1]), 1.0)
    put_pairs(t, both, 1.0)
    np.testing.assert_allclose(found, cosine, rtol=0, atol=1e-15)
    np.testing.assert_allclose(both, np.hstack([cosine, sine]), rtol=0, atol=1e-15)


@pytest.mark.parametrize("most", [1.0, 1e3, 1e6])
def test_all_digits_of_float32(most: float) -> None:
    t = angles(np.float32, most)
    cosine, sine = turned(t)
    found, both = t.copy(), np.empty((1, 2 * t.shape[1]), np.float32)
    put_cosines(found, np.zeros(t.shape[1], np.float32), np.float32(1))
    put_pairs(t, both, np.float32(1))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, cosine, rtol=0, atol=2e-7)
    np.testing.assert_allclose(both, np.hstack([cosine, sine]), rtol=0, atol=2e-7)


def test_offsets_and_scale() -> None:
    t, b = np.array([[0.25, 1.0]]), np.array([0.25, 1.0])
    put_cosines(t, b, 3.0)
    np.testing.assert_allclose(t, [[0.0, 3.0]], atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nan_is_propagated_and_huge_angles_stay_bounded(dtype: type[np.floating]) -> None:
    t = np.array([[np.nan, np.inf, -np.inf, np.finfo(dtype).max, -np.finfo(dtype).max, 2.0**60]], dtype)
    put_cosines(t, np.zeros(6, dtype), dtype(1))
    assert np.isnan(t[0, :3]).all()
    np.testing.assert_array_equal(t[0, 3:], 1)  # so large a number is an even one


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_uncompiled_loops_agree(dtype: type[np.floating]) -> None:
    t = angles(dtype, 20.0)[0, ::50]
    cosine, sine = turned(t)
    error = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose([cos_half_turns(value) for value in t], cosine, rtol=0, atol=error)
    np.testing.assert_allclose([sin_half_turns(value) for value in t], sine, rtol=0, atol=error)
