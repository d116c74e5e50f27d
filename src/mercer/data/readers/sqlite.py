"""Tables of SQLite files, opened read-only with the standard library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from mercer._errors import ColumnTypeError, DataError
from mercer._suggest import listed
from mercer.data.readers.base import Reading, TablePart, TableReader, what_failed
from mercer.data.readers.cells import number_of
from mercer.data.readers.sql import QueryInfo, query_of, quote_name

if TYPE_CHECKING:
    import sqlite3

SQLITE = frozenset({".sqlite", ".sqlite3", ".db"})
#: the first bytes of such a file
SQLITE_START = b"SQLite format 3\0"
#: largest number of sums in a query, since a result of SQLite has at most 2,000 columns
MAX_SUMS = 1600


class TypeCounts(NamedTuple):
    """The number of values of each type in a column."""

    whole: int
    broken: int
    texts: int
    raw: int


@dataclass(frozen=True)
class SQLite(TableReader):
    """Reader of the result of a query or, without a query, of the only table.

    In SQLite every value has its own type. A column has the type that all its values have: whole numbers, numbers, or
    text. Numbers may be stored as text, for example after the import of a CSV file. In a column of numbers, words for
    missing values ("NA", an empty text) are missing.
    """

    path: Path
    reading: Reading

    @property
    def described(self) -> str:
        left_out = [name for name in self._counts[0] if name not in self.info.types]
        return f"SQLite: {self.query}{f', without {listed(left_out)}, which holds bytes' if left_out else ''}"

    def names(self) -> list[str]:
        return list(self.info.types)

    def table(self) -> Any:
        import pyarrow as pa

        types = self.info.types
        batches = list(self.batches(types, self.reading.batch_rows))
        return self.finish(pa.Table.from_batches(batches, pa.schema(list(types.items()))))

    def parts(self, columns: Sequence[str]) -> Iterator[TablePart]:
        import pyarrow as pa

        rows_read, total = 0, max(1, self.info.rows)
        for batch in self.batches({name: self.info.types[name] for name in columns}, self.reading.batch_rows):
            rows_read += batch.num_rows
            yield TablePart(self.finish(pa.Table.from_batches([batch])), rows_read / total)

    def tables(self) -> list[str]:
        """Return the names of the tables and views."""
        rows = self._rows(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY 1"
        )
        return [str(name) for (name,) in rows]

    @cached_property
    def query(self) -> str:
        """The given query, or one that selects everything from the named or the only table."""
        return query_of(self.reading.sql, self.tables, self.path.name)

    @cached_property
    def info(self) -> QueryInfo:
        """The types of the columns by all of their values, without columns of bytes, and the number of rows."""
        import pyarrow as pa

        counts, rows = self._counts
        types = {}
        for name, (integers, broken, texts, raw) in counts.items():
            if raw and not (integers or broken or texts):
                continue
            if raw:
                raise ColumnTypeError(
                    f"Column {name!r} of {self.path.name!r} holds bytes, in {raw} rows: neither numbers nor text. "
                    "Leave it out of the query."
                )
            number_types: set[type] = {kind for kind, count in ((int, integers), (float, broken)) if count}
            if texts:
                number_types |= {str} if name in self.reading.text_columns else self._spelled_types(name)
            if str in number_types or (texts and not number_types):
                types[name] = pa.string()
            else:
                types[name] = pa.int64() if number_types == {int} else pa.float64()
        return QueryInfo(types, rows)

    def batches(self, types: dict[str, Any], batch_rows: int) -> Iterator[Any]:
        """Yield record batches of these columns, in the order of the result."""
        import pyarrow as pa

        if not types:
            return
        chosen = []
        for name, kind in types.items():
            column = quote_name(name)
            if kind == pa.string():
                chosen.append(f"CAST({column} AS TEXT)")
            else:  # a text among numbers that does not spell one counts as missing
                number = f"CAST({column} AS {'INTEGER' if kind == pa.int64() else 'REAL'})"
                chosen.append(f"CASE WHEN typeof({column}) <> 'text' OR is_number({column}) THEN {number} END")
        with self._execute(f"SELECT {', '.join(chosen)} FROM {_inside(self.query)}") as cursor:
            while rows := cursor.fetchmany(batch_rows):
                columns = zip(zip(*rows, strict=True), types.values(), strict=True)
                yield pa.record_batch([pa.array(values, kind) for values, kind in columns], names=list(types))

    @cached_property
    def _counts(self) -> tuple[dict[str, TypeCounts], int]:
        """The number of values of each type in each column, and the number of rows."""
        with self._execute(f"SELECT * FROM {_inside(self.query)} LIMIT 0") as cursor:
            names = [str(column[0]) for column in cursor.description]
        kinds = ("integer", "real", "text", "blob")
        sums = [f"sum(typeof({quote_name(name)}) = '{kind}')" for name in names for kind in kinds]
        rows, counts = 0, list[int]()
        for start in range(0, len(sums), MAX_SUMS):
            sql = f"SELECT count(*), {', '.join(sums[start : start + MAX_SUMS])} FROM {_inside(self.query)}"
            ((rows, *some),) = self._rows(sql)
            counts += [count or 0 for count in some]
        return {name: TypeCounts(*counts[4 * j : 4 * j + 4]) for j, name in enumerate(names)}, rows

    def _spelled_types(self, name: str) -> set[type]:
        """Return the types of the numbers that the texts of a column spell, or {str} if a text is not a number."""
        column = quote_name(name)
        sql = f"SELECT DISTINCT {column} FROM {_inside(self.query)} WHERE typeof({column}) = 'text'"
        types: set[type] = set()
        with self._execute(sql) as cursor:
            for (text,) in cursor:
                if text.strip() in self.reading.markers:
                    continue
                if (number := number_of(text)) is None:
                    return {str}
                types.add(type(number))
        return types

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._execute(sql) as cursor:
            return list(cursor.fetchall())

    @contextmanager
    def _execute(self, sql: str) -> Iterator[sqlite3.Cursor]:
        """Execute a query, and yield a cursor over its result while the file is open."""
        import sqlite3  # missing in some builds of Python

        query = self.reading.sql
        try:
            with closing(sqlite3.connect(f"file:{quote(str(self.path))}?mode=ro", uri=True)) as connection:
                # invalid UTF-8 is replaced by U+FFFD
                connection.create_function("is_number", 1, lambda text: number_of(text) is not None, deterministic=True)
                connection.text_factory = lambda octets: octets.decode(errors="replace")
                yield connection.execute(sql)
        except sqlite3.DatabaseError as failure:
            if "not a database" in str(failure) or query is None:
                raise DataError(f"{self.path.name!r} cannot be read as SQLite: {what_failed(failure)}.") from None
            raise DataError(f"{self.path.name!r} cannot execute {query!r}: {what_failed(failure)}.") from None


def begins_like_sqlite(path: Path) -> bool:
    """Return whether a file is an SQLite file; the ending .db is also used for DuckDB."""
    with path.open("rb") as file:
        return file.read(len(SQLITE_START)) == SQLITE_START


def _inside(query: str) -> str:
    """Return a query as a subquery; the line break ends a comment at the end of the query."""
    return f"({query}\n)"
