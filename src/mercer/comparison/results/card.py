"""The card of a model of a comparison."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mercer.files import ModelCard, Score, attach_card
from mercer.using.model_cards import make_card

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison


def card(found: Comparison, name: str | None = None) -> ModelCard:
    """Return the card of a model, with its held-out scores beside those of the baseline."""
    entry = found.entry(name)
    model = found.fitted(entry.name)
    problems = [each.sentence for each in found.problems()]
    made = make_card(
        model,
        found.table,
        found.y,
        task=found.task.name,
        target=found.target,
        source=found.source,
        name=entry.name,
        scores=_scores(found, entry.name),
        measured=found.title.rpartition("; ")[2],
        problems=problems,
        unit=found.unit,
    )
    attach_card(model, made)
    return made


def _scores(found: Comparison, name: str) -> list[Score]:
    baseline = found.baseline
    scores = []
    for metric in found.task.metrics:
        interval = found.interval(name, metric.name)
        if math.isfinite(interval.mean):
            low, high = (value if math.isfinite(value) else None for value in (interval.low, interval.high))
            guess = None if baseline is None else baseline.mean(metric.name)
            known = guess if guess is not None and math.isfinite(guess) else None
            unit = found.unit if metric.in_units else ""
            scores.append(Score(metric.heading, float(interval.mean), low, high, known, unit))
    return scores
