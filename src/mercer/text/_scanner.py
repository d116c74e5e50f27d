"""Blocks of documents, and the scanner that counts their terms by codes of growing tables, one scanner per thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.data.texts import SURROGATES, Texts, column_of_texts
from mercer.text import _document_loops as document_loops
from mercer.text import _term_loops as term_loops
from mercer.text._term_loops import PAIR_LAST, PAIR_VALUE, SPARE_BYTES, PairTable, StringTable
from mercer.text.analysis import Analysis

#: number of entries allocated at a time if a block needs many of them; few blocks need more
BUFFER_ENTRIES = 1 << 21
#: smaller requests are allocated as they are
SMALL_REQUEST = BUFFER_ENTRIES // 8


class GrowingArray:
    """A buffer of two numbers per entry, in which blocks are written one after the other and are not copied.

    Its memory is returned to the system when the last block in it is released. It must not be used by two threads at
    once.
    """

    def __init__(self) -> None:
        self._free = _allocate(0)

    def reserve(self, needed: int) -> tuple[Array, Array]:
        """Return space for at least `needed` entries; the system provides memory when it is written to."""
        if len(self._free[0]) < needed:
            self._free = _allocate(needed if needed < SMALL_REQUEST else max(needed, BUFFER_ENTRIES))
        return self._free

    def take(self, first: Array, second: Array, n: int) -> tuple[Array, Array]:
        """Return the first n entries that were written, in this buffer or a larger one; the rest is free."""
        self._free = first[n:], second[n:]
        return first[:n], second[:n]


def enlarge(first: Array, second: Array, used: int) -> tuple[Array, Array]:
    """Return arrays of twice the size with the entries that are used."""
    larger = _allocate(2 * len(first))
    for new, old in zip(larger, (first, second), strict=True):
        new[:used] = old[:used]
    return larger


def _allocate(n: int) -> tuple[Array, Array]:
    return term_loops.empty(n, np.int32), term_loops.empty(n, np.int32)


Decode = Callable[[Any], Any]
#: consecutive documents, read when called: usually at once, in parts if they are too large
Block = Callable[[], Iterator[Texts]]

#: approximate size of a block in bytes (or characters of Python strings); a block of twice this size is read in parts
BLOCK_BYTES = 4 << 20
#: number of blocks of a file or iterable that are in memory together
BLOCKS_IN_MEMORY = 8
#: number of documents that are read at a time from an iterable
DOCUMENTS_AT_ONCE = 64
#: number of strings whose lengths estimate that of all; measuring each string takes a tenth of the time of counting its
#: words
SAMPLE_SIZE = 256


def in_blocks(
    documents: Any,
    decode: Decode | None = None,
    block_bytes: int = BLOCK_BYTES,
    sample_size: int = SAMPLE_SIZE,
) -> Iterator[list[Block]]:
    """Yield lists of blocks of consecutive documents; the blocks of one list may be in memory together.

    An iterable and the lines of a file are read a few megabytes at a time. `decode` converts documents that are not
    strings.
    """
    if isinstance(documents, Texts):
        yield _cut_texts(documents, block_bytes)
    elif isinstance(documents, Path):
        yield from _cut_file(documents, decode, block_bytes)
    elif isinstance(documents, list | tuple):
        yield _cut_sequence(documents, 0, decode, block_bytes, sample_size)
    elif (column := column_of_texts(documents)) is not None:
        yield _cut_texts(column, block_bytes)
    else:
        iterator, first = iter(documents), 0
        while batch := _read_batch(iterator, BLOCKS_IN_MEMORY * block_bytes):
            yield _cut_sequence(batch, first, decode, block_bytes, sample_size)
            first += len(batch)


def _read_batch(iterator: Iterator[Any], max_size: int) -> list[Any]:
    """Return the next documents, of about `max_size` characters together."""
    batch, size = [], 0
    while size < max_size and (more := list(islice(iterator, DOCUMENTS_AT_ONCE))):
        batch += more
        size += int(_lengths(more).sum())
    return batch


def _cut_texts(texts: Texts, block_bytes: int) -> list[Block]:
    return [partial(_read_rows, texts, rows) for rows in _cut(np.diff(texts.offsets), block_bytes)]


def _read_rows(texts: Texts, rows: slice) -> Iterator[Texts]:
    yield texts.rows(rows)


def _cut_file(path: Path, decode: Decode | None, block_bytes: int) -> Iterator[list[Block]]:
    """Yield the lines of a file as documents; each includes its line end."""
    with path.open("rb") as file:
        while parts := list(islice(iter(lambda: file.read(block_bytes) + file.readline(), b""), BLOCKS_IN_MEMORY)):
            yield [partial(_read_lines, part, decode) for part in parts]


def _read_lines(part: bytes, decode: Decode | None) -> Iterator[Texts]:
    text = part.decode("utf-8") if decode is None else decode(part)
    data = np.frombuffer(text.encode("utf-8", SURROGATES), dtype=np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    ends = ends if len(ends) and ends[-1] == len(data) else np.append(ends, len(data))
    yield Texts(data, np.concatenate([[0], ends]))


def _cut_sequence(strings: Any, first: int, decode: Decode | None, block_bytes: int, sample_size: int) -> list[Block]:
    sample = _lengths(strings[:: 1 + len(strings) // sample_size])
    n_rows = max(1, int(block_bytes / max(1.0, sample.mean())) if len(sample) else 1)
    return [
        partial(_read_strings, strings, rows, first, decode, block_bytes) for rows in row_blocks(len(strings), n_rows)
    ]


def _read_strings(strings: Any, rows: slice, first: int, decode: Decode | None, block_bytes: int) -> Iterator[Texts]:
    block = strings[rows]
    for part in _cut(_lengths(block), block_bytes):
        documents = block[part]
        if decode is not None and not isinstance(documents[0], str):
            documents = [decode(document) for document in documents]
        yield Texts.of(documents, first=first + rows.start + part.start)


def _lengths(strings: Sequence[Any]) -> np.ndarray:
    try:
        return np.fromiter(map(len, strings), dtype=np.int64)
    except TypeError:  # the error that names the document follows when it is read
        return np.ones(len(strings), dtype=np.int64)


def _cut(lengths: np.ndarray, block_bytes: int) -> list[slice]:
    """Return slices of documents of about `block_bytes` each, or one of all if they are at most twice as large."""
    n = len(lengths)
    if n == 0 or (total := int(lengths.sum())) <= 2 * block_bytes:
        return [slice(0, n)] if n else []
    ends = np.searchsorted(np.cumsum(lengths), np.arange(block_bytes, total, block_bytes)) + 1
    ends = np.unique(np.append(ends, n))
    return [slice(int(start), int(stop)) for start, stop in zip([0, *ends[:-1]], ends, strict=True)]


#: a table stores the number of the entry where a word was counted last in 32 bits
MAX_ENTRIES = np.iinfo(np.int32).max


class Scanned(NamedTuple):
    """The terms of documents by the codes of a scanner: those of document i are codes[rows[i]:rows[i + 1]]."""

    scanner: Scanner
    rows: Array
    codes: Array
    counts: Array
    by_python: int


@dataclass(eq=False)
class Scanner:
    """Counts terms by its own codes; it must not be used by two threads at once."""

    analysis: Analysis
    words: StringTable
    runs: PairTable
    #: codes below this are stop words
    n_stop: int
    #: whether unknown terms are added to the tables; otherwise they are ignored
    learning: bool
    #: number of entries so far
    base: int = 0
    #: the codes and counts of the entries
    buffer: GrowingArray = field(default_factory=GrowingArray)

    @classmethod
    def of(cls, analysis: Analysis) -> Self:
        """Create a scanner without terms, which learns them."""
        words, stop_words = term_loops.empty_strings(), sorted(analysis.stop_words) if analysis.unit == "word" else []
        if stop_words:
            texts = Texts.packed(word.encode("utf-8", SURROGATES) for word in stop_words)
            words = _intern(words, texts)[0]
        return cls(analysis, words, term_loops.empty_pairs(), len(stop_words), learning=True)

    @classmethod
    def with_terms(cls, analysis: Analysis, terms: Texts) -> tuple[Self, Array]:
        """Create a scanner of given terms, and return it with their codes: that of a word, or −1 − that of a run."""
        scanner = cls.of(analysis)
        scanner.learning = False
        if analysis.unit != "word" or analysis.grams[1] == 1:
            scanner.words, codes = _intern(scanner.words, terms)
            return scanner, codes
        codes = np.empty(len(terms), dtype=np.int64)
        data, offsets = _pad(terms)
        scanner.words, scanner.runs = term_loops.intern_terms(scanner.words, scanner.runs, data, offsets, codes)
        return scanner, codes

    def copy(self) -> Self:
        """Return a scanner with the same terms, for another thread."""
        words = self.words._replace(last=self.words.last.copy())
        runs = self.runs._replace(entries=self.runs.entries.copy())
        return type(self)(self.analysis, words, runs, self.n_stop, self.learning, self.base)

    def scan(self, texts: Texts) -> Scanned:
        """Count the terms of documents."""
        prepared, rule = self.analysis.prepare(texts), self.analysis.cut_rule
        longest = rule.max_gram if self.analysis.unit == "word" else 1
        documents = (prepared.data, prepared.offsets), prepared.states, prepared.alphabet, rule, self.n_stop
        buffers = document_loops.allocate_buffers(prepared.offsets, rule)
        needed = longest * (term_loops.PIECES_AT_ONCE + texts.n_bytes // 4)  # rarely more
        progress = term_loops.start_scan(len(texts), longest, *self.buffer.reserve(needed))
        if self.base + len(progress.codes) > MAX_ENTRIES:
            # Number entries from 0 again: earlier entries are in no document to come.
            self.base = 0
            self.words.last[:] = -1
            self.runs.entries[:, PAIR_LAST] = -1
        while (
            missing := term_loops.scan_some(
                *documents, self.learning, self.words, self.runs, self.base, buffers, progress
            )
        ) >= 0:
            progress = self._enlarge(missing, longest, progress)
        rows, used = progress.rows, int(progress.rows[-1])
        self.base += used
        return Scanned(self, rows, *self.buffer.take(progress.codes, progress.counts, used), prepared.by_python)

    def _enlarge(self, size: int, longest: int, progress: term_loops.ScanProgress) -> term_loops.ScanProgress:
        """Enlarge tables and buffers for the next pieces, of `size` bytes together."""
        if self.learning:
            self.words = term_loops.enlarge_strings(self.words, term_loops.PIECES_AT_ONCE, size)
            self.runs = term_loops.enlarge_pairs(self.runs, term_loops.PIECES_AT_ONCE * (longest - 1))
        if progress.at[3] + term_loops.PIECES_AT_ONCE * longest <= len(progress.codes):
            return progress
        codes, counts = enlarge(progress.codes, progress.counts, progress.at[3])
        return progress._replace(codes=codes, counts=counts)

    @property
    def n_words(self) -> int:
        return int(self.words.sizes[0])

    @property
    def n_runs(self) -> int:
        return int(self.runs.sizes[0])

    @property
    def shortest_run(self) -> int:
        """Number of words of the shortest run that is a term."""
        return self.analysis.grams[0] if self.analysis.unit == "word" else 1

    def release(self) -> tuple[Texts, Array, Array]:
        """Return the words and runs by code, and free the tables.

        The result is the words, with `SPARE_BYTES` bytes after the last; their first eight bytes as numbers; and the
        runs as pairs of the run without its last word and this word.
        """
        words, n_words, n_runs = self.words, self.n_words, self.n_runs
        texts = Texts(words.arena, words.offsets[: n_words + 1])
        heads, pairs = words.signatures[:n_words, 0].byteswap(), term_loops.empty(n_runs, np.uint64)
        pairs[:] = self.runs.entries[:n_runs, PAIR_VALUE].view(np.uint64)
        self.words, self.runs, self.buffer = term_loops.empty_strings(), term_loops.empty_pairs(), GrowingArray()
        return texts, heads, pairs


def _pad(texts: Texts) -> tuple[Array, Array]:
    """Return the bytes of texts followed by `SPARE_BYTES` zeros, and the offsets."""
    start, stop = int(texts.offsets[0]), int(texts.offsets[-1])
    return np.concatenate([texts.data[start:stop], np.zeros(SPARE_BYTES, dtype=np.uint8)]), texts.offsets - start


def _intern(table: StringTable, texts: Texts) -> tuple[StringTable, Array]:
    """Return the table with the strings added, and their codes."""
    data, offsets = _pad(texts)
    codes = np.empty(len(texts), dtype=np.int64)
    return term_loops.intern(table, data, offsets, codes), codes
