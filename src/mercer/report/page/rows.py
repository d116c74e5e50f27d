"""Rows that are shown one by one; without the script, a table of the first rows."""

from __future__ import annotations

import math
from typing import Any

from mercer.report.grid import Field, Grid
from mercer.report.markup import Markup, json_script, tag
from mercer.report.page.limits import PageLimits
from mercer.report.page.numbers import write_number
from mercer.report.page.tables import table_html
from mercer.report.records import EvidenceRecord, RowTable
from mercer.report.thinning import even_indices

#: rows of the table that is shown without the script
_STATIC_ROWS = 10


def rows_html(rows: RowTable, limits: PageLimits) -> Markup:
    if not rows.rows:
        return tag("p", "There are no rows to show.", class_="nothing")
    kept = even_indices(len(rows.rows), _most(rows, limits)).tolist()
    return tag(
        "div",
        tag("div", table_html(_first_rows(rows), limits), class_="static"),
        tag("div", class_="live", hidden=True),
        json_script(_script_values(rows, kept, limits), class_="values"),
        class_="rows",
    )


def _most(rows: RowTable, limits: PageLimits) -> int:
    """Return the number of rows that fit into the limit, at least 5."""
    numbers = sum(_count_nonzero(record) / len(rows.rows) + len(record.classes) for record in rows.models)
    words = sum(len(word) for row in rows.rows for word in row) / 6 / len(rows.rows)
    return max(int(limits.rows / (numbers + words + 1)), 5)


def _count_nonzero(record: EvidenceRecord) -> int:
    return sum(1 for row in record.contributions for value in row if value and not math.isnan(value))


def _first_rows(rows: RowTable) -> Grid:
    models = list({record.model: record for record in rows.models}.values())
    fields = [Field("row"), *([Field("truth")] if rows.truth else []), *(Field(record.model) for record in models)]
    lines = (
        (name, *rows.truth[i : i + 1], *(_prediction(record, i) for record in models), *rows.rows[i])
        for i, name in enumerate(rows.names[:_STATIC_ROWS])
    )
    return Grid("The first rows and their predictions", (*fields, *map(Field, rows.columns)), tuple(lines))


def _prediction(record: EvidenceRecord, i: int) -> str:
    if not record.classes:
        return record.predicted[i]
    return f"{record.predicted[i]} ({write_number(max(record.probabilities[i]), '.2f')})"


def _script_values(rows: RowTable, kept: list[int], limits: PageLimits) -> dict[str, Any]:
    return {
        "columns": list(rows.columns),
        "names": [rows.names[i] for i in kept],
        "truth": [rows.truth[i] for i in kept] if rows.truth else [],
        "rows": [[word[: limits.characters] for word in rows.rows[i]] for i in kept],
        "models": [_evidence_values(record, kept) for record in rows.models],
    }


def _evidence_values(record: EvidenceRecord, kept: list[int]) -> dict[str, Any]:
    return {
        "model": record.model,
        "of": record.of,
        "base": _number(record.base),
        "features": list(record.features),
        "classes": list(record.classes),
        "predicted": [record.predicted[i] for i in kept],
        "probabilities": [[_number(p) for p in record.probabilities[i]] for i in kept] if record.classes else [],
        "adds": [_nonzero_pairs(record.contributions[i]) for i in kept],
    }


def _nonzero_pairs(row: Any) -> list[Any]:
    """Return the indices and values of nonzero contributions, in turn."""
    return [part for j, value in enumerate(row) if value and math.isfinite(value) for part in (j, _number(value))]


def _number(value: float) -> float | None:
    """Return a number with six digits, more than are shown, so that rounding twice does no harm.

    Infinities become ±1e300, and NaN becomes None.
    """
    if math.isnan(value):
        return None
    return float(f"{min(max(value, -1e300), 1e300):.6g}")
