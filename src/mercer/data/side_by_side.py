"""Columns that lie apart in memory as the rows of one matrix."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.data._loops import interleave
from mercer.data.blocks import COPIED_BLOCK, rows_per_block

#: numbers below which there is nothing to gain by a compiled loop
FEW = 1 << 14


def fill_rows(out: Array, columns: Sequence[Array]) -> Array:
    """`out` with these columns, whatever their types and steps."""
    if out.size < FEW:
        for j, column in enumerate(columns):
            out[:, j] = column
        return out

    def fill(rows: slice) -> None:
        parts = [np.asarray(column[rows], dtype=out.dtype) for column in columns]
        addresses = np.array([part.__array_interface__["data"][0] for part in parts], dtype=np.intp)
        interleave(addresses, np.array([part.strides[0] for part in parts], dtype=np.intp), out[rows])

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
    return fill_rows(np.empty(X.shape, dtype=columns[0].dtype), columns)
