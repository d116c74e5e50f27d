"""The choice of a solver, and requests for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import GLM
from mercer._errors import NonFiniteError, UnsuitableSolverError
from mercer.families import IDENTITY, L1, L2, LOG, Gaussian, Poisson, SoftmaxResponse
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import softmax_lasso
from mercer.optim.choose import MAX_NEWTON_COLUMNS, SOLVER_PURPOSES, choose
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem
from tests._ctrl_c import stop_at
from tests.matrices._streamed import streamed

LEAST_SQUARES, COUNTS = Response(Gaussian(), IDENTITY), Response(Poisson(), LOG)


def problem(response: Any, penalty: Any = None, columns: int = 3) -> Problem:
    rng = np.random.default_rng(0)
    design = DenseMatrix.of(rng.normal(size=(40, columns)))
    given = Strengths.none(columns) if penalty is None else penalty.strengths(columns)
    y = rng.poisson(3.0, size=40).astype(float)
    return Problem(Observations(design, y), response, design.coordinates.strengths(given))


def classes(columns: int = 3) -> SoftmaxProblem:
    plain = problem(COUNTS, columns=columns)
    observations = Observations(plain.observations.design, np.arange(40) % 3)
    return SoftmaxProblem(observations, SoftmaxResponse(3), plain.strengths)


@pytest.mark.parametrize(
    ("made", "solver", "why"),
    [
        (problem(LEAST_SQUARES), "direct", "closed form"),
        (problem(LEAST_SQUARES, L2(2.0)), "direct", "closed form"),
        (problem(LEAST_SQUARES, L2([1.0, 2.0, 3.0])), "newton", "few"),
        (problem(LEAST_SQUARES, L2(1.0, mean=1.0)), "newton", "few"),
        (problem(COUNTS), "newton", "few"),
        (problem(COUNTS, columns=MAX_NEWTON_COLUMNS + 1), "lbfgs", "too many"),
        (problem(COUNTS, L1(1.0)), "proximal", "absolute"),
        (classes(), "newton", "few"),
        (classes(200), "lbfgs", "402"),
    ],
)
def test_the_choice_depends_on_the_problem(made: Any, solver: str, why: str) -> None:
    choice = choose(made)
    assert choice.solver == solver
    assert why in choice.why


@pytest.mark.parametrize(
    ("made", "solver"),
    [
        (problem(COUNTS), "direct"),
        (problem(LEAST_SQUARES, L2([1.0, 2.0, 3.0])), "direct"),
        (problem(COUNTS, L1(1.0)), "newton"),
        (problem(COUNTS, L1(1.0)), "lbfgs"),
        (problem(COUNTS, L1(1.0)), "newton-cg"),
        (problem(COUNTS, L1(1.0)), "gradient"),
        (problem(COUNTS, L1(1.0)), "online"),
        (classes(), "direct"),
        (problem(COUNTS), "steepest descent"),
    ],
)
def test_an_unsuitable_solver_is_rejected(made: Any, solver: str) -> None:
    with pytest.raises(UnsuitableSolverError, match="auto"):
        choose(made, solver)


@pytest.mark.parametrize("made", [problem(COUNTS), problem(LEAST_SQUARES, L2(1.0)), classes()])
def test_the_solvers_agree(made: Any) -> None:
    by_newton, by_lbfgs = (
        choose(made, name).solve(made, tolerance=1e-9, most_steps=1000).coef for name in ("newton", "lbfgs")
    )
    np.testing.assert_allclose(by_newton, by_lbfgs, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        choose(made).solve(made, tolerance=1e-9, most_steps=1000).coef, by_newton, rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("made", [problem(COUNTS), problem(LEAST_SQUARES, L2(1.0)), classes()])
@pytest.mark.parametrize("name", ["newton", "newton-cg", "lbfgs", "gradient", "online"])
def test_every_solver_has_a_name_and_a_certificate(made: Any, name: str) -> None:
    tolerance = 0.1 if name == "online" else 1e-7
    best = choose(made).solve(made, tolerance=1e-9, most_steps=1000).coef
    solution = choose(made, name).solve(made, tolerance=tolerance, most_steps=3000)
    assert solution.certificate.holds
    assert solution.certificate.tolerance == tolerance
    assert solution.coef.shape == best.shape
    # the largest standard error here is below ½
    np.testing.assert_allclose(solution.coef, best, atol=tolerance)


@pytest.mark.parametrize("name", [name for name in SOLVER_PURPOSES if name not in ("direct", "proximal")])
@pytest.mark.parametrize("family", ["poisson", "categorical"])
def test_a_glm_takes_a_solver_by_name(name: str, family: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = rng.integers(0, 3, 60)
    model = GLM(family, solver=name, tol=0.1, max_iter=1000).fit(X, y)
    assert model.certificate_.holds
    assert str(model.plan_).startswith(f"{name} (requested)")
    X[3, 1] = np.nan
    with pytest.raises(NonFiniteError, match="'x1' has a missing value in row 3"):
        model.fit(X, y)


def random_classes(*, l1: Any, l2: Any) -> SoftmaxProblem:
    """Penalties of three columns and an intercept."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)), rng.integers(0, 3, 60).astype(np.int32)
    strengths = Strengths(l1 + np.zeros(4), l2 + np.zeros(4), np.zeros(4))
    return SoftmaxProblem(Observations(DenseMatrix.of(X), codes), SoftmaxResponse(3), strengths)


def test_classes_with_an_absolute_penalty_are_solved_by_the_lasso_of_classes() -> None:
    problem = random_classes(l1=np.array([1.0, 1.0, 1.0, 0.0]), l2=0.0)
    chosen, direct = (
        solve(problem, tolerance=1e-6, most_steps=100) for solve in (choose(problem).solve, softmax_lasso.solve)
    )
    np.testing.assert_allclose(chosen.coef, direct.coef)
    assert chosen.certificate.holds


def test_ctrl_c_leaves_a_column_for_each_class() -> None:
    problem = random_classes(l1=0.0, l2=np.ones(4))
    stopped = choose(problem).solve(problem, tolerance=1e-6, most_steps=100, callback=stop_at(1))
    assert stopped.interrupted
    assert stopped.coef.shape == (4, 3)


def test_streamed_rows_have_their_own_proximal_solver() -> None:
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(300, 3)), rng.poisson(2.0, size=300).astype(float)
    found = streamed(X, counts, rows=70)
    passing = Problem(found, COUNTS, found.design.coordinates.strengths(L1(5.0).strengths(3)))
    design = DenseMatrix.of(X)
    held = Problem(Observations(design, counts), COUNTS, design.coordinates.strengths(L1(5.0).strengths(3)))
    in_memory, on_source = (choose(this).solve(this, tolerance=1e-9, most_steps=100) for this in (held, passing))
    assert in_memory.certificate.holds
    assert on_source.certificate.holds
    np.testing.assert_allclose(
        design.coordinates.to_user(in_memory.coef)[0], found.design.coordinates.to_user(on_source.coef)[0], atol=1e-7
    )
