"""What somebody says that a column is travels with it, in the metadata of its pyarrow field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mercer._errors import ColumnMismatchError
from mercer._suggest import did_you_mean
from mercer.data.kinds import Kind

if TYPE_CHECKING:
    from mercer.data.table import Table

KEY = b"mercer:kind"


def with_kinds(frame: Any, kinds: Mapping[str, Kind]) -> Any:
    """A pyarrow table whose columns are what somebody says, whatever they look like to `Schema.infer`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mercer import Schema
    >>> frame = pa.table({"stars": [1, 2, 3, 4, 5] * 5})
    >>> Schema.infer(frame), Schema.infer(with_kinds(frame, {"stars": Kind.NUMBER}))
    (Schema(stars: code of 5), Schema(stars: number))
    """
    for name, kind in kinds.items():
        if name not in frame.column_names:
            raise ColumnMismatchError(f"There is no column {name!r}. {did_you_mean(name, frame.column_names)}")
        position = frame.column_names.index(name)
        field = frame.schema.field(position).with_metadata({KEY: kind.value.encode()})
        frame = frame.set_column(position, field, frame.column(position))
    return frame


def kind_told(table: Table, position: int) -> Kind | None:
    """What was said about a column; None if nothing was."""
    if table.library != "pyarrow":
        return None
    word = (table.storage.frame.to_native().schema.field(position).metadata or {}).get(KEY)  # type: ignore[attr-defined]
    return None if word is None else Kind(word.decode())
