"""Counts of values in given bins."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import MergeError
from mercer.stats import BinCounts

EDGES = np.array([0.0, 1.0, 2.0, 4.0])


def counted(*values: float) -> BinCounts:
    return BinCounts.zero(1, 1, edges=EDGES).update(np.array(values)[:, None], np.zeros(len(values), dtype=np.int32))


def test_agrees_with_numpy_inside_the_edges() -> None:
    x = np.random.default_rng(0).integers(0, 9, 200) / 2
    np.testing.assert_array_equal(counted(*x).rows[0, 0], np.histogram(x, EDGES)[0])


def test_values_beyond_the_edges_count_to_the_outermost_bins() -> None:
    np.testing.assert_array_equal(counted(-5.0, 0.5, 4.0, 99.0, np.nan).counts[0, 0], [2.0, 0.0, 2.0])


def test_shares_of_bins() -> None:
    statistic = counted(0.5, 0.6, 3.0, np.nan)
    np.testing.assert_array_equal(statistic.weight, [[3.0]])
    np.testing.assert_allclose(statistic.mean, [[[2 / 3, 0, 1 / 3]]])


def test_columns_may_have_their_own_edges() -> None:
    zero = BinCounts.zero(1, 2, edges=np.array([[0.0, 1.0, 2.0], [0.0, 10.0, 20.0]]))
    statistic = zero.update(np.array([[1.5, 1.5]]), np.zeros(1, dtype=np.int32))
    np.testing.assert_array_equal(statistic.rows[0], [[0, 1], [1, 0]])


def test_infinite_values_are_reported() -> None:
    assert counted(1.0, np.nan).finite
    assert not counted(1.0, np.inf).finite
    assert not counted(1.0).merge(counted(-np.inf)).finite


def test_other_edges_cannot_be_merged() -> None:
    with pytest.raises(MergeError, match="different edges"):
        counted(1.0).merge(BinCounts.zero(1, 1, edges=EDGES + 1))
