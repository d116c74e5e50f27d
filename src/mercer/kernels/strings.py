"""Kernels of texts, and of other sequences of symbols."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._errors import DataError, KernelError
from mercer._jit.gram import mirror
from mercer._jit.kernels.subsequences import LANES, diagonal, tile
from mercer._stored import stored
from mercer._stored import whole as whole_number
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.kernels._base import Kernel
from mercer.kernels._counts import Counting, CountMap, Counts, Runs, Vocabulary
from mercer.kernels._parameters import number, whole
from mercer.kernels._sequences import Sequences, read, sequences_of
from mercer.kernels.views import Memo, Views

#: texts at once of a thread
ROWS = 32


@stored()
@dataclass(frozen=True, repr=False)
class Spectrum(Counting):
    """Σ over all substrings u of one length: how often u is in s times how often it is in t (Leslie et al. 2002).

    Rows are texts, bytes, or lists of symbols (texts or whole numbers). One that is shorter than the length, an empty
    one say, has none of these substrings: its kernel is 0 with every row.

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
        object.__setattr__(self, "length", whole(self.length, "the length", "Spectrum", least=1))

    @property
    def reason(self) -> str:
        return "an inner product of counts, one for every substring"

    def learned(self, rows: Any) -> tuple[Substrings, Counts]:
        sequences = read(rows)
        numbers, bounds, runs = _substrings(Runs.none(), sequences, self.length)
        vocabulary = Substrings(self.length, runs, sequences.take(slice(0)))
        return vocabulary, Counts.of(numbers, bounds, len(runs))

    def feature_map(self, columns: Any) -> SubstringMap:
        """Counts of the substrings that are in these rows: `kernel.feature_map(rows)`; `names` are the substrings."""
        return SubstringMap(self.learned(columns)[0])


def _is_readable(own: Substrings) -> bool:
    """Whether all runs have the length of a substring, and numbers that stand for symbols."""
    words, alphabet = own.runs.words, own.like.alphabet
    letters = sys.maxunicode if own.like.kind is str else 255
    most = letters if alphabet is None else len(alphabet) - 1
    lengths = np.diff(own.runs.ends, prepend=0)
    return bool((lengths == own.length).all() and (words >= 0).all() and (words <= most).all())


@stored(_is_readable, length=whole_number(1))
@dataclass(frozen=True, eq=False)
class Substrings(Vocabulary):
    """Different substrings of one length, in the order of their first appearance."""

    length: int
    runs: Runs
    #: no sequences, but the symbols they are made of
    like: Sequences

    @property
    def n_features(self) -> int:
        return len(self.runs)

    def count(self, rows: Any) -> Counts:
        numbers, bounds, _ = _substrings(self.runs, read(rows, self.like), self.length)
        return Counts.of(numbers, bounds, len(self.runs))


@stored()
class SubstringMap(CountMap):
    """Counts of substrings; what is in no row that it was made from has no column."""

    vocabulary: Substrings

    @property
    def names(self) -> list[Any]:
        """The substring of each column."""
        words = self.vocabulary.runs.words.reshape(-1, self.vocabulary.length)
        return [self.vocabulary.like.written(run) for run in words]


def _substrings(known: Runs, sequences: Sequences, length: int) -> tuple[Array, Array, Runs]:
    """The number of each substring, where those of each sequence begin and end, and all that are known then."""
    counts = np.maximum(np.diff(sequences.bounds) - length + 1, 0)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    starts = np.arange(bounds[-1]) + np.repeat(sequences.bounds[:-1] - bounds[:-1], counts)
    numbers, runs = known.number(sequences.codes.astype(np.int64), starts, starts + length)
    return numbers, bounds, runs


@dataclass(frozen=True, eq=False)
class _Texts:
    """Sequences, and which part of all rows they are: None where that is no slice."""

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
        λ, above 0 and up to 1, where gaps cost nothing.

    Examples
    --------
    >>> Subsequence(2)(["cat"], ["car"])
    array([[0.0625]])
    """

    length: int = 3
    decay: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", whole(self.length, "the length", "Subsequence", least=1))
        decay = number(self.decay, "the decay", "Subsequence", above=True)
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

    def prepared(self, views: Views) -> _Texts:
        return _Texts(sequences_of(views), None)

    def tile(self, left: _Texts, right: _Texts, memo: Memo) -> Array:
        if self.length > min(left.longest, right.longest):
            return np.zeros((len(left), len(right)))
        triangle = left.part is not None and left.part == right.part
        if not triangle and len(right) < LANES < len(left):  # lanes would be empty
            return np.ascontiguousarray(self.tile(right, left, memo).T)
        # sequences of like length side by side: little is padded
        rows, columns = (np.argsort(np.diff(side.sequences.bounds), kind="stable") for side in (left, right))
        first, second = left.sequences.take(rows), right.sequences.take(columns)

        def part(block: slice) -> Array:
            one, two = first.take(block), second.take(slice(block.stop)) if triangle else second
            first_row = block.start if triangle else -1
            values = tile(one.codes, one.bounds, two.codes, two.bounds, self.length, self.decay, first_row)
            return self._finite(values)

        result = np.zeros((len(left), len(right)))
        blocks = row_blocks(len(left), ROWS)
        for block, values in zip(blocks, ordered_map(part, blocks), strict=True):
            result[block, : values.shape[1]] = values
        if triangle:
            mirror(result)
        unsorted = np.empty_like(result)
        unsorted[np.ix_(rows, columns)] = result
        return unsorted

    def diagonal(self, side: _Texts) -> Array:
        if self.length > side.longest:
            return np.zeros(len(side))
        order = np.argsort(np.diff(side.sequences.bounds), kind="stable")
        sequences = side.sequences.take(order)

        def part(block: slice) -> Array:
            some = sequences.take(block)
            return self._finite(diagonal(some.codes, some.bounds, self.length, self.decay))

        result = np.empty(len(side))
        result[order] = np.concatenate([np.zeros(0), *ordered_map(part, row_blocks(len(side), ROWS))])
        return result

    def _finite(self, values: Array) -> Array:
        if not np.isfinite(values).all():
            raise DataError(
                f"{self!r} of texts this long is no float64: they have too many subsequences of {self.length} symbols "
                "in common; choose a smaller length or decay."
            )
        return values
