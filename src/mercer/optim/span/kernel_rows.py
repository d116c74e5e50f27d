"""Rows of a kernel matrix that does not fit in memory: the most recently used ones are cached, others recomputed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from mercer._threads import ordered_stream, row_blocks
from mercer._typing import Array
from mercer.kernels.gram import GivenMatrix, Gram
from mercer.kernels.row_loops import add_rows

#: columns that a thread adds up at a time
COLUMNS_PER_SUM = 4096


class KernelMatrixRows(ABC):
    """Rows of a square kernel matrix, computed as needed, within bounded memory."""

    def __init__(self, gram: Gram | GivenMatrix, cache_bytes: float) -> None:
        self.gram, self.cache_bytes = gram, cache_bytes

    def __len__(self) -> int:
        return self.gram.shape[0]

    @abstractmethod
    def add_to(self, total: Array, numbers: Array, factors: Array, wanted: Array) -> None:
        """Add Σ factor · row to `total`, for all columns; computed rows are cached if they will be `wanted` again."""

    @abstractmethod
    def release(self, numbers: Array) -> None:
        """Mark rows to be replaced first, since they are not expected to be needed again."""

    @abstractmethod
    def clear(self) -> None:
        """Release the memory of the cached rows."""

    def exact(self) -> KernelRows:
        """Return the same rows in float64."""
        return KernelRows(self.gram.exact(), self.cache_bytes)


class KernelRows(KernelMatrixRows):
    """Rows with a cache of those used last.

    Parameters
    ----------
    gram : Gram or GivenMatrix
        The matrix.
    cache_bytes : float, default=200e6
        Memory for cached rows.
    """

    def __init__(self, gram: Gram | GivenMatrix, cache_bytes: float = 200e6) -> None:
        KernelMatrixRows.__init__(self, gram, cache_bytes)
        #: number of rows that were computed
        self.n_computed = 0
        self.clear()

    @classmethod
    def of_matrix(cls, K: Array) -> KernelRows:
        """Return the rows of a matrix in memory."""
        return cls(GivenMatrix(K))

    def add_to(self, total: Array, numbers: Array, factors: Array, wanted: Array) -> None:
        is_cached = self._touch(numbers)
        self._compute(numbers[~is_cached & wanted])
        is_cached = self._touch(numbers)
        self._add_cached(total, self._slot_of[numbers[is_cached]], factors[is_cached])
        if not is_cached.all():
            self.gram.add_rows(numbers[~is_cached], factors[~is_cached], total)
            self.n_computed += int(np.count_nonzero(~is_cached))

    def clear(self) -> None:
        rows, columns = self.gram.shape
        capacity = int(self.cache_bytes // max(columns * self.gram.dtype.itemsize, 1))
        self._kept: Array = np.empty((min(rows, capacity), columns), self.gram.dtype)
        self._slot_of, self._row_in = np.full(rows, -1), np.full(len(self._kept), -1)
        self._used, self._clock = np.zeros(len(self._kept), np.int64), 0

    def release(self, numbers: Array) -> None:
        slots = self._slot_of[numbers]
        self._used[slots[slots >= 0]] = -1

    def _touch(self, numbers: Array) -> Array:
        """Return the mask of cached rows, and mark these as used now."""
        slots = self._slot_of[numbers]
        self._clock += 1
        self._used[slots[slots >= 0]] = self._clock
        return np.asarray(slots >= 0)

    def _compute(self, numbers: Array) -> None:
        """Compute rows and cache them in the slots that were used least recently, as many as fit."""
        slots = np.flatnonzero(self._used < self._clock)
        count = min(len(numbers), len(slots))
        if not count:
            return
        numbers, slots = numbers[:count], np.sort(slots[np.argpartition(self._used[slots], count - 1)[:count]])
        replaced = self._row_in[slots]
        self._slot_of[replaced[replaced >= 0]] = -1
        self._row_in[slots] = -1
        self.gram.put_rows(numbers, self._kept, slots)  # may be interrupted: the rows are registered only afterwards
        self._row_in[slots], self._slot_of[numbers] = numbers, slots
        self.n_computed += count

    def _add_cached(self, total: Array, slots: Array, factors: Array) -> None:
        def add(columns: slice) -> None:
            add_rows(total, columns.start, columns.stop, self._kept, slots, factors)

        for _ in ordered_stream(add, row_blocks(len(total), COLUMNS_PER_SUM)):
            pass


class PairRows(KernelMatrixRows):
    """Rows for two groups, in four blocks; the block of a group with itself is shared with its other pairs."""

    def __init__(self, gram: Gram | GivenMatrix, cache_bytes: float, blocks: Sequence[Sequence[KernelRows]]) -> None:
        KernelMatrixRows.__init__(self, gram, cache_bytes)
        self._blocks, self._first = blocks, len(blocks[0][0])

    def add_to(self, total: Array, numbers: Array, factors: Array, wanted: Array) -> None:
        for blocks, mine, own in self._by_group(numbers):
            for block, part in zip(blocks, (total[: self._first], total[self._first :]), strict=True):
                block.add_to(part, own, factors[mine], wanted[mine])

    def release(self, numbers: Array) -> None:
        for blocks, _, own in self._by_group(numbers):
            for block in blocks:
                block.release(own)

    def clear(self) -> None:
        (_, across), (back, _) = self._blocks  # shared blocks are kept for other pairs
        across.clear()
        back.clear()

    def _by_group(self, numbers: Array) -> Iterator[tuple[Sequence[KernelRows], Array, Array]]:
        """Yield the blocks of each group, the mask of its rows, and their numbers in the group."""
        first = numbers < self._first
        yield self._blocks[0], first, numbers[first]
        yield self._blocks[1], ~first, numbers[~first] - self._first


class SharedRows:
    """Rows of several groups, for models of all pairs of them: blocks that pairs share are computed once.

    Parameters
    ----------
    gram : Gram
        The matrix of all rows.
    groups : sequence of integer arrays
        The numbers of the rows of each group.
    cache_bytes : float
        Memory for cached rows: half for groups with themselves, half for the present pair.
    """

    def __init__(self, gram: Gram, groups: Sequence[Array], cache_bytes: float) -> None:
        self._gram, self._groups, self._bytes = gram, groups, cache_bytes
        share = cache_bytes / (2 * len(groups))
        self._own = [KernelRows(gram.part(group), share) for group in groups]

    def pair(self, i: int, j: int) -> PairRows:
        """Return the rows of two groups, those of the first before those of the second."""
        first, second = self._groups[i], self._groups[j]
        across, back = (
            KernelRows(self._gram.part(a, b), self._bytes / 4) for a, b in ((first, second), (second, first))
        )
        both = self._gram.part(np.concatenate([first, second]))
        return PairRows(both, self._bytes / 2, ((self._own[i], across), (back, self._own[j])))
