"""Tables over data frames of any library that narwhals supports: pandas, polars, pyarrow, …"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from mercer._errors import ColumnTypeError, DataError
from mercer._typing import Array
from mercer.data.coding import Coded
from mercer.data.interleaving import fill_rows
from mercer.data.kinds import Kind
from mercer.data.storages.frame_columns import FrameColumn, SeriesColumn, ViewedColumn, column_of
from mercer.data.storages.pandas_columns import convert_objects
from mercer.data.storages.plain_columns import consolidate_columns, plain_columns
from mercer.data.storages.time_columns import DATE_TYPES, TIME_TYPES, TimeColumn

KIND_BY_DTYPE: dict[Any, Kind] = {nw.Float64: Kind.NUMBER, nw.Int64: Kind.INTEGER, nw.Boolean: Kind.BOOLEAN}
KIND_BY_DTYPE |= dict.fromkeys((nw.String, nw.Categorical, nw.Enum, nw.Object), Kind.CATEGORY)
#: remedies by the type of a column that cannot be read
REMEDIES = {
    nw.Datetime: "turn it into numbers, e.g. the hour, the weekday or the days since some date, or leave it out",
    nw.Date: "turn it into numbers, e.g. the weekday or the days since some date, or leave it out",
    nw.Time: "turn it into numbers, e.g. the hours since midnight, or leave it out",
    nw.Duration: "turn it into numbers, e.g. seconds, or leave it out",
    nw.Binary: "decode it to strings, or leave it out",
}
#: longest name of a type in messages, in characters
MAX_TYPE_NAME = 80
#: the remedy for nested types
NESTED_REMEDY = "unpack it into columns of numbers or strings, or leave it out (on the command line with --drop)"
#: the remedy for pandas' sparse columns
SPARSE_REMEDY = "give the sparse matrix itself, frame.sparse.to_coo()"


@dataclass(frozen=True, eq=False)
class FrameStorage:
    """Rows `start` to `stop` of a frame."""

    frame: nw.DataFrame[Any]
    columns: tuple[FrameColumn, ...]
    start: int
    stop: int

    @classmethod
    def of(cls, frame: nw.DataFrame[Any], *, dates: bool = False) -> tuple[Self, tuple[Kind, ...]]:
        """Return a storage of a frame, and the kinds of its columns: by type alone, except for Python objects."""
        native = consolidate_columns(frame.to_native())
        frame, plain = nw.from_native(native, eager_only=True), plain_columns(native)
        storages = (
            _column(frame.get_column(name), dates) if values is None else (ViewedColumn(values), _plain_kind(values))
            for name, values in zip(frame.columns, plain, strict=True)
        )
        columns, kinds = zip(*storages, strict=True) if plain else ((), ())
        return cls(frame, columns, 0, len(frame)), kinds

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    @cached_property
    def library(self) -> str:
        return str(self.frame.implementation.value)

    @property
    def native(self) -> Any:
        if self._is_whole and self.library == "pyarrow":  # immutable, and slicing takes a while
            return self.frame.to_native()
        return self.frame[self.start : self.stop].to_native()

    def rows(self, start: int, stop: int) -> Self:
        return replace(self, start=self.start + start, stop=self.start + stop)

    def take(self, rows: Array) -> Self:
        return type(self).of(self._taken(rows), dates=True)[0]

    def take_native(self, rows: Array) -> Any:
        return consolidate_columns(self._taken(rows).to_native())

    def _taken(self, rows: Array) -> nw.DataFrame[Any]:
        return (self.frame if self._is_whole else self.frame[self.start : self.stop])[rows]

    @property
    def _is_whole(self) -> bool:
        return (self.start, self.stop) == (0, len(self.frame))

    def numbers(self, columns: list[int]) -> Array:
        if len(columns) == 1:
            column = self.columns[columns[0]]
            return np.array(column.floats(self.start, self.stop), dtype=column.float_type)[:, None]
        types = {self.columns[j].float_type for j in columns}
        out = np.empty((self.n_rows, len(columns)), dtype=types.pop() if len(types) == 1 else np.float64)
        # each column is read once: slicing a column that is not a view takes longer than reading it
        return fill_rows(out, [self.columns[j].floats(self.start, self.stop) for j in columns])

    def zone(self, column: int) -> str:
        return values.zone if isinstance(values := self.columns[column], TimeColumn) else ""

    def days(self, column: int, zone: str) -> Array:
        values = self.columns[column]
        assert isinstance(values, TimeColumn)
        return values.by_clock(zone, self.start, self.stop)

    def coded(self, column: int) -> Coded:
        return self.columns[column].coded(self.start, self.stop)

    def declared_levels(self, column: int) -> Array | None:
        return self.columns[column].declared_levels()

    def strings(self, column: int) -> Any:
        """Return a column of strings as a pyarrow array; None for other columns, and for strings that it cannot
        hold.
        """
        if not isinstance(values := self.columns[column], SeriesColumn):
            return None
        return values.strings(self.start, self.stop)


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return X as a narwhals frame, with the rows of a DuckDB relation fetched; None if X is not a frame."""
    try:
        frame = nw.from_native(_as_table(X), pass_through=True)
    except DuplicateError as duplicates:
        culprit = str(duplicates).splitlines()[-1].strip("- ")
        raise DataError(f"The frame has column {culprit}. Rename its columns so that every name occurs once.") from None
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_duckdb():
        return frame.collect("pyarrow")
    if isinstance(frame, nw.LazyFrame):
        raise DataError(
            "X is a lazy frame, whose rows are not computed yet. Compute them: X.collect(), or X.compute() in Dask."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def _as_table(X: Any) -> Any:
    """Convert record batches, which narwhals does not support, and string views, which pyarrow cannot filter."""
    if (pa := sys.modules.get("pyarrow")) is None or not isinstance(X, pa.RecordBatch | pa.Table):
        return X
    from mercer.data.readers.arrow_types import without_views

    return without_views(pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X)


def _column(series: nw.Series[Any], dates: bool) -> tuple[FrameColumn, Kind]:
    series = convert_objects(series)
    dtype = _type(series)
    kind = _kind(series, dtype, dates)
    return TimeColumn(series) if dtype in TIME_TYPES else column_of(series, kind), kind


def _plain_kind(values: Array) -> Kind:
    return Kind.NUMBER if values.dtype.kind == "f" else Kind.INTEGER


def _type(series: nw.Series[Any]) -> type[Any]:
    # narwhals does not recognize time zones of pandas with other characters than letters, such as America/New_York
    unknown_zone = series.dtype == nw.Unknown and _type_name(series).startswith("datetime64[")
    return nw.Datetime if unknown_zone else type(series.dtype)


def _kind(series: nw.Series[Any], dtype: type[Any], dates: bool) -> Kind:
    if dates and dtype in TIME_TYPES:
        return Kind.DATE if dtype in DATE_TYPES else Kind.NUMBER
    if dtype in KIND_BY_DTYPE:
        return KIND_BY_DTYPE[dtype]
    if series.dtype.is_integer():
        return Kind.INTEGER
    # a column of nulls has no type; in pandas it would be a float column
    if series.dtype.is_numeric() or _type_name(series).lower() == "null":
        return Kind.NUMBER
    raise _unsupported(series)


def _type_name(series: nw.Series[Any]) -> str:
    """Return the name of the type in the library of the frame."""
    native = series.to_native()
    return str(native.type if hasattr(native, "type") else native.dtype)


def _unsupported(series: nw.Series[Any]) -> ColumnTypeError:
    name = _type_name(series)
    shown = name if len(name) <= MAX_TYPE_NAME else f"{name[:MAX_TYPE_NAME]}…"
    known = (remedy for dtype, remedy in REMEDIES.items() if series.dtype == dtype)
    remedy = SPARSE_REMEDY if name.startswith("Sparse") else next(known, NESTED_REMEDY)
    return ColumnTypeError(f"Column {series.name!r} has the type {shown}, neither number nor category; {remedy}.")
