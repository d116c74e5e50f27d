"""SQLite and PostgreSQL, through ADBC."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from mercer._errors import ColumnTypeError, DataError
from mercer._optional import require
from mercer.data.readers.base import what_failed
from mercer.data.readers.sql import spelled
from mercer.data.sources.databases.base import Answer, Database
from mercer.data.sources.files.stamps import Stamp

#: what a value of SQLite may be
HELD = ("integer", "real", "text", "blob")
#: an answer of SQLite has no more than 2,000 columns
MOST_SUMS = 1600


class _Connected(Database):
    """A database that ADBC has a driver for."""

    @abstractmethod
    def _asked(self, sql: str, *, of: str, at_once: int = 1) -> AbstractContextManager[Any]:
        """A reader of record batches of what is answered; `of` is the query to complain of."""

    def _schema(self, query: str) -> Any:
        with self._asked(f"SELECT * FROM {_inside(query)} AS rows LIMIT 0", of=query) as reader:
            return reader.schema

    def _row(self, sql: str, of: str) -> list[Any]:
        with self._asked(sql, of=of) as reader:
            return [column[0].as_py() for column in reader.read_all().columns]

    def _listed(self, sql: str) -> list[str]:
        with self._asked(sql, of=sql) as reader:
            return [str(name) for name in reader.read_all().column(0).to_pylist()]


@dataclass(frozen=True)
class SQLite(_Connected):
    """A file, in whose columns every value has a type of its own."""

    log: ClassVar[str] = "-wal"

    stamp: Stamp

    @property
    def name(self) -> str:
        return repr(self.stamp.name)

    def check(self) -> None:
        self.stamp.check()

    def tables(self) -> list[str]:
        return self._listed(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
        )

    def look(self, query: str) -> Answer:
        """A look at the types of all values: whole numbers, fractions among them, or text among them."""
        import pyarrow as pa

        names = [str(name) for name in self._schema(query).names]
        sums = [f"sum(typeof({spelled(name)}) = '{what}')" for name in names for what in HELD]
        rows, each = 0, list[int]()
        for start in range(0, len(sums), MOST_SUMS):
            some = ", ".join(sums[start : start + MOST_SUMS])
            rows, *found = (count or 0 for count in self._row(f"SELECT count(*), {some} FROM {_inside(query)}", query))
            each += found
        types = {}
        for position, name in enumerate(names):
            whole, broken, text, raw = each[4 * position : 4 * position + 4]
            if raw:
                raise ColumnTypeError(
                    f"Column {name!r} of {self.name} holds bytes, in {raw} rows: neither numbers nor text. Leave it "
                    "out of the query."
                )
            types[name] = pa.string() if text else pa.float64() if broken or not whole else pa.int64()
        return Answer(types, rows)

    def rows(self, query: str, types: dict[str, Any], at_once: int) -> Iterator[Any]:
        import pyarrow as pa

        # the driver goes by the types of the first rows: a row that has the right ones is put before them
        written = {pa.string(): ("''", "TEXT"), pa.float64(): ("0.5", "REAL"), pa.int64(): ("0", "INTEGER")}
        first = ", ".join(f"{written[kind][0]} AS {spelled(name)}" for name, kind in types.items())
        others = ", ".join(f"CAST({spelled(name)} AS {written[kind][1]})" for name, kind in types.items())
        sql, surplus = f"SELECT {first} UNION ALL SELECT {others} FROM {_inside(query)}", 1
        with self._asked(sql, of=query, at_once=at_once) as reader:
            for batch in reader:
                if batch.num_rows > surplus:
                    yield batch.slice(surplus)
                surplus = 0

    def _asked(self, sql: str, *, of: str, at_once: int = 1) -> AbstractContextManager[Any]:
        return _answered(
            "sqlite",
            f"file:{quote(self.stamp.path)}?mode=ro",
            sql,
            sentence=f"{self.name} does not answer {of!r}",
            options={"adbc.sqlite.query.batch_rows": str(at_once)},
        )


@dataclass(frozen=True)
class PostgreSQL(_Connected):
    """A server; its tables may change between passes, which is found out by counting rows."""

    uri: str

    @property
    def name(self) -> str:
        parts = urlsplit(self.uri)
        return f"the PostgreSQL server at {parts.hostname or 'localhost'}, database {parts.path.lstrip('/')!r}"

    def __repr__(self) -> str:
        return self.name  # no password, in whatever this is printed

    def check(self) -> None:
        pass

    def tables(self) -> list[str]:
        return self._listed(
            "SELECT table_schema || '.' || table_name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
        )

    def table(self, name: str) -> str:
        return ".".join(map(spelled, name.split(".", 1)))  # that of its schema comes first

    def look(self, query: str) -> Answer:
        types = {str(field.name): _comes_as(field.type) for field in self._schema(query)}
        (rows,) = self._row(f"SELECT count(*) FROM {_inside(query)} AS rows", query)
        return Answer(types, rows)

    def rows(self, query: str, types: dict[str, Any], at_once: int) -> Iterator[Any]:
        schema = self._schema(query)
        columns = ", ".join(_as_known(name, schema.field(name).type) for name in types)
        with self._asked(f"SELECT {columns} FROM {_inside(query)} AS rows", of=query, at_once=at_once) as reader:
            yield from reader

    def _asked(self, sql: str, *, of: str, at_once: int = 1) -> AbstractContextManager[Any]:
        return _answered(
            "postgresql",
            self.uri,
            sql,
            sentence=f"{self.name[0].upper()}{self.name[1:]} does not answer {of!r}",
            # a scan may begin where another one is, which is another order of rows
            before=("SET TRANSACTION READ ONLY", "SET synchronize_seqscans TO off"),
        )


def _inside(query: str) -> str:
    """A query as part of another one; it may end with a comment, which would go on to the end of the line."""
    return f"({query}\n)"


def _comes_as(kind: Any) -> Any:
    """The type of a column as `_as_known` asks for it."""
    import pyarrow as pa

    if not isinstance(kind, pa.OpaqueType):
        return kind
    return pa.float64() if kind.type_name == "numeric" else pa.string()


def _as_known(name: str, kind: Any) -> str:
    """A column of a type that only PostgreSQL knows as one that Arrow knows: a number, else what it prints."""
    import pyarrow as pa

    written = spelled(name)
    if not isinstance(kind, pa.OpaqueType):
        return written
    return f"CAST({written} AS {'double precision' if kind.type_name == 'numeric' else 'text'}) AS {written}"


@contextmanager
def _answered(
    driver: str,
    uri: str,
    sql: str,
    *,
    sentence: str,
    before: tuple[str, ...] = (),
    options: dict[str, str] | None = None,
) -> Iterator[Any]:
    import pyarrow as pa

    database = require(f"adbc_driver_{driver}.dbapi", purpose=f"Reading from {driver}", extra=driver)
    try:
        with database.connect(uri) as connection, connection.cursor() as cursor:
            for statement in before:
                cursor.execute(statement)
            cursor.adbc_statement.set_options(**(options or {}))
            cursor.execute(sql)
            with cursor.fetch_record_batch() as reader:
                yield reader
    except (database.Error, pa.ArrowException, OSError) as failure:
        raise DataError(f"{sentence}: {what_failed(failure)}.") from None
