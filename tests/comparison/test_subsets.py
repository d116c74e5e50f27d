"""Rows held out, and growing subsets of the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer._errors import DataError
from mercer.comparison.learning_curves import check_sizes, count_train_rows, hold_out_rows


@given(st.lists(st.integers(0, 3), min_size=8, max_size=80), st.floats(0.1, 0.6), st.integers(0, 5))
def test_held_out_rows_and_training_order_are_a_partition(codes: list[int], share: float, seed: int) -> None:
    known, y = np.unique(codes, return_inverse=True)
    order, test = hold_out_rows(y, share, np.random.default_rng(seed))
    assert sorted([*order, *test]) == list(range(len(y)))
    # every beginning of as many rows as classes has them all
    assert len(set(y[order[: len(known)]])) == len(known)
    counts = np.bincount(y)
    left = np.bincount(y[order], minlength=len(known))
    assert (left >= np.minimum(counts, 2)).all()


def test_first_rows_keep_the_class_proportions() -> None:
    y = np.repeat([0, 1], [300, 100])
    order, _ = hold_out_rows(y, 0.25, np.random.default_rng(0))
    for size in (20, 100, 200):
        assert abs(y[order[:size]].mean() - 0.25) < 0.08


def test_number_of_rows_to_hold_out() -> None:
    y = np.repeat([0, 1], 50)
    assert len(hold_out_rows(y, 20, np.random.default_rng(0)).test) == 20
    assert count_train_rows(y, 20) == 80
    with pytest.raises(DataError, match="none can be held out"):
        count_train_rows(np.array([0, 1, 2]), 0.5)


def test_sizes_of_subsets() -> None:
    assert check_sizes([40, 10, 10], 50, 2).tolist() == [10, 40]
    assert check_sizes(None, 6, 3).tolist() == [6]
    with pytest.raises(DataError, match=r"not 12\.5"):
        check_sizes([12.5], 50, 2)
