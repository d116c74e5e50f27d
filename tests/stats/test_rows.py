"""A statistic that keeps rows finds each of them again, however often it was shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer._errors import MergeError, UnseenRowsError
from mercer.density import Parzen
from mercer.families import Gaussian
from mercer.stats import StoredRows, statistic_for

X = np.array([[0.0, 1.0], [2.0, np.nan], [0.0, 1.0], [-0.0, 1.0], [5.0, 5.0]])
CODES = np.array([0, 1, 0, 1, 0])


def test_rows_are_stored_by_group():
    (first, _), (second, _), (third, weight) = StoredRows.zero(3, 2).update(X, CODES).by_group()
    np.testing.assert_array_equal(first, X[CODES == 0])
    np.testing.assert_array_equal(second, X[CODES == 1])
    assert third.shape == (0, 2)
    assert weight is None  # all rows weigh 1


def test_columns_are_counted_where_they_were_observed():
    np.testing.assert_array_equal(StoredRows.zero(2, 2).update(X, CODES).rows, [[3, 3], [2, 1]])
    np.testing.assert_array_equal(StoredRows.zero(2, 2).rows, np.zeros((2, 2)))


def test_as_many_equal_rows_are_removed_as_requested():
    rows = StoredRows.zero(2, 2).update(X, CODES)
    (left, _), _ = rows.remove(X[[2]], CODES[[2]]).by_group()
    np.testing.assert_array_equal(left, [[0.0, 1.0], [5.0, 5.0]])
    with pytest.raises(UnseenRowsError, match=r"\[0\. 1\.\] is to be forgotten more often than it was seen"):
        rows.remove(X[[0, 0, 0]], CODES[[0, 0, 0]])


@given(seed=st.integers(0, 10**6), n=st.integers(1, 15), share=st.floats(0, 1))
def test_the_remaining_rows_are_those_not_removed(seed, n, share):
    """Draw few different values, so that many rows are equal in some columns, or in all."""
    rng = np.random.default_rng(seed)
    x, codes = rng.choice([0.0, 1.0, np.nan], (n, 2)), rng.integers(2, size=n)
    weight, gone = rng.choice([0.5, 1.0], n), rng.random(n) < share
    left = StoredRows.zero(2, 2).update(x, codes, weight).remove(x[gone], codes[gone], weight[gone])
    expected = StoredRows.zero(2, 2).update(x[~gone], codes[~gone], weight[~gone])
    np.testing.assert_array_equal(left.contents()["bits"], expected.contents()["bits"])


def test_rows_are_found_by_group_and_weight_and_signed_zeros_are_equal():
    rows = StoredRows.zero(2, 2).update(X, CODES, np.full(5, 0.5))
    assert len(rows.remove([[0.0, 1.0]], np.array([1]), np.array([0.5])).all_rows.codes) == 4
    for group, weight in ((1, 1.0), (0, 0.25)):
        with pytest.raises(UnseenRowsError, match="same sample_weight"):
            rows.remove([[0.0, 1.0]], np.array([group]), np.array([weight]))


def test_later_changes_of_the_input_have_no_effect():
    x = X.copy()
    rows = StoredRows.zero(2, 2).update(x, CODES)
    x[:] = 7.0
    np.testing.assert_array_equal(rows.all_rows.points, X)


def test_infinity_is_reported_and_other_shapes_are_rejected():
    assert not StoredRows.zero(1, 1).update([[np.inf]], np.zeros(1, dtype=int)).finite
    assert StoredRows.zero(1, 1).update([[np.nan]], np.zeros(1, dtype=int)).finite
    with pytest.raises(MergeError, match="same columns"):
        StoredRows.zero(2, 1).merge(StoredRows.zero(2, 2))


def test_stored_rows_are_the_statistic_of_windows():
    assert isinstance(statistic_for(Parzen(), groups=2, columns=3), StoredRows)
    assert not isinstance(statistic_for(Gaussian(), groups=2, columns=3), StoredRows)
