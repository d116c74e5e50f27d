"""The kernels of lecture 1: inner products of features, rules for new ones, and models in the span of the data."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, combinations_with_replacement
from math import comb, factorial, prod, sqrt

import numpy as np
import pytest
from scipy import optimize
from sklearn.datasets import make_circles

from mercer import (
    GLM,
    KernelRidge,
    Lasso,
    LinearThreshold,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    Ridge,
    kernelize,
)
from mercer import kernels as k
from mercer._errors import NoFeatureMapError, NoRepresenterError, NotPositiveDefiniteError, TooManyColumnsError
from mercer.families import L2
from mercer.kernels import check_matrix, check_positive_definite

Array = np.ndarray
X, Z = np.random.default_rng(0).normal(size=(12, 3)), np.random.default_rng(1).normal(size=(7, 3))
XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def close(found: Array, expected: Array) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def inner(features: Callable[[Array], Array]) -> Array:
    """⟨ψ(x), ψ(z)⟩ for all pairs of rows."""
    return np.array([[features(x) @ features(z) for z in Z] for x in X])


# The kernel trick.


def test_inner_products_without_the_features() -> None:
    """(x₁², √2 x₁x₂, x₂²) gives (xᵀx')², and with 1, √2 x₁, √2 x₂ before it (1 + xᵀx')²."""
    A, B, root = X[:, :2], Z[:, :2], sqrt(2)

    def squares(x: Array) -> Array:
        return np.array([x[0] ** 2, root * x[0] * x[1], x[1] ** 2])

    def up_to_squares(x: Array) -> Array:
        return np.concatenate([[1, root * x[0], root * x[1]], squares(x)])

    for degree_2, kernel in ((squares, k.Polynomial(degree=2, constant=0)), (up_to_squares, k.Polynomial(degree=2))):
        close(kernel(A, B), np.array([[degree_2(x) @ degree_2(z) for z in B] for x in A]))


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_the_coefficients_of_monomials_up_to_degree_p_are_roots(p: int) -> None:
    """(1 + xᵀx')ᵖ: each monomial x^a, |a| ≤ p, with the root of p!/(a₀! a₁! … a_d!), where a₀ = p − |a|."""
    powers = [
        [chosen.count(j) for j in range(4)] for chosen in combinations_with_replacement(range(4), p)
    ]  # of 1, x₁, x₂, x₃: their sum is p
    roots = [sqrt(factorial(p) / prod(map(factorial, a))) for a in powers]

    def monomials(x: Array) -> Array:
        return np.array([root * np.prod(x ** a[1:]) for root, a in zip(roots, map(np.array, powers), strict=True)])

    kernel = k.Polynomial(degree=p)
    assert kernel.feature_map(3).n_features == len(powers) == comb(3 + p, p)
    close(kernel(X, Z), inner(monomials))
    close(np.sort(np.abs(kernel.feature_map(3)(X[:1]))), np.sort(np.abs(monomials(X[0])))[None])


def test_the_quadratic_kernel() -> None:
    """⟨x, x'⟩ + ⟨x, x'⟩² of (x₁ … x_d, x₁² … x_d², √2 x₁x₂ …): 2d + C(d, 2) features, not the printed d + C(d, 2)."""

    def features(x: Array) -> Array:
        mixed = [sqrt(2) * x[i] * x[j] for i, j in combinations(range(3), 2)]
        return np.concatenate([x, x**2, mixed])

    assert len(features(X[0])) == 2 * 3 + comb(3, 2) == k.Quadratic().feature_map(3).n_features
    close(k.Quadratic()(X, Z), inner(features))
    close(k.Quadratic()(X, Z), X @ Z.T + (X @ Z.T) ** 2)


def test_the_rbf_kernel_is_similarity_with_infinitely_many_features() -> None:
    """exp(−‖x − x'‖²/2σ²) = Σ ψ_m(x) ψ_m(x') with ψ_m(x) = e^{−x²/2σ²} (x/σ)^m/√m!, and no finite number will do."""
    sigma, x, z = 0.8, X[:, :1], Z[:, :1]
    K = k.RBF(sigma=sigma)(x, z)
    assert ((K > 0) & (K <= 1)).all()
    np.testing.assert_array_equal(K.argmax(axis=1), np.abs(x - z.T).argmin(axis=1))  # the closest is the most similar

    def features(rows: Array, many: int) -> Array:
        scaled = rows / sigma
        return np.hstack([np.exp(-(scaled**2) / 2) * scaled**m / sqrt(factorial(m)) for m in range(many)])

    left = [np.abs(features(x, many) @ features(z, many).T - K).max() for many in (1, 5, 15, 60)]
    assert left == sorted(left, reverse=True)
    assert left[-1] < 1e-12 < left[-2]
    distinct = np.linspace(-3, 3, 9)[:, None]
    assert np.linalg.matrix_rank(k.RBF(sigma=sigma)(distinct)) == 9  # n rows span n dimensions, whatever n is
    with pytest.raises(NoFeatureMapError):
        k.RBF(sigma=sigma).feature_map(1)


# Which functions are kernels.


def test_new_kernels_from_old() -> None:
    """The lecture's five rules, each with the features that prove it."""
    linear, square = k.Linear(), k.Polynomial(degree=2, constant=0)
    of_square = square.feature_map(3)

    def f(x: Array) -> float:
        return float(np.sin(x[0]) - x[1])

    def rotated(x: Array) -> Array:
        return np.array([np.cos(x[0]), np.sin(x[0]), x[2] ** 3])

    def squares(x: Array) -> Array:
        return np.asarray(of_square(x[None])[0])

    rules: list[tuple[k.Kernel, Callable[[Array], Array]]] = [
        (3 * linear, lambda x: sqrt(3) * x),
        (linear + square, lambda x: np.concatenate([x, squares(x)])),
        (linear * square, lambda x: np.outer(x, squares(x)).ravel()),
        (square.of(rotated), lambda x: squares(rotated(x))),
        (k.OneDimensional(f), lambda x: np.array([f(x)])),
    ]
    for kernel, features in rules:
        close(kernel(X, Z), inner(features))
        assert check_positive_definite(kernel, X).kind == "by construction"


def test_operations_that_break_the_rules_are_rejected() -> None:
    for broken in (lambda: -1 * k.RBF(), lambda: k.RBF() - k.Linear(), lambda: k.RBF() ** 0.5):
        with pytest.raises(NotPositiveDefiniteError):
            broken()


def test_three_characterisations_of_positive_semidefinite_matrices(rng: np.random.Generator) -> None:
    """xᵀMx ≥ 0, M = RᵀR, no eigenvalue below 0: for kernel matrices all, for others none."""
    directions = rng.normal(size=(50, 12))
    K = k.RBF(gamma=1.0)(X)
    found = check_matrix(K)
    assert found.holds
    assert found.factor is not None
    np.testing.assert_allclose(found.factor.T @ found.factor, K, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > 0
    assert (np.einsum("ij,jk,ik->i", directions, K, directions) > 0).all()
    M = K - 0.5 * np.eye(12)
    refuted = check_matrix(M)
    assert not refuted.holds
    assert refuted.factor is None
    assert np.linalg.eigvalsh(M).min() < 0
    assert refuted.violation is not None
    assert refuted.violation @ M @ refuted.violation < 0


def test_mercers_theorem() -> None:
    """A similarity that is not an inner product has Σ αᵢαⱼ k(xᵢ, xⱼ) < 0 on some rows; others have features."""
    far = k.FromFunction(lambda x, z: -float(np.sum((x - z) ** 2)))
    refuted = check_positive_definite(far, X)
    assert not refuted.holds
    alpha = refuted.violation
    assert alpha is not None
    assert sum(alpha[i] * alpha[j] * far(X)[i, j] for i in range(12) for j in range(12)) < 0
    near = k.FromFunction(lambda x, z: 1 / (1 + float(np.sum((x - z) ** 2))))
    found = check_positive_definite(near, X)
    assert found.holds
    np.testing.assert_allclose(found.features(X) @ found.features(X).T, near(X), atol=1e-10)


def test_texts_and_graphs_are_compared_without_explicit_features() -> None:
    """String and graph kernels: similarity scores that a model learns from, and inner products nevertheless."""
    genes = ["GATTACAGATTACA", "GATTAGATTACCA", "ATTACAGATT", "CCGGCCGCGG", "CGCGGCCGG", "GGCCGCGCC"]
    rings = [(np.array([(i, (i + 1) % n) for i in range(n)]), ["C"] * n) for n in (5, 6, 7)]
    chains = [(np.array([(i, i + 1) for i in range(n - 1)]), ["C"] * n) for n in (5, 6, 7)]
    labels = [0, 0, 0, 1, 1, 1]
    for kernel, things in ((k.Spectrum(length=3), genes), (k.WeisfeilerLehman(rounds=2), rings + chains)):
        assert check_matrix(kernel(things)).holds
        features = kernel.feature_map(things)(things)
        np.testing.assert_allclose((features @ features.T).toarray(), kernel(things), rtol=1e-12)
        model = kernelize(LogisticRegression(), kernel.normalised()).fit(things, labels)
        assert model.predict(things).tolist() == labels


# The span of the data.

PRIMAL = {
    "ridge": (Ridge(alpha=2.0, fit_intercept=False), lambda eta: eta + 0.3),
    "logistic": (LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10), lambda eta: (eta > 0).astype(int)),
    "poisson": (PoissonRegressor(alpha=0.5, fit_intercept=False, tol=1e-10), lambda eta: np.round(np.exp(eta / 4))),
}


@pytest.mark.parametrize("name", PRIMAL)
def test_the_representer_theorem(name: str, rng: np.random.Generator) -> None:
    """R(‖w‖) + L(⟨w, x₁⟩, …): the optimum over all of R⁴⁰ lies in the span of 15 rows, and α finds it there."""
    rows = rng.normal(size=(15, 40))
    model, respond = PRIMAL[name]
    y = respond(rows @ rng.normal(size=40))
    w = np.ravel(model.fit(rows, y).coef_)
    within = rows.T @ np.linalg.lstsq(rows.T, w, rcond=None)[0]
    np.testing.assert_allclose(within, w, atol=1e-7 * np.abs(w).max())
    by_alpha = kernelize(model, k.Linear()).fit(rows, y)
    np.testing.assert_allclose(rows.T @ by_alpha.dual_coef_, w, atol=1e-6 * np.abs(w).max())


def test_a_penalty_on_another_norm_leaves_the_span(rng: np.random.Generator) -> None:
    """The lasso's optimum is sparse in the columns, not a sum of rows: it is rejected, for the theorem's reason."""
    rows = rng.normal(size=(15, 40))
    w = Lasso(alpha=0.1, fit_intercept=False).fit(rows, rows @ rng.normal(size=40)).coef_
    within = rows.T @ np.linalg.lstsq(rows.T, w, rcond=None)[0]
    assert np.linalg.norm(within - w) > 0.1 * np.linalg.norm(w)
    with pytest.raises(NoRepresenterError):
        kernelize(Lasso(), "rbf")


def test_kernel_ridge_is_ridge_over_alpha(rng: np.random.Generator) -> None:
    """α* = (y − Xw*)/λ = (K + λI)⁻¹y and w* = Xᵀα*; with ψ for x, the same from K alone."""
    y, lam, kernel = rng.normal(size=12), 0.7, k.Polynomial(degree=2)
    features = kernel.feature_map(3)
    w = Ridge(alpha=lam, fit_intercept=False).fit(features(X), y).coef_
    model = KernelRidge(alpha=lam, kernel=kernel).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, (y - features(X) @ w) / lam, rtol=1e-7)
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(kernel(X) + lam * np.eye(12), y), rtol=1e-7)
    np.testing.assert_allclose(features(X).T @ model.dual_coef_, w, atol=1e-9)
    np.testing.assert_allclose(model.predict(Z), features(Z) @ w, atol=1e-9)


