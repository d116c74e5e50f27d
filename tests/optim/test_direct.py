"""Least squares by every path: the same solution, its rank, and the certificate."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer import engine
from mercer._errors import NonFiniteError
from mercer._threads import row_blocks
from mercer.matrices import Coordinates, DenseMatrix, Observations, observations_of
from mercer.optim.least_squares import (
    TriangleSpan,
    WideLeastSquares,
    is_direct_cheap,
    least_squares,
    solve_by_kernel,
    solve_by_singular_values,
    solve_by_triangle,
    solve_normal_equations,
)
from mercer.optim.linear_fit import LinearFit

Array = np.ndarray


def draw(n: int, d: int, t: int = 1, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    return X, X @ rng.normal(size=(d, t)) + rng.normal(size=(n, t)) + 5


def by_definition(X: Array, Y: Array, weight: Array | None, alpha: Array, intercept: bool) -> tuple[Array, Array]:
    """The textbook's stacked matrix, solved by LAPACK."""
    n, d = X.shape
    root = np.ones((n, 1)) if weight is None else np.sqrt(weight)[:, None]
    A = np.column_stack([X, np.ones(n)]) if intercept else X
    found = np.empty((A.shape[1], Y.shape[1]))
    for k, strength in enumerate(alpha):
        penalty = np.sqrt(strength) * np.eye(d, A.shape[1])
        stacked = np.vstack([root * A, penalty])
        found[:, k] = np.linalg.lstsq(stacked, np.append(root[:, 0] * Y[:, k], np.zeros(d)))[0]
    return found[:d], found[d] if intercept else np.zeros(Y.shape[1])


def fit_of(X: Any, Y: Array, alpha: float = 0.0, weight: Array | None = None, **options: Any) -> LinearFit:
    solution = least_squares(observations_of(X, Y, weight), np.full(Y.shape[1], alpha), **options)
    assert solution.certificate.holds
    fit: LinearFit = solution.coef
    return fit


@pytest.mark.parametrize("shape", [(60, 4), (60, 1), (5, 4), (4, 4), (4, 9)], ids=str)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("wrap", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_all_paths_have_the_same_solution(
    shape: tuple[int, int], intercept: bool, weighted: bool, stable: bool, wrap: Callable[[Array], Any]
) -> None:
    X, Y = draw(*shape, t=3)
    weight = np.random.default_rng(1).uniform(0.5, 2, shape[0]) if weighted else None
    alpha = np.array([0.1, 3.0, 0.1])
    solution = least_squares(observations_of(wrap(X), Y, weight), alpha, intercept=intercept, stable=stable)
    w, level = by_definition(X, Y, weight, alpha, intercept)
    np.testing.assert_allclose(solution.coef.coefficients, w, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(solution.coef.intercept, level, rtol=1e-8, atol=1e-9)
    assert solution.certificate.holds
    assert solution.certificate.kind == "closed form"


@settings(max_examples=30)
@given(st.integers(2, 30), st.integers(1, 6), st.floats(1e-6, 1e6), st.booleans(), st.integers(0, 1000))
def test_the_gradient_vanishes(n: int, d: int, alpha: float, intercept: bool, seed: int) -> None:
    X, Y = draw(n, d, 1, seed)
    fit = fit_of(X, Y, alpha, intercept=intercept)
    residual = Y - X @ fit.coefficients - fit.intercept
    gradient = X.T @ residual - alpha * fit.coefficients
    size = np.linalg.norm(X) * (np.linalg.norm(Y) + np.linalg.norm(X @ fit.coefficients)) + alpha
    assert np.abs(gradient).max() <= 1e-9 * size
    if intercept:
        assert abs(residual.sum()) <= 1e-9 * np.abs(Y).sum()


def test_the_path_depends_on_the_shape() -> None:
    X, Y = draw(100, 3)
    assert fit_of(X, Y).path == "normal equations by Cholesky"
    assert fit_of(X, Y, stable=True).path == "QR factorisation by blocks (TSQR)"
    for distance, path in ((1e-3, "normal equations by Cholesky"), (1e-8, "QR factorisation by blocks (TSQR)")):
        nearly = np.column_stack([X, X[:, 0] + distance * X[:, 1] ** 2])
        assert fit_of(nearly, Y).path == f"{path}, refined with gradients of twice the digits"
    assert fit_of(X[:3], Y[:3], 1.0).path == "kernel of the rows, by Cholesky"
    assert fit_of(X[:3], Y[:3]).path == "singular values"


class MatrixInManyBlocks(DenseMatrix):
    """A matrix in blocks of 1,638 rows."""

    def triangle_blocks(self) -> list[slice]:
        return row_blocks(self.n_rows, 1638)


def test_blocks_and_threads_do_not_change_the_result() -> None:
    X, Y = draw(20_000, 5, 2)
    many = MatrixInManyBlocks(X, Coordinates.plain(5, intercept=False))
    rows, alpha = Observations(many, Y), np.zeros(2)
    for stable in (False, True):
        one = fit_of(X, Y, stable=stable)
        with engine(threads=1):
            several = least_squares(rows, alpha, stable=stable).coef
        threaded = least_squares(rows, alpha, stable=stable).coef
        assert (several.coefficients == threaded.coefficients).all()
        np.testing.assert_allclose(one.coefficients, several.coefficients, atol=1e-10 * np.abs(one.coefficients).max())


def test_a_product_of_many_columns_has_its_own_threads() -> None:
    X, Y = np.random.default_rng(0).normal(size=(700, 510)), np.zeros((700, 1))
    Y[:, 0] = X[:, 3]
    np.testing.assert_allclose(fit_of(X, Y).coefficients[:, 0], np.eye(510)[3], atol=1e-10)


# Dependent columns.


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [40, 5])
def test_the_shortest_of_many_solutions_is_returned(intercept: bool, n: int) -> None:
    X, Y = draw(n, 3, 2)
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 1], X[:, 2]])
    fit = fit_of(X, Y, intercept=intercept)
    A, B = (X - X.mean(axis=0), Y - Y.mean(axis=0)) if intercept else (X, Y)
    np.testing.assert_allclose(fit.coefficients, np.linalg.pinv(A) @ B, rtol=1e-9, atol=1e-9)
    assert fit.rank == np.linalg.matrix_rank(A) == 3
    if n == 40:
        assert fit.collinear == (0, 1, 2, 3, 4)


