"""Data frames as bytes in Arrow's format: values and names, and nothing of a library's own.

What is read takes no more memory than a small multiple of its bytes: streams that are compressed are refused before
anything is made of them, and so are more rows, or more values in lists, than bytes can hold.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DataError
from mercer.data.frame_like import module_of

#: whose frames can be written
LIBRARIES = ("pandas", "polars", "pyarrow")
#: rows, and values in lists, that may be there without bytes for each: what is missing takes none
ROWS = 1_000_000
#: messages of a stream that hold values, and where in these the table with their buffers is (None: it is the message)
BATCHES = {2: 1, 3: None}
#: where that table says that it is compressed
COMPRESSION = 3


def frame_library(frame: Any) -> str | None:
    """Whose frame it is; None of anything else."""
    name = type(frame).__module__.partition(".")[0]
    return name if name in LIBRARIES and type(frame).__name__ in ("DataFrame", "Table") else None


def frame_bytes(frame: Any) -> NDArray[np.uint8]:
    """The columns of a frame, in order; an index is left out."""
    import narwhals as nw
    import pyarrow as pa

    table = nw.from_native(frame, eager_only=True).to_arrow().replace_schema_metadata(None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def frame_of_bytes(octets: NDArray[np.uint8], library: str) -> Any:
    """The frame again, in the library it came from. Bytes that are none are a `DataError`."""
    import pyarrow as pa

    try:
        _refuse_compressed(octets)
        table = pa.ipc.open_stream(pa.py_buffer(octets)).read_all().replace_schema_metadata(None)
        table.validate(full=True)
        most = 8 * len(octets) + ROWS
        values = 0
        for chunk in (chunk for column in table.columns for chunk in column.chunks):
            values += _count_values(chunk, most)
            if values > most:  # of all columns together: columns may share bytes, and missing values take none
                raise ValueError(f"{values:,} values are more than they can hold")
    except (pa.ArrowException, OSError, EOFError, ValueError, struct.error) as error:
        raise DataError(f"These bytes are no frame: {error}") from None
    if table.num_rows > most:
        raise DataError(f"These bytes are no frame: {table.num_rows:,} rows are more than they can hold")
    if not table.num_rows:  # columns in no piece at all: pyarrow ends the process where it converts some to pandas
        table = table.schema.empty_table()
    if library == "pyarrow":
        return table
    module = module_of(library)
    return _polars_frame(module, table) if library == "polars" else table.to_pandas()


def _polars_frame(polars: Any, table: Any) -> Any:
    """Return a frame of polars, which has fewer types than Arrow and reports others by exceptions of its own."""
    errors = polars.exceptions
    try:
        return polars.from_arrow(table)
    except (errors.PolarsError, errors.PanicException) as error:
        raise DataError(f"These bytes are no frame: polars cannot hold them ({error})") from None


def _refuse_compressed(octets: NDArray[np.uint8]) -> None:
    import pyarrow as pa

    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(octets)):
        if _is_compressed(message.metadata.to_pybytes()):
            raise ValueError("it is compressed")


def _count_values(array: Any, most: int) -> int:
    """Return how many values a column has, those in lists and structures, or bytes of texts that are views, included.

    Counting ends above `most`, before anything is made of lists that share what they show.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    inside, values = list[Any](), 0
    if pa.types.is_struct(array.type):
        inside = array.flatten()
    elif pa.types.is_dictionary(array.type):
        inside = [array.dictionary]
    elif pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        values = _characters(array)
    elif pa.types.is_string(array.type) or pa.types.is_binary(array.type) or pa.types.is_large_string(array.type):
        values = pc.sum(pc.binary_length(array)).as_py() or 0
    elif pa.types.is_map(array.type):
        inside, values = [array.keys, array.items], len(array.keys)
    elif pa.types.is_nested(array.type) and hasattr(array, "flatten"):
        values = pc.sum(pc.list_value_length(array)).as_py() or 0
        inside = [array.flatten()] if values <= most else []
    values += len(array)
    for part in inside:
        if values <= most:
            values += _count_values(part, most - values)
    return values


def _characters(array: Any) -> int:
    """Bytes that all views of an array show together: of the four numbers of a view its length is the first."""
    lengths = np.frombuffer(array.buffers()[1], dtype="<i4")[::4][array.offset : array.offset + len(array)]
    shown: int = lengths.sum(dtype=np.int64, where=array.is_valid().to_numpy(zero_copy_only=False))
    return shown


def _is_compressed(message: bytes) -> bool:
    """What Arrow's library tells nobody: whether a message (of three fields: version, kind, content) is compressed."""
    table = _followed(message, 0)
    kind, content = (_field(message, table, number) for number in (1, 2))
    if not (kind and content) or message[kind] not in BATCHES:
        return False
    batch = _followed(message, content)
    inner = BATCHES[message[kind]]
    if inner is not None and (place := _field(message, batch, inner)):
        batch = _followed(message, place)
    return _field(message, batch, COMPRESSION) != 0


def _followed(octets: bytes, place: int) -> int:
    """Where a reference of FlatBuffers leads: it counts from where it stands."""
    return place + int(struct.unpack_from("<I", octets, place)[0])


def _field(octets: bytes, table: int, number: int) -> int:
    """Where a field of a table of FlatBuffers is; 0 where it is left out."""
    names = table - int(struct.unpack_from("<i", octets, table)[0])
    (length,) = struct.unpack_from("<H", octets, names)
    entry = 4 + 2 * number
    offset = int(struct.unpack_from("<H", octets, names + entry)[0]) if entry < length else 0
    return table + offset if offset else 0
