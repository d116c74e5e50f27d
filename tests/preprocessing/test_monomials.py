"""Monomials of rows, dense and sparse, with coefficients 1 or those of the polynomial kernel."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._errors import TooLargeError, TooManyColumnsError
from mercer.kernels import Polynomial
from mercer.preprocessing._monomials import MONOMIALS_AT_ONCE, MonomialMap

maps = st.builds(
    MonomialMap,
    columns=st.integers(1, 7),
    degree=st.integers(0, 4),
    exactly=st.booleans(),
    distinct=st.booleans(),
    one=st.booleans(),
)


def rows(n: int, d: int, seed: int, density: float = 0.4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < density)


@settings(max_examples=100)
@given(feature_map=maps, seed=st.integers(0, 1000), density=st.sampled_from([0.0, 0.3, 1.0]))
def test_sparse_rows_agree_with_dense_ones(feature_map: MonomialMap, seed: int, density: float) -> None:
    X = rows(20, feature_map.columns, seed, density)
    features = feature_map(sp.csr_array(X))
    assert features.format == "csr"
    assert features.has_canonical_format
    np.testing.assert_allclose(features.toarray(), feature_map(X), rtol=1e-14)


@settings(max_examples=60)
@given(
    d=st.integers(1, 5),
    degree=st.integers(0, 5),
    constant=st.sampled_from([0.3, 1.0, 4.0]),
    exactly=st.booleans(),
    seed=st.integers(0, 1000),
    sparse=st.booleans(),
)
def test_inner_products_of_scaled_monomials_give_the_kernel(
    d: int, degree: int, constant: float, exactly: bool, seed: int, sparse: bool
) -> None:
    X = rows(9, d, seed, 0.7)
    kernel = Polynomial(degree=degree, constant=0.0 if exactly else constant)
    features = MonomialMap(d, degree, exactly, constant=constant)(sp.csr_array(X) if sparse else X)
    features = features.toarray() if sparse else features
    K = kernel(X)
    np.testing.assert_allclose(features @ features.T, K, rtol=0, atol=1e-12 * max(1.0, np.abs(K).max()))
    np.testing.assert_allclose(features, kernel.feature_map(d)(X), rtol=1e-14)


def test_only_stored_numbers_are_multiplied() -> None:
    """A million columns with three values in a row give C(3 + 3, 3) features out of 1.7 · 10¹⁷."""
    X = sp.csr_array(([2.0, 3.0, 5.0], ([0, 0, 0], [7, 1000, 999_999])), shape=(2, 1_000_000))
    feature_map = MonomialMap(1_000_000, 3)
    features = feature_map(X)
    assert features.shape == (2, feature_map.n_features)
    assert features.shape[1] == 166_667_666_668_500_001
    assert np.diff(features.indptr).tolist() == [20, 1]
    assert sorted(features[[0]].data.tolist()) == sorted(
        [1, 2, 3, 5, 4, 6, 10, 9, 15, 25, 8, 12, 20, 18, 30, 50, 27, 45, 75, 125]
    )


def test_blocks_of_sparse_rows_do_not_change_features() -> None:
    X, feature_map = sp.csr_array(rows(60_000, 6, 0)), MonomialMap(6, 3)
    whole, parts = feature_map(X), [feature_map(X[start : start + 1000]) for start in range(0, 60_000, 1000)]
    rows_by_size = np.bincount(np.diff(X.indptr)).tolist()
    assert max(count * comb(size + 3, 3) for size, count in enumerate(rows_by_size)) > 2 * MONOMIALS_AT_ONCE
    np.testing.assert_array_equal(whole.toarray(), sp.vstack(parts).toarray())


def test_entries_stored_twice_or_out_of_order_are_combined() -> None:
    X = sp.csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    np.testing.assert_array_equal(MonomialMap(2, 2)(X).toarray(), [[1, 5, 3, 25, 15, 9]])
    assert X.nnz == 3  # the given matrix is unchanged


def test_features_beyond_memory_are_rejected_with_the_kernel_as_a_remedy() -> None:
    with pytest.raises(TooLargeError, match=r"rows of 377,348,994 monomials.*KernelRidge\(kernel=Polynomial\(degree=8"):
        MonomialMap(40, 8)(np.ones((100_000, 40)))
    with pytest.raises(TooLargeError, match="monomials"):
        MonomialMap(500, 6)(sp.csr_array(np.ones((2, 500))))
    with pytest.raises(TooManyColumnsError, match="int64"):
        MonomialMap(1_000_000, 9)(sp.csr_array((2, 1_000_000)))


def test_lower_degrees_may_have_more_monomials_than_the_requested_one() -> None:
    """24 columns have C(24, 22) products of 22, but C(24, 12) of twelve; 36 columns have more than 2³¹."""
    X = np.random.default_rng(0).uniform(0.5, 2, size=(1, 24))
    features = MonomialMap(24, 22, exactly=True, distinct=True)(X)
    assert features.shape == (1, 276)
    np.testing.assert_allclose(features[0, [0, -1]], [X[0, :22].prod(), X[0, 2:].prod()], rtol=1e-13)
    row = sp.csr_array((np.arange(2.0, 8.0), ([0] * 6, [0, 7, 13, 20, 31, 35])), shape=(1, 36))
    assert MonomialMap(36, 35, exactly=True, distinct=True)(row).nnz == 0
    assert MonomialMap(36, 6, exactly=True, distinct=True)(row).data.tolist() == [5040]
    with pytest.raises(TooLargeError, match="1 rows of 60 monomials"):
        MonomialMap(60, 59, exactly=True, distinct=True)(np.ones((1, 60)))
