"""Views of all numeric columns of a wide frame at once, since a thousand separate views take a second."""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import chain
from typing import Any

import numpy as np

from mercer._typing import Array


def consolidate_columns(native: Any, *, fewest: int = 50) -> Any:
    """Return a wide pandas frame with the columns of one type in one block of memory, copied if they are separate.

    `read_csv` stores every column separately; from one block, pandas takes rows of thousands of columns far faster.

    Parameters
    ----------
    native : data frame
        A frame of any library; only those of pandas are copied.
    fewest : int, default=50
        Smallest number of columns of one type for which the frame is copied.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(native, pandas.DataFrame) or native.shape[1] < fewest:
        return native
    for positions in _by_type(native.dtypes.tolist()).values():
        if len(positions) >= fewest:
            first, last = (native.iloc[:, position].to_numpy() for position in (positions[0], positions[-1]))
            if first.base is None or first.base is not last.base:
                return native.copy()
    return native


def plain_columns(native: Any, *, fewest: int = 50) -> list[Array | None]:
    """Return the values of each column of integers or floats without nulls, and None for every other column.

    Parameters
    ----------
    native : data frame
        A frame of any library; only columns of pandas and pyarrow are read here.
    fewest : int, default=50
        Smallest number of columns of one type that are read together; the result is None for the columns of rarer
        types.
    """
    values: list[Array | None] = [None] * native.shape[1]
    pandas, pyarrow = sys.modules.get("pandas"), sys.modules.get("pyarrow")
    if len(values) < fewest:
        return values
    if pandas is not None and isinstance(native, pandas.DataFrame):
        for positions in _by_type(native.dtypes.tolist()).values():
            if len(positions) >= fewest:
                block = native.iloc[:, positions] if len(positions) < len(values) else native
                for position, column in zip(positions, block.to_numpy().T, strict=True):
                    values[position] = column
    elif pyarrow is not None and isinstance(native, pyarrow.Table):
        types = [
            np.dtype(each.to_pandas_dtype()) if _is_number(pyarrow, each) else None for each in native.schema.types
        ]
        for position in chain.from_iterable(_by_type(types).values()):
            column = native.column(position)
            if column.num_chunks == 1 and not column.null_count:
                values[position] = column.chunk(0).to_numpy()
    return values


def _by_type(types: list[Any]) -> dict[np.dtype[Any], list[int]]:
    """Return the positions of the columns of each type of plain numbers."""
    positions = defaultdict(list)
    for position, each in enumerate(types):
        if isinstance(each, np.dtype) and each.kind in "iuf" and each.itemsize in (4, 8) and each.isnative:
            positions[each].append(position)
    return positions


def _is_number(pyarrow: Any, dtype: Any) -> bool:
    return bool(pyarrow.types.is_integer(dtype) or pyarrow.types.is_floating(dtype))
