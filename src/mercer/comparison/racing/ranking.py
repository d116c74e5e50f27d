"""Which model comes first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.comparison.entry import Entry
from mercer.comparison.measuring.judging import score_difference
from mercer.comparison.measuring.paired import LEVEL, holm
from mercer.decide.reliability import CALIBRATE
from mercer.report.wording import enumerated
from mercer.using.tasks import Classification, Task, name_folds


def ranked(entries: Sequence[Entry], task: Task, overlap: float) -> tuple[tuple[Entry, ...], list[str]]:
    """Return entries best first by the first measure, ties by the next, and notes about the order.

    Entries whose first measure is missing or infinite come after those whose first measure is finite, failures last.
    One exception: where a baseline has the best measure because all models are overconfident, a model that is right
    more often beyond chance comes first, because its probabilities can be calibrated.
    """

    def key(entry: Entry) -> tuple[Any, ...]:
        gains = [float(metric.gain(entry.mean(metric.name))) for metric in task.metrics]
        # NaN does not equal itself: two models without a measure would not be compared by the next
        return entry.failed, *((True, 0.0) if math.isnan(gain) else (False, -gain) for gain in gains)

    order = sorted(entries, key=key)
    notes = _without_measure(order, task)
    if not order or order[0].kind != "baseline" or not isinstance(task, Classification):
        return tuple(order), notes
    guess, *others = order
    better = _decide_better(guess, others, task, overlap)
    if not better:
        return tuple(order), notes
    first = better[0]
    note = (
        f"{first.name} comes before {guess.name} although its {task.metric.heading} is higher: it is right more often, "
        f"beyond chance. Calibrate its probabilities ({CALIBRATE})."
    )
    return (first, guess, *(entry for entry in others if entry is not first)), [note, *notes]


def _without_measure(order: Sequence[Entry], task: Task) -> list[str]:
    """Name the models that have no finite value of the measure that models are ranked by, and say why."""
    scored = [entry for entry in order if not entry.failed]
    heading, name = task.metric.heading, task.metric.name
    notes = []
    if missing := [entry.name for entry in scored if math.isnan(entry.mean(name))]:
        why = "no probabilities and therefore " if isinstance(task, Classification) else ""
        have = "has" if len(missing) == 1 else "have"
        notes.append(
            f"{enumerated(missing)} {have} {why}no {heading}, and come{'s' * (len(missing) == 1)} after the others."
        )
    for entry in scored:
        if math.isinf(entry.mean(name)):
            where = name_folds(np.isinf(entry.scores[name]).tolist())
            notes.append(f"{entry.name}: its {heading} is infinite in {where}; it is not recommended.")
    return notes


def _decide_better(guess: Entry, others: Sequence[Entry], task: Task, overlap: float) -> list[Entry]:
    """Models with probabilities that are right more often than guessing: on noise, half of them are so by chance."""
    able = [entry for entry in others if entry.probabilistic and not entry.failed]
    accuracy = next(metric for metric in task.metrics if metric.name == "accuracy")
    found = [score_difference(entry, guess, accuracy, overlap) for entry in able]
    adjusted = holm([each.p for each in found])
    return [entry for entry, each, p in zip(able, found, adjusted, strict=True) if p < LEVEL and each.mean > 0]
