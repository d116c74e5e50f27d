"""Functions for all databases: quoting of names, and the choice of a table or query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mercer._errors import DataError, EmptyDataError
from mercer._suggest import did_you_mean, listed


class QueryInfo(NamedTuple):
    """The columns and the number of rows of the result of a query."""

    #: pyarrow types by name
    types: dict[str, Any]
    rows: int


def quote_name(name: str) -> str:
    """Return a quoted name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def query_of(sql: str | None, tables: Callable[[], list[str]], file: str) -> str:
    """Return the query for a file: the given one, or one that selects everything from the named or the only table."""
    if sql is None:
        return f"SELECT * FROM {quote_name(only_table(tables(), repr(file), ' (on the command line with --sql {})'))}"
    sql = sql.strip().rstrip(";")
    if any(map(str.isspace, sql)) and sql.split()[0].upper() in ("SELECT", "WITH", "FROM", "VALUES"):
        return sql
    if sql in (known := tables()):
        return f"SELECT * FROM {quote_name(sql)}"
    if any(map(str.isspace, sql)):
        return sql
    if "." in sql:
        return f"SELECT * FROM {'.'.join(map(quote_name, sql.split('.')))}"
    raise DataError(f"There is no table {sql!r} in {file!r}. {did_you_mean(sql, known)}")


def only_table(tables: list[str], place: str, example: str) -> str:
    """Return the only table; the error for several tables ends with `example`, filled with the name of the first."""
    if not tables:
        raise EmptyDataError(f"{place} has no tables.")
    if len(tables) > 1:
        raise DataError(f"{place} has several tables: {listed(tables)}. Name one of them{example.format(tables[0])}.")
    return tables[0]
