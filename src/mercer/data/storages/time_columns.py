"""Columns of dates, times and durations as numbers."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from mercer._errors import ColumnTypeError
from mercer._typing import Array
from mercer.data.coding import Coded, code_floats, one_chunk
from mercer.data.dates import MICROSECONDS_PER_DAY

#: types of points in time, and all types that are read as numbers
DATE_TYPES = (nw.Date, nw.Datetime)
TIME_TYPES = (*DATE_TYPES, nw.Time, nw.Duration)


@dataclass(frozen=True, eq=False)
class TimeColumn:
    """Dates and times as days since 1970 in their time zone, durations as days, times of day as hours."""

    series: nw.Series[Any]

    @property
    def float_type(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    def floats(self, start: int, stop: int) -> Array:
        return self.by_clock("", start, stop)

    @property
    def zone(self) -> str:
        """The time zone, or ""."""
        return getattr(self.series[:0].to_arrow().type, "tz", None) or ""

    def by_clock(self, zone: str, start: int, stop: int) -> Array:
        """Return the same numbers in another time zone; "" for their own."""
        units = MICROSECONDS_PER_DAY / 24 if self.series.dtype == nw.Time else MICROSECONDS_PER_DAY
        return _microseconds(one_chunk(self.series[start:stop].to_arrow()), zone) / units

    def coded(self, start: int, stop: int) -> Coded:
        return code_floats(self.floats(start, stop))

    def declared_levels(self) -> None:
        return None


def _microseconds(array: Any, zone: str) -> Array:
    """Return a pyarrow array of a temporal type as floats in a time zone; NaN for null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        array = pc.local_timestamp(pc.cast(array, pa.timestamp(kind.unit, zone or kind.tz)))
    if pa.types.is_duration(kind):
        plain = pa.duration("us")
    elif pa.types.is_time(kind):
        plain = pa.time64("us")
    else:
        plain = pa.timestamp("us")
    integers = pc.cast(pc.cast(array, plain, safe=False), pa.int64())
    floats: Array = pc.cast(integers, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return floats


def clock_columns(frame: Any) -> dict[str, str]:
    """Return the kind, "times of day" or "durations", of each column of one of these.

    A model file does not record that numbers were times of day or durations, so that no reader, server or SQL query
    could read the same column again.
    """
    import pyarrow as pa

    fields = frame.schema if isinstance(frame, pa.Table) else ()
    times = {field.name: "times of day" for field in fields if pa.types.is_time(field.type)}
    return times | {field.name: "durations" for field in fields if pa.types.is_duration(field.type)}


def check_no_clock_times(frame: Any) -> None:
    """Raise an error for a frame with `clock_columns`."""
    for name, what in clock_columns(frame).items():
        raise ColumnTypeError(
            f"Column {name!r} holds {what} ({frame.schema.field(name).type}), which model files cannot store. Leave it "
            f"out (on the command line --drop {shlex.quote(name)}), or write it as numbers, e.g. as hours."
        )
