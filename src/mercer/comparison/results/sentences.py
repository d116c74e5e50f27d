"""Sentences beside the verdict: calibration, generative models, and models that were not finished."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mercer.comparison.measuring.judging import score_difference
from mercer.comparison.measuring.paired import LEVEL, Difference, overlap_of
from mercer.comparison.results.differences import against_best
from mercer.comparison.results.verdict import apart, listed_models, unit_of

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison
    from mercer.comparison.entry import Entry


def details(comparison: Comparison) -> list[str]:
    """Return sentences on the calibration of the recommended model, on generative models, and on what is missing."""
    best = comparison.verdict().best
    if best is None:
        return []
    told = [
        "" if best.calibration is None else best.calibration.sentence(),
        *_pairs(comparison, comparison.done[0], against_best(comparison)),
        _not_compared(comparison),
    ]
    return [sentence for sentence in told if sentence]


def _not_compared(comparison: Comparison) -> str:
    """Models that might have been better, had they been done."""
    if not comparison.unfinished:
        return ""
    were = "were" if len(comparison.unfinished) > 1 else "was"
    return f"{listed_models(comparison.unfinished)} {were} not finished, and may be better."


def _ranked(comparison: Comparison, entry: Entry) -> bool:
    """Whether it has the measure that models are ranked by."""
    return not math.isnan(entry.mean(comparison.task.metric.name))


def _pairs(comparison: Comparison, best: Entry, tests: dict[str, Difference]) -> list[str]:
    """The best generative model against its discriminative partner, with the number of rows."""
    for entry in comparison.done:
        partner = next((each for each in comparison.done if each.name == entry.partner), None)
        if entry.kind != "generative" or partner is None or not _ranked(comparison, partner):
            continue
        with_best = entry if partner is best else partner if entry is best else None
        # as the table of differences has it, where the pair is in it
        p = None if with_best is None else tests[with_best.name].adjusted
        return [_pair(comparison, entry, partner, p)]
    return []


def _pair(comparison: Comparison, generative: Entry, partner: Entry, p: float | None) -> str:
    metric, rows = comparison.task.metric, len(comparison.splits[0][0])
    ahead = metric.gain(generative.mean(metric.name)) > metric.gain(partner.mean(metric.name))
    first, second = (generative, partner) if ahead else (partner, generative)
    found = score_difference(first, second, metric, overlap_of(comparison.splits))
    if math.isnan(found.mean):  # both are infinite somewhere
        return ""
    p = found.p if p is None else p
    figures = (
        f"{metric.heading} {apart(first.mean(metric.name), second.mean(metric.name), unit_of(comparison, metric))}"
    )
    why = (
        "a model of the columns needs fewer rows, and its assumptions do little harm here"
        if ahead
        else "there are rows enough to learn the boundary itself, and it assumes less about the columns"
    )
    pair = f"Of the pair {generative.name} (generative) and {partner.name} (discriminative),"
    if found.mean == 0:
        return f"{pair} none is ahead on {rows:,} training rows ({figures})."
    if math.isfinite(found.mean) and not p < LEVEL:  # a single split shows nothing
        return (
            f"{pair} {first.name} is ahead on {rows:,} training rows ({figures}), but not beyond chance: more rows, or "
            "more repeats, would tell."
        )
    return f"{pair} {first.name} is ahead on {rows:,} training rows ({figures}): {why}."
