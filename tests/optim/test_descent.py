"""Every iterative solver reaches its certificate, records its search, reports to callbacks, and can be interrupted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from mercer.families import LOG, LOGIT, Bernoulli, Poisson
from mercer.families.penalties import Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernels import RBF, Gram
from mercer.matrices import DenseMatrix, Observations
from mercer.matrices.mapped import MappedMatrix
from mercer.optim import _newton_cg as newton_cg
from mercer.optim import firth, gradient, lbfgs, newton, proximal_newton, row_space, softmax_lasso, stochastic
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.descent import MAX_STALLED_STEPS, Descent, StallMonitor, Step, descend, halve_step
from mercer.optim.minimize import minimize
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem
from mercer.optim.span import mapped_newton
from mercer.optim.span import newton as kernel_newton
from mercer.optim.span.losses import ResponseLosses
from mercer.optim.span.newton import KernelProblem
from mercer.optim.span.products import make_products
from tests._ctrl_c import stop_at

RNG = np.random.default_rng(0)
N, P = 300, 6
X = RNG.normal(size=(N, P)) @ (np.eye(P) + 0.5)
LABELS = (RNG.random(N) < 1 / (1 + np.exp(-X[:, 0]))) * 1.0
COUNTS = RNG.poisson(np.exp(0.3 * X[:, 1])).astype(float)
CODES = RNG.integers(0, 3, N).astype(np.int32)


def problem(response: Response, y: np.ndarray, *, l1: float = 0.0, l2: float = 1.0, rows: Any = X) -> Problem:
    design = DenseMatrix.of(rows)
    strengths = Strengths.none(design.n_columns)
    strengths.l1[:-1], strengths.l2[:-1] = l1, l2
    return Problem(Observations(design, y), response, strengths)


def classes(*, l1: float = 0.0, l2: float = 1.0) -> SoftmaxProblem:
    one = problem(Response(Bernoulli(), LOGIT), LABELS, l1=l1, l2=l2)
    return SoftmaxProblem(Observations(one.observations.design, CODES), SoftmaxResponse(3), one.strengths)


def logistic(**options: Any) -> Problem:
    return problem(Response(Bernoulli(), LOGIT), LABELS, **options)


def counts(**options: Any) -> Problem:
    return problem(Response(Poisson(), LOG), COUNTS, **options)


def losses() -> ResponseLosses:
    return ResponseLosses(Response(Bernoulli(), LOGIT), LABELS[:, None])


def in_span() -> KernelProblem:
    return KernelProblem(make_products(Gram(RBF(gamma=0.1), X), in_memory=True), losses(), 1.0)


def on_features() -> mapped_newton.MappedProblem:
    features = FourierMap.draw(RBF(gamma=0.1).spectrum(P), 20, np.random.default_rng(0))
    return mapped_newton.MappedProblem(MappedMatrix(features.tiles(X), features.back, True), losses(), np.ones(1))


#: a solver with a convex problem, from a start that is not the optimum
def solve_classes(solver: str, most_steps: int = 1000, callback: Any = None) -> Solution:
    start = np.zeros((P + 1, 3))
    return minimize(classes(), solver=solver, start=start, max_iter=most_steps, callback=callback)


CASES: dict[str, Callable[..., Solution]] = {
    "newton": partial(newton.solve, logistic(), np.zeros(P + 1)),
    "newton of counts": partial(newton.solve, counts(), np.full(P + 1, 0.5)),
    "newton-cg": partial(newton_cg.solve, logistic(), np.zeros(P + 1)),
    "lbfgs": partial(lbfgs.solve, counts(), np.full(P + 1, 0.3)),
    "gradient": partial(gradient.solve, logistic(), np.zeros(P + 1)),
    "stochastic": partial(stochastic.solve, logistic(), np.ones(P + 1)),
    "proximal": partial(proximal_newton.solve, logistic(l1=3.0), np.zeros(P + 1)),
    "row space": partial(
        row_space.solve,
        problem(Response(Bernoulli(), LOGIT), LABELS[:40], rows=RNG.normal(size=(40, 400))),
        tolerance=1e-8,
        most_steps=100,
    ),
    "softmax": partial(solve_classes, "newton"),
    "softmax by lbfgs": partial(solve_classes, "lbfgs"),
    "softmax lasso": partial(softmax_lasso.solve, classes(l1=3.0), np.zeros((P + 1, 3))),
    "kernel": partial(kernel_newton.solve, in_span()),
    "features": partial(mapped_newton.solve, on_features()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_certificate_is_reached_and_the_history_ends_there(name: str) -> None:
    solution = CASES[name]()
    history = solution.history
    assert solution.certificate.holds
    assert not solution.interrupted
    assert 1 <= solution.n_iter == len(history.objective) - 1 == len(history.distance) - 1 == len(history.length) - 1
    rises = np.diff(history.objective) / np.abs(history.objective[:-1])
    assert rises.max() <= 1e-9
    assert history.distance[-1] < history.distance[0]
    assert np.isnan(history.length[0])


@pytest.mark.parametrize("name", CASES)
def test_callbacks_receive_the_start_and_every_iteration(name: str) -> None:
    steps: list[Step] = []
    solution = CASES[name](callback=steps.append)
    assert [step.iteration for step in steps] == list(range(solution.n_iter + 1))
    np.testing.assert_allclose([step.objective for step in steps], solution.history.objective, rtol=1e-9)
    plain = CASES[name]()
    np.testing.assert_array_equal(plain.history.objective, solution.history.objective)
    last, found = (
        np.concatenate([np.ravel(part) for part in each]) for each in (_parts(steps[-1].coef), _parts(solution.coef))
    )
    np.testing.assert_allclose(last, found, rtol=1e-6, atol=1e-9)


def _parts(coef: Any) -> tuple[Any, ...]:
    return tuple(coef) if isinstance(coef, tuple) else (coef,)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("iteration", [0, 1, 2])
def test_an_interruption_keeps_the_point_of_that_iteration(name: str, iteration: int) -> None:
    whole = CASES[name]()
    if iteration > whole.n_iter:
        pytest.skip("the search is shorter")
    stopped = CASES[name](callback=stop_at(iteration))
    assert stopped.interrupted
    assert not stopped.certificate.holds
    assert stopped.n_iter == iteration
    np.testing.assert_allclose(stopped.history.objective, whole.history.objective[: iteration + 1], rtol=1e-9)
    with pytest.raises(KeyboardInterrupt):
        stopped.require_completion()
    assert whole.require_completion() is whole


@pytest.mark.parametrize("name", CASES)
def test_too_few_iterations_leave_a_certificate_that_does_not_hold(name: str) -> None:
    solution = CASES[name](most_steps=0)
    assert solution.n_iter == 0
    assert not solution.certificate.holds


def test_firths_method_records_its_search() -> None:
    y = (RNG.random(N) < 0.4) * 1.0
    solution = firth.solve(problem(Response(Bernoulli(), LOGIT), y, l2=0.0), np.full(P + 1, 0.3))
    assert solution.certificate.value <= solution.certificate.tolerance
    assert (np.diff(solution.history.objective) <= 1e-9).all()
    assert solution.n_iter > 1


# The driver


@dataclass
class Parabola(Descent):
    """½ x², by steps of a given portion of the way; refined at most `refinements` times."""

    x: float = 4.0
    portion: float = 0.5
    interrupted_at: int = -1
    #: the measurement of the distance that is interrupted
    unmeasured: int = -1
    refinements: int = 0

    def __post_init__(self) -> None:
        self.calls = self.measurements = 0

    @property
    def coef(self) -> float:
        return self.x

    @property
    def objective(self) -> float:
        return 0.5 * self.x**2

    @property
    def distance(self) -> float:
        self.measurements += 1
        if self.measurements == self.unmeasured:
            raise KeyboardInterrupt
        return abs(self.x)

    def has_converged(self) -> bool:
        return self.distance <= 1e-3

    def advance(self) -> bool:
        self.calls += 1
        self.x *= 1 - self.portion
        self.step_length = self.portion
        if self.calls == self.interrupted_at:
            raise KeyboardInterrupt
        return True

    def refine(self) -> bool:
        self.refinements -= 1
        self.portion = 0.5
        return self.refinements >= 0

    def certificate(self) -> Certificate:
        return Certificate("gradient norm", self.distance, 1e-3, f"after {self.n_iter} steps")


def test_iterations_are_counted_and_recorded() -> None:
    solution = descend(Parabola(), max_iter=100)
    assert solution.n_iter == 12
    assert solution.coef == 4.0 * 0.5**12
    np.testing.assert_array_equal(solution.history.distance, 4.0 * 0.5 ** np.arange(13))
    np.testing.assert_array_equal(solution.history.length[1:], 0.5)
    assert solution.certificate.sentence == "after 12 steps"


def test_a_point_is_recorded_even_if_the_interruption_precedes_its_record() -> None:
    solution = descend(Parabola(interrupted_at=3), max_iter=100)
    assert solution.interrupted
    assert solution.coef == 0.5
    assert solution.objective == 0.125
    assert solution.n_iter == 3


@pytest.mark.parametrize("measurement", range(1, 30))
def test_an_interruption_while_the_distance_is_measured_leaves_whole_records(measurement: int) -> None:
    solution = descend(Parabola(unmeasured=measurement), max_iter=100)
    assert solution.interrupted
    assert solution.coef == 4.0 * 0.5**solution.n_iter
    assert len(solution.history.objective) == len(solution.history.distance) == len(solution.history.length)
    np.testing.assert_array_equal(solution.history.distance, 4.0 * 0.5 ** np.arange(solution.n_iter + 1))
    assert solution.certificate.sentence.startswith(f"after {solution.n_iter} steps")


def test_a_certificate_does_not_hold_after_an_interruption_although_its_value_is_small() -> None:
    solution = descend(Parabola(portion=1.0, interrupted_at=1), max_iter=100)
    assert solution.objective == 0
    assert not solution.certificate.holds
    assert "before it was confirmed" in solution.certificate.sentence


def test_a_search_without_progress_is_refined_or_ends() -> None:
    stalled = descend(Parabola(portion=0.0), max_iter=100)
    assert stalled.n_iter == MAX_STALLED_STEPS
    assert not stalled.certificate.holds
    refined = descend(Parabola(portion=0.0, refinements=1), max_iter=100)
    assert refined.certificate.holds


def test_data_that_are_not_finite_end_the_search_at_once() -> None:
    solution = descend(Parabola(x=np.inf), max_iter=100)
    assert solution.n_iter == 0
    assert not solution.certificate.holds


# The length of steps


@dataclass
class Value:
    value: float


def test_a_step_is_halved_until_the_objective_is_low_enough() -> None:
    tried: list[float] = []

    def evaluate(length: float) -> Value | None:
        tried.append(length)
        return None if length == 1 else Value(10 * length)

    found = halve_step(evaluate, 3.0)
    assert found is not None
    assert (found.point.value, found.length) == (2.5, 0.25)
    assert tried == [1.0, 0.5, 0.25]
    assert halve_step(lambda length: Value(np.nan), 3.0, max_halvings=3) is None


def test_long_steps_are_divided_by_sixteen() -> None:
    tried: list[float] = []

    def evaluate(length: float) -> Value:
        tried.append(length)
        return Value(1.0)

    assert halve_step(evaluate, 0.0, max_halvings=5, single_halvings=2) is None
    assert tried == [1.0, 0.5, 0.25, 0.25 / 16, 0.25 / 256]


def test_a_promised_fall_is_required_in_proportion_to_the_length() -> None:
    found = halve_step(lambda length: Value(1 - 0.6 * length * (1.5 - length)), 1.0, promised=0.5)
    assert found is not None
    assert found.length == 0.5


# Stalls


def test_consecutive_steps_without_progress_are_counted() -> None:
    monitor = StallMonitor(1.0)
    for _ in range(MAX_STALLED_STEPS - 1):
        monitor.note(5.0, 5.0, 0.9)
    assert not monitor.is_stalled
    monitor.note(5.0, 5.0, 0.4)  # less than half of the shortest so far
    for _ in range(MAX_STALLED_STEPS):
        assert not monitor.is_stalled
        monitor.note(5.0, 5.0, 0.3)
    assert monitor.is_stalled


def test_an_objective_that_rises_and_falls_by_turns_has_stalled() -> None:
    monitor = StallMonitor(1.0)
    high, low = 5.0 + 1e-11, 5.0
    monitor.note(6.0, low, 0.9)
    for _ in range(MAX_STALLED_STEPS):
        assert not monitor.is_stalled
        monitor.note(low, high, 0.9)
        low, high = high, low
    assert monitor.is_stalled
