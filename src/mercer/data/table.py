"""Typed columns over arrays, sparse matrices and frames."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from mercer._errors import ColumnMismatchError, ColumnTypeError
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer.data.coding import Coded, trim_labels
from mercer.data.formats import Format, read_labels
from mercer.data.frame_like import frame_like
from mercer.data.kinds import Kind
from mercer.data.select import with_columns
from mercer.data.storages import dense
from mercer.data.storages.base import Storage
from mercer.data.storages.sparse import SparseStorage


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and typed columns of a NumPy array, a SciPy sparse matrix, or a pandas, polars or pyarrow frame.

    Conversions are lazy and limited to the rows of this table: select `rows` first to keep them small. `kinds` follow
    from the types of the columns alone, never from the values of a batch, so that batches agree. The exception are
    Python objects, which have no column types: an array of them is a matrix of numbers if every value converts to a
    number (as in scikit-learn); otherwise a column, as in pandas, is a number, boolean or category by the Python types
    in it.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table.of(np.array([["red", 1.5], [None, 2.0]], dtype=object))
    >>> [kind.name for kind in table.kinds]
    ['CATEGORY', 'NUMBER']
    >>> table.coded(0)
    Coded(codes=array([ 0, -1], dtype=int32), labels=array(['red'], dtype=object))
    """

    storage: Storage
    kinds: tuple[Kind, ...]
    column_names: tuple[str, ...] | None
    #: whether the columns have names that are all strings
    named: bool
    #: formats of columns that hold numbers or dates which were, or may be, written as strings
    formats: Mapping[str, Format] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any, *, dates: bool = False) -> Self:
        """Return a table over `X` without a copy.

        By default, dates raise an error and Python strings that spell numbers are numbers, as in scikit-learn. If
        `dates` are allowed, dates become days and strings remain strings.
        """
        if sparse.issparse(X):
            matrix = SparseStorage.of(X)
            return cls(matrix, (Kind.COUNTS,) * matrix.n_columns, None, named=False)
        if not isinstance(X, np.ndarray | list | tuple):
            from mercer.data.storages.frame import FrameStorage, as_frame

            if (frame := as_frame(X)) is not None:
                storage, kinds = FrameStorage.of(frame, dates=dates)
                named = all(isinstance(name, str) for name in frame.columns)
                return cls(storage, kinds, tuple(map(str, frame.columns)), named)
        values = dense.as_matrix(X, spelled=not dates)
        return cls(dense.DenseStorage(values), dense.kinds_of(values, dates=dates), None, named=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns; x0, x1, … if they have none."""
        return self.column_names or tuple(f"x{j}" for j in range(self.n_columns))

    @property
    def n_rows(self) -> int:
        return self.storage.n_rows

    @property
    def n_columns(self) -> int:
        return self.storage.n_columns

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_columns

    @property
    def library(self) -> str:
        """Library of the data for `frame_like`: numpy, scipy, pandas, polars, pyarrow, …"""
        return self.storage.library

    @property
    def native(self) -> Any:
        """These rows in the library of the data."""
        return self.storage.native

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Positions of the columns by their names; of columns with the same name, the first."""
        return {name: position for position, name in reversed([*enumerate(self.names)])}

    def position(self, name: str) -> int:
        """Return the position of the column of a name."""
        if name not in self.positions:
            raise ColumnMismatchError(f"There is no column {name!r}. {did_you_mean(name, self.names)}")
        return self.positions[name]

    def rows(self, rows: slice) -> Self:
        """Return consecutive rows, without a copy if the library allows it."""
        start, stop, step = rows.indices(self.n_rows)
        if step != 1:
            raise ValueError(f"rows must be consecutive, got a slice with step {step}; use `take`.")
        return replace(self, storage=self.storage.rows(start, max(start, stop)))

    def take(self, rows: Array) -> Self:
        """Return a copy of the rows at these positions."""
        return replace(self, storage=self.storage.take(np.asarray(rows)))

    def take_native(self, rows: Array) -> Any:
        """Return a copy of the rows at these positions in the library of the data, faster than `take(rows).native`."""
        return self.storage.take_native(np.asarray(rows))

    def numbers(self, columns: Sequence[int] | None = None) -> Array:
        """Return columns (all by default) as a C-ordered, writable float matrix with NaN for missing values.

        The type is float32 if that of all columns is, else float64. Data that are such a matrix already are not copied.
        """
        chosen = list(range(self.n_columns) if columns is None else columns)
        for column in chosen:
            if not self.kinds[column].numeric:
                raise ColumnTypeError(
                    f"Column {self.names[column]!r} holds text or categories, but numbers are needed here. Encode it "
                    "as numbers, leave it out, or use NaiveBayes, which accepts categories."
                )
        return self.storage.numbers(chosen)

    def with_formats(self, formats: Mapping[str, Format]) -> Self:
        """Return the table with the strings of these columns converted to the numbers and dates that they spell.

        Columns that are not strings are unchanged. A value that does not convert raises an error.
        """
        known = {name: form for name, form in formats.items() if name in self.names}
        if not known:
            return self
        spelled = [j for j, name in enumerate(self.names) if name in known and self.kinds[j] is Kind.CATEGORY]
        read = {self.names[j]: read_labels(self.coded(j), known[self.names[j]], self.names[j]) for j in spelled}
        table = type(self).of(with_columns(self.native, read), dates=True) if read else self
        return replace(table, column_names=self.column_names, named=self.named, formats={**self.formats, **known})

    def zone(self, column: int) -> str:
        """Return the time zone of the type of a column, or ""."""
        return self.storage.zone(column)

    def days(self, column: int, zone: str = "") -> Array:
        """Return a column of dates as days since 1970 in a time zone, by default their own; NaN for missing values."""
        return self.storage.days(column, zone)

    def coded(self, column: int) -> Coded:
        """Return a column of any kind as codes and labels; see `mercer.data.coding` for the labels."""
        try:
            return trim_labels(self.storage.coded(column))
        except TypeError as unhashable:
            raise ColumnTypeError(
                f"Column {self.names[column]!r} holds values that are not labels ({unhashable}). Unpack them into "
                "columns of numbers or strings, or leave the column out."
            ) from None

    def strings(self, column: int) -> Any:
        """Return a column of strings as a pyarrow array without creating Python strings; None if it is not stored
        so.
        """
        return self.storage.strings(column)

    def declared_levels(self, column: int) -> Array | None:
        """Return the levels that the column's type declares (pandas category, polars Enum, pyarrow dictionary,
        bool).
        """
        levels = self.storage.declared_levels(column)
        return None if levels is None else trim_labels(Coded(np.arange(len(levels)), levels)).labels

    def matrix(self) -> Any:
        """Return the whole table as one matrix of numbers: a CSR matrix unchanged, anything else as `numbers()`."""
        return self.storage.native if self.library == "scipy" else self.numbers()

    def to_pandas(self) -> Any:
        """Return the rows as a pandas frame."""
        if self.library in ("numpy", "scipy"):
            return frame_like(self.names, list(np.asarray(self.native).T), "pandas")
        import narwhals as nw

        return nw.from_native(self.native).to_pandas()

    def like(self, columns: Mapping[str, Array]) -> Any:
        """Return new columns in a container of the library of this table."""
        return frame_like(tuple(columns), tuple(columns.values()), self.library)


def blocks_of_columns(
    table: Table, kinds: Collection[Kind], *, most_values: int = 1 << 20, fewest: int = 50
) -> list[list[int]]:
    """Return the positions of columns of numbers in blocks to be read together, which is faster for thousands of
    columns.

    Parameters
    ----------
    table : Table
        The columns.
    kinds : collection of Kind
        The kinds of columns to include.
    most_values : int, default=1048576
        Largest number of values of a block.
    fewest : int, default=50
        Smallest number of columns, and of columns of a block, for which there are blocks.

    Examples
    --------
    >>> import numpy as np
    >>> blocks_of_columns(Table.of(np.zeros((3, 5))), {Kind.NUMBER}, most_values=9, fewest=2)
    [[0, 1, 2], [3, 4]]
    """
    wanted = frozenset(kind for kind in kinds if kind.numeric)
    positions = [j for j, kind in enumerate(table.kinds) if kind in wanted]
    size = most_values // max(1, table.n_rows)
    if min(size, len(positions)) < fewest:
        return []
    return [positions[start : start + size] for start in range(0, len(positions), size)]
