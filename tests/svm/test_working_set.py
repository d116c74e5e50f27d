"""Tests of working sets: the most violating rows, the newest rows of the last set, and their matrix."""

from __future__ import annotations

import numpy as np

from mercer.kernels import RBF, Gram
from mercer.svm._box_problem import BoxScores
from mercer.svm._working_set import WorkingTile, choose_working_set

ROWS = 8


def test_the_most_violating_rows_are_added_and_the_newest_stay() -> None:
    up, down = np.arange(20.0), -np.arange(20.0)
    up[19] = -np.inf
    first, kept = choose_working_set(BoxScores(up, down, intercept=True), np.zeros(0, dtype=int), ROWS)
    assert (sorted(first), kept) == ([0, 1, 2, 3, 15, 16, 17, 18], 0)
    second, kept = choose_working_set(BoxScores(up, down, intercept=True), first, ROWS)
    assert kept == 4
    np.testing.assert_array_equal(second[:4], first[-4:])
    assert len(set(second)) == 8


def test_without_an_intercept_the_largest_slopes_of_either_sign_are_chosen() -> None:
    up, down = np.zeros(20), np.zeros(20)
    up[[3, 5]] = down[[7, 9]] = 2.0
    chosen, _ = choose_working_set(BoxScores(up, down, intercept=False), np.zeros(0, dtype=int), ROWS)
    assert {3, 5, 7, 9} <= set(chosen)


def test_few_rows_are_all_chosen_and_kept_the_next_time() -> None:
    scores = BoxScores(np.zeros(5), np.zeros(5), intercept=True)
    first, kept = choose_working_set(scores, np.zeros(0, dtype=int), ROWS)
    assert (list(first), kept) == ([0, 1, 2, 3, 4], 0)
    assert choose_working_set(scores, first, ROWS)[1] == 5


def test_tiles_agree_with_their_rows() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    K, tile = RBF(gamma=1.0)(X), WorkingTile(Gram(RBF(gamma=1.0), X), ROWS)
    for numbers, kept in (([3, 1, 4, 9], 0), ([4, 9, 20, 7, 8], 2), ([20, 7, 8], 3), ([1, 2], 0)):
        np.testing.assert_allclose(tile.compute(np.array(numbers), kept), K[np.ix_(numbers, numbers)], rtol=1e-12)
