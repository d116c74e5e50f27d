"""Data that loops read once, and the conversion of their products to those of the design."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mercer.matrices import DenseMatrix
from mercer.matrices.dense import OnePass


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 60), intercept=st.booleans())
def test_products_of_the_data_give_those_of_the_design(seed: int, n: int, intercept: bool) -> None:
    rng = np.random.default_rng(seed)
    design = DenseMatrix.of(rng.normal(size=(n, 3)) + 2, intercept=intercept)
    rows = OnePass.of(design)
    assume(rows is not None)  # constant columns are shifted first
    w, r = rng.normal(size=(design.n_columns, 2)), rng.normal(size=(n, 2))
    factor, level = rows.factors(w)
    np.testing.assert_allclose(rows.X @ factor + level, design.matvec(w), atol=1e-10)
    product = rows.rmatvec(rows.X.T @ r, r.sum(axis=0))
    np.testing.assert_allclose(product, design.rmatvec(r), atol=1e-9)


def test_only_data_with_compiled_loops_are_read_in_one_pass() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert OnePass.of(DenseMatrix.of(X)) is not None
    assert OnePass.of(DenseMatrix.of(X.astype(np.float32))) is not None
    read_only = X.copy()
    read_only.flags.writeable = False
    for other in (np.asfortranarray(X), X + 1e8, read_only, X[:, :2]):
        assert OnePass.of(DenseMatrix.of(other)) is None
