"""Arrow files (Feather): a piece is some record batches of a file, or all of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mercer._errors import DataError
from mercer.data.readers.arrow import Arrow
from mercer.data.readers.arrow_types import types_of
from mercer.data.readers.base import Reading, what_failed
from mercer.data.sources.base import Piece
from mercer.data.sources.files.base import Files, PartOfFile, SkippedPiece, common_columns, raise_or_skip
from mercer.data.sources.files.finding import FoundFiles
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout
from mercer.data.sources.options import OpenOptions


class ArrowHeader(NamedTuple):
    """The schema of a file and its number of record batches."""

    stamp: Stamp
    types: dict[str, Any]
    #: None for a stream, which has no index
    batches: int | None


class ArrowFiles(Files):
    """Files whose types are known from their first bytes."""

    def __init__(self, files: FoundFiles, options: OpenOptions) -> None:
        super().__init__([Stamp.of(file) for file in files.files], options, "Arrow")
        self._headers: list[ArrowHeader] = []
        for stamp in self.stamps:
            try:
                self._headers.append(_read_header(stamp))
            except DataError as failure:
                self.raise_or_skip(failure)
        if not self._headers:
            raise DataError(f"None of {self.described} can be read. {self._left_out[0]}")
        self.columns = common_columns(
            [head.stamp for head in self._headers], [list(h.types) for h in self._headers], options
        )

    @cached_property
    def layout(self) -> Layout:
        types_by_place = [(repr(head.stamp.name), head.types) for head in self._headers]
        return self._options.layout(self.columns, self._options.merge_types(types_by_place, self.columns))

    @cached_property
    def n_rows(self) -> int | None:
        """Number of rows by the headers of the record batches; None for streams."""
        from pyarrow import dataset

        if any(head.batches is None for head in self._headers):
            return None
        return sum(int(dataset.dataset(head.stamp.path, format="ipc").count_rows()) for head in self._headers)

    def pieces(self) -> Iterator[Piece]:
        yield from map(SkippedPiece, self._left_out)
        for head in self._headers:
            if head.batches is None:
                yield RecordBatches(head.stamp, self.layout, 0, None)
                continue
            each = max(1, self._options.piece_bytes * head.batches // max(1, head.stamp.size))
            for first in range(0, head.batches, each):
                yield RecordBatches(head.stamp, self.layout, first, min(first + each, head.batches))


@dataclass(frozen=True)
class RecordBatches(PartOfFile):
    """Consecutive record batches of a file; all of them if `stop` is None."""

    first: int
    stop: int | None

    @property
    def name(self) -> str:
        where = "" if self.stop is None else f", record batches {self.first} to {self.stop - 1}"
        return f"{self.stamp.name!r}{where}"

    @property
    def place(self) -> str:
        return self.name

    def _tables(self, skipped: list[str]) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa

        row = 0
        with _opened(self.stamp, self.layout.names) as file:
            each = iter(file) if self.stop is None else map(file.get_batch, range(self.first, self.stop))
            number = self.first
            while True:
                try:
                    batch = next(each)
                    batch.validate(full=True)
                except StopIteration:
                    return
                except (pa.ArrowException, OSError) as failure:
                    what = f"Record batch {number}{' and all after it' if self.stop is None else ''}"
                    sentence = f"{what} of {self.stamp.name!r} cannot be read: {what_failed(failure)}."
                    raise_or_skip(self.stamp, sentence, self.layout, skipped)
                    if self.stop is None:  # the position of the next one is not known
                        return
                else:
                    yield row, pa.Table.from_batches([batch])
                    row += batch.num_rows
                number += 1


def _read_header(stamp: Stamp) -> ArrowHeader:
    with _opened(stamp) as file:
        return ArrowHeader(
            stamp,
            types_of(file.schema, repr(stamp.name)),
            getattr(file, "num_record_batches", None),
        )


@contextmanager
def _opened(stamp: Stamp, columns: Sequence[str] = ()) -> Iterator[Any]:
    if not stamp.size:
        raise DataError(f"{stamp.name!r} is empty, without column names. Remove it, or write it again.")
    # a memory map counts towards the memory limit of a process, which a large file may exceed
    with Arrow(Path(stamp.path), Reading()).opened(columns, mapped=False) as file:
        yield file
