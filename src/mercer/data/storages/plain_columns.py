"""Views of all numeric columns of a wide frame at once; a thousand separate views take a second."""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import chain
from typing import Any

import numpy as np

from mercer._typing import Array


def side_by_side(native: Any, *, fewest: int = 50) -> Any:
    """Return a wide pandas frame with the columns of one type in one block of memory, copied where they are apart.

    `read_csv` leaves every column by itself: of thousands of them pandas takes rows far faster from one block.

    Parameters
    ----------
    native : data frame
        Of any library; only those of pandas are copied.
    fewest : int, default=50
        Columns of one type from which they are put together.
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
        Of any library; only those of pandas and tables of pyarrow have columns that are read here.
    fewest : int, default=50
        Columns of one type from which they are read together. Fewer are None, too.
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
    """Positions of the columns of each type of plain numbers."""
    found = defaultdict(list)
    for position, each in enumerate(types):
        if isinstance(each, np.dtype) and each.kind in "iuf" and each.itemsize in (4, 8) and each.isnative:
            found[each].append(position)
    return found


def _is_number(pyarrow: Any, dtype: Any) -> bool:
    return bool(pyarrow.types.is_integer(dtype) or pyarrow.types.is_floating(dtype))
