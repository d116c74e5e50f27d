"""Support vector machines as lecture 1 has them, and support vector regression as lecture 5 has it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from mercer import SVC, SVR, LinearSVC, LinearSVR
from mercer import kernels as k
from tests.svm._tubes import tube, waves

Array = np.ndarray


def two_classes(n: int = 24, d: int = 2) -> tuple[Array, Array]:
    """Overlapping, neither balanced nor centred, so that an intercept matters; y is −1 or 1."""
    rng = np.random.default_rng(4)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.8 * y[:, None] + 0.7, y


def printed_dual(K: Array, y: Array, bound: float, *, constraint: bool) -> tuple[Array, float]:
    """max Σα − ½ Σ αᵢαⱼyᵢyⱼKᵢⱼ, 0 ≤ α ≤ bound, with or without Σαy = 0, by a general method."""
    Q = y[:, None] * K * y
    found = optimize.minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(len(y)),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, bound)] * len(y),
        constraints=[{"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y}] if constraint else [],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return found.x, -float(found.fun)


def alpha_of(model: SVC, y: Array) -> Array:
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0] * y[model.support_]
    return alpha


# Lecture 1.


@pytest.mark.parametrize("kernel", [k.Linear(), k.Polynomial(degree=2), k.RBF(gamma=0.5)], ids=repr)
def test_the_dual_of_the_lecture(kernel: k.Kernel) -> None:
    """With an intercept, α ∈ [0, c/n] and Σαy = 0: what a general method finds; f(x) = Σ αᵢyᵢ k(xᵢ, x) + b."""
    X, y = two_classes()
    K, c = kernel(X), 30.0
    alpha, value = printed_dual(K, y, c / len(y), constraint=True)
    model = SVC(C=c, scaling="mean", kernel=kernel, tol=1e-8).fit(X, y)
    found = alpha_of(model, y)
    assert found.min() >= 0
    assert found.max() <= c / len(y) * (1 + 1e-12)
    assert abs(found @ y) < 1e-10
    assert model.certificate_.dual == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(K @ (found * y), K @ (alpha * y), atol=1e-3)
    np.testing.assert_allclose(model.decision_function(X), K @ (found * y) + model.intercept_[0], atol=1e-9)


def test_the_constraint_comes_with_the_intercept() -> None:
    """The printed primal has no b. Its dual has no Σαy = 0 either: with it, the two objectives do not meet."""
    X, y = two_classes()
    c, K = 30.0, X @ X.T
    model = SVC(C=c, scaling="mean", kernel="linear", fit_intercept=False, tol=1e-8).fit(X, y)
    w = model.coef_[0]

    def primal(w: Array) -> float:
        return float(0.5 * w @ w + c * np.mean(np.maximum(0, 1 - y * (X @ w))))

    _, free = printed_dual(K, y, c / len(y), constraint=False)
    _, bound = printed_dual(K, y, c / len(y), constraint=True)
    assert primal(w) == pytest.approx(free, rel=1e-6)
    assert primal(w) <= min(primal(w + 0.01 * step) for step in np.random.default_rng(0).normal(size=(50, 2)))
    assert model.intercept_ == 0
    assert abs(alpha_of(model, y) @ y) > 0.1
    assert bound < free - 1e-3
    intercept = SVC(C=c, scaling="mean", kernel="linear", tol=1e-8).fit(X, y)
    assert abs(alpha_of(intercept, y) @ y) < 1e-10
    assert intercept.certificate_.primal == pytest.approx(bound, rel=1e-5)


def test_c_over_n_is_the_price_of_a_row() -> None:
    """½‖w‖² + (c/n) Σ losses: rows written twice change nothing, as they would under a sum."""
    X, y = two_classes()
    model = SVC(C=30.0, scaling="mean", gamma=1.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        SVC(C=30.0 / len(y), gamma=1.0, tol=1e-8).fit(X, y).decision_function(X), model.decision_function(X), atol=1e-6
    )
    twice = SVC(C=30.0, scaling="mean", gamma=1.0, tol=1e-8).fit(np.vstack([X, X]), np.concatenate([y, y]))
    np.testing.assert_allclose(twice.decision_function(X), model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("d", [2, 60], ids=["n > d", "d > n"])
def test_the_weights_are_in_the_span_of_the_data(d: int) -> None:
    """w* = Σ αᵢyᵢxᵢ over the support vectors; the other rows could as well be missing."""
    X, y = two_classes(d=d)
    model = SVC(C=0.3, kernel="linear", tol=1e-8).fit(X, y)
    alpha = alpha_of(model, y)
    w = X.T @ (alpha * y)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-12)
    primal = LinearSVC(C=0.3, loss="hinge", intercept_scaling=1e4, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(primal.coef_[0], w, atol=1e-3)
    kept = model.support_
    again = SVC(C=0.3, kernel="linear", tol=1e-8).fit(X[kept], y[kept])
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-5)


def test_the_kernel_in_place_of_inner_products() -> None:
    """With K for ψ(x)ᵀψ(x') the machine is that of the features, for training and for prediction."""
    X, y = two_classes()
    kernel, new = k.Polynomial(degree=3), X[:5] + 0.2
    features = kernel.feature_map(2)
    through_kernel = SVC(kernel=kernel, tol=1e-8).fit(X, y)
    explicit = SVC(kernel="linear", tol=1e-8).fit(features(X), y)
    np.testing.assert_allclose(
        through_kernel.decision_function(new), explicit.decision_function(features(new)), atol=1e-5
    )
    matrix = SVC(kernel="precomputed", tol=1e-8).fit(kernel(X), y)  # all that it needs of the rows
    np.testing.assert_allclose(
        matrix.decision_function(kernel(new, X)), through_kernel.decision_function(new), atol=1e-5
    )


# Lecture 5.


def test_the_loss_is_zero_within_epsilon() -> None:
    """C Σ max(0, |y(x) − t| − ε) + ½‖w‖² is what is minimised, and its dual reaches it."""
    X, t = waves(30)
    C, epsilon = 2.0, 0.15
    model = SVR(C=C, epsilon=epsilon, kernel="linear", tol=1e-8).fit(X, t)

    def primal(w: float, b: float) -> float:
        return float(C * np.maximum(0, np.abs(X[:, 0] * w + b - t) - epsilon).sum() + 0.5 * w * w)

    best = primal(model.coef_[0, 0], model.intercept_[0])
    assert best == pytest.approx(model.certificate_.dual, rel=1e-6)
    search = optimize.minimize(lambda p: primal(*p), [0.0, 0.0], method="Nelder-Mead", tol=1e-10)
    assert best <= search.fun + 1e-6
    straight = LinearSVR(C=C, epsilon=epsilon, intercept_scaling=1e4, tol=1e-10, max_iter=100_000).fit(X, t)
    assert straight.coef_[0] == pytest.approx(model.coef_[0, 0], abs=1e-4)


def test_the_lagrangian_of_the_lecture() -> None:
    """Σ(a⁺ − a⁻)t − ε Σ(a⁺ + a⁻) − ½ ΣΣ(a⁺ − a⁻)(a⁺ − a⁻)K under its constraints, by a general method."""
    X, t = waves(20)
    C, epsilon, n = 2.0, 0.15, 20
    kernel = k.RBF(gamma=0.5)
    K, balance = kernel(X), np.concatenate([np.ones(n), -np.ones(n)])

    def lagrangian(a: Array) -> float:
        beta = a[:n] - a[n:]
        return float(beta @ t - epsilon * a.sum() - 0.5 * beta @ K @ beta)

    found = optimize.minimize(
        lambda a: -lagrangian(a),
        np.zeros(2 * n),
        jac=lambda a: epsilon - balance * np.tile(t - K @ (a[:n] - a[n:]), 2),
        bounds=[(0, C)] * (2 * n),
        constraints=[{"type": "eq", "fun": lambda a: a @ balance, "jac": lambda a: balance}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    model = SVR(C=C, epsilon=epsilon, kernel=kernel, tol=1e-8).fit(X, t)
    plus, minus = tube(model, n)
    assert lagrangian(np.concatenate([plus, minus])) == pytest.approx(-found.fun, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(-found.fun, rel=1e-6)
    assert abs((plus - minus).sum()) < 1e-10
    np.testing.assert_allclose(model.predict(X), K @ (plus - minus) + model.intercept_[0], atol=1e-9)


def test_the_two_dual_coefficients_have_their_signs() -> None:
    """a⁺ belongs to t − y ≥ ε, a⁻ to y − t ≥ ε: never both; `dual_coef_` is a⁺ − a⁻.

    So ξ⁻ of the printed primal, t − ε − ξ⁻ ≤ y, is the slack of the rows with a⁺ = C, and ξ⁺ of those with a⁻ = C.
    """
    X, t = waves(30)
    C, epsilon = 2.0, 0.15
    model = SVR(C=C, epsilon=epsilon, gamma=1.0, tol=1e-8).fit(X, t)
    plus, minus = tube(model, len(t))
    above = t - model.predict(X)
    assert (plus > 0).any()
    assert (minus > 0).any()
    assert (plus * minus == 0).all()
    assert (above[plus > 0] >= epsilon - 1e-6).all()
    assert (above[minus > 0] <= -epsilon + 1e-6).all()
    np.testing.assert_array_equal(model.dual_coef_[0], model.a_plus_ - model.a_minus_)
    price = plus + minus
    assert (price[np.abs(above) < epsilon - 1e-6] == 0).all()  # within the tube
    np.testing.assert_allclose(np.abs(above[(price > 0) & (price < C)]), epsilon, atol=1e-6)  # on its edge
    np.testing.assert_array_equal(price[np.abs(above) > epsilon + 1e-6], C)  # outside
    xi_minus, xi_plus = np.maximum(0, above - epsilon), np.maximum(0, -above - epsilon)
    np.testing.assert_array_equal(xi_minus > 1e-6, plus == C)
    np.testing.assert_array_equal(xi_plus > 1e-6, minus == C)


def test_a_wider_tube_needs_fewer_support_vectors() -> None:
    """Up to a tube that holds all targets, and none; what happens within it does not change the fit."""
    X, t = waves(80)
    models = [SVR(C=10.0, epsilon=epsilon, gamma=1.0, tol=1e-6).fit(X, t) for epsilon in (0.0, 0.1, 0.2, 0.4, 2.0)]
    needed = [len(model.support_) for model in models]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > 70
    assert needed[-1] == 0
    inside = np.setdiff1d(np.arange(80), models[2].support_)
    moved = t.copy()
    moved[inside] = models[2].predict(X[inside])
    again = SVR(C=10.0, epsilon=0.2, gamma=1.0, tol=1e-6).fit(X, moved)
    np.testing.assert_allclose(again.predict(X), models[2].predict(X), atol=1e-4)
