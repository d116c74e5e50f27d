"""Losses of responses: derivatives by finite differences, likelihoods by the densities, and both ends of the line."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import families as f
from mercer._errors import NonFiniteError, SupportError
from mercer.families.links import LINKS, LogOdds, link_from

COUNTS, AMOUNTS = [0.0, 1.0, 7.0], [0.3, 1.0, 6.5]
#: families, responses to try, and means inside their range
FAMILIES: list[tuple[f.Family, list[float], list[float]]] = [
    (f.Gaussian(), [-2.0, 0.3, 4.0], [-3.0, 0.4, 8.0]),
    (f.Bernoulli(), [0.0, 1.0], [0.02, 0.4, 0.97]),
    (f.Binomial(7), [0.0, 3.0, 5.5, 7.0], [0.2, 3.1, 6.8]),
    (f.Poisson(), [0.0, 0.7, 7.0], [0.05, 0.9, 12.0]),
    (f.Gamma(), AMOUNTS, [0.05, 0.9, 12.0]),
    (f.InverseGaussian(), AMOUNTS, [0.2, 0.9, 12.0]),
    (f.NegativeBinomial(2.5), COUNTS, [0.05, 0.9, 12.0]),
    (f.Tweedie(1.5), [0.0, 0.4, 7.0], [0.05, 0.9, 12.0]),
    (f.Tweedie(-1.0), [-1.0, 0.0, 2.0], [0.5, 0.9, 3.0]),
    (f.Tweedie(0.0), [-2.0, 0.3, 4.0], [-3.0, 0.4, 8.0]),
    (f.Tweedie(1.0), [0.0, 0.7, 7.0], [0.05, 0.9, 12.0]),
    (f.Tweedie(2.5), AMOUNTS, [0.2, 0.9, 12.0]),
    (f.Tweedie(4.0), AMOUNTS, [0.4, 0.9, 3.0]),
]


def pairs() -> list[Any]:
    links = [*LINKS.values(), LogOdds(2.5)]
    return [
        pytest.param(f.Response(family, link), y, means, id=f"{family!r}, {link.name}")
        for family, y, means in FAMILIES
        for link in {link.name: link for link in [*links, family.response_link]}.values()
    ]


def grid(response: f.Response, y: list[float], means: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Every response at every η whose mean the link reaches."""
    with np.errstate(all="ignore"):
        eta = np.asarray(response.predictor(np.array(means)))
        reached = np.isclose(response.mean(eta), means)
    eta = eta[np.isfinite(eta) & reached]
    return np.repeat(np.array(y), len(eta)), np.tile(eta, len(y))


def slope_of(function: Any, eta: np.ndarray) -> np.ndarray:
    """Central differences extrapolated to width 0: the fourth derivative is left."""
    step = 1e-4 * np.maximum(np.abs(eta), 1e-2)
    wide, narrow = ((function(eta + h) - function(eta - h)) / (2 * h) for h in (step, step / 2))
    return np.asarray((4 * narrow - wide) / 3)


@pytest.mark.parametrize(("response", "y", "means"), pairs())
def test_slopes_are_the_derivatives_of_the_loss(response: f.Response, y: list[float], means: list[float]) -> None:
    y_, eta = grid(response, y, means)
    total, first, second = response.slopes(y_, eta)
    losses = response.losses(y_, eta)
    assert total == pytest.approx(losses.sum(), rel=1e-12)
    np.testing.assert_allclose(first, slope_of(lambda e: response.losses(y_, e), eta), rtol=1e-5, atol=1e-6)
    observed = slope_of(lambda e: response.slopes(y_, e).first, eta)
    np.testing.assert_allclose(response.curvature(y_, eta), observed, rtol=1e-5, atol=1e-6)
    mean = response.mean(eta)
    expected = np.square(slope_of(response.mean, eta)) / response.family.unit_variance(mean)
    np.testing.assert_allclose(second, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("response", "y", "means"), pairs())
def test_expected_and_observed_curvature_agree_if_the_response_is_its_mean(
    response: f.Response, y: list[float], means: list[float]
) -> None:
    """The part that differs is proportional to y − μ; with a canonical link it is 0 everywhere."""
    y_, eta = grid(response, y, means)
    canonical = response.link == response.family.response_link
    at = y_ if canonical else response.mean(eta)
    _, first, second = response.slopes(at, eta)
    np.testing.assert_allclose(response.curvature(at, eta), second, rtol=1e-9, atol=1e-12)
    if not canonical:
        np.testing.assert_allclose(first, 0.0, atol=1e-9 * (1 + np.abs(second)).max())


