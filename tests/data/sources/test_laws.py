"""All sources yield the same rows in the same order, for any chunks, in every pass, and after pickling."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pyarrow import csv, dataset, feather, parquet
from scipy import sparse

import mercer.data
from mercer.data import Reading
from mercer.data.sources.base import Source
from tests.data.sources._reading import chunks_of

ROWS = 500
RANDOM = np.random.default_rng(0)
#: fractions and words come late, values are missing, and the last category is only in the last row
TABLE = pa.table(
    {
        "x": pa.array([None if i % 7 == 3 else float(i) if i < 400 else i + 0.5 for i in range(ROWS)]),
        "k": pa.array([i % 11 for i in range(ROWS)], pa.int64()),
        "c": pa.array([None if i % 5 == 0 else "late" if i == ROWS - 1 else f"c {i % 3}" for i in range(ROWS)]),
        "w": pa.array(np.arange(ROWS) / 8),
        "y": pa.array(["yes" if i % 2 else "no" for i in range(ROWS)]),
    }
)
COLUMNS: dict[str, Any] = {"target": "y", "weight": "w"}
SIZES: list[int | None] = [None, 7, 333]
#: blocks and pieces so small that 500 rows are many pieces
SMALL = Reading(block_bytes=700, piece_bytes=3000)

Opened = Callable[[Path, int | None], Source]
KINDS: dict[str, Opened] = {}


def kind(function: Opened) -> Opened:
    KINDS[function.__name__] = function
    return function


def opened(what: Any, rows: int | None, **more: Any) -> Source:
    return mercer.data.open(what, rows=rows, reading=SMALL, **COLUMNS, **more)


def in_files(folder: Path, ending: str, write: Callable[[pa.Table, Path], None]) -> Path:
    """Write the rows to three files, one of them empty."""
    for number, (start, length) in enumerate([(0, 200), (200, 0), (200, 300)]):
        write(TABLE.slice(start, length), folder / f"part-{number}.{ending}")
    return folder


@kind
def parquet_folder(folder: Path, rows: int | None) -> Source:
    return opened(in_files(folder, "parquet", partial(parquet.write_table, row_group_size=70)), rows)


@kind
def parquet_pattern(folder: Path, rows: int | None) -> Source:
    in_files(folder, "parquet", partial(parquet.write_table, row_group_size=70))
    return opened(str(folder / "part-*.parquet"), rows)


@kind
def one_row_group(folder: Path, rows: int | None) -> Source:
    parquet.write_table(TABLE, folder / "a.parquet")
    return opened(folder / "a.parquet", rows)


@kind
def hive_folders(folder: Path, rows: int | None) -> Source:
    for number, start in enumerate((0, 250)):
        (part := folder / f"part={number}").mkdir(exist_ok=True)
        parquet.write_table(TABLE.slice(start, 250), part / "a.parquet")
    return opened(folder, rows, drop=["part"])


@kind
def feather_file(folder: Path, rows: int | None) -> Source:
    feather.write_feather(TABLE, str(folder / "a.feather"), chunksize=90)
    return opened(folder / "a.feather", rows)


@kind
def arrow_stream_file(folder: Path, rows: int | None) -> Source:
    with pa.ipc.new_stream(str(folder / "a.arrows"), TABLE.schema) as stream:
        stream.write_table(TABLE, max_chunksize=90)
    return opened(folder / "a.arrows", rows)


@kind
def csv_folder(folder: Path, rows: int | None) -> Source:
    return opened(in_files(folder, "csv", csv.write_csv), rows)


@kind
def csv_compressed(folder: Path, rows: int | None) -> Source:
    with pa.CompressedOutputStream(str(folder / "a.csv.gz"), "gzip") as stream:
        csv.write_csv(TABLE, stream)
    return opened(folder / "a.csv.gz", rows)


@kind
def csv_with_lines_in_fields(folder: Path, rows: int | None) -> Source:
    odd = TABLE.append_column("t", pa.array([f"a\n{i}" for i in range(ROWS)]))
    csv.write_csv(odd, folder / "a.csv")
    return opened(folder / "a.csv", rows, drop=["t"])


@kind
def csv_in_utf16(folder: Path, rows: int | None) -> Source:
    csv.write_csv(TABLE, folder / "b.csv")
    (folder / "a.csv").write_bytes((folder / "b.csv").read_text(encoding="utf-8").encode("utf-16"))
    return opened(folder / "a.csv", rows)


@kind
def tsv(folder: Path, rows: int | None) -> Source:
    csv.write_csv(TABLE, folder / "a.tsv", csv.WriteOptions(delimiter="\t"))
    return opened(folder / "a.tsv", rows)


@kind
def json_lines(folder: Path, rows: int | None) -> Source:
    TABLE.to_pandas().to_json(folder / "a.jsonl", orient="records", lines=True)
    return opened(folder / "a.jsonl", rows)


@kind
def pyarrow_dataset(folder: Path, rows: int | None) -> Source:
    in_files(folder, "parquet", partial(parquet.write_table, row_group_size=70))
    return opened(dataset.dataset(folder), rows)


@kind
def filtered_dataset(folder: Path, rows: int | None) -> Source:
    in_files(folder, "parquet", parquet.write_table)
    return opened(dataset.dataset(folder).filter(dataset.field("k") >= 0), rows)


@kind
def function_of_a_reader(folder: Path, rows: int | None) -> Source:
    return opened(partial(TABLE.to_reader, max_chunksize=90), rows)


@kind
def list_of_frames(folder: Path, rows: int | None) -> Source:
    return opened([TABLE.slice(0, 120), TABLE.slice(120).to_pandas()], rows)


@kind
def function_of_frames(folder: Path, rows: int | None) -> Source:
    return opened(lambda: (TABLE.slice(start, 50).to_pandas() for start in range(0, ROWS, 50)), rows)


@kind
def pyarrow_table(folder: Path, rows: int | None) -> Source:
    return opened(TABLE, rows)


@kind
def duckdb_file(folder: Path, rows: int | None) -> Source:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM given")
    return opened(folder / "a.duckdb", rows, sql="SELECT * FROM t")


@kind
def duckdb_relation(folder: Path, rows: int | None) -> Source:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("given", TABLE)
    return opened(connection.sql("SELECT * FROM given"), rows)


@kind
def sqlite_file(folder: Path, rows: int | None) -> Source:
    with sqlite3.connect(folder / "a.sqlite") as connection:
        TABLE.to_pandas().to_sql("t", connection, index=False, if_exists="replace")
    connection.close()
    return opened(folder / "a.sqlite", rows, sql="t")


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("name", KINDS)
def test_the_same_rows_in_order_for_any_chunks_twice_and_pickled(name: str, rows: int | None, tmp_path: Path) -> None:
    source = KINDS[name](tmp_path, rows)
    for _ in range(2):
        chunks, skipped = chunks_of(source, pickled=True)
        assert skipped == []
        assert rows is None or max(chunk.n_rows for chunk in chunks) <= rows
        assert all(chunk.n_rows for chunk in chunks)
        X = pa.concat_tables([chunk.X for chunk in chunks])
        assert X.cast(TABLE.select(["x", "k", "c"]).schema).equals(TABLE.select(["x", "k", "c"]))
        assert {chunk.X.schema for chunk in chunks} == {chunks[0].X.schema}
        assert {chunk.y.dtype.kind for chunk in chunks} == {"O"}
        assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), TABLE["y"].to_numpy())
        assert_array_equal(np.concatenate([chunk.weight for chunk in chunks]), TABLE["w"].to_numpy())
    assert source.columns.features == ("x", "k", "c")
    assert [kind.value for kind in source.schema.kinds] == ["number", "integer", "category"]
    assert source.n_rows in (ROWS, None)
    assert KINDS[name](tmp_path, rows).columns == source.columns


@pytest.mark.parametrize("name", ["parquet_folder", "one_row_group", "csv_folder", "json_lines"])
def test_files_are_cut_into_pieces(name: str, tmp_path: Path) -> None:
    pieces = list(KINDS[name](tmp_path, None).pieces())
    assert len(pieces) > (0 if name == "one_row_group" else 3)
    assert len({piece.name for piece in pieces}) == len(pieces)
    assert max(len(pickle.dumps(piece)) for piece in pieces) < 3000


@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("kind", ["array", "map", "csr", "pandas", "polars", "pyarrow"])
def test_sources_in_memory_obey_the_laws(kind: str, rows: int | None, tmp_path: Path) -> None:
    values, y = RANDOM.normal(size=(ROWS, 3)), np.arange(ROWS) % 4
    frame = pa.table({f"x{j}": values[:, j] for j in range(3)})
    np.save(tmp_path / "a.npy", values)
    X: Any = {
        "array": lambda: values,
        "map": lambda: np.load(tmp_path / "a.npy", mmap_mode="r"),
        "csr": lambda: sparse.csr_matrix(values),
        "pandas": frame.to_pandas,
        "polars": lambda: pytest.importorskip("polars").from_arrow(frame),
        "pyarrow": lambda: frame,
    }[kind]()
    source = mercer.data.open(X, y=y, rows=rows)
    for _ in range(2):
        chunks, _ = chunks_of(source, pickled=True)
        assert {type(chunk.X).__name__ for chunk in chunks} == {type(X).__name__}
        stacked = [
            np.asarray(c.X.todense() if kind == "csr" else c.X.to_pandas() if kind == "pyarrow" else c.X)
            for c in chunks
        ]
        assert_array_equal(np.concatenate(stacked), values)
        assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), y)
    assert source.n_rows == ROWS
    assert source.columns.features == ("x0", "x1", "x2")
    assert source.identity == mercer.data.open(X, y=y, rows=rows).identity
    assert source.identity != mercer.data.open(X, y=y + 1, rows=rows).identity
