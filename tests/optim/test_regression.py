"""Working coordinates of least squares, and their inverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer.families.penalties import Strengths
from mercer.optim.duality import STRONGEST
from mercer.optim.lasso import WorkingRegression
from tests.optim._lasso_cases import objective, regression, strengths

SHAPES = [(60, 30), (20, 50), (4000, 20)]


def made(X: Any, y: Any, *, weight: Any = None, intercept: bool = True) -> WorkingRegression:
    return WorkingRegression.of(X, y, weight, np.zeros(X.shape[1]), intercept=intercept)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_working_coordinates_are_inverted(shape: tuple[int, int], intercept: bool) -> None:
    X, y = regression(*shape)
    problem = made(X * 1e3 + 5, y, intercept=intercept)
    b = np.random.default_rng(0).normal(size=shape[1])
    again, level = problem.coefficients(problem.to_working(b))
    np.testing.assert_allclose(again, b, rtol=1e-12)
    assert intercept or level == 0.0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_objective_is_the_same_in_both_coordinates(shape: tuple[int, int], intercept: bool) -> None:
    X, y = regression(*shape)
    weight = np.random.default_rng(0).random(len(y))
    penalty = strengths(3.0, 2.0, columns=shape[1])
    problem = made(X, y, weight=weight, intercept=intercept)
    w = np.random.default_rng(1).normal(size=shape[1])
    residual = problem.residuals(problem.columns.combination(np.arange(shape[1]), w[None]))
    b, level = problem.coefficients(w)
    if intercept:
        level = float(np.average(y - X @ b, weights=weight))
    expected_objective = 0.5 * problem.squares(residual)[0] + problem.penalty(penalty).value(w)
    np.testing.assert_allclose(
        expected_objective * problem.unit**2, objective(X, y, b, level, penalty, weight), rtol=1e-10
    )


def test_many_rows_are_summed_in_one_pass_with_the_same_result() -> None:
    X, y = regression(4000, 20)
    X = X + 1e3
    weight = np.random.default_rng(0).random(4000)
    for intercept in (True, False):
        problem = made(X, y, weight=weight, intercept=intercept)
        assert problem.gram is not None
        ids = np.arange(20)
        np.testing.assert_allclose(problem.gram, problem.columns.gram(ids, ids, weight), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(
            problem.slopes_at_zero(), problem.slopes(problem.target[None])[0], rtol=1e-7, atol=1e-9
        )


@pytest.mark.parametrize("layout", [np.asfortranarray, np.ascontiguousarray, sparse.csc_array])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_column_without_spread_is_held_at_zero(shape: tuple[int, int], layout: Any) -> None:
    X, y = regression(*shape)
    X[:, 2] = 0.3
    problem = made(layout(X), y)
    assert problem.lengths[2] == 0
    assert problem.penalty(Strengths.none(shape[1])).l1[2] == STRONGEST


def test_infinite_penalties_are_made_finite() -> None:
    X, y = regression()
    problem = made(X * 1e-150, y * 1e-150)
    assert np.isfinite(problem.penalty(strengths(1e300)).l1).all()
