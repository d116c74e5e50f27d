"""Tests of splits: training rows and test rows share nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from mercer._errors import DataError
from mercer.application.task_choice import task_for
from mercer.application.tasks import Task
from mercer.comparison._splits import make_splits

LABELS = np.array(["a", "b", "b", "c"] * 15)
CLASSES = task_for(LABELS, 60)
NUMBERS = task_for(np.linspace(0, 1, 60), 60)


@pytest.mark.parametrize(("task", "kind"), [(CLASSES, StratifiedKFold), (NUMBERS, KFold)])
def test_the_first_repeat_agrees_with_scikit_learn(task: Task, kind: Any) -> None:
    folds = list(kind(4, shuffle=True, random_state=3).split(task.truth, task.truth))
    for repeats in (1, 3):
        dealing = make_splits(task, 4, repeats, 3)
        assert len(dealing.splits) == 4 * repeats
        for (train, test), (wanted_train, wanted_test) in zip(dealing.splits, folds, strict=False):
            np.testing.assert_array_equal(train, wanted_train)
            np.testing.assert_array_equal(test, wanted_test)


def test_every_repeat_holds_out_every_row_once_and_differs() -> None:
    splits = make_splits(CLASSES, 5, 3, 0).splits
    held = [np.concatenate([test for _, test in splits[5 * r : 5 * r + 5]]) for r in range(3)]
    for rows in held:
        np.testing.assert_array_equal(np.sort(rows), np.arange(60))
    assert len({rows.tobytes() for rows in held}) == 3


def test_the_same_seed_gives_the_same_splits() -> None:
    first, again, other = (make_splits(CLASSES, 3, 2, seed).splits for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for x, y in zip(first, again, strict=True) for a, b in zip(x, y, strict=True))
    assert not all(np.array_equal(x[1], y[1]) for x, y in zip(first, other, strict=True))


@settings(max_examples=30)
@given(st.lists(st.integers(0, 7), min_size=60, max_size=60).filter(lambda g: len(set(g)) >= 3), st.booleans())
def test_groups_are_never_split(groups: list[int], classes: bool) -> None:
    named = np.array([f"g{g}" for g in groups])
    for train, test in make_splits(CLASSES if classes else NUMBERS, 3, 2, 0, groups=named).splits:
        assert not set(named[train]) & set(named[test])
        assert len(train) + len(test) == 60


@settings(max_examples=30)
@given(st.lists(st.integers(0, 30), min_size=60, max_size=60).filter(lambda t: len(set(t)) > 4))
def test_forward_splits_train_on_earlier_rows_only(times: list[int]) -> None:
    moments = np.datetime64("2024-01-01") + np.array(times)
    held: list[int] = []
    for train, test in make_splits(NUMBERS, 3, 1, 0, times=moments).splits:
        assert moments[train].max() < moments[test].min()
        held += test.tolist()
    assert len(held) == len(set(held))


def test_every_forward_split_has_two_classes_to_learn() -> None:
    task = task_for(np.repeat([0, 1], 30), 60)
    dealing = make_splits(task, 3, 1, 0, times=np.arange(60))
    assert all(len(set(task.truth[train])) == 2 for train, _ in dealing.splits)
    with pytest.raises(DataError, match="No row is later than rows that models could be fitted to"):
        make_splits(task_for(np.repeat([0, 1], [59, 1]), 60), 3, 1, 0, times=np.arange(60))


def test_splits_are_described() -> None:
    assert make_splits(CLASSES, 5, 1, 0).described == "5 stratified folds"
    assert make_splits(NUMBERS, 5, 3, 0).described == "3 × 5 folds"
    assert "12 groups are kept whole" in make_splits(NUMBERS, 5, 1, 0, groups=np.arange(60) % 12).notes[0]
    assert make_splits(NUMBERS, 5, 1, 0, times=np.arange(60)).described == "5 forward splits"
    rare = task_for(np.where(np.arange(60) < 2, "rare", "common"), 60)
    assert "Classes with fewer rows than the 5 folds: 'rare' (2 rows)." in make_splits(rare, 5, 1, 0).notes
    lone = task_for(np.where(np.arange(60) < 10, "one", LABELS), 60)
    assert any("lack: " in note for note in make_splits(lone, 3, 1, 0, groups=np.arange(60) // 10).notes)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"folds": 1}, "from 2 to 30 folds .*; give cv=2 to 30 "),
        ({"folds": 31}, "the rows of the largest class"),
        ({"repeats": 0}, "repeats must be a whole number of 1 or more, not 0"),
        ({"groups": [1, 2]}, "one value for each of the 60 rows"),
        ({"groups": ["a"] * 59 + [None]}, "groups is missing in row 59"),
        ({"groups": np.zeros(60)}, "two or more of the groups, but there is 1"),
        ({"groups": LABELS == "b"}, r"Only 2 folds can be made \(one for each of the groups\), not 5; give cv=2 \("),
        ({"groups": LABELS == "b", "folds": 1}, "Only 2 folds can be made .*, not 1; give cv=2 "),
        ({"groups": LABELS == "b", "folds": 2.5}, r"not 2\.5; give the whole number 2 \(the groups\)"),
        ({"groups": LABELS == "b", "folds": 2, "task": task_for(LABELS == "b", 60)}, "leave out the groups"),
        ({"folds": 2.5}, "not 2.5"),
        ({"folds": KFold(3)}, r"cv must be a number of folds, not KFold\(.*\); give a whole number from 2 to 30"),
        ({"times": np.append(np.arange(59.0), np.nan)}, "times is missing in row 59"),
        ({"times": np.zeros(60)}, "times has one value; it takes three or more"),
        ({"times": np.arange(60) % 2}, "times has two values; it takes three or more"),
        ({"times": np.arange(60) % 3}, "the distinct times but one"),
        ({"times": np.arange(60), "repeats": 2}, "always the same and cannot be repeated"),
        ({"times": np.arange(60), "groups": np.arange(60)}, "by groups or by time"),
    ],
)
def test_impossible_splits_are_rejected(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        make_splits(**{"task": CLASSES, "folds": 5, "repeats": 1, "seed": 0, **options})


def test_a_split_with_one_training_class_is_left_out_and_noted() -> None:
    task = task_for(np.repeat([0, 1, 0], [40, 10, 10]), 60)
    dealing = make_splits(task, 2, 1, 0, groups=np.repeat(["pure", "mixed"], [40, 20]))
    assert [len(set(task.truth[train])) for train, _ in dealing.splits] == [2]
    assert "1 of 2 splits were left out: their training rows have one class." in dealing.notes


def test_groups_may_be_of_any_type() -> None:
    mixed = np.array([1, "a", 2.5] * 20, dtype=object)
    assert len(make_splits(NUMBERS, 3, 1, 0, groups=mixed).splits) == 3
