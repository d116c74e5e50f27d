"""Least squares of tensors: the closed form of the same array, ill-conditioned or not."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.matrices import DenseMatrix, TensorMatrix
from mercer.optim.least_squares import least_squares
from mercer.optim.least_squares_rows import LeastSquaresRows, TensorRows, design_rows, tensor_rows
from mercer.stats.normal_equations import NormalEquations, RFactor

torch = pytest.importorskip("torch")


def problem(n: int = 300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * [1, 1e3, 1, 1e-3] + [0, 0, 1e8, 0]
    return X, X[:, :1] @ [[1.0, -2.0]] + rng.normal(size=(n, 2)), np.where(rng.random(n) < 0.2, 0.0, rng.random(n))


def test_sums_agree_with_the_array():
    X, Y, weight = problem()
    weighted = weight > 0
    theirs = LeastSquaresRows(X[weighted], Y[weighted], weight[weighted]).summarise(NormalEquations)
    X[~weighted] = np.nan  # a row of weight 0 does not count
    mine = TensorRows(torch.as_tensor(X), Y, weight).summarise(NormalEquations)
    assert mine.rows == theirs.rows
    assert mine.weight == pytest.approx(theirs.weight, rel=1e-13)
    for found, expected in zip(mine.products(centred=True), theirs.products(centred=True), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-6)


def test_triangles_agree_with_the_array():
    X, Y, weight = problem()
    mine, theirs = (
        rows.summarise(RFactor) for rows in (TensorRows(torch.as_tensor(X), Y, weight), LeastSquaresRows(X, Y, weight))
    )
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
    mine = least_squares(tensor_rows(torch.as_tensor(X), Y, None), np.full(2, alpha))
    theirs = least_squares(LeastSquaresRows(X, Y), np.full(2, alpha))
    np.testing.assert_allclose(mine.value.coefficients, theirs.value.coefficients, rtol=1e-7, atol=1e-9)
    assert mine.certificate.holds
    assert mine.value.path == theirs.value.path
    assert (mine.value.rank, mine.value.collinear) == (theirs.value.rank, theirs.value.collinear)


def test_few_rows_are_solved_in_main_memory():
    X, Y, _ = problem(n=3)
    assert not isinstance(tensor_rows(torch.as_tensor(X), Y, None), TensorRows)


def test_the_device_is_that_of_the_tensor():
    X, Y, _ = problem()
    assert LeastSquaresRows(X, Y).device == TensorRows(torch.as_tensor(X), Y).device == "cpu"


@pytest.mark.parametrize("weighted", [True, False])
def test_a_design_of_one_matrix_has_its_rows(weighted):
    X, Y, weight = problem()
    tensors = [torch.as_tensor(part) for part in (Y, weight)]
    mine = design_rows(TensorMatrix.of(torch.as_tensor(X)), tensors[0], tensors[1] if weighted else None)
    theirs = design_rows(DenseMatrix.of(X), Y, weight if weighted else None)
    assert mine.shape == theirs.shape
    assert mine.total_weight == pytest.approx(theirs.total_weight)
