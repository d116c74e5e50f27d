"""DuckDB files to be read, all rows at once or by pieces."""

from __future__ import annotations

from pathlib import Path


def duckdb_file(path: Path, **tables: str) -> Path:
    """A new file with these tables, each of them the answer to a query."""
    import duckdb

    with duckdb.connect(str(path)) as connection:
        for name, query in tables.items():
            connection.execute(f'CREATE TABLE "{name}" AS {query}')
    return path
