"""Columns of pandas that store numbers or bools as objects, or in another byte order."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

from mercer.data.coding import is_missing


def convert_objects(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return a column converted to the type of its values if all of them are numbers, or all bools; else unchanged.

    Databases return decimals, and a row of a frame consists of objects, whatever the types of the frame.
    """
    if not series.implementation.is_pandas_like():
        return series
    native = series.to_native()
    if not isinstance(native.dtype, np.dtype):
        return series
    if not native.dtype.isnative:  # another byte order
        return _like(native, native.to_numpy().astype(native.dtype.newbyteorder("=")))
    return _of_objects(series, native) if native.dtype == object else series


def _of_objects(series: nw.Series[Any], native: Any) -> nw.Series[Any]:
    objects = native.to_numpy()
    if isinstance(next((each for each in objects if not is_missing(each)), ""), str):
        return series  # a column of strings, whose other values need not be checked
    present = native.notna().to_numpy()
    types = set(map(type, objects[present]))
    if all(issubclass(each, bool | np.bool_) for each in types):
        return _like(native, native, dtype="boolean")
    if not all(issubclass(each, Real | Decimal) and not issubclass(each, bool) for each in types):
        return series
    numbers = np.full(len(objects), np.nan)
    try:
        numbers[present] = objects[present].astype(np.float64)
    except (OverflowError, ValueError):  # an integer beyond all floats, or a signalling NaN
        return series
    return _like(native, numbers)


def _like(native: Any, values: Any, **options: Any) -> nw.Series[Any]:
    return nw.from_native(type(native)(values, name=native.name, **options), series_only=True)
