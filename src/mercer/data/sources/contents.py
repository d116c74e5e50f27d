"""Digests of all values of arrays and tables, by which a checkpoint detects other rows."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from mercer._threads import row_blocks
from mercer._typing import Array

#: number of rows that are hashed at a time
HASHED_ROWS = 1 << 16


def contents_digest(*parts: Any) -> str:
    """Return a hexadecimal digest of all values of arrays, sparse matrices or frames.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.zeros((1000, 2))
    >>> first = contents_digest(rows)
    >>> rows[500, 1] = 1e-9
    >>> contents_digest(rows) == first
    False
    """
    total = blake2b(digest_size=16)
    for part in parts:
        for piece in _pieces(part):
            total.update(piece)
    return total.hexdigest()


def _pieces(part: Any) -> Iterator[Any]:
    if part is None:
        yield b"none"
    elif isinstance(part, np.ndarray):
        yield from _of_array(part)
    elif sparse.issparse(part):
        rows: Any = part.tocsr()  # type: ignore[attr-defined]
        for array in (rows.indptr, rows.indices, rows.data):
            yield from _of_array(array)
        yield repr(rows.shape).encode()
    else:
        yield from _of_frame(part)


def _of_array(array: Array) -> Iterator[Any]:
    yield repr((array.dtype, array.shape)).encode()
    for rows in row_blocks(len(array), HASHED_ROWS):
        block = np.ascontiguousarray(array[rows])
        yield repr(block.tolist()).encode("utf-8", "surrogatepass") if block.dtype.hasobject else block.tobytes()


def _of_frame(frame: Any) -> Iterator[Any]:
    import pyarrow as pa

    from mercer.data.storages.frame import as_frame

    known: Any = as_frame(frame)
    for name in known.columns:
        yield repr(name).encode("utf-8", "surrogatepass")
        try:
            column = pa.chunked_array([known[name].to_arrow()])
        except (pa.ArrowException, TypeError):  # Python objects of several types
            yield repr(known[name].to_list()).encode("utf-8", "surrogatepass")
        else:
            yield from _of_column(column)


def _of_column(column: Any) -> Iterator[Any]:
    """Yield the bytes of a pyarrow column, independent of the bytes at the positions of nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    yield f"{column.type} {len(column)}".encode()
    for rows in row_blocks(len(column), HASHED_ROWS):
        block = pa.concat_arrays(column.slice(rows.start, rows.stop - rows.start).chunks)
        yield np.packbits(block.is_null().to_numpy(zero_copy_only=False)).tobytes()
        yield pa.record_batch([block.drop_null()], ["values"]).serialize()
