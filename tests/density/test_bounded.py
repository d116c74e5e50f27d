"""Densities on bounded supports: they integrate to one within the bounds, and vanish beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from mercer._errors import NoClosedFormError, OutOfReachError, SupportError
from mercer.density import Bandwidth, Density, Gaussian, SmoothingKernel, Windows, smoothing_kernel_from
from mercer.density._bounded import Reflected, Transformed, on_support, support_from
from tests.density._kernels import NAMES
from tests.density._widths import with_widths

Array = np.ndarray
INF = np.inf
KERNELS = [smoothing_kernel_from(name) for name in NAMES]
BOTH_FORMS = [*KERNELS, *(smoothing_kernel_from(name, "product") for name in NAMES)]
MATRIX = np.array([[0.09, 0.03], [0.03, 0.04]])
SUPPORTS = [(0.0, INF), (-INF, 1.0), (0.0, 1.0)]


def bounded(
    kernel: SmoothingKernel, bandwidth: Bandwidth, X: Array, bounds: Any, boundary: str, weight: Array | None = None
) -> Density:
    support = support_from(bounds, X.shape[1], boundary, list("abc")[: X.shape[1]])
    assert support is not None
    points = support.forward(X) if boundary == "transform" else X
    return on_support(Windows(kernel, bandwidth, points, weight), support)


def shares(n: int = 10, d: int = 1) -> Array:
    return np.random.default_rng(0).beta(1, 2, size=(n, d))


def axis_edges(density: Density, n: int, reach: float) -> list[Array]:
    """Steps within the bounds; equal ones of the logit or logarithm are fine where the density is steep."""
    if not isinstance(density, Transformed):
        return [np.linspace(*ends, n + 1) for ends in zip(*density.extent(reach), strict=True)]
    steps = np.stack([np.linspace(*ends, n + 1) for ends in zip(*density.windows.extent(reach), strict=True)], axis=1)
    return list(density.support.backward(steps).T)


def integral(density: Density, n: int, reach: float) -> float:
    edges = axis_edges(density, n, reach)
    mesh = np.meshgrid(*((edge[1:] + edge[:-1]) / 2 for edge in edges), indexing="ij")
    volumes = np.prod(np.meshgrid(*map(np.diff, edges), indexing="ij"), axis=0)
    return float(density.density(np.stack([x.ravel() for x in mesh], axis=1)) @ volumes.ravel())


@pytest.mark.parametrize(("kernel", "sensitivity"), with_widths(KERNELS, (0.0,), (0.5,)), ids=repr)
@pytest.mark.parametrize("bounds", SUPPORTS)
@pytest.mark.parametrize("boundary", ["reflect", "transform"])
def test_bounded_densities_integrate_to_one(
    kernel: SmoothingKernel, bounds: Any, boundary: str, sensitivity: float
) -> None:
    density = bounded(kernel, Bandwidth(0.3, sensitivity=sensitivity), shares(), bounds, boundary)
    assert isinstance(density, Transformed if boundary == "transform" else Reflected)
    off = 2e-3 if kernel.name in ("uniform", "exponential") else 1e-4
    assert integral(density, 8000, INF) == pytest.approx(1, abs=off)
    np.testing.assert_array_equal(density.log_density(np.array([[-50.0 if bounds[0] == 0 else 50.0]])), -INF)


@pytest.mark.parametrize("boundary", ["reflect", "transform"])
@pytest.mark.parametrize("width", [0.2, np.array([0.2, 0.4]), MATRIX])
def test_bounded_densities_of_two_columns_integrate_to_one(boundary: str, width: Any) -> None:
    density = bounded(Gaussian(), Bandwidth(width), 0.2 + 0.6 * shares(8, 2), (0, 1), boundary)
    x, w = np.polynomial.legendre.leggauss(80)
    x, w = (x + 1) / 2, w / 2
    mesh = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    assert density.density(mesh) @ np.outer(w, w).ravel() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("kernel", "d", "n", "sensitivity"), with_widths(BOTH_FORMS, (2, 120, 0.0), (2, 120, 0.5), (3, 30, 0.5)), ids=repr
)
@pytest.mark.parametrize("boundary", ["reflect", "transform"])
def test_bounded_densities_of_two_and_three_columns_integrate_to_one(
    kernel: SmoothingKernel, boundary: str, d: int, n: int, sensitivity: float
) -> None:
    h = {"gaussian": 0.25, "exponential": 0.1}.get(kernel.name, 0.5)
    bounds, bandwidth = [(0, 1), (0, None), None][:d], Bandwidth(h, sensitivity=sensitivity)
    density = bounded(kernel, bandwidth, 0.1 + 0.8 * shares(4, d), bounds, boundary)
    # a grid is coarse for jumps, and for e^(−Σ|u|) with its kinks
    off = {"uniform": 5e-2 if d == 3 else 2e-2, "exponential": 0.1 if d == 3 else 2e-2}.get(kernel.name, 1e-2)
    assert integral(density, n, 14.0) == pytest.approx(1, abs=off)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("bounds", SUPPORTS)
@pytest.mark.parametrize("boundary", ["reflect", "transform"])
def test_samples_and_quantiles_agree_with_the_density(kernel: SmoothingKernel, bounds: Any, boundary: str) -> None:
    density = bounded(kernel, Bandwidth(0.4), shares(), bounds, boundary)
    drawn = density.sample(1500, np.random.default_rng(1))
    assert (drawn >= bounds[0]).all()
    assert (drawn <= bounds[1]).all()
    assert stats.kstest(drawn[:, 0], lambda x: density.cdf(x[:, None])).pvalue > 1e-3
    q = np.array([1e-6, 0.1, 0.5, 0.99])
    np.testing.assert_allclose(density.cdf(density.quantile(q)[:, None]), q, rtol=1e-9)


@pytest.mark.parametrize("boundary", ["reflect", "transform"])
def test_the_cdf_is_the_integral(boundary: str) -> None:
    density = bounded(Gaussian(), Bandwidth(0.5), shares(), (0, 1), boundary)
    for x in (0.05, 0.4, 0.93):
        area = integrate.quad(lambda t: float(density.density(np.array([[t]]))[0]), 0, x, epsabs=1e-10, limit=200)[0]
        assert density.cdf(np.array([[x]]))[0] == pytest.approx(area, abs=1e-8)
    assert density.cdf(np.array([[1.0], [2.0], [-1.0]])).tolist() == pytest.approx([1, 1, 0], abs=1e-14)
    assert density.quantile([0, 1]).tolist() == [0, 1]


@pytest.mark.parametrize("boundary", ["reflect", "transform"])
@pytest.mark.parametrize("width", [np.array([0.2, 0.4]), MATRIX])
def test_a_conditional_is_the_joint_over_the_marginal(boundary: str, width: Any) -> None:
    density = bounded(Gaussian(), Bandwidth(width), shares(8, 2), (0, 1), boundary, np.arange(1.0, 9.0))
    Q = np.column_stack([np.full(4, 0.1), np.linspace(0.02, 0.9, 4)])
    ratio = density.density(Q) / density.marginal([0]).density(Q[:, :1])
    np.testing.assert_allclose(density.conditional({0: 0.1}).density(Q[:, 1:]), ratio, rtol=1e-9)
    with pytest.raises(SupportError, match="outside"):
        density.conditional({0: 1.5})
    with pytest.raises(NoClosedFormError, match="mean"):
        density.mean()


@pytest.mark.parametrize("bounds", SUPPORTS)
@pytest.mark.parametrize("boundary", ["reflect", "transform"])
@pytest.mark.parametrize("kernel", [Gaussian(), smoothing_kernel_from("triweight")], ids=repr)
def test_leave_one_out_densities_agree_with_brute_force(bounds: Any, boundary: str, kernel: SmoothingKernel) -> None:
    """The images of a point are left out too: a point does not count its own mirror image."""
    X, weight = shares(), np.arange(1.0, 11.0)
    left_out = bounded(kernel, Bandwidth(0.3), X, bounds, boundary, weight).log_density_left_out()
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        others = bounded(kernel, Bandwidth(0.3), X[rest], bounds, boundary, weight[rest])
        assert left_out[i] == pytest.approx(others.log_density(X[[i]])[0], rel=1e-10)


def test_a_reflected_density_is_flat_at_the_bound_and_does_not_leak() -> None:
    """Half of the mass of a kernel at the bound would leak."""
    X = np.random.default_rng(0).exponential(size=(2000, 1))
    at_zero = bounded(Gaussian(), Bandwidth(0.1), X, (0, None), "reflect").density(np.array([[0.0], [1e-6]]))
    assert at_zero[0] == pytest.approx(1, abs=0.15)
    assert at_zero[1] == pytest.approx(at_zero[0], rel=1e-9)
    assert Windows(Gaussian(), Bandwidth(0.1), X).density(np.array([[0.0]]))[0] == pytest.approx(0.5, abs=0.1)


def test_wide_kernels_between_two_bounds_are_flat() -> None:
    density = bounded(Gaussian(), Bandwidth(20.0), shares(), (0, 1), "reflect")
    np.testing.assert_allclose(density.density(np.linspace(0, 1, 5)[:, None]), 1, rtol=1e-12)


def test_normal_kernels_of_logarithms_are_log_normal() -> None:
    density = bounded(Gaussian(), Bandwidth(0.7), np.array([[2.0]]), (0, None), "transform")
    x = np.array([0.1, 1.0, 5.0])
    expected = stats.lognorm(s=0.7, scale=2.0)
    np.testing.assert_allclose(density.density(x[:, None]), expected.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(density.quantile([0.2, 0.7]), expected.ppf([0.2, 0.7]), rtol=1e-12)


@pytest.mark.parametrize(("kernel", "sensitivity"), with_widths(BOTH_FORMS, (0.0,), (0.5,)), ids=repr)
@pytest.mark.parametrize("width", [0.2, MATRIX], ids=["number", "matrix"])
def test_skipped_images_are_negligible(kernel: SmoothingKernel, width: Any, sensitivity: float) -> None:
    X = 0.02 + 0.2 * shares(8, 2)
    density = bounded(kernel, Bandwidth(width, sensitivity=sensitivity), X, [(0, 4), (0, None)], "reflect")
    assert isinstance(density, Reflected)
    Q = np.vstack([shares(20, 2), [[0.0, 0.0], [1.0, 3.0], [0.5, 200.0]]])
    images = [density.windows.log_density(sign * Q + shift) for sign, shift in density._images]
    np.testing.assert_allclose(density.log_density(Q), np.logaddexp.reduce(images), rtol=1e-13, atol=1e-13)
    for sign, shift in density._images:
        image = sign * Q + shift
        assert (density.windows.log_density(image) <= density.windows.log_density_at_most(image) + 1e-12).all()


@pytest.mark.parametrize("bounds", SUPPORTS)
@pytest.mark.parametrize("boundary", ["reflect", "transform"])
@pytest.mark.parametrize("kernel", [Gaussian(), smoothing_kernel_from("triweight")], ids=repr)
def test_a_grid_has_the_density_to_its_error(bounds: Any, boundary: str, kernel: SmoothingKernel) -> None:
    density = bounded(kernel, Bandwidth(0.1), shares(3000), bounds, boundary)
    grid, values = density.on_grid(200)
    exact = density.density(grid[:, None])
    np.testing.assert_allclose(values, exact, rtol=2e-4, atol=1e-4 / np.ptp(grid))
    assert exact.max() > 1


@pytest.mark.parametrize("boundary", ["reflect", "transform"])
def test_a_condition_out_of_reach_is_named_in_original_units(boundary: str) -> None:
    kernel = smoothing_kernel_from("uniform", "product")
    density = bounded(kernel, Bandwidth([0.01, 0.5]), np.array([[0.25, 0.5]]), (0.0, 1.0), boundary)
    with pytest.raises(OutOfReachError, match=r"within reach.*\{0: 0\.75\}"):
        density.conditional({0: 0.75})
