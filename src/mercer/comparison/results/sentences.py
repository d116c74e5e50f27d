"""Which model to use and why, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mercer.comparison.measuring.paired import LEVEL, Difference, difference_of, overlap_of
from mercer.comparison.results.differences import against_best, verdict
from mercer.report.wording import enumerated

if TYPE_CHECKING:
    from mercer.comparison.comparison import Comparison
    from mercer.comparison.entry import Entry

#: times that another model has to be faster to be worth a word
FASTER = 3.0
#: models that are named in a row
MOST_NAMED = 4


def sentences(comparison: Comparison) -> list[str]:
    """What was best and how sure that is, what is as good and simpler, calibration, and generative against not."""
    if not comparison.done:
        return ["No model could be fitted; the notes say why."]
    best = comparison.done[0]
    if not any(entry.kind != "baseline" for entry in comparison.done) and (untried := _untried(comparison)):
        return [f"Only guessing without looking at the columns ({best.name}) was done: {untried}."]
    tests = against_best(comparison)
    told = [
        _best(comparison, best, guessed=_guessing_is_ahead(comparison, best)),
        _against_baseline(comparison, best, tests),
        _ties(comparison, best, tests),
        _calibration(best),
        *_pairs(comparison, best, tests),
        _not_compared(comparison, best),
    ]
    return [sentence for sentence in told if sentence]


def _untried(comparison: Comparison) -> str:
    """Why no model that looks at the columns has been judged, where there should have been one."""
    if late := comparison.unfinished:
        were = "were" if len(late) > 1 else "was"
        return f"{_named(late)} {were} not finished. Give more time, or fewer rows, to have a comparison"
    failed = [entry.name for entry in comparison.entries if entry.failed]
    return f"{_named(failed)} could not be fitted; the notes say why" if failed else ""


def _not_compared(comparison: Comparison, best: Entry) -> str:
    """Models that might have been better, had they been done."""
    if not comparison.unfinished or best.kind == "baseline":
        return ""
    were = "were" if len(comparison.unfinished) > 1 else "was"
    return f"{_named(comparison.unfinished)} {were} not finished, and may be better."


def tied(comparison: Comparison) -> list[Entry]:
    """Models that may be as good as the best: not worse beyond chance, and within its interval; baselines aside.

    Few splits show few differences: that none was shown is not enough to recommend a model.
    """
    tests, metric = against_best(comparison), comparison.task.metric
    found = comparison.interval(comparison.done[0].name)
    return [
        entry
        for entry in comparison.done[1:]
        if entry.kind != "baseline"
        and tests[entry.name].adjusted >= LEVEL
        and found.low <= entry.mean(metric.name) <= found.high
    ]


def _named(models: Sequence[str]) -> str:
    return enumerated(models, MOST_NAMED)


def _ranked(comparison: Comparison, entry: Entry) -> bool:
    """Whether it has the measure that models are ranked by."""
    return not math.isnan(entry.mean(comparison.task.metric.name))


def _best(comparison: Comparison, best: Entry, guessed: bool) -> str:
    metric, others = comparison.task.metric, [each for each in comparison.task.metrics[1:] if each.shown]
    found = comparison.interval(best.name)
    way = "highest" if metric.larger_is_better else "lowest"
    reason = "it is right more often than guessing, beyond chance, with a" if guessed else f"it has the {way}"
    sentence = f"Use {best.name}: {reason} {metric.heading} on rows it had not seen, {found.mean:#.3g}"
    if not math.isnan(found.low):
        sentence += f" (95% interval {found.low:#.3g} to {found.high:#.3g})"
    beside = [
        f"{each.heading} {best.mean(each.name):{each.form}}"
        for each in others[:2]
        if not math.isnan(best.mean(each.name))
    ]
    return f"{sentence}{', ' if beside else ''}{' and '.join(beside)}."


def _against_baseline(comparison: Comparison, best: Entry, tests: dict[str, Difference]) -> str:
    baseline = next((entry for entry in comparison.done if entry.kind == "baseline"), None)
    if baseline is None:
        return ""
    if baseline is best:
        late = len(comparison.unfinished)
        but = f", but {late} model{'s were' if late > 1 else ' was'} not finished" if late else ""
        said = "Nothing beats guessing without looking at the columns, so the columns may say nothing about the target"
        return f"{said}{but}."
    # one test, meant from the start: how many other models took part has no say in it
    if _guessing_is_ahead(comparison, best):
        return (
            f"But guessing ({baseline.name}) has the better {comparison.task.metric.heading}, because the model is too "
            "sure of itself: use its decisions, and calibrate its probabilities, e.g. with Calibrated."
        )
    found = tests[baseline.name]
    if math.isfinite(found.mean) and math.isnan(found.p):
        return f"But a single split cannot tell whether it is better than guessing ({baseline.name}) beyond chance."
    if found.p >= LEVEL:
        return (
            f"But it is not better than guessing ({baseline.name}) beyond chance: there may be nothing to learn from "
            "these columns, or too few rows to learn it from."
        )
    return ""


def _guessing_is_ahead(comparison: Comparison, best: Entry) -> bool:
    """Whether a baseline has the better measure, so that the best is so by its decisions only."""
    metric = comparison.task.metric
    return best.kind != "baseline" and any(
        metric.gain(entry.mean(metric.name)) > metric.gain(best.mean(metric.name))
        for entry in comparison.done
        if entry.kind == "baseline"
    )


def _ties(comparison: Comparison, best: Entry, tests: dict[str, Difference]) -> str:
    alike = tied(comparison)
    if not alike:
        return _worse(tests)
    sentence = f"{_named([entry.name for entry in alike])} may be as good: the difference is within chance"
    merits = [(entry.name, found) for entry in alike if (found := _merits(best, entry))]
    if not merits:
        return f"{sentence}."
    if len(alike) == 1:
        return f"{sentence}, and it {merits[0][1]}."
    return f"{sentence}; of these, {'; '.join(f'{name} {found}' for name, found in merits[:2])}."


def _worse(tests: dict[str, Difference]) -> str:
    """Of models none of which is as good: for how many of them that is certain. Guessing may be ahead of the best."""
    certain = [name for name, found in tests.items() if verdict(found).startswith("yes")]
    names = [name for name in certain if tests[name].mean > 0]
    if not names:
        return ""
    if len(names) == len(tests) > 1:
        return "Every other model is worse beyond chance."
    open_ones = "" if len(certain) == len(tests) else "; of the others, more repeats would tell"
    return f"{_named(names)} {'is' if len(names) == 1 else 'are'} worse beyond chance{open_ones}."


def _merits(best: Entry, entry: Entry) -> str:
    """What speaks for a model that is as good."""
    merits = []
    if entry.fit_seconds * FASTER < best.fit_seconds:
        merits.append(f"is fitted {best.fit_seconds / entry.fit_seconds:.0f} times as fast")
    if entry.size_bytes * FASTER < best.size_bytes:
        merits.append(f"is {best.size_bytes / entry.size_bytes:.0f} times smaller")
    if best.calibration and entry.calibration and best.calibration.matters and not entry.calibration.matters:
        merits.append("has probabilities that can be taken at their word")
    return enumerated(merits)


def _calibration(best: Entry) -> str:
    return "" if best.calibration is None else best.calibration.sentence()


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
    one, other = (metric.gain(each.scores[metric.name]) for each in (first, second))
    found = difference_of(one, other, overlap_of(comparison.splits))
    if math.isnan(found.mean):  # both are infinite somewhere
        return ""
    p = found.p if p is None else p
    figures = f"{metric.heading} {_apart(first.mean(metric.name), second.mean(metric.name))}"
    why = (
        "a model of the columns needs fewer rows to settle, and its assumptions seem to do little harm here"
        if ahead
        else "there are rows enough to learn the boundary itself, and it assumes less about the columns"
    )
    pair = f"Of the pair {generative.name} (generative) and {partner.name} (discriminative),"
    if found.mean == 0:
        return f"{pair} none is ahead on {rows:,} training rows ({figures})."
    if math.isfinite(found.mean) and not p < LEVEL:  # of a single split nobody knows
        return (
            f"{pair} {first.name} is ahead on {rows:,} training rows ({figures}), but not beyond chance: more rows, or "
            "more repeats, would tell."
        )
    return f"{pair} {first.name} is ahead on {rows:,} training rows ({figures}): {why}."


def _apart(first: float, second: float) -> str:
    """Two numbers with as few digits as tell them apart, up to six."""
    told = (f"{first:#.{digits}g} against {second:#.{digits}g}" for digits in (3, 4, 5, 6))
    return next((text for text in told if len(set(text.split(" against "))) == 2), f"{first:#.3g} each")
