"""A PostgreSQL server."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

import mercer.data
from mercer._errors import DataError, SourceChangedError

ROWS = 3000


def put(uri: str, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(uri) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


@pytest.fixture
def people(postgresql: str) -> str:
    put(
        postgresql,
        "DROP TABLE IF EXISTS people",
        "DROP TABLE IF EXISTS others",
        "DROP TYPE IF EXISTS mood",
        "CREATE TYPE mood AS ENUM ('good', 'bad')",
        "CREATE TABLE people AS SELECT i AS id, i::smallint AS small, i * 1.5 AS price, i / 4.0::float8 AS x, "
        "i % 2 = 0 AS flag, CASE WHEN i % 5 = 0 THEN NULL ELSE 'word ' || i % 3 END AS c, "
        "(CASE WHEN i % 2 = 0 THEN 'good' ELSE 'bad' END)::mood AS mood, NULL::int AS nothing, "
        f"i % 3 AS y, 1.0::real AS w FROM generate_series(0, {ROWS - 1}) i",
    )
    return postgresql


@pytest.mark.parametrize("rows", [None, 100, 999])
def test_rows_of_postgresql(people: str, rows: int | None) -> None:
    source = mercer.data.open(people, target="y", weight="w", sql="SELECT * FROM people ORDER BY id DESC", rows=rows)
    assert source.n_rows == ROWS
    expected = list(range(ROWS))[::-1]
    for _ in range(2):
        chunks = list(source)
        assert rows is None or max(chunk.n_rows for chunk in chunks) <= rows
        X = pa.concat_tables([chunk.X for chunk in chunks])
        assert X["id"].to_pylist() == X["small"].to_pylist() == expected
        assert X["price"].to_pylist() == [1.5 * i for i in expected]
        assert X["x"].to_pylist() == [i / 4 for i in expected]
        assert X["flag"].to_pylist() == [i % 2 == 0 for i in expected]
        assert X["c"].to_pylist() == [None if i % 5 == 0 else f"word {i % 3}" for i in expected]
        assert X["mood"].to_pylist() == ["bad" if i % 2 else "good" for i in expected]
        assert X["nothing"].null_count == ROWS
        y = np.concatenate([chunk.y for chunk in chunks])
        assert y.dtype == np.int64
        assert_array_equal(y, np.array(expected) % 3)


def test_tables_of_postgresql(people: str) -> None:
    assert mercer.data.open(people, target="y").n_rows == ROWS
    assert mercer.data.open(people, target="y", sql="people", features=["x"]).head().X.column_names == ["x"]
    put(people, "CREATE TABLE others (x int)")
    with pytest.raises(DataError, match=r"has several tables: 'public\.others', 'public\.people'"):
        mercer.data.open(people)
    assert list(mercer.data.open(people, sql="others")) == []


def test_a_changed_table_of_postgresql_is_noticed(people: str) -> None:
    source = mercer.data.open(people, target="y", sql="people")
    assert sum(chunk.n_rows for chunk in source) == ROWS
    put(people, "DELETE FROM people WHERE id = 7")
    with pytest.raises(SourceChangedError, match=rf"had {ROWS} rows when it was opened, and {ROWS - 1} in this pass"):
        list(source)


def test_queries_that_fail_in_postgresql_are_reported(people: str) -> None:
    with pytest.raises(
        DataError, match=r"The PostgreSQL server at 127\.0\.0\.1, .* cannot execute 'SELECT q FROM people'"
    ):
        mercer.data.open(people, sql="SELECT q FROM people")
    with pytest.raises(DataError, match="cannot execute"):
        mercer.data.open(people, sql="DELETE FROM people")
    source = mercer.data.open(people, target="y", sql="people")
    assert "secret" not in f"{source.described}{source.identity}{vars(source)}"


def test_an_unreachable_server_is_reported() -> None:
    pytest.importorskip("adbc_driver_postgresql")
    with pytest.raises(
        DataError, match=r"The PostgreSQL server at 127\.0\.0\.1, database 'none' cannot execute .*connect"
    ):
        mercer.data.open("postgresql://somebody:secret@127.0.0.1:1/none", sql="people")
