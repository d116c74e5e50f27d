"""Schemas: names, kinds and levels of the columns of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from mercer._errors import ColumnMismatchError
from mercer._stored import stored
from mercer._suggest import did_you_mean
from mercer.data.column_values import ColumnValues
from mercer.data.formats import Format
from mercer.data.infer import MAX_CODES, ColumnFinding, Naming, infer_columns
from mercer.data.kinds import Kind
from mercer.data.table import Table
from mercer.report import Field, Grid

#: longest text of the levels of a column that is printed, in characters
MAX_LEVELS_TEXT = 40


@stored()
@dataclass(frozen=True)
class Column:
    """One column; `levels` are its possible values, if they are known and few enough to be names.

    Examples
    --------
    >>> import mercer
    >>> import pyarrow
    >>> mercer.Schema.infer(pyarrow.table({"city": ["Rome", "Oslo", "Rome"]}))["city"]
    city: category of 2
    """

    name: str
    kind: Kind
    levels: tuple[Any, ...] | None = None
    #: remarks for the reader, which are not part of the identity of the column
    notes: tuple[str, ...] = field(default=(), compare=False)
    #: the kind of the stored values: text and most identifiers are stored as categories
    stored: Kind | None = field(default=None, compare=False)
    #: the format of numbers or dates that are strings
    format: Format | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.stored is None:
            object.__setattr__(self, "stored", self.kind)

    def __repr__(self) -> str:
        levels = f" of {len(self.levels)}" if self.levels is not None else ""
        return f"{self.name}: {self.kind.value}{levels}"

    def described_levels(self) -> str:
        """Return the first levels as text, and their number if they do not all fit."""
        if self.levels is None:
            return ""
        spelled = ", ".join(map(str, self.levels[:MAX_LEVELS_TEXT]))
        return spelled if len(spelled) <= MAX_LEVELS_TEXT else f"{spelled[:MAX_LEVELS_TEXT]}… ({len(self.levels)})"


@stored()
@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order.

    `Schema.of` uses the types of the columns alone, `Schema.infer` also all values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = pa.table({"age": [31.5, 40.0, 28.0] * 5, "sex": [0, 1, 1] * 5, "city": ["Ulm", "Bonn", None] * 5})
    >>> Schema.of(frame)
    Schema(age: number, sex: integer, city: category)
    >>> print(Schema.infer(frame))
    column  kind      levels     notes
    ------  --------  ---------  -----------
    age     number
    sex     binary    0, 1
    city    category  Bonn, Ulm  33% missing
    """

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, data: Any) -> Self:
        """Return the schema by the types of the columns alone, which is the same for every batch of a table."""
        table = data if isinstance(data, Table) else Table.of(data)
        return cls(tuple(map(Column, table.names, table.kinds)))

    @classmethod
    def infer(cls, data: Any, *, max_codes: int = MAX_CODES) -> Self:
        """Return the schema by the values of the whole table.

        Whole numbers become BINARY if there are two, CODE if there are at most `max_codes` and each occurs five times
        on average, COUNT if they begin at 0 or 1, else INTEGER (a rounded blood pressure is not a count). Few whole
        numbers from 0 or 1 on with decreasing frequencies, such as numbers of visits, are a COUNT as well, since a
        larger one may follow. Floats that are all whole are treated as whole numbers: readers without nullable integers
        use floats if a value is missing. Categories get their levels: those that the type declares, or those that
        occur, in order.

        Strings of several words, most of them different, are TEXT, and so are names and titles that are too many for
        levels and have words in common; strings that spell dates (2024-05-31 17:00) are a DATE. Strings that spell
        numbers or dates in another format (1.234,56, $1,200, 12.5%, 31/12/2024) get the kind of these; notes describe
        how they were read, and `formats` holds the formats.

        An IDENTIFIER is not informative about other rows: whole numbers that number twenty rows or more in file order,
        under any name except that of a time; whole numbers that are all different in a column named like a key (id,
        case, obs, nr, …); values that recur in a column named like one (user_id, movieId), unless they are few with
        many rows each, which are a CODE; strings that are all different, or mostly different and without common words.
        A column with one value, or none, in two rows or more is CONSTANT.
        """
        table = data if isinstance(data, Table) else Table.of(data, dates=True)
        names = [Naming.of(table, j) for j in range(table.n_columns)]
        return cls(tuple(map(_column, table.names, infer_columns(ColumnValues.of_columns(table), names, max_codes))))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def formats(self) -> dict[str, Format]:
        """Formats of numbers and dates, by the names of the columns of strings that spell them."""
        return {column.name: column.format for column in self.columns if column.format is not None}

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(column.kind for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Column:
        if name not in self._by_name:
            raise ColumnMismatchError(f"There is no column {name!r}. {did_you_mean(name, self.names)}")
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        """Columns by their names; of columns with the same name, the first."""
        return {column.name: column for column in reversed(self.columns)}

    def grid(self) -> Grid:
        """Return the schema as a table to print."""
        rows = tuple(
            (column.name, column.kind.value, column.described_levels(), "; ".join(column.notes)) for column in self
        )
        return Grid("", (Field("column"), Field("kind"), Field("levels"), Field("notes")), rows)

    def __str__(self) -> str:
        return str(self.grid())

    def __repr__(self) -> str:
        return f"Schema({', '.join(map(repr, self.columns))})"


def _column(name: str, finding: ColumnFinding) -> Column:
    return Column(name, *finding)
