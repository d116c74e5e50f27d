"""DuckDB files and relations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import mercer.data
from mercer._errors import DataError, SourceChangedError
from mercer.data.sources.databases.duckdb import Relation
from mercer.data.sources.options import OpenOptions
from tests.data._databases import duckdb_file

duckdb: Any = pytest.importorskip("duckdb")


def test_a_file_is_read(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "a.duckdb", t="SELECT range AS id, range % 2 AS y, 1.5 AS price FROM range(5000)")
    source = mercer.data.open(path, target="y", rows=1000)
    assert source.n_rows == 5000
    for _ in range(2):
        X = pa.concat_tables([chunk.X for chunk in source])
        assert X["id"].to_pylist() == list(range(5000))
        assert X.schema.field("price").type == pa.float64()
    os.utime(path, ns=(0, 1))
    with pytest.raises(SourceChangedError, match=r"a\.duckdb' has changed"):
        list(source)


def test_a_file_whose_log_is_written_is_noticed(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "a.duckdb", t="SELECT range AS x, range % 2 AS y FROM range(10)")
    source = mercer.data.open(path, target="y")
    assert [sum(chunk.n_rows for chunk in source) for _ in range(2)] == [10, 10]
    with duckdb.connect(path) as writer:
        writer.execute("PRAGMA disable_checkpoint_on_shutdown")
        writer.execute("UPDATE t SET y = y + 1")
    with pytest.raises(SourceChangedError, match=r"a\.duckdb' has changed"):
        list(source)
    assert mercer.data.open(path, target="y").identity != source.identity


def test_queries(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "a.duckdb", a="SELECT 1 AS x", b="SELECT range AS x FROM range(9)")
    assert [chunk.X["x"].to_pylist() for chunk in mercer.data.open(path, sql="SELECT x FROM b WHERE x > 6")] == [[7, 8]]
    assert mercer.data.open(path, sql="b").n_rows == 9
    with pytest.raises(DataError, match="has several tables: 'a', 'b'"):
        mercer.data.open(path)
    with pytest.raises(DataError, match="cannot execute 'SELECT q FROM b'"):
        mercer.data.open(path, sql="SELECT q FROM b")


def test_the_only_table_may_have_any_name(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "a.duckdb", **{"my table": "SELECT 1 AS x"})
    assert [chunk.X["x"].to_pylist() for chunk in mercer.data.open(path)] == [[1]]


def test_a_relation_is_executed_in_every_pass() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS x, range % 2 AS y FROM range(3000)")
    source = mercer.data.open(connection.sql("SELECT * FROM t WHERE x >= 10"), target="y", rows=700)
    for _ in range(2):
        chunks = list(source)
        assert max(chunk.n_rows for chunk in chunks) <= 700
        assert pa.concat_tables([chunk.X for chunk in chunks])["x"].to_pylist() == list(range(10, 3000))
    assert (
        source.identity
        == mercer.data.open(connection.sql("SELECT * FROM t WHERE x >= 10"), target="y", rows=700).identity
    )


def test_a_relation_is_identified_without_its_random_names() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS x, range % 2 AS y FROM range(30)")
    one, same, other = (
        mercer.data.open(connection.sql("SELECT * FROM t").filter(f"x > {least}").project("x, y"), target="y").identity
        for least in (3, 3, 4)
    )
    assert one == same != other


def test_a_connection_in_use_is_reported() -> None:
    class Busy:
        """A relation whose connection is in use."""

        def project(self, columns: str) -> None:
            raise duckdb.InvalidInputException("busy")

    source = Relation(duckdb.sql("SELECT 1 AS x, 0 AS y"), OpenOptions(target="y"))
    source._relation = Busy()
    with pytest.raises(DataError, match=r"cannot be read further: .*busy\. Do not use its connection"):
        source.head()
