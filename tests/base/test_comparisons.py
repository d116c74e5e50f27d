"""Functions and matrices of users as kernels, and errors about invalid ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer._errors import AsymmetricKernelError, DataError, KernelShapeError, NonFiniteError
from mercer.base.kernel_comparison import ByKernel, block, check_kernel_matrix, matrix_of_function, whole_matrix
from mercer.kernels import RBF
from mercer.kernels.inputs import take


def test_blocks_of_consecutive_and_of_any_rows_agree(rng: np.random.Generator) -> None:
    K = rng.normal(size=(9, 9))
    for numbers in ([0, 1, 2], [1, 2, 5, 6, 7], [4], [0, 2, 4], []):
        rows = np.array(numbers, dtype=int)
        np.testing.assert_array_equal(block(K, rows), K[np.ix_(rows, rows)])


def test_rows_are_taken_from_any_container() -> None:
    numbers = np.array([2, 0])
    assert take(["a", "b", "c"], numbers) == ["c", "a"]
    assert take(np.arange(3), numbers).tolist() == [2, 0]
    assert take(sp.lil_matrix(np.eye(3)), numbers).toarray().tolist() == [[0, 0, 1], [1, 0, 0]]


def test_predictions_in_single_precision_keep_six_digits(rng: np.random.Generator) -> None:
    X, Z, v = rng.normal(size=(2100, 5)), rng.normal(size=(2100, 5)), rng.normal(size=(2100, 1))
    many = ByKernel(RBF(gamma=0.2), Z).matvec(X, v)
    np.testing.assert_allclose(many, RBF(gamma=0.2)(X, Z) @ v, atol=1e-6 * np.abs(v).sum())


def test_functions_of_sets_and_of_rows_are_distinguished(rng: np.random.Generator) -> None:
    X = rng.normal(size=(4, 3))
    np.testing.assert_array_equal(whole_matrix(lambda A, B: A @ B.T, X), X @ X.T)
    assert whole_matrix(lambda x, z: float(x @ z), X) is None


def test_functions_of_the_wrong_shape_or_with_gaps_are_rejected(rng: np.random.Generator) -> None:
    X = rng.normal(size=(4, 3))
    with pytest.raises(KernelShapeError, match=r"shape \(4, 3\).*4 and 4 rows"):
        matrix_of_function(lambda A, B: A, X, X)
    with pytest.raises(NonFiniteError, match="nan for the rows 0 and 0"):
        matrix_of_function(lambda A, B: np.full((4, 4), np.nan), X, X)


def test_a_kernel_matrix_is_square_and_symmetric() -> None:
    with pytest.raises(DataError, match=r"square matrix. Input is a 2x3"):
        check_kernel_matrix(np.ones((2, 3)), "K")
    K = np.eye(3)
    K[0, 2] = 0.5
    with pytest.raises(AsymmetricKernelError, match=r"0.5 for the rows 0 and 2, but 0 for 2 and 0"):
        check_kernel_matrix(K, "K")
    check_kernel_matrix(np.eye(3), "K")
