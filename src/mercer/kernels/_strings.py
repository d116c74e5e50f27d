"""Kernels of texts, and of other sequences of symbols.

Sequences are stored as numbers, one for each symbol, one sequence after another.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np

from mercer._errors import ColumnTypeError, DataError, KernelError, NonFiniteError
from mercer._jit.gram import mirror
from mercer._stored import integers, stored
from mercer._stored import whole as whole_number
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.kernels._counting import CountingKernel, CountMap, KernelVocabulary, RunCounts, Runs
from mercer.kernels._subsequence_loops import PAIR_LANES, compute_diagonal, compute_tile
from mercer.kernels.base import Kernel, check_number, check_whole
from mercer.kernels.inputs import is_measurement, is_missing, is_sparse, to_objects
from mercer.kernels.views import Memo, Views

#: numbers of symbols that are neither letters nor bytes
Alphabet = dict[Hashable, int]


def _is_consistent(own: Sequences) -> bool:
    """Return whether sequences lie in the codes, and symbols are numbered in order."""
    lie_inside = bool(own.bounds.size) and int(own.bounds[-1]) <= len(own.codes)
    return lie_inside and (own.alphabet is None or is_numbered_in_order(own.alphabet))


def is_numbered_in_order(alphabet: Mapping[Hashable, int]) -> bool:
    """Return whether symbols have the numbers 0, 1, … in the order of their first appearance."""
    return list(alphabet.values()) == list(range(len(alphabet)))


@stored(
    _is_consistent,
    codes=integers("b", least=None),
    bounds=integers("e", order="rising"),
)
@dataclass(frozen=True, eq=False)
class Sequences:
    """Symbols of all sequences, and the bounds of each sequence.

    `kind` is str, bytes or list; only lists have an `alphabet`, since letters and bytes have numbers of their own.
    """

    codes: Array
    bounds: Array
    kind: type
    alphabet: Alphabet | None = None

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def take(self, rows: Any) -> Self:
        """Return some of the sequences, by a slice or their positions."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            bounds = self.bounds[start : max(start, stop) + 1]
            return replace(self, codes=self.codes[bounds[0] : bounds[-1]], bounds=bounds - bounds[0])
        rows = np.arange(len(self))[rows]
        starts, lengths = self.bounds[rows], np.diff(self.bounds)[rows]
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], lengths)
        return replace(self, codes=self.codes[places], bounds=bounds)

    def decode(self, codes: Array) -> Any:
        """Return a sequence as it was given: a text, bytes, or a tuple of symbols."""
        if self.alphabet is None:
            return "".join(map(chr, codes)) if self.kind is str else bytes(codes.tolist())
        symbols = list(self.alphabet)
        return tuple(symbols[code] for code in codes)


def get_sequences(views: Views) -> Sequences:
    """Return the rows as sequences, read once for all parts of a kernel."""

    def make() -> Sequences:
        return read_sequences(views.raw, None if views.like is None else get_sequences(views.like))

    return views.once("sequences", make)


def read_sequences(rows: Any, like: Sequences | None = None) -> Sequences:
    """Read rows of texts, of bytes, or of lists of symbols; known symbols keep their numbers in `like`."""
    things = list(_check_sequences(rows))
    kind = _find_kind(things)
    if like is not None and things and kind is not like.kind:
        raise ColumnTypeError(
            f"X is made of {_name_kind(kind)}, but the rows it is compared with of {_name_kind(like.kind)}; "
            "give both the same kind."
        )
    bounds = np.concatenate([[0], np.cumsum([len(thing) for thing in things], dtype=np.int64)])
    if kind is str:
        letters = "".join(things).encode("utf-32-le", "surrogatepass")
        return Sequences(np.frombuffer(letters, np.uint32).astype(np.int32), bounds, str)
    if kind is bytes:
        return Sequences(np.frombuffer(b"".join(things), np.uint8).astype(np.int32), bounds, bytes)
    alphabet = dict(like.alphabet) if like is not None and like.alphabet is not None else {}
    codes = [alphabet.setdefault(symbol, len(alphabet)) for symbol in _iterate_symbols(things)]
    return Sequences(np.array(codes, np.int32), bounds, list, alphabet)


def _check_sequences(rows: Any) -> Iterable[Any]:
    if isinstance(rows, (str, bytes)):
        raise DataError(
            f"X is one text, {rows[:20]!r}, where rows are expected; give a list of texts, [{rows[:20]!r}]."
        )
    shape = getattr(rows, "shape", None)
    if not isinstance(rows, Iterable) or is_sparse(rows) or shape == ():
        raise ColumnTypeError(f"X is {rows!r}, where texts or lists of symbols are expected; give a list of them.")
    return to_objects(rows) if shape is None or len(shape) == 1 or shape[1:] == (1,) else np.asarray(rows)


