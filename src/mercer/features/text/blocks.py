"""Documents a block at a time, so that no copy of all is ever made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.texts import SURROGATES, Texts, column_of_texts

Decode = Callable[[Any], Any]

#: bytes (or characters, where strings are Python's) that a block has about
BLOCK = 4 << 20
#: blocks of a file that are in memory together
BLOCKS = 8
#: documents that are taken at once from an iterable, whose lengths are not known
AT_ONCE = 1 << 14


def in_blocks(documents: Any, decode: Decode | None = None) -> Iterator[list[Callable[[], Texts]]]:
    """Blocks of consecutive documents, each to be called for: those of one list may be in memory together.

    An iterable is read some thousand documents at a time, the lines of a file some megabytes. What is no string is
    decoded first, if that can be.
    """
    if isinstance(documents, Texts):
        yield _of_texts(documents)
    elif isinstance(documents, Path):
        yield from _of_lines(documents, decode)
    elif isinstance(documents, list | tuple):
        yield _of_sequence(documents, 0, decode)
    elif (column := column_of_texts(documents)) is not None:
        yield _of_texts(column)
    else:
        iterator, first = iter(documents), 0
        while taken := list(islice(iterator, AT_ONCE)):
            yield _of_sequence(taken, first, decode)
            first += len(taken)


def _of_texts(texts: Texts) -> list[Callable[[], Texts]]:
    return [partial(texts.rows, rows) for rows in _cut(np.diff(texts.offsets))]


def _of_lines(path: Path, decode: Decode | None) -> Iterator[list[Callable[[], Texts]]]:
    """Each line of a file is a document, which ends with the end of the line."""
    with path.open("rb") as file:
        while parts := list(islice(iter(lambda: file.read(BLOCK) + file.readline(), b""), BLOCKS)):
            yield [partial(_lines, part, decode) for part in parts]


def _lines(part: bytes, decode: Decode | None) -> Texts:
    text = part.decode("utf-8") if decode is None else decode(part)
    data = np.frombuffer(text.encode("utf-8", SURROGATES), dtype=np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    ends = ends if len(ends) and ends[-1] == len(data) else np.append(ends, len(data))
    return Texts(data, np.concatenate([[0], ends]))


def _of_sequence(strings: Any, first: int, decode: Decode | None) -> list[Callable[[], Texts]]:
    return [partial(_read, strings, rows, first + rows.start, decode) for rows in _cut(_lengths(strings))]


def _read(strings: Any, rows: slice, first: int, decode: Decode | None) -> Texts:
    documents = strings[rows]
    if decode is not None and not isinstance(documents[0], str):
        documents = [decode(document) for document in documents]
    return Texts.of(documents, first=first)


def _lengths(strings: Sequence[Any]) -> np.ndarray:
    try:
        return np.fromiter(map(len, strings), dtype=np.int64)
    except TypeError:  # which of them is no string is told when it is read
        return np.ones(len(strings), dtype=np.int64)


def _cut(lengths: np.ndarray) -> list[slice]:
    """Consecutive documents of about `BLOCK` bytes together."""
    n = len(lengths)
    if n == 0 or (whole := int(lengths.sum())) <= BLOCK:
        return [slice(0, n)] if n else []
    ends = np.searchsorted(np.cumsum(lengths), np.arange(BLOCK, whole, BLOCK)) + 1
    ends = np.unique(np.append(ends, n))
    return [slice(int(start), int(stop)) for start, stop in zip([0, *ends[:-1]], ends, strict=True)]
