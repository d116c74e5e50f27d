"""Tables and queries of an SQLite file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from mercer.data.readers.base import Reading
from mercer.data.readers.sql import QueryInfo
from mercer.data.readers.sqlite import SQLite
from mercer.data.sources.databases.base import Database
from mercer.data.sources.files.stamps import Stamp


@dataclass(frozen=True)
class SQLiteFile(Database):
    """A file, opened by each pass."""

    log: ClassVar[str] = "-wal"

    stamp: Stamp

    @property
    def name(self) -> str:
        return repr(self.stamp.name)

    def check(self) -> None:
        self.stamp.check()

    def tables(self) -> list[str]:
        return self._reader(None).tables()

    def inspect(self, query: str) -> QueryInfo:
        return self._reader(query).info

    def rows(self, query: str, types: dict[str, Any], batch_rows: int) -> Iterator[Any]:
        return self._reader(query).batches(types, batch_rows)

    def _reader(self, query: str | None) -> SQLite:
        return SQLite(Path(self.stamp.path), Reading(sql=query))
