"""Tables of DuckDB files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from mercer._errors import DataError, EmptyDataError
from mercer.data.readers import Reading, open_rows
from tests.data._databases import duckdb_file

pytest.importorskip("duckdb")


def test_the_only_table_needs_no_query(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "a.duckdb", people="SELECT range AS id, 1.5 AS x FROM range(5000)")
    rows = open_rows(path, Reading(batch_rows=2048))
    assert rows.described == 'DuckDB: SELECT * FROM "people"'
    assert rows.names() == ["id", "x"]
    assert rows.table()["x"].to_pylist()[:2] == [1.5, 1.5]
    parts = [part.frame for part in rows.parts(["id"])]
    assert len(parts) > 1
    assert pa.concat_tables(parts)["id"].to_pylist() == list(range(5000))


def test_a_table_may_be_named_like_an_sql_keyword(tmp_path: Path) -> None:
    assert open_rows(duckdb_file(tmp_path / "a.duckdb", order="SELECT 1 AS x")).table().to_pydict() == {"x": [1]}


def test_a_query_is_read(tmp_path: Path) -> None:
    path = duckdb_file(tmp_path / "a.duckdb", a="SELECT 1 AS x", b="SELECT 2 AS x")
    assert open_rows(path, Reading(sql="SELECT x + 1 AS y FROM b")).table().to_pydict() == {"y": [3]}
    for table in ("b", "main.b"):
        assert open_rows(path, Reading(sql=table)).table().to_pydict() == {"x": [2]}
    with pytest.raises(DataError, match=r"has several tables: 'a', 'b'.*--sql a"):
        open_rows(path).table()


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT nothing FROM a", "cannot execute 'SELECT nothing FROM a'"),
        ("SELEC", r"There is no table 'SELEC' in 'a\.duckdb'"),
        ("CREATE TABLE c AS SELECT 1", "read-only"),
        ("COPY a TO '/tmp/a.csv'", "disabled"),
        ("SELECT * FROM read_csv('/etc/passwd')", "disabled"),
    ],
)
def test_invalid_queries_are_rejected(tmp_path: Path, query: str, sentence: str) -> None:
    path = duckdb_file(tmp_path / "a.duckdb", a="SELECT 1 AS x")
    with pytest.raises(DataError, match=sentence):
        open_rows(path, Reading(sql=query)).table()


def test_files_that_are_not_databases_are_rejected(tmp_path: Path) -> None:
    (path := tmp_path / "a.duckdb").write_text("something else")
    with pytest.raises(DataError, match=r"'a\.duckdb' cannot be opened as a DuckDB file"):
        open_rows(path).table()
    with pytest.raises(EmptyDataError, match="has no tables"):
        open_rows(duckdb_file(tmp_path / "b.duckdb")).table()
