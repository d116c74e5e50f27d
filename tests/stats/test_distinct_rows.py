"""The sample does not depend on blocks and order of rows, and has the count of each row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.stats.distinct_rows import DistinctRows, hash_rows


def sampled(blocks, most):
    total = DistinctRows.zero(2, most=most)
    for block in blocks:
        total = total.merge(total.empty().update(block))
    return total


@given(st.integers(1, 60), st.lists(st.integers(1, 99), max_size=5), st.integers(0, 2**32 - 1))
def test_neither_blocks_nor_order_matter(most, cuts, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(6, size=(100, 2)).astype(float)
    whole = DistinctRows.zero(2, most=most).update(rows)
    parts = sampled(np.split(rng.permutation(rows), sorted(cuts)), most)
    np.testing.assert_array_equal(parts.rows, whole.rows)
    np.testing.assert_array_equal(parts.weight, whole.weight)
    assert parts.n_rows == whole.n_rows == 100


def test_all_rows_are_kept_with_their_counts_if_they_fit():
    rows = np.random.default_rng(0).integers(3, size=(500, 2)).astype(float)
    sample = DistinctRows.zero(2, most=100).update(rows)
    expected, counts = np.unique(rows, axis=0, return_counts=True)
    order = np.lexsort(sample.rows.T[::-1])
    np.testing.assert_array_equal(sample.rows[order], expected)
    np.testing.assert_array_equal(sample.weight[order], counts)
    assert sample.complete


def test_the_sample_is_fair():
    rows = np.random.default_rng(1).normal(size=(20_000, 2))
    sample = DistinctRows.zero(2, most=2000).update(rows)
    assert len(sample.rows) == 2000
    assert not sample.complete
    np.testing.assert_allclose(sample.rows.mean(axis=0), 0, atol=4 / np.sqrt(2000))
    np.testing.assert_allclose(sample.rows.std(axis=0), 1, atol=4 / np.sqrt(2000))


def test_weights_add_up_and_rows_of_weight_zero_are_ignored():
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    sample = DistinctRows.zero(2, most=5).update(rows, np.array([0.5, 2.0, 0.0]))
    np.testing.assert_array_equal(sample.rows, [[1.0, 2.0]])
    np.testing.assert_array_equal(sample.weight, [2.5])


@pytest.mark.parametrize(("mine", "theirs"), [(0.0, -0.0), (np.nan, -np.nan)])
def test_equal_values_have_equal_hashes(mine, theirs):
    assert hash_rows(np.array([[mine]])) == hash_rows(np.array([[theirs]]))


def test_hashes_depend_on_column_positions():
    assert hash_rows(np.array([[1.0, 2.0]])) != hash_rows(np.array([[2.0, 1.0]]))
    assert hash_rows(np.array([[0.0]])) != hash_rows(np.array([[0.0, 0.0]]))
