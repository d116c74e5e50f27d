"""Background rows of a model, drawn column by column from the summaries of its card."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.application.reading import reader_of
from mercer.data import Kind, Table
from mercer.data.frame_like import frame_like
from mercer.files import card_of

#: rows drawn from a card
N_BACKGROUND_ROWS = 100


def read_formats(model: Any, X: Any) -> Any:
    """Convert columns of strings to numbers and dates in the formats of the fit of the model."""
    formats = getattr(reader_of(model), "formats_", None)
    return Table.of(X, dates=True).with_formats(formats).native if formats else X


def background_of(model: Any, X: Any, random_state: int = 0) -> Any:
    """Return rows that resemble the training rows of a model, in the library and with the columns of `X`.

    Columns are drawn independently from the card of the model (`mercer.files.card_of`). Texts, which a card does not
    summarize, are empty, and columns that the model does not read have the values of the first row.

    Returns
    -------
    background : like X, or None
        None if the model has no card, or the card of other columns.
    """
    card = card_of(model)
    if card is None:
        return None
    table = Table.of(X, dates=True)
    summaries = [card.column(name) for name in table.names]
    if table.library == "scipy" or all(summary is None or not summary.used for summary in summaries):
        return None
    random = np.random.default_rng(random_state)
    columns = []
    for position, summary in enumerate(summaries):
        if summary is None or not summary.used:
            columns.append(_repeat_first_value(table, position))
        elif table.kinds[position] is Kind.DATE:
            columns.append(np.array(summary.sample(N_BACKGROUND_ROWS, random), dtype="datetime64[us]"))
        else:
            columns.append(summary.sample(N_BACKGROUND_ROWS, random))
    return frame_like(table.names, columns, table.library)


def _repeat_first_value(table: Table, position: int) -> Array:
    coded = table.coded(position)
    value = coded.labels.tolist()[coded.codes[0]] if coded.codes[0] >= 0 else None
    repeated = np.empty(N_BACKGROUND_ROWS, dtype=object)
    repeated[:] = value
    return repeated
