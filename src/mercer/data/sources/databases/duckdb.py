"""Tables and queries of DuckDB files, and relations of this process."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from mercer._errors import DataError
from mercer.data.readers.arrow_types import types_of
from mercer.data.readers.base import BATCH_ROWS, Reading, what_failed
from mercer.data.readers.duckdb import DuckDB, batches
from mercer.data.readers.sql import QueryInfo
from mercer.data.sources.base import digest
from mercer.data.sources.databases.base import Database
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout
from mercer.data.sources.options import OpenOptions
from mercer.data.sources.streams import Stream

#: random names that DuckDB gives to unnamed relations
RANDOM_NAME = re.compile(r"\b(unnamed_relation_|__duckdb_source_)\w+")


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

    def inspect(self, query: str) -> QueryInfo:
        with self._execute(query) as relation:
            return QueryInfo(_types(relation), int(relation.aggregate("count(*)").fetchall()[0][0]))

    def rows(self, query: str, types: dict[str, Any], batch_rows: int) -> Iterator[Any]:
        with self._execute(query) as relation:
            yield from batches(relation, list(types), batch_rows)

    def check(self) -> None:
        self.stamp.check()

    def _execute(self, query: str) -> Any:
        return DuckDB(Path(self.stamp.path), Reading(sql=query)).execute()


class Relation(Stream):
    """A relation, executed by each pass; its connection must not be used meanwhile."""

    def __init__(self, relation: Any, options: OpenOptions) -> None:
        self._relation, self._options = relation, options
        self._types = _types(relation)
        self.columns = options.columns(list(self._types))

    @cached_property
    def layout(self) -> Layout:
        return self._options.layout(self.columns, self._types)

    def tables(self) -> Generator[Any]:
        import duckdb
        import pyarrow as pa

        try:
            for batch in batches(self._relation, list(self.columns.read), min(BATCH_ROWS, self.layout.rows)):
                yield pa.Table.from_batches([batch])
        except (pa.ArrowException, OSError, RuntimeError, duckdb.Error) as failure:
            raise DataError(
                f"The DuckDB relation cannot be read further: {what_failed(failure)}. Do not use its connection while "
                "a model is fitted."
            ) from None

    @property
    def described(self) -> str:
        return "a DuckDB relation"

    @property
    def identity(self) -> str:
        """The query without DuckDB's random names, and the first rows."""
        query = RANDOM_NAME.sub("", self._relation.sql_query())
        return f"{self.described}, {digest(query, self._options, self.head().X.slice(0, 20).to_pylist())}"


def _types(relation: Any) -> dict[str, Any]:
    return types_of(relation.limit(0).to_arrow_table().schema, "The relation")
