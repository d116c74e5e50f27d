"""Kernels that count: ψ(x) has the number of occurrences of each of very many items in x, few of which occur.

Items are numbered in the order of their appearance, without collisions. The rows of one side of a matrix make the
vocabulary; on the other side, items outside it cannot match, and contribute only to the row's own length.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mercer._stored import integers, matrix, reals, stored
from mercer._typing import Array
from mercer.kernels._sequence_loops import add_products, count_numbers, gather_runs, number_runs
from mercer.kernels.base import Kernel
from mercer.kernels.explicit import FeatureMap
from mercer.kernels.views import Memo, Views

#: share of rows above which a column is multiplied faster as a dense one (measured)
DENSE_COUNTS_SHARE = 1 / 6
#: dense columns at most, since the other side may have many more rows
MAX_DENSE_COLUMNS = 4096
#: fields of a side that hold its sparse columns
SPARSE_FIELDS = ("starts", "stops", "columns", "counts")
#: whole numbers up to this, and their sums up to this, are exact in float32
MAX_EXACT_FLOAT32 = 2.0**24


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
    def empty(cls) -> Self:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def number(self, words: Array, starts: Array, stops: Array) -> tuple[Array, Self]:
        """Return the numbers of words[start:stop], new runs after the known ones; and all runs known then."""
        words = np.concatenate([self.words, words])
        shift = len(self.words)
        starts = np.concatenate([np.concatenate([[0], self.ends])[:-1], starts + shift]).astype(np.int64)
        stops = np.concatenate([self.ends, stops + shift]).astype(np.int64)
        numbers, firsts = number_runs(words, starts, stops)
        return numbers[len(self) :], type(self)(*gather_runs(words, starts[firsts], stops[firsts]))


@stored(matrix=matrix("nv"), squares=reals("n"))
@dataclass(frozen=True, eq=False)
class RunCounts:
    """Counts of the items of a vocabulary in each row, and the squared length of all items of the row."""

    matrix: Any
    squares: Array

    @classmethod
    def of(cls, numbers: Array, bounds: Array, known: int) -> Self:
        """Count numbers[bounds[i]:bounds[i + 1]] in the i-th row; those from `known` on are outside the vocabulary."""
        ends, columns, counts, squares = count_numbers(numbers, bounds, known)
        # linear models of other libraries do not accept 64-bit indices
        index = sp.get_index_dtype(maxval=max(known, len(columns)))
        ends, columns = ends.astype(index), columns.astype(index)
        return cls(sp.csr_array((counts, columns, ends), shape=(len(bounds) - 1, known)), squares)

    @classmethod
    def join(cls, parts: list[RunCounts]) -> Self:
        """Join counts side by side."""
        squares = np.sum([part.squares for part in parts], axis=0)
        return cls(sp.csr_array(sp.hstack([part.matrix for part in parts])), squares)


class KernelVocabulary(ABC):
    """The items that are counted, in the order of their columns."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of different items."""

    @abstractmethod
    def count(self, rows: Any) -> RunCounts:
        """Count the items in other rows."""


@stored()
@dataclass(frozen=True, eq=False, repr=False)
class CountMap(FeatureMap):
    """ψ on the items of the rows from which it was made; a sparse matrix of counts.

    Other items have no column: ⟨ψ(x), ψ(z)⟩ = k(x, z) wherever x or z is one of those rows.
    """

    vocabulary: KernelVocabulary

    numeric = False
    sparse = True
    n_stored = 0

    @property
    def n_features(self) -> int:
        return self.vocabulary.n_features

    def write(self, X: Any) -> Any:
        return self.vocabulary.count(X).matrix

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_features={self.n_features})"


@dataclass(frozen=True, eq=False)
class CountSide:
    """Counts prepared for products: frequent columns dense, the others sparse, between start and stop of a row."""

    dense: Array
    starts: Array
    stops: Array
    columns: Array
    counts: Array
    squares: Array
    #: whether a column is dense
    frequent: Array
    vocabulary: KernelVocabulary

    @classmethod
    def of(
        cls,
        counts: RunCounts,
        vocabulary: KernelVocabulary,
        frequent: Array | None = None,
        *,
        max_dense_columns: int = MAX_DENSE_COLUMNS,
    ) -> Self:
        """Prepare counts; by default up to `max_dense_columns` of the most frequent columns are dense."""
        matrix = counts.matrix
        if frequent is None:
            frequent = _find_frequent(matrix, max_dense_columns)
        kept = ~frequent[matrix.indices]
        ends = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
        dense = matrix[:, np.flatnonzero(frequent)].toarray()
        if counts.squares.max(initial=0.0) < MAX_EXACT_FLOAT32:
            dense = dense.astype(np.float32)
        columns = matrix.indices[kept].astype(np.int64)
        return cls(dense, ends[:-1], ends[1:], columns, matrix.data[kept], counts.squares, frequent, vocabulary)

    def __len__(self) -> int:
        return len(self.squares)

    def take(self, rows: Any) -> Self:
        starts, stops = self.starts[rows], self.stops[rows]
        return replace(self, dense=self.dense[rows], starts=starts, stops=stops, squares=self.squares[rows])


def _find_frequent(matrix: Any, most: int) -> Array:
    """Return a mask of the columns that are frequent enough to be multiplied as dense ones, at most `most`."""
    rows_with = np.bincount(matrix.indices, minlength=matrix.shape[1])
    least = max(DENSE_COUNTS_SHARE * matrix.shape[0], 1)
    if np.count_nonzero(rows_with > least) > most:
        least = np.partition(rows_with, -most)[-most]
    return np.asarray(rows_with > least)


@dataclass(frozen=True, repr=False)
class CountingKernel(Kernel):
    """Σ over all items of the number of occurrences in x times that in z."""

    @abstractmethod
    def learn(self, rows: Any) -> tuple[KernelVocabulary, RunCounts]:
        """Return the vocabulary of some rows, and their counts."""

    @property
    def numeric(self) -> bool:
        return False

    def prepared(self, views: Views) -> CountSide:
        return views.once(self, lambda: self._side(views))

    def _side(self, views: Views) -> CountSide:
        if views.like is None:
            vocabulary, counts = self.learn(views.raw)
            return CountSide.of(counts, vocabulary)
        other = self.prepared(views.like)
        return CountSide.of(other.vocabulary.count(views.raw), other.vocabulary, other.frequent)

    def tile(self, left: CountSide, right: CountSide, memo: Memo) -> Array:
        # sums of whole numbers, exact in their precision
        tile = np.array(left.dense @ right.dense.T, dtype=float)
        add_products(
            tile, *(getattr(side, name) for side in (left, right) for name in SPARSE_FIELDS), len(left.frequent)
        )
        return tile

    def diagonal(self, side: CountSide) -> Array:
        return side.squares.copy()

    def feature_map(self, columns: Any) -> CountMap:
        """Return ψ on the items of these rows: `kernel.feature_map(rows)`."""
        return CountMap(self.learn(columns)[0])
