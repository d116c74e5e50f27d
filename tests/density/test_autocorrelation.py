"""K∗K against formulas, brute force, and what it is for: the integral of a squared density."""

from __future__ import annotations

import pickle
from itertools import pairwise
from math import gamma

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from mercer import density as sm
from tests.density._kernels import every_kernel

R = np.linspace(0, 2.2, 56)


def along(autocorrelation: sm.Autocorrelation, r: np.ndarray = R) -> np.ndarray:
    u = np.zeros((len(r), autocorrelation.columns))
    u[:, 0] = r
    return autocorrelation(u)


def test_epanechnikov_in_one_dimension() -> None:
    expected = np.where(R < 2, 3 / 160 * (2 - R) ** 3 * (R**2 + 6 * R + 4), 0)
    np.testing.assert_allclose(along(sm.Epanechnikov().autocorrelation(1)), expected, atol=1e-15)


def test_two_discs_intersect_in_a_lens() -> None:
    r = np.minimum(R, 2)
    expected = (2 * np.arccos(r / 2) - r / 2 * np.sqrt(4 - r**2)) / np.pi**2
    np.testing.assert_allclose(along(sm.Uniform().autocorrelation(2)), expected, atol=1e-14)


def test_two_balls_intersect_in_two_caps() -> None:
    r = np.minimum(R, 2)
    expected = (1 - r / 2) ** 2 * (1 + r / 4) / (4 / 3 * np.pi)
    np.testing.assert_allclose(along(sm.Uniform().autocorrelation(3)), expected, atol=1e-14)


def test_exponential_in_three_dimensions() -> None:
    """The Fourier transform is (1 + ω²)⁻², whose square is that of (3 + 3r + r²)e⁻ʳ/(192π)."""
    expected = (3 + 3 * R + R**2) * np.exp(-R) / (192 * np.pi)
    np.testing.assert_allclose(along(sm.Exponential().autocorrelation(3)), expected, rtol=1e-13)


@pytest.mark.parametrize("columns", [1, 2, 7])
def test_the_autocorrelation_of_a_gaussian_is_a_gaussian(columns: int) -> None:
    found = sm.Gaussian().autocorrelation(columns)
    width = found.gaussian_width
    assert width == np.sqrt(2)
    u = np.random.default_rng(0).normal(size=(20, columns))
    expected = np.exp(sm.Gaussian().log_density(u / width)) / width**columns
    np.testing.assert_allclose(found(u), expected, rtol=1e-13)
    assert sm.Biweight().autocorrelation(columns).gaussian_width is None


@every_kernel
@pytest.mark.parametrize("r", [0.3, 1.0, 1.7])
def test_brute_force_in_one_dimension(kind: type[sm.SmoothingKernel], r: float) -> None:
    kernel = kind()

    def product(x: float) -> float:
        return float(np.exp(kernel.log_density(np.array([x])) + kernel.log_density(np.array([x - r]))))

    expected = quad(product, -40, 41, points=[-1, r - 1, 0, r, 1, r + 1], epsabs=1e-12, limit=300)[0]
    assert kernel.autocorrelation(1)(np.array([r])) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("kind", [sm.Triangular, sm.Cosine, sm.Triweight], ids=lambda kind: kind.name)
@pytest.mark.parametrize(("columns", "r"), [(2, 0.02), (2, 0.8), (2, 1.0), (2, 1.3), (3, 0.5), (4, 1.1), (5, 1.9)])
def test_brute_force_by_integration_over_the_lens(kind: type[sm.SmoothingKernel], columns: int, r: float) -> None:
    """∫ over half the lens: x along the axis from the middle on, ρ the distance from it."""
    kernel = kind()

    def product(rho: float, x: float) -> float:
        far, near = np.hypot(x + r / 2, rho), np.hypot(x - r / 2, rho)
        return float(kernel.profile(np.array(far)) * kernel.profile(np.array(near)) * rho ** (columns - 2))

    def edge(x: float) -> float:
        return float(np.sqrt(max(1 - (x + r / 2) ** 2, 0)))

    ends = np.unique(np.clip([0, r / 2, 1 - r / 2], 0, 1 - r / 2))
    half = sum(dblquad(product, left, right, 0, edge, epsabs=1e-9)[0] for left, right in pairwise(ends))
    circle = 2 * np.pi ** ((columns - 1) / 2) / gamma((columns - 1) / 2)
    expected = 2 * half * circle * np.exp(-2 * kernel.log_constant(columns))
    found = along(kernel.autocorrelation(columns), np.array([r]))[0]
    assert found == pytest.approx(expected, abs=1e-7 * kernel.roughness(columns))


@pytest.mark.parametrize("kind", [sm.Epanechnikov, sm.Triangular, sm.Cosine], ids=lambda kind: kind.name)
@pytest.mark.parametrize("columns", [2, 3, 10, 25])
def test_it_falls_and_never_turns_negative(kind: type[sm.SmoothingKernel], columns: int) -> None:
    r = np.sort(np.concatenate([np.linspace(0, 2, 400), 2 - np.logspace(-12, -2, 30)]))
    found = along(kind().autocorrelation(columns), r)
    assert (found >= 0).all()
    assert (np.diff(found) <= 1e-13 * found[0]).all()
    assert found[0] == pytest.approx(kind().roughness(columns), rel=1e-10)


@every_kernel
@pytest.mark.parametrize("form", ["radial", "product"])
def test_it_integrates_a_squared_density(kind: type[sm.SmoothingKernel], form: str) -> None:
    """∫p̂² = Σᵢⱼ wᵢwⱼ (K∗K)((xᵢ − xⱼ)/h) / (hᵈ W²), in the plane on a grid."""
    kernel, h = kind(form), 1.3
    points, weight = np.array([[0.0, 0.0], [1.0, 0.4], [-0.3, 1.2]]), np.array([1.0, 2.0, 0.5])
    pairs = kernel.autocorrelation(2)((points[:, None] - points) / h)
    found = weight @ pairs @ weight / (h**2 * weight.sum() ** 2)
    end = 4.0 if np.isfinite(kernel.reach) else 20.0
    grid = np.linspace(-end, end, 601)
    X = np.stack(np.meshgrid(grid, grid), axis=-1)
    density = sum(w * np.exp(kernel.log_density((X - x) / h)) for x, w in zip(points, weight, strict=True))
    brute = np.square(density / (h**2 * weight.sum())).sum() * (grid[1] - grid[0]) ** 2
    assert found == pytest.approx(brute, rel=5e-3)  # corners on a grid


def test_autocorrelations_are_compared_by_value() -> None:
    found = sm.Cosine().autocorrelation(2)
    copy = pickle.loads(pickle.dumps(found))
    assert copy == found
    assert (copy(np.eye(2)) == found(np.eye(2))).all()
    assert found.reach == 2
    assert found(np.zeros((3, 4, 2))).shape == (3, 4)
    assert found(np.array([np.inf, 0.0])) == 0
