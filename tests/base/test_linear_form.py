"""The lectures' equivalences: generative classifiers are softmaxes of functions linear in features of x."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import mercer
from mercer import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, NaiveBayes, linear_form
from mercer._errors import NoLinearFormError, NonFiniteError
from mercer.families import Gaussian, Histogram, NegativeBinomial


def measurements(rng: np.random.Generator, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(3, size=200)
    noise = rng.normal(size=(200, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 0.5]])
    return noise * (1 + 0.3 * y[:, None]) + np.outer(y, [1.0, -1.0, 0.5]) + offset, y


def counts(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(3, size=200)
    return rng.poisson(0.5 + 2 * rng.random((3, 5))[y]), y


def mixed(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = measurements(rng)
    table = pd.DataFrame({"a": X[:, 0], "b": np.exp(X[:, 1] / 3), "n": rng.poisson(2 + y), "f": rng.random(200) < 0.3})
    table["town"] = np.array(["Ulm", "Bonn", "Jena"])[(rng.integers(3, size=200) + y) % 3]
    table["d"] = rng.beta(2 + y, 2)
    table.loc[rng.random(200) < 0.3, ["a", "n"]] = np.nan
    table.loc[rng.random(200) < 0.3, "town"] = None
    return table, y


def assert_reproduces(model: Any, X: Any) -> None:
    form = linear_form(model)
    features = form.feature_map(X)
    scores = np.asarray(features @ form.coef.T) + form.intercept
    np.testing.assert_allclose(log_softmax(scores, axis=1), model.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(form.predict_log_proba(X), model.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    assert form.coef.shape == (len(model.classes_), features.shape[1]) == (len(form.intercept), len(form.names))


GAUSSIAN = [
    pytest.param("GaussianNB", {}, id="GNB"),
    pytest.param("GaussianNB", {"shared_variance": True}, id="GNB, shared"),
    pytest.param("NaiveBayes", {}, id="NaiveBayes"),
    pytest.param("NaiveBayes", {"families": Gaussian(variance=2.0)}, id="known variance"),
    pytest.param("NaiveBayes", {"families": "multivariate_gaussian"}, id="multivariate"),
    *(
        pytest.param("GaussianDiscriminant", {"covariance": structure}, id=f"GaussianDiscriminant {structure}")
        for structure in ("full", "diagonal", "spherical", "shared full", "shared diagonal", "shared spherical")
    ),
    *(
        pytest.param("LinearDiscriminantAnalysis", {"solver": solver}, id=f"LDA {solver}")
        for solver in ("svd", "lsqr", "eigen")
    ),
    pytest.param("QuadraticDiscriminantAnalysis", {}, id="QDA"),
]


@pytest.mark.parametrize(("name", "options"), GAUSSIAN)
def test_linear_forms_of_models_of_numbers(rng, name, options):
    X, y = measurements(rng)
    assert_reproduces(getattr(mercer, name)(**options).fit(X, y), X)


@pytest.mark.parametrize(("name", "options"), GAUSSIAN)
def test_digits_are_kept_far_from_zero(rng, name, options):
    X, y = measurements(rng, offset=1e7)
    assert_reproduces(getattr(mercer, name)(**options).fit(X, y), X)


@pytest.mark.parametrize(
    "model", [MultinomialNB(), BernoulliNB(), ComplementNB(), CategoricalNB(), NaiveBayes("poisson")]
)
def test_linear_forms_of_models_of_counts(rng, model):
    X, y = counts(rng)
    assert_reproduces(model.fit(X, y), X)


@pytest.mark.parametrize("model", [MultinomialNB(), BernoulliNB(), ComplementNB(), NaiveBayes()])
def test_sparse_counts_stay_sparse(rng, model):
    X, y = counts(rng)
    model.fit(sp.csr_matrix(X), y)
    assert sp.issparse(linear_form(model).feature_map(sp.csr_matrix(X)))
    assert_reproduces(model, sp.csr_matrix(X))


@pytest.mark.parametrize(
    "families",
    [
        "auto",
        {"b": "gamma", "n": "poisson", "f": "bernoulli", "d": "beta"},
        {"b": "lognormal", "n": NegativeBinomial(r=3.0), "d": Histogram(bins=4), "a": Histogram(bins=3)},
        {("b", "d"): "multivariate_gaussian", "n": "categorical"},
    ],
)
def test_a_mixed_model_is_linear_in_the_statistics_of_its_columns(rng, families):
    table, y = mixed(rng)
    model = NaiveBayes(families).fit(table, y)
    assert_reproduces(model, table)
    assert_reproduces(model, table.assign(town="Köln"))  # a level never seen


def test_shares_are_linear_in_their_logarithms(rng):
    X, y = rng.dirichlet([2, 3, 4], size=100), rng.integers(2, size=100)
    assert_reproduces(NaiveBayes("dirichlet").fit(X, y), X)


def test_unequal_priors_and_an_unseen_class(rng):
    X, y = measurements(rng)
    assert_reproduces(GaussianNB(priors=[0.7, 0.2, 0.1]).fit(X, y), X)
    model = NaiveBayes().partial_fit(X, y, classes=[0, 1, 2, 3])
    form = linear_form(model)
    assert np.isneginf(form.intercept[3])
    np.testing.assert_allclose(form.predict_log_proba(X)[:, :3], model.predict_log_proba(X)[:, :3], atol=1e-9)


# The weights of the lectures.


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "GaussianDiscriminant"])
def test_weights_of_linear_discriminants(rng, name):
    """Lecture 4: β = Σ⁻¹(μ₁ − μ₀), γ = log π₁/π₀ − ½ (μ₁ + μ₀)ᵀβ."""
    X, y = measurements(rng)
    y = np.minimum(y, 1)
    options = {"covariance": "shared full"} if name == "GaussianDiscriminant" else {}
    form = linear_form(getattr(mercer, name)(**options).fit(X, y))
    np.testing.assert_array_equal(form.feature_map(X), X)
    mean = np.array([X[y == c].mean(axis=0) for c in (0, 1)])
    within = X - mean[y]
    beta = np.linalg.solve(within.T @ within / len(y), mean[1] - mean[0])
    np.testing.assert_allclose(form.coef[1] - form.coef[0], beta)
    gamma = np.log(np.mean(y == 1) / np.mean(y == 0)) - 0.5 * (mean[1] + mean[0]) @ beta
    np.testing.assert_allclose(form.intercept[1] - form.intercept[0], gamma)


def test_gaussian_weights_with_shared_variance(rng):
    """Lecture 2: θᵢ = (μ₁ − μ₀)/σ², bias log π₁/π₀ + Σ(μ₀² − μ₁²)/2σ²."""
    X, y = measurements(rng)
    y = np.minimum(y, 1)
    model = GaussianNB(shared_variance=True, var_smoothing=0.0).fit(X, y)
    form = linear_form(model)
    np.testing.assert_array_equal(form.feature_map(X), X)
    difference = model.theta_[1] - model.theta_[0]
    np.testing.assert_allclose(form.coef[1] - form.coef[0], difference / model.var_[0])
    prior = np.log(model.class_prior_[1] / model.class_prior_[0])
    bias = prior + ((model.theta_[0] ** 2 - model.theta_[1] ** 2) / (2 * model.var_[0])).sum()
    np.testing.assert_allclose(form.intercept[1] - form.intercept[0], bias)


def test_one_column_with_two_variances_gives_a_parabola():
    """Lecture 4: the boundary ax² + bx + c = 0 between N(0, 1) and N(3, 4), at equal priors."""
    X = np.array([[-1.0], [1.0], [1.0], [5.0]])
    form = linear_form(GaussianNB(var_smoothing=0.0).fit(X, [0, 0, 1, 1]))
    assert form.names == ("(x0 − 1.5)", "(x0 − 1.5)²")
    b, a = form.coef[1] - form.coef[0]
    c = form.intercept[1] - form.intercept[0]
    roots = 1.5 + np.roots([a, b, c])
    # −(x−3)²/8 − log 2 = −x²/2
    np.testing.assert_allclose(np.sort(roots), np.sort(np.roots([3 / 8, 6 / 8, -9 / 8 - np.log(2)])))


def test_word_weights_are_log_probabilities(rng):
    X, y = counts(rng)
    model = MultinomialNB().fit(X, y)
    form = linear_form(model)
    np.testing.assert_array_equal(form.coef, model.feature_log_prob_)
    np.testing.assert_array_equal(form.intercept, model.class_log_prior_)


def test_features_have_names(rng):
    table, y = mixed(rng)
    names = linear_form(NaiveBayes({"n": "poisson", "b": "gamma"}).fit(table, y)).names
    assert {"n", "n is missing", "T1(b)", "T2(b)", "town = Ulm", "town is new", "f = True", "a is missing"} <= set(
        names
    )
    assert "d is missing" not in names


# What has none.


def test_a_model_without_a_linear_form_is_rejected(rng):
    X, y = counts(rng)
    with pytest.raises(NoLinearFormError, match="LogisticRegression has no linear form"):
        linear_form(LogisticRegression())
    with pytest.raises(NoLinearFormError, match=r"'x0'.*NegativeBinomial"):
        linear_form(NaiveBayes("negative_binomial").fit(X, y))
    with pytest.raises(NotFittedError):
        linear_form(GaussianNB())


@pytest.mark.parametrize(
    "model", [MultinomialNB(alpha=0.0), BernoulliNB(alpha=0.0), NaiveBayes("categorical", smoothing=0.0)]
)
def test_a_probability_of_zero_has_no_weight(model):
    X, y = np.array([[1, 0], [1, 1], [0, 1]]), [0, 0, 1]
    with pytest.raises(NoLinearFormError, match=r"infinite weight.*smoothing"):
        linear_form(model.fit(X, y))


def test_a_missing_value_without_a_term_is_rejected(rng):
    X, y = measurements(rng)
    form = linear_form(NaiveBayes().fit(X, y))
    with pytest.raises(NonFiniteError, match="predict_log_proba"):
        form.feature_map(np.full((1, 3), np.nan))


def test_a_linear_form_can_be_pickled(rng):
    table, y = mixed(rng)
    form = linear_form(NaiveBayes().fit(table, y))
    again = pickle.loads(pickle.dumps(form))
    np.testing.assert_array_equal(again.predict_log_proba(table), form.predict_log_proba(table))
