"""Naive Bayes in the lectures: worked examples to the last fraction, and the claims made of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, logsumexp
from scipy.stats import norm, poisson

from mercer import BernoulliNB, GaussianNB, MultinomialNB, NaiveBayes, linear_form
from mercer.families import Bernoulli, BernoulliParameters, Gaussian, Histogram, Poisson

# Lecture 3's documents over its vocabulary: Chinese, Beijing, Shanghai, Macao, Tokyo, Japan.
DOCUMENTS = np.array([[2, 1, 0, 0, 0, 0], [2, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 1]])
CLASSES = ["c", "c", "c", "j"]
DOCUMENT_5 = np.array([[3, 0, 0, 0, 1, 1]])

both_kinds = pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def two_classes(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(2, size=100)
    return rng.normal(size=(100, 3)) * [1, 3, 0.1] + np.outer(y, [1, -1, 0.1]), y


@both_kinds
def test_document_table(kind):
    model = MultinomialNB(alpha=1).fit(kind(DOCUMENTS), CLASSES)
    beta_c = [Fraction(3, 7), Fraction(1, 7), Fraction(1, 7), Fraction(1, 7), Fraction(1, 14), Fraction(1, 14)]
    beta_j = [Fraction(2, 9), Fraction(1, 9), Fraction(1, 9), Fraction(1, 9), Fraction(2, 9), Fraction(2, 9)]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), np.array([beta_c, beta_j], float), rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [3 / 4, 1 / 4], rtol=1e-15)

    joint = Fraction(3, 4) * Fraction(3, 7) ** 3 * Fraction(1, 14) ** 2, Fraction(1, 4) * Fraction(2, 9) ** 5
    scores = np.exp(model.predict_joint_log_proba(kind(DOCUMENT_5)))[0]
    np.testing.assert_allclose(scores, [float(value) for value in joint], rtol=1e-13)
    np.testing.assert_array_equal(scores.round(6), [0.000301, 0.000135])
    np.testing.assert_allclose(model.predict_proba(kind(DOCUMENT_5))[0, 0], float(joint[0] / sum(joint)), rtol=1e-13)
    assert model.predict_proba(kind(DOCUMENT_5))[0, 0].round(3) == 0.690
    assert model.predict(kind(DOCUMENT_5)) == "c"


@both_kinds
def test_document_table_without_smoothing(kind):
    model = MultinomialNB(alpha=0).fit(kind(DOCUMENTS), CLASSES)
    beta = np.exp(model.feature_log_prob_)
    np.testing.assert_allclose(beta, [[5 / 8, 1 / 8, 1 / 8, 1 / 8, 0, 0], [1 / 3, 0, 0, 0, 1 / 3, 1 / 3]], rtol=1e-15)
    np.testing.assert_array_equal(np.exp(model.predict_joint_log_proba(kind(DOCUMENT_5)))[0, 0], 0)
    np.testing.assert_array_equal(model.predict_proba(kind(DOCUMENT_5)), [[0, 1]])
    everything = kind(np.ones((1, 6)))
    np.testing.assert_array_equal(model.predict_joint_log_proba(everything), [[-np.inf, -np.inf]])
    np.testing.assert_allclose(model.predict_proba(everything), [[3 / 4, 1 / 4]], rtol=1e-14)


@both_kinds
def test_document_table_under_bernoulli(kind):
    """Bernoulli naive Bayes uses the absence of every word too, and so predicts class j."""
    model = BernoulliNB(alpha=1).fit(kind(DOCUMENTS), CLASSES)
    joint = np.exp(model.predict_joint_log_proba(kind(DOCUMENT_5)))[0]
    c = Fraction(3, 4) * Fraction(4, 5) * Fraction(1, 5) ** 2 * Fraction(3, 5) ** 3
    j = Fraction(1, 4) * Fraction(2, 3) ** 3 * Fraction(2, 3) ** 3
    np.testing.assert_allclose(joint, [float(c), float(j)], rtol=1e-13)
    np.testing.assert_array_equal(joint.round(4), [0.0052, 0.0219])
    assert model.predict(kind(DOCUMENT_5)) == "j"


def test_a_repeated_document_weighs_as_often():
    """Ten copies of a document's words weigh ten times; in a training set, like ten documents but for the prior."""
    model = MultinomialNB().fit(DOCUMENTS, CLASSES)
    evidence = model.predict_joint_log_proba(DOCUMENT_5) - model.class_log_prior_
    repeated = model.predict_joint_log_proba(10 * DOCUMENT_5) - model.class_log_prior_
    np.testing.assert_allclose(repeated, 10 * evidence, rtol=1e-14)

    long = MultinomialNB().fit(DOCUMENTS * [[1], [1], [1], [10]], CLASSES)
    often = MultinomialNB().fit(DOCUMENTS[[0, 1, 2] + [3] * 10], ["c"] * 3 + ["j"] * 10)
    np.testing.assert_allclose(long.feature_log_prob_, often.feature_log_prob_, rtol=1e-14)


