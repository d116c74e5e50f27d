"""Gaussian discriminants of lectures 2 and 4: formulas by hand, decision boundaries, logistic forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from mercer import (
    GaussianDiscriminant,
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    linear_form,
)

# Lecture 4's table of heights in inches; the 5.7" of the last row is 5'7".
HEIGHT = np.array([[72.0], [62.0], [66.0], [74.0], [67.0]])
SEX = np.array([1, 2, 1, 1, 2])


def two_classes(seed: int = 0, d: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = (rng.random(200) < 0.3).astype(int)
    mixing = np.eye(d) + 0.3 * rng.normal(size=(d, d))
    return rng.normal(size=(200, d)) @ mixing + 1.2 * y[:, None], y


def test_the_heights_by_hand() -> None:
    """Lecture 4, eq. 10–12: men 72, 66, 74; women 62, 67."""
    model = GaussianDiscriminant().fit(HEIGHT, SEX)
    np.testing.assert_allclose(model.priors_, [3 / 5, 2 / 5])
    np.testing.assert_allclose(model.means_[:, 0], [212 / 3, 129 / 2])
    np.testing.assert_allclose(model.covariance_[:, 0, 0], [104 / 9, 25 / 4])
    shared = GaussianDiscriminant("shared full").fit(HEIGHT, SEX)
    np.testing.assert_allclose(shared.covariance_, [[(3 * 104 / 9 + 2 * 25 / 4) / 5]])


def test_two_variances_give_a_quadratic_boundary() -> None:
    """Lecture 4: log p₁N(x; μ₁, σ₁²) − log p₂N(x; μ₂, σ₂²) = ax² + bx + c, and its roots are the boundary."""
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(HEIGHT, SEX)
    (p1, p2), (m1, m2) = model.priors_, model.means_[:, 0]
    v1, v2 = (float(covariance[0, 0]) for covariance in model.covariance_)
    a = 1 / (2 * v2) - 1 / (2 * v1)
    b = m1 / v1 - m2 / v2
    c = m2**2 / (2 * v2) - m1**2 / (2 * v1) + np.log(p1 / p2) - np.log(np.sqrt(v1 / v2))
    x = np.linspace(50, 90, 101)[:, None]
    np.testing.assert_allclose(-model.decision_function(x), a * x[:, 0] ** 2 + b * x[:, 0] + c, atol=1e-9)
    roots = np.sort(np.roots([a, b, c]).real)
    np.testing.assert_allclose(model.predict_proba(roots[:, None]), 0.5, atol=1e-9)
    np.testing.assert_array_equal(model.predict([[roots[0] - 1], [roots.mean()], [roots[1] + 1]]), [1, 2, 1])


def test_one_variance_gives_a_linear_boundary() -> None:
    """Lecture 4: with σ₁ = σ₂ the square cancels, and bx + c = 0 has one root."""
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(HEIGHT, SEX)
    (p1, p2), (m1, m2) = model.priors_, model.means_[:, 0]
    v = float(model.covariance_[0, 0])
    b, c = (m1 - m2) / v, (m2**2 - m1**2) / (2 * v) + np.log(p1 / p2)
    np.testing.assert_allclose(model.coef_, [[-b]])
    np.testing.assert_allclose(model.intercept_, [-c])
    root = brentq(lambda x: model.decision_function([[x]])[0], 40, 100)
    assert root == pytest.approx(-c / b)
    shared = GaussianDiscriminant("shared spherical").fit(HEIGHT, SEX)
    np.testing.assert_allclose(shared.predict_proba([[root]]), [[0.5, 0.5]])


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_the_posterior_of_lda_is_logistic(solver: str) -> None:
    """Lecture 2: β = Σ⁻¹(μ₁ − μ₀), γ = −½(μ₁ − μ₀)ᵀΣ⁻¹(μ₁ + μ₀) + log π/(1 − π)."""
    X, y = two_classes()
    model = LinearDiscriminantAnalysis(solver, store_covariance=True).fit(X, y)
    m0, m1 = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
    away = X - np.where(y[:, None] == 1, m1, m0)
    precision, pi = np.linalg.inv(away.T @ away / len(y)), y.mean()
    beta = precision @ (m1 - m0)
    gamma = -0.5 * (m1 - m0) @ precision @ (m1 + m0) + np.log(pi / (1 - pi))
    np.testing.assert_allclose(model.coef_[0], beta, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], gamma, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(X @ beta + gamma), rtol=1e-9)
    form = linear_form(model)
    np.testing.assert_allclose(form.coef[1] - form.coef[0], beta, rtol=1e-9)


def test_an_identity_covariance_makes_beta_the_difference_of_the_means() -> None:
    """Lecture 2: Σ = I gives β = μ₁ − μ₀, and contours orthogonal to it."""
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    m0, m1 = np.array([2.0, -1.0]), np.array([5.0, 3.0])
    X, y = np.vstack([corners + m0, corners + m1]), np.repeat([0, 1], 4)
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    np.testing.assert_allclose(model.covariance_, np.eye(2), atol=1e-15)
    np.testing.assert_allclose(model.coef_[0], m1 - m0, rtol=1e-12)
    along = np.array([4.0, -3.0]) * np.linspace(-2, 2, 5)[:, None]  # orthogonal to m1 − m0
    proba = model.predict_proba(X[0] + along)[:, 1]
    np.testing.assert_allclose(proba, proba[0], rtol=1e-9)


def test_naive_bayes_with_shared_variances_is_lda_with_a_diagonal_covariance() -> None:
    """Lecture 2: Gaussian naive Bayes is the special case of LDA, with θ = (μ₁ − μ₀)/σ²."""
    X, y = two_classes()
    naive = GaussianNB(shared_variance=True, var_smoothing=0).fit(X, y)
    diagonal = GaussianDiscriminant("shared diagonal").fit(X, y)
    np.testing.assert_allclose(diagonal.predict_log_proba(X), naive.predict_log_proba(X), rtol=1e-10)
    theta = np.diff(diagonal.means_, axis=0)[0] / diagonal.covariance_
    form = linear_form(diagonal)
    np.testing.assert_allclose(form.coef[1] - form.coef[0], theta, rtol=1e-10)
    logit = np.diff(diagonal.predict_log_proba(X), axis=1)[:, 0]
    bias = logit - X @ theta
    np.testing.assert_allclose(bias, bias[0], atol=1e-9)


def test_different_covariances_leave_a_logistic_form_that_is_quadratic() -> None:
    """Lecture 2, "More comments": the argument of the logistic function is then quadratic in x."""
    X, y = two_classes()
    model = GaussianDiscriminant("full").fit(X, y)
    i, j = np.triu_indices(3)
    monomials = np.column_stack([np.ones(len(X)), X, X[:, i] * X[:, j]])
    logit = np.diff(model.predict_log_proba(X), axis=1)[:, 0]
    _, residual, rank, _ = np.linalg.lstsq(monomials, logit, rcond=None)
    assert rank == 10
    np.testing.assert_allclose(residual, 0.0, atol=1e-15 * len(X))
    linear = np.linalg.lstsq(monomials[:, :4], logit, rcond=None)[1]
    assert linear[0] > 1.0


def test_the_boundary_of_two_covariances_is_a_conic() -> None:
    """Corrected: lecture 4 calls it a parabola. With A = ½(Σ₂⁻¹ − Σ₁⁻¹) it is an ellipse where the eigenvalues of A
    have one sign, a hyperbola where they have two, and a parabola only in between, where one of them is 0.
    """
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])  # mean 0, covariance I
    y = np.repeat([1, 2], 4)
    angle = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    far = 100 * np.column_stack([np.cos(angle), np.sin(angle)])

    ellipse = QuadraticDiscriminantAnalysis().fit(np.vstack([2 * corners, corners]), y)
    assert (ellipse.predict(far) == 1).all()  # the class that varies more surrounds the other
    assert ellipse.predict([[0.0, 0.0]]) == 2

    hyperbola = QuadraticDiscriminantAnalysis().fit(np.vstack([corners * [2.0, 0.5], corners]), y)
    np.testing.assert_array_equal(hyperbola.predict([[100, 0], [-100, 0], [0, 100], [0, -100]]), [1, 1, 2, 2])

    parabola = QuadraticDiscriminantAnalysis().fit(np.vstack([corners * [2.0, 1.0], corners + np.array([0.0, 3.0])]), y)
    x1 = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    x2 = [brentq(lambda up, x=x: parabola.decision_function([[x, up]])[0], -100, 100) for x in x1]
    np.testing.assert_allclose(np.diff(x2, 3), 0.0, atol=1e-8)  # x₂ is a quadratic function of x₁
    assert np.diff(x2, 2).min() > 0.1
