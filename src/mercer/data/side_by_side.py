"""Columns that lie apart in memory as the rows of one matrix."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._jit.data.columns import interleave
from mercer._threads import ordered_map, row_blocks
from mercer.data.blocks import COPIED_BLOCK, rows_per_block

Array = NDArray[Any]

#: numbers below which there is nothing to gain by a compiled loop
FEW = 1 << 14


def fill_rows(out: Array, read: Callable[[slice], Sequence[Array]]) -> Array:
    """`out` with one column for each array that `read(rows)` gives, whatever the types and steps of these."""
    if out.size < FEW:
        for j, column in enumerate(read(slice(0, len(out)))):
            out[:, j] = column
        return out

    def fill(rows: slice) -> None:
        columns = [np.asarray(column, dtype=out.dtype) for column in read(rows)]
        addresses = np.array([column.__array_interface__["data"][0] for column in columns], dtype=np.intp)
        interleave(addresses, np.array([column.strides[0] for column in columns], dtype=np.intp), out[rows])

    ordered_map(fill, row_blocks(len(out), rows_per_block(out.shape[1], COPIED_BLOCK)))
    return out


def rows_of_arrow(X: Any) -> Array | None:
    """A pyarrow table whose columns are all float64, or all float32, without gaps, as rows; None of anything else.

    NumPy makes the same of it, but column by column, each of which brings all rows into the cache again.
    """
    if (pa := sys.modules.get("pyarrow")) is None or not isinstance(X, pa.Table):
        return None
    types = set(X.schema.types)
    if len(types) != 1 or not types <= {pa.float64(), pa.float32()}:
        return None
    if any(column.num_chunks != 1 or column.null_count for column in X.columns):
        return None
    columns = [column.chunk(0).to_numpy() for column in X.columns]
    return fill_rows(np.empty(X.shape, dtype=columns[0].dtype), lambda rows: [column[rows] for column in columns])
