"""Lecture 4, "Nonparametric regression": from the joint density to Nadaraya and Watson's weighted average."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from mercer import KernelDensity, NadarayaWatson
from mercer.density import Bandwidth, Windows, smoothing_kernel_from
from mercer.density._kernels import SMOOTHING_KERNELS

Array = np.ndarray
NAMES = sorted(SMOOTHING_KERNELS)


def draw(n: int = 25) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, size=(n, 1))
    return x, np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=n)


def height(kernel: str, u: Array) -> Array:
    """K(u), a density."""
    return np.exp(smoothing_kernel_from(kernel).log_density(np.reshape(u, (-1, 1))))


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("inner", ["gaussian", "triangular"])
@pytest.mark.parametrize("width", [0.1, 1.0])
def test_the_prediction_is_the_mean_of_the_conditional_density(kernel: str, inner: str, width: float) -> None:
    """E[y|x] under p(x, y) ∝ Σ K_h(x − x_n) K_h'(y − y_n), for any symmetric K and any h'."""
    x, y = draw()
    at, h = 1.3, 0.5
    over_x = height(kernel, (at - x[:, 0]) / h)

    def conditional(value: float) -> float:
        return float(over_x @ height(inner, (value - y) / width) / width / over_x.sum())

    ends = (y.min() - 9 * width, y.max() + 9 * width)
    breaks = np.sort(np.concatenate([y, y - width, y + width]))
    mass = quad(conditional, *ends, points=breaks, limit=400)[0]
    mean = quad(lambda value: value * conditional(value), *ends, points=breaks, limit=400)[0]
    assert_allclose(mass, 1.0, atol=1e-7)
    assert_allclose(NadarayaWatson(kernel, h).fit(x, y).predict([[at]]), [mean], atol=1e-7)


def test_the_joint_density_is_the_mean_of_the_products() -> None:
    """Corrected: p(x, y) = (1/N) Σ K_h(x − x_n) K_h'(y − y_n). The printed sum has the mass N, which p(y|x) cancels."""
    x, y = draw()
    h, width, step = 0.5, 0.3, 0.05
    across, up = np.arange(-2.5, 5.5, step), np.arange(-3.5, 3.5, step)
    over_x = height("gaussian", (across[:, None] - x[:, 0]) / h).reshape(len(across), -1) / h
    over_y = height("gaussian", (up[:, None] - y) / width).reshape(len(up), -1) / width
    printed = over_x @ over_y.T
    assert_allclose(printed.sum() * step**2, len(y), rtol=1e-5)
    joint = KernelDensity(bandwidth=[h, width]).fit(np.column_stack([x, y]))
    mesh = np.stack(np.meshgrid(across, up, indexing="ij"), axis=-1).reshape(-1, 2)
    assert_allclose(np.exp(joint.score_samples(mesh)), printed.ravel() / len(y), rtol=1e-9)


@pytest.mark.parametrize("kernel", NAMES)
def test_a_symmetric_kernel_has_its_point_as_mean(kernel: str) -> None:
    """The take-home exercise: E under K_h'(y − y_n) is y_n, which makes the last step true."""
    mean = quad(lambda u: u * height(kernel, np.array([u]))[0], -12, 12, points=[-1, 0, 1], limit=200)[0]
    assert_allclose(mean, 0.0, atol=1e-9)


def test_the_prediction_is_the_mean_of_samples_from_the_joint_windows() -> None:
    """The same by simulation: rows of the joint density near x have the regression as their mean y."""
    x, y = draw()
    rng = np.random.default_rng(1)
    pick = rng.integers(0, len(y), size=400_000)
    drawn_x, drawn_y = (values[pick] + 0.4 * rng.normal(size=len(pick)) for values in (x[:, 0], y))
    near = np.abs(drawn_x - 1.3) < 0.01
    assert near.sum() > 1000
    assert_allclose(drawn_y[near].mean(), NadarayaWatson(bandwidth=0.4).fit(x, y).predict([[1.3]])[0], atol=0.08)


@pytest.mark.parametrize("kernel", NAMES)
def test_weights_are_shares_of_the_density(kernel: str) -> None:
    """w(x, x_n) = K_h(x − x_n) / Σ K_h(x − x_n'), and the sum below is n times the Parzen density."""
    x, y = draw()
    at = np.array([[1.3]])
    weights = NadarayaWatson(kernel, 0.5).fit(x, y).weights(at)
    density = np.exp(Windows(smoothing_kernel_from(kernel), Bandwidth(0.5), x).log_density(at))
    assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(weights[0], height(kernel, (1.3 - x[:, 0]) / 0.5) / 0.5 / (len(y) * density), atol=1e-12)


@pytest.mark.parametrize("kernel", NAMES)
def test_from_the_nearest_neighbour_to_the_mean(kernel: str) -> None:
    x, y = draw()
    at = np.array([[1.3]])
    nearest = y[np.abs(x[:, 0] - 1.3).argmin()]
    assert_allclose(NadarayaWatson(kernel, 1e-5).fit(x, y).predict(at), [nearest], rtol=1e-12)
    assert_allclose(NadarayaWatson(kernel, 1e7).fit(x, y).predict(at), [y.mean()], atol=1e-6)
