"""The section on unusual rows."""

from __future__ import annotations

from mercer._errors import MercerError
from mercer.comparison._view import View
from mercer.explanation.unusual import unusual_rows
from mercer.report import Field, Grid, Section
from mercer.report.wording import format_value

#: unusual rows in the table
MAX_UNUSUAL_ROWS = 15
#: unusual columns of a row in the table
MAX_UNUSUAL_COLUMNS = 3


def outlying(view: View) -> Section | None:
    """Return the most unusual rows with p-values and their unusual columns."""
    try:
        unusual = unusual_rows(view.table, most=MAX_UNUSUAL_ROWS)
    except MercerError as error:
        return Section("unusual", "Unusual rows", (f"There are none to show. {error}",))
    rows = []
    for row, score, p, odd in zip(unusual.rows.tolist(), unusual.scores, unusual.p_values, unusual.odd, strict=True):
        values = [f"{name} = {_value(view, name, row)}" for name in odd[:MAX_UNUSUAL_COLUMNS]]
        rows.append((int(view.rows[row]), _truth(view, row), float(score), float(p), ", ".join(values)))
    fields = (
        Field("row", ",d"),
        Field("target"),
        Field("log density", ".4g"),
        Field("p-value", ".3g"),
        Field("odd in"),
    )
    notes = (unusual.description, "Rows are counted from 0.", *filter(None, [view.note()]))
    return Section(
        "unusual",
        "Unusual rows",
        (Grid("The most unusual rows", fields, tuple(rows), notes),),
        "Rows of low density: typing errors, other populations, or the interesting ones. Columns are named where the "
        "value is among the rarest 5% of its column.",
    )


def _value(view: View, name: str, row: int) -> str:
    coded = view.table.coded(view.table.names.index(name))
    return format_value(coded.labels[int(coded.codes[row])])


def _truth(view: View, row: int) -> str:
    value = view.target[row]
    return view.labels[int(value)] if view.classification else format_value(value)
