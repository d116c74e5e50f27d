"""The tables that grow while documents are read, one set for each thread."""

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
from mercer.text._term_loops import PAIR, PAIR_LAST, SPARE, PairTable, StringTable
from mercer.text.analysis import Analysis

# Room for what is found in blocks of documents, one after the other.

#: entries for which room is made at once, where a block has some of them: what few blocks need
ENTRIES = 1 << 21
SOME = ENTRIES // 8


class GrowingArray:
    """Two numbers for each entry, where blocks are written one behind the other and not copied.

    It is the system's again when the last of the blocks that are in it is dropped. Not to be used by two threads at
    once.
    """

    def __init__(self) -> None:
        self._left = _room(0)

    def of(self, needed: int) -> tuple[Array, Array]:
        """Room for at least so many entries. Memory is taken when it is written to."""
        if len(self._left[0]) < needed:
            self._left = _room(needed if needed < SOME else max(needed, ENTRIES))
        return self._left

    def taken(self, first: Array, second: Array, many: int) -> tuple[Array, Array]:
        """The first so many entries of what was written, in this room or in a larger one; the rest is for the next."""
        self._left = first[many:], second[many:]
        return first[:many], second[:many]


def larger(first: Array, second: Array, used: int) -> tuple[Array, Array]:
    """As much room again, with the entries that were used."""
    more = _room(2 * len(first))
    for there, here in zip(more, (first, second), strict=True):
        there[:used] = here[:used]
    return more


def _room(many: int) -> tuple[Array, Array]:
    return term_loops.empty(many, np.int32), term_loops.empty(many, np.int32)


# Documents a block at a time, so that no copy of all is ever made.

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


#: entries up to which they are numbered: a table remembers where a word was counted last in 32 bits
LARGEST = np.iinfo(np.int32).max


class Scanned(NamedTuple):
    """Terms of documents by the codes of a scanner: those of document i are codes[rows[i]:rows[i + 1]]."""

    scanner: Scanner
    rows: Array
    codes: Array
    counts: Array
    by_python: int


@dataclass(eq=False)
class Scanner:
    """Counts terms by codes of its own. Not to be used by two threads at once."""

    analysis: Analysis
    words: StringTable
    runs: PairTable
    #: the first so many words are passed over
    n_stop: int
    #: whether terms that are not known are added, or passed over
    learning: bool
    #: entries that were counted so far
    base: int = 0
    #: for codes and counts
    room: GrowingArray = field(default_factory=GrowingArray)

    @classmethod
    def of(cls, analysis: Analysis) -> Self:
        """A scanner that knows no terms, and learns them."""
        words, stop_words = term_loops.no_strings(), sorted(analysis.stop_words) if analysis.unit == "word" else []
        if stop_words:
            words = _interned(words, _packed(stop_words))[0]
        return cls(analysis, words, term_loops.no_pairs(), len(stop_words), learning=True)

    @classmethod
    def knowing(cls, analysis: Analysis, terms: Texts) -> tuple[Self, Array]:
        """A scanner of terms that are given, and the code of each: that of a word, or −1 − that of a run."""
        scanner = cls.of(analysis)
        scanner.learning = False
        if analysis.unit != "word" or analysis.grams[1] == 1:
            scanner.words, codes = _interned(scanner.words, terms)
            return scanner, codes
        codes = np.empty(len(terms), dtype=np.int64)
        data, offsets = _spared(terms)
        scanner.words, scanner.runs = term_loops.intern_terms(scanner.words, scanner.runs, data, offsets, codes)
        return scanner, codes

    def twin(self) -> Self:
        """Another one with the same terms, for another thread."""
        words = self.words._replace(last=self.words.last.copy())
        runs = self.runs._replace(entries=self.runs.entries.copy())
        return type(self)(self.analysis, words, runs, self.n_stop, self.learning, self.base)

    def scan(self, texts: Texts) -> Scanned:
        """Count the terms of documents."""
        read, how = self.analysis.read(texts), self.analysis.how
        most = how.most if self.analysis.unit == "word" else 1
        documents = (read.data, read.offsets), read.states, read.alphabet, how, self.n_stop, self.learning
        room = document_loops.room_for(read.offsets, how)
        needed = most * (term_loops.AT_ONCE + texts.n_bytes // 4)  # hardly ever more
        done = term_loops.progress(len(texts), most, *self.room.of(needed))
        if self.base + len(done.codes) > LARGEST:
            self._forget()
        while (lacking := term_loops.scan_some(*documents, self.words, self.runs, self.base, room, done)) >= 0:
            done = self._with_room(lacking, most, done)
        rows, used = done.rows, int(done.rows[-1])
        self.base += used
        return Scanned(self, rows, *self.room.taken(done.codes, done.counts, used), read.by_python)

    def _forget(self) -> None:
        """Number entries from 0 on again: what was counted before is in no document to come."""
        self.base = 0
        self.words.last[:] = -1
        self.runs.entries[:, PAIR_LAST] = -1

    def _with_room(self, size: int, most: int, done: term_loops.ScanProgress) -> term_loops.ScanProgress:
        """Make room for the pieces that are next, of `size` bytes together."""
        if self.learning:
            self.words = term_loops.with_room(self.words, term_loops.AT_ONCE, size)
            self.runs = term_loops.with_room_for_pairs(self.runs, term_loops.AT_ONCE * (most - 1))
        if done.at[3] + term_loops.AT_ONCE * most <= len(done.codes):
            return done
        codes, counts = larger(done.codes, done.counts, done.at[3])
        return done._replace(codes=codes, counts=counts)

    @property
    def n_words(self) -> int:
        return int(self.words.sizes[0])

    @property
    def n_runs(self) -> int:
        return int(self.runs.sizes[0])

    @property
    def shortest_run(self) -> int:
        """Words of the shortest run that is a term."""
        return self.analysis.grams[0] if self.analysis.unit == "word" else 1

    def give_up(self) -> tuple[Texts, Array, Array]:
        """The words by code, with bytes to spare after the last; their first eight bytes as numbers; and the runs by
        code: what comes before the last word, and that word. The tables are given back."""
        words, n_words, n_runs = self.words, self.n_words, self.n_runs
        texts = Texts(words.arena, words.offsets[: n_words + 1])
        heads, pairs = words.signatures[:n_words, 0].byteswap(), term_loops.empty(n_runs, np.uint64)
        pairs[:] = self.runs.entries[:n_runs, PAIR].view(np.uint64)
        self.words, self.runs, self.room = term_loops.no_strings(), term_loops.no_pairs(), GrowingArray()
        return texts, heads, pairs


def _packed(strings: list[str]) -> Texts:
    return Texts.packed(string.encode("utf-8", SURROGATES) for string in strings)


def _spared(texts: Texts) -> tuple[Array, Array]:
    """Bytes with some to spare, and offsets into them."""
    start, stop = int(texts.offsets[0]), int(texts.offsets[-1])
    return np.concatenate([texts.data[start:stop], np.zeros(SPARE, dtype=np.uint8)]), texts.offsets - start


def _interned(table: StringTable, texts: Texts) -> tuple[StringTable, Array]:
    """The table with strings added, and their codes."""
    data, offsets = _spared(texts)
    codes = np.empty(len(texts), dtype=np.int64)
    return term_loops.intern(table, data, offsets, codes), codes
