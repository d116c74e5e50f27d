"""One column of a frame: a NumPy array where the library lets NumPy look at it, else a narwhals series."""

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
    natural,
)
from mercer.data.kinds import Kind
from mercer.data.storages.dense import float_type

BOTH = np.array([False, True])


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
        return BOTH if self.values.dtype.kind == "b" else None


@dataclass(frozen=True, eq=False)
class SeriesColumn:
    """Everything else, read through pyarrow."""

    series: nw.Series[Any]

    @property
    def float_type(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.series.dtype == nw.Float32 else np.float64)

    def floats(self, start: int, stop: int) -> Array:
        return as_floats(self._rows(start, stop).to_arrow())

    def strings(self, start: int, stop: int) -> Any:
        """As pyarrow has them; None of anything else, and of lone surrogates, which it cannot hold."""
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
            return BOTH
        # the categories of polars' Categorical are those of the whole process, not of the column
        if self.series.dtype == nw.Categorical and not self.series.implementation.is_polars():
            return code_arrow(self.series.to_arrow()).labels
        return self._categories()

    def _rows(self, start: int, stop: int) -> nw.Series[Any]:
        """Cut out only where something is cut off: it takes as long as to read a short column."""
        return self.series if (start, stop) == (0, len(self.series)) else self.series[start:stop]

    def _categories(self) -> Array | None:
        """Categories in an order that the type fixes; of intervals and the like, which pyarrow cannot name, too."""
        dtype = self.series.dtype
        return label_array([natural(level) for level in dtype.categories]) if isinstance(dtype, nw.Enum) else None


def _pandas_codes(series: nw.Series[Any], categories: Array | None) -> Coded | None:
    """The codes that a pandas categorical consists of, which need no way through pyarrow; None of other columns."""
    if not (series.implementation.is_pandas() and series.dtype in (nw.Categorical, nw.Enum)):
        return None
    values = series.to_native().array
    labels = code_arrow(series[:0].to_arrow()).labels if categories is None else categories
    if len(labels) != len(values.categories):  # numbers with a fraction are told apart by value
        return None
    return Coded(np.array(values.codes, dtype=np.int32), labels)


def column_of(series: nw.Series[Any], kind: Kind) -> FrameColumn:
    """A NumPy view of a column of numbers if there is one: reading a block through it is ten times faster."""
    native = series.to_native()
    if series.implementation.is_pyarrow() and native.num_chunks == 1:
        native = native.chunk(0)
    if kind.numeric:
        with contextlib.suppress(TypeError, ValueError, RuntimeError):  # each library has its own way to refuse
            view = np.asarray(native, copy=False)
            if view.dtype.kind in "fiub":
                return ViewedColumn(view)
    return SeriesColumn(series)
