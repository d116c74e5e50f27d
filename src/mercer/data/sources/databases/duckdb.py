"""Tables and queries of DuckDB files, and relations of this process."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from mercer._errors import DataError
from mercer.data.readers.base import Reading, what_failed
from mercer.data.readers.duckdb import DuckDB, batches
from mercer.data.readers.merging import types_of
from mercer.data.sources.asking import OpenOptions
from mercer.data.sources.base import digest
from mercer.data.sources.databases.base import FETCHED, Answer, Database
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout
from mercer.data.sources.streams import Stream

#: names of what has none
CHANCE = re.compile(r"\b(unnamed_relation_|__duckdb_source_)\w+")


@dataclass(frozen=True)
class DuckDBFile(Database):
    """A file, opened by each pass."""

    log: ClassVar[str] = ".wal"

    stamp: Stamp

    @property
    def name(self) -> str:
        return repr(self.stamp.name)

    def tables(self) -> list[str]:
        return DuckDB(Path(self.stamp.path), Reading()).tables()

    def look(self, query: str) -> Answer:
        with self._asked(query) as relation:
            return Answer(_types(relation), int(relation.aggregate("count(*)").fetchall()[0][0]))

    def rows(self, query: str, types: dict[str, Any], at_once: int) -> Iterator[Any]:
        with self._asked(query) as relation:
            yield from batches(relation, list(types), at_once)

    def check(self) -> None:
        self.stamp.check()

    def _asked(self, query: str) -> Any:
        return DuckDB(Path(self.stamp.path), Reading(sql=query)).asked()


class Relation(Stream):
    """A relation, executed by each pass; its connection must not be used meanwhile."""

    def __init__(self, relation: Any, asked: OpenOptions) -> None:
        self._relation, self._asked = relation, asked
        self._types = _types(relation)
        self.columns = asked.columns(list(self._types))

    @cached_property
    def layout(self) -> Layout:
        return self._asked.layout(self.columns, self._types)

    def tables(self) -> Generator[Any]:
        import duckdb
        import pyarrow as pa

        try:
            for batch in batches(self._relation, list(self.columns.read), min(FETCHED, self.layout.rows)):
                yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError, RuntimeError, duckdb.Error) as failure:
            raise DataError(
                f"The relation of DuckDB stopped answering: {what_failed(failure)}. Leave its connection alone while a "
                "model is fitted."
            ) from None

    @property
    def described(self) -> str:
        return "a relation of DuckDB"

    @property
    def identity(self) -> str:
        """The query without DuckDB's random names, and the first rows."""
        query = CHANCE.sub("", self._relation.sql_query())
        return f"{self.described}, {digest(query, self._asked, self.head().X.slice(0, 20).to_pylist())}"


def _types(relation: Any) -> dict[str, Any]:
    return types_of(relation.limit(0).to_arrow_table().schema, "The relation")
