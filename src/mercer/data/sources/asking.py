"""The options of `mercer.data.open`, and their consequences once the columns are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer._errors import ColumnMismatchError, DataError
from mercer._suggest import did_you_mean
from mercer.data.declared_kinds import KEY
from mercer.data.readers.arrow_types import plain, type_of, width
from mercer.data.readers.base import Reading, held_types
from mercer.data.schema import Schema
from mercer.data.sources.base import CHUNK_BYTES, SourceColumns
from mercer.data.sources.layout import Layout
from mercer.data.target import column_name, column_names


@dataclass(frozen=True)
class OpenOptions:
    """Roles of columns, options for reading, the size of chunks, and the treatment of errors."""

    target: str | None = None
    weight: str | None = None
    offset: str | None = None
    #: None stands for all other columns
    features: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    reading: Reading = field(default_factory=Reading)
    schema: Schema | None = None
    rows: int | None = None
    skip: bool = False

    def columns(self, names: Sequence[str]) -> SourceColumns:
        """Return the roles of these columns, which are given by name or position as in `split_target`."""
        names = list(names)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"There are several columns {twice!r}. Rename them, so that every name occurs once.")
        said = (*self.reading.held, *self.reading.kinds, *(() if self.schema is None else self.schema.names))
        for name in said:
            if name not in names:
                raise ColumnMismatchError(f"There is no column {name!r}. {did_you_mean(name, names)}")
        beside = {
            role: column_name(given, names)
            for role, given in (("target", self.target), ("weight", self.weight), ("offset", self.offset))
            if given is not None
        }
        dropped = column_names(self.drop, names)
        features = [name for name in names if name not in (*dropped, *beside.values())]
        if self.features is not None:
            features = column_names(self.features, names)
        _refuse_two_roles(beside, features, dropped)
        if not features:
            apart = f"Besides {', '.join(map(repr, beside.values()))} there" if beside else "There"
            raise DataError(f"{apart} is no column left to learn from.")
        return SourceColumns(tuple(features), **beside)

    def told(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the pyarrow types of the columns whose types are given by options."""
        names = list(names)
        told = {} if self.schema is None else {each.name: type_of(each.stored or each.kind) for each in self.schema}
        return {name: told[name] for name in names if name in told} | held_types(self.reading.held, names)

    def layout(self, columns: SourceColumns, types: Mapping[str, Any], at_least: int = 1) -> Layout:
        """Return the conversion of tables with these pyarrow types to chunks; `at_least` is a lower bound of the bytes
        of a row.
        """
        import pyarrow as pa

        types = dict(types) | self.told(columns.read)
        kinds = self.reading.kinds
        schema = pa.schema(
            pa.field(name, plain(types[name]), metadata={KEY: kinds[name].value.encode()} if name in kinds else None)
            for name in columns.read
        )
        rows = self.rows or max(1, CHUNK_BYTES // max(at_least, width(schema.types)))
        return Layout(columns, schema, rows, self.skip, self.reading.missing)


def _refuse_two_roles(beside: Mapping[str, str], features: Sequence[str], dropped: Sequence[str]) -> None:
    roles = [*beside.items(), *(("feature", name) for name in features)]
    seen: dict[str, str] = {}
    for role, name in roles:
        if name in dropped:
            raise DataError(f"Column {name!r} is the {role}, which cannot be dropped; name another one, or keep it.")
        if name in seen:
            raise DataError(f"Column {name!r} cannot be both {seen[name]} and {role}; name another one for either.")
        seen[name] = role