def test_units_change_neither_rank_nor_fit() -> None:
    X, Y = draw(50, 4)
    units = 10.0 ** np.array([150, -150, 3, -8])
    plain, scaled = fit_of(X, Y), fit_of(X * units, Y)
    assert plain.rank == scaled.rank == 4
    np.testing.assert_allclose(scaled.coefficients[:, 0] * units, plain.coefficients[:, 0], rtol=1e-10)


def test_the_solution_is_shortest_in_the_given_units() -> None:
    X, Y = draw(50, 2)
    X = np.column_stack([X, 1e3 * X[:, 0]])
    w = fit_of(X, Y).coefficients[:, 0]
    np.testing.assert_allclose(w[2] / w[0], 1e3)


def test_constant_columns_are_found_and_left_out() -> None:
    X, Y = draw(50, 2)
    X = np.column_stack([X, np.full(50, 1e8 + 0.1), np.zeros(50)])
    fit = fit_of(X, Y)
    assert fit.constant == (2, 3)
    assert fit.rank == 2
    assert (fit.coefficients[2:] == 0).all()
    np.testing.assert_allclose(fit.coefficients[:2], fit_of(X[:, :2], Y).coefficients)


def test_all_columns_are_constant() -> None:
    fit = fit_of(np.ones((10, 3)), np.arange(10.0)[:, None])
    assert (fit.rank, fit.constant) == (0, (0, 1, 2))
    assert not fit.coefficients.any()
    np.testing.assert_allclose(fit.intercept, 4.5)


def test_columns_below_rounding_are_constant() -> None:
    """The reciprocal of a denormal number is infinite, and would be the coefficient."""
    X = np.array([[5e-324, 1.0], [1e-323, 2.0], [0.0, 4.0], [5e-324, 3.0]])
    fit = fit_of(X, X[:, 1:] * 2, intercept=False)
    assert fit.constant == (0,)
    np.testing.assert_allclose(fit.coefficients[:, 0], [0.0, 2.0], rtol=1e-12)


def test_rank_in_the_precision_of_the_data() -> None:
    """Rounded to single precision, a third column no longer is quite the sum of two others."""
    X, Y = draw(200, 2)
    X = np.column_stack([X, X.sum(axis=1)])
    assert fit_of(X.astype(np.float32), Y).rank == 2
    assert fit_of(X.astype(np.float32).astype(np.float64), Y).rank == 3


