"""Words of texts in explanations of models that are not sums over columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.data import Kind, Table
from mercer.data.select import names_of, with_columns

#: words of a row that are named, and characters from which words are made
MOST_OF_ROW, _WORD = 10, re.compile(r"\w+")
DETAILS = (
    " Of a text, words are named by the change of the {what} as each is left out; the text itself adds the rest of its "
    "value."
)


def text_columns(reader: Any, table: Table) -> list[int]:
    """Return positions of the columns that the fitted reader of a model splits into words."""
    schema = getattr(reader, "schema_", None)
    if schema is None or names_of(table.native) is None:
        return []
    texts = {column.name for column in schema if column.kind is Kind.TEXT}
    return [position for position, name in enumerate(table.names) if name in texts]


def word_effects(
    function: Callable[[Any], Array], table: Table, position: int, *, max_evaluations: int
) -> tuple[list[str], Array]:
    """Return words, and the change of a function as each is left out of the texts of a column.

    Parameters
    ----------
    function : callable
        Of a table, with values of shape (rows, outputs).
    table : Table
        The rows.
    position : int
        Of a column of texts.
    max_evaluations : int
        Rows that the function is evaluated for, about. Of longer texts the first words are left out in turn.

    Returns
    -------
    words : list of str
        Those that change one row or another most.
    effects : ndarray of shape (n_rows, n_words, n_outputs)
        f(text) − f(text without the word); 0 where it does not occur, or is not among the strongest of its row.
    """
    coded = table.coded(position)
    texts = [str(coded.labels[code]) if code >= 0 else "" for code in coded.codes.tolist()]
    most = max(max_evaluations // table.n_rows, 1)
    found = [list(dict.fromkeys(_words(text)))[:most] for text in texts]
    rows = np.repeat(np.arange(table.n_rows), [len(each) for each in found])
    words = [word for each in found for word in each]
    if not words:
        return [], np.zeros((table.n_rows, 0, np.shape(function(table.native))[1]))
    shortened = [_without(texts[row], word) for row, word in zip(rows.tolist(), words, strict=True)]
    changed = with_columns(table.take(rows).native, {table.names[position]: np.array(shortened, dtype=object)})
    change = np.asarray(function(table.native))[rows] - np.asarray(function(changed))
    return _strongest(rows, words, change, table.n_rows)


def _strongest(rows: Array, words: Sequence[str], change: Array, n_rows: int) -> tuple[list[str], Array]:
    """Return the words that change each row most, and their changes."""
    size = np.abs(change).max(axis=1)
    order = np.lexsort((-size, rows))
    rank = np.arange(len(order)) - np.searchsorted(rows[order], rows[order])
    kept = np.sort(order[(rank < MOST_OF_ROW) & (size[order] > 0)]).tolist()
    names = list(dict.fromkeys(words[k] for k in kept))
    place = {word: j for j, word in enumerate(names)}
    effects = np.zeros((n_rows, len(names), change.shape[1]))
    for k in kept:
        effects[rows[k], place[words[k]]] = change[k]
    return names, effects


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _without(text: str, word: str) -> str:
    """Return a text without a word, in small or capital letters."""
    return _WORD.sub(lambda found: "" if found[0].lower() == word else found[0], text)
