"""What several scanners have found, put together: all terms in ascending order, and where each scanner's are.

Runs of words are many more than words, and may take more room than the matrix: what is not needed any more is given
back at once, and places are numbers of 32 bits, as columns are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.data.texts import Texts
from mercer.text import _matrix_loops as matrix_loops
from mercer.text import _term_loops as term_loops
from mercer.text._scanner import Scanned, Scanner
from mercer.text._term_loops import SPARE
from mercer.text._vocabulary import Vocabulary

K = TypeVar("K", bound=Sized)

#: where a term is that has no column
NOWHERE = np.int32(-1)
#: terms that a thread takes at once
TERMS = 1 << 16


class TermColumnNumbers(NamedTuple):
    """Where words and runs go, by code of a scanner."""

    of_words: Array
    of_runs: Array

    def moved(self, columns: Array) -> TermColumnNumbers:
        """The same if each column goes elsewhere; `NOWHERE` stays so."""
        there = np.append(columns, NOWHERE)
        return TermColumnNumbers(there[self.of_words], there[self.of_runs])


def united(scanned: Sequence[Scanned]) -> tuple[Vocabulary, dict[Scanner, TermColumnNumbers]]:
    """The vocabulary of all documents, and where each scanner's words and runs are in it."""
    if not scanned:
        return Vocabulary.nothing(), {}
    scanners = list(dict.fromkeys(one.scanner for one in scanned))
    found = ordered_map(FoundTerms.by, scanners)
    words, levels = _levels(found)
    places = _places(levels)
    there = ordered_map(partial(FoundTerms.columns, levels=levels, places=places), found)
    columns = dict(zip(scanners, there, strict=True))
    del found
    terms, most = _terms(levels, places), len(levels)
    del places
    pairs = _pairs(levels)
    del levels
    texts = _spelled(terms, words, pairs, most)
    del words, pairs
    documents, occurrences = _tallied(scanned, columns, len(terms))
    return Vocabulary(texts, documents, occurrences, sum(len(one.rows) - 1 for one in scanned)), columns


@dataclass(frozen=True, eq=False)
class JoinedWords:
    """Distinct strings in ascending order, with bytes to spare, and the first eight bytes of each as a number."""

    heads: Array
    texts: Texts

    def __len__(self) -> int:
        return len(self.heads)


@dataclass(eq=False)
class FoundTerms:
    """What one scanner has found: words, runs of two words, …; and where these are in what all have found."""

    #: the first so many words are no terms
    n_stop: int
    #: words of the shortest run that is a term
    shortest: int
    pairs: Array
    #: how many words a run has
    lengths: Array
    #: of words, of runs of two words, …; each in ascending order
    codes: list[Array]
    places: list[Array]
    #: what was put in order last
    keys: Any

    @classmethod
    def by(cls, scanner: Scanner) -> FoundTerms:
        texts, heads, pairs = scanner.give_up()
        lengths = term_loops.empty(len(pairs), np.uint8)
        matrix_loops.words_in(pairs, lengths)
        codes, words = _sorted(texts, heads)
        return cls(scanner.n_stop, scanner.shortest_run, pairs, lengths, [codes], [], words)

    @property
    def longest(self) -> int:
        """Words of its longest run."""
        return int(self.lengths.max(initial=1))

    def add_runs(self, length: int, bits: int) -> None:
        """Put the runs of so many words in order."""
        codes = term_loops.empty(int(np.count_nonzero(self.lengths == length)), np.int32)
        matrix_loops.codes_of(self.lengths, length, codes)
        keys, spare = term_loops.empty(len(codes), np.uint64), term_loops.empty(len(codes), np.uint64)
        of_words, of_shorter = self._places_by_code(1), self._places_by_code(length - 1)
        matrix_loops.keys_of(codes, self.pairs, of_words, of_shorter, np.uint64(bits), keys)
        spare_codes, highest = term_loops.empty(len(codes), np.int32), keys.max(initial=np.uint64(0))
        self.keys, codes = matrix_loops.sort_keys(keys, codes, spare, spare_codes, highest)
        self.codes.append(codes)

    def _places_by_code(self, length: int) -> Array:
        places: Array = term_loops.empty(len(self.codes[0]) if length == 1 else len(self.pairs), np.int32)
        places[self.codes[length - 1]] = self.places[length - 1]
        return places

    def columns(self, levels: list[Level], places: list[Array]) -> TermColumnNumbers:
        """Where its words and runs are among all terms."""
        of_words, of_runs = term_loops.empty(len(self.codes[0]), np.int32), term_loops.empty(len(self.pairs), np.int32)
        for length, (codes, own, level, there) in enumerate(zip(self.codes, self.places, levels, places, strict=True)):
            matrix_loops.columns_of(codes, own, there, level.counted, of_runs if length else of_words)
        return TermColumnNumbers(of_words, of_runs)


