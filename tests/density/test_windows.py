"""Laws of Parzen windows: they integrate to one, whatever the kernel, the bandwidth, or the bounds."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mercer._errors import NoClosedFormError, OutOfReachError
from mercer.density import Bandwidth, Gaussian, SmoothingKernel, Windows, smoothing_kernel_from
from mercer.density._boxes import MIN_SORTED_POINTS
from tests.density._kernels import NAMES
from tests.density._widths import with_widths

Array = np.ndarray
KERNELS = [smoothing_kernel_from(name, form) for name, form in product(NAMES, ("radial", "product"))]
#: of two columns
BANDWIDTHS = [0.7, np.array([0.5, 0.9]), np.array([[0.5, 0.2], [0.2, 0.3]])]


def points(n: int = 12, d: int = 2, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def integral(density: Any, n: int, reach: float = np.inf) -> float:
    """Integrate by the midpoint rule over cells that cover the density."""
    low, high = density.extent(reach)
    axes = [a + (b - a) * (np.arange(n) + 0.5) / n for a, b in zip(low, high, strict=True)]
    mesh = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    return float(density.density(mesh).sum() * np.prod((high - low) / n))


@pytest.mark.parametrize(("kernel", "sensitivity"), with_widths(KERNELS, (0.0,), (0.5,)), ids=repr)
@pytest.mark.parametrize(("d", "n"), [(1, 4000), (2, 200), (3, 50)])
def test_densities_integrate_to_one(kernel: SmoothingKernel, sensitivity: float, d: int, n: int) -> None:
    weight = np.arange(1.0, 6.0)
    windows = Windows(kernel, Bandwidth(0.8, sensitivity=sensitivity), points(5, d), weight)
    # a grid is coarse for jumps and for the wide e^(−Σ|u|) with its kinks, and exact for a Gaussian
    off = {"uniform": 6e-3, "exponential": 4e-2 if d == 3 else 5e-3, "gaussian": 1e-8}.get(kernel.name, 4e-3)
    assert integral(windows, n, 6.0 if kernel.name == "gaussian" else 14.0) == pytest.approx(1, abs=off)


@pytest.mark.parametrize("kernel", [Gaussian(), *KERNELS[4:6], KERNELS[8]], ids=repr)
def test_kernels_with_a_matrix_integrate_to_one(kernel: SmoothingKernel) -> None:
    windows = Windows(kernel, Bandwidth(BANDWIDTHS[2]), points())
    assert integral(windows, 250, 6.0) == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("bandwidth", BANDWIDTHS, ids=["number", "axes", "matrix"])
def test_a_gaussian_is_a_mixture_of_normals(bandwidth: Any) -> None:
    """Lecture 4, the multivariate form."""
    X, Q = points(), points(7, seed=1)
    Sigma = np.diag(np.broadcast_to(bandwidth, 2) ** 2) if np.ndim(bandwidth) < 2 else bandwidth
    mixture = np.mean([stats.multivariate_normal(x, Sigma).pdf(Q) for x in X], axis=0)
    np.testing.assert_allclose(Windows(Gaussian(), Bandwidth(bandwidth), X).density(Q), mixture, rtol=1e-12)


@pytest.mark.parametrize(("kernel", "sensitivity"), with_widths(KERNELS, (0.0,), (0.5,)), ids=repr)
def test_samples_have_the_probabilities_of_the_density(kernel: SmoothingKernel, sensitivity: float) -> None:
    weight = np.array([1.0, 0.0, 4.0, 2.0])
    windows = Windows(kernel, Bandwidth(0.6, sensitivity=sensitivity), points(4, 1, seed=3), weight)
    drawn = windows.sample(2000, np.random.default_rng(5))
    assert stats.kstest(drawn[:, 0], lambda x: windows.cdf(x[:, None])).pvalue > 1e-3


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_samples_of_two_columns_have_the_covariance_of_the_density(kernel: SmoothingKernel) -> None:
    Sigma = BANDWIDTHS[2]
    windows = Windows(kernel, Bandwidth(Sigma), np.zeros((1, 2)))
    drawn = windows.sample(40_000, np.random.default_rng(5))
    np.testing.assert_allclose(np.cov(drawn.T), kernel.axis_variance(2) * Sigma, rtol=0.06)


@pytest.mark.parametrize(("kernel", "sensitivity"), with_widths(KERNELS, (0.0,), (0.5,)), ids=repr)
def test_the_cdf_is_the_integral_of_the_density(kernel: SmoothingKernel, sensitivity: float) -> None:
    windows = Windows(kernel, Bandwidth(0.8, sensitivity=sensitivity), points(5, 1))
    low, high = windows.extent(np.inf)
    edges = np.linspace(low[0], high[0], 5001)
    inner = (edges[1:] + edges[:-1]) / 2
    summed = np.cumsum(windows.density(inner[:, None])) * np.diff(edges)
    np.testing.assert_allclose(windows.cdf(edges[1:, None]), summed, atol=1e-3)


@pytest.mark.parametrize("bandwidth", BANDWIDTHS, ids=["number", "axes", "matrix"])
def test_the_cdf_of_two_columns(bandwidth: Any) -> None:
    X = points()
    # among them a corner that lies on a point, in both columns
    Q = np.vstack([points(6, seed=1), [[0.0, 0.0], X[0]], [[np.inf, 0.3], [np.inf, np.inf]]])
    Sigma = np.diag(np.broadcast_to(bandwidth, 2) ** 2) if np.ndim(bandwidth) < 2 else bandwidth
    mixture = np.mean(
        [stats.multivariate_normal(x, Sigma, maxpts=10**6, abseps=1e-10, releps=1e-10).cdf(Q[:8]) for x in X], axis=0
    )
    found = Windows(Gaussian(), Bandwidth(bandwidth), X).cdf(Q)
    np.testing.assert_allclose(found[:8], mixture, atol=1e-8)
    second = Windows(Gaussian(), Bandwidth(float(np.sqrt(Sigma[1, 1]))), X[:, 1:])
    np.testing.assert_allclose(found[8:], [second.cdf(np.array([[0.3]]))[0], 1.0], rtol=1e-12)


def test_a_product_has_a_cdf_in_any_dimension() -> None:
    kernel = smoothing_kernel_from("biweight", "product")
    X = points(1, 3)
    one = [Windows(kernel, Bandwidth(h), X[:, [j]]) for j, h in enumerate((0.5, 1.0, 2.0))]
    Q = points(5, 3, seed=2)
    together = np.prod([w.cdf(Q[:, [j]]) for j, w in enumerate(one)], axis=0)
    np.testing.assert_allclose(Windows(kernel, Bandwidth([0.5, 1.0, 2.0]), X).cdf(Q), together, rtol=1e-13)


@pytest.mark.parametrize("bandwidth", BANDWIDTHS, ids=["number", "axes", "matrix"])
@pytest.mark.parametrize("sensitivity", [0.0, 0.5])
def test_a_marginal_is_the_integral_of_the_joint_density(bandwidth: Any, sensitivity: float) -> None:
    windows = Windows(Gaussian(), Bandwidth(bandwidth, sensitivity=sensitivity), points(), np.arange(12.0))
    y = np.linspace(-15, 15, 4001)
    joint = [windows.density(np.column_stack([y, np.full_like(y, q)])).sum() * (y[1] - y[0]) for q in (-0.5, 0.2)]
    np.testing.assert_allclose(windows.marginal([1]).density(np.array([[-0.5], [0.2]])), joint, rtol=1e-9)


@pytest.mark.parametrize("bandwidth", BANDWIDTHS, ids=["number", "axes", "matrix"])
@pytest.mark.parametrize("sensitivity", [0.0, 0.5])
def test_a_conditional_is_the_joint_over_the_marginal(bandwidth: Any, sensitivity: float) -> None:
    windows = Windows(Gaussian(), Bandwidth(bandwidth, sensitivity=sensitivity), points(), np.arange(12.0))
    Q = np.column_stack([np.full(5, 0.4), np.linspace(-2, 2, 5)])
    ratio = windows.log_density(Q) - windows.marginal([0]).log_density(Q[:, :1])
    np.testing.assert_allclose(windows.conditional({0: 0.4}).log_density(Q[:, 1:]), ratio, rtol=1e-11, atol=1e-11)


def test_a_conditional_of_a_product_of_compact_kernels() -> None:
    windows = Windows(smoothing_kernel_from("cosine", "product"), Bandwidth([0.8, 1.5, 0.9]), points(30, 3))
    Q = np.column_stack([points(4, 1, seed=4), np.tile([0.1, -0.2], (4, 1))])
    ratio = windows.density(Q) / windows.marginal([1, 2]).density(Q[:, 1:])
    np.testing.assert_allclose(windows.conditional({1: 0.1, 2: -0.2}).density(Q[:, :1]), ratio, rtol=1e-11)
    with pytest.raises(OutOfReachError, match=r"within reach.*\{1: 99\.0\}"):
        windows.conditional({1: 99.0})


@given(st.floats(-3, 3), st.integers(0, 2**31))
@settings(max_examples=30)
def test_the_mean_of_a_conditional_is_nadaraya_watson(x: float, seed: int) -> None:
    """Lecture 4, for any symmetric K and any h' of y."""
    X = points(15, 2, seed)
    windows = Windows(Gaussian(), Bandwidth([0.5, np.exp(seed % 7 - 3)]), X)
    k = np.exp(-0.5 * np.square((x - X[:, 0]) / 0.5))
    np.testing.assert_allclose(windows.conditional({0: x}).mean(), [k @ X[:, 1] / k.sum()], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_leave_one_out_densities_agree_with_brute_force(kernel: SmoothingKernel) -> None:
    X, weight = points(8), np.array([1.0, 2.0, 0.0, 1e-3, 3.0, 1.0, 1.0, 5.0])
    left_out = Windows(kernel, Bandwidth(0.9), X, weight).log_density_left_out()
    others = [np.delete(np.arange(8), i) for i in range(8)]
    brute = [Windows(kernel, Bandwidth(0.9), X[o], weight[o]).log_density(X[[i]])[0] for i, o in enumerate(others)]
    np.testing.assert_allclose(left_out, brute, rtol=1e-10, atol=1e-10)


def test_leaving_out_a_single_point_gives_density_zero() -> None:
    assert Windows(Gaussian(), Bandwidth(1.0), np.zeros((1, 1))).log_density_left_out().tolist() == [-np.inf]


def test_leaving_out_a_dominant_weight_keeps_the_others() -> None:
    X = np.array([[0.0], [1.0], [2.0]])
    found = Windows(Gaussian(), Bandwidth(1.0), X, np.array([1e200, 1.0, 1.0])).log_density_left_out()
    assert found[0] == pytest.approx(np.log(0.5 * stats.norm.pdf(1) + 0.5 * stats.norm.pdf(2)))


def test_an_offset_changes_nothing() -> None:
    X, Q = points().round(2), points(5, seed=1).round(2)  # so that adding 1e8 rounds nothing that matters
    near = Windows(Gaussian(), Bandwidth(BANDWIDTHS[2]), X).log_density(Q)
    far = Windows(Gaussian(), Bandwidth(BANDWIDTHS[2]), X + 1e8).log_density(Q + 1e8)
    np.testing.assert_allclose(far, near, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1e7, 1e150])
