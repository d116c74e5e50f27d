"""Categorical columns as a design: one-hot columns that are never formed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._jit.designs import codes as loops
from mercer._threads import ordered_map
from mercer._typing import Array
from mercer.designs._base import Design, Tile
from mercer.designs.coordinates import Coordinates

#: rows of a block
BLOCK_ROWS, MOST_BLOCK_ROWS = 1 << 16, 1 << 22
#: cells that columns may have together to be read as one: histograms of pairs stay in the L2 cache
MOST_CELLS = 320
#: … and no more than rows for each cell
ROWS_PER_CELL = 64


class Cells(NamedTuple):
    """Groups of columns read as one; see `mercer._jit.designs.codes`."""

    #: where the cells of each group begin among all, and the end
    begins: Array
    #: the coefficients of cell c are members[first[c] : first[c + 1]]
    first: Array
    members: Array


@dataclass(frozen=True, eq=False)
class CodesDesign(Design):
    """Several categorical columns, each a run of one-hot columns side by side.

    A code of −1, and where the first level is dropped a code of 0, is a row of zeros. Columns of few levels are read
    together, as one column of all their combinations.

    Examples
    --------
    >>> design = CodesDesign.of([np.array([0, 1, 2, 1]), np.array([1, 0, -1, 1])], [3, 2])
    >>> design.dense()
    array([[1., 0., 0., 0., 1.],
           [0., 1., 0., 1., 0.],
           [0., 0., 1., 0., 0.],
           [0., 1., 0., 0., 1.]])
    >>> design.transposed_times(np.array([1.0, 2.0, 3.0, 4.0]))
    array([1., 6., 3., 2., 5.])
    """

    #: (groups, all rows)
    cell_of_row: Array
    cells: Cells
    coordinates: Coordinates
    start: int
    stop: int

    @classmethod
    def of(cls, codes: Sequence[Array], levels: Sequence[int], *, drop_first: bool = False) -> Self:
        """From a code (−1 … levels − 1) per row, for each column."""
        whole = [np.require(column, np.int32, ["C", "W"]) for column in codes]
        lowest = [-int(column.min(initial=0) < 0) for column in whole]
        n_rows = len(codes[0])
        groups = _groups(np.subtract(levels, lowest), n_rows)
        cell_of_row = np.zeros((len(groups), n_rows), dtype=np.uint32)

        def fill(group: int) -> None:
            for column in groups[group]:
                largest = loops.join(cell_of_row[group], whole[column], lowest[column], levels[column])
                if largest >= levels[column] - lowest[column] and n_rows:
                    raise IndexError(f"a code of column {column} lies outside −1 … {levels[column] - 1}.")

        ordered_map(fill, range(len(groups)))
        total = int(np.sum(levels)) - drop_first * len(levels)
        cells = _cells(groups, levels, lowest, drop_first=drop_first)
        return cls(cell_of_row, cells, Coordinates.plain(total, intercept=False), 0, n_rows)

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    @property
    def most_rows(self) -> int:
        # as many as it takes for the work on rows to outweigh that on histograms of all pairs of cells
        cells = int(self.cells.begins[-1])
        return max(BLOCK_ROWS, cells, min(cells**2 // 2, MOST_BLOCK_ROWS))

    def rows(self, rows: slice) -> Self:
        start, stop, _ = rows.indices(self.n_rows)
        return replace(self, start=self.start + start, stop=self.start + stop)

    def take(self, rows: Array) -> Self:
        taken = np.ascontiguousarray(self.cell_of_row[:, self.start : self.stop][:, rows])
        return replace(self, cell_of_row=taken, start=0, stop=taken.shape[1])

    def tile(self) -> CodesTile:
        return CodesTile(self.cell_of_row, self.cells, self.start, self.stop, self.n_columns)


@dataclass(frozen=True, eq=False)
class CodesTile(Tile):
    cell_of_row: Array
    cells: Cells
    start: int
    stop: int
    n_columns: int

    @property
    def _rows(self) -> tuple[Any, ...]:
        return self.cell_of_row, self.cells.begins, self.start, self.stop

    def times(self, w: Array) -> Array:
        _, first, members = self.cells
        table = loops.of_cells(first, members, np.ascontiguousarray(w[:, None] if w.ndim == 1 else w))
        if w.ndim == 1:
            return np.asarray(loops.times(*self._rows, table[:, 0]))
        return np.asarray(loops.times_matrix(*self._rows, table))

    def transposed_times(self, r: Array) -> Array:
        _, first, members = self.cells
        r = np.ascontiguousarray(r)
        if r.ndim == 1 or r.shape[1] == 1:
            table = loops.transposed_times(*self._rows, r.ravel())[:, None]
        else:
            table = loops.transposed_times_matrix(*self._rows, r)
        total = loops.of_coefficients(first, members, table, self.n_columns)
        return np.asarray(total.reshape(-1, *r.shape[1:]))

    def gram(self, h: Array) -> Array:
        _, first, members = self.cells
        return np.asarray(loops.gram(*self._rows, np.ascontiguousarray(h), first, members, self.n_columns))

    def dense(self) -> Array:
        _, first, members = self.cells
        matrix = np.zeros((self.stop - self.start, self.n_columns))
        loops.expand(*self._rows, first, members, matrix)
        return matrix


def _groups(sizes: Array, n_rows: int) -> list[list[int]]:
    """Columns to be read as one, from those of the fewest codes on."""
    most = min(MOST_CELLS, n_rows // ROWS_PER_CELL)
    groups: list[list[int]] = []
    cells = most + 1
    for column in np.argsort(sizes, kind="stable").tolist():
        cells *= int(sizes[column])
        if cells > most:
            groups.append([])
            cells = int(sizes[column])
        groups[-1].append(column)
    return groups


def _cells(groups: list[list[int]], levels: Sequence[int], lowest: list[int], *, drop_first: bool) -> Cells:
    """What each cell stands for."""
    begins = np.cumsum([0, *(np.array(levels) - drop_first)])
    combined = []
    for group in groups:
        # coefficient of each code from the lowest on, −1 for none
        places = [np.append([-1] * (drop_first - lowest[c]), np.arange(begins[c], begins[c + 1])) for c in group]
        combined.append(np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, len(group)))
    members = np.concatenate([cells[cells >= 0] for cells in combined]).astype(np.int64)
    sizes = np.concatenate([(cells >= 0).sum(axis=1) for cells in combined])
    return Cells(np.cumsum([0, *map(len, combined)]), np.cumsum(np.append(0, sizes)), members)
