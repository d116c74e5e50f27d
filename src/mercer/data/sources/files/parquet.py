"""Parquet files: a piece is some row groups of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mercer._errors import DataError
from mercer._threads import ordered_map
from mercer.data.readers.arrow_types import is_fixed, plain, width
from mercer.data.readers.base import what_failed
from mercer.data.readers.merging import merged, types_of
from mercer.data.sources.asking import OpenOptions
from mercer.data.sources.base import Piece
from mercer.data.sources.files.base import PIECE_BYTES, Files, PartOfFile, SkippedPiece, columns_in, leave_out
from mercer.data.sources.files.finding import FoundFile
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout

#: bytes of a column that are read at once, so that a row group of any size takes little memory
BUFFER = 1 << 20
#: rows by which it is told how long the texts of a column are beside those of another
SAMPLED = 64


@dataclass(frozen=True)
class Footer:
    """The metadata of a file."""

    stamp: Stamp
    #: pyarrow types by name, those of columns in the names of folders among them
    types: dict[str, Any]
    #: rows of each row group
    groups: tuple[int, ...]
    #: bytes of a row of each column whose type does not tell: long texts take thousands
    widths: dict[str, int]
    #: columns in the names of its folders
    fixed: dict[str, Any]


class ParquetFiles(Files):
    """Files whose types and sizes are known from their last bytes."""

    def __init__(self, found: FoundFile, asked: OpenOptions) -> None:
        super().__init__([Stamp.of(file) for file in found.files], asked, "Parquet")
        fixed = _typed_partitions(found.partitions)
        read = ordered_map(_footer_or_failure, list(zip(self.stamps, fixed, strict=True)))
        for failure in (each for each in read if isinstance(each, DataError)):
            self.broken(failure)
        footers = [each for each in read if isinstance(each, Footer)]
        if not footers:
            raise DataError(f"None of {self.described} can be read. {self._left_out[0]}")
        self.columns = columns_in([footer.stamp for footer in footers], [list(f.types) for f in footers], asked)
        # an empty file has no rows to contradict the others: frames without rows often have no types either
        self._footers = [footer for footer in footers if sum(footer.groups)]
        self._typed_by = self._footers or footers

    @cached_property
    def layout(self) -> Layout:
        types = merged(
            [(repr(f.stamp.name), f.types) for f in self._typed_by],
            self.columns.read,
            self._asked.told(self.columns.read),
        )
        return self._asked.layout(self.columns, types, max(self._widths))

    @cached_property
    def _widths(self) -> list[int]:
        """Return the approximate bytes of a row of the columns that are read, for each file."""
        return [
            sum(max(width([plain(footer.types[name])]), footer.widths.get(name, 0)) for name in self.columns.read)
            for footer in self._typed_by
        ]

    @property
    def n_rows(self) -> int:
        return sum(sum(footer.groups) for footer in self._footers)

    def pieces(self) -> Iterator[Piece]:
        yield from map(SkippedPiece, self._left_out)
        for footer, row_bytes in zip(self._footers, self._widths, strict=False):  # no rows, no footers
            most = max(1, PIECE_BYTES // row_bytes)
            fixed, row = tuple(footer.fixed.items()), 0
            for first, stop in _runs(footer.groups, most):
                yield RowGroups(footer.stamp, self.layout, first, stop, row, fixed)
                row += sum(footer.groups[first:stop])


@dataclass(frozen=True)
class RowGroups(PartOfFile):
    """Consecutive row groups of a file, decoded by the thread that reads them."""

    first: int
    stop: int
    #: of the file, with which they begin
    row: int
    fixed: tuple[tuple[str, Any], ...] = ()

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
                    for table in self._sound(file, group) if self.layout.skip else self._group(file, group):
                        yield row, table
                        row += table.num_rows
                except (pa.ArrowException, OSError) as failure:
                    sentence = f"Row group {group} of {self.stamp.name!r} cannot be read: {what_failed(failure)}."
                    leave_out(self.stamp, sentence, self.layout, skipped)
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
        if missing:  # of a damaged column pyarrow gives what there is
            raise pa.ArrowInvalid(f"{missing} of its rows are missing")

    def _sound(self, file: Any, group: int) -> Iterator[Any]:
        """Return the rows of a group if it can be read completely: a model is not fitted to part of a group."""
        if file.metadata.row_group(group).num_rows * width(self.layout.types.types) <= PIECE_BYTES:
            return iter(list(self._group(file, group)))
        for _ in self._group(file, group):
            pass
        return self._group(file, group)


def _runs(groups: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Return consecutive row groups with at most a number of rows together, or single larger ones."""
    first, rows = 0, 0
    for group, more in enumerate(groups):
        if rows and rows + more > most:
            yield first, group
            first, rows = group, 0
        rows += more
    yield first, len(groups)