@pytest.mark.parametrize("kernel", [Gaussian(), smoothing_kernel_from("triweight")], ids=repr)
def test_scaling_the_data_by_c_divides_the_density_by_c(scale: float, kernel: SmoothingKernel) -> None:
    X, Q = points(), points(5, seed=1) / 4
    once = Windows(kernel, Bandwidth(1.5), X).log_density(Q)
    scaled = Windows(kernel, Bandwidth(1.5 * scale), X * scale).log_density(Q * scale)
    np.testing.assert_allclose(scaled + 2 * np.log(scale), once, atol=1e-10 * abs(np.log(scale)))


def test_weights_may_be_of_any_size() -> None:
    X, Q, weight = points(), points(5, seed=1), np.arange(12.0)
    once = Windows(Gaussian(), Bandwidth(0.5), X, weight).log_density(Q)
    for size in (1e-300, 1e-150, 1e150, 1e300):
        np.testing.assert_allclose(
            Windows(Gaussian(), Bandwidth(0.5), X, size * weight).log_density(Q), once, rtol=1e-12
        )


def test_far_away_a_gaussian_is_unlikely_but_not_impossible() -> None:
    windows = Windows(Gaussian(), Bandwidth(1.0), points())
    far = windows.log_density(np.array([[1e5, 0.0], [1e100, 0.0]]))
    assert np.isfinite(far).all()
    assert far[0] == pytest.approx(-0.5e10, rel=1e-3)


