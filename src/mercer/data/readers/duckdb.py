"""Tables of DuckDB files, opened read-only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer._errors import DataError
from mercer._optional import require
from mercer.data.readers.base import Reading, TablePart, TableReader, what_failed
from mercer.data.readers.sql import query_of, quote_name

DUCKDB = frozenset({".duckdb", ".ddb", ".db"})


@dataclass(frozen=True)
class DuckDB(TableReader):
    """Reader of the result of a query or, without a query, of the only table of a file."""

    path: Path
    reading: Reading

    @property
    def described(self) -> str:
        return f"DuckDB: {self._query()}"

    def names(self) -> list[str]:
        with self.execute() as relation:
            return [str(name) for name in relation.columns]

    def table(self) -> Any:
        with self.execute() as relation:
            table = relation.to_arrow_table()
        return self.finish(table)

    def parts(self, columns: Sequence[str]) -> Iterator[TablePart]:
        import pyarrow as pa

        with self.execute() as relation:
            for batch in batches(relation, columns, self.reading.batch_rows):
                yield TablePart(self.finish(pa.Table.from_batches([batch])), None)

    def tables(self) -> list[str]:
        """Return the names of the tables."""
        with self._connected() as connection:
            names = connection.sql(
                "SELECT table_name FROM information_schema.tables WHERE table_schema NOT LIKE 'pg_%' ORDER BY 1"
            )
            return [str(name) for (name,) in names.fetchall()]

    def _query(self) -> str:
        return query_of(self.reading.sql, self.tables, self.path.name)

    @contextmanager
    def execute(self) -> Iterator[Any]:
        """Execute the query, and yield its result while the file is open."""
        duckdb, query = _duckdb(), self._query()
        with self._connected() as connection:
            try:
                relation = connection.sql(query)
                if relation is None:
                    raise DataError(f"The query {query!r} does not return rows. Use SELECT.")
                yield relation
            except duckdb.Error as failure:
                raise DataError(f"{self.path.name!r} cannot execute {query!r}: {what_failed(failure)}.") from None

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        duckdb = _duckdb()
        try:
            # a query must neither read other files nor write any
            connection = duckdb.connect(str(self.path), read_only=True, config={"enable_external_access": "false"})
        except duckdb.Error as failure:
            raise DataError(f"{self.path.name!r} cannot be opened as a DuckDB file: {what_failed(failure)}.") from None
        try:
            yield connection
        finally:
            connection.close()


def batches(relation: Any, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
    """Yield record batches of some columns of a relation, in its order."""
    chosen = relation.project(", ".join(map(quote_name, columns)))
    reader = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader  # the name in DuckDB 1
    yield from reader(batch_rows)


def _duckdb() -> Any:
    return require("duckdb", purpose="Reading a DuckDB file", extra="duckdb")
