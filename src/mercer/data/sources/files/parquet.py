"""Parquet files: a piece is some row groups of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mercer._errors import DataError
from mercer._threads import ordered_map
from mercer.data.readers.arrow_types import has_fixed_width, plain_type, row_bytes, types_of
from mercer.data.readers.base import what_failed
from mercer.data.sources.base import PIECE_BYTES, Piece
from mercer.data.sources.files.base import Files, PartOfFile, SkippedPiece, common_columns, raise_or_skip
from mercer.data.sources.files.finding import FoundFiles
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout
from mercer.data.sources.options import OpenOptions

#: bytes of a column that are read at once, so that a row group of any size takes little memory
COLUMN_BUFFER_BYTES = 1 << 20
#: number of first rows by which the lengths of the texts of several columns are compared
LENGTH_SAMPLE_ROWS = 64


@dataclass(frozen=True)
class ParquetFooter:
    """The metadata of a file."""

    stamp: Stamp
    #: pyarrow types by name, including those of columns in the names of folders
    types: dict[str, Any]
    #: number of rows of each row group
    groups: tuple[int, ...]
    #: bytes per row of each column without a fixed width: long texts take thousands
    widths: dict[str, int]
    #: values of the columns in the names of its folders
    fixed: dict[str, Any]


class ParquetFiles(Files):
    """Files whose types and sizes are known from their last bytes."""

    def __init__(self, files: FoundFiles, options: OpenOptions) -> None:
        super().__init__([Stamp.of(file) for file in files.files], options, "Parquet")
        fixed = _typed_partitions(files.partitions)
        read = ordered_map(_footer_or_failure, list(zip(self.stamps, fixed, strict=True)))
        for failure in (each for each in read if isinstance(each, DataError)):
            self.raise_or_skip(failure)
        footers = [each for each in read if isinstance(each, ParquetFooter)]
        if not footers:
            raise DataError(f"None of {self.described} can be read. {self._left_out[0]}")
        self.columns = common_columns([footer.stamp for footer in footers], [list(f.types) for f in footers], options)
        # files without rows are ignored, since frames without rows often have no types either
        self._footers = [footer for footer in footers if sum(footer.groups)]
        self._typed_by = self._footers or footers

    @cached_property
    def layout(self) -> Layout:
        types_by_place = [(repr(footer.stamp.name), footer.types) for footer in self._typed_by]
        types = self._options.merge_types(types_by_place, self.columns)
        return self._options.layout(self.columns, types, max(self._widths))

    @cached_property
    def _widths(self) -> list[int]:
        """The approximate bytes of a row of the columns that are read, for each file."""
        return [
            sum(
                max(row_bytes([plain_type(footer.types[name])]), footer.widths.get(name, 0))
                for name in self.columns.read
            )
            for footer in self._typed_by
        ]

    @property
    def n_rows(self) -> int:
        return sum(sum(footer.groups) for footer in self._footers)

    def pieces(self) -> Iterator[Piece]:
        yield from map(SkippedPiece, self._left_out)
        for footer, bytes_per_row in zip(self._footers, self._widths, strict=False):
            most = max(1, self._options.piece_bytes // bytes_per_row)
            fixed, row = tuple(footer.fixed.items()), 0
            for first, stop in _runs(footer.groups, most):
                yield RowGroups(footer.stamp, self.layout, first, stop, row, fixed, self._options.piece_bytes)
                row += sum(footer.groups[first:stop])


@dataclass(frozen=True)
class RowGroups(PartOfFile):
    """Consecutive row groups of a file, decoded by the thread that reads them."""

    first: int
    stop: int
    #: number of the first row in the file
    row: int
    #: values of the columns in the names of the folders
    fixed: tuple[tuple[str, Any], ...] = ()
    #: bytes of decoded values up to which a group is kept in memory while it is checked
    piece_bytes: int = PIECE_BYTES

    @property
    def name(self) -> str:
        last = self.stop - 1
        groups = f"row group {last}" if last == self.first else f"row groups {self.first} to {last}"
        return f"{self.stamp.name!r}, {groups}"

    def _tables(self, skipped: list[str]) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa

        with _opened(self.stamp) as file:
            row = self.row
            for group in range(self.first, self.stop):
                try:
                    for table in self._checked_group(file, group) if self.layout.skip else self._group(file, group):
                        yield row, table
                        row += table.num_rows
                except (pa.ArrowException, OSError) as failure:
                    sentence = f"Row group {group} of {self.stamp.name!r} cannot be read: {what_failed(failure)}."
                    raise_or_skip(self.stamp, sentence, self.layout, skipped)
                    row += file.metadata.row_group(group).num_rows

    def _group(self, file: Any, group: int) -> Iterator[Any]:
        import pyarrow as pa

        fixed = dict(self.fixed)
        stored = [name for name in self.layout.names if name not in fixed]
        batches = file.iter_batches(self.layout.rows, row_groups=[group], columns=stored, use_threads=False)
        missing = file.metadata.row_group(group).num_rows
        for batch in batches:
            missing -= batch.num_rows
            table = pa.Table.from_batches([batch])
            for name, value in self.fixed:
                if name in self.layout.names:
                    table = table.append_column(name, pa.repeat(value, batch.num_rows))
            yield table
        if missing:  # pyarrow returns the undamaged rows without an error
            raise pa.ArrowInvalid(f"{missing} of its rows are missing")

    def _checked_group(self, file: Any, group: int) -> Iterator[Any]:
        """Return the rows of a group if it can be read completely: a model is not fitted to part of a group."""
        if file.metadata.row_group(group).num_rows * row_bytes(self.layout.types.types) <= self.piece_bytes:
            return iter(list(self._group(file, group)))
        for _ in self._group(file, group):
            pass
        return self._group(file, group)


def _runs(groups: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of consecutive row groups that have at most `most` rows together, or of single larger ones."""
    first, rows = 0, 0
    for group, more in enumerate(groups):
        if rows and rows + more > most:
            yield first, group
            first, rows = group, 0
        rows += more
    yield first, len(groups)


