"""Intervals for new rows: coverage of means and of observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mercer import GLM, LinearRegression, Ridge, summary
from mercer._errors import DataError, InferenceError, NonFiniteError
from mercer.data.blocks import rows_per_block
from mercer.families import L2, Binomial, Poisson, PoissonParameters
from mercer.families.links import LINKS
from mercer.inference import Summary
from tests.inference._data import columns, glm, responses, three_classes


def summary_of(family: str, rows: int = 300) -> Summary:
    X = columns(rows)
    y = responses(family, X)
    return summary(glm(family).fit(X, y), X, y)


def test_intervals_of_least_squares_agree_with_the_textbook() -> None:
    X = columns(25)
    y = responses("gaussian", X)
    table = summary(LinearRegression().fit(X, y), X, y)
    A, a = np.column_stack([np.ones(25), X]), np.array([[1.0, 0.3, -0.2, 2.0]])
    error = np.sqrt(table.criteria.dispersion * (a @ np.linalg.inv(A.T @ A) @ a.T))[0, 0]
    mean, observation = (table.predict_interval(a[:, 1:], 0.9, kind=kind) for kind in ("mean", "observation"))
    t = stats.t.ppf(0.95, 21)
    assert (mean.upper - mean.mean)[0] == pytest.approx(t * error)
    spread = np.sqrt(error**2 + table.criteria.dispersion)
    assert (observation.upper - observation.mean)[0] == pytest.approx(t * spread)


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "gamma"])
def test_the_mean_of_a_row_is_the_intercept_of_a_fit_centred_at_it(family: str) -> None:
    X = columns(200)
    y = responses(family, X)
    row = np.array([0.5, 1.0, -2.0])
    model = glm(family)
    interval = summary(model.fit(X, y), X, y).predict_interval(row[None])
    from_there = summary(model.fit(X - row, y), X - row, y)
    ends = model.link_.inverse(from_there.intervals[0])
    np.testing.assert_allclose([interval.lower[0], interval.upper[0]], ends, rtol=1e-6)


def test_an_interval_of_observations_covers_new_observations() -> None:
    """About 90 % of new counts lie in their intervals; without the uncertainty of the mean it would be 70 %."""
    inside, plain = [], []
    for seed in range(30):
        X, new = columns(40, seed), columns(200, seed + 100)
        eta = 0.3 + (new - X.mean(axis=0)) @ [0.4, -0.3, 0.1]
        counts = np.random.default_rng(seed).poisson(20 * np.exp(eta))
        y = responses("poisson", X, seed)
        interval = summary(GLM("poisson").fit(X, y), X, y).predict_interval(new, 0.9, kind="observation", exposure=20)
        assert (interval.lower == np.floor(interval.lower)).all()
        inside.append(np.mean((interval.lower <= counts) & (counts <= interval.upper)))
        law = stats.poisson(interval.mean)
        plain.append(np.mean((law.ppf(0.05) <= counts) & (counts <= law.ppf(0.95))))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.03)
    assert np.mean(plain) < 0.8


@pytest.mark.parametrize("family", ["poisson", "gamma", "bernoulli"])
def test_a_known_mean_leaves_the_quantiles_of_the_family(family: str) -> None:
    table, X = summary_of(family, 100_000), columns(4, seed=2)
    interval = table.predict_interval(X, 0.8, kind="observation")
    mean = interval.mean
    law = {
        "poisson": lambda: stats.poisson(mean),
        "bernoulli": lambda: stats.bernoulli(mean),
        "gamma": lambda: stats.gamma(1 / table.criteria.dispersion, scale=table.criteria.dispersion * mean),
    }[family]()
    np.testing.assert_allclose(interval.lower, law.ppf(0.1), rtol=2e-3)
    np.testing.assert_allclose(interval.upper, law.ppf(0.9), rtol=2e-3)


def test_an_observation_is_less_sure_than_its_mean_and_a_higher_level_is_wider() -> None:
    table, X = summary_of("gamma"), columns(10, seed=4)
    mean, observation = (table.predict_interval(X, kind=kind) for kind in ("mean", "observation"))
    assert (observation.lower < mean.lower).all()
    assert (observation.upper > mean.upper).all()
    assert (table.predict_interval(X, 0.99).upper > mean.upper).all()


def test_a_falling_link_has_its_ends_in_order() -> None:
    X = np.abs(columns(200))
    y = np.random.default_rng(0).gamma(5.0, 1 / (1 + X.sum(axis=1)) / 5.0)
    table = summary(GLM("gamma", "inverse").fit(X, y), X, y)
    interval = table.predict_interval(X[:10])
    assert (interval.lower < interval.mean).all()
    assert (interval.mean < interval.upper).all()


def test_an_exposure_multiplies_the_interval() -> None:
    table, X = summary_of("poisson"), columns(3, seed=2)
    one, two = (table.predict_interval(X, exposure=exposure) for exposure in (None, 2.0))
    np.testing.assert_allclose(two.upper, 2 * one.upper)


def test_new_rows_may_be_frames_with_categories() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 60, 90), "city": np.array(["Bonn", "Kiel", "Ulm"])[np.arange(90) % 3]})
    y = rng.poisson(np.exp(frame["age"] / 40))
    table = summary(GLM("poisson").fit(frame, y), frame, y)
    interval = table.predict_interval(frame[["age", "city"]].iloc[[5, 0]])
    every = table.predict_interval(frame)
    np.testing.assert_allclose(interval.lower, every.lower[[5, 0]])


def test_classes_have_intervals_of_their_probabilities() -> None:
    X = columns(400)
    two = responses("bernoulli", X).astype(int)
    binary = summary(GLM("bernoulli").fit(X, two), X, two).predict_interval(X[:5])
    classes = summary(GLM("categorical").fit(X, two), X, two).predict_interval(X[:5])
    np.testing.assert_allclose(classes.lower[:, 1], binary.lower, rtol=1e-5)
    np.testing.assert_allclose(classes.upper[:, 1], binary.upper, rtol=1e-5)
    three = (X[:, 0] + np.random.default_rng(0).normal(size=400) > 0).astype(int) + two
    model = GLM("categorical").fit(X, three)
    table = summary(model, X, three)
    interval = table.predict_interval(X[:5])
    np.testing.assert_allclose(interval.mean, model.predict_proba(X[:5]), rtol=1e-9)
    assert ((interval.lower < interval.mean) & (interval.mean < interval.upper)).all()
    with pytest.raises(InferenceError, match="predict_proba"):
        table.predict_interval(X, kind="observation")


def test_a_posterior_has_intervals_too() -> None:
    X = columns(50)
    y = responses("gaussian", X)
    sure, unsure = (summary(Ridge(alpha).fit(X, y), X, y).predict_interval(X) for alpha in (1e6, 1e-6))
    assert ((sure.upper - sure.lower) < (unsure.upper - unsure.lower) * 1.01).all()


def test_the_record_is_a_frame() -> None:
    table, X = summary_of("poisson"), columns(3, seed=2)
    frame = table.predict_interval(X).frame()
    assert list(frame.columns) == ["mean", "lower", "upper"]
    assert len(frame) == 3


def test_invalid_requests_are_rejected() -> None:
    X = columns(50)
    y = responses("gaussian", X)
    table = summary(LinearRegression().fit(X, y), X, y)
    with pytest.raises(InferenceError, match="not 'median'"):
        table.predict_interval(X, kind="median")
    with pytest.raises(DataError, match="use GLM"):
        table.predict_interval(X, offset=np.ones(50))


def test_blocks_of_rows_do_not_change_intervals_of_classes() -> None:
    X = columns(200)
    y = np.random.default_rng(0).integers(0, 3, size=200)
    table = summary(GLM("categorical").fit(X, y), X, y)
    n_blocks = 2 * rows_per_block(4 * 3**2) // len(X) + 1
    one, several = table.predict_interval(X), table.predict_interval(np.tile(X, (n_blocks, 1)))
    for name in ("mean", "lower", "upper"):
        expected = np.tile(getattr(one, name), (n_blocks, 1))
        np.testing.assert_allclose(getattr(several, name), expected, rtol=1e-12)


def drawn(family: Any, rows: int = 40) -> tuple[Any, Any]:
    """One column, and responses whose means between 0.1 and 0.6 any link has."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(rows, 1))
    mean = 0.1 + 0.5 * X[:, 0]
    draw = {
        "gaussian": lambda: mean + 0.1 * rng.normal(size=rows),
        "gamma": lambda: rng.gamma(1.0, mean),
        "inverse_gaussian": lambda: rng.wald(mean, 1.0),
        "poisson": lambda: rng.poisson(mean),
        "bernoulli": lambda: (rng.uniform(size=rows) < mean).astype(int),
        "binomial": lambda: rng.binomial(5, mean),
    }
    return X, draw[family]()


