"""Newton's method on features that are never written out: the optimum is that of the features written out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from mercer.families import IDENTITY, INVERSE, LOG, LOGIT, Bernoulli, Gamma, Gaussian, Poisson
from mercer.families.penalties import Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernel_approximation.nystroem_map import NystroemMap
from mercer.kernels import RBF
from mercer.matrices import Coordinates, DenseMatrix, Observations
from mercer.matrices.mapped import KeptTiles, MappedMatrix, TileOptions
from mercer.matrices.mapped_tensors import LandmarkTensors
from mercer.optim import newton
from mercer.optim.descent import descend
from mercer.optim.problem import Problem
from mercer.optim.span import mapped_newton
from mercer.optim.span.freedom import used_degrees_of_freedom
from mercer.optim.span.losses import ArrayLosses, ClassRowLosses, ResponseLosses, SoftmaxCurvature
from mercer.optim.span.mapped_curvature import (
    RARE_CLASS_CURVATURE,
    sample_numbers,
    sampled_inverse,
    sampled_preconditioner,
)
from mercer.optim.span.mapped_newton import MappedNewtonDescent, MappedProblem, solve
from mercer.optim.span.tensor_losses import TensorRowLosses
from tests._ctrl_c import stop_at

N = 400
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
KERNEL = RBF(gamma=0.5)
WEIGHT, OFFSET = RNG.uniform(0.5, 2, size=N), 0.3 * RNG.normal(size=N)
F = np.sin(2 * X[:, 0]) + X[:, 1]
LOSSES: dict[str, ArrayLosses] = {
    "squares": ResponseLosses(
        Response(Gaussian(), IDENTITY), np.column_stack([F + RNG.normal(size=N), F]), WEIGHT, OFFSET
    ),
    "logit": ResponseLosses(
        Response(Bernoulli(), LOGIT), (RNG.random((N, 1)) < 1 / (1 + np.exp(-F[:, None]))).astype(float)
    ),
    "poisson": ResponseLosses(Response(Poisson(), LOG), RNG.poisson(np.exp(F[:, None])).astype(float), WEIGHT, OFFSET),
    "gamma": ResponseLosses(Response(Gamma(), INVERSE), RNG.gamma(2, np.exp(X[:, :1]))),
    "softmax": ClassRowLosses(SoftmaxResponse(3), np.digitize(F + RNG.normal(size=N), [-0.7, 0.7]), WEIGHT),
}
EACH = pytest.mark.parametrize("name", LOSSES)
MAPS = {
    "nystroem": NystroemMap.of(KERNEL, X[:60]),
    "fourier": FourierMap.draw(KERNEL.spectrum(2), 60, np.random.default_rng(0)),
}


DEFAULT = TileOptions()
#: tiles of float32 also for few rows
SINGLE = TileOptions(single_from=0, largest_single_error=1.0)


def made(
    name: str,
    map: Any = MAPS["nystroem"],
    *,
    intercept: bool = True,
    strength: float = 0.5,
    options: TileOptions = DEFAULT,
) -> MappedProblem:
    losses = LOSSES[name]
    design = MappedMatrix(map.tiles(X), map.back, intercept, options)
    return MappedProblem(design, losses, np.full(losses.outputs, strength))


def written_out(map: Any, *, intercept: bool = True) -> Any:
    return np.column_stack([map(X), np.ones((N, int(intercept)))])


def gradient(problem: MappedProblem, Z: Any, w: Any) -> Any:
    """Return the gradient for explicit features."""
    slopes, _ = problem.losses.slopes(Z @ w)
    return Z.T @ slopes + problem.strengths * np.vstack(
        [w[: problem.design.n_features], 0 * w[problem.design.n_features :]]
    )


@EACH
@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_gradient_vanishes_for_explicit_features(name: str, kind: str, intercept: bool) -> None:
    problem, Z = made(name, MAPS[kind], intercept=intercept), written_out(MAPS[kind], intercept=intercept)
    if name == "gamma" and not intercept:
        pytest.skip("the inverse link needs a mean to begin with")
    solution = solve(problem)
    assert solution.certificate.holds, solution.certificate
    w, values = solution.coef
    np.testing.assert_allclose(values, Z @ w, atol=1e-9)
    size = np.abs(gradient(problem, Z, 0 * w)).max() if name != "gamma" else N
    assert np.abs(gradient(problem, Z, w)).max() <= 1e-6 * size


@EACH
def test_gradients_are_slopes_of_the_objective(name: str) -> None:
    descent = MappedNewtonDescent(made(name), 1e-8)
    descent.begin()
    shape = descent.point.w.shape
    at = descent.point.w.ravel() + (0 if name == "gamma" else 0.1 * RNG.normal(size=descent.point.w.size))
    point = descent._point(at.reshape(shape))
    by_differences = approx_fprime(at, lambda w: descent._point(w.reshape(shape)).value, 1e-6)
    np.testing.assert_allclose(point.gradient.ravel(), by_differences, atol=2e-4 * np.abs(by_differences).max())


@pytest.mark.parametrize("name", ["squares", "logit", "poisson", "gamma"])
def test_the_optimum_is_that_of_a_linear_model_on_the_features(name: str) -> None:
    problem, Z = made(name), written_out(MAPS["nystroem"], intercept=False)
    losses = problem.losses
    assert isinstance(losses, ResponseLosses)
    found = solve(problem, tolerance=1e-9).coef
    design = DenseMatrix(Z, Coordinates.plain(Z.shape[1], intercept=True))
    penalties = Strengths(np.zeros(Z.shape[1] + 1), np.append(np.full(Z.shape[1], 0.5), 0.0), np.zeros(Z.shape[1] + 1))
    for output in range(losses.outputs):
        rows = Observations(design, losses.y[:, output], losses.weight, losses.offset)
        expected = newton.solve(Problem(rows, losses.response, penalties)).coef
        eta = Z @ expected[:-1] + expected[-1]
        np.testing.assert_allclose(found.values[:, output], eta, atol=1e-6 * np.abs(eta).max())


def test_every_output_has_its_own_penalty() -> None:
    both = replace(made("squares"), strengths=np.array([0.1, 10.0]))
    found = solve(both, tolerance=1e-9).coef
    for output, strength in enumerate(both.strengths):
        losses = LOSSES["squares"]
        assert isinstance(losses, ResponseLosses)
        alone = MappedProblem(both.design, replace(losses, y=losses.y[:, [output]]), np.array([strength]))
        np.testing.assert_allclose(found.values[:, [output]], solve(alone, tolerance=1e-9).coef.values, atol=1e-7)


@pytest.mark.parametrize("name", ["squares", "logit", "poisson", "softmax"])
@pytest.mark.parametrize("strength", [pytest.param(1.0, marks=pytest.mark.slow), 1e-6])
def test_nearly_equal_landmarks_are_accepted(name: str, strength: float) -> None:
    """500 of them on a line, each twice: the kernel matrix has about 20 eigenvalues above rounding."""
    line = np.sort(RNG.uniform(-2, 2, size=(N, 1)), axis=0)
    map = NystroemMap.of(RBF(gamma=0.5), np.repeat(line[::2], 3, axis=0)[:500])
    assert map.n_features < 60
    losses = LOSSES[name]
    problem = MappedProblem(MappedMatrix(map.tiles(line), map.back), losses, np.full(losses.outputs, strength))
    solution = solve(problem, tolerance=1e-6)
    assert solution.certificate.holds, solution.certificate
    assert np.isfinite(solution.coef.values).all()


@EACH
@pytest.mark.parametrize("room", [0.25, 0.0])
def test_float32_does_not_move_the_optimum(name: str, room: float) -> None:
    exact = solve(made(name), tolerance=1e-7).coef.values
    problem = made(name, options=replace(SINGLE, stored_share=room))
    assert problem.design.rough == np.float32
    descent = MappedNewtonDescent(problem, 1e-7)
    descent.begin()
    assert isinstance(descent._problem.design.tiles, KeptTiles) == (room > 0)
    solution = solve(problem, tolerance=1e-7)
    assert solution.certificate.holds, solution.certificate
    np.testing.assert_allclose(solution.coef.values, exact, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("name", ["logit", "softmax", "poisson"])
def test_a_start_from_some_rows_leads_to_the_same_optimum(name: str) -> None:
    exact = solve(made(name), tolerance=1e-7).coef.values
    assert len(sample_numbers(N, made(name).design.n_columns)) < N
    started = solve(made(name), tolerance=1e-7, start_rows=1)
    np.testing.assert_allclose(started.coef.values, exact, atol=1e-6 * np.abs(exact).max())
    again = solve(made(name), started.coef.w, tolerance=1e-7)
    assert len(again.history.objective) == 1  # the start is the optimum


def test_a_sample_of_the_rows_is_a_preconditioner_for_all() -> None:
    problem = made("logit")
    Z, h = written_out(MAPS["nystroem"]), np.full(N, 0.25)
    bend = problem.losses.slopes(np.zeros((N, 1)))[1]
    inverse = sampled_inverse(problem.design, np.arange(N), bend, problem.strengths)
    H = Z.T @ (h[:, None] * Z) + 0.5 * np.diag(np.append(np.ones(Z.shape[1] - 1), 0.0))
    r = RNG.normal(size=(Z.shape[1], 1))
    np.testing.assert_allclose(inverse.matvec(H @ r), r, atol=1e-8)
    np.testing.assert_allclose(inverse.used_degrees(), np.trace(np.linalg.solve(H, Z.T @ (h[:, None] * Z))), rtol=1e-8)


@pytest.mark.parametrize("name", ["squares", "logit", "poisson", "softmax"])
def test_the_certificate_includes_float32_errors_of_the_gradient(name: str) -> None:
    """Sweeps in float64 use a few rows and estimate the distance of the gradient from that of explicit features."""
    exact_rows = list[int]()

    class RecordedDesign(MappedMatrix):
        """A design that records the rows of its passes in float64."""

        def swept(self, w: Any, slopes: Any, *, exactly: bool = True) -> Any:
            exact_rows.extend([self.n_rows] * exactly)
            return super().swept(w, slopes, exactly=exactly)

    problem, Z = made(name, MAPS["fourier"], options=SINGLE), written_out(MAPS["fourier"])
    problem = replace(problem, design=RecordedDesign(**vars(problem.design)))
    descent = MappedNewtonDescent(problem, 0.01, one_in=4)
    descend(descent, max_iter=20)
    assert descent.is_short
    assert set(exact_rows) == {N // 4}
    point = descent.point
    _, bend = problem.losses.slopes(point.eta)
    off = (gradient(problem, Z, point.w) - point.gradient).ravel()
    length = np.sqrt(off @ np.linalg.lstsq(sum_of_curvatures(problem, Z, bend), off, rcond=1e-12)[0])
    assert 0 < length <= point.rounded
    assert point.rounded / problem.losses.unit(point.value) < descent.distance


def test_an_influential_row_outside_the_sample_forces_float64() -> None:
    for far, counted in ((0.0, True), (1e4, False)):
        y = F[:, None] + RNG.normal(size=(N, 1)) + far * (np.arange(N) == 7)[:, None]
        losses = ResponseLosses(Response(Gaussian(), IDENTITY), y)
        map = MAPS["fourier"]
        problem = MappedProblem(MappedMatrix(map.tiles(X), map.back, options=SINGLE), losses, np.array([0.5]))
        descent = MappedNewtonDescent(problem, 0.01, one_in=4)
        descend(descent, max_iter=20)
        assert descent.is_short
        assert (descent.point.rounded > 0) == counted


def sum_of_curvatures(problem: MappedProblem, Z: Any, bend: Any) -> Any:
    """The Hessian, column by column."""
    shape = (Z.shape[1], problem.losses.outputs)
    directions = np.eye(shape[0] * shape[1]).reshape(-1, *shape)
    return np.column_stack([(Z.T @ bend.matvec(Z @ V) + problem.pull(V)).ravel() for V in directions])


def test_least_squares_of_many_rows_start_at_the_fit_of_a_sample() -> None:
    exact = solve(made("squares"), tolerance=1e-7)
    started = solve(made("squares"), tolerance=1e-7, sample=sample_numbers(N, N // 3))
    assert started.history.objective[0] < 0.5 * exact.history.objective[0]
    np.testing.assert_allclose(started.coef.values, exact.coef.values, atol=1e-6 * np.abs(F).max())


def test_least_squares_of_tensors_start_at_the_level() -> None:
    torch = pytest.importorskip("torch")
    rows, losses = torch.as_tensor(X), LOSSES["squares"]
    design = LandmarkTensors.of(KERNEL, rows, rows[:60], MAPS["nystroem"].back, intercept=True)
    problem = MappedProblem(design, TensorRowLosses.on_device_of(losses, rows), np.full(2, 0.5))
    found = solve(problem, tolerance=1e-7, sample=sample_numbers(N, N // 3))
    expected = solve(made("squares"), tolerance=1e-7)
    assert found.certificate.holds
    np.testing.assert_allclose(np.asarray(found.coef.values), expected.coef.values, atol=1e-6 * np.abs(F).max())


def test_classes_have_a_curvature_each() -> None:
    """A constant common to all classes is determined by the penalty alone; without it each class is solved exactly."""
    problem, Z = made("softmax"), written_out(MAPS["nystroem"])
    p = np.eye(3)[RNG.integers(3, size=N)] * 0.2 + 0.4 * np.array([1, 1, 0.0])
    bend = SoftmaxCurvature(p, None, symmetric=True)
    inverse = sampled_preconditioner(problem.design, np.arange(N), bend, problem.strengths)
    common = np.tile(np.append(RNG.normal(size=Z.shape[1] - 1), 0.0)[:, None], 3)
    np.testing.assert_allclose(inverse.matvec(problem.strengths * common), common, atol=1e-9)
    R = RNG.normal(size=(Z.shape[1], 3))
    np.testing.assert_allclose(np.vdot(R, inverse.matvec(common)), np.vdot(inverse.matvec(R), common))
    plain = sampled_preconditioner(problem.design, np.arange(N), replace(bend, symmetric=False), problem.strengths)
    for k in range(3):
        h = p[:, k] * (1 - p[:, k]) + RARE_CLASS_CURVATURE * bend.typical
        H = Z.T @ (h[:, None] * Z) + 0.5 * np.diag(np.append(np.ones(Z.shape[1] - 1), 0.0))
        np.testing.assert_allclose(H @ plain.matvec(R)[:, k], R[:, k], atol=1e-8)
    weaker = plain.with_penalties(0.1 * problem.strengths)
    assert weaker.used_degrees() > plain.used_degrees()


def test_the_objective_never_rises() -> None:
    for name in ("logit", "poisson", "softmax"):
        trace = np.array(solve(made(name, strength=1e-3)).history.objective)
        assert (np.diff(trace) <= 1e-9 * np.abs(trace[:-1])).all()


def test_separable_classes_with_a_tiny_penalty_converge() -> None:
    y = (X[:, 0] > 0).astype(float)[:, None]
    map = MAPS["nystroem"]
    losses = ResponseLosses(Response(Bernoulli(), LOGIT), y)
    solution = solve(MappedProblem(MappedMatrix(map.tiles(X), map.back), losses, np.array([1e-8])), tolerance=1e-6)
    assert solution.certificate.holds, solution.certificate
    assert ((solution.coef.values[:, 0] > 0) == (y[:, 0] > 0)).all()


def test_exactly_fitted_responses_give_no_warning() -> None:
    map = MAPS["nystroem"]
    y = map(X) @ RNG.normal(size=(map.n_features, 1))
    losses = ResponseLosses(Response(Gaussian(), IDENTITY), y)
    problem = MappedProblem(MappedMatrix(map.tiles(X), map.back), losses, np.array([1e-9]), least_noise=0.01)
    solution = solve(problem, tolerance=1e-6)
    assert solution.certificate.holds, solution.certificate
    np.testing.assert_allclose(solution.coef.values, y, atol=1e-6)


def test_an_interruption_keeps_the_best_point() -> None:
    whole = solve(made("poisson"))
    found = solve(made("poisson"), callback=stop_at(2))
    assert found.interrupted
    assert not found.certificate.holds
    assert whole.history.objective[-1] < found.history.objective[-1] < whole.history.objective[0]
    assert found.coef.w.shape == whole.coef.w.shape


def test_too_few_steps_give_a_warning() -> None:
    solution = solve(made("poisson"), most_steps=1)
    assert not solution.certificate.holds


def test_a_fit_stopped_by_rounding_reports_the_requested_tolerance() -> None:
    solution = solve(made("poisson"), tolerance=1e-30)
    certificate = solution.certificate
    assert certificate.holds
    assert certificate.tolerance == mapped_newton.NEGLIGIBLE_LENGTH
    assert certificate.value < mapped_newton.NEGLIGIBLE_LENGTH
    assert "the tolerance is 1e-30, but rounding" in certificate.sentence


def test_convergence_is_verified_in_float64() -> None:
    problem, Z = made("logit", options=SINGLE), written_out(MAPS["nystroem"])
    descent = MappedNewtonDescent(problem, 1.0)
    descend(descent, max_iter=2)
    assert descent.is_short
    exact = gradient(problem, Z, descent.point.w)
    np.testing.assert_allclose(descent.point.gradient, exact, atol=1e-9 * np.abs(exact).max())


def test_a_start_without_means_is_replaced_by_the_level() -> None:
    """1/η of η below 0 is the mean of nothing."""
    problem = made("gamma", options=SINGLE)
    expected = solve(problem, tolerance=1e-6)
    start = np.zeros_like(expected.coef.w)
    start[-1] = -1.0
    found = solve(problem, start, tolerance=1e-6)
    assert found.certificate.holds
    np.testing.assert_allclose(found.coef.values, expected.coef.values, atol=1e-5)


@EACH
def test_products_switch_to_float64_if_float32_makes_no_progress(name: str) -> None:
    descent = MappedNewtonDescent(made(name, strength=1e-6, options=SINGLE), 1e-9)
    descend(descent, max_iter=100)
    assert descent._exact_product
    assert descent.certificate().holds


@pytest.mark.parametrize("name", ["logit", "poisson"])
def test_degrees_of_freedom_are_the_trace_of_the_hat_matrix(name: str) -> None:
    problem, Z = made(name), written_out(MAPS["nystroem"])
    eta = solve(problem, tolerance=1e-7).coef.values
    losses = problem.losses
    assert isinstance(losses, ResponseLosses)
    h = replace(losses, expected=True).slopes(eta)[1].typical
    gram = Z.T @ (h[:, None] * Z)
    penalty = 0.5 * np.diag(np.append(np.ones(Z.shape[1] - 1), 0.0))
    np.testing.assert_allclose(
        used_degrees_of_freedom(problem, eta), np.trace(np.linalg.solve(gram + penalty, gram)), rtol=1e-6
    )