def test_a_negligible_penalty_gives_the_shortest_solution() -> None:
    X, Y = draw(50, 2)
    X = np.column_stack([X, X[:, 0]])
    np.testing.assert_allclose(fit_of(X, Y, 1e-25).coefficients, fit_of(X, Y).coefficients, rtol=1e-9)


@pytest.mark.parametrize("shape", [(40, 4), (4, 40)], ids=str)
def test_singular_values(shape: tuple[int, int]) -> None:
    X, Y = draw(*shape)
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(fit_of(X, Y).singular_values(), values, rtol=1e-10, atol=1e-12 * values[0])


# Digits.


def test_far_from_zero() -> None:
    X, Y = draw(500, 3)
    far = np.round(X, 6) + 1e8
    w = fit_of(far - 1e8, Y).coefficients
    np.testing.assert_allclose(fit_of(far, Y).coefficients, w, rtol=1e-9)
    np.testing.assert_allclose(fit_of(far, Y, stable=True).coefficients, w, rtol=1e-9)


def test_refinement_recovers_whole_numbers() -> None:
    """A polynomial of degree 7 on whole numbers, its condition number near 10⁷ about the means."""
    x = np.arange(-15.0, 26.0)
    X = np.column_stack([x**k for k in range(1, 8)])
    w = np.array([3.0, -1.0, 4.0, -1.0, 5.0, -9.0, 2.0])
    noise = np.where(np.arange(41) % 2, 1e6, -1e6)
    noise -= (
        np.linalg.lstsq(np.column_stack([np.ones(41), X / lengths(X)]), noise)[0]
        @ np.column_stack([np.ones(41), X / lengths(X)]).T
    )
    fit = fit_of(X, (X @ w + 7 + noise)[:, None])
    np.testing.assert_allclose(fit.coefficients[:, 0], w, rtol=1e-6)
    exact = fit_of(X, (X @ w + 7)[:, None])
    np.testing.assert_allclose(exact.coefficients[:, 0], w, rtol=1e-12)
    np.testing.assert_allclose(exact.intercept, 7, rtol=1e-9)


