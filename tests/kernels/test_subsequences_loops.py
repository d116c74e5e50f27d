"""The recursion over gapped subsequences: what it computes is tested in tests/kernels; here its lanes and corners."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels import _subsequence_loops as loops

rng = np.random.default_rng(0)


def texts(count: int) -> tuple[np.ndarray, np.ndarray]:
    lengths = rng.integers(0, 9, count)
    return rng.integers(0, 3, lengths.sum()).astype(np.int32), np.concatenate([[0], np.cumsum(lengths)])


def alone(codes: np.ndarray, bounds: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
    part = codes[bounds[i] : bounds[i + 1]]
    return part, np.array([0, len(part)])


@pytest.mark.parametrize("count", [1, loops.PAIR_LANES - 1, loops.PAIR_LANES, loops.PAIR_LANES + 1])
def test_a_pair_does_not_depend_on_the_others_in_its_vector(count: int) -> None:
    left, right = texts(3), texts(count)
    tile = loops.compute_tile(*left, *right, 2, 0.5, -1)
    for i in range(3):
        for j in range(count):
            assert tile[i, j] == loops.compute_tile(*alone(*left, i), *alone(*right, j), 2, 0.5, -1)[0, 0]


def test_the_computed_part_of_a_triangle_is_correct() -> None:
    n, first = 2 * loops.PAIR_LANES + 5, loops.PAIR_LANES + 1
    codes, bounds = texts(n)
    whole = loops.compute_tile(codes, bounds, codes, bounds, 2, 0.5, -1)
    start = bounds[first]
    lower = loops.compute_tile(codes[start:], bounds[first:] - start, codes, bounds, 2, 0.5, first)
    rows, columns = np.tril_indices(n)
    kept = rows >= first
    np.testing.assert_array_equal(lower[rows[kept] - first, columns[kept]], whole[rows[kept], columns[kept]])


def test_the_diagonal_agrees_with_the_tile() -> None:
    codes, bounds = texts(loops.PAIR_LANES + 3)
    whole = loops.compute_tile(codes, bounds, codes, bounds, 3, 0.7, -1)
    np.testing.assert_allclose(loops.compute_diagonal(codes, bounds, 3, 0.7), np.diagonal(whole), rtol=1e-14)


def test_no_texts_and_empty_texts() -> None:
    none = np.zeros(0, np.int32)
    assert loops.compute_tile(none, np.array([0]), none, np.array([0]), 2, 0.5, -1).shape == (0, 0)
    assert loops.compute_tile(none, np.array([0, 0]), none, np.array([0, 0]), 1, 0.5, -1).tolist() == [[0.0]]
    assert loops.compute_diagonal(none, np.array([0, 0]), 1, 0.5).tolist() == [0.0]
