"""The union of the terms that several scanners found: all terms in ascending order, and the columns of each scanner's
codes.

Runs of words are far more numerous than words and may take more memory than the matrix. Arrays are therefore freed as
soon as they are not needed, and positions are 32-bit numbers, as columns are.
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
from mercer.text._term_loops import SPARE_BYTES
from mercer.text._vocabulary import Vocabulary

K = TypeVar("K", bound=Sized)

#: the column number of terms without a column
NO_COLUMN = np.int32(-1)
#: number of terms spelled by a thread at a time
TERMS_AT_ONCE = 1 << 16


class TermColumnNumbers(NamedTuple):
    """The columns of words and runs, by the codes of a scanner."""

    of_words: Array
    of_runs: Array

    def renumber(self, columns: Array) -> TermColumnNumbers:
        """Return the result of replacing column j by columns[j]; `NO_COLUMN` is unchanged."""
        extended = np.append(columns, NO_COLUMN)
        return TermColumnNumbers(extended[self.of_words], extended[self.of_runs])


def unite_scans(scanned: Sequence[Scanned]) -> tuple[Vocabulary, dict[Scanner, TermColumnNumbers]]:
    """Return the vocabulary of all documents, and the columns of each scanner's words and runs in it."""
    if not scanned:
        return Vocabulary.empty(), {}
    # 1. Sort and merge the words of all scanners, then the runs of two words, of three, …
    scanners = list(dict.fromkeys(one.scanner for one in scanned))
    terms_of_scanners = ordered_map(FoundTerms.of, scanners)
    words, levels = _merge_levels(terms_of_scanners)
    # 2. Find the position of each term in the order of all terms, and so the columns of each scanner's codes.
    places = _find_places(levels)
    columns = dict(
        zip(
            scanners,
            ordered_map(partial(FoundTerms.columns, levels=levels, places=places), terms_of_scanners),
            strict=True,
        )
    )
    del terms_of_scanners
    terms, longest = _order_terms(levels, places), len(levels)
    del places
    # 3. Spell the terms.
    pairs = _join_pairs(levels)
    del levels
    texts = _spell_terms(terms, words, pairs, longest)
    del words, pairs
    # 4. Add up the counts of all scanners.
    documents, occurrences = _add_up_counts(scanned, columns, len(terms))
    return Vocabulary(texts, documents, occurrences, sum(len(one.rows) - 1 for one in scanned)), columns


@dataclass(frozen=True, eq=False)
class SortedWords:
    """Distinct strings in ascending order, with `SPARE_BYTES` bytes after them, and the first eight bytes of each as a
    number.
    """

    heads: Array
    texts: Texts

    def __len__(self) -> int:
        return len(self.heads)


@dataclass(eq=False)
class FoundTerms:
    """The words, runs of two words, … that one scanner found, and their positions among those of all scanners."""

    #: codes below this are stop words, which are not terms
    n_stop: int
    #: number of words of the shortest run that is a term
    shortest: int
    pairs: Array
    #: number of words of each run
    lengths: Array
    #: codes of the words, of the runs of two words, …; each in ascending order of the terms
    codes: list[Array]
    #: positions of the words, of the runs of two words, … among those of all scanners
    places: list[Array]
    #: the sorted words, or keys of the runs, of the last level
    keys: Any

    @classmethod
    def of(cls, scanner: Scanner) -> FoundTerms:
        """Take the terms of a scanner, and sort its words."""
        texts, heads, pairs = scanner.release()
        lengths = term_loops.empty(len(pairs), np.uint8)
        matrix_loops.count_words(pairs, lengths)
        codes, words = _sort_words(texts, heads)
        return cls(scanner.n_stop, scanner.shortest_run, pairs, lengths, [codes], [], words)

    @property
    def longest(self) -> int:
        """Number of words of the longest run."""
        return int(self.lengths.max(initial=1))

    def sort_runs(self, length: int, bits: int) -> None:
        """Sort the runs of `length` words."""
        codes = term_loops.empty(int(np.count_nonzero(self.lengths == length)), np.int32)
        matrix_loops.find_runs(self.lengths, length, codes)
        keys, spare = term_loops.empty(len(codes), np.uint64), term_loops.empty(len(codes), np.uint64)
        word_places, run_places = self._places_by_code(1), self._places_by_code(length - 1)
        matrix_loops.make_keys(codes, self.pairs, word_places, run_places, np.uint64(bits), keys)
        spare_codes, highest = term_loops.empty(len(codes), np.int32), keys.max(initial=np.uint64(0))
        self.keys, codes = matrix_loops.sort_keys(keys, codes, spare, spare_codes, highest)
        self.codes.append(codes)

    def _places_by_code(self, length: int) -> Array:
        places: Array = term_loops.empty(len(self.codes[0]) if length == 1 else len(self.pairs), np.int32)
        places[self.codes[length - 1]] = self.places[length - 1]
        return places

    def columns(self, levels: list[TermLevel], places: list[Array]) -> TermColumnNumbers:
        """Return the positions of the words and runs among all terms."""
        of_words, of_runs = term_loops.empty(len(self.codes[0]), np.int32), term_loops.empty(len(self.pairs), np.int32)
        for depth, (codes, own, level, place) in enumerate(zip(self.codes, self.places, levels, places, strict=True)):
            matrix_loops.assign_columns(codes, own, place, level.counted, of_runs if depth else of_words)
        return TermColumnNumbers(of_words, of_runs)


