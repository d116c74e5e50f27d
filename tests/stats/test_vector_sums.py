"""Sums of T(x) of families of rows, and the lengths of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mercer import families as f
from mercer._errors import UnseenRowsError
from mercer.stats import VectorSums
from mercer.stats.sums import encode_lengths


def test_any_container_gives_the_same_sums(contained: Callable[[np.ndarray], Any]) -> None:
    rng = np.random.default_rng(1)
    x, groups = rng.integers(0, 3, size=(200, 5)).astype(float), rng.integers(0, 2, 200).astype(np.int32)
    weight = rng.uniform(size=200)
    sums = VectorSums.zero(f.Multinomial(), 2, 5).update(contained(x), groups, weight)
    for c in range(2):
        np.testing.assert_allclose(sums.total[c], weight[groups == c] @ x[groups == c], rtol=1e-10)
    np.testing.assert_array_equal(sums.rows, np.bincount(groups))
    np.testing.assert_array_equal(np.unique(x.sum(axis=1)), sums.lengths.levels)


def test_a_sparse_block_is_never_made_dense() -> None:
    wide = sparse.csr_array((np.ones(3), ([0, 1, 1], [5, 999_999, 5])), shape=(2, 1_000_000))
    wide.toarray = lambda: pytest.fail("made dense")
    sums = VectorSums.zero(f.Multinomial(), 1, 1_000_000).update(wide, np.zeros(2, dtype=np.int32))
    assert sums.total[0, 5] == 2.0
    np.testing.assert_array_equal(sums.lengths.levels, [1, 2])


def test_lengths_are_kept_for_sampling() -> None:
    x = np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 5.0], [0.5, 0.0]])
    groups = np.array([0, 0, 0, 1], dtype=np.int32)
    sums = VectorSums.zero(f.Multinomial(), 3, 2).update(x, groups, np.array([1.0, 1.0, 2.0, 1.0]))
    lengths, shares = sums.length_distribution(0)
    np.testing.assert_array_equal(lengths, [2, 5])
    np.testing.assert_array_equal(shares, [0.5, 0.5])
    assert sums.length_distribution(2)[0] == [0]


def test_fractional_lengths_have_a_mean() -> None:
    x = np.array([[1.5, 1.7], [3.0, 2.0]])
    sums = VectorSums.zero(f.Multinomial(), 1, 2).update(x, np.zeros(2, dtype=np.int32))
    np.testing.assert_array_equal(sums.length_distribution(0), [[4], [1.0]])
    whole = sums.remove(x[:1], np.zeros(1, dtype=np.int32))
    np.testing.assert_array_equal(whole.length_distribution(0), [[5], [1.0]])


def test_long_rows_are_counted_by_three_digits() -> None:
    coded = encode_lengths(np.array([0.0, 7.0, 999.0, 1234.0, 98_765_432.0, 2.5, np.inf, np.nan]))
    np.testing.assert_array_equal(coded.labels[coded.codes[:5]], [0, 7, 999, 1230, 98_800_000])
    np.testing.assert_array_equal(coded.codes[5:], -1)
    assert len(encode_lengths(np.arange(1e6)).labels) < 4000


def test_rows_without_values_are_left_out_and_partial_gaps_are_reported() -> None:
    whole, nothing, part = [0.2, 0.8], [np.nan, np.nan], [0.5, np.nan]
    zero, groups = VectorSums.zero(f.Dirichlet(), 1, 2), np.zeros(2, dtype=np.int32)
    sums = zero.update(np.array([whole, nothing]), groups, np.array([2.0, 1.0]))
    assert (sums.rows[0], sums.weight[0]) == (1, 2.0)
    np.testing.assert_allclose(sums.mean, [np.log(whole)])
    assert not zero.update(np.array([whole, part]), groups).finite
    assert not zero.update(np.array([whole, [0.0, 1.0]]), groups).finite
    assert not VectorSums.zero(f.Multinomial(), 1, 2).update(sparse.csr_array([[1.0, np.inf]]), groups[:1]).finite


def test_sums_that_overflow_are_reported_without_a_warning() -> None:
    huge = np.full((2, 3), 1e308)
    for x in (huge, sparse.csr_array(huge)):
        assert not VectorSums.zero(f.Multinomial(), 1, 3).update(x, np.zeros(2, dtype=np.int32)).finite


def test_more_words_than_learnt_cannot_be_forgotten() -> None:
    sums = VectorSums.zero(f.Multinomial(), 1, 2).update(
        np.array([[1.0, 3.0], [2.0, 2.0]]), np.zeros(2, dtype=np.int32)
    )
    with pytest.raises(UnseenRowsError, match="count more"):
        sums.remove(np.array([[4.0, 0.0]]), np.zeros(1, dtype=np.int32))
    with pytest.raises(UnseenRowsError, match=r"totals.*value 5 was never seen"):
        sums.remove(np.array([[2.0, 3.0]]), np.zeros(1, dtype=np.int32))
    more = sums.update(np.array([[1.0, 9.0]]), np.zeros(1, dtype=np.int32))
    with pytest.raises(UnseenRowsError, match=r"totals.*other weights"):
        more.remove(np.array([[1.0, 9.0]]), np.zeros(1, dtype=np.int32), np.array([1.2]))


def test_lengths_of_rows_do_not_depend_on_the_container() -> None:
    """Shares sum to one only up to rounding, and in another order to another side of it."""
    rng = np.random.default_rng(2)
    x, groups = rng.dirichlet(np.full(30, 0.3), size=200), np.zeros(200, dtype=np.int32)
    forwards, backwards = (sum(part for part in x[:, ::step].T) for step in (1, -1))
    assert ((forwards == 1) != (backwards == 1)).any()
    sums = VectorSums.zero(f.Multinomial(), 1, 30).update(x, groups)
    left = sums.remove(sparse.csr_array(x[:150]), groups[:150])
    np.testing.assert_array_equal(left.lengths.rows, [[50]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_any_csr_matrix_is_summed_without_changes(dtype: type, indices: type) -> None:
    """Rows without order, with entries stored twice, in arrays that cannot be written to."""
    x = sparse.csr_matrix(
        (np.array([1, 1, 0, 1], dtype=dtype), np.array([2, 0, 0, 0]), np.array([0, 2, 4])), shape=(2, 3)
    )
    x.indices, x.indptr = x.indices.astype(indices), x.indptr.astype(indices)
    for array in (x.data, x.indices, x.indptr):
        array.flags.writeable = False
    sums = VectorSums.zero(f.Multinomial(), 1, 3).update(x, np.zeros(2, dtype=np.int32))
    np.testing.assert_array_equal(sums.total, [[2.0, 0.0, 1.0]])
    assert x.nnz == 4
