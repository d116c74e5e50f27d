"""Functions of a user, as kernels and as feature maps: of rows or of matrices, and what is wrong with some."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process import kernels as gp
from sklearn.preprocessing import StandardScaler

from mercer import kernels as k
from mercer._errors import AsymmetricKernelError, KernelShapeError, NonFiniteError

X = np.random.default_rng(0).normal(size=(9, 3))


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9])
def test_functions_of_rows_and_of_matrices_are_distinguished(d: int) -> None:
    rows = np.random.default_rng(1).normal(size=(9, d))
    expected = rows @ rows.T
    for function in (lambda x, z: x @ z, lambda A, B: A @ B.T, lambda x, z: np.sum(x * z)):
        np.testing.assert_allclose(k.FromFunction(function)(rows), expected, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(k.FromFunction(function).diag(rows), np.diagonal(expected), rtol=1e-13)
        np.testing.assert_allclose(k.FromFunction(function)(rows, rows[:2]), expected[:, :2], rtol=1e-13, atol=1e-14)


def test_a_kernel_of_scikit_learn_is_a_function() -> None:
    theirs = gp.RBF(2.0) + gp.WhiteKernel(0.0)
    np.testing.assert_allclose(k.FromFunction(theirs)(X), k.RBF(sigma=2)(X), rtol=1e-12)


def test_functions_of_any_objects_are_kernels() -> None:
    shared = k.FromFunction(lambda a, b: len(set(a) & set(b)))
    np.testing.assert_array_equal(shared(["abc", "bc", "x"]), [[3, 2, 0], [2, 2, 0], [0, 0, 1]])
    np.testing.assert_array_equal((shared + 1).diag(["abc", "x"]), [4, 2])


def test_asymmetry_is_explained() -> None:
    kernel = k.FromFunction(lambda x, z: x[0] - z[0])
    with pytest.raises(AsymmetricKernelError, match="an inner product does not depend on the order"):
        kernel(X)
    with pytest.raises(AsymmetricKernelError):
        (kernel + k.RBF())(X)
    assert kernel(X, X).shape == (9, 9)  # that may be any function of two rows


def test_functions_that_do_not_return_a_matrix_are_rejected() -> None:
    with pytest.raises(KernelShapeError, match="shape"):
        k.FromFunction(lambda x, z: np.minimum(x, z))(X)
    with pytest.raises(KernelShapeError, match="does not give numbers"):
        k.FromFunction(lambda x, z: "alike")(X)
    with pytest.raises(KernelShapeError, match=r"where a kernel gives \(9, 9\)"):
        k.FromFunction(lambda A, B: A @ A.T[:, :2], by_rows=False)(X)
    with pytest.raises(NonFiniteError, match="a kernel is finite"):
        k.FromFunction(lambda x, z: np.nan)(X)


def test_feature_maps_of_a_row_or_of_a_matrix_or_fitted() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 2))

    def of_a_row(x: np.ndarray) -> np.ndarray:
        return np.array([x[0], x[1], x[0] ** 2 + x[1] ** 2])

    by_hand = np.column_stack([rows, (rows**2).sum(axis=1)])
    np.testing.assert_allclose(k.Linear().of(of_a_row)(rows), by_hand @ by_hand.T, rtol=1e-14)
    scaler, rbf = StandardScaler().fit(rows), k.RBF(gamma=1)
    np.testing.assert_allclose(rbf.of(scaler)(rows), rbf(scaler.transform(rows)), rtol=1e-14)
    np.testing.assert_allclose(k.OneDimensional(lambda x: x[0])(rows), np.outer(rows[:, 0], rows[:, 0]), rtol=1e-14)


def test_one_dimensional_kernels_of_any_objects() -> None:
    lengths = k.OneDimensional(len)(["a", "bcd"])
    np.testing.assert_array_equal(lengths, [[1, 3], [3, 9]])
    counted = k.Linear().of(lambda text: [len(text), text.count("b")])
    np.testing.assert_array_equal(counted(["a", "bb"]), [[1, 2], [2, 8]])


def test_a_function_of_a_row_is_not_mistaken_for_one_of_a_matrix() -> None:
    rows = np.array([[1.0, 2.0], [30.0, 70.0], [5.0, 5.0]])
    centred = rows - rows.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(k.Linear().of(lambda x: x - x.mean())(rows), centred @ centred.T)
    largest = rows.max(axis=1) / rows.sum(axis=1)
    np.testing.assert_allclose(k.OneDimensional(lambda x: x.max() / x.sum())(rows), np.outer(largest, largest))


def test_a_function_of_a_row_that_also_accepts_matrices_with_another_meaning() -> None:
    """X / X[0] divides all rows by the first one, x / x[0] a row by its first number."""
    rows = np.random.default_rng(0).uniform(1, 2, (6, 3))

    def in_units_of_the_first(x: np.ndarray) -> np.ndarray:
        return x / x[0]

    def away_from_the_first(x: np.ndarray) -> np.ndarray:
        return x - x[0]

    def inner(x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return away_from_the_first(x) @ away_from_the_first(z).T

    for some in (rows, rows[:1]):
        for function in (in_units_of_the_first, away_from_the_first, lambda x: x[::-1], lambda x: np.cumsum(x, axis=0)):
            features = np.array([function(x) for x in some])
            np.testing.assert_allclose(k.Linear().of(function)(some), features @ features.T)
        lengths = np.array([np.abs(away_from_the_first(x)).sum() for x in some])
        feature = k.OneDimensional(lambda x: np.abs(away_from_the_first(x)).sum(axis=-1))
        np.testing.assert_allclose(feature(some), np.outer(lengths, lengths))
        np.testing.assert_allclose(k.FromFunction(inner)(some), [[inner(x, z) for z in some] for x in some])
        np.testing.assert_allclose(k.FromFunction(inner)(sp.csr_array(some)), k.FromFunction(inner)(some))


def test_a_fitted_transformer_of_texts_takes_them_all_at_once() -> None:
    texts = ["a cat sat", "the dog sat", "the bird"]
    vectorizer = CountVectorizer().fit(texts)
    counts = vectorizer.transform(texts).toarray()
    kernel = k.Linear().of(vectorizer)
    np.testing.assert_array_equal(kernel(texts), counts @ counts.T)
    np.testing.assert_array_equal(kernel.feature_map(texts)(texts[:2]), counts[:2])


def test_one_map_for_kernels_of_numbers_and_of_symbols() -> None:
    texts, counted = ["ab", "abc", "d"], lambda text: [len(text), 2]
    numbers, symbols = k.RBF(gamma=1).of(counted), k.Spectrum(1).of(counted)
    expected = numbers(texts) + symbols(texts)
    for kernel in (numbers + symbols, symbols + numbers):
        np.testing.assert_allclose(kernel(texts), expected)


def test_a_map_that_is_not_finite_at_zero_has_features() -> None:
    rows = np.random.default_rng(0).uniform(1, 2, (4, 3))
    for function in (np.log, lambda x: 1 / (x - 1), lambda x: x / x.sum()):
        kernel = k.Linear().of(function)
        features = kernel.feature_map(3)(rows)
        np.testing.assert_allclose(features @ features.T, kernel(rows))


def test_a_map_may_return_a_number_or_a_sparse_matrix() -> None:
    """A number for a row alone, or a sparse matrix."""
    expected = X[:, :1] @ X[:, :1].T
    for feature in (lambda x: x[0], lambda A: sp.csr_array(A[:, :1])):
        np.testing.assert_allclose(k.Linear().of(feature)(X), expected, atol=1e-14)
    for feature in (lambda A: A[:, 0], lambda x: x[0]):
        np.testing.assert_allclose(k.OneDimensional(feature)(sp.csr_array(X)), expected, atol=1e-14)
    assert k.Linear().of(lambda A: A[:, :1])(X[:0]).shape == (0, 0)


def test_a_map_of_the_wrong_shape_is_rejected() -> None:
    with pytest.raises(KernelShapeError, match="a number for each of 4 rows"):
        k.OneDimensional(lambda x: x)(np.ones((4, 2)))


def test_a_feature_that_is_not_a_number_is_named() -> None:
    with pytest.raises(NonFiniteError, match="nan in row 1"):
        k.OneDimensional(lambda x: np.nan if x[0] > 0 else 1.0)([[0.0], [1.0]])


def test_a_map_that_does_not_return_numbers_is_rejected() -> None:
    with pytest.raises(KernelShapeError, match="does not give numbers for one row"):
        k.Linear().of(lambda x: "none")(X)
    with pytest.raises(KernelShapeError, match="too many indices"):  # of a matrix, but gives no matrix
        k.Linear().of(lambda A: A[:, 0])(X)
