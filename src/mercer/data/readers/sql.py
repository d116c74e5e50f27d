"""Functions for all databases: quoting of names, and the choice of a table or query."""

from __future__ import annotations

from collections.abc import Callable

from mercer._errors import DataError, EmptyDataError
from mercer._suggest import did_you_mean, listed


def spelled(name: str) -> str:
    """Return a quoted name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def query_of(sql: str | None, tables: Callable[[], list[str]], file: str) -> str:
    """Return the query for a file: the given one, or that for all of the named or the only table."""
    if sql is None:
        return f"SELECT * FROM {spelled(only_table(tables(), repr(file), ' (on the command line with --sql {})'))}"
    sql = sql.strip().rstrip(";")
    if any(map(str.isspace, sql)) and sql.split()[0].upper() in ("SELECT", "WITH", "FROM", "VALUES"):
        return sql
    if sql in (known := tables()):
        return f"SELECT * FROM {spelled(sql)}"
    if any(map(str.isspace, sql)):
        return sql
    if "." in sql:
        return f"SELECT * FROM {'.'.join(map(spelled, sql.split('.')))}"
    raise DataError(f"There is no table {sql!r} in {file!r}. {did_you_mean(sql, known)}")


def only_table(tables: list[str], place: str, say_which: str) -> str:
    """Return the only table; the error for several tables has an example for one of them, by `say_which`."""
    if not tables:
        raise EmptyDataError(f"{place} holds no tables.")
    if len(tables) > 1:
        raise DataError(f"{place} holds several tables: {listed(tables)}. Say which{say_which.format(tables[0])}.")
    return tables[0]
