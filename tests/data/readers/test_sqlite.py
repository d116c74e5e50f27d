"""Tables of SQLite files, read as a whole and in parts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import mercer.data
from mercer._errors import DataError
from mercer.data.readers import Reading, open_rows, read_table
from tests.data._databases import sqlite_file


def test_types_follow_from_all_values(tmp_path: Path) -> None:
    rows = [(i, "NA" if i == 2 else i / 2, "NA" if i == 1 else f"w{i}", i if i < 7 else "x", b"\0") for i in range(8)]
    rows.append((None, "", None, None, None))
    path = sqlite_file(tmp_path / "a.db", "n, x, word, mixed, photo", rows)
    opened = open_rows(path, Reading(batch_rows=3))
    assert opened.described == "SQLite: SELECT * FROM \"t\", without 'photo', which holds bytes"
    table = opened.table()
    assert table.schema.types == [pa.int64(), pa.float64(), pa.string(), pa.string()]
    assert table.to_pydict() == {
        "n": [*range(8), None],
        # among numbers a word for a missing value is one; among words it is a word
        "x": [None if i == 2 else i / 2 for i in range(8)] + [None],
        "word": ["w0", "NA", *(f"w{i}" for i in range(2, 8)), None],
        "mixed": [*map(str, range(7)), "x", None],
    }
    parts = list(opened.parts(["word", "n"]))
    assert len(parts) == 3
    assert parts[-1].share == 1.0
    assert pa.concat_tables([part.frame for part in parts]).equals(table.select(["word", "n"]))
    source = mercer.data.open(tmp_path / "a.db", target="n")
    assert (
        pa.concat_tables([chunk.X for chunk in source]).to_pydict() == table.drop_columns("n").slice(0, 8).to_pydict()
    )


def test_numbers_stored_as_text_are_read_as_numbers(tmp_path: Path) -> None:
    rows = [("1", "2.50", "00501", "", "7", "2024-01-31"), ("3", "-1e2", "12", " 4 ", "seven", "2024-02-01")]
    rows.append(("NA", "?", "7", None, "", "2024-02-02"))
    path = sqlite_file(tmp_path / "a.db", "n TEXT, x TEXT, code TEXT, gaps TEXT, word TEXT, day TEXT", rows)
    assert read_table(path).to_pydict() == {
        "n": [1, 3, None],
        "x": [2.5, -100.0, None],
        "code": ["00501", "12", "7"],
        "gaps": [None, 4, None],
        "word": ["7", "seven", ""],
        "day": ["2024-01-31", "2024-02-01", "2024-02-02"],
    }
    assert open_rows(path, Reading(held={"x": "text"})).table()["x"].to_pylist() == ["2.50", "-1e2", "?"]


def test_queries_and_tables_by_name(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "a.sqlite", "x, y", [(1, 2), (3, 4)])
    sqlite_file(path, "z", [(5,)], table="my table")
    assert read_table(path, sql="t").to_pydict() == {"x": [1, 3], "y": [2, 4]}
    assert read_table(path, sql="my table").to_pydict() == {"z": [5]}
    assert read_table(path, sql="SELECT x + y AS s FROM t ORDER BY s DESC; ").to_pydict() == {"s": [7, 3]}
    assert open_rows(path, Reading(sql="t", missing=("3",))).table()["x"].to_pylist() == [1, None]
    for sql, sentence in {
        None: r"'a\.sqlite' has several tables: 'my table', 't'\. Name one of them",
        "T": r"There is no table 'T' in 'a\.sqlite'\. Did you mean 't'\?",
        "SELECT q FROM t": r"'a\.sqlite' cannot execute 'SELECT q FROM t': no such column: q",
        "DELETE FROM t": "cannot execute 'DELETE FROM t'",
    }.items():
        with pytest.raises(DataError, match=sentence):
            read_table(path, sql=sql)
    (tmp_path / "b.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(DataError, match=r"'b\.sqlite' cannot be read as SQLite: file is not a database"):
        read_table(tmp_path / "b.sqlite")


def test_a_database_is_recognised_by_its_header(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "a.data", "x", [(1,)])
    assert read_table(path).to_pydict() == {"x": [1]}
