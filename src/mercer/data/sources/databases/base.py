"""Results of database queries as sources."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

from mercer.data.readers.sql import only_table, spelled
from mercer.data.sources.asking import OpenOptions
from mercer.data.sources.base import digest
from mercer.data.sources.layout import Layout
from mercer.data.sources.streams import Stream

#: most rows that are fetched at once
FETCHED = 1 << 16


class Answer(NamedTuple):
    """The result of a query without its rows."""

    #: pyarrow types by name
    types: dict[str, Any]
    rows: int


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
    def look(self, query: str) -> Answer:
        """Return the types of the columns and the number of rows of a query."""

    @abstractmethod
    def rows(self, query: str, types: dict[str, Any], at_once: int) -> Iterator[Any]:
        """Yield record batches of these columns of a query, in its order."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error if a file has changed; a server only reveals the number of rows."""

    def query(self, sql: str | None) -> str:
        """Return a query: the given one, or that for the named or the only table."""
        if sql is None:
            return f"SELECT * FROM {self.table(only_table(self.tables(), self.name, ', as in sql={!r}'))}"
        sql = sql.strip().rstrip(";")
        return sql if re.search(r"\s", sql) else f"SELECT * FROM {'.'.join(map(spelled, sql.split('.')))}"

    def table(self, name: str) -> str:
        """Return one of `tables` quoted for SQL."""
        return spelled(name)


class DatabaseRows(Stream):
    """A source that executes the query in every pass."""

    def __init__(self, database: Database, asked: OpenOptions) -> None:
        self._database, self._asked = database, asked
        self._query = database.query(asked.reading.sql)
        self._answer = database.look(self._query)
        self.columns = asked.columns(list(self._answer.types))
        self._layout = asked.layout(self.columns, self._answer.types)

    @property
    def layout(self) -> Layout:
        return self._layout

    def tables(self) -> Generator[Any]:
        import pyarrow as pa

        self._database.check()
        types = {name: self._answer.types[name] for name in self.columns.read}
        for batch in self._database.rows(self._query, types, min(FETCHED, self._layout.rows)):
            yield pa.Table.from_batches([batch])
        self._database.check()

    @property
    def n_rows(self) -> int:
        return self._answer.rows

    @property
    def described(self) -> str:
        return f"{self._query!r} of {self._database.name}"

    @property
    def identity(self) -> str:
        return f"{self.described}, {digest(self._database, self._answer, self._asked)}"
