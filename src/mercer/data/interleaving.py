"""Conversion of columns in separate memory to the rows of one matrix."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.data._loops import interleave
from mercer.data.blocks import COPIED_BLOCK, rows_per_block

#: number of values below which a compiled loop is not faster
MIN_VALUES_FOR_LOOP = 1 << 14


def fill_rows(out: Array, columns: Sequence[Array]) -> Array:
    """Fill `out` with columns of any types and strides, and return it."""
    if out.size < MIN_VALUES_FOR_LOOP:
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
    """Return a pyarrow table of float64, or of float32, columns without gaps as rows; None for anything else.

    The result is NumPy's, which works column by column and reads all rows into the cache for each.
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
