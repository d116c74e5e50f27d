"""Splines: they add up to 1, reproduce polynomials, and are smooth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

from mercer.preprocessing._splines import Splines, even_knots, quantile_knots

knots = st.lists(st.floats(-100, 100), min_size=2, max_size=8, unique=True).map(np.sort).filter(
    lambda found: np.diff(found).min() > 1e-3
)  # fmt: skip


@settings(max_examples=150)
@given(knots=knots, degree=st.integers(0, 5), natural=st.booleans(), linear=st.booleans(), seed=st.integers(0, 1000))
def test_splines_add_up_to_one_everywhere(
    knots: np.ndarray, degree: int, natural: bool, linear: bool, seed: int
) -> None:
    x = np.append(knots, np.random.default_rng(seed).uniform(-300, 300, 50))
    splines = Splines(knots, 3 if natural else degree, natural, linear)
    values = splines(x)
    assert values.shape == (len(x), splines.count)
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-9 * max(1.0, np.abs(values).max()))


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_b_splines_contain_every_polynomial_of_their_degree(degree: int) -> None:
    x, places = np.linspace(-1, 2, 60), np.array([-1.0, 0.0, 0.3, 2.0])
    B = Splines(places, degree)(x)
    for power in range(degree + 1):
        fit = B @ np.linalg.lstsq(B, x**power, rcond=None)[0]
        np.testing.assert_allclose(fit, x**power, atol=1e-12)


def test_b_splines_are_positive_and_local() -> None:
    B = Splines(np.arange(6.0), 3)(np.linspace(0, 5, 101))
    assert (B >= 0).all()
    assert ((B > 1e-12).sum(axis=1) <= 4).all()


def test_coefficients_of_natural_splines_are_values_at_knots() -> None:
    places = np.array([0.0, 1.0, 2.5, 4.0])
    natural = Splines(places, natural=True, linear=True)
    np.testing.assert_allclose(natural(places), np.eye(4), atol=1e-14)
    x, values = np.linspace(0, 4, 33), np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(natural(x) @ values, CubicSpline(places, values, bc_type="natural")(x), atol=1e-12)


@pytest.mark.parametrize(("natural", "degree"), [(False, 1), (False, 2), (False, 3), (True, 3)])
def test_natural_splines_are_linear_beyond_the_knots(natural: bool, degree: int) -> None:
    splines = Splines(np.array([0.0, 1.0, 3.0, 4.0]), degree, natural, linear=True)
    h = 1e-6
    for end, out in ((0.0, -1.0), (4.0, 1.0)):
        inside, at, away, far = splines(end + out * np.array([-h, 0.0, 1.0, 5.0]))
        np.testing.assert_allclose(away - at, (at - inside) / h, atol=1e-4)
        np.testing.assert_allclose(far - at, 5 * (away - at), atol=1e-12)


def test_names_of_natural_splines_are_distinct() -> None:
    assert Splines(1e8 + np.arange(2.0), natural=True).names("x") == ["x at 100000000", "x at 100000001"]
    assert Splines(np.array([0.1, 0.1 + 1e-9]), natural=True).names("x") == ["x at 0.1", "x at 0.100000001"]


def test_splines_can_be_constant_beyond_the_knots() -> None:
    splines = Splines(np.array([0.0, 1.0, 3.0]))
    np.testing.assert_array_equal(splines(np.array([-5.0, 9.0])), splines(np.array([0.0, 3.0])))


@pytest.mark.parametrize("natural", [False, True])
@pytest.mark.parametrize(("scale", "offset"), [(1e150, 0.0), (1e-150, 0.0), (1.0, 1e8), (4e307, 0.0)])
def test_units_and_origin_do_not_matter(natural: bool, scale: float, offset: float) -> None:
    x = np.arange(-4.0, 5.0) / 8  # whole multiples, so that the offset takes no digit away
    places = np.array([-0.25, 0.0, 0.125, 0.25])
    expected = Splines(places, natural=natural, linear=True)(x)
    moved = Splines(places * scale + offset, natural=natural, linear=True)(x * scale + offset)
    np.testing.assert_allclose(moved, expected, atol=1e-12)


def test_knots() -> None:
    x = np.random.default_rng(0).exponential(size=1000)
    np.testing.assert_allclose(quantile_knots(x, 5), np.quantile(x, [0, 0.25, 0.5, 0.75, 1]))
    np.testing.assert_allclose(even_knots(x, 3), [x.min(), (x.min() + x.max()) / 2, x.max()])
    assert len(quantile_knots(np.array([0.0] * 90 + [1.0] * 10), 5)) == 2
    for constant in (0.0, 3.0, 1.7e308, -1.7e308, -1e-9):
        assert np.diff(quantile_knots(np.full(4, constant), 5)) > 0
    assert quantile_knots(np.empty(0), 5).tolist() == even_knots(np.empty(0), 5).tolist() == [0, 1]


def test_missing_values_are_kept() -> None:
    values = Splines(np.array([0.0, 1.0]))(np.array([np.nan, 0.5]))
    assert np.isnan(values[0]).all()
    assert np.isfinite(values[1]).all()


def test_knots_that_rounding_cannot_distinguish_are_merged() -> None:
    x = np.array([-9e18, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
    knots = quantile_knots(x, 5)
    assert knots.tolist() == [-9e18, 3.0]
    assert np.isfinite(Splines(knots, natural=True)(x)).all()


def test_values_that_differ_by_rounding_are_one_knot() -> None:
    x = np.concatenate([np.full(10, 0.3), np.full(10, 0.1 + 0.2), [0.5, 0.6, 0.9, 1.0]])
    splines = Splines(quantile_knots(x, 5), natural=True, linear=True)
    values = splines(np.linspace(0, 2, 50))
    np.testing.assert_allclose(values.sum(axis=1), 1, rtol=1e-12)
    assert np.abs(values).max() < 100


def test_denormal_values_are_one_knot() -> None:
    assert len(quantile_knots(np.array([0.0, 5e-324]), 5)) == 2
    assert np.ptp(quantile_knots(np.array([0.0, 5e-324]), 5)) >= 1


def test_equidistant_knots_of_denormal_values_are_merged() -> None:
    x = np.arange(4) * 5e-324
    assert np.isfinite(Splines(even_knots(x, 5), linear=True)(x)).all()
