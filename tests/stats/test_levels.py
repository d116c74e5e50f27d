"""Levels of a categorical column, which come and go with their rows."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import UnseenRowsError
from mercer.data.coding import Coded
from mercer.stats import LevelCounts


def coded(*values: object, order: list[object] | None = None) -> Coded:
    labels = order if order is not None else list(dict.fromkeys(v for v in values if v is not None))
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return Coded(np.array([-1 if v is None else labels.index(v) for v in values], dtype=np.int32), array)


def counts(*values: object, groups: list[int] | None = None, **options: object) -> LevelCounts:
    codes = np.array(groups or [0] * len(values), dtype=np.int32)
    return LevelCounts.zero(2, **options).update(coded(*values), codes)  # type: ignore[arg-type]


def test_shares_of_sorted_levels() -> None:
    statistic = counts("red", "blue", None, "red", "red", groups=[0, 0, 0, 1, 0])
    np.testing.assert_array_equal(statistic.levels, ["blue", "red"])
    np.testing.assert_array_equal(statistic.rows, [[1, 2], [0, 1]])
    np.testing.assert_array_equal(statistic.weight, [3.0, 1.0])
    np.testing.assert_allclose(statistic.mean, [[1 / 3, 2 / 3], [0, 1]])


def test_labels_without_rows_are_not_levels() -> None:
    x = coded("b", "b", order=["z", "b", "a"])
    statistic = LevelCounts.zero(1).update(x, np.zeros(2, dtype=np.int32))
    np.testing.assert_array_equal(statistic.levels, ["b"])


def test_levels_appear_and_disappear_exactly() -> None:
    first, second = counts("a", "c"), counts("b", "c", "c")
    both = first.merge(second)
    np.testing.assert_array_equal(both.levels, ["a", "b", "c"])
    np.testing.assert_array_equal(both.rows[0], [1, 1, 3])
    np.testing.assert_array_equal(both.subtract(first).levels, ["b", "c"])
    np.testing.assert_array_equal(both.subtract(first).rows, second.rows)


def test_declared_levels_are_kept() -> None:
    statistic = counts("a", "b", declared=np.array(["c", "a"], dtype=object))
    np.testing.assert_array_equal(statistic.levels, ["a", "b", "c"])
    left = statistic.remove(coded("a", "b"), np.zeros(2, dtype=np.int32))
    np.testing.assert_array_equal(left.levels, ["a", "c"])
    np.testing.assert_array_equal(statistic.empty().levels, ["a", "c"])
    np.testing.assert_array_equal(counts("b").merge(statistic).declared, [True, False, True])


def test_dropping_a_group_drops_its_levels() -> None:
    statistic = counts("a", "b", groups=[0, 1]).regroup(np.array([-1, 0]), 1)
    np.testing.assert_array_equal(statistic.levels, ["b"])


@pytest.mark.parametrize(
    ("a", "b", "merged"),
    [
        ([2, 10], [9], [2, 9, 10]),
        ([1, 2], [1.5], [1, 1.5, 2]),
        ([True], [False, True], [False, True]),
        (["b"], ["longer"], ["b", "longer"]),
    ],
)
def test_typed_levels(a: list[object], b: list[object], merged: list[object]) -> None:
    zero = LevelCounts.zero(1)
    parts = [
        zero.update(Coded(np.arange(len(v), dtype=np.int32), np.array(v)), np.zeros(len(v), dtype=np.int32))
        for v in (a, b)
    ]
    both = parts[0].merge(parts[1])
    np.testing.assert_array_equal(both.levels, merged)
    assert both.rows.sum() == len(a) + len(b)


def test_text_and_numbers_are_different_levels() -> None:
    mixed = counts("1", 1, "b", None, 2.5)
    assert mixed.levels.tolist() == [2.5, 1, "1", "b"]
    merged = counts(3, 4).merge(counts("3"))
    assert merged.levels.tolist() == [3, 4, "3"]
    np.testing.assert_array_equal(merged.rows[0], [1, 1, 1])


def test_a_level_that_was_not_learnt_cannot_be_forgotten() -> None:
    with pytest.raises(UnseenRowsError, match="'violet' was never seen"):
        counts("red").remove(coded("violet"), np.zeros(1, dtype=np.int32))
    with pytest.raises(UnseenRowsError, match="'violet' was never seen"):
        counts("red").subtract(counts("violet", declared=np.array(["violet"], dtype=object)))
    with pytest.raises(UnseenRowsError, match="1 more rows"):
        counts("red", "blue").remove(coded("red", "red"), np.zeros(2, dtype=np.int32))
