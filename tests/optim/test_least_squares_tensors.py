"""Least squares of tensors: the closed form of the same array, ill-conditioned or not."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.families import IDENTITY, Gaussian
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.matrices import DenseMatrix, TensorMatrix, observations_of
from mercer.optim.least_squares import least_squares, normal_equations, solve_least_squares, triangle_factor
from mercer.optim.problem import Problem

torch = pytest.importorskip("torch")


def problem(n: int = 300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * [1, 1e3, 1, 1e-3] + [0, 0, 1e8, 0]
    return X, X[:, :1] @ [[1.0, -2.0]] + rng.normal(size=(n, 2)), np.where(rng.random(n) < 0.2, 0.0, rng.random(n))


def test_sums_agree_with_the_array():
    X, Y, weight = problem()
    seen = weight > 0
    theirs = normal_equations(observations_of(X[seen], Y[seen], weight[seen]))
    X[~seen] = np.nan  # a row of weight 0 does not count
    mine = normal_equations(observations_of(torch.as_tensor(X), Y, weight))
    assert mine.rows == theirs.rows
    assert mine.weight == pytest.approx(theirs.weight, rel=1e-13)
    for found, expected in zip(mine.products(centred=True), theirs.products(centred=True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-6)


def test_triangles_agree_with_the_array():
    X, Y, weight = problem()
    mine, theirs = (triangle_factor(observations_of(data, Y, weight)) for data in (torch.as_tensor(X), X))
    np.testing.assert_allclose(np.abs(mine.R), np.abs(theirs.R), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("case", ["plain", "collinear", "nearly collinear", "constant", "single"])
def test_the_fit_agrees_with_the_array(alpha, case):
    X, Y, _ = problem()
    if case.endswith("collinear"):
        X[:, 3] = X[:, 1] + (1e-7 * X[:, 0] if case.startswith("nearly") else 0.0)
    if case == "constant":
        X[:, 3] = 7.0
    X = X.astype(np.float32) if case == "single" else X
    mine = least_squares(observations_of(torch.as_tensor(X), Y), np.full(2, alpha))
    theirs = least_squares(observations_of(X, Y), np.full(2, alpha))
    np.testing.assert_allclose(mine.coef.coefficients, theirs.coef.coefficients, rtol=1e-7, atol=1e-9)
    assert mine.certificate.holds
    assert mine.coef.path == theirs.coef.path
    assert (mine.coef.rank, mine.coef.collinear) == (theirs.coef.rank, theirs.coef.collinear)


def test_few_rows_are_solved_in_main_memory():
    X, Y, _ = problem(n=3)
    assert isinstance(observations_of(torch.as_tensor(X), Y).design, DenseMatrix)


def test_the_device_is_that_of_the_tensor():
    X, Y, _ = problem()
    assert observations_of(X, Y).design.device == observations_of(torch.as_tensor(X), Y).design.device == "cpu"


@pytest.mark.parametrize("weighted", [True, False])
def test_a_problem_of_tensors_has_the_closed_form_of_arrays(weighted):
    X, Y, weight = problem()
    y, weight = Y[:, 0], weight if weighted else None
    tensors = [None if part is None else torch.as_tensor(part) for part in (y, weight)]
    strengths = Strengths(np.zeros(5), np.append(np.full(4, 0.5), 0.0), np.zeros(5))
    mine, theirs = (
        solve_least_squares(Problem(matrix.observe(*vectors), Response(Gaussian(), IDENTITY), strengths))
        for matrix, vectors in (
            (TensorMatrix.of(torch.as_tensor(X)), tensors),
            (DenseMatrix.of(X), [y, weight]),
        )
    )
    np.testing.assert_allclose(mine.coef, theirs.coef, rtol=1e-9)
    assert mine.fit.path == theirs.fit.path
