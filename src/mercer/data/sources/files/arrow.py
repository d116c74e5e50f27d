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
from mercer.data.readers.base import Reading, what_failed
from mercer.data.readers.merging import merged, types_of
from mercer.data.sources.asking import OpenOptions
from mercer.data.sources.base import Piece
from mercer.data.sources.files.base import PIECE_BYTES, Files, PartOfFile, SkippedPiece, columns_in, leave_out
from mercer.data.sources.files.finding import FoundFile
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout


class Head(NamedTuple):
    """The schema and sizes in a file."""

    stamp: Stamp
    types: dict[str, Any]
    #: record batches; None of a stream, which has no list of them
    batches: int | None


class ArrowFiles(Files):
    """Files whose types are known from their first bytes."""

    def __init__(self, found: FoundFile, asked: OpenOptions) -> None:
        super().__init__([Stamp.of(file) for file in found.files], asked, "Arrow")
        self._heads: list[Head] = []
        for stamp in self.stamps:
            try:
                self._heads.append(_head(stamp))
            except DataError as failure:
                self.broken(failure)
        if not self._heads:
            raise DataError(f"None of {self.described} can be read. {self._left_out[0]}")
        self.columns = columns_in([head.stamp for head in self._heads], [list(h.types) for h in self._heads], asked)

    @cached_property
    def layout(self) -> Layout:
        found = [(repr(head.stamp.name), head.types) for head in self._heads]
        return self._asked.layout(self.columns, merged(found, self.columns.read, self._asked.told(self.columns.read)))

    @cached_property
    def n_rows(self) -> int | None:
        """Number of rows by the headers of the record batches; None for streams."""
        from pyarrow import dataset

        if any(head.batches is None for head in self._heads):
            return None
        return sum(int(dataset.dataset(head.stamp.path, format="ipc").count_rows()) for head in self._heads)

    def pieces(self) -> Iterator[Piece]:
        yield from map(SkippedPiece, self._left_out)
        for head in self._heads:
            if head.batches is None:
                yield RecordBatches(head.stamp, self.layout, 0, None)
                continue
            each = max(1, PIECE_BYTES * head.batches // max(1, head.stamp.size))
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
                    leave_out(self.stamp, sentence, self.layout, skipped)
                    if self.stop is None:  # where the next one would begin is not known
                        return
                else:
                    yield row, pa.Table.from_batches([batch])
                    row += batch.num_rows
                number += 1


def _head(stamp: Stamp) -> Head:
    with _opened(stamp) as file:
        return Head(
            stamp,
            types_of(file.schema, repr(stamp.name)),
            getattr(file, "num_record_batches", None),
        )


@contextmanager
def _opened(stamp: Stamp, columns: Sequence[str] = ()) -> Iterator[Any]:
    if not stamp.size:
        raise DataError(f"{stamp.name!r} is empty: not even the names of columns are in it. Take it away, or write it.")
    # what is mapped counts as memory, and a file larger than that can be forbidden
    with Arrow(Path(stamp.path), Reading()).opened(columns, mapped=False) as file:
        yield file