class Level(NamedTuple):
    """The runs of one length in ascending order.

    A key is the place of what comes before the last word, and in its lowest `bits` bits the place of that word. Those
    of words by themselves are not used.
    """

    keys: Array
    bits: int
    #: whether each is a term
    counted: Array


def _levels(found: list[FoundTerms]) -> tuple[Texts, list[Level]]:
    """The words; and of them, of runs of two words, …, which are terms."""
    words, shortest = _united(found, _merged_words), found[0].shortest
    counted = np.zeros(len(words), dtype=bool)
    for one in found:
        counted[one.places[0]] = (one.codes[0] >= one.n_stop) & (shortest == 1)
    levels, bits = [Level(words.heads, 0, counted)], len(words).bit_length()
    for length in range(2, 1 + max(one.longest for one in found)):
        ordered_map(partial(FoundTerms.add_runs, length=length, bits=bits), found)
        keys = _united(found, _merged_keys)
        levels.append(Level(keys, bits, np.full(len(keys), length >= shortest)))
    return words.texts, levels


def _places(levels: list[Level]) -> list[Array]:
    """Where each run is among all terms: after what it begins with, and all else that does."""
    sizes = [term_loops.copied(level.counted, np.int32) for level in levels]
    for shorter, longer, level in zip(sizes[-2::-1], sizes[:0:-1], levels[:0:-1], strict=True):
        matrix_loops.add_up(level.keys, np.uint64(level.bits), longer, shorter)
    places = [np.cumsum(sizes[0], dtype=np.int32) - sizes[0]]
    for level, above, size in zip(levels[1:], levels, sizes[1:], strict=False):
        below = term_loops.empty(len(level.keys), np.int32)
        matrix_loops.place_below(level.keys, np.uint64(level.bits), size, places[-1] + above.counted, below)
        places.append(below)
    return places


def _terms(levels: list[Level], places: list[Array]) -> Array:
    """All terms in ascending order: the place of a word, or −1 − the position of a run in all levels one after the
    other."""
    terms: Array = term_loops.empty(sum(int(np.count_nonzero(level.counted)) for level in levels), np.int32)
    matrix_loops.write_terms(places[0], levels[0].counted, 0, 1, terms)
    for start, level, place in zip(_starts(levels), levels[1:], places[1:], strict=False):
        matrix_loops.write_terms(place, level.counted, -1 - int(start), -1, terms)
    return terms


def _starts(levels: list[Level]) -> Array:
    return np.cumsum([0, *(len(level.keys) for level in levels[1:])])


def _pairs(levels: list[Level]) -> Array:
    """Runs of all levels one after the other, as pairs of codes: that of what comes before the last word, and of it."""
    starts = _starts(levels)
    pairs: Array = term_loops.empty(int(starts[-1]), np.uint64)
    for level, above, start in zip(levels[1:], [-1, *starts], starts, strict=False):
        part = pairs[start : start + len(level.keys)]
        matrix_loops.pairs_of(level.keys, np.uint64(level.bits), int(above), part)
    return pairs


def _spelled(terms: Array, words: Texts, pairs: Array, most: int) -> Texts:
    if most == 1:
        return words if len(terms) == len(words) else words.take(terms)
    lengths, offsets = term_loops.empty(len(pairs), np.int32), np.empty(len(terms) + 1, dtype=np.int64)
    term_loops.spell_lengths(words.offsets, pairs, lengths)
    term_loops.spell_offsets(terms, words.offsets, lengths, offsets)
    out = np.empty(offsets[-1] + SPARE, dtype=np.uint8)

    def spell(rows: slice) -> None:
        ends = offsets[rows.start : rows.stop + 1]
        term_loops.spell(terms[rows], words.offsets, words.data, pairs, most, ends, out)

    ordered_map(spell, row_blocks(len(terms), TERMS))
    return Texts(out, offsets)


