"""Design matrix of categorical columns: one-hot columns that are never formed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mercer._errors import NonFiniteError, UnseenCategoryError
from mercer._stored import stored
from mercer._suggest import did_you_mean, quoted
from mercer._threads import ordered_map
from mercer._typing import Array
from mercer.data.coding import Coded
from mercer.data.kinds import Kind
from mercer.data.table import Table
from mercer.matrices import _code_loops as loops
from mercer.matrices.base import Matrix, Tile
from mercer.matrices.coordinates import Coordinates

# The levels of a categorical column, and the codes of new values.


def category_places(table: Table) -> list[int]:
    """Positions of the categorical columns of a table."""
    return [j for j, kind in enumerate(table.kinds) if kind is Kind.CATEGORY]


def order_levels(occurring: Sequence[Any], declared: Sequence[Any] | None) -> tuple[Any, ...]:
    """Put levels into the declared order, or else sort them (mixed types by their strings)."""
    if declared is not None:
        kept = set(occurring)
        return tuple(level for level in declared if level in kept)
    try:
        return tuple(sorted(occurring))
    except TypeError:
        return tuple(sorted(occurring, key=str))


@stored(tag="DesignCategory")
@dataclass(frozen=True)
class Category:
    """Levels of a column, each with a coefficient; with `drop_first` all but the first, whose coefficient is 0."""

    column: str
    levels: tuple[Any, ...]
    drop_first: bool

    @classmethod
    def of(cls, column: str, coded: Coded, declared: Array | None, *, drop_first: bool) -> Self:
        """Find the levels that occur, in the order of `order_levels`."""
        counts = np.zeros(len(coded.labels) + 1, dtype=np.int64)
        loops.count(np.require(coded.codes, np.int32, ["C", "W"]), counts)
        if counts[-1]:
            raise _missing(column, coded)
        occurring = coded.labels[counts[:-1] > 0].tolist()
        return cls(column, order_levels(occurring, None if declared is None else declared.tolist()), drop_first)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each coefficient."""
        return tuple(f"{self.column}[{level}]" for level in self.levels[self.drop_first :])

    def codes(self, coded: Coded) -> Array:
        """Positions of values among the levels; an unknown value is an error."""
        if coded.codes.min(initial=0) < 0:
            raise _missing(self.column, coded)
        place = {level: position for position, level in enumerate(self.levels)}
        places = np.array([place.get(label, -1) for label in coded.labels.tolist()], dtype=np.int32)
        if np.array_equal(places, np.arange(len(places))):
            return coded.codes
        codes = places[coded.codes]
        if (places < 0).any() and (unknown := codes < 0).any():
            level = coded.labels.tolist()[coded.codes[np.argmax(unknown)]]
            raise UnseenCategoryError(
                f"Column {self.column!r} holds {quoted(level)}, which was never seen when the model was fitted and so "
                f"has no coefficient. {did_you_mean(str(level), map(str, self.levels))} Correct it, leave those rows "
                "out, or fit again on rows that show every level."
            )
        return np.asarray(codes)


def _missing(column: str, coded: Coded) -> NonFiniteError:
    return NonFiniteError(
        f"Input X contains NaN. Column {column!r} has a missing value in row {int(np.argmax(coded.codes < 0))}; give "
        'missing values a level of their own, e.g. "unknown", or leave those rows out.'
    )


#: rows of a block, at least
MIN_CODE_BLOCK_ROWS = 1 << 16
#: rows of a block, at most, where histograms of many cells call for large blocks
MAX_CODE_BLOCK_ROWS = 1 << 22
#: largest number of cells of a group of columns: histograms of pairs of groups stay in the L2 cache
MAX_GROUP_CELLS = 320
#: smallest number of rows per cell of a group
ROWS_PER_CELL = 64


class CodeCells(NamedTuple):
    """Groups of columns and the coefficients of their cells; see `mercer.matrices._code_loops`."""

    #: first cell of each group among all cells, and the number of all
    begins: Array
    #: the coefficients of cell c are members[first[c] : first[c + 1]]
    first: Array
    members: Array


