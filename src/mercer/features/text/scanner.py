"""The tables that grow while documents are read, one set for each thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mercer._jit import cutting, interning, scanning
from mercer._jit.interning import (
    DOCUMENTS,
    PAIR,
    PAIR_DOCUMENTS,
    SPARE,
    Pairs,
    Strings,
)
from mercer._threads import ordered_map, row_blocks
from mercer.data.texts import SURROGATES, Texts
from mercer.features.text.analysis import Analysis

Array = NDArray[Any]


#: terms that a thread takes at once
TERMS = 1 << 16


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
        scanner.words, scanner.runs = scanning.intern_terms(scanner.words, scanner.runs, data, offsets, codes)
        return scanner, codes

    def twin(self) -> Self:
        """Another one with the same terms, for another thread."""
        words = self.words._replace(seen=self.words.seen.copy())
        runs = self.runs._replace(entries=self.runs.entries.copy())
        return type(self)(self.analysis, words, runs, self.n_stop, self.learning, self.base)

    def scan(self, texts: Texts) -> Scanned:
        """Count the terms of documents."""
        read, how = self.analysis.read(texts), self.analysis.how
        most = how.most if self.analysis.unit == "word" else 1
        documents = (read.data, read.offsets), read.states, read.alphabet, how, self.n_stop, self.learning
        room = cutting.room_for(read.offsets, how)
        done = scanning.progress(len(texts), texts.n_bytes, most)
        while (lacking := scanning.scan_some(*documents, self.words, self.runs, self.base, room, done)) >= 0:
            done = self._with_room(lacking, most, done)
        rows, used = done.rows, int(done.rows[-1])
        self.base += used
        return Scanned(self, rows, done.codes[:used].copy(), done.counts[:used].copy(), read.by_python)

    def _with_room(self, size: int, most: int, done: scanning.Progress) -> scanning.Progress:
        """Make room for the pieces that are next, of `size` bytes together."""
        if self.learning:
            self.words = interning.with_room(self.words, scanning.AT_ONCE, size)
            self.runs = interning.with_room_for_pairs(self.runs, scanning.AT_ONCE * (most - 1))
        if done.at[3] + scanning.AT_ONCE * most <= len(done.codes):
            return done
        return done._replace(codes=np.tile(done.codes, 2), counts=np.tile(done.counts, 2))

    @property
    def n_words(self) -> int:
        return int(self.words.sizes[0])

    @property
    def n_runs(self) -> int:
        return int(self.runs.sizes[0])

    def spelled_words(self) -> Texts:
        """The words by code; there are bytes to spare after the last."""
        return Texts(self.words.arena, self.words.offsets[: self.n_words + 1])

    @property
    def pairs(self) -> Array:
        """The runs by code: what comes before the last word, and that word."""
        return np.ascontiguousarray(self.runs.entries[: self.n_runs, PAIR]).view(np.uint64)

    def absorb(self, other: Scanner) -> tuple[Array, Array]:
        """Learn the terms of another one, with their counts; the codes here of its words and of its runs."""
        self.words, words = _interned(self.words, other.spelled_words(), spare=True)
        runs = np.empty(other.n_runs, dtype=np.int64)
        self.runs = interning.merge_pairs(self.runs, other.runs, np.uint64(scanning.RUN), words, runs)
        self.words.seen[words, DOCUMENTS:] += other.words.seen[: len(words), DOCUMENTS:]
        self.runs.entries[runs, PAIR_DOCUMENTS:] += other.runs.entries[: len(runs), PAIR_DOCUMENTS:]
        return words, runs

    def terms(self) -> Terms:
        """All terms that were counted, in order."""
        places = _places(self.spelled_words())
        counted_words = np.flatnonzero(self.words.seen[: self.n_words, DOCUMENTS])
        counted_runs = np.flatnonzero(self.runs.entries[: self.n_runs, PAIR_DOCUMENTS])
        codes = np.concatenate([counted_words, -1 - counted_runs])
        codes = codes[_order(codes, counted_words, counted_runs, places, self)]
        return Terms(self, codes)


class Terms(NamedTuple):
    """Terms of a scanner in the order of their code points, by code."""

    scanner: Scanner
    codes: Array

    def counts(self) -> tuple[Array, Array]:
        """Documents that hold each term, and how often it occurs."""
        documents, occurrences = np.empty((2, len(self.codes)), dtype=np.int64)

        def count(rows: slice) -> None:
            seen = self.scanner.words.seen, self.scanner.runs.entries
            scanning.counts_of(self.codes[rows], *seen, documents[rows], occurrences[rows])

        ordered_map(count, row_blocks(len(self.codes), TERMS))
        return documents, occurrences

    def spelled(self) -> Texts:
        """The terms themselves."""
        words, pairs = self.scanner.spelled_words(), self.scanner.pairs
        of_runs = np.empty(len(pairs), dtype=np.int64)
        scanning.spell_lengths(words.offsets, pairs, of_runs)
        is_word = self.codes >= 0
        lengths = np.empty(len(self.codes), dtype=np.int64)
        lengths[is_word] = np.diff(words.offsets)[self.codes[is_word]]
        lengths[~is_word] = of_runs[-1 - self.codes[~is_word]]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        # a thread writes a few bytes too many, which may be the first of the next one's: each to a part of its own
        most, blocks = self.scanner.analysis.grams[1], row_blocks(len(self.codes), TERMS)

        def spell(rows: slice) -> Array:
            ends = offsets[rows.start : rows.stop + 1] - offsets[rows.start]
            part = np.empty(ends[-1] + SPARE, dtype=np.uint8)
            scanning.spell(self.codes[rows], words.offsets, words.data, pairs, most, ends, part)
            return part[: ends[-1]]

        parts = ordered_map(spell, blocks)
        return Texts(np.concatenate(parts) if parts else np.empty(0, dtype=np.uint8), offsets)


def _order(codes: Array, words: Array, runs: Array, places: Array, scanner: Scanner) -> Array:
    """Ascending order of terms: by their first word, then by their second, …

    That is the order of the strings, because a blank comes before every character of a word.
    """
    if not len(runs):
        return np.argsort(places[words])
    longest = scanner.analysis.grams[1]
    of_runs = np.zeros((longest, scanner.n_runs), dtype=np.int64)
    scanning.words_of_runs(scanner.pairs, places + 1, of_runs)
    keys = np.zeros((longest, len(codes)), dtype=np.int64)
    keys[0, : len(words)] = places[words] + 1
    keys[:, len(words) :] = of_runs[:, runs]
    if longest == 2:
        return np.argsort(keys[0] * (len(places) + 1) + keys[1])
    return np.lexsort(keys[::-1])


def _places(words: Texts) -> Array:
    """Where each word is in ascending order."""
    places = np.empty(len(words), dtype=np.int64)
    places[words.order()] = np.arange(len(words))
    return places


def _packed(strings: list[str]) -> Texts:
    return Texts.packed(string.encode("utf-8", SURROGATES) for string in strings)


def _spared(texts: Texts) -> tuple[Array, Array]:
    """Bytes with some to spare, and offsets into them."""
    start, stop = int(texts.offsets[0]), int(texts.offsets[-1])
    return np.concatenate([texts.data[start:stop], np.zeros(SPARE, dtype=np.uint8)]), texts.offsets - start


def _interned(table: Strings, texts: Texts, *, spare: bool = False) -> tuple[Strings, Array]:
    """The table with strings added, and their codes."""
    data, offsets = (texts.data, texts.offsets) if spare else _spared(texts)
    codes = np.empty(len(texts), dtype=np.int64)
    return interning.intern(table, data, offsets, codes), codes
