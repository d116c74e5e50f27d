"""What several scanners have found, put together: all terms in ascending order, and where each scanner's are."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer._jit import ordering, spelling
from mercer._jit.interning import SPARE
from mercer._threads import ordered_map, row_blocks
from mercer.data.texts import Texts
from mercer.features.text.scanner import Scanned, Scanner
from mercer.stats.vocabulary import Vocabulary

Array = NDArray[Any]
K = TypeVar("K", bound=Sized)

#: where a term is that has no column
NOWHERE = np.int32(-1)
#: terms that a thread takes at once
TERMS = 1 << 16


class Columns(NamedTuple):
    """Where words and runs go, by code of a scanner."""

    of_words: Array
    of_runs: Array

    def moved(self, columns: Array) -> Columns:
        """The same if each column goes elsewhere; `NOWHERE` stays so."""
        there = np.append(columns, NOWHERE)
        return Columns(there[self.of_words], there[self.of_runs])


def united(scanned: Sequence[Scanned]) -> tuple[Vocabulary, dict[Scanner, Columns]]:
    """The vocabulary of all documents, and where each scanner's words and runs are in it."""
    if not scanned:
        return Vocabulary.nothing(), {}
    scanners = list(dict.fromkeys(one.scanner for one in scanned))
    found = ordered_map(lambda scanner: Found.by(scanner, scanned), scanners)
    words, levels = _levels(found)
    places = _places(levels)
    n_documents = sum(len(one.rows) - 1 for one in scanned)
    terms, documents, occurrences = _terms(levels, places)
    vocabulary = Vocabulary(_spelled(terms, words, levels), documents, occurrences, n_documents)
    columns = ordered_map(lambda one: one.columns(levels, places), found)
    return vocabulary, dict(zip(scanners, columns, strict=True))


@dataclass(frozen=True, eq=False)
class Words:
    """Distinct strings in ascending order, with bytes to spare, and the first eight bytes of each as a number."""

    heads: Array
    texts: Texts

    def __len__(self) -> int:
        return len(self.heads)


class Part(NamedTuple):
    """The words of one scanner, or its runs of one length, in ascending order."""

    codes: Array
    #: documents and occurrences
    counts: Array
    keys: Any


@dataclass(eq=False)
class Found:
    """What one scanner has found: words, runs of two words, …; and where these are in what all have found."""

    scanner: Scanner
    #: documents and occurrences, by code
    counts_of_runs: Array
    #: how many words a run has
    lengths: Array
    parts: list[Part]
    places: list[Array]

    @classmethod
    def by(cls, scanner: Scanner, scanned: Sequence[Scanned]) -> Found:
        of_words, of_runs = (np.zeros((n, 2), dtype=np.int64) for n in (scanner.n_words, scanner.n_runs))
        for one in scanned:
            if one.scanner is scanner:
                ordering.tally(one.codes, one.counts, of_words, of_runs)
        lengths = np.empty(scanner.n_runs, dtype=np.int32)
        ordering.words_in(scanner.pairs, lengths)
        order, words = _sorted(scanner)
        return cls(scanner, of_runs, lengths, [Part(order, of_words[order], words)], [])

    @property
    def longest(self) -> int:
        """Words of its longest run."""
        return int(self.lengths.max(initial=1))

    def add_runs(self, length: int, bits: int) -> None:
        """Put the runs of so many words in order."""
        codes = np.flatnonzero(self.lengths == length).astype(np.int32)
        keys, counts = np.empty(len(codes), dtype=np.uint64), np.empty((len(codes), 2), dtype=np.int64)
        of_words, of_shorter = self._places_by_code(1), self._places_by_code(length - 1)
        ordering.keys_of(codes, self.scanner.pairs, of_words, of_shorter, np.uint64(bits), keys)
        keys, codes = ordering.sort_keys(keys, codes, keys.max(initial=np.uint64(0)))
        ordering.take_counts(codes, self.counts_of_runs, counts)
        self.parts.append(Part(codes, counts, keys))

    def _places_by_code(self, length: int) -> Array:
        places = np.empty(self.scanner.n_words if length == 1 else self.scanner.n_runs, dtype=np.int64)
        places[self.parts[length - 1].codes] = self.places[length - 1]
        return places

    def columns(self, levels: list[Level], places: list[Array]) -> Columns:
        """Where its words and runs are among all terms."""
        of_words, of_runs = (np.empty(n, dtype=np.int32) for n in (self.scanner.n_words, self.scanner.n_runs))
        for length, (part, own, level, there) in enumerate(zip(self.parts, self.places, levels, places, strict=True)):
            ordering.columns_of(part.codes, own, there, level.counts, of_runs if length else of_words)
        return Columns(of_words, of_runs)