def _find_kind(things: Sequence[Any]) -> type:
    """Return str, bytes or list, the kind of all rows."""
    if set(map(type, things)) <= {str}:
        return str
    kinds = [_find_kind_of_row(row, thing) for row, thing in enumerate(things)]
    for row, kind in enumerate(kinds):
        if kind is not kinds[0]:
            raise ColumnTypeError(
                f"row {row} is made of {_name_kind(kind)}, but row 0 of {_name_kind(kinds[0])}; "
                "give all rows the same kind."
            )
    return kinds[0]


def _find_kind_of_row(row: int, thing: Any) -> type:
    if isinstance(thing, (str, bytes)):
        return str if isinstance(thing, str) else bytes
    if is_missing(thing):
        raise NonFiniteError(f"Input X contains {thing!r} in row {row}, where a text is expected; drop the row.")
    if isinstance(thing, Sequence) or (isinstance(thing, np.ndarray) and thing.ndim == 1):
        return list
    raise ColumnTypeError(
        f"row {row} is {thing!r}, where a text or a list of symbols is expected; use str(…) if its digits are meant, "
        "or a kernel of numbers such as RBF()."
    )


def _iterate_symbols(things: Iterable[Any]) -> Iterator[Hashable]:
    for symbol in chain.from_iterable(thing.tolist() if isinstance(thing, np.ndarray) else thing for thing in things):
        if is_missing(symbol):
            raise NonFiniteError(f"Input X contains the symbol {symbol!r}, which is a gap, not a symbol; leave it out.")
        if not isinstance(symbol, Hashable) or is_measurement(type(symbol)):
            raise ColumnTypeError(
                f"{symbol!r} is not a symbol: symbols are texts or whole numbers, equal or not. Use a kernel of "
                "numbers such as RBF() for measurements, or cut them into bins first."
            )
        yield symbol


def _name_kind(kind: type) -> str:
    names: dict[type, str] = {str: "letters", bytes: "bytes", list: "symbols in lists"}
    return names[kind]


#: texts that a thread processes at once
TEXT_BLOCK = 32


@stored()
@dataclass(frozen=True, repr=False)
class Spectrum(CountingKernel):
    """Σ over all substrings u of one length of its count in s times its count in t (Leslie et al. 2002).

    Rows are texts, bytes, or lists of symbols (texts or whole numbers). A row shorter than the length has no such
    substrings: its kernel is 0 with every row.

    Parameters
    ----------
    length : int, default=3
        Symbols of a substring.

    Examples
    --------
    >>> Spectrum(2)(["banana"], ["ananas", "bandana"])
    array([[8., 7.]])
    >>> words = Spectrum(1).feature_map([["to", "be"], ["or", "not", "to", "be"]])
    >>> words.names
    [('to',), ('be',), ('or',), ('not',)]
    >>> words([["to", "be", "to", "see"]]).toarray()
    array([[2., 1., 0., 0.]])
    """

    length: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", check_whole(self.length, "the length", "Spectrum", least=1))

    @property
    def reason(self) -> str:
        return "an inner product of counts, one for every substring"

    def learn(self, rows: Any) -> tuple[Substrings, RunCounts]:
        sequences = read_sequences(rows)
        numbers, bounds, runs = _number_substrings(Runs.empty(), sequences, self.length)
        vocabulary = Substrings(self.length, runs, sequences.take(slice(0)))
        return vocabulary, RunCounts.of(numbers, bounds, len(runs))

    def feature_map(self, columns: Any) -> SubstringMap:
        """Return counts of the substrings of these rows: `kernel.feature_map(rows)`; `names` are the substrings."""
        return SubstringMap(self.learn(columns)[0])


def _is_readable(own: Substrings) -> bool:
    """Return whether all runs have the length of a substring, and numbers that stand for symbols."""
    words, alphabet = own.runs.words, own.like.alphabet
    letters = sys.maxunicode if own.like.kind is str else 255
    most = letters if alphabet is None else len(alphabet) - 1
    lengths = np.diff(own.runs.ends, prepend=0)
    return bool((lengths == own.length).all() and (words >= 0).all() and (words <= most).all())


@stored(_is_readable, length=whole_number(1))
@dataclass(frozen=True, eq=False)
class Substrings(KernelVocabulary):
    """Different substrings of one length, in the order of their first appearance."""

    length: int
    runs: Runs
    #: no sequences, but the symbols of which they are made
    like: Sequences

    @property
    def n_features(self) -> int:
        return len(self.runs)

    def count(self, rows: Any) -> RunCounts:
        numbers, bounds, _ = _number_substrings(self.runs, read_sequences(rows, self.like), self.length)
        return RunCounts.of(numbers, bounds, len(self.runs))


@stored()
class SubstringMap(CountMap):
    """Counts of substrings; those that are in no row of the fit have no column."""

    vocabulary: Substrings

    @property
    def names(self) -> list[Any]:
        """Substring of each column."""
        words = self.vocabulary.runs.words.reshape(-1, self.vocabulary.length)
        return [self.vocabulary.like.decode(run) for run in words]