class TermLevel(NamedTuple):
    """The runs of one length in ascending order.

    A key consists of the position of the run without its last word and, in its lowest `bits` bits, the position of the
    last word. The keys of single words are not used.
    """

    keys: Array
    bits: int
    #: whether each run is a term
    counted: Array


def _merge_levels(terms_of_scanners: list[FoundTerms]) -> tuple[Texts, list[TermLevel]]:
    """Return the words, and the levels of the words, of the runs of two words, …"""
    words, shortest = _merge_last_level(terms_of_scanners, _merge_two_words), terms_of_scanners[0].shortest
    counted = np.zeros(len(words), dtype=bool)
    for one in terms_of_scanners:
        counted[one.places[0]] = (one.codes[0] >= one.n_stop) & (shortest == 1)
    levels, bits = [TermLevel(words.heads, 0, counted)], len(words).bit_length()
    for length in range(2, 1 + max(one.longest for one in terms_of_scanners)):
        ordered_map(partial(FoundTerms.sort_runs, length=length, bits=bits), terms_of_scanners)
        keys = _merge_last_level(terms_of_scanners, _merge_two_keys)
        levels.append(TermLevel(keys, bits, np.full(len(keys), length >= shortest)))
    return words.texts, levels


def _find_places(levels: list[TermLevel]) -> list[Array]:
    """Return the position of each run among all terms: a run follows its beginning and precedes longer beginnings."""
    sizes = [term_loops.copied(level.counted, np.int32) for level in levels]
    for shorter, longer, level in zip(sizes[-2::-1], sizes[:0:-1], levels[:0:-1], strict=True):
        matrix_loops.add_up(level.keys, np.uint64(level.bits), longer, shorter)
    places = [np.cumsum(sizes[0], dtype=np.int32) - sizes[0]]
    for level, above, size in zip(levels[1:], levels, sizes[1:], strict=False):
        below = term_loops.empty(len(level.keys), np.int32)
        matrix_loops.place_below(level.keys, np.uint64(level.bits), size, places[-1] + above.counted, below)
        places.append(below)
    return places


def _order_terms(levels: list[TermLevel], places: list[Array]) -> Array:
    """Return all terms in ascending order: the position of a word, or −1 − that of a run in the concatenated levels."""
    terms: Array = term_loops.empty(sum(int(np.count_nonzero(level.counted)) for level in levels), np.int32)
    matrix_loops.write_terms(places[0], levels[0].counted, 0, 1, terms)
    for start, level, place in zip(_level_starts(levels), levels[1:], places[1:], strict=False):
        matrix_loops.write_terms(place, level.counted, -1 - int(start), -1, terms)
    return terms


def _level_starts(levels: list[TermLevel]) -> Array:
    return np.cumsum([0, *(len(level.keys) for level in levels[1:])])


def _join_pairs(levels: list[TermLevel]) -> Array:
    """Return the runs of all levels as pairs of codes, of the run without its last word and of this word."""
    starts = _level_starts(levels)
    pairs: Array = term_loops.empty(int(starts[-1]), np.uint64)
    for level, above, start in zip(levels[1:], [-1, *starts], starts, strict=False):
        part = pairs[start : start + len(level.keys)]
        matrix_loops.make_pairs(level.keys, np.uint64(level.bits), int(above), part)
    return pairs