def _tallied(scanned: Sequence[Scanned], columns: dict[Scanner, TermColumnNumbers], many: int) -> tuple[Array, Array]:
    """Documents that hold each term, and how often it occurs in all of them."""

    def tally(scanner: Scanner) -> list[Array]:
        counts = [term_loops.empty((len(codes), 2), np.int64) for codes in columns[scanner]]
        for one in counts:
            one[:] = 0
        for part in scanned:
            if part.scanner is scanner:
                matrix_loops.tally(part.codes, part.counts, *counts)
        return counts

    documents, occurrences = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
    for there, tallies in zip(columns.values(), ordered_map(tally, columns), strict=True):
        for places, counts in zip(there, tallies, strict=True):
            matrix_loops.add_counts(places, counts, documents, occurrences)
    return documents, occurrences


def _sorted(words: Texts, heads: Array) -> tuple[Array, JoinedWords]:
    """The codes of words in ascending order, and the words so.

    Most are told apart by their first eight bytes, as numbers; the others are sorted as strings.
    """
    order = np.argsort(heads)
    heads = heads[order]
    equal, same = heads[1:] == heads[:-1], np.zeros(len(heads), dtype=bool)
    same[1:] |= equal
    same[:-1] |= equal
    alike = order[same]
    order[same] = alike[words.take(alike).order()]
    offsets = np.concatenate([[0], np.cumsum(np.diff(words.offsets)[order])])
    data = np.empty(offsets[-1] + SPARE, dtype=np.uint8)
    term_loops.take_strings(order, words.offsets, words.data, offsets, data)
    return order.astype(np.int32), JoinedWords(heads, Texts(data, offsets))


def _united(found: list[FoundTerms], merge: Callable[[K, K], tuple[K, Array, Array]]) -> K:
    """All that each has put in order last, in order and each once; where that of each is then is noted."""
    lists: list[K] = [one.keys for one in found]
    union, places = _merged(lists, merge)
    for one, place in zip(found, places, strict=True):
        one.places.append(place)
        one.keys = None
    return union


def _merged(parts: list[K], merge: Callable[[K, K], tuple[K, Array, Array]]) -> tuple[K, list[Array]]:
    if len(parts) == 1:
        return parts[0], [np.arange(len(parts[0]), dtype=np.int32)]
    half = len(parts) // 2
    (one, mine), (other, theirs) = _merged(parts[:half], merge), _merged(parts[half:], merge)
    both, of_one, of_other = merge(one, other)
    if len(parts) == 2:
        return both, [of_one, of_other]
    return both, [*(of_one[places] for places in mine), *(of_other[places] for places in theirs)]


def _merged_keys(one: Array, other: Array) -> tuple[Array, Array, Array]:
    both = term_loops.empty(len(one) + len(other), np.uint64)
    of_one, of_other = (term_loops.empty(len(keys), np.int32) for keys in (one, other))
    count = matrix_loops.merge_keys(one, other, both, of_one, of_other)
    return both[:count], of_one, of_other


def _merged_words(one: JoinedWords, other: JoinedWords) -> tuple[JoinedWords, Array, Array]:
    many = len(one) + len(other)
    heads, offsets = np.empty(many, dtype=np.uint64), np.empty(many + 1, dtype=np.int64)
    data = np.empty(one.texts.n_bytes + other.texts.n_bytes + SPARE, dtype=np.uint8)
    of_one, of_other = (np.empty(len(words), dtype=np.int32) for words in (one, other))
    mine, theirs = ((words.heads, words.texts.offsets, words.texts.data) for words in (one, other))
    count = matrix_loops.merge_strings(*mine, *theirs, heads, offsets, data, of_one, of_other)
    return JoinedWords(heads[:count], Texts(data, offsets[: count + 1])), of_one, of_other
