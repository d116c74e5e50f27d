"""The tables that grow while documents are read, one set for each thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from mercer._jit.text import cutting, interning, pages, scanning, spelling
from mercer._jit.text.interning import PAIR, PAIR_LAST, SPARE, Pairs, Strings
from mercer._typing import Array
from mercer.data.texts import SURROGATES, Texts
from mercer.features.text.analysis import Analysis
from mercer.features.text.room import Room, larger

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
    words: Strings
    runs: Pairs
    #: the first so many words are passed over
    n_stop: int
    #: whether terms that are not known are added, or passed over
    learning: bool
    #: entries that were counted so far
    base: int = 0
    #: for codes and counts
    room: Room = field(default_factory=Room)

    @classmethod
    def of(cls, analysis: Analysis) -> Self:
        """A scanner that knows no terms, and learns them."""
        words, stop_words = interning.no_strings(), sorted(analysis.stop_words) if analysis.unit == "word" else []
        if stop_words:
            words = _interned(words, _packed(stop_words))[0]
        return cls(analysis, words, interning.no_pairs(), len(stop_words), learning=True)

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
        scanner.words, scanner.runs = spelling.intern_terms(scanner.words, scanner.runs, data, offsets, codes)
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
        room = cutting.room_for(read.offsets, how)
        needed = most * (scanning.AT_ONCE + texts.n_bytes // 4)  # hardly ever more
        done = scanning.progress(len(texts), most, *self.room.of(needed))
        if self.base + len(done.codes) > LARGEST:
            self._forget()
        while (lacking := scanning.scan_some(*documents, self.words, self.runs, self.base, room, done)) >= 0:
            done = self._with_room(lacking, most, done)
        rows, used = done.rows, int(done.rows[-1])
        self.base += used
        return Scanned(self, rows, *self.room.taken(done.codes, done.counts, used), read.by_python)

    def _forget(self) -> None:
        """Number entries from 0 on again: what was counted before is in no document to come."""
        self.base = 0
        self.words.last[:] = -1
        self.runs.entries[:, PAIR_LAST] = -1

    def _with_room(self, size: int, most: int, done: scanning.Progress) -> scanning.Progress:
        """Make room for the pieces that are next, of `size` bytes together."""
        if self.learning:
            self.words = interning.with_room(self.words, scanning.AT_ONCE, size)
            self.runs = interning.with_room_for_pairs(self.runs, scanning.AT_ONCE * (most - 1))
        if done.at[3] + scanning.AT_ONCE * most <= len(done.codes):
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
        heads, pairs = words.signatures[:n_words, 0].byteswap(), pages.empty(n_runs, np.uint64)
        pairs[:] = self.runs.entries[:n_runs, PAIR].view(np.uint64)
        self.words, self.runs, self.room = interning.no_strings(), interning.no_pairs(), Room()
        return texts, heads, pairs


def _packed(strings: list[str]) -> Texts:
    return Texts.packed(string.encode("utf-8", SURROGATES) for string in strings)


def _spared(texts: Texts) -> tuple[Array, Array]:
    """Bytes with some to spare, and offsets into them."""
    start, stop = int(texts.offsets[0]), int(texts.offsets[-1])
    return np.concatenate([texts.data[start:stop], np.zeros(SPARE, dtype=np.uint8)]), texts.offsets - start


def _interned(table: Strings, texts: Texts) -> tuple[Strings, Array]:
    """The table with strings added, and their codes."""
    data, offsets = _spared(texts)
    codes = np.empty(len(texts), dtype=np.int64)
    return interning.intern(table, data, offsets, codes), codes
