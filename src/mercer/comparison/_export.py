"""Write a comparison as a model card, as JSON and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.application.model_cards import make_card
from mercer.comparison._leaderboard import compare_with_best, describe_difference, list_entries, shared_metric
from mercer.comparison._paired import INTERVAL_CONFIDENCE
from mercer.comparison.comparing import format_setting
from mercer.files import ModelCard, Score, attach_card
from mercer.report import Grid

if TYPE_CHECKING:
    from mercer.comparison._entry import Entry
    from mercer.comparison.comparison import Comparison


def make_comparison_card(comparison: Comparison, name: str | None = None) -> ModelCard:
    """Return the card of a model, with its held-out scores and those of the baseline."""
    entry = comparison.entry(name)
    model = comparison.fitted(entry.name)
    problems = [each.sentence for each in comparison.problems()]
    made = make_card(
        model,
        comparison.table,
        comparison.y,
        task=comparison.task.name,
        target=comparison.target,
        source=comparison.source,
        name=entry.name,
        scores=_card_scores(comparison, entry.name),
        measured=comparison.title.rpartition("; ")[2],
        problems=problems,
        unit=comparison.unit,
    )
    attach_card(model, made)
    return made


def _card_scores(comparison: Comparison, name: str) -> list[Score]:
    baseline = comparison.baseline
    scores = []
    for metric in comparison.task.metrics:
        interval = comparison.interval(name, metric.name)
        if math.isfinite(interval.mean):
            low, high = (value if math.isfinite(value) else None for value in (interval.low, interval.high))
            guess = math.nan if baseline is None else baseline.mean(metric.name)
            known = guess if math.isfinite(guess) else None
            unit = comparison.unit if metric.in_units else ""
            scores.append(Score(metric.heading, float(interval.mean), low, high, known, unit))
    return scores


#: version of the layout of the JSON; it increases when the meaning of a name changes
JSON_VERSION = 1


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Return measures, differences and sentences; NaN is null and infinity the string "inf"."""
    content: dict[str, Any] = to_strict_json(
        {
            "format": "mercer comparison",
            "version": JSON_VERSION,
            "title": comparison.title,
            "task": comparison.task.name,
            "task_reason": comparison.task.reason,
            "rows": comparison.table.n_rows,
            "columns": comparison.table.n_columns,
            "labels": getattr(comparison.task, "labels", None),
            "ranked_by": comparison.task.metric.name,
            "confidence": INTERVAL_CONFIDENCE,
            "splits": [{"train": len(train), "test": len(test)} for train, test in comparison.splits],
            "problems": [asdict(finding) for finding in comparison.problems()],
            "verdict": _verdict_record(comparison),
            "models": [_model_record(comparison, entry) for entry in list_entries(comparison)],
            "differences": _difference_records(comparison),
            "sentences": comparison.sentences(),
            "notes": comparison.notes,
            "seconds": comparison.seconds,
            "settings": comparison.settings,
        }
    )
    return content


def to_strict_json(value: Any) -> Any:
    """Return a value for strict JSON: NaN becomes null, ±∞ the strings "inf" and "-inf".

    Examples
    --------
    >>> to_strict_json({"a": np.array([1.0, np.nan]), 2: float("-inf")})
    {'a': [1.0, None], '2': '-inf'}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): to_strict_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_strict_json(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else f"{value}"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def to_markdown(comparison: Comparison) -> str:
    """Return problems, recommendation, leaderboard, differences and settings as Markdown."""
    settings = ", ".join(f"{name} {format_setting(value)}" for name, value in comparison.settings.items())
    board, tests = comparison.leaderboard(), comparison.differences()
    problems = comparison.problems()
    parts = [
        f"# {comparison.title}",
        *(
            f"**{_escape(finding.code)}**: {_escape(finding.sentence)} {_escape(finding.remedy)}"
            for finding in problems
        ),
        "\n\n".join(map(_escape, comparison.sentences())),
        "## Leaderboard",
        format_grid(board),
        *([f"## {_escape(tests.title)}", format_grid(tests)] if tests.rows else []),
        f"Settings: {_escape(settings)}.",
    ]
    return "\n\n".join(parts) + "\n"


def format_grid(grid: Grid) -> str:
    """Return a grid as a table in Markdown, with its notes as a list below it.

    Examples
    --------
    >>> from mercer.report import Field
    >>> print(format_grid(Grid("", (Field("name"), Field("price", ".2f")), (("a|b", 1.5),), ("In euros.",))))
    | name | price |
    |---|--:|
    | a\\|b | 1.50 |
    <BLANKLINE>
    - In euros.
    """
    rules = "".join("--:|" if field.numeric else "---|" for field in grid.fields)
    lines = [_format_row([field.heading for field in grid.fields]), f"|{rules}", *map(_format_row, grid.written())]
    notes = [f"- {_escape(note)}" for note in grid.notes]
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def _format_row(cells: list[str]) -> str:
    return f"| {' | '.join(map(_escape, cells))} |"


def _escape(text: str) -> str:
    """Return text with the characters of markup escaped."""
    for mark in "\\`*_|<>[]":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def _verdict_record(comparison: Comparison) -> dict[str, Any]:
    """Return the names of the models, the rule and the sentences of the verdict."""
    verdict = comparison.verdict()
    names = {
        role: None if (entry := getattr(verdict, role)) is None else entry.name
        for role in ("best", "top", "runner_up", "baseline", "reference")
    }
    within = [entry.name for entry in verdict.within_chance]
    return {**names, "within_chance": within, "rule": verdict.rule, "sentences": verdict.sentences}


def _model_record(comparison: Comparison, entry: Entry) -> dict[str, Any]:
    calibration = entry.calibration
    return {
        "name": entry.name,
        "kind": entry.kind,
        "partner": entry.partner,
        "failed": entry.failed,
        "converged": entry.converged,
        "additive": entry.additive,
        "obstacle": entry.obstacle,
        "long_export": entry.long_export,
        "probabilistic": entry.probabilistic,
        "measures": {
            metric.name: {
                **comparison.interval(entry.name, metric.name)._asdict(),
                "splits": entry.scores[metric.name],
            }
            for metric in comparison.task.metrics
        },
        "calibration": None if calibration is None else calibration._asdict(),
        "fit_seconds": entry.fit_seconds,
        "predict_seconds": entry.predict_seconds,
        "size_bytes": entry.size_bytes,
        "notes": entry.notes,
    }


def _difference_records(comparison: Comparison) -> list[dict[str, Any]]:
    if not comparison.done:
        return []
    best = comparison.done[0]
    return [
        {
            "best": best.name,
            "model": name,
            "by": shared_metric(comparison, best, comparison.entry(name)).name,
            **difference._asdict(),
            "beyond_chance": describe_difference(difference),
        }
        for name, difference in compare_with_best(comparison).items()
    ]