class Level(NamedTuple):
    """The runs of one length in ascending order.

    A key is the place of what comes before the last word, and in its lowest `bits` bits the place of that word. Those
    of words by themselves are not used.
    """

    keys: Array
    bits: int
    #: documents and occurrences
    counts: Array

    @property
    def counted(self) -> Array:
        return np.asarray(self.counts[:, 0] > 0)


def _levels(found: list[Found]) -> tuple[Texts, list[Level]]:
    """The words; and what was counted of them, of runs of two words, …"""
    words = _united(found, _merged_words)
    levels, bits = [Level(words.heads, 0, _counted(found, len(words)))], len(words).bit_length()
    for length in range(2, 1 + max(one.longest for one in found)):
        ordered_map(partial(Found.add_runs, length=length, bits=bits), found)
        keys = _united(found, _merged_keys)
        levels.append(Level(keys, bits, _counted(found, len(keys))))
    return words.texts, levels


def _counted(found: list[Found], many: int) -> Array:
    """Documents and occurrences of what was united last."""
    counts = np.zeros((many, 2), dtype=np.int64)
    for one in found:
        ordering.add_counts(one.places[-1], one.parts[-1].counts, counts)
    return counts


def _places(levels: list[Level]) -> list[Array]:
    """Where each run is among all terms that were counted: after what it begins with, and all else that does."""
    sizes = [level.counted.astype(np.int64) for level in levels]
    for shorter, longer, level in zip(sizes[-2::-1], sizes[:0:-1], levels[:0:-1], strict=True):
        ordering.add_up(level.keys, np.uint64(level.bits), longer, shorter)
    places = [np.cumsum(sizes[0]) - sizes[0]]
    for level, above, size in zip(levels[1:], levels, sizes[1:], strict=False):
        below = np.empty(len(level.keys), dtype=np.int64)
        ordering.place_below(level.keys, np.uint64(level.bits), size, places[-1] + above.counted, below)
        places.append(below)
    return places


def _terms(levels: list[Level], places: list[Array]) -> tuple[Array, Array, Array]:
    """The terms that were counted, in ascending order: the place of a word, or −1 − the position of a run in all levels
    one after the other; documents that hold each, and how often it occurs."""
    many = sum(int(level.counted.sum()) for level in levels)
    terms, documents, occurrences = (np.empty(many, dtype=np.int64) for _ in range(3))
    ordering.write_terms(places[0], levels[0].counts, 0, 1, terms, documents, occurrences)
    for start, level, place in zip(_starts(levels), levels[1:], places[1:], strict=False):
        ordering.write_terms(place, level.counts, -1 - int(start), -1, terms, documents, occurrences)
    return terms, documents, occurrences


def _starts(levels: list[Level]) -> Array:
    return np.cumsum([0, *(len(level.keys) for level in levels[1:])])


