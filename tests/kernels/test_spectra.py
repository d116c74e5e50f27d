"""k(x − z) is k(0) times the mean of cos wᵀ(x − z) over the spectrum of k, also through the algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mercer import kernels as k
from mercer._errors import ColumnMismatchError, NoSpectrumError
from mercer.kernels.spectra import NormalSpectrum

KERNELS: list[k.Kernel] = [
    k.RBF(),
    k.RBF(sigma=2.0),
    k.RBF(gamma=0.0),
    k.Matern(nu=0.5),
    k.Matern(nu=1.5, length_scale=2.0),
    k.Matern(nu=2.5, length_scale=0.7),
    k.Laplacian(),
    k.Laplacian(gamma=1.5),
    k.RationalQuadratic(alpha=0.5),
    k.RationalQuadratic(alpha=3.0, length_scale=2.0),
    k.Constant(2.0),
    k.RBF() + 3 * k.Laplacian(),
    k.RBF(gamma=2.0) + 0.2 * k.RBF(gamma=0.01) + 1,
    k.RBF() * k.Matern(),
    k.Laplacian() * k.RationalQuadratic() * 2,
    (k.RBF() + k.Laplacian(gamma=3.0)) * (k.Matern() + 2 * k.Constant(0.5)),
    (k.RBF() + 1) ** 3,
    k.Matern() ** 0,
    k.RBF().on([0, 2]) + k.Laplacian().on([1]),
    k.RBF().on([2]) * k.Matern(nu=0.5).on([0, 1]),
    (4 * k.Matern()).normalised(),
    0 * k.RBF() + 0.0,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_mean_of_cosines_is_the_kernel(kernel: k.Kernel) -> None:
    away = np.random.default_rng(0).normal(size=(12, 3))
    exact = kernel(away, np.zeros((1, 3)))[:, 0]
    spectrum, draws = kernel.spectrum(3), 40_000
    w = spectrum.sample(draws, np.random.default_rng(1))
    assert w.shape == (draws, 3)
    assert spectrum.mass == pytest.approx(kernel.diag(np.zeros((1, 3)))[0])
    found = spectrum.mass * np.cos(away @ w.T).mean(axis=1)
    np.testing.assert_allclose(found, exact, atol=4 * spectrum.mass / np.sqrt(2 * draws) + 1e-12)


def test_the_spectrum_of_the_lecture() -> None:
    """For γ = ½ the standard normal distribution, and else w ~ √(2γ) N(0, 1)."""
    assert k.RBF(gamma=0.5).spectrum(4) == NormalSpectrum(4, 1.0)
    w = k.RBF(gamma=8.0).spectrum(1).sample(5000, np.random.default_rng(0))
    assert stats.kstest(w[:, 0] / 4, "norm").pvalue > 0.01


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_has_student_frequencies(nu: float) -> None:
    w = k.Matern(nu=nu, length_scale=3.0).spectrum(2).sample(5000, np.random.default_rng(0))
    assert stats.kstest(3 * w[:, 1], stats.t(2 * nu).cdf).pvalue > 0.01


def test_laplacian_has_independent_cauchy_coordinates() -> None:
    w = k.Laplacian(gamma=2.0).spectrum(2).sample(5000, np.random.default_rng(0))
    assert stats.kstest(w[:, 0] / 2, "cauchy").pvalue > 0.01
    large = np.abs(w) > 2  # half of them
    assert stats.chi2_contingency(np.histogram2d(*large.T.astype(float), bins=2)[0]).pvalue > 0.01


def test_a_seed_gives_the_same_frequencies_with_either_kind_of_generator() -> None:
    spectrum = (k.RBF() + k.Laplacian() * k.RationalQuadratic()).spectrum(2)
    for make in (np.random.default_rng, np.random.RandomState):
        np.testing.assert_array_equal(spectrum.sample(9, make(3)), spectrum.sample(9, make(3)))


def test_shares_of_a_sum_follow_its_masses() -> None:
    scales = (3 * k.Constant() + k.RBF()).spectrum(2).scales(1000, np.random.default_rng(0))
    assert (scales == 0).sum() == 750


@pytest.mark.parametrize(
    "kernel", [k.Linear(), k.Polynomial(degree=2), k.RBF() + k.Linear(), k.RBF() * k.Cosine(), k.FromFunction(np.dot)]
)
def test_kernels_without_a_spectrum_are_rejected_with_alternatives(kernel: k.Kernel) -> None:
    with pytest.raises(NoSpectrumError, match=r"RBF, Laplacian, Matern, RationalQuadratic and Constant.*Nyström"):
        kernel.spectrum(3)


def test_columns_out_of_range_are_rejected() -> None:
    with pytest.raises(ColumnMismatchError, match="column 5"):
        k.RBF().on([5]).spectrum(3)
