"""Distributions of rows: SciPy's distribution functions and quantiles, and the ways to ask."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mercer import families as f

a = np.array
MEAN = a([0.3, 0.8, 0.9, 0.99])
CASES: list[tuple[f.Family, Any, Any, np.ndarray]] = [
    (f.Gaussian(), f.Gaussian().at_mean(MEAN, 4.0), stats.norm(MEAN, 2.0), a([-3.0, 0.0, 1.0, 5.0])),
    (f.Bernoulli(), f.Bernoulli().at_mean(MEAN), stats.bernoulli(MEAN), a([-1.0, 0.0, 0.5, 1.0])),
    (f.Binomial(20), f.Binomial(20).at_mean(20 * MEAN), stats.binom(20, MEAN), a([3.0, 15.5, 20.0, 21.0])),
    (f.Poisson(), f.Poisson().at_mean(9 * MEAN), stats.poisson(9 * MEAN), a([-1.0, 2.5, 4.0, 40.0])),
    (f.Gamma(), f.Gamma().at_mean(MEAN, 0.5), stats.gamma(2.0, scale=MEAN / 2), a([-1.0, 0.1, 1.0, 9.0])),
    (
        f.InverseGaussian(),
        f.InverseGaussian().at_mean(MEAN, 0.5),
        stats.invgauss(MEAN / 2, scale=2.0),
        a([-1.0, 0.1, 1.0, 9.0]),
    ),
    (
        f.NegativeBinomial(2.5),
        f.NegativeBinomial(2.5).at_mean(9 * MEAN),
        stats.nbinom(2.5, 2.5 / (2.5 + 9 * MEAN)),
        a([-1.0, 2.5, 4.0, 40.0]),
    ),
]
NAMES = [repr(case[0]) for case in CASES]


@pytest.mark.parametrize(("family", "parameters", "theirs", "x"), CASES, ids=NAMES)
def test_distributions_agree_with_scipy(family: f.Family, parameters: Any, theirs: Any, x: np.ndarray) -> None:
    ours = f.Distribution(family, parameters)
    log_density = theirs.logpmf if family.discrete else theirs.logpdf
    at = np.floor(x) if family.discrete else x
    np.testing.assert_allclose(ours.log_density(at), log_density(at), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours.density(at), np.exp(log_density(at)), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(ours.mean, theirs.mean(), rtol=1e-12)
    np.testing.assert_allclose(ours.variance, theirs.var(), rtol=1e-12)
    for q in (1e-9, 0.025, 0.5, 0.975, 1 - 1e-9):
        np.testing.assert_allclose(ours.quantile(q), theirs.ppf(q), rtol=1e-7)
    for ends, other in zip(ours.interval(0.9), (theirs.ppf(0.05), theirs.ppf(0.95)), strict=True):
        np.testing.assert_allclose(ends, other, rtol=1e-8)


@pytest.mark.parametrize(("family", "parameters", "theirs", "x"), CASES, ids=NAMES)
def test_quantiles_invert_the_distribution_function(
    family: f.Family, parameters: Any, theirs: Any, x: np.ndarray
) -> None:
    ours = f.Distribution(family, parameters)
    draws = ours.sample(3, random_state=0)
    assert draws.shape == (3, 4)
    np.testing.assert_allclose(ours.quantile(ours.cdf(draws)), draws, rtol=1e-9)
    np.testing.assert_array_equal(draws, ours.sample(3, random_state=0))


@pytest.mark.parametrize(("family", "parameters", "theirs", "x"), CASES, ids=NAMES)
def test_rows_and_columns_of_values(family: f.Family, parameters: Any, theirs: Any, x: np.ndarray) -> None:
    ours = f.Distribution(family, parameters)
    assert len(ours) == 4
    table = ours.cdf(x[:, None])
    assert table.shape == (4, 4)
    np.testing.assert_array_equal(np.diag(table), ours.cdf(x))
    np.testing.assert_array_equal(ours[1:3].cdf(x[1:3]), ours.cdf(x)[1:3])
    np.testing.assert_array_equal(ours[a([3, 0])].mean, ours.mean[[3, 0]])
    np.testing.assert_array_equal(ours[-1].mean, ours.mean[-1:])
    quantiles = ours.quantile(a([[0.1], [0.9]]))
    assert quantiles.shape == (2, 4)
    np.testing.assert_array_equal(quantiles[1], ours.quantile(0.9))
    copy = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(copy.mean, ours.mean)


def test_large_counts_are_found_quickly_and_exactly() -> None:
    for mean in (1e4, 1e9):
        q = a([1e-8, 0.3, 0.999])
        np.testing.assert_array_equal(
            f.Poisson().quantile(q, f.PoissonParameters(np.full(3, mean))), stats.poisson(mean).ppf(q)
        )


def test_quantiles_of_counts_at_the_ends() -> None:
    q = a([0.0, 1.0, -0.1, np.nan])
    np.testing.assert_array_equal(
        f.Poisson().quantile(q, f.PoissonParameters(np.full(4, 3.0))), [0.0, np.inf, np.nan, np.nan]
    )
    np.testing.assert_array_equal(
        f.Binomial(7).quantile(q, f.BernoulliParameters(np.full(4, 0.3))), [0.0, 7.0, np.nan, np.nan]
    )
    certain = f.BernoulliParameters(a([0.0, 1.0]))
    np.testing.assert_array_equal(f.Binomial(7).quantile(a([0.5, 0.5]), certain), [0.0, 7.0])
    assert f.Poisson().quantile(a(0.5), f.PoissonParameters(a(0.0))) == 0


def test_a_negative_binomial_of_infinite_r_is_a_poisson() -> None:
    at = f.NegativeBinomialParameters(a([3.0, 3.0]), a([np.inf, np.inf]))
    x = a([2.0, 5.0])
    np.testing.assert_allclose(f.NegativeBinomial().cdf(x, at), stats.poisson(3.0).cdf(x), rtol=1e-12)
    np.testing.assert_array_equal(f.NegativeBinomial().variance_of(at), [3.0, 3.0])


def test_distributions_of_classes() -> None:
    p = a([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    rows = f.Distribution(f.Categorical(3), f.Categorical(3).at_mean(p))
    np.testing.assert_allclose(rows.density(2), [0.5, 1.0])
    np.testing.assert_allclose(rows.cdf(1), [0.5, 0.0])
    np.testing.assert_allclose(rows.cdf(a([[-1.0], [9.0]])), [[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(
        rows.quantile(a([[0.2], [0.21], [1.0], [2.0]])), [[0, 2], [1, 2], [2, 2], [np.nan] * 2]
    )
    np.testing.assert_array_equal(rows.mean, p)
    np.testing.assert_allclose(rows.variance, p * (1 - p))
    assert rows.sample(5, 0).shape == (5, 2)
    np.testing.assert_allclose(f.Categorical(3).unit_deviance(a([2, 2]), p), [-2 * np.log(0.5), 0.0])


def test_random_state_accepts_seeds_and_generators() -> None:
    rows = f.Distribution(f.Poisson(), f.PoissonParameters(a([3.0])))
    for state in (np.random.default_rng(0), np.random.RandomState(0), None):
        assert rows.sample(2, state).shape == (2, 1)


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_a_level_is_a_probability(level: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        f.Distribution(f.Poisson(), f.PoissonParameters(a([3.0]))).interval(level)


@pytest.mark.parametrize("ask", ["cdf", "quantile"])
def test_other_families_have_no_distribution_function_here(ask: str) -> None:
    rows = f.Distribution(f.Beta(), f.BetaParameters(a([1.0]), a([2.0])))
    with pytest.raises(TypeError, match="not known"):
        getattr(rows, ask)(0.5)
    for moment in ("mean", "variance"):
        with pytest.raises(TypeError, match="not known"):
            getattr(rows, moment)


def test_a_distribution_can_be_iterated_by_rows() -> None:
    rows = f.Distribution(f.Poisson(), f.PoissonParameters(a([3.0, 4.0])))
    assert [row.mean.tolist() for row in rows] == [[3.0], [4.0]]
    assert rows[-2].mean.tolist() == [3.0]
    for beyond in (2, -3):
        with pytest.raises(IndexError):
            rows[beyond]


@pytest.mark.parametrize(
    "rows",
    [
        *(f.Distribution(family, parameters) for family, parameters, _, _ in CASES),
        f.Distribution(f.Categorical(2), f.Categorical(2).at_mean(a([[0.2, 0.8]]))),
        f.Distribution(f.Tweedie(1.5), f.Tweedie(1.5).at_mean(a([1.0]), 0.5)),
    ],
    ids=lambda rows: rows.family.name,
)
def test_the_distribution_function_in_the_tails_and_at_nan(rows: f.Distribution) -> None:
    for x, share in ((-np.inf, 0.0), (1e300, 1.0), (np.inf, 1.0), (np.nan, np.nan)):
        np.testing.assert_array_equal(rows.cdf(x), np.full(len(rows), share))
