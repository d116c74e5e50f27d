"""Results of database queries as sources."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from typing import Any

from mercer.data.readers.base import BATCH_ROWS
from mercer.data.readers.sql import QueryInfo, only_table, quote_name
from mercer.data.sources.base import digest
from mercer.data.sources.layout import Layout
from mercer.data.sources.options import OpenOptions
from mercer.data.sources.streams import Stream


class Database(ABC):
    """Base class of databases, which are opened read-only."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name for messages, without a password."""

    @abstractmethod
    def tables(self) -> list[str]:
        """Return the names of the tables."""

    @abstractmethod
    def inspect(self, query: str) -> QueryInfo:
        """Return the types of the columns and the number of rows of a query."""

    @abstractmethod
    def rows(self, query: str, types: dict[str, Any], batch_rows: int) -> Iterator[Any]:
        """Yield record batches of these columns of a query, in its order."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error if a file has changed; changes on a server show only in the number of rows."""

    def query(self, sql: str | None) -> str:
        """Return a query: the given one, or that for the named or the only table."""
        if sql is None:
            return f"SELECT * FROM {self.table(only_table(self.tables(), self.name, ', as in sql={!r}'))}"
        sql = sql.strip().rstrip(";")
        return sql if re.search(r"\s", sql) else f"SELECT * FROM {'.'.join(map(quote_name, sql.split('.')))}"

    def table(self, name: str) -> str:
        """Return one of `tables` quoted for SQL."""
        return quote_name(name)


class DatabaseRows(Stream):
    """A source that executes the query in every pass."""

    def __init__(self, database: Database, options: OpenOptions) -> None:
        self._database, self._options = database, options
        self._query = database.query(options.reading.sql)
        self._info = database.inspect(self._query)
        self.columns = options.columns(list(self._info.types))
        self._layout = options.layout(self.columns, self._info.types)

    @property
    def layout(self) -> Layout:
        return self._layout

    def tables(self) -> Generator[Any]:
        import pyarrow as pa

        self._database.check()
        types = {name: self._info.types[name] for name in self.columns.read}
        for batch in self._database.rows(self._query, types, min(BATCH_ROWS, self._layout.rows)):
            yield pa.Table.from_batches([batch])
        self._database.check()

    @property
    def n_rows(self) -> int:
        return self._info.rows

    @property
    def described(self) -> str:
        return f"{self._query!r} of {self._database.name}"

    @property
    def identity(self) -> str:
        return f"{self.described}, {digest(self._database, self._info, self._options)}"