def test_the_reparameterised_objective_has_the_same_minimum(rng: np.random.Generator) -> None:
    """(1/n) Σ ((Xᵀα)ᵀxᵢ − yᵢ)² + λ‖Xᵀα‖² over n numbers α, minimised by a general method."""
    y, lam = rng.normal(size=12), 0.4
    K = X @ X.T

    def objective(alpha: Array) -> float:
        return float(np.mean((K @ alpha - y) ** 2) + lam * alpha @ K @ alpha)

    alpha = optimize.minimize(objective, np.zeros(12), tol=1e-14).x
    model = kernelize(Ridge(alpha=12 * lam, fit_intercept=False), k.Linear()).fit(X, y)
    assert objective(model.dual_coef_) <= objective(alpha) + 1e-12
    np.testing.assert_allclose(X.T @ model.dual_coef_, X.T @ alpha, atol=1e-5)


def test_the_perceptron_is_kernelized() -> None:
    """Every mistake adds a row to w: w = Σ αᵢ ψ(xᵢ) with whole numbers α, so that products are all that it needs."""
    rows, y = make_circles(80, noise=0.05, factor=0.5, random_state=0)
    kernel = k.Polynomial(degree=2)
    model = kernelize(Perceptron(shuffle=False), kernel).fit(rows, y)
    features = kernel.feature_map(2)(rows)
    explicit = Perceptron(shuffle=False).fit(features, y)
    np.testing.assert_allclose(features.T @ model.dual_coef_, explicit.coef_[0], atol=1e-9)
    np.testing.assert_array_equal(model.dual_coef_, np.round(model.dual_coef_))
    np.testing.assert_array_equal(model.predict(rows), explicit.predict(features))


