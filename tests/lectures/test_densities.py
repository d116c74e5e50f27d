"""Density estimation as lecture 4 has it: from spikes over counts in an interval to Parzen windows, and p(y|x)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from mercer import KernelDensity
from mercer.density import SmoothingKernel, smoothing_kernel_from

Array = np.ndarray
NAMES = ["uniform", "gaussian", "epanechnikov", "triangular", "biweight", "triweight", "cosine", "exponential"]
#: the two components of the mixture
MEANS, COVARIANCES = ([-1.0, -0.5], [1.2, 1.0]), ([[1.0, 0.6], [0.6, 0.8]], [[0.5, -0.3], [-0.3, 0.7]])


def points(n: int = 60) -> Array:
    return np.random.default_rng(4).normal(size=(n, 1))


def mixture(n: int, seed: int = 0) -> Array:
    """Rows of two Gaussians in the plane, in equal shares."""
    rng = np.random.default_rng(seed)
    which = rng.integers(2, size=n)
    both = [rng.multivariate_normal(m, C, size=n) for m, C in zip(MEANS, COVARIANCES, strict=True)]
    return np.where(which[:, None] == 0, *both)


def density_of_mixture(X: Array) -> Array:
    return np.mean([stats.multivariate_normal(m, C).pdf(X) for m, C in zip(MEANS, COVARIANCES, strict=True)], axis=0)


# One dimension.


def test_spikes_are_the_limit_of_width_zero() -> None:
    """ "First solution": zero wherever there is no training point, and beyond all bounds where there is one.

    Corrected: δ is not 1 at 0. A spike of height 1/(2hN) over a width of 2h has the mass 1/N, however small h is.
    """
    X = points()
    model = KernelDensity(kernel="uniform", bandwidth=1e-9).fit(X)
    assert (model.score_samples(X + 1e-6) == -np.inf).all()
    np.testing.assert_allclose(np.exp(model.score_samples(X)), 1 / (2e-9 * len(X)), rtol=1e-12)


def test_the_naive_estimator_counts_points_in_an_interval() -> None:
    """#{x_n ∈ [x − h, x + h]}/(2hN): the interval is closed, which whole numbers show."""
    X, x = np.array([0.0, 1.0, 1.0, 2.0, 5.0]), np.array([0.0, 1.0, 3.0, 3.5, 6.0])
    counts = [((q - 1 <= X) & (q + 1 >= X)).sum() for q in x]
    model = KernelDensity(kernel="uniform", bandwidth=1.0).fit(X[:, None])
    np.testing.assert_allclose(np.exp(model.score_samples(x[:, None])), np.array(counts) / (2 * 5), rtol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_parzen_windows_are_scaled_kernels(name: str) -> None:
    """p(x) = 1/(Nh) Σ K((x − x_n)/h)."""
    X, x, h = points(), np.linspace(-3, 3, 11), 0.4
    kernel = smoothing_kernel_from(name)
    K = np.exp(kernel.log_density(((x[:, None] - X[:, 0]) / h)[..., None]))
    found = np.exp(KernelDensity(kernel=name, bandwidth=h).fit(X).score_samples(x[:, None]))
    np.testing.assert_allclose(found, K.sum(axis=1) / (len(X) * h), rtol=1e-12)


def test_the_gaussian_estimator_as_printed() -> None:
    X, x, h = points(), np.linspace(-3, 3, 11), 0.3
    printed = (np.exp(-((x[:, None] - X[:, 0]) ** 2) / (2 * h**2)) / np.sqrt(2 * np.pi)).sum(axis=1) / (len(X) * h)
    found = np.exp(KernelDensity(bandwidth=h).fit(X).score_samples(x[:, None]))
    np.testing.assert_allclose(found, printed, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_effect_of_the_width(name: str) -> None:
    """A very wide kernel sees one heap at the mean, of the shape of the kernel itself; a narrow one every point."""
    X, h = points(), 1e6
    kernel = smoothing_kernel_from(name)
    u = np.array([0.0, 0.3, 0.9])
    wide = np.exp(KernelDensity(kernel=name, bandwidth=h).fit(X).score_samples((h * u)[:, None])) * h
    np.testing.assert_allclose(wide, np.exp(kernel.log_density(u[:, None])), rtol=1e-4)
    narrow = KernelDensity(kernel=name, bandwidth=1e-6).fit(X)
    assert (narrow.score_samples(X) > np.log(1e6 / len(X)) - 2).all()
    assert (narrow.score_samples(X + 1e-3) < -20).all()


def test_a_width_can_be_chosen_by_cross_validation() -> None:
    """On rows that are left out, by their log likelihood: narrower and wider kernels explain them less."""
    X = points(200)

    def left_out(h: float) -> float:
        return float(KernelDensity(bandwidth=h).fit(X).leave_one_out_log_density().sum())

    chosen = KernelDensity(bandwidth="likelihood-cv").fit(X).bandwidth_
    assert left_out(chosen) > max(left_out(chosen * factor) for factor in (0.5, 0.9, 1.1, 2.0))


@pytest.mark.parametrize("name", ["gaussian", "epanechnikov"])
def test_the_estimate_converges(name: str) -> None:
    """∫(p̂ − p)² falls like n^(−4/5) for a width like n^(−1/5): 32 times the rows, 16 times less of it."""
    grid = np.linspace(-5, 5, 401)[:, None]
    known = stats.norm.pdf(grid[:, 0])

    def error(n: int) -> float:
        fits = [np.random.default_rng(seed).normal(size=(n, 1)) for seed in range(12)]
        model = KernelDensity(kernel=name, bandwidth="scott-scaled")
        return float(np.mean([np.square(np.exp(model.fit(X).score_samples(grid)) - known).sum() for X in fits]))

    assert 8 < error(100) / error(3200) < 32


# Several dimensions.


def test_the_multivariate_form_as_printed() -> None:
    """1/N Σ exp(−½(x − x_n)ᵀΣ⁻¹(x − x_n))/√((2π)ᴰ|Σ|)."""
    X, Q, Sigma = mixture(40), mixture(9, seed=1), np.array([[0.5, 0.2], [0.2, 0.3]])
    away = Q[:, None] - X
    squares = np.einsum("qni,ij,qnj->qn", away, np.linalg.inv(Sigma), away)
    printed = np.exp(-0.5 * squares).sum(axis=1) / np.sqrt((2 * np.pi) ** 2 * np.linalg.det(Sigma)) / len(X)
    np.testing.assert_allclose(np.exp(KernelDensity(bandwidth=Sigma).fit(X).score_samples(Q)), printed, rtol=1e-12)


def test_a_number_is_a_multiple_of_the_identity() -> None:
    X, Q = mixture(40), mixture(9, seed=1)
    number, matrix = (KernelDensity(bandwidth=b).fit(X).score_samples(Q) for b in (0.7, 0.49 * np.eye(2)))
    np.testing.assert_allclose(number, matrix, rtol=1e-12)


def test_a_mixture_of_two_gaussians() -> None:
    """With a full Σ the mixture comes out, its two modes included, and more rows bring it nearer."""
    axis = np.linspace(-4.5, 4.5, 46)
    mesh = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    known = density_of_mixture(mesh)

    def error(n: int) -> float:
        X = mixture(n)
        Sigma = np.cov(X.T) * n ** (-1 / 3) / 4
        return float(np.abs(np.exp(KernelDensity(bandwidth=Sigma).fit(X).score_samples(mesh)) - known).max())

    assert error(4000) < 0.02
    assert error(4000) < 0.6 * error(250)


# Nonparametric regression.


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [0.01, 0.5, 30.0])
def test_the_mean_of_the_conditional_density_is_nadaraya_watson(name: str, width: float) -> None:
    """The exercise: E[y|x] = Σ K_h(x − x_n) y_n / Σ K_h(x − x_n), whatever the kernel of y and its width h'."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=80)
    y = np.sin(2 * x) + 0.1 * rng.normal(size=80)
    kernel: SmoothingKernel = smoothing_kernel_from(name, "product")
    model = KernelDensity(kernel=kernel, bandwidth=[0.4, width]).fit(np.column_stack([x, y]))
    K = np.exp(kernel.log_density(((0.3 - x) / 0.4)[:, None]))
    given: Any = model.conditional({0: 0.3})
    np.testing.assert_allclose(given.mean(), [K @ y / K.sum()], rtol=1e-12)
    drawn = given.sample(20_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(given.mean()[0], abs=5 * drawn.std() / np.sqrt(20_000))
