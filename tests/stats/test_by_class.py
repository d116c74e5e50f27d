"""Classes that are matched by their labels."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import MergeError, UnseenRowsError
from mercer.stats import ByClass, ColumnMoments


def summarised(labels: list[str], *rows: tuple[str, float]) -> ByClass:
    zero = ByClass.zero(np.array(labels), (ColumnMoments.zero(len(labels), 1),))
    groups = np.array([labels.index(label) for label, _ in rows], dtype=np.int32)
    return zero.update((np.array([[value] for _, value in rows]),), groups)


def test_classes_are_matched_by_label() -> None:
    both = summarised(["a", "c"], ("a", 1.0), ("c", 2.0)).merge(summarised(["b", "c"], ("b", 5.0), ("c", 4.0)))
    np.testing.assert_array_equal(both.labels, ["a", "b", "c"])
    np.testing.assert_array_equal(both.rows, [1, 1, 2])
    np.testing.assert_array_equal(both.parts[0].mean[:, 0], [1.0, 5.0, 3.0])  # type: ignore[attr-defined]


def test_a_class_without_rows_can_be_dropped() -> None:
    both = summarised(["a", "b"], ("a", 1.0), ("b", 2.0))
    left = both.subtract(summarised(["b"], ("b", 2.0)))
    np.testing.assert_array_equal(left.labels, ["a", "b"])
    np.testing.assert_array_equal(left.align(left.labels[left.rows > 0]).labels, ["a"])


def test_a_class_that_was_not_learnt_cannot_be_forgotten() -> None:
    with pytest.raises(UnseenRowsError, match="'b' was never seen"):
        summarised(["a"], ("a", 1.0)).subtract(summarised(["b"], ("b", 1.0)))


def test_other_parts_cannot_be_merged() -> None:
    labels = np.array(["a"])
    with pytest.raises(MergeError, match="different columns or families"):
        ByClass.zero(labels, ()).merge(ByClass.zero(labels, (ColumnMoments.zero(1, 1),)))


def test_infinite_values_in_a_part_are_reported() -> None:
    assert not summarised(["a"], ("a", np.inf)).finite


def test_lost_digits_are_those_of_the_worst_part() -> None:
    part, groups = ColumnMoments.zero(1, 1), np.zeros(4, dtype=np.int32)
    far, near = np.array([[1.0], [-1.0], [1e4], [-1e4]]), np.array([[1.0], [-1.0], [1.0], [-1.0]])
    both = ByClass.zero(np.array(["a"]), (part, part)).update((near, far), groups)
    left = both.remove((near[2:], far[2:]), groups[2:])
    lost = [mine.cancellation(rest) for mine, rest in zip(both.parts, left.parts, strict=True)]
    assert lost[0] < 10 < 1e7 < lost[1]
    assert both.cancellation(left) == lost[1]
