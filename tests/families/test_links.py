"""Links: their curves are derivatives of each other, and true where the mean itself rounds to 0, 1 or ∞."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mercer import families as f
from mercer._errors import LinkError
from mercer.families.links import LINKS, Link, LogOdds, Power, link_from, power_link

ALL = {**LINKS, "log odds": LogOdds(2.5), "power": Power(-0.5)}
SHARES = ["logit", "probit", "cloglog", "cauchit"]
means = st.floats(1e-3, 0.999)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=30)
@given(mean=means)
def test_a_link_and_its_inverse_cancel(name: str, mean: float) -> None:
    link = ALL[name]
    eta = link.forward(np.array([mean]))
    np.testing.assert_allclose(link.inverse(eta), mean, rtol=1e-12)
    assert link.predictors[0] < eta[0] < link.predictors[1]


@pytest.mark.parametrize("curve", ["mean_curve", "log_curve", "log_rest_curve"])
@pytest.mark.parametrize("name", ALL)
@settings(max_examples=20)
@given(mean=means)
def test_the_curves_are_derivatives_of_each_other(name: str, curve: str, mean: float) -> None:
    link = ALL[name]
    eta = link.forward(np.array([mean]))
    step = 1e-6 * np.maximum(np.abs(eta), 1e-3)
    low, middle, high = (getattr(link, curve)(eta + side * step) for side in (-1, 0, 1))
    size = 1e-6 + np.abs(middle.value) * 1e-9 / step
    for order in (0, 1):
        slope = (high[order] - low[order]) / (2 * step)
        scale = size * (1 + np.abs(middle[order]) / step * 1e-4)
        np.testing.assert_allclose(middle[order + 1], slope, rtol=2e-4, atol=float(scale[0]))


@pytest.mark.parametrize("name", ALL)
def test_mean_slope_and_curvature_are_consistent(name: str) -> None:
    link, mean = ALL[name], np.array([1e-6, 0.2, 0.5, 0.9, 1 - 1e-6])
    eta = link.forward(mean)
    np.testing.assert_allclose(link.mean_curve(eta).value, mean, rtol=1e-9)
    np.testing.assert_allclose(link.log_curve(eta).value, np.log(mean), rtol=1e-8)
    np.testing.assert_allclose(link.log_rest_curve(eta).value, np.log1p(-mean), rtol=1e-8)
    np.testing.assert_allclose(link.slope(eta), mean * link.log_curve(eta).first, rtol=1e-9)
    rest = -(1 - mean) * link.log_rest_curve(eta).first
    np.testing.assert_allclose(link.slope(eta), rest, rtol=1e-9)
    np.testing.assert_array_equal(link.bend(eta), link.mean_curve(eta).second)


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("eta", [-1e300, -800.0, -40.0, 0.0, 40.0, 800.0, 1e300])
def test_extreme_predictors_give_neither_nan_nor_warnings(name: str, eta: float) -> None:
    for curve in ("mean_curve", "log_curve", "log_rest_curve"):
        assert not np.isnan(getattr(ALL[name], curve)(np.array([eta]))).any()


def decimal_log_probabilities(name: str, eta: Decimal) -> tuple[Decimal, Decimal]:
    if name == "logit":
        return -(1 + (-eta).exp()).ln(), -(1 + eta.exp()).ln()
    rate = eta.exp()
    return (1 - (-rate).exp()).ln(), -rate


@pytest.mark.parametrize("name", ["logit", "cloglog"])
@pytest.mark.parametrize("eta", [-700.5, -60.0, -5.0, -0.1, 0.3, 1.5, 2.5])
def test_logarithms_of_both_probabilities_have_all_digits(name: str, eta: float) -> None:
    with localcontext(prec=700):
        log_p, log_q = decimal_log_probabilities(name, Decimal(eta))
        expected = float(log_p), float(log_q)
    link = ALL[name]
    ours = link.log_curve(np.array(eta)).value, link.log_rest_curve(np.array(eta)).value
    np.testing.assert_allclose(ours, expected, rtol=4e-15)


def test_the_normal_tail() -> None:
    """φ/Φ ≈ x + 1/x − 2/x³ and its derivative 1 − 1/x² + … hold far out; nearer, SciPy's density does."""
    x = np.array([1e2, 1e4, 1e8])
    value, first, second = ALL["probit"].log_curve(-x)
    np.testing.assert_allclose(first, x + 1 / x - 2 / x**3, rtol=1e-9)
    np.testing.assert_allclose(-second, 1 - 1 / x**2 + 6 / x**4, rtol=1e-7)
    np.testing.assert_allclose(value, stats.norm.logcdf(-x), rtol=1e-13)
    near = np.array([-13.0, -12.0, -11.0, -3.0, 0.0, 5.0])
    _, first, second = ALL["probit"].log_curve(near)
    hazard = np.exp(stats.norm.logpdf(near) - stats.norm.logcdf(near))
    np.testing.assert_allclose(first, hazard, rtol=1e-12)
    np.testing.assert_allclose(second, -hazard * (near + hazard), rtol=1e-9, atol=1e-12)


