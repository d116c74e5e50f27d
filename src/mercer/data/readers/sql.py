"""What databases have in common: how names are written, and which table is meant where none is named."""

from __future__ import annotations

from mercer._errors import DataError, EmptyDataError
from mercer._suggest import listed


def spelled(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def only_table(tables: list[str], place: str, say_which: str) -> str:
    """The one that there is; where there are several, `say_which` has an example for one of them."""
    if not tables:
        raise EmptyDataError(f"{place} holds no tables.")
    if len(tables) > 1:
        raise DataError(f"{place} holds several tables: {listed(tables)}. Say which{say_which.format(tables[0])}.")
    return tables[0]