def test_bernoulli_maximum_likelihood(rng):
    """Equations 49–51 of lecture 1: count the rows of a class that show the word."""
    X, y = rng.integers(2, size=(60, 5)), rng.integers(2, size=60)
    model = BernoulliNB(alpha=0).fit(X, y)
    for c in (0, 1):
        counted = [np.sum((y == c) & (X[:, j] == 1)) / np.sum(y == c) for j in range(5)]
        np.testing.assert_allclose(np.exp(model.feature_log_prob_[c]), counted, rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.class_log_prior_[1]), np.mean(y == 1), rtol=1e-14)


def test_the_slope_of_the_bernoulli_log_likelihood():
    """Equation 48 of lecture 1 has a minus sign between its terms: n₁/θ − n₀/(1 − θ), which is 0 at n₁/n."""
    x = np.array([1, 1, 1, 0])
    n1, n0 = 3, 1

    def log_likelihood(theta):
        return Bernoulli().log_density(x, BernoulliParameters(theta)).sum()

    def slope(theta, step=1e-5):
        return (log_likelihood(theta + step) - log_likelihood(theta - step)) / (2 * step)

    for theta in (0.1, 0.4, 0.75, 0.9):
        np.testing.assert_allclose(slope(theta), n1 / theta - n0 / (1 - theta), rtol=1e-6, atol=1e-6)
    assert slope(0.74) > 0 > slope(0.76)


def test_gaussian_maximum_likelihood(two_classes):
    """Equations 59–61 of lecture 1."""
    X, y = two_classes
    model = GaussianNB(var_smoothing=0).fit(X, y)
    for k in (0, 1):
        mine = X[y == k]
        mu = mine.sum(axis=0) / len(mine)
        np.testing.assert_allclose(model.theta_[k], mu, rtol=1e-13)
        np.testing.assert_allclose(model.var_[k], ((mine - mu) ** 2).sum(axis=0) / len(mine), rtol=1e-13)
        np.testing.assert_allclose(model.class_prior_[k], len(mine) / len(X), rtol=1e-15)


def test_digits_survive_far_from_zero(rng):
    """A column with mean 1e8 and variance 1: ten digits, in one fit, in pieces and after forgetting."""
    near = np.round(rng.normal(size=(1000, 1)) * 2**20) / 2**20  # of which 1e8 takes no digit
    far, y = near + 1e8, np.arange(1000) % 2
    exact = GaussianNB(var_smoothing=0).fit(near, y)
    pieces = GaussianNB(var_smoothing=0).partial_fit(far[:300], y[:300], classes=[0, 1]).partial_fit(far[300:], y[300:])
    twice = GaussianNB(var_smoothing=0).fit(np.vstack([far, far[:200]]), np.append(y, y[:200]))
    for model in (GaussianNB(var_smoothing=0).fit(far, y), pieces, twice.forget(far[:200], y[:200])):
        np.testing.assert_allclose(model.var_, exact.var_, rtol=1e-10)
        # the mean itself has eight digits before its point
        np.testing.assert_allclose(model.theta_ - 1e8, exact.theta_, atol=1.5e-8)


def test_variance_smoothing(two_classes):
    X, y = two_classes
    plain, smooth = GaussianNB(var_smoothing=0).fit(X, y), GaussianNB(var_smoothing=0.1).fit(X, y)
    np.testing.assert_allclose(smooth.var_, plain.var_ + 0.1 * X.var(axis=0).max(), rtol=1e-13)


def test_shared_variance_weights(two_classes):
    """θ = (μ₁ − μ₀)/σ² and its bias (lecture 1, equations 67–71); lecture 2's weights are minus these."""
    X, y = two_classes
    model = GaussianNB(shared_variance=True, var_smoothing=0, priors=[0.5, 0.5]).fit(X, y)
    mu0, mu1 = model.theta_
    variance = model.var_[0]
    theta, bias = (mu1 - mu0) / variance, np.sum((mu0**2 - mu1**2) / (2 * variance))
    posterior = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(posterior, expit(X @ theta + bias), rtol=1e-10)

    w, w0 = (mu0 - mu1) / variance, np.sum((mu1**2 - mu0**2) / (2 * variance))
    np.testing.assert_allclose(posterior, 1 / (1 + np.exp(w0 + X @ w)), rtol=1e-10)

    form = linear_form(model)
    np.testing.assert_allclose(form.coef[1] - form.coef[0], theta, rtol=1e-10)


