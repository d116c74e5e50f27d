"""Documents of a chunk of a source."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._errors import DataError
from mercer.data.table import Table


def documents_of(X: Any) -> Any:
    """The texts of a chunk: a column of them, or the only column of a table, "" where it is missing."""
    shape = getattr(X, "shape", (len(X),))
    if len(shape) == 1:
        return X
    table = Table.of(X, dates=True)
    if table.n_columns != 1:
        raise DataError(
            f"A vectorizer reads one column of text, but the source has {table.n_columns}. Open it with features=['the "
            "column'], or use TableFeatures, which finds columns of text by itself."
        )
    if (strings := table.strings(0)) is not None:
        return strings.fill_null("")
    coded = table.coded(0)
    return np.append(coded.labels.astype(object), "")[coded.codes]  # −1, missing, is the last
