"""Parquet files: their metadata, and files that are damaged or changed."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import mercer.data
from mercer._errors import ColumnMismatchError, DataError, SourceChangedError
from mercer.data import Reading
from mercer.data.sources.base import CHUNK_BYTES
from tests.data.sources._reading import rows_of

RANDOM = np.random.default_rng(0)
TABLE = pa.table({"x": RANDOM.normal(size=300), "y": np.arange(300) % 2})


def corrupt(path: Path, group: int, **how: object) -> Path:
    """Write a file of three row groups, with flipped bytes in the values of one of them."""
    parquet.write_table(TABLE, path, row_group_size=100, use_dictionary=False, **how)
    column = parquet.ParquetFile(path).metadata.row_group(group).column(0)
    content = bytearray(path.read_bytes())
    middle = column.data_page_offset + column.total_compressed_size // 2
    for position in range(middle, middle + 8):
        content[position] ^= 0xFF
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("how", [{"compression": "gzip"}, {"compression": "none", "write_page_checksum": True}])
def test_a_corrupt_row_group_is_named(tmp_path: Path, how: dict[str, object]) -> None:
    source = mercer.data.open(corrupt(tmp_path / "a.parquet", 1, **how), target="y")
    with pytest.raises(DataError, match=r"Row group 1 of 'a\.parquet' cannot be read: .*on_error='skip'"):
        rows_of(source)


@pytest.mark.parametrize("piece_bytes", [1 << 27, 100])
def test_a_corrupt_row_group_is_left_out_as_a_whole(tmp_path: Path, piece_bytes: int) -> None:
    path = corrupt(tmp_path / "a.parquet", 1, compression="none", write_page_checksum=True)
    reading = Reading(piece_bytes=piece_bytes)
    source = mercer.data.open(path, target="y", rows=10, on_error="skip", reading=reading)
    for _ in range(2):
        rows, skipped = rows_of(source)
        assert rows == 200
        assert len(skipped) == 1
        assert skipped[0].startswith("Row group 1 of 'a.parquet' cannot be read")


def test_rows_missing_from_a_damaged_column_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow raises an error if the whole group is read at once, but returns the remaining rows in batches."""
    plain = parquet.ParquetFile.iter_batches

    def shortened(self: parquet.ParquetFile, *given: Any, row_groups: list[int], **more: Any) -> Iterator[Any]:
        for batch in plain(self, *given, row_groups=row_groups, **more):
            yield batch.slice(2) if row_groups == [1] else batch

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", shortened)
    parquet.write_table(TABLE, tmp_path / "a.parquet", row_group_size=100)
    with pytest.raises(DataError, match=r"Row group 1 of 'a\.parquet' cannot be read: 20 of its rows are missing"):
        rows_of(mercer.data.open(tmp_path / "a.parquet", target="y", rows=10))
    rows, skipped = rows_of(mercer.data.open(tmp_path / "a.parquet", target="y", rows=10, on_error="skip"))
    assert (rows, len(skipped)) == (200, 1)


def test_a_truncated_file_is_reported(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:500])
    with pytest.raises(DataError, match=r"'b\.parquet' cannot be read as Parquet"):
        mercer.data.open(tmp_path, target="y")
    rows, skipped = rows_of(mercer.data.open(tmp_path, target="y", on_error="skip"))
    assert rows == 300
    assert "'b.parquet' cannot be read as Parquet" in skipped[0]


def test_a_corrupt_footer_does_not_crash_the_process(tmp_path: Path) -> None:
    """pyarrow crashes when it computes the size of a column whose levels and counts disagree."""
    parquet.write_table(pa.table({"t": ["a", "b"]}), path := tmp_path / "a.parquet", store_schema=False)
    sound = path.read_bytes()
    read = 0
    for position in range(len(sound) - 8 - int.from_bytes(sound[-8:-4], "little"), len(sound) - 8):
        path.write_bytes(sound[:position] + bytes([(sound[position] - 1) % 256]) + sound[position + 1 :])
        with suppress(DataError):
            read += rows_of(mercer.data.open(path))[0] > 0
    assert read > 0


def test_a_name_that_is_not_text_is_rejected(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"weight": [1.5]}), path := tmp_path / "a.parquet", store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"weight", b"\xffeight"))
    for read in (mercer.data.open, mercer.data.read_table):
        with pytest.raises(DataError, match=r"'a\.parquet' cannot be read as Parquet: 'utf-8' codec"):
            read(path)


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    (tmp_path / "b.parquet").touch()
    with pytest.raises(DataError, match=r"'b\.parquet' is empty"):
        mercer.data.open(tmp_path, target="y")
    assert rows_of(mercer.data.open(tmp_path, target="y", on_error="skip"))[0] == 300


@pytest.mark.parametrize("pickled", [False, True])
def test_a_file_changed_between_passes_is_noticed(tmp_path: Path, pickled: bool) -> None:
    parquet.write_table(TABLE, path := tmp_path / "a.parquet")
    source = mercer.data.open(path, target="y")
    pieces = list(source.pieces())
    if pickled:  # as on another machine
        pieces = pickle.loads(pickle.dumps(pieces))
    assert sum(chunk.n_rows for piece in pieces for chunk in piece.chunks([])) == 300
    parquet.write_table(TABLE.slice(0, 200), path)
    with pytest.raises(SourceChangedError, match=r"a\.parquet' has changed since it was opened: it had \d+ bytes"):
        list(pieces[0].chunks([]))
    path.unlink()
    with pytest.raises(SourceChangedError, match=r"a\.parquet' was removed after it was opened"):
        list(pieces[0].chunks([]))