def test_own_variances_are_quadratic(two_classes):
    """Equation 63 of lecture 1: third differences of the log odds along a line vanish, second ones do not."""
    X, y = two_classes
    model = GaussianNB(var_smoothing=0).fit(X, y)
    line = np.arange(6.0)[:, None] * [[0.5, 0.2, 0.01]]
    odds = np.diff(model.predict_joint_log_proba(line), axis=1).ravel()
    mu, variance = model.theta_, model.var_
    squares = np.sum([0.25, 0.04, 1e-4] * (1 / variance[0] - 1 / variance[1]))
    np.testing.assert_allclose(np.diff(odds, 2), squares, rtol=1e-8)
    np.testing.assert_allclose(np.diff(odds, 3), 0, atol=1e-10)
    shift = np.sum(
        np.log(np.sqrt(variance[0] / variance[1])) + mu[0] ** 2 / (2 * variance[0]) - mu[1] ** 2 / (2 * variance[1])
    )
    np.testing.assert_allclose(odds[0], np.log(np.mean(y) / (1 - np.mean(y))) + shift, rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        MultinomialNB(),
        BernoulliNB(),
        GaussianNB(shared_variance=True, var_smoothing=0.1),
        GaussianNB(var_smoothing=0.1),
    ],
    ids=str,
)
def test_linear_form(model):
    form = linear_form(model.fit(DOCUMENTS, CLASSES))
    scores = np.asarray(form.feature_map(DOCUMENTS) @ form.coef.T + form.intercept)
    expected = scores - logsumexp(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(DOCUMENTS), expected, rtol=1e-9, atol=1e-12)


def test_bayes_rule(two_classes):
    X, y = two_classes
    model = GaussianNB().fit(X, y)
    joint = np.exp(model.predict_joint_log_proba(X))
    likelihood = norm.pdf(X[:, None, :], model.theta_, np.sqrt(model.var_)).prod(axis=2)
    np.testing.assert_allclose(joint, likelihood * model.class_prior_, rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), rtol=1e-10)


def test_any_family_per_column(rng):
    """p(x|y) = Π p(x_k|y), where each p(x_k|y) can be any distribution."""
    y = rng.integers(2, size=300)
    X = np.column_stack([rng.normal(y, 2), rng.poisson(1 + 3 * y), rng.random(300) < 0.3 + 0.3 * y])
    families = {0: Gaussian(), 1: Poisson(), 2: Bernoulli()}
    model = NaiveBayes(families=families, smoothing=0, var_smoothing=0).fit(X, y)
    expected = np.empty((300, 2))
    for c in (0, 1):
        mine = X[y == c]
        gauss = norm.logpdf(X[:, 0], mine[:, 0].mean(), mine[:, 0].std())
        p = mine[:, 2].mean()
        coin = np.where(X[:, 2] == 1, np.log(p), np.log(1 - p))
        expected[:, c] = np.log(np.mean(y == c)) + gauss + poisson.logpmf(X[:, 1], mine[:, 1].mean()) + coin
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-10)


def test_histogram_column(rng):
    """The density of a bin is its share of the rows over its width (lecture 4)."""
    y = np.repeat([0, 1], 100)
    X = np.column_stack([np.where(y == 0, rng.random(200), rng.random(200) ** 2)])
    edges = (0.0, 0.25, 0.5, 1.0)
    model = NaiveBayes(families={0: Histogram(bins=edges)}, smoothing=0).fit(X, y)
    counts = np.array([np.histogram(X[y == c, 0], edges)[0] for c in (0, 1)])
    density = counts / 100 / np.diff(edges)
    joint = np.exp(model.predict_joint_log_proba([[0.1], [0.3], [0.9]]))
    np.testing.assert_allclose(joint, 0.5 * density.T, rtol=1e-12)


def test_samples_come_from_the_model(two_classes):
    X, y = two_classes
    model = GaussianNB().fit(X, y)
    drawn, classes = model.sample(50_000, random_state=0)
    np.testing.assert_allclose(np.mean(classes == 1), model.class_prior_[1], atol=0.01)
    for c in (0, 1):
        np.testing.assert_allclose(drawn[classes == c].mean(axis=0), model.theta_[c], atol=0.1)
        np.testing.assert_allclose(drawn[classes == c].var(axis=0), model.var_[c], rtol=0.05)


def test_the_log_density_sums_the_joint(two_classes):
    X, y = two_classes
    model = GaussianNB().fit(X, y)
    np.testing.assert_allclose(model.log_density(X), np.log(np.exp(model.predict_joint_log_proba(X)).sum(axis=1)))
    assert model.log_density([[50.0, 0.0, 0.0]])[0] < model.log_density(X).min()


def test_missing_values_are_integrated_out(two_classes):
    """The density of what is there is the integral of the whole density over what is not."""
    X, y = two_classes
    model = GaussianNB().fit(X, y)
    grid = np.linspace(-30, 30, 4001)
    rows = np.column_stack([np.full_like(grid, 0.3), grid, np.full_like(grid, 0.1)])
    integral = np.exp(model.predict_joint_log_proba(rows)).sum(axis=0) * (grid[1] - grid[0])
    np.testing.assert_allclose(np.exp(model.predict_joint_log_proba([[0.3, np.nan, 0.1]]))[0], integral, rtol=1e-10)