def _spell_terms(terms: Array, words: Texts, pairs: Array, longest: int) -> Texts:
    if longest == 1:
        return words if len(terms) == len(words) else words.take(terms)
    lengths, offsets = term_loops.empty(len(pairs), np.int32), np.empty(len(terms) + 1, dtype=np.int64)
    term_loops.spell_lengths(words.offsets, pairs, lengths)
    term_loops.spell_offsets(terms, words.offsets, lengths, offsets)
    out = np.empty(offsets[-1] + SPARE_BYTES, dtype=np.uint8)

    def spell(rows: slice) -> None:
        ends = offsets[rows.start : rows.stop + 1]
        term_loops.spell(terms[rows], words.offsets, words.data, pairs, longest, ends, out)

    ordered_map(spell, row_blocks(len(terms), TERMS_AT_ONCE))
    return Texts(out, offsets)


def _add_up_counts(
    scanned: Sequence[Scanned], columns: dict[Scanner, TermColumnNumbers], n_terms: int
) -> tuple[Array, Array]:
    """Return the number of documents that contain each term, and its number of occurrences in all of them."""

    def tally(scanner: Scanner) -> list[Array]:
        counts = [term_loops.empty((len(codes), 2), np.int64) for codes in columns[scanner]]
        for one in counts:
            one[:] = 0
        for part in scanned:
            if part.scanner is scanner:
                matrix_loops.tally(part.codes, part.counts, *counts)
        return counts

    documents, occurrences = np.zeros(n_terms, dtype=np.int64), np.zeros(n_terms, dtype=np.int64)
    for numbers, tallies in zip(columns.values(), ordered_map(tally, columns), strict=True):
        for places, counts in zip(numbers, tallies, strict=True):
            matrix_loops.add_counts(places, counts, documents, occurrences)
    return documents, occurrences


def _sort_words(words: Texts, heads: Array) -> tuple[Array, SortedWords]:
    """Return the codes of words in ascending order, and the sorted words.

    Most words differ in their first eight bytes, which are compared as numbers; the others are sorted as strings.
    """
    order = np.argsort(heads)
    heads = heads[order]
    equal, same = heads[1:] == heads[:-1], np.zeros(len(heads), dtype=bool)
    same[1:] |= equal
    same[:-1] |= equal
    ties = order[same]
    order[same] = ties[words.take(ties).order()]
    offsets = np.concatenate([[0], np.cumsum(np.diff(words.offsets)[order])])
    data = np.empty(offsets[-1] + SPARE_BYTES, dtype=np.uint8)
    term_loops.take_strings(order, words.offsets, words.data, offsets, data)
    return order.astype(np.int32), SortedWords(heads, Texts(data, offsets))


def _merge_last_level(terms_of_scanners: list[FoundTerms], merge: Callable[[K, K], tuple[K, Array, Array]]) -> K:
    """Return the sorted union of the last level of all scanners, and store the positions of each scanner's in it."""
    lists: list[K] = [one.keys for one in terms_of_scanners]
    union, places = _merge(lists, merge)
    for one, place in zip(terms_of_scanners, places, strict=True):
        one.places.append(place)
        one.keys = None
    return union


def _merge(parts: list[K], merge: Callable[[K, K], tuple[K, Array, Array]]) -> tuple[K, list[Array]]:
    if len(parts) == 1:
        return parts[0], [np.arange(len(parts[0]), dtype=np.int32)]
    half = len(parts) // 2
    (one, mine), (other, theirs) = _merge(parts[:half], merge), _merge(parts[half:], merge)
    both, of_one, of_other = merge(one, other)
    if len(parts) == 2:
        return both, [of_one, of_other]
    return both, [*(of_one[places] for places in mine), *(of_other[places] for places in theirs)]


def _merge_two_keys(one: Array, other: Array) -> tuple[Array, Array, Array]:
    both = term_loops.empty(len(one) + len(other), np.uint64)
    of_one, of_other = (term_loops.empty(len(keys), np.int32) for keys in (one, other))
    count = matrix_loops.merge_keys(one, other, both, of_one, of_other)
    return both[:count], of_one, of_other


def _merge_two_words(one: SortedWords, other: SortedWords) -> tuple[SortedWords, Array, Array]:
    n_words = len(one) + len(other)
    heads, offsets = np.empty(n_words, dtype=np.uint64), np.empty(n_words + 1, dtype=np.int64)
    data = np.empty(one.texts.n_bytes + other.texts.n_bytes + SPARE_BYTES, dtype=np.uint8)
    of_one, of_other = (np.empty(len(words), dtype=np.int32) for words in (one, other))
    mine, theirs = ((words.heads, words.texts.offsets, words.texts.data) for words in (one, other))
    count = matrix_loops.merge_strings(*mine, *theirs, heads, offsets, data, of_one, of_other)
    return SortedWords(heads[:count], Texts(data, offsets[: count + 1])), of_one, of_other
