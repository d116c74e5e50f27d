"""libsvm's layout of pairs, its votes, and scores that agree with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.svm.one_against_one import (
    arrange_as_libsvm,
    arrange_by_pair,
    class_pairs,
    compute_smallest_margins,
    raise_winner,
    split_into_pairs,
    sum_votes,
    vote,
)

decisions_of = {k: arrays(float, (5, k * (k - 1) // 2), elements=st.floats(-3, 3, width=16)) for k in (2, 3, 4, 6)}


def test_pairs_have_the_order_of_libsvm() -> None:
    assert class_pairs(4) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def test_rows_of_a_pair_belong_to_its_classes() -> None:
    codes = np.array([2, 0, 1, 0, 2])
    assert [rows.tolist() for rows in split_into_pairs(codes, 3)] == [[1, 3, 2], [1, 3, 0, 4], [2, 0, 4]]


def test_the_layout_is_inverted_by_columns(rng: np.random.Generator) -> None:
    codes = np.repeat([0, 1, 2, 3], 3)
    numbers = list(split_into_pairs(codes, 4))
    betas = [rng.normal(size=len(rows)) for rows in numbers]
    columns = arrange_by_pair(arrange_as_libsvm(betas, numbers, codes, 4), np.bincount(codes))
    for p, (rows, beta) in enumerate(zip(numbers, betas, strict=True)):
        np.testing.assert_array_equal(columns[rows, p], beta)
        assert not np.delete(columns[:, p], rows).any()


def test_votes_agree_with_libsvm() -> None:
    # decisions of the pairs (0, 1), (0, 2), (1, 2): above 0 for the first, else for the second
    decisions = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, -1.0, 1.0]])
    assert vote(decisions, 3).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("k", [2, 3, 4, 6])
@given(data=st.data())
def test_the_class_that_beats_all_others_has_the_largest_margin(k: int, data: st.DataObject) -> None:
    decisions = data.draw(decisions_of[k])
    margins, winner = compute_smallest_margins(decisions, k), vote(decisions, k)
    beats_all = (margins > 0).any(axis=1)
    assert np.array_equal(margins.argmax(axis=1)[beats_all], winner[beats_all])
    if k > 2:
        assert np.array_equal(sum_votes(decisions, k).argmax(axis=1)[beats_all], winner[beats_all])


def test_margins_are_continuous_where_the_winner_changes() -> None:
    before, after = np.array([[1e-9, 1.0, 2.0]]), np.array([[-1e-9, 1.0, 2.0]])
    assert vote(before, 3) != vote(after, 3)
    np.testing.assert_allclose(compute_smallest_margins(before, 3), compute_smallest_margins(after, 3), atol=1e-8)


def test_raising_the_winner_changes_values_by_rounding_only() -> None:
    values, winner = np.array([[0.5, 0.5], [0.3, 0.7]]), np.array([1, 1])
    agreed = raise_winner(values.copy(), winner)
    assert np.array_equal(agreed.argmax(axis=1), winner)
    np.testing.assert_allclose(agreed, values, atol=1e-15)
