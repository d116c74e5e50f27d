"""How much data each half of a generative–discriminative pair needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._errors import DataError, ExperimentInterrupted
from mercer._typing import Array
from mercer.base import traits_of
from mercer.comparison._entry import Entry
from mercer.comparison._view import View, describe_sample, sample_rows
from mercer.comparison.learning_curves import LearningCurves, count_train_rows, learning_curves, make_sizes
from mercer.comparison.pairs import innermost
from mercer.comparison.time_limit import Budget, WorkClock
from mercer.report import Chart, Line, Note, Section

#: pairs that are tried, of complete numbers and of others, to which some models take many steps
MOST_PAIRS, MOST_WITH_GAPS = 3, 2
#: sizes and repeats of the experiment, and the share of the rows that is held out
SIZES, REPEATS, HELD_OUT = 5, 5, 1 / 3
#: rows of it; more where the generative half needs one look at them, up to so many rows × columns × classes
MOST_ROWS, MANY_ROWS, MANY_ENTRIES = 1_000, 10_000, 1_000_000
#: seconds of work after which a pair has no more repeats: more than so few rows take, so that pages hardly ever depend
#: on it
MOST_SECONDS = 6.0


class _TooLong(Exception):
    """Not even one repeat of an experiment was done in time."""


class _TimeIsUp(KeyboardInterrupt):
    """An experiment has used its time; repeats that are done count."""


def curves(view: View) -> Section | None:
    """Learning curves of each pair that took part, with the size from which the discriminative half is ahead."""
    if not view.classification:
        return None
    charts: list[Any] = []
    notes: list[Note] = []
    for generative, discriminative in find_pairs(view):
        try:
            found = _run_experiment(view, generative, discriminative)
        except (_TooLong, DataError) as reason:
            notes.append(Note(f"{generative.name} and {discriminative.name} have no curves: {reason}"))
            continue
        charts.append(_add_sample_note(view, _add_crossover(found), generative))
        notes += [Note(note) for note in found.notes]
    if not charts and not notes:
        return None
    return Section(
        "curves",
        "How many rows the models need",
        (*charts, *notes),
        "A generative model and its discriminative counterpart can draw the same kind of boundary. The first often "
        "needs fewer rows, the second is often better with many (Ng and Jordan 2002). Both have the settings that were "
        f"chosen on all rows; up to {REPEATS} repeats, with a third of the rows held out.",
    )


def _rows(view: View, generative: Entry) -> Array:
    """Rows of the experiment: by kinds and sizes rather than by seconds, so that the same seed gives the same page."""
    table, most = view.comparison.table, MOST_ROWS
    if traits_of(innermost(generative.model)).is_one_pass:
        entries = table.n_columns * len(view.labels)
        most = int(np.clip(MANY_ENTRIES // entries, MOST_ROWS, MANY_ROWS))
    return sample_rows(table.n_rows, most)


def _add_sample_note(view: View, chart: Chart, generative: Entry) -> Chart:
    told = describe_sample(_rows(view, generative), view.comparison.table.n_rows)
    return replace(chart, caption=f"{chart.caption} {told}".rstrip())


def _add_crossover(found: LearningCurves) -> Chart:
    """The curves, and where they cross for the last time."""
    chart, at = found.chart(), found.crossover_
    if not at.found:
        return chart
    shown = [side for line in chart.marks if isinstance(line, Line) for side in (line.y, line.low, line.high)]
    ends = np.concatenate([np.ravel(side) for side in shown if side is not None])
    line = Line(f"crossover at {at.size:,.0f} rows", [at.size] * 2, [np.nanmin(ends), np.nanmax(ends)], dashed=True)
    return replace(chart, marks=(*chart.marks, line))


def find_pairs(view: View) -> list[tuple[Entry, Entry]]:
    """Generative entries and their counterparts, best first; of two that say the same only one."""
    by_name = {entry.name: entry for entry in view.ranked}
    found: list[tuple[Entry, Entry]] = []
    for entry in view.ranked:
        partner = by_name.get(entry.partner or "")
        if entry.kind != "generative" or partner is None or any(_is_same(entry, other) for other, _ in found):
            continue
        models = view.fitted(entry), view.fitted(partner)
        if None not in models:
            found.append((entry, partner))
    gaps = bool(view.amounts) and bool(np.isnan(view.numbers).any())
    return found[: MOST_WITH_GAPS if gaps else MOST_PAIRS]


def _is_same(entry: Entry, other: Entry) -> bool:
    mine, theirs = entry.held_out, other.held_out
    return bool(mine.shape == theirs.shape and np.allclose(mine, theirs, equal_nan=True))


def _run_experiment(view: View, generative: Entry, discriminative: Entry) -> LearningCurves:
    rows = _rows(view, generative)
    models = {entry.name: clone(view.fitted(entry)) for entry in (generative, discriminative)}
    tables = (generative.table.take(rows), discriminative.table.take(rows))
    codes = view.comparison.task.truth[rows]
    sizes = make_sizes(count_train_rows(codes, HELD_OUT), len(np.unique(codes)), SIZES)
    y = view.comparison.y[rows]
    try:
        return learning_curves(
            models,
            tables,
            y,
            sizes=sizes.tolist(),
            repeats=REPEATS,
            test_size=HELD_OUT,
            progress=_make_limit(view.budget),
        )
    except ExperimentInterrupted as stopped:
        if not isinstance(stopped.__cause__, _TimeIsUp):  # Ctrl-C, or the alarm of the page
            raise
        found: LearningCurves | None = stopped.result
        if found is None:
            raise _TooLong("one repeat takes too long for this page.") from None
        return found


def _make_limit(budget: Budget) -> Callable[[int, int, str], None]:
    """Stop an experiment that has worked for long enough, or that would outlast the time that is left."""
    clock, end = WorkClock(), budget.elapsed + budget.left

    def look(done: int, total: int, name: str) -> None:
        if done < total and (clock.seconds > MOST_SECONDS or budget.elapsed > end):
            raise _TimeIsUp

    return look
