"""Data frames as bytes in Arrow's format: values and names, without metadata of a library.

Reading takes no more memory than a small multiple of the bytes: compressed streams are rejected before they are
expanded, and so are more rows, or more values in lists, than the bytes can hold.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DataError
from mercer.data.frame_like import module_of

#: libraries whose frames can be stored
LIBRARIES = ("pandas", "polars", "pyarrow")
#: number of rows, or values in lists, that may exist without bytes: missing values take none
MAX_ROWS_WITHOUT_BYTES = 1_000_000
#: kinds of messages that hold values, with the field of their table of buffers (None: the message itself)
BATCH_KINDS = {2: 1, 3: None}
#: the field of this table for the compression
COMPRESSION = 3


def frame_library(frame: Any) -> str | None:
    """Return the library of a frame; None for anything else."""
    name = type(frame).__module__.partition(".")[0]
    return name if name in LIBRARIES and type(frame).__name__ in ("DataFrame", "Table") else None


def frame_bytes(frame: Any) -> NDArray[np.uint8]:
    """Return the columns of a frame, in order and without an index, as bytes."""
    import narwhals as nw
    import pyarrow as pa

    table = nw.from_native(frame, eager_only=True).to_arrow().replace_schema_metadata(None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def frame_of_bytes(octets: NDArray[np.uint8], library: str) -> Any:
    """Return the frame of some bytes in a library; raise a `DataError` if the bytes are not a frame."""
    import pyarrow as pa

    try:
        _check_uncompressed(octets)
        table = pa.ipc.open_stream(pa.py_buffer(octets)).read_all().replace_schema_metadata(None)
        table.validate(full=True)
        most = 8 * len(octets) + MAX_ROWS_WITHOUT_BYTES
        values = 0
        for chunk in (chunk for column in table.columns for chunk in column.chunks):
            values += _count_values(chunk, most)
            if values > most:  # for all columns together: columns may share bytes, and missing values take none
                raise ValueError(f"{values:,} values are more than they can hold")
    except (pa.ArrowException, OSError, EOFError, ValueError, struct.error) as error:
        raise DataError(f"These bytes are not a frame: {error}") from None
    if table.num_rows > most:
        raise DataError(f"These bytes are not a frame: {table.num_rows:,} rows are more than they can hold")
    if not table.num_rows:  # pyarrow crashes when it converts some columns without chunks to pandas
        table = table.schema.empty_table()
    if library == "pyarrow":
        return table
    module = module_of(library)
    return _polars_frame(module, table) if library == "polars" else table.to_pandas()


def _polars_frame(polars: Any, table: Any) -> Any:
    """Return a frame of polars, which supports fewer types than Arrow and raises its own exceptions."""
    errors = polars.exceptions
    try:
        return polars.from_arrow(table)
    except (errors.PolarsError, errors.PanicException) as error:
        raise DataError(f"These bytes are not a frame: polars cannot hold them ({error})") from None


def _check_uncompressed(octets: NDArray[np.uint8]) -> None:
    import pyarrow as pa

    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(octets)):
        if _is_compressed(message.metadata.to_pybytes()):
            raise ValueError("they are compressed")


def _count_values(array: Any, most: int) -> int:
    """Return the number of values of a column, including those in lists and structures and the bytes of string views.

    Counting stops above `most`, before lists that share their values are expanded.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    nested, values = list[Any](), 0
    if pa.types.is_struct(array.type):
        nested = array.flatten()
    elif pa.types.is_dictionary(array.type):
        nested = [array.dictionary]
    elif pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        values = _count_characters(array)
    elif pa.types.is_string(array.type) or pa.types.is_binary(array.type) or pa.types.is_large_string(array.type):
        values = pc.sum(pc.binary_length(array)).as_py() or 0
    elif pa.types.is_map(array.type):
        nested, values = [array.keys, array.items], len(array.keys)
    elif pa.types.is_nested(array.type) and hasattr(array, "flatten"):
        values = pc.sum(pc.list_value_length(array)).as_py() or 0
        nested = [array.flatten()] if values <= most else []
    values += len(array)
    for part in nested:
        if values <= most:
            values += _count_values(part, most - values)
    return values


def _count_characters(array: Any) -> int:
    """Return the total length of all string views of an array; it is the first of the four numbers of a view."""
    lengths = np.frombuffer(array.buffers()[1], dtype="<i4")[::4][array.offset : array.offset + len(array)]
    shown: int = lengths.sum(dtype=np.int64, where=array.is_valid().to_numpy(zero_copy_only=False))
    return shown


def _is_compressed(message: bytes) -> bool:
    """Return whether a message (three fields: version, kind, content) is compressed, which pyarrow does not expose."""
    table = _follow(message, 0)
    kind, content = (_field(message, table, number) for number in (1, 2))
    if not (kind and content) or message[kind] not in BATCH_KINDS:
        return False
    batch = _follow(message, content)
    inner = BATCH_KINDS[message[kind]]
    if inner is not None and (place := _field(message, batch, inner)):
        batch = _follow(message, place)
    return _field(message, batch, COMPRESSION) != 0


def _follow(octets: bytes, place: int) -> int:
    """Return the target of a FlatBuffers reference, which is relative to its own position."""
    return place + int(struct.unpack_from("<I", octets, place)[0])


def _field(octets: bytes, table: int, number: int) -> int:
    """Return the position of a field of a FlatBuffers table, 0 if it is absent."""
    names = table - int(struct.unpack_from("<i", octets, table)[0])
    (length,) = struct.unpack_from("<H", octets, names)
    entry = 4 + 2 * number
    offset = int(struct.unpack_from("<H", octets, names + entry)[0]) if entry < length else 0
    return table + offset if offset else 0
