"""Rows of a kernel matrix that is too large to keep: the most recently used are kept, others are made when needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from mercer._threads import ordered_stream, row_blocks
from mercer._typing import Array
from mercer.kernels.gram import GivenMatrix, Gram
from mercer.kernels.row_loops import add_rows

#: columns that a thread adds up at a time
COLUMNS = 4096


class KernelMatrixRows(ABC):
    """Rows of a square kernel matrix, some at a time, within bounded memory."""

    def __init__(self, gram: Gram | GivenMatrix, cache_bytes: float) -> None:
        self.gram, self.cache_bytes = gram, cache_bytes

    def __len__(self) -> int:
        return self.gram.shape[0]

    @abstractmethod
    def add_to(self, total: Array, numbers: Array, factors: Array, wanted: Array) -> None:
        """total += Σ factor · row, for every column; rows that have to be made are kept if they are `wanted` again."""

    @abstractmethod
    def release(self, numbers: Array) -> None:
        """Let these rows be replaced first: they are not expected to be needed again."""

    @abstractmethod
    def clear(self) -> None:
        """Release the memory of the rows that are kept."""

    def exact(self) -> KernelRows:
        """The same rows in float64."""
        return KernelRows(self.gram.exact(), self.cache_bytes)


class KernelRows(KernelMatrixRows):
    """Rows of which those used last are kept.

    Parameters
    ----------
    gram : Gram or GivenMatrix
        The matrix.
    cache_bytes : float, default=200e6
        Memory for rows that are kept.
    """

    def __init__(self, gram: Gram | GivenMatrix, cache_bytes: float = 200e6) -> None:
        KernelMatrixRows.__init__(self, gram, cache_bytes)
        #: rows that had to be made
        self.made = 0
        self.clear()

    @classmethod
    def of_matrix(cls, K: Array) -> KernelRows:
        """Rows of a matrix that is in memory."""
        return cls(GivenMatrix(K))

    def add_to(self, total: Array, numbers: Array, factors: Array, wanted: Array) -> None:
        there = self._touch(numbers)
        self._make(numbers[~there & wanted])
        there = self._touch(numbers)
        self._add_kept(total, self._slot_of[numbers[there]], factors[there])
        if not there.all():
            self.gram.add_rows(numbers[~there], factors[~there], total)
            self.made += int(np.count_nonzero(~there))

    def clear(self) -> None:
        rows, columns = self.gram.shape
        room = int(self.cache_bytes // max(columns * self.gram.dtype.itemsize, 1))
        self._kept: Array = np.empty((min(rows, room), columns), self.gram.dtype)
        self._slot_of, self._row_in = np.full(rows, -1), np.full(len(self._kept), -1)
        self._used, self._clock = np.zeros(len(self._kept), np.int64), 0

    def release(self, numbers: Array) -> None:
        slots = self._slot_of[numbers]
        self._used[slots[slots >= 0]] = -1

    def _touch(self, numbers: Array) -> Array:
        """Which rows are kept; those have been used now."""
        slots = self._slot_of[numbers]
        self._clock += 1
        self._used[slots[slots >= 0]] = self._clock
        return np.asarray(slots >= 0)

    def _make(self, numbers: Array) -> None:
        """Make rows and keep them in the place of those not used for longest, as many as there is room for."""
        slots = np.flatnonzero(self._used < self._clock)
        count = min(len(numbers), len(slots))
        if not count:
            return
        numbers, slots = numbers[:count], np.sort(slots[np.argpartition(self._used[slots], count - 1)[:count]])
        forgotten = self._row_in[slots]
        self._slot_of[forgotten[forgotten >= 0]] = -1
        self._row_in[slots] = -1
        self.gram.put_rows(numbers, self._kept, slots)  # may be interrupted: only then are they there
        self._row_in[slots], self._slot_of[numbers] = numbers, slots
        self.made += count

    def _add_kept(self, total: Array, slots: Array, factors: Array) -> None:
        def add(columns: slice) -> None:
            add_rows(total, columns.start, columns.stop, self._kept, slots, factors)

        for _ in ordered_stream(add, row_blocks(len(total), COLUMNS)):
            pass


class PairRows(KernelMatrixRows):
    """Rows of two groups, made of four blocks; those of a group with itself are shared with its other pairs."""

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
        (_, across), (back, _) = self._blocks  # what is shared will be needed by others
        across.clear()
        back.clear()

    def _by_group(self, numbers: Array) -> Iterator[tuple[Sequence[KernelRows], Array, Array]]:
        """The blocks of each group, which of the rows are its, and their numbers in it."""
        first = numbers < self._first
        yield self._blocks[0], first, numbers[first]
        yield self._blocks[1], ~first, numbers[~first] - self._first


class SharedRows:
    """Rows of several groups, for the machines of all pairs of them: what two pairs both need is made once.

    Parameters
    ----------
    gram : Gram
        The matrix of all rows.
    groups : sequence of integer arrays
        The numbers of the rows of each group.
    cache_bytes : float
        Memory for rows that are kept: half of it for groups with themselves, half for the pair at hand.
    """

    def __init__(self, gram: Gram, groups: Sequence[Array], cache_bytes: float) -> None:
        self._gram, self._groups, self._bytes = gram, groups, cache_bytes
        share = cache_bytes / (2 * len(groups))
        self._own = [KernelRows(gram.part(group), share) for group in groups]

    def pair(self, i: int, j: int) -> PairRows:
        """Rows of two groups, those of the first before those of the second."""
        first, second = self._groups[i], self._groups[j]
        across, back = (
            KernelRows(self._gram.part(a, b), self._bytes / 4) for a, b in ((first, second), (second, first))
        )
        both = self._gram.part(np.concatenate([first, second]))
        return PairRows(both, self._bytes / 2, ((self._own[i], across), (back, self._own[j])))
