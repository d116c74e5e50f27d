"""A nomogram: the contribution of each value of each column, for a model that is a sum of functions of columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.comparison._entry import Entry
from mercer.comparison._view import View, sample_rows
from mercer.data import Kind, Table
from mercer.explanation.evidence import LOG_ODDS, column_texts
from mercer.explanation.explanation import Explanation, explain_exactly
from mercer.report import Axis, Chart, Field, Grid, Line, PointCloud
from mercer.report.wording import format_number

#: rows from which the contributions of values are computed
MAX_NOMOGRAM_ROWS = 500
#: columns with a line of their own
MAX_NOMOGRAM_LINES = 14
#: values on a line
MAX_NOMOGRAM_VALUES = 7
#: share of the smallest and of the largest amounts that is left out, so that outliers do not determine the scale
EXTREME_SHARE = 0.01
#: characters of a value on a line
MAX_NOMOGRAM_VALUE_LENGTH = 40
#: difference between contributions of equal values that is a rounding error
CONTRIBUTION_ROUNDING = 1e-8


class NomogramLine(NamedTuple):
    """Some values of a column and their contributions, or quantiles of the sum over columns without a line."""

    name: str
    values: list[str]
    added: Array


def nomogram(view: View, entry: Entry) -> list[Any]:
    """Return a chart and a table; none if the contribution of a value depends on the other columns."""
    rows = view.rows[sample_rows(len(view.rows), MAX_NOMOGRAM_ROWS)]
    table = entry.table.take(rows)
    if view.sparse:
        return []
    explanation = explain_exactly(view.fitted(entry), table.native)
    if explanation is None:
        return []
    output = len(explanation.outputs) - 1
    lines: list[NomogramLine] = []
    for name in explanation.strongest(len(explanation.names)):
        if len(lines) == MAX_NOMOGRAM_LINES or name not in table.names:
            continue
        added = explanation.contributions[:, explanation.names.index(name), output]
        position = table.names.index(name)
        if not _is_function_of_value(table.coded(position).codes, added):
            return []
        if np.ptp(added) > CONTRIBUTION_ROUNDING:
            lines.append(NomogramLine(name, *_choose_values(view, table, position, added)))
    if not lines:
        return []
    drawn = {line.name for line in lines}
    others = [j for j, name in enumerate(explanation.names) if name not in drawn]
    sums = explanation.contributions[:, others, output].sum(axis=1)
    if np.ptp(sums) <= CONTRIBUTION_ROUNDING:  # constant: added to the base
        return _draw_nomogram(view, entry, explanation, output, float(explanation.base[output] + sums[0]), lines, "")
    rest = NomogramLine(
        f"({len(others):,} others)",
        ["lowest 5 % of rows", "median", "highest 5 % of rows"],
        np.quantile(sums, [0.05, 0.5, 0.95]),
    )
    note = (
        f" {len(others):,} columns or words are not drawn: their sum is the last line, and the rows below have it for "
        "each row."
    )
    return _draw_nomogram(view, entry, explanation, output, float(explanation.base[output]), [*lines, rest], note)


def _is_function_of_value(codes: Array, added: Array) -> bool:
    """Return whether equal values have equal contributions."""
    shifted = codes - codes.min()
    highest, lowest = np.full(shifted.max() + 1, -np.inf), np.full(shifted.max() + 1, np.inf)
    np.maximum.at(highest, shifted, added)
    np.minimum.at(lowest, shifted, added)
    occurs = np.isfinite(highest)
    return bool((highest[occurs] - lowest[occurs] <= CONTRIBUTION_ROUNDING * (1 + np.abs(added).max())).all())


def _choose_values(view: View, table: Table, position: int, added: Array) -> tuple[list[str], Array]:
    """Choose values of a column and their contributions: quantiles, or the most frequent levels."""
    coded = table.coded(position)
    codes = coded.codes
    if table.names[position] in view.amounts or table.kinds[position] is Kind.DATE:
        known = np.flatnonzero(codes >= 0)
        order = known[np.argsort(coded.labels[codes[known]].astype(float), kind="stable")]
        shares = np.linspace(EXTREME_SHARE, 1 - EXTREME_SHARE, MAX_NOMOGRAM_VALUES)
        places = order[(shares * (len(order) - 1)).round().astype(int)]
    else:
        frequent = np.argsort(-np.bincount(codes[codes >= 0]), kind="stable")[:MAX_NOMOGRAM_VALUES]
        places = np.array([int(np.argmax(codes == k)) for k in _sort_codes(coded.labels, frequent.tolist())])
    first = np.unique(codes[places], return_index=True)[1]
    places = places[np.sort(first)]
    if (codes < 0).any():
        places = np.append(places, int(np.argmax(codes < 0)))
    texts = column_texts(table, position, MAX_NOMOGRAM_VALUE_LENGTH)
    return [texts[place] for place in places.tolist()], added[places]


def _sort_codes(labels: Array, codes: list[int]) -> list[int]:
    """Sort codes by their labels: numbers by size, other labels alphabetically."""
    try:
        return sorted(codes, key=lambda k: float(labels[k]))
    except (TypeError, ValueError):
        return sorted(codes, key=lambda k: str(labels[k]))


def _draw_nomogram(
    view: View, entry: Entry, explanation: Explanation, output: int, base: float, lines: list[NomogramLine], note: str
) -> list[Any]:
    names = tuple(line.name for line in lines)
    marks: list[Any] = []
    rows: list[tuple[Any, ...]] = []
    for y, (name, texts, added) in enumerate(lines):
        marks.append(Line("", [float(added.min()), float(added.max())], [y, y]))
        labels = [f"{name} = {text}: {_format_signed(value)}" for text, value in zip(texts, added, strict=True)]
        marks.append(PointCloud("", added, np.full(len(added), float(y)), labels))
        rows += [(name, text, float(value)) for text, value in zip(texts, added, strict=True)]
    of = describe_sum(view, explanation, explanation.outputs[output])
    chart = Chart(
        f"Nomogram of {entry.name}",
        Axis(f"adds to the {of}"),
        Axis("", "category", names),
        tuple(marks),
        f"Sum what the values of a row add, and the base of {_format_signed(base)}: that is its {of}.{note} "
        "Point at a dot to see the value.",
    )
    grid = Grid("The same as a table", (Field("column"), Field("value"), Field("adds", "+.3g")), tuple(rows))
    return [chart, grid]


def _format_signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{format_number(value)}"


def describe_sum(view: View, explanation: Explanation, output: str) -> str:
    """Return the name of the sum of the contributions to an output."""
    if not view.classification:
        return explanation.what
    if len(view.labels) == 2:
        return f"{explanation.what} of {output} against {view.labels[0]}"
    if explanation.what == LOG_ODDS:  # ordered classes have one sum
        return f"{explanation.what} of {output}"
    return f"{explanation.what.split(' against')[0]} of {output} against the average class"
