"""Runs of numbers: equal runs have equal numbers, and runs are counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import _sequence_loops as loops

RUNS = st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=40)


def laid_out(runs: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ends = np.cumsum([0, *map(len, runs)], dtype=np.int64)
    return np.array([word for run in runs for word in run], dtype=np.int64), ends[:-1], ends[1:]


@settings(max_examples=60)
@given(runs=RUNS)
def test_only_equal_runs_have_equal_numbers(runs: list[list[int]]) -> None:
    words, starts, stops = laid_out(runs)
    numbers, firsts = loops.number_runs(words, starts, stops)
    numbered: dict[tuple[int, ...], int] = {}
    expected = [numbered.setdefault(tuple(run), len(numbered)) for run in runs]
    assert numbers.tolist() == expected
    assert [tuple(runs[first]) for first in firsts] == list(numbered)


def test_equal_hashes_do_not_make_runs_equal() -> None:
    def mix(word: int) -> int:
        """The hash of a run of two after its first word, to which the second is added bit by bit."""
        product = (2 ^ word) * 0x9E3779B97F4A7C15 % 2**64
        return product ^ (product >> 32)

    first, second = 1, int(np.uint64(mix(1) ^ mix(2) ^ 7).astype(np.int64))
    runs = [[first, 7], [2, second], [7], [2, second], [first, 7], []]
    words, starts, stops = laid_out(runs)
    hashes = [int(loops.compute_hash(words, start, stop)) for start, stop in zip(starts, stops, strict=True)]
    assert hashes[0] == hashes[1] != hashes[2]
    numbers, _ = loops.number_runs(words, starts, stops)
    assert numbers.tolist() == [0, 1, 2, 1, 0, 3]


@settings(max_examples=40)
@given(runs=RUNS)
def test_gathered_runs_agree_with_the_runs(runs: list[list[int]]) -> None:
    words, starts, stops = laid_out(runs)
    order = np.arange(len(runs))[::-1]
    gathered, ends = loops.gather_runs(words, starts[order], stops[order])
    expected, _, expected_ends = laid_out(runs[::-1])
    assert gathered.tolist() == expected.tolist()
    assert ends.tolist() == expected_ends.tolist()


@pytest.mark.parametrize("size", [0, 1, 2, 24, 25, 300])
def test_runs_of_every_length_are_sorted(size: int) -> None:
    run = np.random.default_rng(size).integers(0, 50, size)
    expected = np.sort(run)
    loops.sort_run(run)
    assert run.tolist() == expected.tolist()


@settings(max_examples=40)
@given(runs=RUNS, known=st.integers(0, 4))
def test_counts_and_their_squares(runs: list[list[int]], known: int) -> None:
    words, starts, _ = laid_out(runs)
    before = words.copy()
    ends, columns, counts, squares = loops.count_numbers(words, np.append(starts, len(words)), known)
    assert words.tolist() == before.tolist()
    for i, run in enumerate(runs):
        found = dict(zip(columns[ends[i] : ends[i + 1]].tolist(), counts[ends[i] : ends[i + 1]].tolist(), strict=True))
        assert found == {word: run.count(word) for word in set(run) if word < known}
        assert squares[i] == sum(run.count(word) ** 2 for word in set(run))


def test_products_are_added_to_existing_values() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.poisson(0.4, (5, 9)).astype(float), rng.poisson(0.4, (7, 9)).astype(float)

    def sparse(X: np.ndarray) -> tuple[np.ndarray, ...]:
        rows, columns = np.nonzero(X)
        ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
        return ends[:-1], ends[1:], columns, X[rows, columns]

    tile = np.ones((5, 7))
    loops.add_products(tile, *sparse(left), *sparse(right), 9)
    np.testing.assert_array_equal(tile, 1 + left @ right.T)


def test_a_neighbourhood_is_a_label_and_sorted_labels() -> None:
    labels = np.array([5, 3, 4])
    words = loops.join_neighbours(labels, np.array([0, 2, 2, 3]), np.array([2, 1, 0]))
    assert words.tolist() == [5, 3, 4, 3, 4, 5]
