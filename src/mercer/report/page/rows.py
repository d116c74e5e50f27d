"""Rows to look at one by one; without a script, the first of them as a table."""

from __future__ import annotations

import math
from typing import Any

from mercer.report.grid import Field, Grid
from mercer.report.markup import Markup, data, tag
from mercer.report.page.limits import PageLimits
from mercer.report.page.numbers import written
from mercer.report.page.tables import table_html
from mercer.report.records import EvidenceRecord, RowTable
from mercer.report.thinning import evenly

#: rows shown without a script
_FIRST = 10


def rows_html(rows: RowTable, limits: PageLimits) -> Markup:
    if not rows.rows:
        return tag("p", "There are no rows to look at.", class_="nothing")
    kept = evenly(len(rows.rows), _most(rows, limits)).tolist()
    return tag(
        "div",
        tag("div", table_html(_first_rows(rows), limits), class_="static"),
        tag("div", class_="live", hidden=True),
        data(_told(rows, kept, limits), class_="values"),
        class_="rows",
    )


def _most(rows: RowTable, limits: PageLimits) -> int:
    """As many rows as fit, of which a table has at least some."""
    numbers = sum(_nonzero(told) / len(rows.rows) + len(told.classes) for told in rows.models)
    words = sum(len(word) for row in rows.rows for word in row) / 6 / len(rows.rows)
    return max(int(limits.rows / (numbers + words + 1)), 5)


def _nonzero(told: EvidenceRecord) -> int:
    return sum(1 for row in told.contributions for value in row if value and not math.isnan(value))


def _first_rows(rows: RowTable) -> Grid:
    models = list({told.model: told for told in rows.models}.values())
    fields = [Field("row"), *([Field("truth")] if rows.truth else []), *(Field(told.model) for told in models)]
    lines = (
        (name, *rows.truth[i : i + 1], *(_said(told, i) for told in models), *rows.rows[i])
        for i, name in enumerate(rows.names[:_FIRST])
    )
    return Grid("The first rows, and what models say of them", (*fields, *map(Field, rows.columns)), tuple(lines))


def _said(told: EvidenceRecord, i: int) -> str:
    if not told.classes:
        return told.predicted[i]
    return f"{told.predicted[i]} ({written(max(told.probabilities[i]), '.2f')})"


def _told(rows: RowTable, kept: list[int], limits: PageLimits) -> dict[str, Any]:
    return {
        "columns": list(rows.columns),
        "names": [rows.names[i] for i in kept],
        "truth": [rows.truth[i] for i in kept] if rows.truth else [],
        "rows": [[word[: limits.characters] for word in rows.rows[i]] for i in kept],
        "models": [_told_evidence(told, kept) for told in rows.models],
    }


def _told_evidence(told: EvidenceRecord, kept: list[int]) -> dict[str, Any]:
    return {
        "model": told.model,
        "of": told.of,
        "base": _number(told.base),
        "features": list(told.features),
        "classes": list(told.classes),
        "predicted": [told.predicted[i] for i in kept],
        "probabilities": [[_number(p) for p in told.probabilities[i]] for i in kept] if told.classes else [],
        "adds": [_adds(told.contributions[i]) for i in kept],
    }


def _adds(row: Any) -> list[Any]:
    """Places and values in turn, of what says anything."""
    return [part for j, value in enumerate(row) if value and math.isfinite(value) for part in (j, _number(value))]


def _number(value: float) -> float | None:
    """More digits than are shown, so that 0.89149 does not become 0.8915 and then 0.892; infinities stay very large."""
    if math.isnan(value):
        return None
    return float(f"{min(max(value, -1e300), 1e300):.6g}")
