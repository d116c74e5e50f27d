"""Parquet and Arrow files, read as a whole and in parts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import mercer.data
from mercer._errors import DataError
from mercer.data.readers import Reading, open_rows
from mercer.data.target import split_target

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
def test_typed_files_are_read(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    rows = open_rows(tmp_path / name, Reading(batch_rows=20))
    assert rows.names() == ["x", "c"]
    assert rows.table().equals(TABLE)
    parts = [part.frame for part in rows.parts(["c", "x"])]
    assert max(part.num_rows for part in parts) <= 20
    assert pa.concat_tables(parts).equals(TABLE.select(["c", "x"]))


@pytest.mark.parametrize("name", WRITERS)
def test_files_of_another_format_are_rejected(tmp_path: Path, name: str) -> None:
    (path := tmp_path / name).write_bytes(b"something else, which is long enough to be looked at")
    with pytest.raises(DataError, match=rf"'{name}' cannot be read as (Parquet|Arrow)"):
        open_rows(path).table()


def test_column_names_that_are_not_text_are_rejected(tmp_path: Path) -> None:
    write_stream(pa.table({"name": [1]}), path := tmp_path / "a.arrows")
    path.write_bytes(path.read_bytes().replace(b"name", b"n\xffme"))
    with pytest.raises(DataError, match=r"'a\.arrows' cannot be read as Arrow"):
        open_rows(path).names()
    with pytest.raises(DataError, match=r"'a\.arrows' cannot be read as Arrow"):
        mercer.data.open(path)
    with pytest.raises(DataError, match=r"'a\.arrows' cannot be read as Arrow"):
        mercer.data.read_table(path)


@pytest.mark.parametrize("name", ["p.arrow", "p.parquet"])
def test_files_written_by_polars_are_read(tmp_path: Path, name: str) -> None:
    frame = pl.DataFrame({"x": [1.5, 2.5], "y": ["a", None]})
    views = frame.to_arrow(compat_level=pl.CompatLevel.newest())
    path = tmp_path / name
    frame.write_ipc(path) if name == "p.arrow" else parquet.write_table(views, path)
    rows = open_rows(path, Reading(missing=("a",)))
    assert rows.table().to_pydict() == {"x": [1.5, 2.5], "y": [None, None]}
    problem = split_target(open_rows(path).table(), "y")
    assert (problem.X.to_pydict(), problem.y.tolist()) == ({"x": [1.5]}, ["a"])