def _number_substrings(known: Runs, sequences: Sequences, length: int) -> tuple[Array, Array, Runs]:
    """Return the number of each substring, the bounds of each sequence among these, and all runs known then."""
    counts = np.maximum(np.diff(sequences.bounds) - length + 1, 0)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    starts = np.arange(bounds[-1]) + np.repeat(sequences.bounds[:-1] - bounds[:-1], counts)
    numbers, runs = known.number(sequences.codes.astype(np.int64), starts, starts + length)
    return numbers, bounds, runs


@dataclass(frozen=True, eq=False)
class _TextRows:
    """Sequences, and the part of all rows that they are: None if that is not a slice."""

    sequences: Sequences
    part: tuple[Any, ...] | None

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def longest(self) -> int:
        """Return the length of the longest sequence."""
        return int(np.diff(self.sequences.bounds).max(initial=0))

    def take(self, rows: Any) -> Self:
        part = (self.sequences, rows.start, rows.stop, rows.step) if isinstance(rows, slice) else None
        return replace(self, sequences=self.sequences.take(rows), part=part)


@stored()
@dataclass(frozen=True, repr=False)
class Subsequence(Kernel):
    """`Σ λ^(|i| + |j|)` over all places i in s and j in t of the same subsequence, gaps allowed (Lodhi et al. 2002).

    Subsequences have one length; `|i|` is the number of symbols that a place spans, from the first to the last.

    Rows are texts, bytes, or lists of symbols. Long rows have more in common than short ones: `.normalised()` is the
    usual form. It takes `length·|s|·|t|` steps, and none where no row is that long.

    Parameters
    ----------
    length : int, default=3
        Symbols of a subsequence.
    decay : float, default=0.5
        λ, above 0 and up to 1; with 1 gaps cost nothing.

    Examples
    --------
    >>> Subsequence(2)(["cat"], ["car"])
    array([[0.0625]])
    """

    length: int = 3
    decay: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", check_whole(self.length, "the length", "Subsequence", least=1))
        decay = check_number(self.decay, "the decay", "Subsequence", above=True)
        if decay > 1:
            raise KernelError(f"the decay of Subsequence must be above 0 and no more than 1, got {decay!r}.")
        object.__setattr__(self, "decay", decay)

    @property
    def reason(self) -> str:
        return "an inner product of weights, one for every subsequence"

    @property
    def numeric(self) -> bool:
        return False

    @property
    def slow(self) -> bool:
        return True

    def prepared(self, views: Views) -> _TextRows:
        return _TextRows(get_sequences(views), None)

    def tile(self, left: _TextRows, right: _TextRows, memo: Memo) -> Array:
        if self.length > min(left.longest, right.longest):
            return np.zeros((len(left), len(right)))
        triangle = left.part is not None and left.part == right.part
        if not triangle and len(right) < PAIR_LANES < len(left):  # lanes would be empty
            return np.ascontiguousarray(self.tile(right, left, memo).T)
        # sequences of like length side by side: little is padded
        rows, columns = (np.argsort(np.diff(side.sequences.bounds), kind="stable") for side in (left, right))
        first, second = left.sequences.take(rows), right.sequences.take(columns)

        def part(block: slice) -> Array:
            one, two = first.take(block), second.take(slice(block.stop)) if triangle else second
            first_row = block.start if triangle else -1
            values = compute_tile(one.codes, one.bounds, two.codes, two.bounds, self.length, self.decay, first_row)
            return check_overflow(self, values)

        result = np.zeros((len(left), len(right)))
        blocks = row_blocks(len(left), TEXT_BLOCK)
        for block, values in zip(blocks, ordered_map(part, blocks), strict=True):
            result[block, : values.shape[1]] = values
        if triangle:
            mirror(result)
        unsorted = np.empty_like(result)
        unsorted[np.ix_(rows, columns)] = result
        return unsorted

    def diagonal(self, side: _TextRows) -> Array:
        if self.length > side.longest:
            return np.zeros(len(side))
        order = np.argsort(np.diff(side.sequences.bounds), kind="stable")
        sequences = side.sequences.take(order)

        def part(block: slice) -> Array:
            some = sequences.take(block)
            return check_overflow(self, compute_diagonal(some.codes, some.bounds, self.length, self.decay))

        result = np.empty(len(side))
        result[order] = np.concatenate([np.zeros(0), *ordered_map(part, row_blocks(len(side), TEXT_BLOCK))])
        return result


def check_overflow(kernel: Subsequence, values: Array) -> Array:
    """Return values of a kernel; raise an error if one is not finite."""
    if not np.isfinite(values).all():
        raise DataError(
            f"{kernel!r} of texts this long overflows float64: they have too many subsequences of {kernel.length} "
            "symbols in common; choose a smaller length or decay."
        )
    return values