def test_a_cauchits_tails_are_those_of_a_cauchy() -> None:
    link, eta = ALL["cauchit"], np.array([-1e12, -1e3, 0.7, 1e3, 1e12])
    np.testing.assert_allclose(link.inverse(eta), stats.cauchy.cdf(eta), rtol=1e-12)
    np.testing.assert_allclose(link.log_rest_curve(eta).value, stats.cauchy.logsf(eta), rtol=1e-9)
    np.testing.assert_allclose(link.forward(np.array([1e-200])), -1e200 / math.pi, rtol=1e-12)


@pytest.mark.parametrize("name", ["inverse", "inverse_squared", "sqrt", "power", "log odds"])
def test_a_predictor_outside_the_domain_has_no_mean(name: str) -> None:
    link = ALL[name]
    outside = -1.0 if link.predictors[0] == 0 else 1.0
    assert np.isnan(link.log_curve(np.array([outside])).value).all()
    assert name == "inverse" or np.isnan(link.inverse(np.array([outside]))).all()


def test_power_links_have_names() -> None:
    assert [power_link(k) for k in (0, 1, -1, -2, 0.5)] == [f.LOG, f.IDENTITY, f.INVERSE, f.INVERSE_SQUARED, f.SQRT]
    assert repr(power_link(-0.5)) == "<link μ^-0.5>"
    with pytest.raises(ValueError, match="log link"):
        Power(0.0)


@pytest.mark.parametrize("name", ALL)
def test_links_are_compared_by_value(name: str) -> None:
    link = ALL[name]
    assert pickle.loads(pickle.dumps(link)) == link
    assert hash(pickle.loads(pickle.dumps(link))) == hash(link)
    assert repr(link).startswith("<link ")


CANONICAL = [
    (f.Gaussian(), "identity"),
    (f.Gaussian(variance=2.0), "identity"),
    (f.Bernoulli(), "logit"),
    (f.Binomial(7), "logit"),
    (f.Poisson(), "log"),
    (f.Gamma(), "inverse"),
    (f.InverseGaussian(), "inverse squared"),
    (f.NegativeBinomial(2.0), "log μ/(μ+2)"),
    (f.Tweedie(1.5), "μ^-0.5"),
    (f.Tweedie(1.0), "log"),
    (f.Tweedie(2.0), "inverse"),
    (f.Categorical(3), "softmax"),
]


@pytest.mark.parametrize(("family", "name"), CANONICAL, ids=[repr(family) for family, _ in CANONICAL])
def test_the_canonical_link(family: f.Family, name: str) -> None:
    assert link_from("canonical", family).name == name


def test_links_are_given_by_name_or_as_objects() -> None:
    for name, link in LINKS.items():
        assert link_from(name, f.Poisson()) is link
    assert link_from(f.SQRT, f.Poisson()) is f.SQRT


@pytest.mark.parametrize("wrong", [None, 3, ["log"]])
def test_an_invalid_link_is_rejected_with_the_known_names(wrong: object) -> None:
    with pytest.raises(LinkError, match="identity, log, logit, probit"):
        link_from(wrong, f.Poisson())


@pytest.mark.parametrize(
    ("wrong", "answer"),
    [
        ("logi", "Did you mean 'logit' or 'log'"),
        ("Log", "Did you mean 'log'"),
        ("cannonical", "Did you mean 'canonical'"),
        ("arcsine", "There are 'canonical', 'identity', 'log', 'logit'"),
    ],
)
def test_a_misspelt_link_is_recognised(wrong: str, answer: str) -> None:
    with pytest.raises(LinkError, match=f"no link is called '{wrong}'. {answer}"):
        link_from(wrong, f.Poisson())


def test_a_map_of_natural_parameters_is_not_the_link_of_a_response() -> None:
    with pytest.raises(TypeError, match="not the link of a response"):
        f.NEGATIVE_INVERSE.slope(np.array([-1.0]))


@pytest.mark.parametrize("name", ALL)
def test_the_logarithm_of_any_link_follows_from_its_mean(name: str) -> None:
    """The default of a link that overrides only its mean curve."""
    link, mean = ALL[name], np.array([0.01, 0.2, 0.5, 0.9])
    eta = link.forward(mean)
    general, own = Link.log_curve(link, eta), link.log_curve(eta)
    np.testing.assert_allclose(general.value, own.value, rtol=1e-12)
    np.testing.assert_allclose(general.first, own.first, rtol=1e-9)
    np.testing.assert_allclose(general.second, own.second, rtol=1e-8, atol=1e-9)
