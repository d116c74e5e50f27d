"""The diagonal of Xᵀ diag(h) X without the rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer.matrices import CategoricalMatrix, Coordinates, DenseMatrix, Matrix, SparseMatrix, SplitMatrix


def designs(n: int, rng: np.random.Generator) -> dict[str, Matrix]:
    X = rng.normal(size=(n, 4)) * [1, 10, 0.1, 3]
    matrix = sparse.csr_array(np.where(X > 0, X, 0.0))
    entries, shifted = SparseMatrix.of(matrix), Coordinates(np.array([0.0, 2.0, -1.0, 0.0]), np.full(4, 0.5), False)
    codes = CategoricalMatrix.of([rng.integers(0, k, n) for k in (2, 4)], [2, 4])
    return {
        "dense": DenseMatrix.of(X),
        "far": DenseMatrix.of(X + 1e6),
        "sparse": entries,
        "sparse, shifted": SparseMatrix.of_matrix(matrix, shifted),
        "sparse with an intercept": SplitMatrix.of(sparse=entries, intercept=True),
        "codes": codes,
        "mixed": SplitMatrix.of(DenseMatrix.of(X, intercept=False), codes=codes, intercept=True),
    }


@pytest.mark.parametrize("name", designs(1, np.random.default_rng()))
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 60))
def test_column_squares_agree_with_the_diagonal_of_the_gram_matrix(name: str, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    design, h = designs(n, rng)[name], rng.uniform(size=n)
    diagonal = design.gram(h).diagonal()
    np.testing.assert_allclose(design.squares(h), diagonal, rtol=1e-10, atol=1e-10 * diagonal.max())
