"""Which model comes first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mercer.comparison.entry import Entry
from mercer.comparison.measuring.paired import LEVEL, difference_of, holm
from mercer.using.tasks import Classification, Task


def ranked(entries: Sequence[Entry], task: Task, overlap: float) -> tuple[tuple[Entry, ...], list[str]]:
    """Best first by the first measure, ties by the next; those without it after those with it, failures last.

    One exception, which the note tells: where all models are too sure of themselves, guessing has the lowest log loss.
    Nobody wants to be told to guess if a model is right more often beyond chance, whose probabilities can be mended.
    """

    def key(entry: Entry) -> tuple[Any, ...]:
        gains = [float(metric.gain(entry.mean(metric.name))) for metric in task.metrics]
        # NaN equals not even itself: of two models without a measure the next would never be asked
        return entry.failed, *((True, 0.0) if math.isnan(gain) else (False, -gain) for gain in gains)

    order = sorted(entries, key=key)
    if not order or order[0].kind != "baseline" or not isinstance(task, Classification):
        return tuple(order), []
    guess, *others = order
    better = _decide_better(guess, others, overlap)
    if not better:
        return tuple(order), []
    first = better[0]
    note = (
        f"{first.name} comes before {guess.name} although its log loss is higher: it is right more often, beyond "
        "chance. Calibrate its probabilities, e.g. with Calibrated."
    )
    return (first, guess, *(entry for entry in others if entry is not first)), [note]


def _decide_better(guess: Entry, others: Sequence[Entry], overlap: float) -> list[Entry]:
    """Models with probabilities that are right more often than guessing: on noise, half of them are so by chance."""
    able = [entry for entry in others if entry.probabilistic and not entry.failed]
    found = [difference_of(entry.scores["accuracy"], guess.scores["accuracy"], overlap) for entry in able]
    adjusted = holm([each.p for each in found])
    return [entry for entry, each, p in zip(able, found, adjusted, strict=True) if p < LEVEL and each.mean > 0]
