"""Files with typed columns: Parquet, and Arrow IPC (Feather)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer._errors import DataError
from mercer.data.readers_base import BATCH_ROWS, Part, Reading, Rows, held_types, same_columns, what_failed

PARQUET = frozenset({".parquet", ".pq"})
ARROW = frozenset({".arrow", ".feather", ".ipc", ".arrows"})


@dataclass(frozen=True)
class Parquet(Rows):
    """A Parquet file, or a folder of them, possibly in folders by the values of some columns."""

    path: Path
    reading: Reading

    @property
    def described(self) -> str:
        return "Parquet"

    def names(self) -> list[str]:
        with self._explained():
            return [str(name) for name in self._set().schema.names]

    def table(self) -> Any:
        from pyarrow import parquet

        with self._explained():
            self._refuse_other_columns()
            table = parquet.read_table(self.path)
        return self.finished(table)

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        import pyarrow as pa

        with self._explained():
            self._refuse_other_columns()
            rows, seen = self._set(), 0
            total = max(1, rows.count_rows())
            for batch in rows.to_batches(columns=list(columns), batch_size=BATCH_ROWS):
                seen += batch.num_rows
                yield Part(self.finished(pa.Table.from_batches([batch])), seen / total)

    def _set(self) -> Any:
        from pyarrow import dataset

        return dataset.dataset(self.path, format="parquet", partitioning="hive")

    def _refuse_other_columns(self) -> None:
        """Of files in a folder: to pyarrow, what one lacks is missing in its rows, and words may be cast to numbers."""
        from mercer.data.sources.merging import merged, types_of

        first, *others = [(Path(file.path).name, file.physical_schema) for file in self._set().get_fragments()]
        for name, schema in others:
            same_columns(schema.names, first[1].names, name, first[0])
        found = [(repr(name), types_of(schema, repr(name))) for name, schema in (first, *others)]
        merged(found, first[1].names, held_types(self.reading.held, first[1].names))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, UnicodeError) as failure:  # names of columns that are no text
            raise DataError(
                f"{self.path.resolve().name!r} cannot be read as Parquet: {what_failed(failure)}."
            ) from None


@dataclass(frozen=True)
class Arrow(Rows):
    """A file of Arrow record batches: with an index of them at its end, as Feather has it, or as a stream."""

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
            table = batches.read_all()
        return self.finished(table)

    def parts(self, columns: Sequence[str]) -> Iterator[Part]:
        import pyarrow as pa

        with self.opened() as batches:
            total = getattr(batches, "num_record_batches", None)
            each = batches if total is None else map(batches.get_batch, range(total))
            for number, batch in enumerate(each, start=1):
                table = pa.Table.from_batches([batch]).select(list(columns))
                for start in range(0, table.num_rows, BATCH_ROWS):
                    yield Part(self.finished(table.slice(start, BATCH_ROWS)), None if total is None else number / total)

    @contextmanager
    def opened(self, columns: Sequence[str] = (), *, mapped: bool = True) -> Iterator[Any]:
        """Whoever reads the record batches, of some columns (none: all); mapped into memory or read when asked for."""
        import pyarrow as pa

        try:
            with (pa.memory_map if mapped else pa.OSFile)(str(self.path)) as file:
                start = file.read(6)
                file.seek(0)
                if start[:4] == b"FEA1":
                    raise DataError(f"{self.path.name!r} is of Feather's first version; write it again with pyarrow.")
                reader = pa.ipc.open_file if start == b"ARROW1" else pa.ipc.open_stream
                batches = reader(file)
                if columns:
                    file.seek(0)
                    wanted = [batches.schema.get_field_index(name) for name in columns]
                    batches = reader(file, options=pa.ipc.IpcReadOptions(included_fields=wanted))
                yield batches
        except (pa.ArrowException, OSError, UnicodeError) as failure:  # names of columns that are no text
            raise DataError(f"{self.path.name!r} cannot be read as Arrow: {what_failed(failure)}.") from None
