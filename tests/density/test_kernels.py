"""Smoothing kernels: laws, constants known from elsewhere, and how they begin and end."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammaln
from sklearn.neighbors import KernelDensity

from mercer import density as sm
from mercer._errors import KernelError
from mercer.density._kernels import COSINE_SERIES, SMOOTHING_KERNELS
from mercer.testing import check_smoothing_kernel
from tests.density._kernels import EVERY, every_kernel

FORMS = ["radial", "product"]
kernels = st.builds(lambda kind, form: kind(form), st.sampled_from(EVERY), st.sampled_from(FORMS))


@every_kernel
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
def test_every_kernel_obeys_the_laws(kind: type[sm.SmoothingKernel], form: str, columns: int) -> None:
    check_smoothing_kernel(kind(form), columns)


def test_the_naive_estimator_uses_a_closed_interval() -> None:
    """Lecture 4 counts points in [x − h, x + h] and writes K(u) = ½ for |u| < 1; with ≤ both are the same."""
    density = np.exp(sm.Uniform().log_density(np.array([[-1.0], [1.0], [0.3]])))
    np.testing.assert_allclose(density, 0.5, rtol=1e-15)
    assert sm.Uniform("product").log_density(np.array([[1.0, -1.0]]))[0] == pytest.approx(-np.log(4))
    assert sm.Uniform().log_density(np.array([[1.0, 1.0], [0.0, np.nextafter(1, 2)]])).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("columns", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("name", ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"])
def test_constants_agree_with_scikit_learn(name: str, columns: int) -> None:
    if name == "cosine" and columns % 2 == 0:
        columns += 1  # in even dimensions scikit-learn leaves out a term of the integral
    theirs = KernelDensity(kernel=name).fit(np.zeros((1, columns)))
    u = np.linspace(-0.3, 0.3, columns)[None]
    ours = sm.smoothing_kernel_from(name).log_density(u)
    np.testing.assert_allclose(ours, theirs.score_samples(u), rtol=1e-12, atol=1e-12)


def test_the_cosine_in_the_plane() -> None:
    """∫ r cos(½πr) dr = 2/π − 4/π²; scikit-learn's constant has the first term only."""
    assert np.exp(sm.Cosine().log_constant(2)) == pytest.approx(2 * np.pi * (2 / np.pi - 4 / np.pi**2), rel=1e-14)


@pytest.mark.parametrize(
    ("name", "variance", "roughness", "canonical"),
    [
        ("uniform", 1 / 3, 1 / 2, 1.3510),
        ("gaussian", 1.0, 1 / (2 * np.sqrt(np.pi)), 0.7764),
        ("epanechnikov", 1 / 5, 3 / 5, 1.7188),
        ("triangular", 1 / 6, 2 / 3, 1.8882),
        ("biweight", 1 / 7, 5 / 7, 2.0362),
        ("triweight", 1 / 9, 350 / 429, 2.3122),
        ("cosine", 1 - 8 / np.pi**2, np.pi**2 / 16, 1.7663),
        ("exponential", 2.0, 1 / 4, None),
    ],
)
def test_constants_agree_with_textbooks(name: str, variance: float, roughness: float, canonical: float | None) -> None:
    """The canonical widths are those of Marron and Nolan (1988)."""
    kernel = sm.smoothing_kernel_from(name)
    assert kernel.axis_variance(1) == pytest.approx(variance, rel=1e-13)
    assert kernel.roughness(1) == pytest.approx(roughness, rel=1e-13)
    if canonical is not None:
        assert kernel.canonical() == pytest.approx(canonical, abs=5e-5)


@pytest.mark.parametrize("columns", [1, 4, 30, 400])
def test_moments_of_balls(columns: int) -> None:
    assert sm.Uniform().axis_variance(columns) == pytest.approx(1 / (columns + 2), rel=1e-10)
    assert sm.Epanechnikov().axis_variance(columns) == pytest.approx(1 / (columns + 4), rel=1e-10)
    assert sm.Exponential().axis_variance(columns) == pytest.approx(columns + 1, rel=1e-10)
    assert sm.Gaussian().axis_variance(columns) == pytest.approx(1, rel=1e-10)


@every_kernel
def test_constants_exist_in_any_dimension(kind: type[sm.SmoothingKernel]) -> None:
    """In 2000 dimensions neither c nor 1/c is a number, but their logarithms are."""
    for form in FORMS:
        assert np.isfinite(kind(form).log_constant(2000))
        assert 0 < kind(form).axis_variance(2000) < np.inf
    ball = 1000 * np.log(np.pi) - gammaln(1001)
    assert sm.Uniform().log_constant(2000) == pytest.approx(ball, rel=1e-13)


