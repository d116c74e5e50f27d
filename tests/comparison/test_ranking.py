"""Order of models: by the measures in their order, with one exception, and failures last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.application.task_choice import task_for
from mercer.base import ModelKind
from mercer.comparison._cross_validation import rank_entries
from mercer.comparison._entry import Entry
from mercer.data import Table

SPLITS = 5
TABLE = Table.of(np.zeros((4, 1)))
CLASSES = task_for(["a", "b", "a", "b"], 4, "classification")
NUMBERS = task_for([0.5, 1.5, 2.5, 4.5], 4, "regression")
NOTHING = np.full(SPLITS, np.nan)


def entry(
    name: str, kind: ModelKind = "discriminative", task: Any = CLASSES, failed: bool = False, **scores: Any
) -> Entry:
    """An entry that reached so much in each split, or in all of them; NaN of what is not given."""
    known = {metric.name: np.broadcast_to(scores.get(metric.name, np.nan), SPLITS) for metric in task.metrics}
    certain = not np.isnan(known.get("log_loss", NOTHING)).any()
    return Entry(name, None, TABLE, kind, None, known, np.zeros((4, 2)), probabilistic=certain, failed=failed)


def order(*entries: Entry, task: Any = CLASSES) -> list[str]:
    found, _ = rank_entries(entries, task, 0.0)
    return [each.name for each in found]


def test_models_are_ranked_by_the_first_measure_in_its_direction() -> None:
    assert order(entry("worse", log_loss=0.5), entry("best", log_loss=0.1), entry("mid", log_loss=0.3)) == [
        "best",
        "mid",
        "worse",
    ]
    assert order(entry("far", task=NUMBERS, rmse=3.0), entry("near", task=NUMBERS, rmse=1.0), task=NUMBERS) == [
        "near",
        "far",
    ]


def test_ties_are_broken_by_the_next_measure_which_may_be_better_when_larger() -> None:
    assert order(entry("low", log_loss=0.3, accuracy=0.7), entry("high", log_loss=0.3, accuracy=0.9)) == ["high", "low"]


def test_equal_models_stay_in_the_order_in_which_they_came() -> None:
    assert order(entry("second", log_loss=0.3), entry("first", log_loss=0.3)) == ["second", "first"]


def test_models_without_probabilities_come_after_those_with_them_and_failures_last() -> None:
    found = order(
        entry("failed", failed=True),
        entry("decides", accuracy=0.99),
        entry("decides better", accuracy=1.0),
        entry("poor", log_loss=9.0, accuracy=0.1),
    )
    assert found == ["poor", "decides better", "decides", "failed"]


def test_an_infinite_loss_ranks_last_before_failures() -> None:
    found = order(entry("sure", log_loss=np.inf), entry("none", accuracy=1.0), entry("wary", log_loss=0.7))
    assert found == ["wary", "sure", "none"]


def test_an_empty_ranking() -> None:
    assert rank_entries([], CLASSES, 0.0) == ((), [])


GUESS = entry("guess", "baseline", log_loss=0.69, accuracy=0.5)
#: right far more often than guessing in every split, but too sure of itself
BOLD = entry("bold", log_loss=np.array([0.9, 1.0, 1.1, 0.9, 1.0]), accuracy=np.array([0.8, 0.82, 0.79, 0.81, 0.8]))


def test_guessing_ranks_below_a_model_that_decides_better_beyond_chance() -> None:
    worse = entry("worse", log_loss=0.8, accuracy=0.4)
    found, notes = rank_entries([worse, BOLD, GUESS], CLASSES, 0.0)
    assert [each.name for each in found] == ["bold", "guess", "worse"]
    (note,) = notes
    assert note.startswith("bold comes before guess although its log loss is higher")
    assert "Calibrated" in note


@pytest.mark.parametrize(
    "other",
    [
        entry("lucky", log_loss=0.9, accuracy=np.array([0.9, 0.1, 0.8, 0.3, 0.6])),  # half of them are so by chance
        entry("worse", log_loss=0.9, accuracy=np.array([0.30, 0.31, 0.29, 0.30, 0.31])),
        entry("decides", accuracy=np.array([0.8, 0.82, 0.79, 0.81, 0.8])),  # has no probabilities to calibrate
    ],
)
def test_guessing_stays_first_if_nothing_is_learnt(other: Entry) -> None:
    found, notes = rank_entries([other, GUESS], CLASSES, 0.0)
    assert found[0] is GUESS
    assert not any("comes before" in note for note in notes)


def test_models_without_a_finite_measure_are_named_with_the_reason() -> None:
    decides = entry("decides", accuracy=0.9)
    _, notes = rank_entries([decides, GUESS], CLASSES, 0.0)
    assert notes == ["decides has no probabilities and therefore no log loss, and comes after the others."]
    far = entry("far", task=NUMBERS, rmse=np.array([1.0, np.inf, 1.0, 1.0, np.inf]))
    found, notes = rank_entries([far, entry("near", task=NUMBERS, rmse=1.0)], NUMBERS, 0.0)
    assert [each.name for each in found] == ["near", "far"]
    assert notes == ["far: its RMSE is infinite in folds 2 and 5; it is not recommended."]


def test_more_models_need_smaller_p_values() -> None:
    """p = 0.02 alone; of eight such, Holm asks for less than 0.05 / 8."""
    scores = 0.5 + np.array([0.02, 0.09, 0.03, 0.12, 0.04])
    alone, _ = rank_entries([entry("one", log_loss=0.9, accuracy=scores), GUESS], CLASSES, 0.0)
    assert alone[0].name == "one"
    many = [entry(f"m{k}", log_loss=0.9, accuracy=scores) for k in range(8)]
    assert rank_entries([*many, GUESS], CLASSES, 0.0)[0][0] is GUESS


def test_splits_that_share_rows_give_less_evidence() -> None:
    scores = 0.5 + np.array([0.02, 0.09, 0.03, 0.12, 0.04])
    found, _ = rank_entries([entry("one", log_loss=0.9, accuracy=scores), GUESS], CLASSES, 4.0)
    assert found[0] is GUESS


def test_the_baseline_of_a_regression_may_be_first() -> None:
    mean = entry("mean", "baseline", task=NUMBERS, rmse=1.0)
    found, notes = rank_entries([entry("model", task=NUMBERS, rmse=2.0), mean], NUMBERS, 0.0)
    assert found[0] is mean
    assert notes == []