def test_radial_kernels_without_a_formula_are_rejected() -> None:
    windows = Windows(smoothing_kernel_from("epanechnikov"), Bandwidth(1.0), points())
    for ask in (lambda: windows.cdf(points()), lambda: windows.marginal([0]), lambda: windows.conditional({0: 0.0})):
        with pytest.raises(NoClosedFormError, match=r'Epanechnikov\(form="product"\)'):
            ask()
    full = Windows(Gaussian(), Bandwidth(np.eye(3) + 0.5), points(5, 3))
    with pytest.raises(NoClosedFormError, match="3 columns"):
        full.cdf(points(5, 3))


def test_a_grid_covers_the_points_and_has_their_density() -> None:
    windows = Windows(Gaussian(), Bandwidth(0.4), points())
    (x, y), density = windows.on_grid((60, 50), extent=5.0)
    assert density.shape == (60, 50)
    assert (density.sum() * (x[1] - x[0]) * (y[1] - y[0])) == pytest.approx(1, abs=1e-4)
    assert density[7, 9] == pytest.approx(windows.density(np.array([[x[7], y[9]]]))[0])
    grid, line = windows.marginal([0]).on_grid()
    assert grid.shape == line.shape == (1024,)
    with pytest.raises(NoClosedFormError, match="4 dimensions"):
        Windows(Gaussian(), Bandwidth(0.4), points(5, 4)).on_grid()


def test_points_of_weight_zero_do_not_change_adaptive_widths() -> None:
    X, weight = points(), np.r_[np.zeros(3), np.ones(9)]
    for kernel in (Gaussian(), smoothing_kernel_from("uniform")):
        bandwidth = Bandwidth(0.3, sensitivity=0.5)
        with_them = Windows(kernel, bandwidth, X, weight).log_density(X)
        np.testing.assert_allclose(with_them, Windows(kernel, bandwidth, X[3:]).log_density(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("n", [40, MIN_SORTED_POINTS + 2], ids=["by points", "by cells"])
def test_a_curve_is_the_density_of_one_column(kernel: SmoothingKernel, n: int) -> None:
    """In places far apart as well; only a region may count a tiny density as 0."""
    X = np.concatenate([points(n // 2, 1), points(n // 2, 1, seed=1) + 1e3])
    windows = Windows(kernel, Bandwidth(0.5), X, np.arange(float(n)))
    x = np.concatenate([np.linspace(997, 1003, 30), np.linspace(-3, 3, 30), [500.0]])
    found = np.exp(windows.log_curve(x))
    np.testing.assert_allclose(found, windows.density(x[:, None]), rtol=1e-11, atol=1e-14 if found.all() else 3e-12)