@pytest.mark.parametrize(("response", "y", "means"), pairs())
def test_the_loss_is_half_the_unit_deviance(response: f.Response, y: list[float], means: list[float]) -> None:
    y_, eta = grid(response, y, means)
    deviance = response.family.unit_deviance(y_, response.mean(eta))
    np.testing.assert_allclose(2 * response.losses(y_, eta), deviance, rtol=1e-9, atol=1e-11)
    assert (deviance >= 0).all()


@pytest.mark.parametrize(("family", "y", "means"), FAMILIES, ids=[repr(case[0]) for case in FAMILIES])
def test_a_perfect_fit_has_loss_zero_and_a_small_error_half_its_square(
    family: f.Family, y: list[float], means: list[float]
) -> None:
    mean = np.array(means)
    np.testing.assert_allclose(family.unit_deviance(mean, mean), 0.0, atol=1e-15)
    near = mean * (1 + 1e-7)
    expected = np.square(near - mean) / family.unit_variance(mean)
    np.testing.assert_allclose(family.unit_deviance(near, mean), expected, rtol=1e-5)


EXTREME = np.array([-800.0, -700.0, -40.0, 40.0, 700.0, 800.0])


@pytest.mark.parametrize(("family", "link"), [(c[0], link) for c in FAMILIES for link in LINKS.values()])
def test_losses_are_never_nan_or_negative(family: f.Family, link: f.Link) -> None:
    y = np.array([1.0])
    response = f.Response(family, link)
    for eta in [*EXTREME, -1e300, -1e-150, 0.0, 1e-150, 1e10, 1e300]:
        loss, first, second = response.slopes(y, np.array([eta]))
        assert loss >= 0
        assert loss == response.losses(y, np.array([eta]))[0] or np.isfinite(loss)
        if np.isinf(loss):
            assert first[0] == second[0] == 0