@dataclass(frozen=True, eq=False)
class CategoricalMatrix(Matrix):
    """Several categorical columns as consecutive one-hot columns.

    A code of −1, and where the first level is dropped a code of 0, is a row of zeros. Columns of few levels are
    grouped into one column of all their combinations.

    Examples
    --------
    >>> design = CategoricalMatrix.of([np.array([0, 1, 2, 1]), np.array([1, 0, -1, 1])], [3, 2])
    >>> design.dense()
    array([[1., 0., 0., 0., 1.],
           [0., 1., 0., 1., 0.],
           [0., 0., 1., 0., 0.],
           [0., 1., 0., 0., 1.]])
    >>> design.rmatvec(np.array([1.0, 2.0, 3.0, 4.0]))
    array([1., 6., 3., 2., 5.])
    """

    #: cell of each row in each group, of shape (groups, all rows)
    cell_of_row: Array
    cells: CodeCells
    coordinates: Coordinates
    start: int
    stop: int

    is_sparse: ClassVar[bool] = True
    has_exact_gradients: ClassVar[bool] = False

    @classmethod
    def of(cls, codes: Sequence[Array], levels: Sequence[int], *, drop_first: bool = False) -> Self:
        """Build the design from the codes (−1 … levels − 1) of each column."""
        columns = [np.require(column, np.int32, ["C", "W"]) for column in codes]
        lowest = [-int(column.min(initial=0) < 0) for column in columns]
        n_rows = len(codes[0])
        groups = _groups(np.subtract(levels, lowest), n_rows)
        cell_of_row = np.zeros((len(groups), n_rows), dtype=np.uint32)

        def fill(group: int) -> None:
            for column in groups[group]:
                largest = loops.join(cell_of_row[group], columns[column], lowest[column], levels[column])
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
    def stored_per_row(self) -> int:
        return len(self.cell_of_row)

    @property
    def most_rows(self) -> int:
        # enough that the work on rows outweighs that on the histograms of all pairs of cells
        cells = int(self.cells.begins[-1])
        return max(MIN_CODE_BLOCK_ROWS, cells, min(cells**2 // 2, MAX_CODE_BLOCK_ROWS))

    def rows(self, rows: slice) -> Self:
        start, stop, _ = rows.indices(self.n_rows)
        return replace(self, start=self.start + start, stop=self.start + stop)

    def take(self, rows: Array) -> Self:
        taken = np.ascontiguousarray(self.cell_of_row[:, self.start : self.stop][:, rows])
        return replace(self, cell_of_row=taken, start=0, stop=taken.shape[1])

    def within(self, coordinates: Coordinates) -> Self:
        if coordinates.shifted or not coordinates.unscaled or coordinates.intercept:
            raise ValueError("one-hot columns are neither shifted nor scaled; convert them to a sparse matrix.")
        return self

    def entries_by_row(self) -> tuple[Array, Array]:
        """Return the bounds of the rows and the columns of the ones, in row order."""
        begins, first, members = self.cells
        cells = (self.cell_of_row[:, self.start : self.stop] + begins[:-1, None]).T.astype(np.int64)
        counts = (first[cells + 1] - first[cells]).ravel()
        ends = np.cumsum(counts)
        within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
        columns = members[np.repeat(first[cells].ravel(), counts) + within].astype(np.uint32)
        per_row = counts.reshape(cells.shape).sum(axis=1)
        return np.append(0, np.cumsum(per_row)).astype(np.uint64), columns

    def tile(self) -> CodesTile:
        return CodesTile(self.cell_of_row, self.cells, self.start, self.stop, self.n_columns)


@dataclass(frozen=True, eq=False)
class CodesTile(Tile):
    """The rows start…stop of categorical columns."""

    cell_of_row: Array
    cells: CodeCells
    start: int
    stop: int
    n_columns: int

    @property
    def _rows(self) -> tuple[Any, ...]:
        return self.cell_of_row, self.cells.begins, self.start, self.stop

    def matvec(self, w: Array) -> Array:
        _, first, members = self.cells
        table = loops.sum_coefficients(first, members, np.ascontiguousarray(w[:, None] if w.ndim == 1 else w))
        if w.ndim == 1:
            return np.asarray(loops.times(*self._rows, table[:, 0]))
        return np.asarray(loops.times_matrix(*self._rows, table))

    def rmatvec(self, r: Array) -> Array:
        _, first, members = self.cells
        r = np.ascontiguousarray(r)
        if r.ndim == 1 or r.shape[1] == 1:
            table = loops.rmatvec(*self._rows, r.ravel())[:, None]
        else:
            table = loops.transposed_times_matrix(*self._rows, r)
        total = loops.sum_cells(first, members, table, self.n_columns)
        return np.asarray(total.reshape(-1, *r.shape[1:]))

    def gram(self, h: Array) -> Array:
        _, first, members = self.cells
        return np.asarray(loops.gram(*self._rows, np.ascontiguousarray(h), first, members, self.n_columns))

    def squares(self, h: Array) -> Array:
        return self.rmatvec(h)  # 1² = 1

    def dense(self) -> Array:
        _, first, members = self.cells
        matrix = np.zeros((self.stop - self.start, self.n_columns))
        loops.expand(*self._rows, first, members, matrix)
        return matrix


def _groups(sizes: Array, n_rows: int) -> list[list[int]]:
    """Group columns, from those of the fewest codes on, while a group has few cells."""
    most = min(MAX_GROUP_CELLS, n_rows // ROWS_PER_CELL)
    groups: list[list[int]] = []
    cells = most + 1
    for column in np.argsort(sizes, kind="stable").tolist():
        cells *= int(sizes[column])
        if cells > most:
            groups.append([])
            cells = int(sizes[column])
        groups[-1].append(column)
    return groups


def _cells(groups: list[list[int]], levels: Sequence[int], lowest: list[int], *, drop_first: bool) -> CodeCells:
    """Return the coefficients of each cell."""
    begins = np.cumsum([0, *(np.array(levels) - drop_first)])
    combined = []
    for group in groups:
        # coefficient of each code from the lowest on; −1 for a code without a coefficient
        places = [np.append([-1] * (drop_first - lowest[c]), np.arange(begins[c], begins[c + 1])) for c in group]
        combined.append(np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, len(group)))
    members = np.concatenate([cells[cells >= 0] for cells in combined]).astype(np.int64)
    sizes = np.concatenate([(cells >= 0).sum(axis=1) for cells in combined])
    return CodeCells(np.cumsum([0, *map(len, combined)]), np.cumsum(np.append(0, sizes)), members)
