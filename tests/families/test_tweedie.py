"""Tweedie distributions: those with a name of their own, and sums of a Poisson number of gamma variables."""

from __future__ import annotations

from decimal import Decimal, localcontext
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats

from mercer import families as f
from mercer._errors import DegenerateDataError, NoDensityError
from tests.families._fifty_digits import log_gamma

a = np.array
X, MEAN, PHI = a([0.3, 2.0, 9.0]), 2.5, 0.4


@pytest.mark.parametrize(
    ("power", "twin", "x"),
    [
        (0.0, stats.norm(MEAN, PHI**0.5), a([-1.0, 2.0, 9.0])),
        (1.0, stats.poisson(MEAN), a([0.0, 2.0, 9.0])),
        (2.0, stats.gamma(1 / PHI, scale=PHI * MEAN), X),
        (3.0, stats.invgauss(MEAN * PHI, scale=1 / PHI), X),
    ],
)
def test_powers_with_a_name(power: float, twin: object, x: np.ndarray) -> None:
    phi = 1.0 if power == 1 else PHI
    ours = f.Distribution(f.Tweedie(power), f.TweedieParameters(np.full(3, MEAN), np.full(3, phi)))
    theirs = twin.logpmf(x) if power == 1 else twin.logpdf(x)  # type: ignore[attr-defined]
    np.testing.assert_allclose(ours.log_density(x), theirs, rtol=1e-12)
    np.testing.assert_allclose(ours.cdf(x), twin.cdf(x), rtol=1e-11)  # type: ignore[attr-defined]
    np.testing.assert_allclose(ours.quantile(0.7), twin.ppf(0.7), rtol=1e-10)  # type: ignore[attr-defined]
    np.testing.assert_allclose(ours.mean, twin.mean(), rtol=1e-12)  # type: ignore[attr-defined]
    np.testing.assert_allclose(ours.variance, twin.var(), rtol=1e-12)  # type: ignore[attr-defined]


def log_density_with_fifty_digits(x: float, mean: float, phi: float, power: float) -> float:
    with localcontext(prec=50):
        y, m, d, p = map(Decimal, (x, mean, phi, power))
        number = ((2 - p) * m.ln()).exp() / (d * (2 - p))
        shape, scale = (2 - p) / (p - 1), d * (p - 1) * ((p - 1) * m.ln()).exp()
        middle = int(((2 - p) * y.ln()).exp() / (d * (2 - p)))
        width = 30 + 12 * int(middle**0.5)
        total = Decimal(0)
        for j in range(max(1, middle - width), middle + width):
            poisson = -number + j * number.ln() - log_gamma(Decimal(j + 1))
            gamma = (j * shape - 1) * y.ln() - j * shape * scale.ln() - y / scale - log_gamma(j * shape)
            total += (poisson + gamma).exp()
        return float(total.ln())


@pytest.mark.parametrize(
    ("power", "mean", "phi", "x"),
    [
        (1.01, 3.0, 0.2, 3.1),
        (1.2, 100.0, 1.0, 80.0),
        (1.5, 3.0, 0.05, 3.5),
        (1.5, 3.0, 0.5, 40.0),
        (1.7, 1e-3, 2.0, 1e-5),
        (1.95, 3.0, 2.0, 3.5),
    ],
)
def test_the_compound_density_has_all_digits(power: float, mean: float, phi: float, x: float) -> None:
    ours = float(f.Tweedie(power).log_density(a(x), f.TweedieParameters(a(mean), a(phi))))
    assert ours == pytest.approx(log_density_with_fifty_digits(x, mean, phi, power), rel=1e-13)


@pytest.mark.parametrize("power", [1.05, 1.5, 1.9])
@pytest.mark.parametrize("phi", [0.01, 1.0, 30.0])
def test_the_density_is_the_derivative_of_the_distribution_function(power: float, phi: float) -> None:
    family, at = f.Tweedie(power), f.TweedieParameters(a(2.0), a(phi))
    number = 2.0 ** (2 - power) / (phi * (2 - power))
    assert float(family.cdf(a(0.0), at)) == pytest.approx(np.exp(-number), rel=1e-12)
    assert float(family.log_density(a(0.0), at)) == pytest.approx(-number, rel=1e-12)
    low, high = 1.5, 2.5
    inside, _ = integrate.quad(
        lambda x: float(np.exp(family.log_density(a(x), at))), low, high, limit=400, epsabs=1e-11
    )
    between = float(family.cdf(a(high), at) - family.cdf(a(low), at))
    assert inside == pytest.approx(between, abs=2e-9)
    assert family.cdf(a([-1.0, np.inf]), at).tolist() == [0.0, pytest.approx(1.0, abs=1e-14)]


def test_a_sum_over_few_terms_suffices_for_a_large_rate() -> None:
    """λ = 10⁸ variables: the sum is normal to four digits, with the same density on both sides of a change of step."""
    phi = 1e-8
    at = f.TweedieParameters(a(1.0), a(phi))
    z = a([-2.0, 0.0, 1.0])
    ours = f.Tweedie(1.5).log_density(1 + z * np.sqrt(phi), at)
    np.testing.assert_allclose(ours, stats.norm(0, np.sqrt(phi)).logpdf(z * np.sqrt(phi)), atol=1e-3)
    # four terms to a standard deviation from √(λ/2) = 8 on: just below and above
    for number in (126.0, 129.0):
        phi = 2 / number
        j = np.arange(1, 1000)
        brute = stats.poisson(number).pmf(j) @ stats.gamma(j, scale=phi / 2).pdf(1.1)
        density = f.Tweedie(1.5).log_density(a(1.1), f.TweedieParameters(a(1.0), a(phi)))
        assert float(density) == pytest.approx(np.log(brute), rel=1e-12)
        below = np.exp(-number) + stats.poisson(number).pmf(j) @ stats.gamma(j, scale=phi / 2).cdf(1.1)
        ours = f.Tweedie(1.5).cdf(a(1.1), f.TweedieParameters(a(1.0), a(phi)))
        assert float(ours) == pytest.approx(below, rel=1e-12)