def test_a_certain_class_has_loss_zero_and_its_opposite_loss_eta() -> None:
    response = f.Response(f.Bernoulli(), f.LOGIT)
    eta = np.array([800.0, 800.0, -800.0, -800.0])
    y = np.array([1.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(response.losses(y, eta), [0.0, 800.0, 800.0, 0.0])
    np.testing.assert_array_equal(response.slopes(y, eta).first, [0.0, 1.0, -1.0, 0.0])
    # 1 − p is not taken from p: at η = 40 the slope keeps its digits
    assert response.slopes(np.ones(1), np.array([40.0])).first[0] == pytest.approx(-np.exp(-40.0), rel=1e-14)


def test_a_log_link_beyond_all_floats() -> None:
    eta = np.array([-700.0, 700.0, 800.0])
    gamma = f.Response(f.Gamma(), f.LOG).slopes(np.ones(3), eta)
    np.testing.assert_allclose(gamma.first, [1 - np.exp(700.0), 1.0, 1.0])
    np.testing.assert_allclose(f.Response(f.Gamma(), f.LOG).losses(np.ones(2), eta[1:]), eta[1:] - 1)
    poisson = f.Response(f.Poisson(), f.LOG).slopes(np.ones(1), np.array([800.0]))
    assert poisson.loss == np.inf
    overdispersed = f.Response(f.NegativeBinomial(2.5), f.LOG).slopes(np.zeros(1), np.array([800.0]))
    assert overdispersed.loss == pytest.approx(2.5 * (800 - np.log(2.5)))
    assert overdispersed.first[0] == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("response", "eta"),
    [
        (f.Response(f.Poisson(), f.IDENTITY), -0.5),
        (f.Response(f.Poisson(), f.IDENTITY), 0.0),
        (f.Response(f.Gamma(), f.INVERSE), -0.5),
        (f.Response(f.Poisson(), f.SQRT), -0.5),
        (f.Response(f.Bernoulli(), f.LOG), 0.5),
        (f.Response(f.Bernoulli(), f.IDENTITY), 1.5),
        (f.Response(f.NegativeBinomial(2.0), f.NegativeBinomial(2.0).response_link), 0.5),
    ],
)
def test_an_eta_without_a_mean_has_infinite_loss_and_no_slope(response: f.Response, eta: float) -> None:
    inside = response.predictor(np.array([0.4]))[0]
    y, both = np.ones(2), np.array([inside, eta])
    loss, first, second = response.slopes(y, both)
    assert loss == np.inf
    assert first[1] == second[1] == response.curvature(y, both)[1] == 0
    np.testing.assert_allclose(first[0], response.slopes(y[:1], both[:1]).first[0])
    np.testing.assert_array_equal(np.isinf(response.losses(y, both)), [False, True])
    assert response.loss(y, both) == np.inf
    assert not response.unbounded
    # a row of weight 0 has no effect
    weight = np.array([2.0, 0.0])
    assert response.slopes(y, both, weight).loss == pytest.approx(2 * response.loss(y[:1], both[:1]))
    assert response.loss(y, both, weight) == pytest.approx(2 * response.loss(y[:1], both[:1]))


def test_pairs_of_family_and_link_with_a_mean_everywhere() -> None:
    everywhere = [
        (f.Gaussian(), f.IDENTITY),
        (f.Gaussian(), f.LOG),
        (f.Bernoulli(), f.PROBIT),
        (f.Binomial(9), f.CAUCHIT),
        (f.Poisson(), f.LOG),
        (f.Tweedie(1.5), f.LOG),
    ]
    assert all(f.Response(*pair).unbounded for pair in everywhere)


def test_a_link_of_a_binomial_applies_to_its_share() -> None:
    response = f.Response(f.Binomial(10), f.LOGIT)
    np.testing.assert_allclose(response.mean(np.array([0.0])), 5.0)
    np.testing.assert_allclose(response.predictor(np.array([5.0])), 0.0)


def test_shares_weighted_by_trials_agree_with_counts() -> None:
    rng = np.random.default_rng(0)
    y, eta = rng.integers(0, 11, 20).astype(float), rng.normal(size=20)
    counts = f.Response(f.Binomial(10), f.PROBIT).slopes(y, eta)
    shares = f.Response(f.Binomial(1), f.PROBIT).slopes(y / 10, eta, np.full(20, 10.0))
    for ours, theirs in zip(counts, shares, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_successes_and_failures_as_weighted_rows_have_the_same_slopes() -> None:
    y, eta = np.array([3.0, 10.0]), np.array([0.4, -0.2])
    counts = f.Response(f.Binomial(10), f.CLOGLOG).slopes(y, eta)
    ones, zeros = np.ones(2), np.zeros(2)
    each = f.Response(f.Bernoulli(), f.CLOGLOG)
    first = each.slopes(ones, eta, y).first + each.slopes(zeros, eta, 10 - y).first
    np.testing.assert_allclose(counts.first, first, rtol=1e-12)


COMPILED = [
    (f.Gaussian(), f.IDENTITY, st.floats(-1e6, 1e6)),
    (f.Bernoulli(), f.LOGIT, st.sampled_from([0.0, 1.0])),
    (f.Poisson(), f.LOG, st.one_of(st.integers(0, 10**6).map(float), st.floats(0, 1e3))),
    (f.Gamma(), f.LOG, st.floats(1e-3, 1e6)),
    (f.Tweedie(1.5), f.LOG, st.one_of(st.just(0.0), st.floats(1e-3, 1e6))),
    (f.Tweedie(1.1), f.LOG, st.one_of(st.just(0.0), st.floats(1e-3, 1e6))),
    (f.NegativeBinomial(2.5), f.LOG, st.integers(0, 10**6).map(float)),
    (f.NegativeBinomial(1e6), f.LOG, st.integers(0, 100).map(float)),
]


@pytest.mark.parametrize(("family", "link", "responses"), COMPILED, ids=[repr(case[0]) for case in COMPILED])
@settings(max_examples=60)
@given(data=st.data())
def test_compiled_and_plain_slopes_agree(family: f.Family, link: f.Link, responses: Any, data: st.DataObject) -> None:
    response = f.Response(family, link)
    assert response.lower() is not None
    y = np.array(data.draw(st.lists(responses, min_size=1, max_size=9)))
    eta = np.array([data.draw(st.one_of(st.floats(-700, 700), st.floats(-5, 5))) for _ in y])
    if data.draw(st.booleans()) and (y > 0).all() and link == f.LOG:
        eta = np.log(y) + np.minimum(np.abs(eta), 1.0)  # where y is close to its mean
    weight = data.draw(st.sampled_from([None, np.linspace(0.5, 2.0, len(y))]))
    ours, plain = response.slopes(y, eta, weight), response._slopes(y, eta, weight)
    # η is known to a rounding, and so is what follows from it
    blur = 2e-15 * (1 + np.abs(eta)) * (np.abs(plain.first) + plain.second)
    if np.isinf(plain.loss):
        assert np.isinf(ours.loss)
        return
    assert abs(ours.loss - plain.loss) <= 1e-13 * abs(plain.loss) + blur.sum()
    np.testing.assert_array_less(np.abs(ours.first - plain.first), 1e-13 * np.abs(plain.first) + blur + 1e-300)
    np.testing.assert_array_less(np.abs(ours.second - plain.second), 1e-13 * np.abs(plain.second) + blur + 1e-300)
    assert response.loss(y, eta, weight) == pytest.approx(ours.loss, rel=1e-13)


def test_nan_in_eta_is_propagated() -> None:
    for family in (f.Poisson(), f.InverseGaussian()):
        assert np.isnan(f.Response(family, f.LOG).slopes(np.ones(2), np.array([0.0, np.nan])).loss)


def test_slopes_of_read_only_strided_and_integer_arrays() -> None:
    response = f.Response(f.Poisson(), f.LOG)
    y, eta = np.arange(8), np.linspace(-1, 1, 16)[::2]
    eta.flags.writeable = False
    ours, plain = response.slopes(y, eta), response.slopes(y.astype(float), eta.copy())
    np.testing.assert_array_equal(ours.first, plain.first)
    assert ours.loss == plain.loss
    np.testing.assert_array_equal(eta, np.linspace(-1, 1, 16)[::2])


def test_the_loss_of_no_rows_is_zero() -> None:
    for link in (f.LOG, f.SQRT):
        loss, first, second = f.Response(f.Poisson(), link).slopes(np.zeros(0), np.zeros(0))
        assert loss == 0
        assert first.shape == second.shape == (0,)


def test_responses_are_compared_by_value() -> None:
    response = f.Response(f.Tweedie(1.5), link_from("canonical", f.Tweedie(1.5)))
    assert pickle.loads(pickle.dumps(response)) == response


BAD: list[tuple[f.Family, float, str]] = [
    (f.Bernoulli(), 0.5, "0 and 1"),
    (f.Binomial(7), 8.0, "0 to 7"),
    (f.Poisson(), -1.0, "0 upwards"),
    (f.NegativeBinomial(), -1.0, "0 upwards"),
    (f.Gamma(), 0.0, "above 0"),
    (f.InverseGaussian(), 0.0, "above 0"),
    (f.Tweedie(1.5), -0.1, "0 upwards"),
    (f.Tweedie(2.0), 0.0, "above 0"),
    (f.Tweedie(1.0), -0.1, "0 upwards"),
    (f.Categorical(3), 3.0, "codes 0, 1"),
    (f.Categorical(3), -1.0, "codes 0, 1"),
]


@pytest.mark.parametrize(("family", "value", "words"), BAD, ids=[f"{c[0]!r} {c[1]}" for c in BAD])
def test_a_response_outside_the_support_is_named(family: f.Family, value: float, words: str) -> None:
    with pytest.raises(SupportError, match=f"y is {value:g} in row 2.*{words}"):
        family.check_response(np.array([1.0, 1.0, value]))
    for missing in (np.nan, np.inf):
        with pytest.raises(NonFiniteError, match="in row 1"):
            family.check_response(np.array([1.0, missing]))


@pytest.mark.parametrize(
    ("family", "y"),
    [
        (f.Poisson(), [0.0, 0.5, 3.0]),
        (f.Binomial(7), [0.0, 2.5, 7.0]),
        (f.Tweedie(1.5), [0.0, 0.1]),
        (f.Tweedie(-1.0), [-3.0, 0.0]),
        (f.Gaussian(), [-1e300]),
        (f.Bernoulli(), [0.0, 1.0]),
    ],
)
def test_families_that_describe_a_response(family: f.Family, y: list[float]) -> None:
    family.check_response(np.array(y))


def test_a_rate_has_a_likelihood_but_no_probability() -> None:
    at = f.Poisson().at_mean(np.array([2.0, 2.0]))
    likelihood = f.Poisson().log_likelihood(np.array([3.0, 2.5]), at)
    assert likelihood[0] == f.Poisson().log_density(np.array([3.0]), at)[0]
    assert np.isfinite(likelihood[1])


@pytest.mark.parametrize("family", [f.Beta(), f.Histogram([0.0, 1.0]), f.Exponential(), f.LogNormal()])
def test_a_family_without_a_response_is_rejected_with_alternatives(family: f.Family) -> None:
    with pytest.raises(TypeError, match="poisson, gamma, inverse_gaussian"):
        family.unit_variance(np.ones(1))
    with pytest.raises(TypeError, match="does not describe a response"):
        family.at_mean(np.ones(1))


def test_known_dispersions() -> None:
    one = [f.Bernoulli(), f.Binomial(3), f.Categorical(3), f.Poisson(), f.NegativeBinomial(2.0), f.Tweedie(1.0)]
    assert [family.known_dispersion for family in one] == [1.0] * len(one)
    free = [f.Gaussian(), f.Gamma(), f.InverseGaussian(), f.Tweedie(1.5), f.Tweedie(3.0)]
    assert [family.known_dispersion for family in free] == [None] * len(free)
    assert f.Gaussian(variance=2.0).known_dispersion == 2.0
    assert f.Tweedie(1.5, dispersion=0.3).known_dispersion == 0.3


def test_deviances_agree_with_statsmodels() -> None:
    theirs = pytest.importorskip("statsmodels.genmod.families")
    y, mean = np.array([0.4, 1.0, 3.0]), np.array([0.9, 2.0, 2.5])
    for ours, other in [
        (f.Gaussian(), theirs.Gaussian()),
        (f.Poisson(), theirs.Poisson()),
        (f.Gamma(), theirs.Gamma()),
        (f.InverseGaussian(), theirs.InverseGaussian()),
        (f.NegativeBinomial(2.0), theirs.NegativeBinomial(alpha=0.5)),
        (f.Tweedie(1.5), theirs.Tweedie(var_power=1.5)),
    ]:
        np.testing.assert_allclose(ours.unit_deviance(y, mean), other._resid_dev(y, mean), rtol=1e-10)
        np.testing.assert_allclose(ours.unit_variance(mean), other.variance(mean), rtol=1e-12)


def test_the_canonical_link_of_a_gamma_of_known_shape() -> None:
    """η = −1/μ, and the Gamma's own natural parameter −b = −a/μ but for the shape a."""
    family, mean = f.Gamma(), np.array([0.5, 2.0])
    natural = family.natural(f.GammaParameters(np.full(2, 3.0), 3.0 / mean))[:, 1]
    np.testing.assert_allclose(3.0 * family.link.forward(mean), natural)


@pytest.mark.parametrize(("family", "link"), [(f.Poisson(), "log"), (f.Poisson(), "sqrt"), (f.Binomial(7), "probit")])
def test_slopes_and_means_of_tensors_agree_with_arrays(family: f.Family, link: str) -> None:
    """For losses that are implemented for tensors, and for others."""
    torch = pytest.importorskip("torch")
    response = f.Response(family, LINKS[link])
    y, eta, weight = np.array([0.0, 1.0, 3.0]), np.array([0.3, 0.9, 1.4]), np.array([1.0, 0.5, 2.0])
    tensors = [torch.as_tensor(part) for part in (y, eta, weight)]
    for with_weight in (True, False):
        expected = response.slopes(y, eta, weight if with_weight else None)
        found = response.slopes(*tensors[:2], tensors[2] if with_weight else None)
        assert found.loss == pytest.approx(expected.loss, rel=1e-12)
        assert response.loss(*tensors[:2], tensors[2] if with_weight else None) == pytest.approx(expected.loss)
        np.testing.assert_allclose(found.first.numpy(), expected.first, rtol=1e-12)
        np.testing.assert_allclose(found.second.numpy(), expected.second, rtol=1e-12)
    np.testing.assert_allclose(response.mean(tensors[1]).numpy(), response.mean(eta), rtol=1e-12)


@pytest.mark.parametrize("family", [f.Poisson(), f.Gamma(), f.InverseGaussian(), f.Tweedie(1.5)], ids=str)
@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.0, 2.0, 0.5])], ids=["unweighted", "weighted"])
def test_the_slope_vanishes_at_the_optimal_level_with_offsets(family: f.Family, weight: Any) -> None:
    y, offset = np.array([0.3, 1.0, 6.5, 2.0]), np.array([-3.0, 0.0, 2.0, 5.0])
    level = family.row_loss.level(y, offset, weight, f.LOG)
    slope = f.Response(family, f.LOG).slopes(y, level + offset, weight).first
    assert abs(slope.sum()) < 1e-12 * np.abs(slope).sum()


@pytest.mark.parametrize("family", [f.Gamma(), f.Gaussian()], ids=str)
def test_other_links_and_families_have_no_formula_for_a_level(family: f.Family) -> None:
    assert np.isnan(family.row_loss.level(np.ones(2), np.zeros(2), None, f.IDENTITY))
