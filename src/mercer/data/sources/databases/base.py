"""What a database answers to a query, as a source."""

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
    """What a query answers, without its rows."""

    #: pyarrow types by name
    types: dict[str, Any]
    rows: int


class Database(ABC):
    """Where a query is put to; it is only ever read."""

    @property
    @abstractmethod
    def name(self) -> str:
        """For people, without a password."""

    @abstractmethod
    def tables(self) -> list[str]:
        """Names of the tables that there are."""

    @abstractmethod
    def look(self, query: str) -> Answer:
        """What a query answers: the types of its columns, and how many rows there are."""

    @abstractmethod
    def rows(self, query: str, types: dict[str, Any], at_once: int) -> Iterator[Any]:
        """Record batches of these columns of what a query answers, in its order."""

    @abstractmethod
    def check(self) -> None:
        """Refuse a file that changed; a server tells of nothing but the number of rows."""

    def query(self, sql: str | None) -> str:
        """A query, the table that is named instead, or the only one that there is."""
        if sql is None:
            return f"SELECT * FROM {self.table(only_table(self.tables(), self.name, ', as in sql={!r}'))}"
        sql = sql.strip().rstrip(";")
        return sql if re.search(r"\s", sql) else f"SELECT * FROM {'.'.join(map(spelled, sql.split('.')))}"

    def table(self, name: str) -> str:
        """One of `tables` as SQL has it, whatever letters are in its name."""
        return spelled(name)


class DatabaseRows(Stream):
    """What a database answers, anew for every pass."""

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
