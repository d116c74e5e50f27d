"""The three nonlinearities of lecture 1, each of which defeats a linear model until its features are mapped.

Health against temperature is not monotone, relevance against the number of buyers saturates, and weight matters
relative to height. R² before and after is asserted on rows that no model has seen.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    BucketFeatures,
    KernelRidge,
    LinearRegression,
    LogFeatures,
    LogisticRegression,
    MonomialFeatures,
    Ridge,
    SplineFeatures,
)
from mercer._errors import TooLargeError
from mercer.kernels import Polynomial

Array = np.ndarray


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def scores(maps: dict[str, Pipeline], X: Array, y: Array) -> dict[str, float]:
    """R² of every model on the second half of the rows, learnt from the first."""
    half = len(X) // 2
    return {name: model.fit(X[:half], y[:half]).score(X[half:], y[half:]) for name, model in maps.items()}


def linear(*features: object) -> Pipeline:
    return make_pipeline(*features, LinearRegression())


# Non-monotonicity.


def health(rng: np.random.Generator) -> tuple[Array, Array]:
    """Temperature in °C, and a score that falls with the square of its distance from 37."""
    temperature = rng.uniform(34, 40, size=(2000, 1))
    return temperature, 10 - 2 * (temperature[:, 0] - 37) ** 2 + rng.normal(size=2000)


def test_non_monotone_health_against_temperature(rng: np.random.Generator) -> None:
    """ "Very high is bad and very low is good", or the other way round: both are wrong."""
    X, y = health(rng)
    found = scores(
        {
            "temperature": linear(),
            "with its square": linear(MonomialFeatures(2, include_bias=False)),
            "buckets": linear(BucketFeatures(n_buckets=20)),
            "splines": linear(SplineFeatures(include_bias=False)),
        },
        X,
        y,
    )
    assert found["temperature"] < 0.01
    assert min(found["with its square"], found["splines"]) > 0.96
    assert found["buckets"] > 0.95


def test_a_quadratic_model_finds_the_normal_temperature(rng: np.random.Generator) -> None:
    """Solution 2, [1, t, t²], contains Solution 1, [1, (t − 37)²], and finds 37 by itself."""
    X, y = health(rng)
    square = MonomialFeatures(2, include_bias=False).fit(X)
    model = LinearRegression().fit(square.transform(X), y)
    slope, bend = model.coef_
    assert -slope / (2 * bend) == pytest.approx(37, abs=0.05)
    assert bend == pytest.approx(-2, abs=0.1)
    knowing = LinearRegression().fit((X - 37) ** 2, y)
    assert model.score(square.transform(X), y) >= knowing.score((X - 37) ** 2, y)


def test_a_classifier_needs_the_square_too(rng: np.random.Generator) -> None:
    """Use standard units, in which a penalty keeps the small contribution of t² beyond t."""
    X, y = health(rng)
    well = y > 4
    plain, mapped = (
        make_pipeline(StandardScaler(), *features, LogisticRegression()).fit(X[:1000], well[:1000])
        for features in ([], [MonomialFeatures(2, include_bias=False)])
    )
    assert plain.score(X[1000:], well[1000:]) < 0.65
    assert mapped.score(X[1000:], well[1000:]) > 0.9


# Saturation.


def relevance(rng: np.random.Generator) -> tuple[Array, Array]:
    """Return how many customers bought a product, from 0 to millions, and a relevance with diminishing returns."""
    bought = np.floor(10 ** rng.uniform(0, 6, size=(4000, 1))) - 1
    return bought, np.log1p(bought[:, 0]) + rng.normal(scale=0.5, size=4000)


def test_saturating_relevance_against_how_many_bought(rng: np.random.Generator) -> None:
    X, y = relevance(rng)
    found = scores(
        {
            "N": linear(),
            "log(1 + N)": linear(LogFeatures()),
            "decades": linear(BucketFeatures("decades")),
            "small buckets": linear(BucketFeatures("quantiles", n_buckets=40)),
        },
        X,
        y,
    )
    assert found["N"] < 0.45
    assert found["log(1 + N)"] > 0.98
    assert 0.9 < found["decades"] < found["small buckets"]  # "small buckets allow quite flexible relationship"
    assert found["small buckets"] > 0.97


def test_buckets_are_any_step_function(rng: np.random.Generator) -> None:
    """φ(x) = (1[0 ≤ N < 10], 1[10 ≤ N < 100], …): the coefficients are the mean relevance of each decade."""
    X, y = relevance(rng)
    features = BucketFeatures("decades").fit(X)
    model = LinearRegression(fit_intercept=False).fit(features.transform(X), y)
    decade = np.maximum(np.floor(np.log10(np.maximum(X[:, 0], 1))), 0)
    np.testing.assert_allclose(model.coef_, [y[decade == k].mean() for k in range(6)], rtol=1e-10)
    assert features.get_feature_names_out(["N"])[:2].tolist() == ["N < 10", "N in [10, 100)"]


# Interactions.


def people(rng: np.random.Generator) -> Array:
    """Heights in inches and weights in kilograms, which know nothing of each other."""
    return np.column_stack([rng.uniform(58, 78, 2000), rng.uniform(45, 110, 2000)])


def test_interacting_height_and_weight(rng: np.random.Generator) -> None:
    """ "It's the weight relative to the height that's important": f = (52 + 1.9 (h − 60) − w)²."""
    X = people(rng)
    h, w = X.T
    y = -((52 + 1.9 * (h - 60) - w) ** 2) + rng.normal(scale=20, size=2000)
    found = scores(
        {
            "height, weight": linear(),
            "their product": linear(MonomialFeatures(2, interaction_only=True, include_bias=False)),
            "their squares": linear(make_column_transformer((MonomialFeatures(2, include_bias=False), [0]),
                                                            (MonomialFeatures(2, include_bias=False), [1]))),
            "all of second order": linear(MonomialFeatures(2, include_bias=False)),
        },
        X,
        y,
    )  # fmt: skip
    assert found["height, weight"] < 0.7
    assert max(found["their product"], found["their squares"]) < 0.95
    assert found["all of second order"] > 0.99


def test_robinsons_ideal_weight(rng: np.random.Generator) -> None:
    """Degree 2 finds 3.61 h² − 3.8 hw − 235.6 h + w² + 124 w + 3844 without WolframAlpha."""
    X = people(rng)
    h, w = X.T
    features = MonomialFeatures(2).fit(X)
    model = LinearRegression(fit_intercept=False).fit(features.transform(X), (52 + 1.9 * (h - 60) - w) ** 2)
    by_name = dict(zip(features.get_feature_names_out(["h", "w"]), model.coef_, strict=True))
    expected = {"1": 3844, "h": -235.6, "w": 124, "h^2": 3.61, "h w": -3.8, "w^2": 1}
    assert by_name == pytest.approx(expected, rel=1e-6)


def test_weight_over_squared_height_by_logarithms_and_a_line(rng: np.random.Generator) -> None:
    """Body mass index is not a polynomial, but a boundary of it is one in both columns: w − 25 h² = 0."""
    height, weight = rng.uniform(1.5, 2.0, 2000), rng.uniform(45, 110, 2000)
    X, heavy = np.column_stack([height, weight]), weight / height**2 > 25
    plain, mapped = (
        make_pipeline(*features, StandardScaler(), LogisticRegression(C=1e4)).fit(X[:1000], heavy[:1000])
        for features in ([], [MonomialFeatures(2, include_bias=False)])
    )
    accuracy = [model.score(X[1000:], heavy[1000:]) for model in (plain, mapped)]
    assert accuracy[1] > 0.995
    assert accuracy[0] <= accuracy[1]


# Monomials.


def test_monomials_by_stars_and_bars() -> None:
    """Ten of degree 3 in x₁, x₂, x₃, in the order of the lecture."""
    features = MonomialFeatures(3, exactly=True).fit(np.ones((1, 3)))
    assert features.get_feature_names_out(["x1", "x2", "x3"]).tolist() == [
        "x1^3", "x1^2 x2", "x1^2 x3", "x1 x2^2", "x1 x2 x3", "x1 x3^2", "x2^3", "x2^2 x3", "x2 x3^2", "x3^3",
    ]  # fmt: skip
    assert len(list(combinations_with_replacement(range(3), 3))) == features.n_output_features_ == 10


def test_forty_columns_and_degree_eight_are_for_the_kernel(rng: np.random.Generator) -> None:
    """314,457,495 features: they are counted, rejected, and not needed."""
    X = rng.normal(size=(200, 40)) / 6
    y = X[:, 0] * X[:, 1]
    assert MonomialFeatures(8, exactly=True).count(40) == 314_457_495
    assert MonomialFeatures(8).count(40) == 377_348_994
    with pytest.raises(TooLargeError, match=r"KernelRidge\(kernel=Polynomial\(degree=8\)\)"):
        MonomialFeatures(8).fit_transform(np.repeat(X, 100, axis=0))
    assert KernelRidge(kernel=Polynomial(degree=8), alpha=1e-6).fit(X, y).score(X, y) > 0.99


def test_the_map_of_the_quadratic_kernel() -> None:
    """(x₁², √2 x₁x₂, x₂²), and with 1, √2 x₁, √2 x₂ before it."""
    x, root = [[3.0, 5.0]], np.sqrt(2)
    squares = [9, root * 15, 25]
    np.testing.assert_allclose(MonomialFeatures(2, exactly=True, scaled=True).fit_transform(x)[0], squares, rtol=1e-15)
    all_of_them = [1, root * 3, root * 5, *squares]
    np.testing.assert_allclose(MonomialFeatures(2, scaled=True).fit_transform(x)[0], all_of_them, rtol=1e-15)


def test_high_degrees_overfit_and_ridge_cures_it(rng: np.random.Generator) -> None:
    x, new = np.sort(rng.uniform(-1, 1, (20, 1)), axis=0), np.linspace(-0.95, 0.95, 200)[:, None]
    y = np.sin(3 * x[:, 0]) + rng.normal(scale=0.2, size=20)
    powers = MonomialFeatures(15, include_bias=False)
    loose, held = make_pipeline(powers, LinearRegression()), make_pipeline(powers, Ridge(alpha=1e-2))
    error = [np.std(model.fit(x, y).predict(new) - np.sin(3 * new[:, 0])) for model in (loose, held)]
    assert loose.score(x, y) > held.score(x, y)
    assert error[0] > 1.0
    assert error[1] < 0.2