def _typed_partitions(partitions: Sequence[dict[str, str | None]]) -> list[dict[str, Any]]:
    """Return the values in the names of folders as pyarrow scalars: integers if all are whole numbers, else strings."""
    import pyarrow as pa

    types = {}
    for name in dict.fromkeys(name for values in partitions for name in values):
        written = [values.get(name) for values in partitions]
        is_whole = all(value is None or value.removeprefix("-").isdecimal() for value in written)
        types[name] = pa.int64() if is_whole else pa.string()
    return [
        {
            name: pa.scalar(int(value) if value is not None and types[name] == pa.int64() else value, types[name])
            for name, value in values.items()
        }
        for values in partitions
    ]


def _footer_or_failure(given: tuple[Stamp, dict[str, Any]]) -> ParquetFooter | DataError:
    stamp, fixed = given
    try:
        with _opened(stamp) as file:
            types = types_of(file.schema_arrow, repr(stamp.name))
            groups = tuple(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))
            widths = _bytes_per_row(file, types)
    except DataError as failure:
        return failure
    own = {name: value for name, value in fixed.items() if name not in types}
    return ParquetFooter(stamp, types | {name: value.type for name, value in own.items()}, groups, widths, own)


def _bytes_per_row(file: Any, types: dict[str, Any]) -> dict[str, int]:
    """Return the bytes per row of the columns without a fixed width, if these are more than their types indicate.

    The total follows from the sizes of the row groups, and is divided in the proportions of the first rows. The footer
    also has the size of each column, but pyarrow crashes if that part of it is damaged.
    """
    groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
    total = sum(group.total_byte_size for group in groups) // max(1, sum(group.num_rows for group in groups))
    variable = {name: row_bytes([kind]) for name, kind in types.items() if not has_fixed_width(plain_type(kind))}
    beyond = total - row_bytes(map(plain_type, types.values()))
    if not variable or beyond <= 0:
        return {}
    first = _first_bytes(file, list(variable)) if len(variable) > 1 else dict.fromkeys(variable, 1)
    variable_bytes = beyond + sum(variable.values())
    return {name: variable_bytes * first[name] // max(1, sum(first.values())) for name in variable}


def _first_bytes(file: Any, names: list[str]) -> dict[str, int]:
    """Return the bytes of some columns in the first rows; equal numbers if the rows cannot be read."""
    import pyarrow as pa

    try:
        batch = next(file.iter_batches(LENGTH_SAMPLE_ROWS, columns=names, use_threads=False))
        return {name: batch.column(name).nbytes for name in names}
    except (pa.ArrowException, OSError, StopIteration):
        return dict.fromkeys(names, 1)


@contextmanager
def _opened(stamp: Stamp) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    if not stamp.size:
        raise DataError(f"{stamp.name!r} is empty, without column names. Remove it, or write it again.")
    try:
        # a small buffer, so that a row group is not in memory at once; the checksums of pages, if they have some, are
        # the only evidence of a flipped bit in a number
        file = parquet.ParquetFile(
            stamp.path, buffer_size=COLUMN_BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
        )
        _ = file.schema_arrow.names  # raises an error if a name is not text
    except (pa.ArrowException, OSError, UnicodeError) as failure:
        stamp.check()
        raise DataError(f"{stamp.name!r} cannot be read as Parquet: {what_failed(failure)}.") from None
    with file:
        yield file
