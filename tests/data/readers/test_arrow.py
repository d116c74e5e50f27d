"""Parquet and Arrow files, at once and piece by piece."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import mercer.data
from mercer._errors import DataError
from mercer.data.readers import arrow, open_rows
from mercer.data.readers import parquet as parquet_reader

TABLE = pa.table({"x": list(range(100)), "c": ["a", "b"] * 50})


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(str(path), table.schema) as stream:
        stream.write_table(table, max_chunksize=30)


WRITERS = {
    "a.parquet": lambda path: parquet.write_table(TABLE, path, row_group_size=30),
    "a.feather": lambda path: feather.write_feather(TABLE, str(path), chunksize=30),
    "a.arrow": lambda path: write_stream(TABLE, path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_typed_files(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for reader in (arrow, parquet_reader):
        monkeypatch.setattr(reader, "BATCH_ROWS", 20)
    WRITERS[name](tmp_path / name)
    rows = open_rows(tmp_path / name)
    assert rows.names() == ["x", "c"]
    assert rows.table().equals(TABLE)
    parts = [part.frame for part in rows.parts(["c", "x"])]
    assert max(part.num_rows for part in parts) <= 20
    assert pa.concat_tables(parts).equals(TABLE.select(["c", "x"]))


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_no_such_file(tmp_path: Path, name: str) -> None:
    (path := tmp_path / name).write_bytes(b"something else, which is long enough to be looked at")
    with pytest.raises(DataError, match=rf"'{name}' cannot be read as (Parquet|Arrow)"):
        open_rows(path).table()


def test_folders_by_values(tmp_path: Path) -> None:
    parquet.write_to_dataset(TABLE, tmp_path, partition_cols=["c"])
    rows = open_rows(tmp_path)
    assert sorted(rows.names()) == ["c", "x"]
    assert rows.table().num_rows == sum(part.frame.num_rows for part in rows.parts(["x", "c"])) == 100


def test_a_file_without_a_column_of_the_others_is_named(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "a.parquet")
    parquet.write_table(TABLE.drop(["c"]), tmp_path / "b.parquet")
    rows = open_rows(tmp_path)
    for read in (rows.table, lambda: list(rows.parts(["x"]))):
        with pytest.raises(DataError, match=r"'b\.parquet' has no column 'c', which 'a\.parquet' beside it has"):
            read()


def test_decimals_are_numbers(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"price": pa.array([1, 2]).cast(pa.decimal128(21, 2))}), tmp_path / "a.parquet")
    assert open_rows(tmp_path / "a.parquet").table().schema.field("price").type == pa.float64()


def test_words_in_one_file_and_numbers_in_another_are_named(tmp_path):
    for name, values in (("a", [1.5, 2.5]), ("b", ["1.5", "2.5"])):
        parquet.write_table(pa.table({"x": values}), tmp_path / f"{name}.parquet")
    with pytest.raises(DataError, match=r"Column 'x' is of the type string in 'b.parquet', but double in 'a.parquet'"):
        open_rows(tmp_path).table()


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    write_stream(pa.table({"name": [1]}), path := tmp_path / "a.arrows")
    path.write_bytes(path.read_bytes().replace(b"name", b"n\xffme"))
    with pytest.raises(DataError, match=r"'a\.arrows' cannot be read as Arrow"):
        open_rows(path).names()
    with pytest.raises(DataError, match=r"'a\.arrows' cannot be read as Arrow"):
        mercer.data.open(path)
