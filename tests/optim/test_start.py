"""Starts for links under which not every linear predictor has a mean."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import DegenerateDataError
from mercer.families import IDENTITY, INVERSE, LOG, SQRT, Gamma, Poisson
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import newton
from mercer.optim.problem import MidwayResponse, Problem, feasible_start
from mercer.stats.quadratic import LOSS


def problem(response: Response, X: np.ndarray, y: np.ndarray, *, intercept: bool = True) -> Problem:
    design = DenseMatrix.of(X, intercept=intercept)
    return Problem(Observations(design, y), response, Strengths.none(design.n_columns))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "response", [Response(Poisson(), IDENTITY), Response(Poisson(), SQRT), Response(Gamma(), INVERSE)], ids=str
)
def test_every_row_has_a_mean(response: Response, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = 3 * rng.normal(size=(50, 4))
    made = problem(response, X, rng.poisson(np.exp(0.3 * X[:, 0])) + 0.5)
    assert np.isfinite(made.at(feasible_start(made), LOSS).value)


def test_a_mean_that_is_linear_is_found_at_once() -> None:
    X = np.random.default_rng(0).uniform(1, 2, size=(50, 2))
    made = problem(Response(Gamma(), IDENTITY), X, X @ [1.0, 2.0], intercept=False)
    start = feasible_start(made)
    assert made.at(start, LOSS).value < 0.1 * made.at(np.ones(2), LOSS).value


def test_the_error_names_the_link_if_there_is_no_feasible_start() -> None:
    with pytest.raises(DegenerateDataError, match="link='log'"):
        feasible_start(
            problem(Response(Gamma(), INVERSE), np.array([[1.0], [-1.0]]), np.array([1.0, 2.0]), intercept=False)
        )


def test_data_that_are_not_finite_for_another_reason_raise_no_error() -> None:
    y = np.array([1.0, np.inf, 2.0])
    made = problem(Response(Gamma(), INVERSE), np.arange(3.0)[:, None], y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(feasible_start(made), made.start())


def test_slopes_of_tensors_agree_with_arrays_during_the_search() -> None:
    torch = pytest.importorskip("torch")
    midway = MidwayResponse(Poisson(), SQRT, 2.0)
    y, eta, weight = np.array([0.0, 1.0, 5.0]), np.array([0.5, 1.0, 2.0]), np.array([1.0, 2.0, 0.5])
    expected, found = midway.slopes(y, eta, weight), midway.slopes(*map(torch.as_tensor, (y, eta, weight)))
    np.testing.assert_allclose(found.first.numpy(), expected.first)
    np.testing.assert_allclose(found.second.numpy(), expected.second)


@pytest.mark.parametrize("family", [Poisson(), Gamma()], ids=str)
def test_no_certificate_holds_for_an_objective_that_is_not_a_number(family: Poisson | Gamma) -> None:
    made = problem(Response(family, IDENTITY), np.arange(3.0)[:, None], np.array([1.0, 2.0, 3.0]))
    solution = newton.solve(made, np.array([-5.0, -5.0]))
    assert solution.history.objective == (np.inf,)
    assert not solution.certificate.holds


def test_the_intercept_begins_at_its_optimum_given_offsets() -> None:
    offset = np.array([-200.0, 200.0, 0.0])
    observations = Observations(DenseMatrix.of(np.zeros((3, 1))), np.array([1.0, 2.0, 3.0]), offset=offset)
    made = Problem(observations, Response(Poisson(), LOG), Strengths.none(2))
    assert made.start()[-1] == pytest.approx(np.log(6) - 200)
