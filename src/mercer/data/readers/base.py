"""Base class of all readers of files, their options, and the processing of rows that is the same for all formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mercer._errors import ColumnMismatchError, DataError
from mercer._suggest import did_you_mean, listed
from mercer.data.coding import MISSING_WORDS
from mercer.data.declared_kinds import with_kinds, with_marks
from mercer.data.formats import NumberFormat, detect_format
from mercer.data.kinds import Kind
from mercer.data.readers.arrow_types import without_views
from mercer.data.select import set_columns

#: declared content of a column, which overrides what its values suggest; "verbatim" columns are returned as written
Held = Literal["text", "number", "category", "boolean", "date", "verbatim"]
#: contents that are declared for files of text only, because other formats have types for them
TYPED = frozenset({"boolean", "date", "verbatim"})

#: the remedy for a table that does not fit into memory
TOO_LARGE_REMEDY = "read it piece by piece (mercer.data.open, `mercer fit --stream`), or take some of its rows"

#: default number of bytes of text that are parsed at once: some ten thousand rows
TEXT_BLOCK_BYTES = 1 << 22
#: default number of rows of a batch: large against the cost of a call, small against the memory
BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Reading:
    """Options for reading a file; those that are not given are inferred from the file.

    Examples
    --------
    >>> from mercer.data import Reading
    >>> Reading(separator=";", missing=("unknown",)).markers[-1]
    'unknown'
    """

    #: whether the first line contains names
    header: bool | None = None
    separator: str | None = None
    encoding: str | None = None
    #: words for missing values
    missing: tuple[str, ...] = ()
    #: whether only these words and empty fields are missing values
    only_missing: bool = False
    #: the query of a database, or the name of a table
    sql: str | None = None
    #: the sheet of a workbook: its name, or its number, counted from 1
    sheet: str | None = None
    #: declared contents of columns by name
    held: Mapping[str, Held] = field(default_factory=dict)
    #: declared kinds of columns by name, which `Schema.infer` does not infer
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    #: the decimal mark of numbers in files of text; inferred from the values if None
    decimal: str | None = None
    #: the order of day, month and year in files of text: "dmy", "mdy" or "ymd"; inferred from the values if None
    dates: str | None = None
    #: known levels of columns by name; such words are not missing values
    levels: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: number of bytes of text that are parsed at once; None for the default of the reader
    block_bytes: int | None = None
    #: number of rows of other formats that are read at once
    batch_rows: int = BATCH_ROWS
    #: approximate number of bytes of a piece of a source; None for the default of the format
    piece_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("block_bytes", "batch_rows", "piece_bytes"):
            if (size := getattr(self, name)) is not None and size < 1:
                raise DataError(f"{name} must be at least 1, got {size}.")

    @property
    def markers(self) -> tuple[str, ...]:
        """Words for missing values in text files."""
        return ("", *self.missing) if self.only_missing else (*MISSING_WORDS, *self.missing)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns whose texts remain texts even if they spell numbers."""
        return tuple(name for name, what in self.held.items() if what in ("text", "category", "verbatim"))

    @property
    def verbatim(self) -> tuple[str, ...]:
        """Columns that are returned unchanged."""
        return tuple(name for name, what in self.held.items() if what == "verbatim")

    def markers_in(self, name: str) -> tuple[str, ...]:
        """Return the words for missing values in a column."""
        if self.held.get(name) == "verbatim":
            return ("",)
        return tuple(word for word in self.markers if word not in self.levels.get(name, ()))


class TablePart(NamedTuple):
    """Some rows of a file, and the share of it that has been read with them; None if unknown."""

    frame: Any
    share: float | None


class TableReader(ABC):
    """Base class of readers of files of a known format."""

    path: Path
    reading: Reading

    @property
    @abstractmethod
    def described(self) -> str:
        """The detected format, in a few words."""

    @abstractmethod
    def names(self) -> list[str]:
        """Names of the columns, determined without reading the rows."""

    def names_among(self, wanted: Sequence[str]) -> list[str]:
        """Return the names of the columns; rows are searched for the given ones if not all rows have the same."""
        return self.names()

    @abstractmethod
    def table(self) -> Any:
        """Return all rows as a pyarrow table."""

    def check(self) -> None:
        """Raise an error if an option names a column that does not exist."""
        declared = (*self.reading.held, *self.reading.kinds)
        names = self.names_among(declared)
        known = frozenset(names)
        for name in declared:
            if name not in known:
                raise ColumnMismatchError(f"There is no column {name!r}. {did_you_mean(name, names)}")

    @abstractmethod
    def parts(self, columns: Sequence[str]) -> Iterator[TablePart]:
        """Yield these columns as pyarrow tables with a bounded number of rows."""

    def finish(self, table: Any) -> Any:
        """Return rows with the options for missing values and columns applied."""
        table = self._replace_missing(without_views(table))
        typed = _convert_columns(table, self.reading.held, self.path)
        names = frozenset(table.column_names)
        kinds = {name: kind for name, kind in self.reading.kinds.items() if name in names}
        return with_marks(with_kinds(typed, kinds), self.reading.decimal, self.reading.dates, self.likely_decimal)

    @property
    def likely_decimal(self) -> str | None:
        """The likely decimal mark of the file; None if the format does not indicate one."""
        return None

    def _replace_missing(self, table: Any) -> Any:
        """Replace the words for missing values by null, except in columns that are returned unchanged."""
        unchanged, verbatim = table.columns, frozenset(self.reading.verbatim)
        table = replace_markers(table, self.reading.missing)
        names = enumerate(table.column_names if verbatim else ())
        return set_columns(table, {j: (name, unchanged[j]) for j, name in names if name in verbatim})


