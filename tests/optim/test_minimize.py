"""The rules by which `minimize` takes a solver, requests for each, and starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import GLM, LogisticRegression
from mercer._errors import NonFiniteError, UnsuitableSolverError
from mercer.families import IDENTITY, L1, L2, LOG, LOGIT, PROBIT, Bernoulli, Gaussian, Poisson, SoftmaxResponse
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import softmax_lasso
from mercer.optim.minimize import (
    MAX_LOGISTIC_NEWTON_COLUMNS,
    MAX_NEWTON_COLUMNS,
    ROWS_PER_COLUMN_OF_SAMPLED_HESSIANS,
    SOLVER_PURPOSES,
    choose_solver,
    minimize,
)
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem
from tests._ctrl_c import stop_at
from tests.matrices._streamed import streamed

LEAST_SQUARES, COUNTS = Response(Gaussian(), IDENTITY), Response(Poisson(), LOG)
LOGISTIC, BY_PROBIT = Response(Bernoulli(), LOGIT), Response(Bernoulli(), PROBIT)
FEW, MANY = MAX_LOGISTIC_NEWTON_COLUMNS, MAX_LOGISTIC_NEWTON_COLUMNS + 1


def problem(response: Any, penalty: Any = None, columns: int = 3, rows: int = 40) -> Problem:
    rng = np.random.default_rng(0)
    design = DenseMatrix.of(rng.normal(size=(rows, columns)))
    given = Strengths.none(columns) if penalty is None else penalty.strengths(columns)
    y = rng.poisson(3.0, size=rows).astype(float)
    y = np.minimum(y // 3, 1.0) if isinstance(response.family, Bernoulli) else y
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
    choice = choose_solver(made)
    assert choice.solver == solver
    assert why in choice.why


@pytest.mark.parametrize(
    ("response", "penalty", "columns", "tol", "solver"),
    [
        (LOGISTIC, L2(1.0), FEW - 1, 1e-2, "newton"),
        (LOGISTIC, L2(1.0), MANY, 1e-2, "lbfgs"),
        (LOGISTIC, L2(1.0), MANY, 1e-8, "newton"),
        (LOGISTIC, None, MANY, 1e-2, "newton"),
        (LOGISTIC, None, MAX_NEWTON_COLUMNS + 1, 1e-8, "lbfgs"),
        (BY_PROBIT, L2(1.0), MANY, 1e-2, "newton"),
    ],
)
def test_gradients_of_logistic_losses_replace_hessians(
    response: Any, penalty: Any, columns: int, tol: float, solver: str
) -> None:
    made = problem(response, penalty, columns=columns, rows=columns + 5)
    assert choose_solver(made, tol=tol).solver == solver


class ManyRows(Observations):
    """Rows that count as more of them."""

    def __len__(self) -> int:
        return ROWS_PER_COLUMN_OF_SAMPLED_HESSIANS * (MAX_NEWTON_COLUMNS + 2)


def test_many_rows_for_each_column_have_hessians_of_samples() -> None:
    made = problem(LOGISTIC, L2(1.0), columns=MAX_NEWTON_COLUMNS + 1)
    rows = ManyRows(made.observations.design, made.observations.y)
    for response, solver in ((LOGISTIC, "newton"), (BY_PROBIT, "lbfgs")):
        assert choose_solver(Problem(rows, response, made.strengths), tol=1e-2).solver == solver


@pytest.mark.parametrize("response", [COUNTS, LOGISTIC])
@pytest.mark.parametrize("distance", [0.1, 1e3, -1e6, np.inf])
def test_a_constant_mean_replaces_a_start_with_a_higher_loss(response: Any, distance: float) -> None:
    """So far away Newton's method fails: curvatures vanish or overflow."""
    made = problem(response, L2(1.0))
    best = minimize(made, tol=1e-9).coef
    solution = minimize(made, start=best + distance, tol=1e-9)
    assert solution.certificate.holds
    np.testing.assert_allclose(solution.coef, best, atol=1e-7)


def test_a_start_is_used_as_it_is_without_exploration() -> None:
    made = problem(LOGISTIC, L2(1.0))
    np.testing.assert_array_equal(minimize(made, start=np.full(4, 30.0), max_iter=0, explore=False).coef, 30.0)
    assert not (minimize(made, start=np.full(4, 30.0), max_iter=0).coef == 30.0).any()


