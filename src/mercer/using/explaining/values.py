"""Values of rows as short texts, none of them blank."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.data import Kind, Table
from mercer.report.wording import shortened, written

MISSING = "missing"


def column_texts(table: Table, position: int, longest: int = 60) -> list[str]:
    """Return the values of a column: numbers in at most five digits, dates as dates, texts shortened."""
    coded = table.coded(position)
    dates = table.kinds[position] is Kind.DATE
    texts = [_text(label, dates, longest) for label in coded.labels.tolist()]
    return [texts[code] if code >= 0 else MISSING for code in coded.codes.tolist()]


def row_texts(row: Any, names: tuple[str, ...]) -> dict[str, str]:
    """Return the values of a table of one row, by the names of columns or of features of these."""
    table = Table.of(row, dates=True)
    if table.library == "scipy":
        table = Table.of(np.asarray(row.toarray()))
    texts = {name: column_texts(table, position)[0] for position, name in enumerate(table.names)}
    return {name: texts.get(name, feature_text(name, table.names)) for name in names}


def feature_text(name: str, columns: tuple[str, ...]) -> str:
    """Return the value of a feature that is not a column: a word of a text, or columns that count together."""
    if name.startswith("("):
        return "all together"
    return "in the text" if name.partition("[")[0] in columns else "a feature"


def _text(label: Any, date: bool, longest: int) -> str:
    if date:
        moment = str(np.datetime64(round(float(label) * 86_400), "s"))
        return moment.removesuffix("T00:00:00").replace("T", " ")
    if isinstance(label, str):
        return shortened(" ".join(label.split()), longest) or "empty"
    return written(label)