def test_quantiles_start_at_zero() -> None:
    at = f.TweedieParameters(np.full(6, 1.0), np.full(6, 1.0))
    below = np.exp(-2.0)  # λ = 2
    q = a([0.0, below, below + 1e-6, 0.9, 1.0, 1.5])
    x = f.Tweedie(1.5).quantile(q, at)
    assert x[:2].tolist() == [0.0, 0.0]
    assert 0 < x[2] < 1e-5
    assert float(f.Tweedie(1.5).cdf(x[3], f.TweedieParameters(a(1.0), a(1.0)))) == pytest.approx(0.9, abs=1e-13)
    assert x[4] == np.inf
    assert np.isnan(x[5])


@pytest.mark.parametrize("power", [1.3, 2.0])
def test_the_dispersion_is_found(power: float) -> None:
    rng = np.random.default_rng(0)
    truth = f.TweedieParameters(a(3.0), a(0.5))
    x = f.Tweedie(power).sample(truth, 4000, rng)
    values, counts = np.unique(x, return_counts=True)
    statistic = SimpleNamespace(weight=np.full((1, 1), len(x)), histogram=lambda group, column: (values, counts))
    mean, dispersion = f.Tweedie(power).fit(statistic)
    assert mean[0, 0] == pytest.approx(x.mean())
    assert dispersion[0, 0] == pytest.approx(0.5, rel=0.1)
    best = f.Tweedie(power).log_density(x, f.TweedieParameters(mean, dispersion)).sum()
    for other in (0.999, 1.001):
        assert f.Tweedie(power).log_density(x, f.TweedieParameters(mean, other * dispersion)).sum() < best


def test_constant_data_have_no_dispersion() -> None:
    statistic = SimpleNamespace(weight=np.full((1, 1), 3.0), histogram=lambda group, column: (a([2.0]), a([3.0])))
    with pytest.raises(DegenerateDataError, match="without spread"):
        f.Tweedie(1.5).fit(statistic)


def test_a_power_without_a_density_has_its_loss_alone() -> None:
    family, at = f.Tweedie(2.5), f.TweedieParameters(a(1.0), a(1.0))
    assert float(family.unit_deviance(a(2.0), a(1.0))) > 0
    with pytest.raises(NoDensityError, match=r"power 2\.5 has no density"):
        family.log_density(a(1.0), at)


@pytest.mark.parametrize("power", [0.5, 1 - 1e-9, np.nan, np.inf])
def test_there_is_no_tweedie_between_0_and_1(power: float) -> None:
    with pytest.raises(ValueError, match="no Tweedie distribution has the power"):
        f.Tweedie(power)


def test_dispersions_are_checked() -> None:
    with pytest.raises(ValueError, match="finite number above 0"):
        f.Tweedie(1.5, dispersion=-1.0)
    with pytest.raises(ValueError, match="is a Poisson"):
        f.Tweedie(1.0, dispersion=2.0)
    with pytest.raises(ValueError, match="dispersion="):
        f.Tweedie(1.5).natural(f.TweedieParameters(a(1.0), a(1.0)))
    with pytest.raises(ValueError, match="a prior needs a known φ"):
        f.Tweedie(1.5).fit(SimpleNamespace(), f.Tweedie(1.5).prior(1.0, mean=1.0, dispersion=1.0))


def test_supports() -> None:
    assert f.Tweedie(1.5).support == "numbers from 0 upwards"
    assert f.Tweedie(2.0).support == f.Tweedie(3.5).support == "numbers above 0"
    assert f.Tweedie(-1.0).support == "finite numbers"
    assert f.Tweedie(1.0).discrete
    assert not f.Tweedie(1.5).discrete


@pytest.mark.parametrize("dispersion", [1e-15, 1e-18, 1e-40, 1e-200])
def test_a_tweedie_of_small_dispersion_is_nearly_normal(dispersion: float) -> None:
    at = f.TweedieParameters(a([1.7]), a([dispersion]))
    expected = -0.5 * np.log(2 * np.pi * dispersion * 1.7**1.5)
    np.testing.assert_allclose(f.Tweedie(1.5).log_density(a([1.7]), at), expected, rtol=1e-13)


def test_a_value_far_beyond_the_mean_has_a_log_density() -> None:
    at = f.TweedieParameters(a([1.0]), a([0.5]))
    np.testing.assert_allclose(f.Tweedie(1.5).log_density(a([1e300]), at), -4e300, rtol=1e-12)


def test_with_a_known_dispersion_a_fit_needs_only_sums() -> None:
    known, found = f.Tweedie(1.5, 0.4), f.Tweedie(1.5)
    assert (known.statistic, found.statistic) == ("sums", "values")
    fitted = known.fit(SimpleNamespace(mean=a([[2.5]]), weight=a([[4.0]])))
    assert fitted.mean == pytest.approx(2.5)
    assert fitted.dispersion == pytest.approx(0.4)


def test_a_power_of_one_has_the_support_of_counts() -> None:
    assert f.Tweedie(1.0).support == f.Poisson().support