@pytest.mark.parametrize(
    ("rows", "columns", "penalty"),
    [
        (200, 5, {}),
        (400, 350, {}),
        (700, 320, {}),
        (40, 350, {}),
        (200, 5, {"l1_ratio": 1.0}),
    ],
    ids=["few columns", "many columns", "many columns and more rows", "fewer rows", "lasso"],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_same_problem_gets_the_same_method_from_glm_and_logistic_regression(
    rows: int, columns: int, penalty: dict[str, float], classes: int
) -> None:
    names = {
        "newton": "Newton's method, for",
        "lbfgs": "L-BFGS, for",
        "row-space": "Newton's method in the space of the rows, for",
        "proximal": "proximal Newton, for" if classes == 2 else "L-BFGS-B, for",
    }
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = np.argmax(X[:, :classes] + rng.gumbel(size=(rows, classes)), axis=1)
    logistic = LogisticRegression(C=0.1, solver="saga", tol=1e-7, **penalty).fit(X, y)
    strength: Any = L1(10.0) if penalty else L2(10.0)
    glm = GLM("bernoulli" if classes == 2 else "categorical", penalty=strength, tol=1e-6).fit(X, y)
    assert logistic.plan_.path.startswith(names[glm.plan_.path.split()[0]])
    assert glm.certificate_.holds
    np.testing.assert_allclose(glm.predict_proba(X), logistic.predict_proba(X), atol=1e-4)


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
        minimize(made, solver=solver)


@pytest.mark.parametrize("made", [problem(COUNTS), problem(LEAST_SQUARES, L2(1.0)), classes()])
def test_the_solvers_agree(made: Any) -> None:
    by_newton, by_lbfgs = (minimize(made, solver=name, tol=1e-9).coef for name in ("newton", "lbfgs"))
    np.testing.assert_allclose(by_newton, by_lbfgs, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(minimize(made, tol=1e-9).coef, by_newton, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("made", [problem(COUNTS), problem(LOGISTIC), problem(LEAST_SQUARES, L2(1.0)), classes()])
@pytest.mark.parametrize("name", SOLVER_PURPOSES)
def test_every_solver_has_a_name_and_a_certificate(made: Any, name: str) -> None:
    if name == "direct" and made.response != LEAST_SQUARES:
        pytest.skip("there is no closed form")
    tolerance = 0.1 if name == "online" else 1e-7
    best = minimize(made, tol=1e-9).coef
    solution = minimize(made, solver=name, tol=tolerance, max_iter=3000)
    assert solution.certificate.holds
    if name not in ("direct", "proximal"):
        assert solution.certificate.tolerance == tolerance
    assert solution.coef.shape == best.shape
    # the largest standard error here is below ½; a duality gap is a square
    np.testing.assert_allclose(solution.coef, best, atol=1e-3 if name == "proximal" else tolerance)


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
        minimize(problem, tol=1e-6, max_iter=100),
        softmax_lasso.solve(problem, tolerance=1e-6, most_steps=100),
    )
    np.testing.assert_allclose(chosen.coef, direct.coef)
    assert chosen.certificate.holds


def test_ctrl_c_leaves_a_column_for_each_class() -> None:
    problem = random_classes(l1=0.0, l2=np.ones(4))
    stopped = minimize(problem, tol=1e-6, callback=stop_at(1))
    assert stopped.interrupted
    assert stopped.coef.shape == (4, 3)


def test_streamed_rows_have_their_own_proximal_solver() -> None:
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(300, 3)), rng.poisson(2.0, size=300).astype(float)
    found = streamed(X, counts, rows=70)
    passing = Problem(found, COUNTS, found.design.coordinates.strengths(L1(5.0).strengths(3)))
    design = DenseMatrix.of(X)
    held = Problem(Observations(design, counts), COUNTS, design.coordinates.strengths(L1(5.0).strengths(3)))
    in_memory, on_source = (minimize(this, tol=1e-9, max_iter=100) for this in (held, passing))
    assert in_memory.certificate.holds
    assert on_source.certificate.holds
    np.testing.assert_allclose(
        design.coordinates.to_user(in_memory.coef)[0], found.design.coordinates.to_user(on_source.coef)[0], atol=1e-7
    )