def test_a_file_rewritten_with_the_same_size_is_noticed(tmp_path: Path) -> None:
    parquet.write_table(TABLE, path := tmp_path / "a.parquet")
    source = mercer.data.open(path, target="y")
    before = source.identity
    os.utime(path, ns=(0, 1))
    with pytest.raises(SourceChangedError, match="has changed since it was opened"):
        rows_of(source)
    assert mercer.data.open(path, target="y").identity != before


def test_a_file_changed_during_reading_is_noticed(tmp_path: Path) -> None:
    parquet.write_table(TABLE, path := tmp_path / "a.parquet", row_group_size=100)
    chunks = iter(mercer.data.open(path, target="y"))
    next(chunks)
    os.utime(path, ns=(0, 1))
    with pytest.raises(SourceChangedError):
        list(chunks)


def test_a_large_row_group_is_never_in_memory_as_a_whole(tmp_path: Path) -> None:
    table = pa.table({"x": RANDOM.normal(size=2_000_000), "y": np.zeros(2_000_000)})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1 << 22, compression="none", use_dictionary=False)
    size = table.nbytes
    del table
    before, most = pa.total_allocated_bytes(), 0
    for chunk in mercer.data.open(tmp_path / "a.parquet", target="y", rows=50_000):
        most = max(most, pa.total_allocated_bytes() - before)
        del chunk
    assert 0 < most < size / 3


def test_other_types_in_another_file_are_named_unless_they_are_numbers_too(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"x": pa.array([1, 2], pa.int32()), "y": [0, 1]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"x": [0.5], "y": [1]}), tmp_path / "b.parquet")
    source = mercer.data.open(tmp_path, target="y")
    assert [chunk.X["x"].to_pylist() for chunk in source] == [[1.0, 2.0], [0.5]]
    parquet.write_table(pa.table({"x": ["one"], "y": [1]}), tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"'x' is of the type string in 'c\.parquet', but double in 'a\.parquet'"):
        _ = mercer.data.open(tmp_path, target="y").layout  # type: ignore[attr-defined]


def test_columns_that_only_some_files_have_are_reported(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    parquet.write_table(TABLE.drop_columns("y"), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"'b\.parquet' has no column 'y', unlike 'a\.parquet'"):
        mercer.data.open(tmp_path, target="y")
    more = TABLE.append_column("z", TABLE["x"])
    parquet.write_table(more, tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"'b\.parquet' has columns that 'a\.parquet' does not have: 'z'"):
        mercer.data.open(tmp_path, target="y")
    assert rows_of(mercer.data.open(tmp_path, target="y", features=["x"]))[0] == 600


def test_values_in_the_names_of_folders(tmp_path: Path) -> None:
    table = pa.table({"x": [1.0, 2.0, 3.0], "year": [2023, 2024, 2024], "city": ["Bad Ems", "Ulm", None]})
    parquet.write_to_dataset(table, tmp_path, partition_cols=["year", "city"])
    source = mercer.data.open(tmp_path)
    assert source.columns.features == ("x", "year", "city")
    found = pa.concat_tables([chunk.X for chunk in source]).to_pylist()
    assert sorted(found, key=lambda row: row["x"]) == table.to_pylist()


def test_dictionaries_are_strings_and_decimals_numbers(tmp_path: Path) -> None:
    table = pa.table(
        {"c": pa.array(["a", "b", None]).dictionary_encode(), "d": pa.array([1, 2, 3]).cast(pa.decimal128(21, 2))}
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    (chunk,) = mercer.data.open(tmp_path / "a.parquet")
    assert chunk.X.schema.types == [pa.string(), pa.float64()]
    assert chunk.X.to_pydict() == {"c": ["a", "b", None], "d": [1.0, 2.0, 3.0]}


def test_only_columns_that_are_needed_are_read(tmp_path: Path) -> None:
    nested = TABLE.append_column("l", pa.array([[1]] * 300))
    parquet.write_table(nested, tmp_path / "a.parquet")
    source = mercer.data.open(tmp_path / "a.parquet", target="y", drop=["l"])
    assert source.head().X.column_names == ["x"]
    assert source.n_rows == 300
    assert source.described == "'a.parquet'"


def test_long_texts_make_chunks_of_few_rows(tmp_path: Path) -> None:
    """The size of long texts follows from the footer, not from the type."""
    texts = ["".join(map(chr, RANDOM.integers(97, 123, 20_000))) for _ in range(40)] * 50
    table = pa.table({"t": pa.array(texts), "y": np.zeros(2000)})
    parquet.write_table(table, tmp_path / "a.parquet", use_dictionary=False)
    chunks = list(mercer.data.open(tmp_path, target="y"))
    assert sum(chunk.n_rows for chunk in chunks) == 2000
    assert max(chunk.X.nbytes for chunk in chunks) < 1.1 * CHUNK_BYTES


def test_a_column_absent_from_the_first_file(tmp_path: Path) -> None:
    parquet.write_table(TABLE.drop_columns("y"), tmp_path / "a.parquet")
    parquet.write_table(TABLE, tmp_path / "b.parquet")
    with pytest.raises(ColumnMismatchError, match=r"'a\.parquet': There is no column 'y'"):
        mercer.data.open(tmp_path, target="y")