@given(kernels, st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_permuted_and_mirrored_axes_give_the_same_density(kernel: sm.SmoothingKernel, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1, 1, size=(4, columns)) / np.sqrt(columns)
    mirrored = u[:, rng.permutation(columns)] * rng.choice([-1, 1], columns)
    np.testing.assert_allclose(kernel.log_density(mirrored), kernel.log_density(u), rtol=1e-9)


def test_the_logarithm_is_finite_in_the_far_tail() -> None:
    far = np.array([[1e6, 0.0]])
    assert sm.Gaussian().log_density(far)[0] == pytest.approx(-5e11)
    assert sm.Exponential().log_density(far)[0] == pytest.approx(-1e6, rel=1e-5)
    assert sm.Epanechnikov().log_density(far)[0] == -np.inf


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("uniform", lambda t: t / 2),
        ("epanechnikov", lambda t: 3 * t**2 / 4),
        ("triangular", lambda t: t**2 / 2),
        ("biweight", lambda t: 5 * t**3 / 4),
        ("triweight", lambda t: 35 * t**4 / 16),
        ("cosine", lambda t: (np.pi * t / 4) ** 2),
    ],
)
def test_small_probabilities_keep_their_digits(name: str, expected) -> None:  # type: ignore[no-untyped-def]
    t = 2.0**-30
    assert sm.smoothing_kernel_from(name).cdf(np.array(t - 1)) == pytest.approx(expected(t), rel=1e-8)


def test_the_tail_of_the_exponential_keeps_its_digits() -> None:
    assert sm.Exponential().cdf(np.array(-300.0)) == pytest.approx(np.exp(-300) / 2, rel=1e-14, abs=0)


def test_the_cosine_is_a_sum_of_powers() -> None:
    r = np.linspace(0, 1, 101)
    sums = np.polynomial.polynomial.polyval(1 - r**2, [0.0, *COSINE_SERIES])
    np.testing.assert_allclose(sums, np.cos(np.pi * r / 2), atol=5e-16)
    assert (COSINE_SERIES > 0).all()
    assert COSINE_SERIES[-1] < 1e-20


@every_kernel
def test_the_marginal_of_a_product_and_of_the_gaussian_is_the_kernel(kind: type[sm.SmoothingKernel]) -> None:
    for form in FORMS:
        kernel, x = kind(form), 0.4

        def density(y: float, kernel: sm.SmoothingKernel = kernel, x: float = x) -> float:
            return float(np.exp(kernel.log_density(np.array([x, y]))))

        edges = [-np.sqrt(1 - x**2), 0.0, np.sqrt(1 - x**2)]
        marginal = quad(density, -60, 60, points=[-1.0, *edges, 1.0], limit=400, epsabs=1e-11)[0]
        alone = float(np.exp(kernel.log_density(np.array([x]))))
        assert kernel.has_marginals == (abs(marginal - alone) < 1e-8)


@every_kernel
@pytest.mark.parametrize("form", FORMS)
def test_samples_are_determined_by_the_seed(kind: type[sm.SmoothingKernel], form: str) -> None:
    kernel = kind(form)
    for generator in (np.random.default_rng, np.random.RandomState):
        first, second = (kernel.sample(5, 3, generator(7)) for _ in range(2))
        assert (first == second).all()
    assert kernel.sample(0, 2, np.random.default_rng(0)).shape == (0, 2)
    within = np.abs(kernel.sample(2000, 2, np.random.default_rng(0)))
    assert (within.max(axis=1) <= kernel.reach).all()
    if form == "radial":
        assert (np.sqrt(np.square(within).sum(axis=1)) <= kernel.reach * (1 + 1e-15)).all()


@every_kernel
def test_both_forms_agree_in_one_dimension(kind: type[sm.SmoothingKernel]) -> None:
    u = np.linspace(-2, 2, 41)[:, None]
    radial, product = kind("radial"), kind("product")
    np.testing.assert_allclose(radial.log_density(u), product.log_density(u), rtol=1e-14)
    np.testing.assert_allclose(radial.autocorrelation(1)(u), product.autocorrelation(1)(u), rtol=1e-14)


def test_kernels_are_found_by_name() -> None:
    assert {name: kind.name for name, kind in SMOOTHING_KERNELS.items() if name != kind.name} == {
        "tophat": "uniform",
        "linear": "triangular",
    }
    assert {kind.name for kind in EVERY} <= set(SMOOTHING_KERNELS)
    kernel = sm.Biweight("product")
    assert sm.smoothing_kernel_from(kernel) is kernel
    assert sm.smoothing_kernel_from("biweight", "product") == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: sm.smoothing_kernel_from("gausian"),
            "there is no smoothing kernel 'gausian'. Did you mean 'gaussian'",
        ),
        (lambda: sm.smoothing_kernel_from(3), "3 is not a smoothing kernel.*tophat"),
        (lambda: sm.Gaussian("elliptic"), "cannot have the form 'elliptic'.*'radial', 'product'"),
        (lambda: sm.Gaussian().autocorrelation(2)(np.zeros((4, 3))), "3 columns.*one of 2"),
    ],
)
def test_invalid_kernels_are_rejected(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(KernelError, match=message):
        make()