@pytest.mark.parametrize("link", [*LINKS])
@pytest.mark.parametrize("family", ["gaussian", "gamma", "inverse_gaussian", "poisson", "bernoulli", "binomial"])
@pytest.mark.filterwarnings("ignore::mercer.errors.MercerWarning")
def test_ends_are_in_order_and_inside_the_range_of_the_family(family: str, link: str) -> None:
    X, y = drawn(family)
    # a Poisson whose mean is below 1 is likeliest where each mean is 0 or 1, at infinite coefficients
    penalty = L2(0.1) if (family, link) == ("poisson", "cloglog") else None
    table = summary(GLM(Binomial(5) if family == "binomial" else family, link, penalty).fit(X, y), X, y)
    new = np.linspace(-0.3, 1.2, 7)[:, None]
    lowest, highest = -np.inf if family == "gaussian" else 0.0, {"bernoulli": 1.0, "binomial": 5.0}.get(family, np.inf)
    for kind in ("mean", "observation"):
        interval = table.predict_interval(new, kind=kind)
        assert (lowest <= interval.lower).all()
        assert (interval.lower <= interval.upper).all()
        assert (interval.upper <= highest).all()
    interval = table.predict_interval(new)
    assert (interval.lower <= interval.mean).all()
    assert (interval.mean <= interval.upper).all()