def _typed_partitions(partitions: Sequence[dict[str, str | None]]) -> list[dict[str, Any]]:
    """Return values in the names of folders as pyarrow scalars: whole numbers if all of them are, else strings."""
    import pyarrow as pa

    types = {}
    for name in dict.fromkeys(name for values in partitions for name in values):
        written = [values.get(name) for values in partitions]
        whole = all(value is None or value.removeprefix("-").isdecimal() for value in written)
        types[name] = pa.int64() if whole else pa.string()
    return [
        {
            name: pa.scalar(int(value) if value is not None and types[name] == pa.int64() else value, types[name])
            for name, value in values.items()
        }
        for values in partitions
    ]


def _footer_or_failure(given: tuple[Stamp, dict[str, Any]]) -> Footer | DataError:
    stamp, fixed = given
    try:
        with _opened(stamp) as file:
            types = types_of(file.schema_arrow, repr(stamp.name))
            groups = tuple(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))
            widths = _bytes_per_row(file, types)
    except DataError as failure:
        return failure
    own = {name: value for name, value in fixed.items() if name not in types}
    return Footer(stamp, types | {name: value.type for name, value in own.items()}, groups, widths, own)


def _bytes_per_row(file: Any, types: dict[str, Any]) -> dict[str, int]:
    """Return the bytes of columns without a fixed width in a row, if more than their types indicate.

    The total is that of the row groups; it is divided in the proportions of the first rows. The footer also holds the
    size of each column, but pyarrow crashes if that part of it is damaged.
    """
    groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
    total = sum(group.total_byte_size for group in groups) // max(1, sum(group.num_rows for group in groups))
    loose = {name: width([kind]) for name, kind in types.items() if not is_fixed(plain(kind))}
    beyond = total - width(map(plain, types.values()))
    if not loose or beyond <= 0:
        return {}
    first = _first_bytes(file, list(loose)) if len(loose) > 1 else dict.fromkeys(loose, 1)
    taken = beyond + sum(loose.values())
    return {name: taken * first[name] // max(1, sum(first.values())) for name in loose}


def _first_bytes(file: Any, names: list[str]) -> dict[str, int]:
    """Return the bytes of some columns in the first rows; equal numbers if these cannot be read, which a pass
    reports.
    """
    import pyarrow as pa

    try:
        batch = next(file.iter_batches(SAMPLED, columns=names, use_threads=False))
        return {name: batch.column(name).nbytes for name in names}
    except (pa.ArrowException, OSError, StopIteration):
        return dict.fromkeys(names, 1)


@contextmanager
def _opened(stamp: Stamp) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import parquet

    if not stamp.size:
        raise DataError(f"{stamp.name!r} is empty: not even the names of columns are in it. Take it away, or write it.")
    try:
        # little of a column is read ahead, or a row group would be in memory at once;
        # checksums are looked at where pages have them: a flipped bit in numbers shows in nothing else
        file = parquet.ParquetFile(stamp.path, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True)
        _ = file.schema_arrow.names  # of which some may be no text
    except (pa.ArrowException, OSError, UnicodeError) as failure:
        stamp.check()
        raise DataError(f"{stamp.name!r} cannot be read as Parquet: {what_failed(failure)}.") from None
    with file:
        yield file
