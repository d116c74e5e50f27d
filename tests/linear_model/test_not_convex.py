"""Families and links with a likelihood that is not convex: several starts, and local certificates."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import GLM, TweedieRegressor
from mercer.families import L1, NegativeBinomial, Tweedie

X = np.array([1.0215, -0.9563, -1.2851, 1.9852, -0.0702, 1.2834, 0.2417, 0.0872, 0.547, 1.5866])[:, None]
Y = np.array([0.9718, 0.8895, 0.002, 2.626, 1.4435, 5.8902, 0.434, 0.7595, 0.7878, 2.1025])


def deviance(w: np.ndarray) -> float:
    """Return the deviance of an inverse Gaussian with a log link."""
    mu = np.exp(np.clip(w[0] + w[1] * X[:, 0], -300, 300))
    return float(np.sum(np.square(Y - mu) / (np.square(mu) * Y)))


@pytest.mark.parametrize("family", ["inverse_gaussian", Tweedie(3.0)], ids=str)
def test_the_start_that_a_convex_problem_has_leads_to_a_far_worse_minimum(family) -> None:
    model = GLM(family, link="log").fit(X, Y)
    # the known minimum, and that of scipy
    assert deviance(np.array([17.678, 18.609])) == pytest.approx(7.88, abs=0.01)
    best = minimize(deviance, [17.678, 18.609], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14}).fun
    assert model.deviance_ == pytest.approx(best, rel=1e-8)
    assert model.certificate_.holds
    assert model.certificate_.kind == "stationary point"
    assert not model.certificate_.is_global
    assert "points nearby" in model.certificate_.sentence
    assert "minimum" not in model.certificate_.sentence


def test_the_regressor_of_that_family_and_an_L1_penalty_begin_at_several_starts_too() -> None:
    model = TweedieRegressor(power=3, link="log", alpha=0.0).fit(X, Y)
    assert deviance(np.array([model.intercept_, model.coef_[0]])) < 7.7
    assert model.certificate_.kind == "stationary point"
    lasso = GLM("inverse_gaussian", "log", L1(1e-6)).fit(X, Y)
    assert lasso.deviance_ < 7.7
    assert lasso.certificate_.kind == "stationary point"


@pytest.mark.parametrize(
    ("family", "link", "is_convex"),
    [
        ("gaussian", "log", False),
        ("gamma", "identity", False),
        ("gamma", "log", True),
        ("gamma", "inverse", True),
        ("poisson", "sqrt", True),
        (NegativeBinomial(2.0), "identity", False),
        ("negative_binomial", "log", False),  # r is estimated
        ("bernoulli", "cauchit", False),
        ("bernoulli", "probit", True),
    ],
)
def test_a_certificate_is_global_where_the_likelihood_is_convex(family, link, is_convex) -> None:
    rng = np.random.default_rng(3)
    y = {"bernoulli": rng.random(40) < 0.5, "gamma": rng.gamma(2.0, size=40)}.get(family, rng.poisson(5, 40) + 1.0)
    model = GLM(family, link).fit(rng.normal(size=(40, 2)), y)
    assert model.certificate_.holds
    assert model.certificate_.is_global == is_convex
    assert (model.certificate_.kind == "stationary point") == (not is_convex)


@pytest.mark.parametrize("solver", ["newton", "newton-cg", "lbfgs", "gradient"])
def test_every_solver_certifies_a_stationary_point(solver) -> None:
    model = GLM("inverse_gaussian", "log", solver=solver, tol=1e-4, max_iter=500).fit(X, Y)
    assert model.deviance_ < 8.5
    assert model.certificate_.kind == "stationary point"


def test_a_kernel_model_certifies_a_stationary_point() -> None:
    kernel = GLM("gaussian", "log", "l2", kernel="rbf").fit(X, Y)
    assert kernel.certificate_.kind == "stationary point"
    assert GLM("gaussian", "identity", "l2", kernel="rbf").fit(X, Y).certificate_.is_global


def test_starts_are_found_on_a_sample_of_many_rows() -> None:
    rows = 300
    noise = np.random.default_rng(0).normal(size=(rows, len(Y)))
    x, y = (X[:, 0] + 1e-3 * noise).ravel()[:, None], np.tile(Y, rows)
    model = GLM("inverse_gaussian", "log").fit(x, y)
    start = GLM("inverse_gaussian", "log", warm_start=True)
    assert model.deviance_ < 10 * rows
    assert model.certificate_.holds
    np.testing.assert_array_equal(model.coef_, start.fit(x, y).coef_)
