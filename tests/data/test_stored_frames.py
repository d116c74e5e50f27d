"""Frames as bytes: round trips, and errors for bytes that are not a frame or would expand."""

from __future__ import annotations

import contextlib
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer._errors import DataError, MissingDependencyError
from mercer.data.frame_like import frame_like
from mercer.data.stored_frames import frame_bytes, frame_library, frame_of_bytes

TABLE = pa.table(
    {
        "n": pa.array([1, None, 3]),
        "s": ["naïve", "", None],
        "c": pa.array(["x", "y", "x"]).dictionary_encode(),
        "none": pa.nulls(3),
    }
)


def stream(table: pa.Table, **options: Any) -> np.ndarray[Any, Any]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("rows", [3, 0])
def test_a_frame_is_restored(library: str, rows: int) -> None:
    table = TABLE.slice(0, rows)
    frame = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "pyarrow": lambda: table}[library]()
    assert frame_library(frame) == library
    found = frame_of_bytes(frame_bytes(frame), library)
    assert type(found) is type(frame)
    if library == "pandas":  # an empty column of objects does not say of what
        pd.testing.assert_frame_equal(found, frame, check_dtype=rows > 0, check_categorical=rows > 0)
    else:
        assert found.equals(frame)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named_with_its_installation(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    octets = frame_bytes(TABLE)
    monkeypatch.setitem(sys.modules, library, None)
    for made in (lambda: frame_of_bytes(octets, library), lambda: frame_like(["a"], [np.ones(2)], library)):
        with pytest.raises(MissingDependencyError, match=r"pip install 'mercer\[frames\]'$"):
            made()


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_stream_that_is_compressed_is_rejected(codec: str, dictionary: bool) -> None:
    values = pa.array(["long " * 1000] * 2000)
    octets = stream(pa.table({"a": values.dictionary_encode() if dictionary else values}), compression=codec)
    with pytest.raises(DataError, match="compressed"):
        frame_of_bytes(octets, "pyarrow")


def test_more_rows_than_the_bytes_can_store_are_rejected() -> None:
    with pytest.raises(DataError, match="values are more"):
        frame_of_bytes(stream(pa.table({"a": pa.nulls(10**9)})), "pandas")


def views_of_one(text: bytes, rows: int, kind: pa.DataType) -> pa.Array:
    """Return rows that share the same bytes in memory."""
    gaps, view, octets = pa.array([text], kind).buffers()
    return pa.Array.from_buffers(kind, rows, [gaps, pa.py_buffer(view.to_pybytes() * rows), octets])


NULLS = pa.FixedSizeListArray.from_arrays(pa.nulls(10**9), 10**9)


@pytest.mark.parametrize(
    "values",
    [
        NULLS,
        pa.LargeListArray.from_arrays([0, 10**9], pa.nulls(10**9)),
        pa.StructArray.from_arrays([NULLS], ["a"]),
        pa.ListArray.from_arrays([0, 1], NULLS),
        pa.ListViewArray.from_arrays([0] * 5000, [1000] * 5000, pa.array(range(1000))),
        views_of_one(b"x" * 10**5, 100, pa.string_view()),
        pa.ListArray.from_arrays([0, 100], views_of_one(b"x" * 10**5, 100, pa.binary_view())),
    ],
    ids=["fixed", "list", "struct", "nested", "view", "texts", "bytes"],
)
def test_more_values_than_the_bytes_can_store_are_rejected(values: pa.Array) -> None:
    with pytest.raises(DataError, match="values are more than they can hold"):
        frame_of_bytes(stream(pa.table({"a": values})), "pandas")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array(["a"])),
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1]), pa.array(["x"])]),
        pa.array([Decimal("1.5")], pa.decimal256(60, 2)),
        pa.array([b""], pa.binary(0)),
        pa.array([[]], pa.list_(pa.int64(), 0)),
        pa.array([1], pa.timestamp("s", tz="Nowhere/Here")),
    ],
    ids=lambda values: str(values.type).partition("<")[0],
)
def test_types_that_polars_does_not_have_are_rejected(values: pa.Array) -> None:
    """The errors of polars have their own classes, some of which are not an `Exception`."""
    with pytest.raises(DataError, match="not a frame"):
        frame_of_bytes(stream(pa.table({"a": values})), "polars")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_stream_without_batches_is_a_frame_without_rows(library: str) -> None:
    """`to_pandas` crashes for views of lists without chunks."""
    sink = pa.BufferOutputStream()
    kind = pa.int64() if library == "polars" else pa.list_view(pa.int64())
    with pa.ipc.new_stream(sink, pa.schema({"a": kind})):
        pass
    assert frame_of_bytes(np.frombuffer(sink.getvalue(), dtype=np.uint8), library).shape == (0, 1)


def test_lists_and_structs_are_restored() -> None:
    maps = pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64()))
    table = pa.table({"l": [[1], None], "s": [{"a": 1, "b": None}] * 2, "t": [[["x"]], []], "e": [[], []], "m": maps})
    views = pa.array([None, "x" * 99], pa.string_view())
    table = table.append_column("v", views).append_column("w", pa.nulls(2, pa.binary_view()))
    assert frame_of_bytes(frame_bytes(table), "pyarrow").equals(table)


def test_bytes_that_are_not_a_frame_raise_an_error() -> None:
    whole = stream(TABLE)
    rng = np.random.default_rng(0)
    for end in range(0, len(whole) - 8, 13):  # the last eight only say that it ends
        with pytest.raises(DataError, match="not a frame"):
            frame_of_bytes(whole[:end], "pyarrow")
    for _ in range(200):
        changed = whole.copy()
        changed[rng.integers(len(whole))] ^= rng.integers(1, 256, dtype=np.uint8)
        with contextlib.suppress(DataError):  # and no other error
            frame_of_bytes(changed, "pyarrow")
