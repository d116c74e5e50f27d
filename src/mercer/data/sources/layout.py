"""Conversion of pyarrow tables to chunks: one type for each column, targets and weights as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import ColumnTypeError, DataError
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.data.compressed_pickle import CompressedPickle
from mercer.data.readers.base import replace_markers, what_failed
from mercer.data.sources.base import SOURCE_BLOCK_BYTES, Chunk, SourceColumns


@dataclass(frozen=True)
class Layout(CompressedPickle):
    """The conversion that all pieces of a source share; it is pickled with each of them."""

    columns: SourceColumns
    #: pyarrow schema of `columns.read`
    types: Any
    #: largest number of rows of a chunk
    rows: int
    #: whether to drop parts that cannot be read
    skip: bool = False
    #: words for missing values
    missing: tuple[str, ...] = ()
    #: number of bytes of text that are parsed at once
    block_bytes: int = SOURCE_BLOCK_BYTES

    @property
    def names(self) -> list[str]:
        return list(self.types.names)

    def chunks(self, tables: Iterable[tuple[int, Any]], place: str, skipped: list[str]) -> Iterator[Chunk]:
        """Yield the rows of some tables, each given with the number of its first row in `place`.

        Rows without a target are dropped as in `split_target`, and counted in `skipped`.
        """
        unlabelled = 0
        for first, table in tables:
            for rows in row_blocks(table.num_rows, self.rows):
                # slice before the conversion, which then stays small
                typed = self.typed(table.slice(rows.start, rows.stop - rows.start), place)
                chunk = self._chunk(typed, place, first + rows.start)
                unlabelled += typed.num_rows - chunk.n_rows
                if chunk.n_rows:
                    yield chunk
        if unlabelled:
            skipped.append(f"{unlabelled} rows of {place} without a value of {self.columns.target!r}")

    def typed(self, table: Any, place: str) -> Any:
        """Return the columns that are read, converted to their types."""
        import pyarrow as pa

        try:
            table = replace_markers(table.select(self.names), self.missing)
        except KeyError:
            absent = next(name for name in self.names if name not in table.column_names)
            raise DataError(
                f"Some rows of {place} have no column {absent!r}, which others have. Give all rows the same columns."
            ) from None
        if table.schema.equals(self.types, check_metadata=True):
            return table
        columns = [_cast(table.column(field.name), field, place) for field in self.types]
        return pa.Table.from_arrays(columns, schema=self.types)

    def _chunk(self, table: Any, place: str, first: int) -> Chunk:
        target, weight, offset = self.columns.target, self.columns.weight, self.columns.offset
        kept = None
        if target is not None and (present := _present(table.column(target))) is not None:
            table, kept = table.filter(present), first + np.flatnonzero(present.to_numpy(zero_copy_only=False))
        rows = _LayoutRows(table, place, first, kept)
        return Chunk(
            table.select(list(self.columns.features)),
            None if target is None else rows.target(target),
            None if weight is None else rows.weight(weight),
            None if offset is None else rows.numbers(offset),
        )


@dataclass(frozen=True, eq=False)
class _LayoutRows:
    """Columns of some rows as NumPy arrays; errors name the row of a wrong value."""

    table: Any
    place: str
    first: int
    #: original numbers of the rows if some were dropped
    kept: Array | None

    def target(self, name: str) -> Array:
        """Return strings as objects, whole numbers and fractions in 64 bits, bools unchanged."""
        import pyarrow as pa

        column = self.table.column(name)
        if pa.types.is_string(column.type):
            return _numpy(column)
        if pa.types.is_boolean(column.type):
            return _numpy(column).astype(np.bool_)
        if pa.types.is_integer(column.type) and column.type != pa.uint64():
            return _numpy(column).astype(np.int64)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            return _numpy(column).astype(np.float64)
        raise ColumnTypeError(
            f"The target {name!r} has the type {column.type}, which is neither a number nor a label. Name another "
            "column, or convert it to numbers or strings."
        )

    def numbers(self, name: str) -> Array:
        """Return finite numbers, one for each row."""
        import pyarrow as pa

        column = self.table.column(name)
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise ColumnTypeError(
                f"Column {name!r} must hold weights or offsets, but has the type {column.type}. Name a column of "
                "numbers."
            )
        values: Array = column.cast(pa.float64(), safe=False).to_numpy()
        self._check_values(
            ~np.isfinite(values), values, name, "give every row a finite number there, or leave the row out"
        )
        return values

    def weight(self, name: str) -> Array:
        """Return non-negative weights."""
        values = self.numbers(name)
        self._check_values(values < 0, values, name, "a weight is 0 or more")
        return values

    def _check_values(self, wrong: Array, values: Array, name: str, remedy: str) -> None:
        if wrong.any():
            row = int(np.argmax(wrong))
            number = self.first + row if self.kept is None else int(self.kept[row])
            value = "missing" if np.isnan(values[row]) else f"{values[row]:g}"
            raise DataError(f"Column {name!r} is {value} in row {number} of {self.place}; {remedy}.")


def _present(column: Any) -> Any:
    """Return a pyarrow mask of the rows with a value; None if all rows have one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    return pc.invert(missing).combine_chunks() if pc.any(missing).as_py() else None


def _numpy(column: Any) -> Array:
    values: Array = column.to_numpy()
    return values


def _cast(column: Any, field: Any, place: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type == field.type:
        return column
    try:
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        return pc.cast(column, field.type, safe=not pa.types.is_floating(field.type))
    except pa.ArrowException as failure:
        raise DataError(
            f"Column {field.name!r} of {place} must have the type {field.type}, but does not convert: "
            f"{what_failed(failure)}. Correct the value, or declare another type with schema=."
        ) from None
