"""Tables and queries of a PostgreSQL server, through ADBC."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mercer._errors import DataError
from mercer._optional import require
from mercer.data.readers.base import what_failed
from mercer.data.readers.sql import QueryInfo, quote_name
from mercer.data.sources.databases.base import Database


@dataclass(frozen=True)
class PostgreSQL(Database):
    """A server; changes between passes are detected by the number of rows."""

    uri: str

    @property
    def name(self) -> str:
        parts = urlsplit(self.uri)
        return f"the PostgreSQL server at {parts.hostname or 'localhost'}, database {parts.path.lstrip('/')!r}"

    def __repr__(self) -> str:
        return self.name  # without the password

    def check(self) -> None:
        pass

    def tables(self) -> list[str]:
        return self._names(
            "SELECT table_schema || '.' || table_name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
        )

    def table(self, name: str) -> str:
        return ".".join(map(quote_name, name.split(".", 1)))  # schema and table

    def inspect(self, query: str) -> QueryInfo:
        types = {str(field.name): _converted_type(field.type) for field in self._schema(query)}
        (rows,) = self._row(f"SELECT count(*) FROM {_inside(query)} AS rows", query)
        return QueryInfo(types, rows)

    def rows(self, query: str, types: dict[str, Any], batch_rows: int) -> Iterator[Any]:
        schema = self._schema(query)
        columns = ", ".join(_convert_in_sql(name, schema.field(name).type) for name in types)
        with self._execute(f"SELECT {columns} FROM {_inside(query)} AS rows", of=query) as reader:
            yield from reader

    def _schema(self, query: str) -> Any:
        with self._execute(f"SELECT * FROM {_inside(query)} AS rows LIMIT 0", of=query) as reader:
            return reader.schema

    def _row(self, sql: str, of: str) -> list[Any]:
        with self._execute(sql, of=of) as reader:
            return [column[0].as_py() for column in reader.read_all().columns]

    def _names(self, sql: str) -> list[str]:
        with self._execute(sql, of=sql) as reader:
            return [str(name) for name in reader.read_all().column(0).to_pylist()]

    @contextmanager
    def _execute(self, sql: str, *, of: str) -> Iterator[Any]:
        """Execute SQL, and yield a reader of record batches of the result; errors show the query `of`."""
        import pyarrow as pa

        database = require("adbc_driver_postgresql.dbapi", purpose="Reading from PostgreSQL", extra="postgresql")
        try:
            with database.connect(self.uri) as connection, connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
                # otherwise a scan may start at the position of a concurrent one, and return rows in another order
                cursor.execute("SET synchronize_seqscans TO off")
                cursor.execute(sql)
                with cursor.fetch_record_batch() as reader:
                    yield reader
        except (database.Error, pa.ArrowException, OSError) as failure:
            sentence = f"{self.name[0].upper()}{self.name[1:]} cannot execute {of!r}"
            raise DataError(f"{sentence}: {what_failed(failure)}.") from None


def _inside(query: str) -> str:
    """Return a query as a subquery; the line break ends a comment at the end of the query."""
    return f"({query}\n)"


def _converted_type(kind: Any) -> Any:
    """Return the type of a column after its conversion in SQL."""
    import pyarrow as pa

    if not isinstance(kind, pa.OpaqueType):
        return kind
    return pa.float64() if kind.type_name == "numeric" else pa.string()


def _convert_in_sql(name: str, kind: Any) -> str:
    """Return SQL that converts a column of a PostgreSQL type without an Arrow type to a number or text."""
    import pyarrow as pa

    written = quote_name(name)
    if not isinstance(kind, pa.OpaqueType):
        return written
    return f"CAST({written} AS {'double precision' if kind.type_name == 'numeric' else 'text'}) AS {written}"
