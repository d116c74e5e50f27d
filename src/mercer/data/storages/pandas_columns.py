"""Columns of pandas whose type hides what they hold: numbers and bools stored as Python objects or in reverse order."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

from mercer.data.coding import is_missing


def typed(series: nw.Series[Any]) -> nw.Series[Any]:
    """The column by the type of its values where all of them are numbers, or all bools; else as it is.

    Databases hand out decimals, and a row taken out of a frame has objects in it, whatever the frame had.
    """
    if not series.implementation.is_pandas_like():
        return series
    native = series.to_native()
    if not isinstance(native.dtype, np.dtype):
        return series
    if not native.dtype.isnative:  # 8 bytes in the order of another machine
        return _like(native, native.to_numpy().astype(native.dtype.newbyteorder("=")))
    return _of_objects(series, native) if native.dtype == object else series


def _of_objects(series: nw.Series[Any], native: Any) -> nw.Series[Any]:
    objects = native.to_numpy()
    if isinstance(next((each for each in objects if not is_missing(each)), ""), str):
        return series  # without a look at all the others
    present = native.notna().to_numpy()
    types = set(map(type, objects[present]))
    if all(issubclass(each, bool | np.bool_) for each in types):
        return _like(native, native, dtype="boolean")
    if not all(issubclass(each, Real | Decimal) and not issubclass(each, bool) for each in types):
        return series
    numbers = np.full(len(objects), np.nan)
    try:
        numbers[present] = objects[present].astype(np.float64)
    except (OverflowError, ValueError):  # a whole number beyond all floats, a NaN that signals
        return series
    return _like(native, numbers)


def _like(native: Any, values: Any, **options: Any) -> nw.Series[Any]:
    return nw.from_native(type(native)(values, name=native.name, **options), series_only=True)
