"""Logistic regression of lectures 2, 3 and 5: derivatives by hand, the prior, the reference class, separable data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit
from scipy.stats import norm

from mercer import LogisticRegression
from mercer.families import LOGIT, Bernoulli
from mercer.families.penalties import Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.matrices import Coordinates, DenseMatrix, Observations
from mercer.optim.minimize import minimize
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem


def rows(classes: int, n: int = 150) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    eta = X @ rng.normal(size=(3, classes))
    return X, np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)


def test_gradient_and_hessian_by_hand() -> None:
    """Lecture 3: ∂log L/∂β = Xᵀ(y − p), ∂²log L/∂β∂βᵀ = −Xᵀ diag(p(1 − p)) X.

    The middle line of its Hessian has a sign wrong: it is −Σ x x p + Σ x x p². Ours is −log L, which is minimised.
    """
    X, y = rows(2)
    beta = np.array([0.3, -1.0, 0.5, 0.2])
    design = DenseMatrix(X, Coordinates.plain(3, intercept=True))
    problem = Problem(Observations(design, y.astype(float)), Response(Bernoulli(), LOGIT), Strengths.none(4))
    terms = problem.at(beta)
    Z = np.column_stack([X, np.ones(len(X))])
    p = expit(Z @ beta)
    assert -terms.value == pytest.approx(float(y @ (Z @ beta) - np.log(1 + np.exp(Z @ beta)).sum()))
    np.testing.assert_allclose(-terms.gradient, Z.T @ (y - p))
    np.testing.assert_allclose(-terms.hessian, -(Z.T * p) @ Z + (Z.T * p**2) @ Z)


def test_the_slope_of_the_logistic_function() -> None:
    """Lecture 2: ∂h/∂w_j = h (1 − h) x_j; the first lines of its derivation lack a minus."""
    u, step = np.linspace(-3, 3, 7), 1e-6
    h = 1 / (1 + np.exp(-u))
    np.testing.assert_allclose((expit(u + step) - expit(u - step)) / (2 * step), h * (1 - h), rtol=1e-8)
    assert LOGIT.slope is not None
    np.testing.assert_allclose(LOGIT.slope(u), h * (1 - h), rtol=1e-14)


def test_the_cross_entropy_takes_labels_0_and_1() -> None:
    """Lecture 4, corrected: with labels 1 and 2 as in its table, Σ y log σ(u) + (1 − y) log(1 − σ(u)) is unbounded."""
    X, y = rows(2)

    def cross_entropy(labels: Any, u: Any) -> float:
        return float(np.sum(labels * -np.logaddexp(0, -u) + (1 - labels) * -np.logaddexp(0, u)))

    u = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y).decision_function(X)
    steps = 0.1 * np.random.default_rng(0).normal(size=(20, 3))
    assert cross_entropy(y, u) > max(cross_entropy(y, u + X @ step) for step in steps)
    without_end = [cross_entropy(y + 1, np.full(len(y), c)) for c in (1.0, 10.0, 100.0, 1000.0)]
    assert without_end == sorted(without_end)
    assert without_end[-1] > 1000


@pytest.mark.parametrize("variance", [0.1, 1.0, 25.0])
def test_C_is_the_variance_of_a_normal_prior(variance: float) -> None:
    """Lecture 5, with the prior counted once: the mode of p(y|X, β) N(β; 0, σ²) has C = σ²."""
    X, y = rows(2)

    def minus_log_posterior(beta: np.ndarray) -> float:
        eta = X @ beta[:3] + beta[3]
        likelihood = np.sum(y * eta - np.logaddexp(0, eta))
        return float(-likelihood - norm(scale=np.sqrt(variance)).logpdf(beta[:3]).sum())

    mode = optimize.minimize(minus_log_posterior, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    model = LogisticRegression(C=variance, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), mode, atol=1e-6)


@pytest.mark.parametrize("reference", [0, 1, 3])
def test_a_reference_class_has_the_differences_of_the_symmetric_fit(reference: int) -> None:
    """Lecture 2 measures the odds of each class against one; lecture 3's softmax has a β for all but the last."""
    X, y = rows(4)
    design = DenseMatrix.of(X)
    data, free = Observations(design, y.astype(np.int32)), Strengths.none(4)
    symmetric = minimize(SoftmaxProblem(data, SoftmaxResponse(4), free)).coef
    differences = minimize(SoftmaxProblem(data, SoftmaxResponse(4, reference), free)).coef
    np.testing.assert_allclose(symmetric.sum(axis=1), 0, atol=1e-10)
    expected = np.delete(symmetric - symmetric[:, [reference]], reference, axis=1)
    np.testing.assert_allclose(differences, expected, atol=1e-7)


def test_probabilities_of_the_reference_form() -> None:
    """P(y = k|x) = e^{w_k x} / (1 + Σ e^{w_j x}) and P(y = K|x) = 1 / (1 + Σ e^{w_j x})."""
    X, y = rows(3)
    model = LogisticRegression(C=np.inf, tol=1e-8).fit(X, y)
    differences = model.coef_[:2] - model.coef_[2], model.intercept_[:2] - model.intercept_[2]
    odds = np.exp(X @ differences[0].T + differences[1])
    below = 1 + odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), np.hstack([odds / below, 1 / below]), rtol=1e-8)


def test_on_separable_data_a_longer_beta_keeps_the_boundary_and_raises_the_likelihood() -> None:
    """Lecture 3's question: cβ with c > 1 classifies alike and is more likely, so that no β is the most likely."""
    X, _ = rows(2)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0.1).astype(int)
    model = LogisticRegression(C=1e4).fit(X, y)
    eta, likelihoods = model.decision_function(X), []
    assert (np.sign(eta) == 2 * y - 1).all()
    for c in (1.0, 2.0, 10.0, 100.0):
        assert ((c * eta > 0) == (eta > 0)).all()
        likelihoods.append(-np.logaddexp(0, -(2 * y - 1) * c * eta).sum())
    assert likelihoods == sorted(likelihoods)
    assert likelihoods[-1] == pytest.approx(0, abs=1e-3)


def test_regularisation_gives_separable_data_one_answer() -> None:
    X, _ = rows(2)
    y = (X[:, 0] > 0).astype(int)
    lengths = [np.linalg.norm(LogisticRegression(C=C).fit(X, y).coef_) for C in (1.0, 1e2, 1e4, 1e6)]
    assert lengths == sorted(lengths)
    assert lengths[-1] > 3 * lengths[0]
    fits = [LogisticRegression(solver=solver, tol=1e-8).fit(X, y) for solver in ("lbfgs", "newton-cg", "sag")]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-10)
    np.testing.assert_allclose(fits[0].coef_, fits[2].coef_, rtol=1e-10)
