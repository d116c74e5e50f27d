"""Files of Arrow record batches: IPC, Feather."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer._errors import DataError
from mercer.data.readers.base import Reading, TablePart, TableReader, what_failed

ARROW = frozenset({".arrow", ".feather", ".ipc", ".arrows"})


@dataclass(frozen=True)
class Arrow(TableReader):
    """Reader of record batches: a file with an index at its end, as in Feather files, or a stream."""

    path: Path
    reading: Reading

    @property
    def described(self) -> str:
        return "Arrow"

    def names(self) -> list[str]:
        with self.opened() as batches:
            return [str(name) for name in batches.schema.names]

    def table(self) -> Any:
        with self.opened() as batches:
            return self.finish(batches.read_all())

    def parts(self, columns: Sequence[str]) -> Iterator[TablePart]:
        import pyarrow as pa

        with self.opened() as batches:
            total = getattr(batches, "num_record_batches", None)
            each = batches if total is None else map(batches.get_batch, range(total))
            for number, batch in enumerate(each, start=1):
                table = pa.Table.from_batches([batch]).select(list(columns))
                for start in range(0, table.num_rows, self.reading.batch_rows):
                    rows = self.finish(table.slice(start, self.reading.batch_rows))
                    yield TablePart(rows, None if total is None else number / total)

    @contextmanager
    def opened(self, columns: Sequence[str] = (), *, mapped: bool = True) -> Iterator[Any]:
        """Open a reader of the record batches of some columns (none: all), mapped into memory or read on demand."""
        import pyarrow as pa

        try:
            with (pa.memory_map if mapped else pa.OSFile)(str(self.path)) as file:
                start = file.read(6)
                file.seek(0)
                if start[:4] == b"FEA1":
                    raise DataError(
                        f"{self.path.name!r} has version 1 of the Feather format; write it again with pyarrow."
                    )
                reader = pa.ipc.open_file if start == b"ARROW1" else pa.ipc.open_stream
                batches = reader(file)
                if columns:
                    file.seek(0)
                    wanted = [batches.schema.get_field_index(name) for name in columns]
                    batches = reader(file, options=pa.ipc.IpcReadOptions(included_fields=wanted))
                yield batches
        except (
            pa.ArrowException,
            OSError,
            UnicodeError,
        ) as failure:  # UnicodeError: names of columns that are not text
            raise DataError(f"{self.path.name!r} cannot be read as Arrow: {what_failed(failure)}.") from None