@pytest.mark.parametrize("distance", [1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("weighted", [False, True])
def test_ten_digits_of_nearly_dependent_columns(distance: float, weighted: bool) -> None:
    """The expected values are computed with fractions."""
    rng = np.random.default_rng(0)
    X = rng.normal([1e8, 0.0], size=(40, 2))
    X = np.column_stack([X, X[:, 1] + distance * rng.normal(size=40)])
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=40)
    weight = rng.integers(0, 3, 40).astype(float) if weighted else None
    solution = solve_normal_equations(observations_of(X, y[:, None], weight), np.zeros(1), intercept=True)
    assert solution is not None
    exact = by_fractions(np.column_stack([np.ones(40), X]), y, np.ones(40) if weight is None else weight)
    np.testing.assert_allclose(solution.coef.coefficients[:, 0], exact[1:], rtol=1e-10)
    np.testing.assert_allclose(solution.coef.intercept, exact[0], rtol=1e-10)


def by_fractions(A: Array, y: Array, weight: Array) -> Array:
    """Gauss's elimination."""
    rows = [[Fraction(value) for value in row] for row in np.column_stack([A, y]).tolist()]
    p, w = A.shape[1], [Fraction(value) for value in weight.tolist()]
    M = [[sum(v * r[i] * r[j] for v, r in zip(w, rows, strict=True)) for j in range(p + 1)] for i in range(p)]
    for i in range(p):
        for k in set(range(p)) - {i}:
            factor = M[k][i] / M[i][i]
            M[k] = [a - factor * b for a, b in zip(M[k], M[i], strict=True)]
    return np.array([float(M[i][p] / M[i][i]) for i in range(p)])


def test_a_column_that_varies_by_rounding_only_is_constant() -> None:
    X, Y = draw(50, 2)
    X = np.column_stack([X, np.where(np.arange(50) % 2, 0.3, 0.1 + 0.2)])
    fit = fit_of(X, Y)
    assert fit.constant == (2,)
    assert fit.coefficients[2] == 0


def lengths(X: Array) -> Array:
    return np.asarray(np.linalg.norm(X, axis=0))


@pytest.mark.parametrize("weight", [None, np.arange(50.0)])
def test_both_tall_paths_agree(weight: Array | None) -> None:
    X, Y = draw(50, 4, 2)
    rows, alpha = observations_of(X, Y, weight), np.array([0.0, 2.0])
    for intercept in (True, False):
        cheap = solve_normal_equations(rows, alpha, intercept=intercept)
        stable = solve_by_triangle(rows, alpha, intercept=intercept)
        assert cheap is not None
        np.testing.assert_allclose(cheap.coef.coefficients, stable.coef.coefficients, rtol=1e-10)
        for root in (cheap.coef.root, stable.coef.root):
            A = X - np.average(X, axis=0, weights=weight) if intercept else X
            np.testing.assert_allclose(root.T @ root, A.T @ (A if weight is None else weight[:, None] * A), rtol=1e-9)


def test_both_wide_paths_agree() -> None:
    X, Y = draw(6, 30, 2)
    alpha = np.array([1.0, 20.0])
    for data in (X, sparse.csr_array(np.where(np.abs(X) > 5, X, 0.0)), sparse.csr_array(X + 1e6)):
        wide = WideLeastSquares.of(observations_of(data, Y), intercept=True, tile_bytes=64)
        dual = solve_by_kernel(wide, alpha)
        assert dual is not None
        np.testing.assert_allclose(
            dual.coef.coefficients,
            solve_by_singular_values(wide, alpha, 1e-16).coef.coefficients,
            rtol=1e-7,
            atol=1e-9,
        )


# Errors.


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("shape", [(30, 3), (3, 30)], ids=str)
@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_a_value_that_is_not_a_number(
    bad: float, shape: tuple[int, int], stable: bool, wrap: Callable[[Array], Any]
) -> None:
    X, Y = draw(*shape)
    X[2, 1] = bad
    with pytest.raises(NonFiniteError, match="not finite"):
        least_squares(observations_of(wrap(X), Y), np.ones(1), stable=stable)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("shape", [(30, 3), (3, 30)], ids=str)
def test_squares_may_overflow_or_vanish(scale: float, shape: tuple[int, int]) -> None:
    X, Y = draw(*shape)
    w = fit_of(X, Y).coefficients
    np.testing.assert_allclose(fit_of(scale * X, Y).coefficients * scale, w, rtol=1e-7, atol=1e-9 * np.abs(w).max())


def test_wide_sparse_data_are_not_solved_directly() -> None:
    wide = sparse.csr_array((10_000, 50_000))
    assert not is_direct_cheap(observations_of(wide, np.zeros((10_000, 1))))
    assert not is_direct_cheap(observations_of(wide.T.tocsr(), np.zeros((50_000, 1))))
    assert is_direct_cheap(observations_of(wide.T.tocsr()[:, :500], np.zeros((50_000, 1))))
    assert is_direct_cheap(observations_of(np.zeros((10, 5000)), np.zeros((10, 1))))


def test_ill_conditioned_and_so_large_that_refinement_overflows() -> None:
    X, Y = draw(60, 2)
    X = np.column_stack([X, X[:, 0] + 1e-5 * X[:, 1] ** 2])
    w = fit_of(X, Y).coefficients
    np.testing.assert_allclose(fit_of(X * 1e304, Y).coefficients * 1e304, w, rtol=1e-6)


def test_wide_rows_below_rounding_are_constant() -> None:
    X = np.array([[5e-324, 0.0, 1e-323]])
    fit = fit_of(X, np.ones((1, 1)), intercept=False)
    assert fit.rank == 0
    assert not fit.coefficients.any()


LARGEST = np.finfo(float).max


@pytest.mark.parametrize("n", [2, 12])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_rows_of_the_largest_numbers_are_rejected(n: int, intercept: bool, alpha: float) -> None:
    """No warning of NumPy is given before the error, and no error of LAPACK in its place."""
    X = LARGEST * np.where(np.arange(3 * n).reshape(n, 3) % 4 == 0, -1.0, 1.0)
    with pytest.raises(NonFiniteError, match="too large for float64"):
        least_squares(observations_of(X, np.arange(1.0 * n)[:, None]), np.array([alpha]), intercept=intercept)


def test_coefficients_that_overflow_are_rejected() -> None:
    X = 1e-300 * np.arange(1.0, 9.0)[:, None]
    with pytest.raises(NonFiniteError, match="or the coefficients"):
        least_squares(observations_of(X, 1e150 * X / 1e-300), np.zeros(1), intercept=False)


def test_columns_whose_length_overflows_are_rejected_by_the_span() -> None:
    R = np.finfo(float).max * np.array([[1.0, 0.8], [0.0, 0.8]])
    with np.errstate(over="ignore"), pytest.raises(NonFiniteError, match="too large for float64"):
        TriangleSpan.of(R, np.zeros(2), np.finfo(float).eps)
