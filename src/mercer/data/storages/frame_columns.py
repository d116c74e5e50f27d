"""Columns of a frame: a NumPy array if the library exposes one, else a narwhals series."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals as nw
import numpy as np

from mercer._typing import Array
from mercer.data.coding import (
    Coded,
    as_floats,
    code_array,
    code_arrow,
    code_objects,
    code_positions,
    label_array,
    to_label,
)
from mercer.data.kinds import Kind
from mercer.data.storages.dense import float_type

#: the levels of a column of bools
BOOL_LEVELS = np.array([False, True])


class FrameColumn(Protocol):
    """Rows `start` to `stop` as floats or codes."""

    @property
    def float_type(self) -> np.dtype[Any]: ...

    def floats(self, start: int, stop: int) -> Array: ...

    def coded(self, start: int, stop: int) -> Coded: ...

    def declared_levels(self) -> Array | None: ...


@dataclass(frozen=True, eq=False)
class ViewedColumn:
    """Numbers or bools without missing values other than NaN."""

    values: Array

    @property
    def float_type(self) -> np.dtype[Any]:
        return float_type(self.values.dtype)

    def floats(self, start: int, stop: int) -> Array:
        return self.values[start:stop]

    def coded(self, start: int, stop: int) -> Coded:
        return code_array(self.values[start:stop])

    def declared_levels(self) -> Array | None:
        return BOOL_LEVELS if self.values.dtype.kind == "b" else None


@dataclass(frozen=True, eq=False)
class SeriesColumn:
    """A column of any other type, read through pyarrow."""

    series: nw.Series[Any]

    @property
    def float_type(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.series.dtype == nw.Float32 else np.float64)

    def floats(self, start: int, stop: int) -> Array:
        return as_floats(self._rows(start, stop).to_arrow())

    def strings(self, start: int, stop: int) -> Any:
        """Return strings as a pyarrow array; None for other types, and for lone surrogates, which it cannot hold."""
        import pyarrow as pa

        if self.series.dtype != nw.String:
            return None
        with contextlib.suppress(pa.ArrowException, UnicodeError):
            return self._rows(start, stop).to_arrow().cast(pa.large_string())
        return None

    def coded(self, start: int, stop: int) -> Coded:
        import pyarrow as pa

        part, categories = self._rows(start, stop), self._categories()
        try:
            if (kept := _pandas_codes(part, categories)) is not None:
                return kept
            array = part.to_arrow()
        except (pa.ArrowException, UnicodeError, OverflowError):  # objects of several types
            return code_objects(part.to_numpy())
        if categories is not None:
            return Coded(code_positions(array), categories)
        return code_arrow(array)

    def declared_levels(self) -> Array | None:
        if self.series.dtype == nw.Boolean:
            return BOOL_LEVELS
        # the categories of polars' Categorical are those of the whole process, not of the column
        if self.series.dtype == nw.Categorical and not self.series.implementation.is_polars():
            return code_arrow(self.series.to_arrow()).labels
        return self._categories()

    def _rows(self, start: int, stop: int) -> nw.Series[Any]:
        """Return a slice, or the series itself if it is complete, since slicing takes as long as reading a short
        column.
        """
        return self.series if (start, stop) == (0, len(self.series)) else self.series[start:stop]

    def _categories(self) -> Array | None:
        """Return categories in the order fixed by the type, including those that pyarrow cannot represent, such as
        intervals.
        """
        dtype = self.series.dtype
        return label_array([to_label(level) for level in dtype.categories]) if isinstance(dtype, nw.Enum) else None


def _pandas_codes(series: nw.Series[Any], categories: Array | None) -> Coded | None:
    """Return the codes of a pandas categorical without a conversion to pyarrow; None for other columns."""
    if not (series.implementation.is_pandas() and series.dtype in (nw.Categorical, nw.Enum)):
        return None
    values = series.to_native().array
    labels = code_arrow(series[:0].to_arrow()).labels if categories is None else categories
    if len(labels) != len(values.categories):  # e.g. labels of numbers that are equal by value
        return None
    return Coded(np.array(values.codes, dtype=np.int32), labels)


def column_of(series: nw.Series[Any], kind: Kind) -> FrameColumn:
    """Return a NumPy view of a column of numbers if there is one, since reading a block through it is ten times
    faster.
    """
    native = series.to_native()
    if series.implementation.is_pyarrow() and native.num_chunks == 1:
        native = native.chunk(0)
    if kind.numeric:
        with contextlib.suppress(TypeError, ValueError, RuntimeError):  # the exception depends on the library
            view = np.asarray(native, copy=False)
            if view.dtype.kind in "fiub":
                return ViewedColumn(view)
    return SeriesColumn(series)