# What features are for.


@pytest.mark.filterwarnings("ignore::mercer._errors.NotConvergedWarning")
def test_circles_are_separable_with_their_radius() -> None:
    """No line separates the classes in (x₁, x₂), a plane does in (x₁, x₂, x₁² + x₂²): both are proven."""
    rows, y = make_circles(100, noise=0.05, factor=0.5, random_state=0)
    with_radius = np.column_stack([rows, (rows**2).sum(axis=1)])
    straight, with_plane = LinearThreshold().fit(rows, y), LinearThreshold().fit(with_radius, y)
    assert (straight.certificate_.kind, straight.certificate_.holds) == ("no separation", True)
    assert with_plane.score(with_radius, y) == 1
    assert (with_plane.certificate_.kind, with_plane.certificate_.holds) == ("separation", True)
    through_kernel = kernelize(LinearThreshold(), k.Quadratic()).fit(rows, y)  # x₁² and x₂² are among its features
    assert through_kernel.certificate_.holds
    assert through_kernel.score(rows, y) == 1


@pytest.mark.parametrize("kernel", [k.Polynomial(degree=2), k.Quadratic(), k.RBF(gamma=1.0)], ids=repr)
def test_xor_needs_the_product_of_its_columns(kernel: k.Kernel) -> None:
    corners, odd = XOR
    for model in (kernelize(LinearThreshold(), kernel), GLM("bernoulli", penalty=L2(0.01), kernel=kernel)):
        assert model.fit(corners, odd).predict(corners).tolist() == odd.tolist()
    straight = GLM("bernoulli", penalty=L2(0.01), kernel=k.Linear()).fit(corners, odd)
    assert (straight.predict(corners) == odd).mean() < 1


def test_a_fit_of_377348994_monomials(rng: np.random.Generator) -> None:
    """d = 40, degree 8, through K alone: 150 numbers α, no features, and the polynomial that made y is found again.

    The rows lie in a plane of R⁴⁰, which no coordinate shows; within it 45 of the monomials' combinations matter.
    """
    kernel = k.Polynomial(degree=8)
    features = kernel.feature_map(40)
    assert k.Polynomial(degree=8, constant=0).feature_map(40).n_features == 314_457_495
    assert features.n_features == 377_348_994
    plane = np.linalg.qr(rng.normal(size=(40, 2)))[0].T
    u = rng.uniform(-1, 1, size=(200, 2))
    rows, y = u @ plane, 3 * u[:, 0] ** 5 * u[:, 1] ** 3 - u[:, 1] ** 8 + u[:, 0] ** 2
    with pytest.raises(TooManyColumnsError):
        features(rows)
    model = KernelRidge(alpha=1e-9, kernel=kernel).fit(rows[:150], y[:150])
    assert model.certificate_.holds
    assert model.dual_coef_.shape == (150,)
    np.testing.assert_allclose(model.predict(rows[150:]), y[150:], atol=1e-4)