def _spelled(terms: Array, words: Texts, levels: list[Level]) -> Texts:
    if len(levels) == 1:
        return words if len(terms) == len(words) else words.take(terms)
    starts = _starts(levels)
    pairs = np.empty(starts[-1], dtype=np.uint64)
    for level, above, start in zip(levels[1:], [-1, *starts], starts, strict=False):
        part = pairs[start : start + len(level.keys)]
        ordering.pairs_of(level.keys, np.uint64(level.bits), int(above), part)
    lengths, offsets = np.empty(len(pairs), dtype=np.int64), np.empty(len(terms) + 1, dtype=np.int64)
    spelling.spell_lengths(words.offsets, pairs, lengths)
    spelling.spell_offsets(terms, words.offsets, lengths, offsets)
    out = np.empty(offsets[-1] + SPARE, dtype=np.uint8)

    def spell(rows: slice) -> None:
        ends = offsets[rows.start : rows.stop + 1]
        spelling.spell(terms[rows], words.offsets, words.data, pairs, len(levels), ends, out)

    ordered_map(spell, row_blocks(len(terms), TERMS))
    return Texts(out, offsets)


def _sorted(scanner: Scanner) -> tuple[Array, Words]:
    """The codes of words in ascending order, and the words so.

    Most are told apart by their first eight bytes, as numbers; the others are sorted as strings.
    """
    words = scanner.spelled_words()
    heads = scanner.words.signatures[: scanner.n_words, 0].byteswap()
    order = np.argsort(heads)
    heads = heads[order]
    equal, same = heads[1:] == heads[:-1], np.zeros(len(heads), dtype=bool)
    same[1:] |= equal
    same[:-1] |= equal
    alike = order[same]
    order[same] = alike[words.take(alike).order()]
    offsets = np.concatenate([[0], np.cumsum(np.diff(words.offsets)[order])])
    data = np.empty(offsets[-1] + SPARE, dtype=np.uint8)
    spelling.take_strings(order, words.offsets, words.data, offsets, data)
    return order, Words(heads, Texts(data, offsets))


def _united(found: list[Found], merge: Callable[[K, K], tuple[K, Array, Array]]) -> K:
    """All that each has put in order last, in order and each once; where that of each is then is noted."""
    lists: list[K] = [one.parts[-1].keys for one in found]
    union, places = _merged(lists, merge)
    for one, place in zip(found, places, strict=True):
        one.places.append(place)
    return union


def _merged(parts: list[K], merge: Callable[[K, K], tuple[K, Array, Array]]) -> tuple[K, list[Array]]:
    if len(parts) == 1:
        return parts[0], [np.arange(len(parts[0]))]
    half = len(parts) // 2
    (one, mine), (other, theirs) = _merged(parts[:half], merge), _merged(parts[half:], merge)
    both, of_one, of_other = merge(one, other)
    if len(parts) == 2:
        return both, [of_one, of_other]
    return both, [*(of_one[places] for places in mine), *(of_other[places] for places in theirs)]


def _merged_keys(one: Array, other: Array) -> tuple[Array, Array, Array]:
    both = np.empty(len(one) + len(other), dtype=np.uint64)
    of_one, of_other = (np.empty(len(keys), dtype=np.int64) for keys in (one, other))
    count = ordering.merge_keys(one, other, both, of_one, of_other)
    return both[:count], of_one, of_other


def _merged_words(one: Words, other: Words) -> tuple[Words, Array, Array]:
    many = len(one) + len(other)
    heads, offsets = np.empty(many, dtype=np.uint64), np.empty(many + 1, dtype=np.int64)
    data = np.empty(one.texts.n_bytes + other.texts.n_bytes + SPARE, dtype=np.uint8)
    of_one, of_other = (np.empty(len(words), dtype=np.int64) for words in (one, other))
    mine, theirs = ((words.heads, words.texts.offsets, words.texts.data) for words in (one, other))
    count = ordering.merge_strings(*mine, *theirs, heads, offsets, data, of_one, of_other)
    return Words(heads[:count], Texts(data, offsets[: count + 1])), of_one, of_other
