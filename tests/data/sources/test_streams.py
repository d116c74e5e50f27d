"""Streams of rows: readers that can be read once, and functions that return readers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import mercer.data
from mercer._errors import ColumnMismatchError, DataError, EmptyDataError, SourceChangedError, SpentSourceError
from tests.data.sources._reading import chunks_of

TABLE = pa.table({"x": [1, 2, 3, 4], "y": ["a", "b", "a", None]})


def frames() -> Iterator[Any]:
    yield TABLE.slice(0, 2)
    yield TABLE.slice(2)


@pytest.mark.parametrize("make", [frames, TABLE.to_reader])
def test_a_source_that_can_be_read_only_once_is_marked(make: Any) -> None:
    source = mercer.data.open(make(), target="y")
    assert source.head().X["x"][0].as_py() == 1  # which takes nothing away
    chunks = list(source)
    assert [value for chunk in chunks for value in chunk.X["x"].to_pylist()] == [1, 2, 3]
    with pytest.raises(SpentSourceError, match=r"can be read only once, and has been.*mercer\.data\.open\(lambda"):
        list(source)
    with pytest.raises(SpentSourceError):
        source.head()


@pytest.mark.parametrize("make", [frames, TABLE.to_reader, lambda: [TABLE.to_pandas()]])
def test_a_source_made_by_a_function_can_be_read_again(make: Any) -> None:
    source = mercer.data.open(make, target="y")
    for _ in range(2):
        chunks, skipped = chunks_of(source)
        assert [value for chunk in chunks for value in chunk.X["x"].to_pylist()] == [1, 2, 3]
        assert skipped == [f"1 rows of {source.described} without a value of 'y'"]


def test_types_follow_from_all_frames() -> None:
    made = [pa.table({"x": [1, 2]}), pa.table({"x": [0.5]})]
    assert [chunk.X["x"].to_pylist() for chunk in mercer.data.open(lambda: made)] == [[1.0, 2.0], [0.5]]
    assert [chunk.X["x"].to_pylist() for chunk in mercer.data.open(made)] == [[1.0, 2.0], [0.5]]
    with pytest.raises(DataError, match=r"Column 'x' of a stream must have the type int64, but does not convert"):
        list(mercer.data.open(iter(made)))
    words = [pa.table({"x": [1]}), pa.table({"x": ["one"]})]
    for source in (words, lambda: words):
        with pytest.raises(DataError, match="'x' is of the type string in frame 1, but int64 in frame 0"):
            _ = mercer.data.open(source).schema


def test_frames_with_other_columns_are_named() -> None:
    with pytest.raises(DataError, match="'frame 1' has no column 'y', unlike 'frame 0'"):
        mercer.data.open([TABLE, TABLE.drop_columns("y")], target="y")
    frames = [TABLE, TABLE.drop_columns("y")]
    for what, described in ((lambda: frames, "the result of a function"), (iter(frames), "a stream")):
        with pytest.raises(DataError, match=f"Some rows of {described} have no column 'y', which others have"):
            list(mercer.data.open(what, target="y"))


def test_objects_that_are_not_frames_are_rejected() -> None:
    with pytest.raises(DataError, match="Frame 1 is not a frame but a int"):
        list(mercer.data.open(iter([TABLE, 3]), target="y"))
    with pytest.raises(EmptyDataError, match="There are no frames"):
        mercer.data.open(iter([]), target="y")
    with pytest.raises(EmptyDataError, match="list is empty"):
        mercer.data.open([], target="y")
    with pytest.raises(ColumnMismatchError, match="There is no column 'z'"):
        mercer.data.open(iter([TABLE]), target="z")


def test_a_function_that_returns_different_rows_is_noticed() -> None:
    made = [[TABLE], [TABLE], [TABLE.slice(0, 1)]]
    source = mercer.data.open(lambda: made.pop(0), target="y")
    assert sum(chunk.n_rows for chunk in source) == 3
    with pytest.raises(SourceChangedError, match="had 4 rows when it was opened, and 1 in this pass"):
        list(source)


def test_an_abandoned_pass_leaves_no_thread() -> None:
    before = threading.active_count()
    chunks = iter(mercer.data.open(lambda: (TABLE for _ in range(1000)), target="y"))
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_empty_frames_at_the_start_are_skipped() -> None:
    source = mercer.data.open(iter([TABLE.slice(0, 0), TABLE.slice(3), TABLE]), target="y")
    assert source.head().X["x"].to_pylist() == [1, 2, 3]
    assert [chunk.X["x"].to_pylist() for chunk in source] == [[1, 2, 3]]
    with pytest.raises(EmptyDataError, match="no rows in a stream except for those left out: 1 rows"):
        mercer.data.open(iter([TABLE.slice(3)]), target="y").head()


def test_a_function_may_return_one_frame() -> None:
    for make in (lambda: TABLE, TABLE.to_pandas):
        assert mercer.data.open(make, target="y").head().X["x"].to_pylist() == [1, 2, 3]


def test_paths_may_come_one_by_one() -> None:
    with pytest.raises(DataError, match=r"Frame 0 is not a frame but a str.*several paths as a list"):
        mercer.data.open(iter(["a.parquet"]), target="y")


@pytest.mark.parametrize("kind", [iter, lambda frames: lambda: frames])
def test_the_identity_depends_on_the_first_rows(kind: Any) -> None:
    one, same, other = (
        mercer.data.open(kind([frame]), target="y").identity for frame in (TABLE, TABLE, TABLE.slice(1))
    )
    assert one == same != other
