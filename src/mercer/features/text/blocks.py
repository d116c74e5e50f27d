"""Documents a block at a time, so that no copy of all is ever made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from mercer._threads import row_blocks
from mercer.data.texts import SURROGATES, Texts, column_of_texts

Decode = Callable[[Any], Any]
#: consecutive documents, read when they are called for: as a rule at once, or if there is too much of them in parts
Block = Callable[[], Iterator[Texts]]

#: bytes (or characters, where strings are Python's) that a block has about; it is read in parts if it has twice as many
BLOCK = 4 << 20
#: blocks of a file or of an iterable that are in memory together
BLOCKS = 8
#: documents that are taken at once from an iterable
AT_ONCE = 64
#: strings whose lengths tell about how long all are: to look at each takes a tenth of the time to count its words
SAMPLE = 256


def in_blocks(documents: Any, decode: Decode | None = None) -> Iterator[list[Block]]:
    """Blocks of consecutive documents: those of one list may be in memory together.

    An iterable and the lines of a file are read some megabytes at a time. What is no string is decoded first, if that
    can be.
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
        while taken := _some(iterator):
            yield _of_sequence(taken, first, decode)
            first += len(taken)


def _some(iterator: Iterator[Any]) -> list[Any]:
    """The next documents, as many as may be in memory together."""
    taken, size = [], 0
    while size < BLOCKS * BLOCK and (more := list(islice(iterator, AT_ONCE))):
        taken += more
        size += int(_lengths(more).sum())
    return taken


def _of_texts(texts: Texts) -> list[Block]:
    return [partial(_rows, texts, rows) for rows in _cut(np.diff(texts.offsets))]


def _rows(texts: Texts, rows: slice) -> Iterator[Texts]:
    yield texts.rows(rows)


def _of_lines(path: Path, decode: Decode | None) -> Iterator[list[Block]]:
    """Each line of a file is a document, which ends with the end of the line."""
    with path.open("rb") as file:
        while parts := list(islice(iter(lambda: file.read(BLOCK) + file.readline(), b""), BLOCKS)):
            yield [partial(_lines, part, decode) for part in parts]


def _lines(part: bytes, decode: Decode | None) -> Iterator[Texts]:
    text = part.decode("utf-8") if decode is None else decode(part)
    data = np.frombuffer(text.encode("utf-8", SURROGATES), dtype=np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    ends = ends if len(ends) and ends[-1] == len(data) else np.append(ends, len(data))
    yield Texts(data, np.concatenate([[0], ends]))


def _of_sequence(strings: Any, first: int, decode: Decode | None) -> list[Block]:
    sample = _lengths(strings[:: 1 + len(strings) // SAMPLE])
    many = int(BLOCK / max(1.0, sample.mean())) if len(sample) else 1
    return [partial(_read, strings, rows, first, decode) for rows in row_blocks(len(strings), max(1, many))]


def _read(strings: Any, rows: slice, first: int, decode: Decode | None) -> Iterator[Texts]:
    block = strings[rows]
    for part in _cut(_lengths(block)):
        documents = block[part]
        if decode is not None and not isinstance(documents[0], str):
            documents = [decode(document) for document in documents]
        yield Texts.of(documents, first=first + rows.start + part.start)


def _lengths(strings: Sequence[Any]) -> np.ndarray:
    try:
        return np.fromiter(map(len, strings), dtype=np.int64)
    except TypeError:  # which of them is no string is told when it is read
        return np.ones(len(strings), dtype=np.int64)


def _cut(lengths: np.ndarray) -> list[slice]:
    """Consecutive documents of about `BLOCK` bytes together, or all if that is not twice as much."""
    n = len(lengths)
    if n == 0 or (whole := int(lengths.sum())) <= 2 * BLOCK:
        return [slice(0, n)] if n else []
    ends = np.searchsorted(np.cumsum(lengths), np.arange(BLOCK, whole, BLOCK)) + 1
    ends = np.unique(np.append(ends, n))
    return [slice(int(start), int(stop)) for start, stop in zip([0, *ends[:-1]], ends, strict=True)]
