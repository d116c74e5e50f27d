"""The laws: every kernel, and every random composition of kernels, is an inner product of features."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import kernels as k
from mercer.testing import check_kernel
from tests.kernels._compositions import compositions


def circle(X: np.ndarray) -> np.ndarray:
    """Lecture 1's (x₁, x₂, x₁² + x₂²)."""
    return np.column_stack([X[:, 0], X[:, 1], X[:, 0] ** 2 + X[:, 1] ** 2])


def radius(x: np.ndarray) -> float:
    """Return ψ of one row."""
    return float(np.hypot(x[0], x[1]))


ATOMS: list[k.Kernel] = [
    k.Linear(),
    k.Quadratic(),
    k.Polynomial(degree=2),
    k.Polynomial(degree=3, gamma=0.5, constant=0.0),
    k.Polynomial(degree=4, gamma=None, constant=2.0),
    k.Cosine(),
    k.RBF(),
    k.RBF(gamma=0.3),
    k.RBF(sigma=2.0),
    k.Laplacian(),
    k.Laplacian(gamma=0.7),
    k.Matern(nu=0.5),
    k.Matern(nu=1.5, length_scale=2.0),
    k.Matern(nu=2.5),
    k.RationalQuadratic(alpha=0.5),
    k.ChiSquared(),
    k.HistogramIntersection(),
    k.Constant(2.0),
    k.OneDimensional(radius),
    k.Linear().of(circle),
    k.RBF(gamma=1.0).on([0, 2]),
    k.Polynomial(degree=2).normalised(),
]


def rows(seed: int, n: int = 17) -> np.ndarray:
    return np.abs(np.random.default_rng(seed).normal(size=(n, 3)))


@pytest.mark.parametrize("kernel", ATOMS, ids=repr)
def test_every_kernel_obeys_the_laws(kernel: k.Kernel) -> None:
    laws = check_kernel(kernel, rows(0, n=30))
    assert "the matrix is positive semidefinite" in laws


@pytest.mark.parametrize("kernel", [k.Sigmoid(), k.AdditiveChiSquared(), k.FromFunction(np.dot)], ids=repr)
def test_kernels_not_known_to_be_positive_definite_skip_that_law(kernel: k.Kernel) -> None:
    assert "the matrix is positive semidefinite" not in check_kernel(kernel, rows(1))


@settings(max_examples=60)
@given(kernel=compositions(ATOMS), seed=st.integers(0, 1000))
def test_random_compositions_obey_the_laws(kernel: k.Kernel, seed: int) -> None:
    laws = check_kernel(kernel, rows(seed, n=9))
    assert "the matrix is positive semidefinite" in laws


@settings(max_examples=60)
@given(kernel=compositions(ATOMS))
def test_the_repr_can_be_evaluated(kernel: k.Kernel) -> None:
    assert eval(repr(kernel), {**vars(k), "circle": circle, "radius": radius}) == kernel


@settings(max_examples=40)
@given(seed=st.integers(0, 1000), a=st.sampled_from(ATOMS), b=st.sampled_from(ATOMS), scale=st.floats(0, 5))
def test_the_algebra_agrees_with_matrices(seed: int, a: k.Kernel, b: k.Kernel, scale: float) -> None:
    X, Z = rows(seed), rows(seed + 1, n=5)
    A, B = a(X, Z), b(X, Z)
    for kernel, matrix in [
        (a + b, A + B),
        (a * b, A * B),
        (scale * a, scale * A),
        (a / 4, A / 4),
        (a + scale, A + scale),
        (a**3, A**3),
        (a.of(np.sqrt), a(np.sqrt(X), np.sqrt(Z))),
        (a.normalised(), A / np.sqrt(np.outer(a.diag(X), a.diag(Z)))),
    ]:
        np.testing.assert_allclose(kernel(X, Z), matrix, rtol=1e-12, atol=1e-12 * np.abs(matrix).max())


SPARSE = [kernel for kernel in ATOMS if not isinstance(kernel, (k.Of, k.OneDimensional))]


@pytest.mark.parametrize("kernel", SPARSE, ids=repr)
def test_sparse_rows_agree_with_dense_ones(kernel: k.Kernel) -> None:
    X, Z = rows(3), rows(4, n=6)
    X[X < 0.7], Z[Z < 0.7] = 0, 0
    for left, right in [(sp.csr_matrix(X), sp.csr_array(Z)), (X, sp.csr_array(Z)), (sp.csc_array(X), Z)]:
        np.testing.assert_allclose(kernel(left, right), kernel(X, Z), atol=1e-13 * np.abs(kernel(X, Z)).max())
    np.testing.assert_allclose(kernel(sp.csr_array(X)), kernel(X), atol=1e-13 * np.abs(kernel(X)).max())


@pytest.mark.parametrize("kernel", ATOMS, ids=repr)
def test_neither_type_nor_order_of_the_numbers_matters(kernel: k.Kernel) -> None:
    X = np.random.default_rng(5).integers(0, 9, size=(8, 3))
    expected = kernel(X.astype(float))
    frozen = X.astype(float)
    frozen.setflags(write=False)
    for same in (X, X.astype(np.float32), np.asfortranarray(X), frozen, X.tolist(), X[::-1][::-1], X.astype(object)):
        np.testing.assert_array_equal(kernel(same), expected)
