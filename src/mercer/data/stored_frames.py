"""Data frames as bytes in Arrow's format: values and names, and nothing of a library's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DataError

#: whose frames can be written
LIBRARIES = ("pandas", "polars", "pyarrow")


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
        table = pa.ipc.open_stream(pa.py_buffer(octets)).read_all().replace_schema_metadata(None)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"These bytes are no frame: {error}") from None
    if library == "pyarrow":
        return table
    if library == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table.to_pandas()
