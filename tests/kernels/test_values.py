"""Kernel values agree with scikit-learn and with a double loop over pairs of rows at any distance from the origin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from mercer import kernels as k
from mercer._errors import DataError, NotPositiveDefiniteError

X = np.random.default_rng(0).normal(size=(23, 4))
Z = np.random.default_rng(1).normal(size=(11, 4))


@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        (k.Linear(), pairwise.linear_kernel),
        (k.Polynomial(degree=3, gamma=None, constant=1), pairwise.polynomial_kernel),
        (k.Polynomial(degree=5, gamma=0.2, constant=0.5), lambda A, B: pairwise.polynomial_kernel(A, B, 5, 0.2, 0.5)),
        (k.Sigmoid(), pairwise.sigmoid_kernel),
        (k.Sigmoid(gamma=2, constant=-1), lambda A, B: pairwise.sigmoid_kernel(A, B, 2, -1)),
        (k.Cosine(), pairwise.cosine_similarity),
        (k.RBF(), pairwise.rbf_kernel),
        (k.RBF(sigma=0.7), lambda A, B: pairwise.rbf_kernel(A, B, 1 / (2 * 0.7**2))),
        (k.Laplacian(), pairwise.laplacian_kernel),
        (k.Laplacian(gamma=0.1), lambda A, B: pairwise.laplacian_kernel(A, B, 0.1)),
        (k.ChiSquared(gamma=0.5), lambda A, B: pairwise.chi2_kernel(abs(A), abs(B), 0.5)),
        (k.AdditiveChiSquared(), lambda A, B: pairwise.additive_chi2_kernel(abs(A), abs(B))),
        (k.Matern(nu=0.5, length_scale=2), gp.Matern(2.0, nu=0.5)),
        (k.Matern(nu=1.5, length_scale=2), gp.Matern(2.0, nu=1.5)),
        (k.Matern(nu=2.5, length_scale=2), gp.Matern(2.0, nu=2.5)),
        (k.RationalQuadratic(length_scale=2, alpha=0.3), gp.RationalQuadratic(2.0, 0.3)),
    ],
    ids=lambda value: repr(value) if isinstance(value, k.Kernel) else "theirs",
)
def test_values_agree_with_scikit_learn(kernel: k.Kernel, theirs: Callable[..., Any]) -> None:
    A, B = (abs(X), abs(Z)) if isinstance(kernel, (k.ChiSquared, k.AdditiveChiSquared)) else (X, Z)
    np.testing.assert_allclose(kernel(A, B), theirs(A, B), rtol=1e-12, atol=1e-12)


FORMULAS: list[tuple[k.Kernel, Callable[[np.ndarray, np.ndarray], float]]] = [
    (k.Quadratic(), lambda x, z: x @ z + (x @ z) ** 2),
    (k.RBF(gamma=0.5), lambda x, z: np.exp(-0.5 * np.sum((x - z) ** 2))),
    (k.Matern(nu=0.5), lambda x, z: np.exp(-np.sqrt(np.sum((x - z) ** 2)))),
    (k.RationalQuadratic(), lambda x, z: 1 / (1 + np.sum((x - z) ** 2) / 2)),
    (k.HistogramIntersection(), lambda x, z: np.minimum(x, z).sum()),
    (k.RBF(gamma=1.0).on(2) * k.Linear(), lambda x, z: np.exp(-((x[2] - z[2]) ** 2)) * (x @ z)),
]


@settings(max_examples=30)
@given(
    rows=st.lists(st.lists(st.floats(0, 100), min_size=3, max_size=3), min_size=1, max_size=6).map(np.array),
    case=st.sampled_from(FORMULAS),
)
def test_an_entry_agrees_with_the_formula(rows: np.ndarray, case: Any) -> None:
    kernel, formula = case
    expected = np.array([[formula(x, z) for z in rows] for x in rows])
    np.testing.assert_allclose(kernel(rows), expected, rtol=1e-12, atol=1e-12)


RADIAL = [
    k.RBF(gamma=0.5),
    k.Matern(nu=0.5),
    k.Matern(nu=1.5),
    k.Matern(nu=2.5),
    k.RationalQuadratic(),
    k.Laplacian(gamma=1.0),
]


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
@pytest.mark.parametrize("offset", [0.0, 1e8, -3e10])
def test_an_offset_of_all_rows_changes_no_distance(kernel: k.Kernel, offset: float) -> None:
    coarse = np.round(X * 64) / 64  # whole multiples, so that the offset itself rounds nothing
    np.testing.assert_allclose(kernel(coarse + offset), kernel(coarse), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        kernel(coarse + offset, coarse[:5] + offset), kernel(coarse, coarse[:5]), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_two_far_clusters_keep_the_digits_within_each(kernel: k.Kernel) -> None:
    """The mean lies between the clusters, so that rows stay far from 0 after any shift."""
    coarse = np.round(X * 64) / 64
    both = np.vstack([coarse - 1e6, coarse + 1e6])
    expected = kernel(coarse)
    found = kernel(both)
    np.testing.assert_allclose(found[:23, :23], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[23:, 23:], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_rows_of_any_scale_have_accurate_kernels(scale: float) -> None:
    np.testing.assert_allclose(k.RBF(sigma=scale)(scale * X), k.RBF(sigma=1)(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(k.Cosine()(scale * X, Z), k.Cosine()(X, Z), rtol=0, atol=1e-14)
    np.testing.assert_allclose(k.Matern(length_scale=scale)(scale * X), k.Matern()(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_a_row_is_most_similar_to_itself(kernel: k.Kernel) -> None:
    wide = 1e4 * X
    matrix = kernel(np.vstack([wide, wide]))
    assert (np.diagonal(matrix) == 1.0).all()
    np.testing.assert_allclose(np.diagonal(matrix[:23, 23:]), 1.0, rtol=0, atol=1e-12)  # and to its double
    np.testing.assert_array_equal(matrix, matrix.T)


@pytest.mark.parametrize("alpha", [1e-3, 1e4, 1e12, 1e17])
def test_a_rational_quadratic_of_a_large_alpha_becomes_an_rbf(alpha: float) -> None:
    squares = ((X[:, None] - X) ** 2).sum(axis=-1)
    expected = np.exp(-alpha * np.log1p(squares / (2 * alpha)))
    np.testing.assert_allclose(k.RationalQuadratic(alpha=alpha)(X), expected, rtol=1e-12)
    if alpha == 1e17:
        np.testing.assert_allclose(expected, k.RBF(sigma=1)(X), rtol=1e-12)


def test_values_of_the_lecture_by_hand() -> None:
    x, z = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])  # x·z = 1
    assert k.Linear()(x, z).item() == 1.0
    assert k.Quadratic()(x, z).item() == 2.0
    assert k.Polynomial(degree=5)(x, z).item() == 32.0
    assert k.RBF(sigma=2.0)(x, z).item() == pytest.approx(np.exp(-13 / 8), rel=1e-15)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_a_width_whose_square_is_out_of_range_has_a_finite_kernel(scale: float) -> None:
    for kernel in (k.RBF(sigma=scale), k.Matern(scale), k.Matern(scale, nu=2.5), k.RationalQuadratic(scale)):
        found = kernel(np.vstack([X, X[:1]]), X)
        np.testing.assert_allclose(found[-1, 0], 1.0)
        np.testing.assert_allclose(found[0, 1:], 1.0 if scale > 1 else 0.0, rtol=0, atol=1e-300)


@pytest.mark.parametrize(
    "kernel", [k.Polynomial(), k.Quadratic(), k.Linear() ** 3, k.Polynomial().normalised()], ids=repr
)
def test_a_matrix_that_overflows_is_rejected(kernel: k.Kernel) -> None:
    large = np.vstack([X[:2], 1e150 * X[2:4]])
    for made in (lambda: kernel(large), lambda: kernel(X, large), lambda: kernel(large, X), lambda: kernel.diag(large)):
        with pytest.raises(DataError, match="in row 2, beyond float64"):
            made()


def test_a_negative_square_has_no_length() -> None:
    with pytest.raises(NotPositiveDefiniteError, match="in row 0, but a squared length is not negative"):
        k.FromFunction(lambda A, B: -A @ B.T).normalised()(X)
