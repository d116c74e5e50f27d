"""Newton's method for functions of a kernel: optima, certificates, and agreement of memory and tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mercer._errors import DegenerateDataError, KernelError
from mercer.families import IDENTITY, INVERSE, LOG, LOGIT, Bernoulli, Gamma, Gaussian, Poisson
from mercer.families.response import Response, SoftmaxResponse
from mercer.kernels import RBF, Gram, Linear
from mercer.optim.span._factors import ClassFactorPreconditioner, FactorPreconditioner, _factorise_sum
from mercer.optim.span.freedom import used_degrees_of_freedom
from mercer.optim.span.losses import ArrayLosses, ClassRowLosses, DiagonalCurvature, ResponseLosses
from mercer.optim.span.newton import KernelExpansion, KernelProblem, conjugate_gradient, solve
from mercer.optim.span.products import StoredMatrix, make_products
from tests._ctrl_c import stop_at

N = 80
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
GRAM = Gram(RBF(gamma=0.5), X)
K = GRAM.matrix()
WEIGHT = RNG.uniform(0.5, 2, size=N)
SIGN = (X[:, 0] * X[:, 1] > 0).astype(int)
LOSSES: dict[str, ArrayLosses] = {
    "squares": ResponseLosses(Response(Gaussian(), IDENTITY), RNG.normal(size=(N, 2)), WEIGHT),
    "logit": ResponseLosses(Response(Bernoulli(), LOGIT), SIGN[:, None].astype(float)),
    "poisson": ResponseLosses(Response(Poisson(), LOG), RNG.poisson(np.exp(X[:, :1])).astype(float), WEIGHT),
    "gamma": ResponseLosses(Response(Gamma(), INVERSE), RNG.gamma(2, np.exp(X[:, :1]))),
    "softmax": ClassRowLosses(SoftmaxResponse(3), SIGN + (X[:, 0] > 1), WEIGHT),
}
EACH = pytest.mark.parametrize("name", LOSSES)


def problem(name: str, *, in_memory: bool = True, strength: float = 0.5, intercept: bool = True) -> KernelProblem:
    return KernelProblem(make_products(GRAM, in_memory=in_memory), LOSSES[name], strength, intercept)


class _Scaled:
    def __init__(self, P: Any, scale: float) -> None:
        self.P, self.scale = P, scale

    def matvec(self, V: Any) -> Any:
        return self.scale * self.P.matvec(V)


def objective(made: KernelProblem, alpha: Any, b: Any) -> float:
    return made.losses.value(K @ alpha + b) + 0.5 * made.strength * float(np.vdot(alpha, K @ alpha))


@EACH
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("strength", [1.0, 1e-2])
def test_the_dual_coefficients_are_slopes(name: str, intercept: bool, in_memory: bool, strength: float) -> None:
    """Representer theorem: Σ αᵢ k(·, xᵢ) = −Σ gᵢ k(·, xᵢ)/λ, and Σ g = 0 by the intercept."""
    made = problem(name, in_memory=in_memory, strength=strength, intercept=intercept)
    solution = solve(made)
    assert solution.certificate.holds
    alpha, b, values = solution.coef
    np.testing.assert_allclose(values, K @ alpha + b, atol=1e-9)
    g, _ = made.losses.slopes(K @ alpha + b)
    rho = strength * alpha + g
    assert np.vdot(rho, K @ rho) <= 1e-12 * np.vdot(g, K @ g)
    if intercept:
        np.testing.assert_allclose(g.sum(axis=0), 0, atol=1e-6)
    else:
        assert not b.any()
    np.testing.assert_allclose(solution.history.objective[-1], objective(made, alpha, b), rtol=1e-10)


def test_ridge_has_its_closed_form() -> None:
    made = problem("squares", intercept=False)
    assert isinstance(made.losses, ResponseLosses)
    expected = np.linalg.solve(K + made.strength * np.diag(1 / WEIGHT), made.losses.y)
    np.testing.assert_allclose(solve(made).coef.alpha, expected, atol=1e-9)
    assert len(solve(made).history.objective) == 2  # one step


def test_ridge_with_an_intercept_is_ridge_of_the_centred_responses() -> None:
    made = replace(problem("squares"), losses=replace(LOSSES["squares"], weight=None))  # type: ignore[type-var]
    alpha, b, _ = solve(made).coef
    expected = np.linalg.solve(K + made.strength * np.eye(N), made.losses.y - b)
    np.testing.assert_allclose(alpha, expected, atol=1e-8)


@EACH
def test_the_objective_never_rises(name: str) -> None:
    trace = solve(problem(name, strength=1e-3)).history.objective
    assert (np.diff(trace) <= 1e-9 * np.abs(trace[0])).all()


@EACH
def test_the_certificate_belongs_to_the_returned_point(name: str) -> None:
    """The value measures the distance to the optimum, and the certificate of an early stop does not hold."""
    made = problem(name)
    early = solve(made, most_steps=1, tolerance=1e-12)
    best = solve(made, tolerance=1e-10)
    if name != "squares":  # which one step solves
        assert not early.certificate.holds
        missing = early.history.objective[-1] - best.history.objective[-1]
        predicted = 0.5 * (early.certificate.value * made.losses.unit(early.history.objective[-1])) ** 2
        assert missing / 3 < predicted < 3 * missing
    again = solve(made, best.coef, most_steps=0, tolerance=1e-8)
    assert again.certificate.holds


@EACH
@pytest.mark.parametrize("always", [0, 10_000])
def test_a_preconditioner_of_an_earlier_point_leads_to_the_same_optimum(name: str, always: int) -> None:
    solution = solve(problem(name, strength=0.05), always_factor=always)
    assert solution.certificate.holds
    expected = solve(problem(name, strength=0.05, in_memory=False))
    np.testing.assert_allclose(solution.coef.values, expected.coef.values, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("rest", "most"), [(1.0, 1.0), (1e-3, 1e-3), (1e-3, 1.0)])
def test_steps_do_not_depend_on_the_preconditioner(scale: float, rest: float, most: float) -> None:
    """A preconditioner that is too large or too small must not hide the error of the step."""
    made = problem("logit", strength=1e-6, intercept=False)
    h = np.geomspace(rest, most, N)[:, None]
    P = made.products.preconditioner(DiagonalCurvature(np.ones((N, 1))), 1e-6, intercept=False)
    residual = RNG.normal(size=(N, 1))
    D, _, left, _ = conjugate_gradient(made, DiagonalCurvature(h), _Scaled(P, scale), residual)
    exact = np.linalg.solve(1e-6 * np.eye(N) + h * K, residual)
    missing, whole = (float(np.vdot(v, K @ (1e-6 * v + h * (K @ v)))) for v in (D - exact, exact))
    assert missing < 0.05 * whole
    assert left > missing / 10


@pytest.mark.parametrize("name", ["logit", "softmax"])
def test_few_steps_suffice_with_vanishing_curvature(name: str) -> None:
    solution = solve(problem(name, strength=1e-6), always_factor=0)
    assert solution.certificate.holds
    assert len(solution.history.objective) < 40


class RecordedMatrix(StoredMatrix):
    """A matrix that records the types of its preconditioners."""

    def __init__(self, K: Any) -> None:
        super().__init__(K)
        object.__setattr__(self, "types", set())

    def preconditioner(self, *curvature: Any, **options: Any) -> Any:
        made = super().preconditioner(*curvature, **options)
        self.__dict__["types"].add(type(made))
        return made


def test_each_class_has_its_own_factor_if_a_common_one_is_poor() -> None:
    made = problem("softmax", strength=1e-3)
    expected = solve(made)
    products = RecordedMatrix(K)
    found = solve(replace(made, products=products), poor=1)
    assert ClassFactorPreconditioner in products.__dict__["types"]
    assert found.certificate.holds
    np.testing.assert_allclose(found.coef.values, expected.coef.values, atol=1e-5)


def test_ctrl_c_keeps_the_best_function() -> None:
    solution = solve(problem("logit"), callback=stop_at(1))
    assert solution.interrupted
    assert not solution.certificate.holds
    assert len(solution.history.objective) == 2


def test_a_certificate_does_not_hold_if_rounding_dominates() -> None:
    """Products of 1e200 cancel to any number, also to negative squares."""
    gram = Gram(Linear(), 1e100 * X)
    solution = solve(KernelProblem(make_products(gram), LOSSES["logit"], 1.0))
    assert not solution.certificate.holds


def test_a_start_that_is_worse_than_zero_is_not_taken() -> None:
    """Where e^η is huge, each Newton step lowers η by 1: from 200 a hundred of them do not suffice."""
    made, alpha = problem("poisson", strength=1e-3), np.zeros((N, 1))
    alpha[0] = 200.0
    far = KernelExpansion(alpha, np.zeros(1), np.zeros((N, 1)))
    best, found = solve(made), solve(made, far)
    assert found.certificate.holds
    np.testing.assert_allclose(found.history.objective, best.history.objective)
    near = KernelExpansion(best.coef.alpha, best.coef.intercept, np.zeros((N, 1)))
    assert len(solve(made, near).history.objective) < len(best.history.objective)


def test_an_error_is_raised_if_no_start_has_a_mean() -> None:
    """Under the identity the mean of a Poisson is f + offset: below 0 in half of the rows while f stays near 0."""
    losses = ResponseLosses(Response(Poisson(), IDENTITY), np.ones((N, 1)), offset=np.linspace(-9, 9, N))
    with pytest.raises(DegenerateDataError, match="start"):
        solve(KernelProblem(make_products(GRAM), losses, 1e6, intercept=False))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("name", ["logit", "poisson", "gamma"])
def test_degrees_of_freedom_are_the_trace_of_the_hat_matrix(name: str, in_memory: bool, intercept: bool) -> None:
    """The trace is that of ∂η̂/∂η for the working responses of one more Newton step."""
    made = problem(name, intercept=intercept, strength=0.3, in_memory=in_memory)
    eta = solve(made).coef.values
    losses = made.losses
    assert isinstance(losses, ResponseLosses)
    _, bend = replace(losses, expected=True).slopes(eta)
    W = np.diag(bend.typical)
    design = np.hstack([K, np.ones((N, 1))]) if intercept else K
    penalty = np.zeros((design.shape[1],) * 2)
    penalty[:N, :N] = 0.3 * K
    hat = np.linalg.lstsq(design.T @ W @ design + penalty, design.T @ W @ design, rcond=1e-13)[0]
    np.testing.assert_allclose(used_degrees_of_freedom(made, eta), np.trace(hat), rtol=1e-4)


def test_degrees_of_freedom_of_many_rows_are_estimated() -> None:
    made = problem("logit", strength=0.3)
    eta = solve(made).coef.values
    exact = used_degrees_of_freedom(made, eta)
    assert abs(used_degrees_of_freedom(made, eta, exact_rows=10) - exact) < 3 * np.sqrt(2 * exact / 50)


def test_classes_that_cannot_be_distinguished_are_rejected() -> None:
    with pytest.raises(KernelError, match="raise the penalty"):
        _factorise_sum(np.diag([1.0, -1.0]), np.zeros(2))


@pytest.mark.parametrize("intercept", [True, False])
def test_slopes_of_enormous_weights_without_curvature(intercept: bool) -> None:
    """W is almost 0, so that P is the identity over λ, apart from the intercept."""
    V = 1e150 * RNG.normal(size=(N, 1))
    P = FactorPreconditioner(K, np.zeros(N), 0.5, intercept=intercept)
    np.testing.assert_allclose(P.matvec(V), V / 0.5, rtol=1e-10)


def test_enormous_weights_give_no_warning() -> None:
    weight = 1e150 * RNG.uniform(size=N)
    losses = ResponseLosses(Response(Poisson(), LOG), RNG.gamma(2, size=(N, 1)), weight)
    solution = solve(KernelProblem(make_products(GRAM), losses, 1.0))
    assert np.isfinite(solution.coef.alpha).all()
    assert solution.certificate.holds == (solution.certificate.value <= solution.certificate.tolerance)


def test_an_objective_that_is_not_a_number_ends_the_search_at_once() -> None:
    weight = np.where(np.arange(N) == 3, np.nan, 1.0)
    losses = ResponseLosses(Response(Bernoulli(), LOGIT), SIGN[:, None].astype(float), weight)
    solution = solve(KernelProblem(make_products(GRAM), losses, 0.5))
    assert len(solution.history.objective) == 1
    assert not solution.certificate.holds


class Uphill(ResponseLosses):
    """Losses whose slopes have the wrong sign."""

    def slopes(self, eta: Any) -> Any:
        first, bend = super().slopes(eta)
        return -first, bend


def test_slopes_that_lead_uphill_are_not_followed() -> None:
    losses = Uphill(Response(Bernoulli(), LOGIT), SIGN[:, None].astype(float))
    made = KernelProblem(make_products(GRAM), losses, 0.5)
    found = solve(made)
    assert not found.certificate.holds
    assert found.history.objective[-1] <= found.history.objective[0] * (1 + 1e-9)
