"""The section on learning curves of generative–discriminative pairs."""

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

#: pairs with an experiment
MAX_PAIRS = 3
#: pairs with an experiment if values are missing, since some models take many steps then
MAX_PAIRS_WITH_GAPS = 2
#: training sizes of an experiment
N_CURVE_SIZES = 5
#: share of the rows that is held out
HELD_OUT_SHARE = 1 / 3
#: rows of an experiment
MAX_CURVE_ROWS = 1_000
#: rows if the generative model is fitted in one pass
MAX_ONE_PASS_ROWS = 10_000
#: rows × columns × classes if the generative model is fitted in one pass, which bounds time
MAX_ONE_PASS_ENTRIES = 1_000_000


class _TooLong(Exception):
    """Raised if the first repeat of an experiment was not done in time."""


class _TimeIsUp(KeyboardInterrupt):
    """Raised to stop an experiment that has used its time; completed repeats are kept."""


def curves(view: View, *, repeats: int = 5, max_seconds: float = 6.0) -> Section | None:
    """Return learning curves of each pair of the comparison, with the size at which they cross.

    Parameters
    ----------
    view : View
        The comparison.
    repeats : int, default=5
        Repeats of an experiment.
    max_seconds : float, default=6.0
        Seconds of work after which a pair gets no further repeats. The rows are few enough that this rarely happens, so
        that pages do not depend on the speed of the machine.
    """
    if not view.classification:
        return None
    charts: list[Any] = []
    notes: list[Note] = []
    for generative, discriminative in find_pairs(view):
        try:
            result = _run_experiment(view, generative, discriminative, repeats, max_seconds)
        except (_TooLong, DataError) as reason:
            notes.append(Note(f"{generative.name} and {discriminative.name} have no curves: {reason}"))
            continue
        charts.append(_add_sample_note(view, _add_crossover(result), generative))
        notes += [Note(note) for note in result.notes]
    if not charts and not notes:
        return None
    return Section(
        "curves",
        "How many rows the models need",
        (*charts, *notes),
        "A generative model and its discriminative counterpart can draw the same kind of boundary. The first often "
        "needs fewer rows, the second is often better with many (Ng and Jordan 2002). Both have the settings that were "
        f"chosen on all rows; up to {repeats} repeats, with a third of the rows held out.",
    )


def _rows(view: View, generative: Entry) -> Array:
    """Return the rows of the experiment, independently of seconds, so that the same seed gives the same page."""
    table, most = view.comparison.table, MAX_CURVE_ROWS
    if traits_of(innermost(generative.model)).is_one_pass:
        entries = table.n_columns * len(view.labels)
        most = int(np.clip(MAX_ONE_PASS_ENTRIES // entries, MAX_CURVE_ROWS, MAX_ONE_PASS_ROWS))
    return sample_rows(table.n_rows, most)


def _add_sample_note(view: View, chart: Chart, generative: Entry) -> Chart:
    sample = describe_sample(_rows(view, generative), view.comparison.table.n_rows)
    return replace(chart, caption=f"{chart.caption} {sample}".rstrip())


def _add_crossover(curves: LearningCurves) -> Chart:
    """Draw the curves and their last crossing."""
    chart, at = curves.chart(), curves.crossover_
    if not at.found:
        return chart
    shown = [side for line in chart.marks if isinstance(line, Line) for side in (line.y, line.low, line.high)]
    ends = np.concatenate([np.ravel(side) for side in shown if side is not None])
    line = Line(f"crossover at {at.size:,.0f} rows", [at.size] * 2, [np.nanmin(ends), np.nanmax(ends)], dashed=True)
    return replace(chart, marks=(*chart.marks, line))


def find_pairs(view: View) -> list[tuple[Entry, Entry]]:
    """Return generative entries and counterparts, best first; of entries with equal predictions only one."""
    by_name = {entry.name: entry for entry in view.ranked}
    pairs: list[tuple[Entry, Entry]] = []
    for entry in view.ranked:
        partner = by_name.get(entry.partner or "")
        if entry.kind != "generative" or partner is None or any(_is_same(entry, other) for other, _ in pairs):
            continue
        models = view.fitted(entry), view.fitted(partner)
        if None not in models:
            pairs.append((entry, partner))
    gaps = bool(view.amounts) and bool(np.isnan(view.numbers).any())
    return pairs[: MAX_PAIRS_WITH_GAPS if gaps else MAX_PAIRS]


def _is_same(entry: Entry, other: Entry) -> bool:
    mine, theirs = entry.held_out, other.held_out
    return bool(mine.shape == theirs.shape and np.allclose(mine, theirs, equal_nan=True))


def _run_experiment(
    view: View, generative: Entry, discriminative: Entry, repeats: int, max_seconds: float
) -> LearningCurves:
    rows = _rows(view, generative)
    models = {entry.name: clone(view.fitted(entry)) for entry in (generative, discriminative)}
    tables = (generative.table.take(rows), discriminative.table.take(rows))
    codes = view.comparison.task.truth[rows]
    sizes = make_sizes(count_train_rows(codes, HELD_OUT_SHARE), len(np.unique(codes)), N_CURVE_SIZES)
    y = view.comparison.y[rows]
    try:
        return learning_curves(
            models,
            tables,
            y,
            sizes=sizes.tolist(),
            repeats=repeats,
            test_size=HELD_OUT_SHARE,
            progress=_make_limit(view.budget, max_seconds),
        )
    except ExperimentInterrupted as stopped:
        if not isinstance(stopped.__cause__, _TimeIsUp):  # Ctrl-C, or the alarm of the page
            raise
        curves: LearningCurves | None = stopped.result
        if curves is None:
            raise _TooLong("one repeat takes too long for this page.") from None
        return curves


def _make_limit(budget: Budget, max_seconds: float) -> Callable[[int, int, str], None]:
    """Return a callback that stops an experiment after `max_seconds` of work, or when the budget is spent."""
    clock, end = WorkClock(), budget.elapsed + budget.left

    def stop_if_late(done: int, total: int, name: str) -> None:
        if done < total and (clock.seconds > max_seconds or budget.elapsed > end):
            raise _TimeIsUp

    return stop_if_late