def held_types(held: Mapping[str, Held], columns: Sequence[str]) -> dict[str, Any]:
    """Return the pyarrow types in which columns with options are read from text."""
    import pyarrow as pa

    among = frozenset(columns)
    return {name: pa.float64() if what == "number" else pa.string() for name, what in held.items() if name in among}


def same_columns(names: Sequence[str], expected: Sequence[str], place: str, first: str) -> None:
    """Raise an error if the columns of a file or frame differ from those of the first."""
    remedy = "They are read as one table: give them the same columns, or leave one of them out."
    given, wanted = frozenset(names), frozenset(expected)
    if absent := [name for name in expected if name not in given]:
        raise DataError(f"{place!r} has no column {absent[0]!r}, unlike {first!r}. {remedy}")
    if extra := [name for name in names if name not in wanted]:
        raise DataError(f"{place!r} has columns that {first!r} does not have: {listed(extra)}. {remedy}")


def what_failed(failure: Exception) -> str:
    """Return the first line of another library's error message, as part of a sentence."""
    return next(iter(str(failure).strip().splitlines()), type(failure).__name__).rstrip(".")


def concatenate_tables(tables: Sequence[Any], path: Path) -> Any:
    """Concatenate tables; a column may hold whole numbers in one and fractions in another, but not text."""
    import pyarrow as pa

    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        for name in dict.fromkeys(name for table in tables for name in table.column_names):
            fields = [table.schema.field(name) for table in tables if name in table.column_names]
            try:
                pa.unify_schemas([pa.schema([field]) for field in fields], promote_options="permissive")
            except pa.ArrowException:
                types = dict.fromkeys(str(field.type) for field in fields)
                raise DataError(
                    f"Column {name!r} has different types in parts of {path.name or str(path)!r}: "
                    f"{' and '.join(types)}. Declare its kind (on the command line with --kind {name}=category)."
                ) from None
        raise


def replace_markers(table: Any, markers: Sequence[str]) -> Any:
    """Replace values that equal a word for missing values by null, in columns of any type."""
    if not markers:
        return table
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = [number for number in map(_as_number, markers) if number is not None]
    changed: dict[int, tuple[str, Any]] = {}
    for position, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            words = pa.array(markers, column.type)
        elif (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)) and numbers:
            words, column = pa.array(numbers, pa.float64()), pc.cast(column, pa.float64(), safe=False)
        else:
            continue
        original = table.column(position)
        replaced = pc.if_else(pc.is_in(column, value_set=words), pa.scalar(None, original.type), original)
        changed[position] = (name, replaced)
    return set_columns(table, changed)


def _as_number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _convert_columns(table: Any, held: Mapping[str, Held], path: Path) -> Any:
    """Convert columns to the types given by the options; decimals, which no model computes with, become floats."""
    import pyarrow as pa

    changed: dict[int, tuple[str, Any]] = {}
    for position, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if name not in held and not pa.types.is_decimal(column.type):
            continue
        try:
            changed[position] = (name, _convert_column(column, held.get(name, "number")))
        except pa.ArrowException as failure:
            what = "numbers" if held.get(name, "number") == "number" else "text"
            raise DataError(
                f"Column {name!r} of {path.name!r} must hold {what}, but does not: {what_failed(failure)}."
            ) from None
    return set_columns(table, changed)


def _convert_column(column: Any, what: Held) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if what in TYPED:
        return _convert_strings(column, what) if pa.types.is_string(column.type) else column
    if what == "number":
        plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        return column if plain or spells_numbers(column) else pc.cast(column, pa.float64())
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_floating(column.type):
        column = _as_integer_labels(column)
    strings = pc.cast(column, pa.string())
    return _with_levels(strings) if what == "category" else strings


def _with_levels(strings: Any) -> Any:
    """Convert a column to a type that declares its levels in order, so that it is not inferred as text or an
    identifier.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = pc.drop_null(pc.unique(strings)).sort()
    indices = pc.index_in(strings, value_set=levels)
    chunks = indices.chunks if isinstance(indices, pa.ChunkedArray) else [indices]
    encoded = [pa.DictionaryArray.from_arrays(chunk, levels) for chunk in chunks]
    return pa.chunked_array(encoded, type=pa.dictionary(pa.int32(), pa.string()))


def spells_numbers(column: Any, decimal: str | None = None) -> bool:
    """Return whether a pyarrow column holds strings that spell numbers in a local format, such as 1.234,5."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        return False
    detected = detect_format(pc.drop_null(pc.unique(column)).to_pylist(), decimal=decimal, plain=decimal is not None)
    return detected is not None and isinstance(detected.format, NumberFormat)


def _as_integer_labels(column: Any) -> Any:
    """Return labels that were written as numbers: 3, not 3.0; null stays null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    try:
        return pc.cast(column, pa.int64())
    except pa.ArrowInvalid:  # some are not whole, or too large for an integer
        return column


def _convert_strings(column: Any, what: Held) -> Any:
    """Convert strings to the booleans or dates that they spell.

    A column with any other string stays unchanged, and the model raises an error. The first rows of a file do not
    determine the type: only later ones may have a time of day, or a value at all.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    times = [pa.date32(), *(pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "us", "ns"))]
    for kind in {"boolean": [pa.bool_()], "date": times}.get(what, []):
        try:
            return pc.cast(column, kind)
        except pa.ArrowInvalid:
            continue
    return column
