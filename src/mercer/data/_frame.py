"""Tables over data frames of any library that narwhals knows: pandas, polars, pyarrow, …"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from mercer._errors import ColumnTypeError, DataError
from mercer.data._column import FrameColumn, column_of
from mercer.data.coding import Coded
from mercer.data.kinds import Kind

Array = NDArray[Any]

REMEDIES = {
    nw.Datetime: "turn it into numbers, e.g. the hour, the weekday or the days since some date, or leave it out",
    nw.Date: "turn it into numbers, e.g. the weekday or the days since some date, or leave it out",
    nw.Time: "turn it into numbers, e.g. the hours since midnight, or leave it out",
    nw.Duration: "turn it into numbers, e.g. seconds, or leave it out",
    nw.Binary: "decode it to strings, or leave it out",
}
UNPACK = "unpack it into columns of numbers or strings, or leave it out"
SPARSE = "give the sparse matrix itself, frame.sparse.to_coo()"


@dataclass(frozen=True, eq=False)
class FrameStorage:
    """Rows `start` to `stop` of a frame."""

    frame: nw.DataFrame[Any]
    columns: tuple[FrameColumn, ...]
    start: int
    stop: int

    @classmethod
    def of(cls, frame: nw.DataFrame[Any], kinds: tuple[Kind, ...]) -> Self:
        columns = tuple(map(column_of, frame.iter_columns(), kinds))
        return cls(frame, columns, 0, len(frame))

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    @property
    def library(self) -> str:
        return str(self.frame.implementation.value)

    @property
    def native(self) -> Any:
        return self.frame[self.start : self.stop].to_native()

    def rows(self, start: int, stop: int) -> Self:
        return replace(self, start=self.start + start, stop=self.start + stop)

    def take(self, rows: Array) -> Self:
        frame = self.frame[self.start : self.stop][rows]
        return type(self).of(frame, kinds_of(frame))

    def numbers(self, columns: list[int]) -> Array:
        types = {self.columns[j].float_type for j in columns}
        out = np.empty((self.n_rows, len(columns)), dtype=types.pop() if len(types) == 1 else np.float64)
        for position, column in enumerate(columns):
            out[:, position] = self.columns[column].floats(self.start, self.stop)
        return out

    def coded(self, column: int) -> Coded:
        return self.columns[column].coded(self.start, self.stop)

    def declared_levels(self, column: int) -> Array | None:
        return self.columns[column].declared_levels()


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a narwhals frame; None if it is none."""
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError as duplicates:
        culprit = str(duplicates).splitlines()[-1].strip("- ")
        raise DataError(f"The frame has column {culprit}. Rename its columns so that every name occurs once.") from None
    if isinstance(frame, nw.LazyFrame):
        raise DataError(
            "X is a lazy frame, which has no rows yet. Collect them first: X.collect(), or X.compute() in Dask."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def kinds_of(frame: nw.DataFrame[Any]) -> tuple[Kind, ...]:
    """Kinds of the columns, by type alone."""
    return tuple(_kind(series) for series in frame.iter_columns())


def _kind(series: nw.Series[Any]) -> Kind:
    dtype = series.dtype
    if dtype.is_integer():
        return Kind.INTEGER
    # a column of nothing but nulls has no type; pandas would have called it a float column
    if dtype.is_numeric() or _type_name(series).lower() == "null":
        return Kind.NUMBER
    if dtype == nw.Boolean:
        return Kind.BOOLEAN
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return Kind.CATEGORY
    raise _unsupported(series)


def _type_name(series: nw.Series[Any]) -> str:
    """The type in the words of the frame's own library."""
    native = series.to_native()
    return str(native.type if hasattr(native, "type") else native.dtype)


def _unsupported(series: nw.Series[Any]) -> ColumnTypeError:
    name = _type_name(series)
    known = (remedy for dtype, remedy in REMEDIES.items() if series.dtype == dtype)
    remedy = SPARSE if name.startswith("Sparse") else next(known, UNPACK)
    return ColumnTypeError(f"Column {series.name!r} has the type {name}, neither number nor category; {remedy}.")
