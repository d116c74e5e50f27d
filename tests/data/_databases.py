"""DuckDB and SQLite files for tests of readers and sources."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any


def duckdb_file(path: Path, **tables: str) -> Path:
    """Create a file with these tables, each the result of a query."""
    import duckdb

    with duckdb.connect(str(path)) as connection:
        for name, query in tables.items():
            connection.execute(f'CREATE TABLE "{name}" AS {query}')
    return path


def sqlite_file(path: Path, columns: str, rows: Sequence[Sequence[Any]], table: str = "t") -> Path:
    """Add a table to a file, which is created if necessary."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f'CREATE TABLE "{table}" ({columns})')
        connection.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(columns.split(",")))})', rows)
        connection.commit()
    return path
