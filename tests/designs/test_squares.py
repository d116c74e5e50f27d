"""The diagonal of Xᵀ diag(h) X without the rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer.designs import CodesDesign, DenseDesign, Design, MixedDesign, SparseDesign
from mercer.designs.one_pass import OnePass
from mercer.designs.squares import column_squares


def designs(n: int, rng: np.random.Generator) -> dict[str, Design]:
    X = rng.normal(size=(n, 4)) * [1, 10, 0.1, 3]
    entries = SparseDesign.of(sparse.csr_array(np.where(X > 0, X, 0.0)))
    codes = CodesDesign.of([rng.integers(0, k, n) for k in (2, 4)], [2, 4])
    return {
        "dense": DenseDesign.of(X),
        "far": DenseDesign.of(X + 1e6),
        "sparse": entries,
        "sparse with an intercept": MixedDesign.of(sparse=entries, intercept=True),
        "codes": codes,
        "mixed": MixedDesign.of(DenseDesign.of(X, intercept=False), codes=codes, intercept=True),
    }


@pytest.mark.parametrize("name", designs(1, np.random.default_rng()))
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 60))
def test_they_are_the_diagonal(name: str, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    design, h = designs(n, rng)[name], rng.uniform(size=n)
    diagonal = design.gram(h).diagonal()
    np.testing.assert_allclose(column_squares(design, h), diagonal, rtol=1e-10, atol=1e-10 * diagonal.max())


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 60), intercept=st.booleans())
def test_products_of_the_data_become_those_of_the_design(seed: int, n: int, intercept: bool) -> None:
    rng = np.random.default_rng(seed)
    design = DenseDesign.of(rng.normal(size=(n, 3)) + 2, intercept=intercept)
    rows = OnePass.of(design)
    if rows is None:  # constant columns are shifted first
        return
    w, r = rng.normal(size=(design.n_columns, 2)), rng.normal(size=(n, 2))
    factor, level = rows.factors(w)
    np.testing.assert_allclose(rows.X @ factor + level, design.times(w), atol=1e-10)
    product = rows.transposed_times(rows.X.T @ r, r.sum(axis=0))
    np.testing.assert_allclose(product, design.transposed_times(r), atol=1e-9)


def test_only_data_that_loops_are_compiled_for_are_read_in_one_pass() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert OnePass.of(DenseDesign.of(X)) is not None
    assert OnePass.of(DenseDesign.of(X.astype(np.float32))) is not None
    read_only = X.copy()
    read_only.flags.writeable = False
    for other in (np.asfortranarray(X), X + 1e8, read_only, X[:, :2]):
        assert OnePass.of(DenseDesign.of(other)) is None
    assert OnePass.of(SparseDesign.of(sparse.csr_array(X))) is None
