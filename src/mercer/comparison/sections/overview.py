"""The section on the data: columns, missing values, distributions, the target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.comparison._splits import row_numbers
from mercer.comparison._view import View
from mercer.data import Kind
from mercer.data.schema import Column
from mercer.report import Axis, Bars, Chart, Field, Grid, Line, Note, Section
from mercer.report.wording import format_count, format_number, format_share, shorten

#: classes in the chart of the target
MAX_CLASS_BARS = 20
#: columns with a histogram
MAX_HISTOGRAMS = 12
#: columns in the table
MAX_TABLE_COLUMNS = 200
#: levels of a column that are named
MAX_COLUMN_LEVELS = 3
#: robust standard deviations from the median beyond which a value is far out
FAR_OUT = 5.0
#: σ / MAD of a normal distribution
SIGMA_PER_MAD = 1.4826
COLUMN_FIELDS = (
    Field("column"),
    Field("kind"),
    Field("missing", ".1%"),
    Field("distinct", ",d"),
    *(Field(heading, ".4g") for heading in ("mean", "sd", "least", "most")),
    Field("far out", ",d"),
    Field("values"),
)


def overview(view: View) -> Section:
    """Return the types, missing values, distributions and outliers of the columns, and the target."""
    blocks: list[Any] = [_target_chart(view)]
    if view.sparse:
        blocks.append(_sparse_grid(view))
    else:
        blocks += [_column_grid(view), *_histograms(view)]
    blocks += _duplicates(view)
    if note := view.note():
        blocks.append(note)
    return Section("data", "The data: target, columns and missing values", tuple(blocks), _lead(view))


def _lead(view: View) -> str:
    table = view.comparison.table
    size = f"{format_count(table.n_rows, 'row')} and {format_count(table.n_columns, 'column')}"
    target = f"the target `{view.comparison.target}`" if view.comparison.target else "the target"
    return f"{size}; {target} has {view.comparison.task.describe()}."


def _target_chart(view: View) -> Chart:
    truth = np.asarray(view.comparison.task.truth)
    if view.classification:
        counts = np.bincount(truth, minlength=len(view.labels))
        ordered = view.comparison.task.name == "ordered"
        order = (np.arange(len(counts)) if ordered else np.argsort(-counts, kind="stable"))[:MAX_CLASS_BARS]
        bars = Bars("rows", [view.labels[k] for k in order.tolist()], counts[order])
        which = "lowest" if ordered else "most frequent"
        more = f"The {len(order)} {which} of {len(counts):,}." if len(counts) > len(order) else ""
        return Chart("Rows of each class", Axis("rows", form=",.0f"), Axis("class"), (bars,), more)
    unit = f" ({view.comparison.unit})" if view.comparison.unit else ""
    return replace(_histogram(f"{view.comparison.target or 'target'}{unit}", truth.astype(float)), title="The target")


def _column_grid(view: View) -> Grid:
    columns = list(view.schema)[:MAX_TABLE_COLUMNS]
    rows = tuple(_row(view, column) for column in columns)
    left = len(view.schema) - len(columns)
    notes = [f"Columns that are not listed: {left:,}."] if left else []
    notes.append(
        f"Far out: more than {FAR_OUT:g} robust standard deviations (1.48 × the median absolute deviation) from the "
        "median."
    )
    return Grid("Columns", COLUMN_FIELDS, rows, tuple(notes))


def _row(view: View, column: Column) -> tuple[Any, ...]:
    j = view.table.names.index(column.name)
    numeric = view.table.kinds[j].numeric and column.kind not in (Kind.DATE, Kind.IDENTIFIER)
    coded = view.table.coded(j)
    known = coded.codes[coded.codes >= 0]
    missing = 1 - len(known) / max(1, len(coded.codes))
    numbers: tuple[Any, ...] = (None,) * 5
    if numeric and len(known):
        numbers = _describe_numbers(view.table.numbers([j])[:, 0])
    return (
        column.name,
        column.kind.value,
        missing,
        len(np.unique(known)),
        *numbers,
        _describe_values(column, coded, known),
    )


def _describe_numbers(values: Array) -> tuple[Any, ...]:
    values = values[np.isfinite(values)].astype(float)
    if not len(values):
        return (None,) * 5
    spread = format_number(float(values.std(ddof=1)), 3) if len(values) > 1 else None
    mean, least, most = (format_number(float(each)) for each in (values.mean(), values.min(), values.max()))
    return mean, spread, least, most, int(find_far_out(values).sum())


def find_far_out(values: Array) -> Array:
    """Return whether each value is more than `FAR_OUT` robust standard deviations from the median."""
    distance = np.abs(values - np.median(values))
    spread = SIGMA_PER_MAD * np.median(distance)
    return np.asarray(distance > FAR_OUT * spread) if spread > 0 else np.zeros(len(values), dtype=bool)


def _describe_values(column: Column, coded: Any, known: Array) -> str:
    """Return the most frequent levels of a category, or the mean length of texts."""
    if column.kind in (Kind.NUMBER, Kind.INTEGER, Kind.COUNT, Kind.DATE, Kind.IDENTIFIER) or not len(known):
        return "; ".join(note for note in column.notes if "missing" not in note)
    if column.kind is Kind.TEXT:
        lengths = [len(str(text).split()) for text in coded.labels[known[:1000]].tolist()]
        return f"{np.mean(lengths):.0f} words on average"
    counts = np.bincount(known, minlength=len(coded.labels))
    order = np.argsort(-counts, kind="stable")[:MAX_COLUMN_LEVELS]
    shares = [f"{shorten(coded.labels[k])} {format_share(counts[k] / len(known))}" for k in order.tolist() if counts[k]]
    return ", ".join(shares) + (", …" if (counts > 0).sum() > len(order) else "")


def _histograms(view: View) -> list[Chart]:
    """Draw histograms of numeric columns."""
    charts = []
    for j in range(min(len(view.amounts), MAX_HISTOGRAMS)):
        values = view.numbers[:, j]
        if len(values := values[np.isfinite(values)]) > 1:
            charts.append(replace(_histogram(view.amounts[j], values), small=True))
    return charts


def _histogram(name: str, values: Array) -> Chart:
    heights, edges = count_bins(values)
    x, y = np.repeat(edges, 2), np.concatenate([[0], np.repeat(heights, 2), [0]])
    return Chart(name, Axis(name), Axis("rows", form=",.0f", low=0), (Line("", x, y, low=np.zeros(len(x)), high=y),))


def count_bins(values: Array) -> tuple[Array, Array]:
    """Count the values in each of at most 30 bins of equal width."""
    bins = int(np.clip(np.sqrt(len(values)), 5, 30))
    numbers = np.unique(values)
    if len(numbers) <= 30 and (numbers == np.floor(numbers)).all() and numbers[-1] - numbers[0] < 30:
        edges = np.arange(numbers[0] - 0.5, numbers[-1] + 1)
        return np.histogram(values, edges)
    return np.histogram(values, bins)


def _duplicates(view: View) -> list[Any]:
    groups = row_numbers(view.without_identifiers)
    repeated = len(groups) - len(np.unique(groups))
    if not repeated:
        return ["No two rows have the same values in all columns."]
    share = repeated / len(groups)
    return [Note(f"Rows that repeat another in all columns but the target: {repeated:,} ({share:.1%}).", "info")]


def _sparse_grid(view: View) -> Grid:
    matrix = view.table.matrix()
    rows = (
        ("columns", float(matrix.shape[1])),
        ("values that are not 0, per row", float(matrix.nnz / max(1, matrix.shape[0]))),
        ("largest value", float(matrix.data.max()) if matrix.nnz else 0.0),
    )
    return Grid("A sparse matrix", (Field("what"), Field("number", ",.4g")), rows)
