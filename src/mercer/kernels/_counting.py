"""Kernels that count: ψ(x) says how often each of countless things is in x, and few of them are.

What is counted is numbered as it turns up, without collisions. The rows of one side of a matrix make the vocabulary; on
the other side what is not in it cannot match, and counts only for the row's own length.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer._stored import integers, matrix, reals, stored
from mercer._typing import Array
from mercer.kernels._sequence_loops import add_products, gather, number, tally
from mercer.kernels.base import Kernel
from mercer.kernels.explicit import FeatureMap
from mercer.kernels.views import Memo, Views

#: share of rows from which on a column is multiplied faster among dense ones (measured)
FREQUENT = 1 / 6
#: dense columns at most: the other side may have many more rows than the one they were counted in
MOST_DENSE = 4096
#: what of a side is sparse
SPARSE = ("starts", "stops", "columns", "counts")
#: whole numbers up to this have no rounding in float32, nor have sums of them that stay below
EXACT_SINGLE = 2.0**24


@stored(
    lambda own: not len(own.ends) or int(own.ends[-1]) == len(own.words),
    words=integers("w", least=None),
    ends=integers("r", order="rising"),
)
@dataclass(frozen=True, eq=False)
class Runs:
    """Different runs of numbers, one after another: the i-th has the number i."""

    words: Array
    ends: Array

    @classmethod
    def none(cls) -> Self:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def number(self, words: Array, starts: Array, stops: Array) -> tuple[Array, Self]:
        """The numbers of words[start:stop], new ones after ours; and all runs known then."""
        words = np.concatenate([self.words, words])
        shift = len(self.words)
        starts = np.concatenate([np.concatenate([[0], self.ends])[:-1], starts + shift]).astype(np.int64)
        stops = np.concatenate([self.ends, stops + shift]).astype(np.int64)
        numbers, firsts = number(words, starts, stops)
        return numbers[len(self) :], type(self)(*gather(words, starts[firsts], stops[firsts]))


@stored(matrix=matrix("nv"), squares=reals("n"))
@dataclass(frozen=True, eq=False)
class RunCounts:
    """How often the things of a vocabulary are in each row, and the squared length of all that is in it."""

    matrix: Any
    squares: Array

    @classmethod
    def of(cls, numbers: Array, bounds: Array, known: int) -> Self:
        """Of numbers[bounds[i]:bounds[i + 1]] in the i-th row; those from `known` on are in no vocabulary."""
        ends, columns, counts, squares = tally(numbers, bounds, known)
        # other libraries' linear models take no indices of 64 bits
        index = sp.get_index_dtype(maxval=max(known, len(columns)))
        ends, columns = ends.astype(index), columns.astype(index)
        return cls(sp.csr_array((counts, columns, ends), shape=(len(bounds) - 1, known)), squares)

    @classmethod
    def joined(cls, parts: list[RunCounts]) -> Self:
        """Side by side."""
        squares = np.sum([part.squares for part in parts], axis=0)
        return cls(sp.csr_array(sp.hstack([part.matrix for part in parts])), squares)


class KernelVocabulary(ABC):
    """What is counted, in the order of its columns."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many different things there are."""

    @abstractmethod
    def count(self, rows: Any) -> RunCounts:
        """Counts in other rows."""


@stored()
@dataclass(frozen=True, eq=False, repr=False)
class CountMap(FeatureMap):
    """ψ on what is in the rows that it was made from; a sparse matrix of counts.

    Other things have no column: ⟨ψ(x), ψ(z)⟩ = k(x, z) wherever x or z is one of those rows.
    """

    vocabulary: KernelVocabulary

    numeric = False
    sparse = True
    written_out = 0

    @property
    def n_features(self) -> int:
        return self.vocabulary.n_features

    def write(self, X: Any) -> Any:
        return self.vocabulary.count(X).matrix

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_features={self.n_features})"


@dataclass(frozen=True, eq=False)
class CountSide:
    """Counts ready to be multiplied: frequent columns dense, the others by what is between start and stop of a row."""

    dense: Array
    starts: Array
    stops: Array
    columns: Array
    counts: Array
    squares: Array
    #: whether a column is dense, and the vocabulary that has these columns
    frequent: Array
    vocabulary: KernelVocabulary

    @classmethod
    def of(cls, counts: RunCounts, vocabulary: KernelVocabulary, frequent: Array | None = None) -> Self:
        matrix = counts.matrix
        if frequent is None:
            frequent = _frequent(matrix)
        kept = ~frequent[matrix.indices]
        ends = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
        dense = matrix[:, np.flatnonzero(frequent)].toarray()
        if counts.squares.max(initial=0.0) < EXACT_SINGLE:
            dense = dense.astype(np.float32)
        columns = matrix.indices[kept].astype(np.int64)
        return cls(dense, ends[:-1], ends[1:], columns, matrix.data[kept], counts.squares, frequent, vocabulary)

    def __len__(self) -> int:
        return len(self.squares)

    def take(self, rows: Any) -> Self:
        starts, stops = self.starts[rows], self.stops[rows]
        return replace(self, dense=self.dense[rows], starts=starts, stops=stops, squares=self.squares[rows])


def _frequent(matrix: Any) -> Array:
    rows_with = np.bincount(matrix.indices, minlength=matrix.shape[1])
    least = max(FREQUENT * matrix.shape[0], 1)
    if np.count_nonzero(rows_with > least) > MOST_DENSE:
        least = np.partition(rows_with, -MOST_DENSE)[-MOST_DENSE]
    return np.asarray(rows_with > least)


@dataclass(frozen=True, repr=False)
class Counting(Kernel):
    """Σ over all things of how often each is in x times how often it is in z."""

    @abstractmethod
    def learned(self, rows: Any) -> tuple[KernelVocabulary, RunCounts]:
        """What is in some rows, and how often."""

    @property
    def numeric(self) -> bool:
        return False

    def prepared(self, views: Views) -> CountSide:
        return views.once(self, lambda: self._side(views))

    def _side(self, views: Views) -> CountSide:
        if views.like is None:
            vocabulary, counts = self.learned(views.raw)
            return CountSide.of(counts, vocabulary)
        other = self.prepared(views.like)
        return CountSide.of(other.vocabulary.count(views.raw), other.vocabulary, other.frequent)

    def tile(self, left: CountSide, right: CountSide, memo: Memo) -> Array:
        # sums of whole numbers, exact in the precision they are in
        tile = np.array(left.dense @ right.dense.T, dtype=float)
        add_products(tile, *(getattr(side, name) for side in (left, right) for name in SPARSE), len(left.frequent))
        return tile

    def diagonal(self, side: CountSide) -> Array:
        return side.squares.copy()

    def feature_map(self, columns: Any) -> CountMap:
        """ψ on what is in these rows: `kernel.feature_map(rows)`."""
        return CountMap(self.learned(columns)[0])
