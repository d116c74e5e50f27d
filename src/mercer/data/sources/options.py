"""Options of `mercer.data.open`, and what follows from them once the columns are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer._errors import ColumnMismatchError, DataError
from mercer._suggest import did_you_mean
from mercer.data.declared_kinds import KIND_KEY
from mercer.data.readers.arrow_types import merge_types, plain_type, row_bytes, type_of
from mercer.data.readers.base import Reading, held_types
from mercer.data.schema import Schema
from mercer.data.sources.base import (
    CHUNK_BYTES,
    PIECE_BYTES,
    SOURCE_BLOCK_BYTES,
    TEXT_PIECE_BYTES,
    SourceColumns,
)
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
        declared = (*self.reading.held, *self.reading.kinds, *(() if self.schema is None else self.schema.names))
        for name in declared:
            if name not in names:
                raise ColumnMismatchError(f"There is no column {name!r}. {did_you_mean(name, names)}")
        others = {
            role: column_name(given, names)
            for role, given in (("target", self.target), ("weight", self.weight), ("offset", self.offset))
            if given is not None
        }
        dropped = column_names(self.drop, names)
        features = [name for name in names if name not in (*dropped, *others.values())]
        if self.features is not None:
            features = column_names(self.features, names)
        _check_roles(others, features, dropped)
        if not features:
            besides = f"Besides {', '.join(map(repr, others.values()))} there" if others else "There"
            raise DataError(f"{besides} is no column left to learn from.")
        return SourceColumns(tuple(features), **others)

    def declared_types(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the pyarrow types of those columns whose types are given by options."""
        names = list(names)
        types = {} if self.schema is None else {each.name: type_of(each.stored or each.kind) for each in self.schema}
        return {name: types[name] for name in names if name in types} | held_types(self.reading.held, names)

    def merge_types(
        self, types_by_place: Iterable[tuple[str, Mapping[str, Any]]], columns: SourceColumns
    ) -> dict[str, Any]:
        """Return the common types of the columns that are read, from the types in all places."""
        return merge_types(types_by_place, columns.read, self.declared_types(columns.read))

    @property
    def block_bytes(self) -> int:
        """Number of bytes of text that are parsed at once."""
        return self.reading.block_bytes or SOURCE_BLOCK_BYTES

    @property
    def piece_bytes(self) -> int:
        """Approximate number of bytes of decoded values of a piece."""
        return self.reading.piece_bytes or PIECE_BYTES

    @property
    def text_piece_bytes(self) -> int:
        """Approximate number of bytes of text of a piece."""
        return self.reading.piece_bytes or TEXT_PIECE_BYTES

    def layout(self, columns: SourceColumns, types: Mapping[str, Any], min_row_bytes: int = 1) -> Layout:
        """Return the conversion of tables with these pyarrow types to chunks."""
        import pyarrow as pa

        types = dict(types) | self.declared_types(columns.read)
        kinds = self.reading.kinds
        schema = pa.schema(
            pa.field(
                name,
                plain_type(types[name]),
                metadata={KIND_KEY: kinds[name].value.encode()} if name in kinds else None,
            )
            for name in columns.read
        )
        rows = self.rows or max(1, CHUNK_BYTES // max(min_row_bytes, row_bytes(schema.types)))
        return Layout(columns, schema, rows, self.skip, self.reading.missing, self.block_bytes)


def _check_roles(others: Mapping[str, str], features: Sequence[str], dropped: Sequence[str]) -> None:
    roles = [*others.items(), *(("feature", name) for name in features)]
    assigned: dict[str, str] = {}
    for role, name in roles:
        if name in dropped:
            raise DataError(f"Column {name!r} is the {role}, which cannot be dropped; name another one, or keep it.")
        if name in assigned:
            raise DataError(f"Column {name!r} cannot be both {assigned[name]} and {role}; name another one for either.")
        assigned[name] = role
