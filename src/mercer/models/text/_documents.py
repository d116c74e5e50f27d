"""Documents of a chunk of a source."""

from __future__ import annotations

from typing import Any

from mercer._errors import DataError
from mercer.data.table import Table


def documents_of(X: Any) -> Any:
    """The texts of a chunk: a column of them, or the only column of a frame."""
    shape = getattr(X, "shape", (len(X),))
    if len(shape) == 1:
        return X
    table = Table.of(X, dates=True)
    if table.n_columns != 1:
        raise DataError(
            f"A vectorizer reads one column of text, but the source has {table.n_columns}. Open it with features=['the "
            "column'], or use TableFeatures, which finds columns of text by itself."
        )
    strings = table.strings(0)
    return table.coded(0).labels[table.coded(0).codes] if strings is None else strings.fill_null("")
