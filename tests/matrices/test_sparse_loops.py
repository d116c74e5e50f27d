"""Products of the stored entries of a matrix."""

from __future__ import annotations

import numpy as np

from mercer.matrices import sparse_loops as loops


def test_pairs_are_half_of_the_products() -> None:
    indptr, indices = np.array([0, 2, 5], dtype=np.int32), np.array([2, 0, 1, 1, 0], dtype=np.uint32)
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    X = np.array([[2.0, 0.0, 1.0], [5.0, 7.0, 0.0]])
    for weight in (np.zeros(0), np.array([2.0, 0.5])):
        pairs = np.zeros((3, 3))
        loops.add_pairs(indptr, indices, values, weight, False, pairs)
        every = weight if len(weight) else np.ones(2)
        np.testing.assert_allclose(pairs + pairs.T, X.T @ (every[:, None] * X))


def test_rows_of_weight_zero_are_skipped_unless_all_rows_count() -> None:
    indptr, indices = np.array([0, 1, 2], dtype=np.int32), np.array([0, 0], dtype=np.uint32)
    for every in (False, True):
        pairs = np.zeros((1, 1))
        loops.add_pairs(indptr, indices, np.array([3.0, np.nan]), np.array([2.0, 0.0]), every, pairs)
        assert np.isnan(pairs[0, 0]) == every
