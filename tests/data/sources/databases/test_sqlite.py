"""SQLite files as sources."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import mercer.data
from mercer._errors import ColumnTypeError, DataError, EmptyDataError, SourceChangedError
from tests.data._databases import sqlite_file

ROWS = 3000


def late(i: int, value: Any) -> Any:
    """Return a value after the rows by which the driver infers the type."""
    return value if i > 2000 else None


def test_types_of_sqlite_columns_follow_from_all_values(tmp_path: Path) -> None:
    rows = [(i, late(i, i + 0.5), late(i, f"s{i}"), i if i < 2900 else "word", None, i % 2) for i in range(ROWS)]
    path = sqlite_file(tmp_path / "a.sqlite", "n, x, c, mixed, never, y", rows)
    source = mercer.data.open(path, target="y", rows=100)
    assert source.n_rows == ROWS
    for _ in range(2):
        chunks = list(source)
        assert max(chunk.n_rows for chunk in chunks) <= 100
        X = pa.concat_tables([chunk.X for chunk in chunks])
        assert X.schema.types == [pa.int64(), pa.float64(), pa.string(), pa.string(), pa.float64()]
        assert X["n"].to_pylist() == list(range(ROWS))
        assert X["x"].to_pylist() == [row[1] for row in rows]
        assert X["c"].to_pylist() == [row[2] for row in rows]
        assert X["mixed"].to_pylist() == [str(row[3]) for row in rows]
        assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), np.arange(ROWS) % 2)


def test_queries_to_sqlite(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "a.db", '"a b", y', [(i, i % 2) for i in range(10)])
    sqlite_file(path, "z", [(1,)], table="other")
    source = mercer.data.open(path, target="y", sql='SELECT * FROM t WHERE "a b" > 4 ORDER BY "a b" DESC;')
    assert [chunk.X["a b"].to_pylist() for chunk in source] == [[9, 8, 7, 6, 5]]
    assert mercer.data.open(path, sql="other").n_rows == 1
    with pytest.raises(
        DataError, match=r"'a\.db' has several tables: 'other', 't'\. Name one of them, as in sql='other'"
    ):
        mercer.data.open(path)
    with pytest.raises(DataError, match=r"'a\.db' cannot execute 'SELECT q FROM t'"):
        mercer.data.open(path, sql="SELECT q FROM t")
    with pytest.raises(DataError, match=r"cannot execute 'DELETE FROM t'"):
        mercer.data.open(path, sql="DELETE FROM t")
    assert mercer.data.open(path, sql="t").n_rows == 10


@pytest.mark.parametrize("name", ["my table", "my.table"])
def test_the_only_table_of_sqlite_may_have_any_name(tmp_path: Path, name: str) -> None:
    path = sqlite_file(tmp_path / "a.sqlite", "x", [(1,), (2,)], table=name)
    assert [chunk.X["x"].to_pylist() for chunk in mercer.data.open(path)] == [[1, 2]]


def test_a_query_to_sqlite_may_end_with_a_comment(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "a.sqlite", "x", [(1,), (2,)])
    assert [chunk.X["x"].to_pylist() for chunk in mercer.data.open(path, sql="SELECT x FROM t -- all")] == [[1, 2]]


def test_sqlite_tables_may_be_too_wide_for_one_query_of_types(tmp_path: Path) -> None:
    names = [f"c{j}" for j in range(1200)]
    path = sqlite_file(tmp_path / "a.sqlite", ", ".join(names), [[j + 0.5 * (j % 3) for j in range(1200)]])
    (chunk,) = mercer.data.open(path)
    assert chunk.X.column_names == names
    assert [column[0].as_py() for column in chunk.X.columns] == [j + 0.5 * (j % 3) for j in range(1200)]


def test_unsupported_contents_of_sqlite_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ColumnTypeError, match=r"Column 'b' of 'a\.sqlite' holds bytes, in 1 rows"):
        mercer.data.open(sqlite_file(tmp_path / "a.sqlite", "b", [(b"\0",), (1,)]))
    connection = sqlite3.connect(tmp_path / "b.sqlite")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    with pytest.raises(EmptyDataError, match="has no tables"):
        mercer.data.open(tmp_path / "b.sqlite")


def test_a_changed_sqlite_file_is_noticed(tmp_path: Path) -> None:
    source = mercer.data.open(sqlite_file(tmp_path / "a.sqlite", "x, y", [(1, 2)]), target="y")
    assert sum(chunk.n_rows for chunk in source) == 1
    os.utime(tmp_path / "a.sqlite", ns=(0, 1))
    with pytest.raises(SourceChangedError, match=r"a\.sqlite' has changed"):
        list(source)


def test_an_sqlite_file_whose_log_is_written_is_noticed(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "a.sqlite", "x, y", [(1, 2)])
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        for _ in range(2):  # without a log, and with one that has rows in it
            source = mercer.data.open(path, target="y")
            before = source.identity
            assert [sum(chunk.n_rows for chunk in source) for _ in range(2)] == [1, 1]
            assert source.identity == before == mercer.data.open(path, target="y").identity
            writer.execute("UPDATE t SET y = y + 1")
            writer.commit()
            with pytest.raises(SourceChangedError, match=r"a\.sqlite' has changed since it was opened\. Passes"):
                list(source)
            assert mercer.data.open(path, target="y").identity != before
