"""Evaluation by tiles: the same numbers for any tiles, and the whole matrix only from `matrix`."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import kernels as k
from mercer._errors import DataError
from mercer.kernels import gram

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(750, 5)), rng.normal(size=(401, 5))
MIXED = k.RBF(gamma=0.2) + 2 * k.RBF(gamma=1) * k.Polynomial(degree=2)
compiled = pytest.mark.compiled("loops over pairs take minutes")
KERNELS = [
    k.Linear(),
    pytest.param(k.RBF(gamma=0.2), marks=compiled),
    pytest.param(k.Laplacian(), marks=compiled),
    pytest.param(MIXED, marks=compiled),
    k.FromFunction(lambda A, B: A @ B.T),
]


def test_products_with_a_matrix_without_columns_are_zeros() -> None:
    for shape in ((0,), (0, 1), (0, 3)):
        np.testing.assert_array_equal(k.Gram(k.RBF(), X, Z[:0]).matvec(np.zeros(shape)), np.zeros((750, *shape[1:])))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_rows_and_products_agree_with_the_matrix(kernel: k.Kernel) -> None:
    K, numbers, v = kernel(X, Z), np.array([3, 749, 3, 0, 500]), rng.normal(size=(401, 2))
    scale, evaluated = np.abs(K).max(), k.Gram(kernel, X, Z)
    np.testing.assert_allclose(evaluated.rows(numbers), K[numbers], atol=1e-12 * scale)
    np.testing.assert_allclose(evaluated.rows(slice(7, 11)), K[7:11], atol=1e-12 * scale)
    np.testing.assert_allclose(evaluated.matvec(v[:, 0]), K @ v[:, 0], atol=1e-10 * scale)
    np.testing.assert_allclose(evaluated.matvec(v), K @ v, atol=1e-10 * scale)
    w = rng.normal(size=750)
    np.testing.assert_allclose(evaluated.rmatvec(w), K.T @ w, atol=1e-10 * scale)
    tiles = np.empty_like(K)
    for rows, columns, tile in evaluated.tiles():
        tiles[rows, columns] = tile
    np.testing.assert_allclose(tiles, K, atol=1e-12 * scale)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_matrix_of_rows_with_themselves_is_symmetric(kernel: k.Kernel) -> None:
    K, v, numbers = kernel(X), rng.normal(size=750), np.array([749, 0, 333])
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, kernel(X, X), atol=1e-12 * np.abs(K).max())
    square = k.Gram(kernel, X)
    np.testing.assert_allclose(square.matvec(v), K @ v, atol=1e-10 * np.abs(K).max())
    np.testing.assert_allclose(square.rmatvec(v), K @ v, atol=1e-10 * np.abs(K).max())
    np.testing.assert_allclose(square.rows(numbers), K[numbers], atol=1e-12 * np.abs(K).max())
    np.testing.assert_allclose(square.diagonal, np.diagonal(K), rtol=1e-12)
    if kernel.symmetric:
        assert (square.rows(numbers)[np.arange(3), numbers] == square.diagonal[numbers]).all()


@pytest.mark.parametrize("kernel", [k.Linear(), k.RBF(gamma=0.2), k.RBF(gamma=3e5), k.Laplacian()], ids=repr)
@pytest.mark.parametrize("rows_of", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reused_memory_gives_the_same_values(kernel: k.Kernel, rows_of: Any, dtype: Any) -> None:
    left, right, out = X[:30], Z[:20], np.full((7, 20), np.nan, dtype=dtype)
    k.Gram(kernel, rows_of(left), rows_of(right)).fill(slice(3, 10), out)
    K = kernel(left[3:10], right)
    np.testing.assert_allclose(out, K, atol=4 * np.finfo(dtype).eps * np.abs(K).max())


@compiled
def test_parts_share_only_identical_computations() -> None:
    parts = [
        k.Linear(),
        k.Cosine(),
        k.RBF(gamma=0.2),
        k.RBF(gamma=3e5),
        k.Linear().on([0]),
        k.Linear().of(np.abs),
        k.Linear(),
    ]
    total = sum(parts[1:], parts[0])
    expected = np.sum([part(X, Z) for part in parts], axis=0)
    np.testing.assert_allclose(total(X, Z), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@compiled
def test_threads_do_not_change_the_result() -> None:
    kernel, v = MIXED, rng.normal(size=750)
    with mercer.engine(threads=1):
        K, product = kernel(X), k.Gram(kernel, X).matvec(v)
    np.testing.assert_array_equal(kernel(X), K)
    np.testing.assert_array_equal(k.Gram(kernel, X).matvec(v), product)


@pytest.mark.parametrize(
    "kernel",
    [
        k.Polynomial(degree=7).normalised(),
        1e-30 * k.Polynomial(degree=7),
        1e30 * (1e-30 * k.Linear()),
        (k.Linear() + k.Polynomial(degree=7)) * k.Constant(1e-30),
        k.Linear() ** 3,
    ],
    ids=repr,
)
@pytest.mark.parametrize("scale", [1e3, 1.0, 1e-8])
def test_float32_is_used_only_if_all_parts_of_a_kernel_fit(kernel: k.Kernel, scale: float) -> None:
    """A part of it may be beyond float32 where the whole is not, and short rows below it where long ones are not."""
    rows = scale * np.vstack([X[:40], 1e4 + X[:40]])
    exact, rough = k.Gram(kernel, rows), k.Gram(kernel, rows, tolerance=1e-4)
    lengths = np.sqrt(exact.diagonal)
    with np.errstate(all="raise", under="ignore"):
        found = rough.matrix()
    assert (np.abs(found - exact.matrix()) <= 1e-4 * np.outer(lengths, lengths)).all()


def test_single_precision_is_used_if_the_tolerance_allows_it() -> None:
    X, Z, v = rng.normal(size=(70, 5)), rng.normal(size=(40, 5)), rng.normal(size=40)
    for kernel in (
        k.RBF(gamma=0.2),
        k.Polynomial(degree=3),
        k.Matern(),
        2 * k.RationalQuadratic() + k.Cosine(),
        k.Quadratic(),
    ):
        single, double = k.Gram(kernel, X, Z, tolerance=1e-4), k.Gram(kernel, X, Z)
        assert single.dtype == np.float32
        assert double.dtype == np.float64
        lengths = np.sqrt(np.outer(kernel.diag(X), kernel.diag(Z)))
        assert (np.abs(single.matrix() - double.matrix()) <= 1e-4 * lengths).all()
        allowed = 1e-4 * lengths @ np.abs(v)
        assert (np.abs(single.matvec(v) - double.matvec(v)) <= allowed).all()
        assert single.matvec(v).dtype == np.float64


def test_double_precision_is_used_if_the_tolerance_requires_it() -> None:
    assert k.Gram(k.RBF(gamma=0.2), X, tolerance=1e-9).dtype == np.float64
    assert (
        k.Gram(k.RBF(gamma=1e6), X, tolerance=1e-4).dtype == np.float64
    )  # so narrow that float32 distances would change the result
    assert k.Gram(k.Matern(nu=0.5), X, tolerance=1e-4).dtype == np.float64
    assert k.Gram(k.Laplacian(), X, tolerance=1e-4).dtype == np.float64


@pytest.mark.compiled("takes minutes as plain Python")
def test_a_product_needs_no_matrix() -> None:
    many = rng.normal(size=(6000, 3))
    v = np.ones(6000)
    k.Gram(k.RBF(), many[:9], many).matvec(v)  # compiled
    tracemalloc.start()
    k.Gram(k.RBF(), many).matvec(v)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6000 * 6000 * 8 / 10


def test_a_vector_of_the_wrong_length_is_rejected() -> None:
    with pytest.raises(DataError, match="401 columns"):
        k.Gram(k.RBF(), X, Z).matvec(np.ones(3))
    with pytest.raises(DataError, match="750 rows"):
        k.Gram(k.RBF(), X, Z).rmatvec(np.ones(3))


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_single_precision_is_not_used_beyond_its_range(scale: float) -> None:
    X = scale * np.random.default_rng(0).normal(size=(30, 3))
    K = gram.Gram(k.RBF(gamma=1 / scale**2), X, tolerance=1e-3)
    assert K.dtype == np.float64
    np.testing.assert_allclose(K.matrix(), k.RBF(gamma=1.0)(X / scale), rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_float32_is_used_only_if_its_powers_do_not_overflow(scale: float) -> None:
    kernel = k.Polynomial(degree=5, constant=0)
    for gram_of in (k.Gram(kernel, scale * X, tolerance=1e-3), k.Gram(kernel, scale * X, scale * Z, tolerance=1e-3)):
        exact = gram_of.exact().matrix()
        np.testing.assert_allclose(gram_of.matrix(), exact, rtol=0, atol=1e-3 * np.abs(exact).max())


def double(rows: np.ndarray) -> np.ndarray:
    return 2.0 * rows


def first(rows: np.ndarray) -> np.ndarray:
    return rows[..., 0]


@pytest.mark.parametrize(
    "kernel",
    [
        k.Linear() * k.RBF(),
        k.RBF() ** 3,
        k.Sigmoid(gamma=0.1),
        k.RBF(gamma=0.1).on([0, 2]),
        k.Linear().of(double),
        k.Polynomial(degree=2, gamma=0.1).normalised(),
        k.OneDimensional(first) + 1,
    ],
    ids=repr,
)
def test_float32_stays_within_the_tolerance(kernel: k.Kernel) -> None:
    """Whatever a kernel is made of says how much the error of its parts grows."""
    few = X[:40]
    exact = k.Gram(kernel, few).matrix()
    rough = k.Gram(kernel, few, tolerance=1e-2)
    assert rough.dtype == np.float32
    assert rough.exact().dtype == np.float64
    np.testing.assert_allclose(rough.matrix(), exact, atol=1e-2 * np.abs(exact).max())


def test_rows_of_many_columns_are_written_piece_by_piece() -> None:
    many = np.random.default_rng(3).normal(size=(2 * gram.PIECE_COLUMNS + 1, 2))
    numbers, slots, kept = np.array([5, 2000, 0]), np.array([2, 0, 1]), np.zeros((3, len(many)))
    k.Gram(k.Linear(), many).put_rows(numbers, kept, slots)
    np.testing.assert_allclose(kept[slots], many[numbers] @ many.T, atol=1e-13)


def test_rows_whose_distances_overflow_are_rejected_without_a_warning() -> None:
    X = np.finfo(float).max * np.array([[1.0], [-1.0], [-1.0]])
    with pytest.raises(DataError, match=r"^the squared norm of row \d overflows float64"):
        gram.Gram(k.RBF(1.0), X).matrix()