def test_an_interval_that_includes_infinite_means_has_no_upper_end() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(12, 1))
    y = rng.gamma(1.0, 1 / (0.1 + 2 * X[:, 0]))
    table = summary(GLM("gamma").fit(X, y), X, y)
    interval = table.predict_interval([[0.0]])
    assert interval.lower[0] == pytest.approx(2.9738, rel=1e-4)
    assert interval.upper[0] == np.inf
    assert table.predict_interval([[0.0]], kind="observation").upper[0] == np.inf
    central = table.predict_interval([[0.0]], 0.2, kind="observation")
    assert 0 < central.lower[0] < central.mean[0] < central.upper[0] < np.inf


def test_the_inverse_of_negative_means_has_its_ends_in_order() -> None:
    X, y = drawn("gaussian")
    up, down = (summary(GLM("gaussian", "inverse").fit(X, s * y), X, s * y).predict_interval(X) for s in (1, -1))
    np.testing.assert_allclose(down.lower, -up.upper, rtol=1e-6)
    np.testing.assert_allclose(down.mean, -up.mean, rtol=1e-6)


def test_counts_beyond_all_whole_numbers_of_float64_have_quantiles() -> None:
    assert Poisson().quantile(np.array([0.5]), PoissonParameters(np.array([1e20])))[0] == pytest.approx(1e20)


@pytest.mark.parametrize("kind", ["mean", "observation"])
@pytest.mark.parametrize("family", ["gaussian", "poisson"])
@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_a_mean_that_is_not_identified_has_no_interval(family: str, kind: str) -> None:
    """Columns that were equal differ, or a constant column has another value: no row says what that does."""
    X = columns(80)
    y = responses(family, X)
    table = summary(GLM(family).fit(X, y), X, y).predict_interval(X[:2], kind=kind)
    for extra, other in ((X[:, 2], -4.0), (np.full(80, 3.0), 5.0)):
        more = np.column_stack([X, extra])
        new = more[[0, 1]]
        new[1, 3] = other
        interval = summary(GLM(family).fit(more, y), more, y).predict_interval(new, kind=kind)
        np.testing.assert_allclose([interval.lower[0], interval.upper[0]], [table.lower[0], table.upper[0]], rtol=1e-6)
        assert np.isnan([interval.lower[1], interval.upper[1]]).all()
        assert np.isfinite(interval.mean).all()


@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_probabilities_that_are_not_identified_have_no_interval() -> None:
    X, y = three_classes(200)
    doubled = np.column_stack([X, X[:, 2]])
    new = doubled[:2].copy()
    new[1, 3] += 1.0
    plain = summary(GLM("categorical").fit(X, y), X, y).predict_interval(X[:1])
    interval = summary(GLM("categorical").fit(doubled, y), doubled, y).predict_interval(new)
    np.testing.assert_allclose(interval.upper[0], plain.upper[0], rtol=1e-5)
    assert np.isnan(interval.upper[1]).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_row_that_is_not_finite_is_rejected_by_number(value: float) -> None:
    table, new = summary_of("poisson"), columns(3)
    new[2, 1] = value
    with pytest.raises(NonFiniteError, match=r"'x1' .* row 2"):
        table.predict_interval(new)
