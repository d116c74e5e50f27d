"""Parquet files, and folders of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer._errors import DataError
from mercer.data.readers.arrow_types import merge_types, types_of
from mercer.data.readers.base import (
    TYPED,
    Reading,
    TablePart,
    TableReader,
    held_types,
    same_columns,
    what_failed,
)

PARQUET = frozenset({".parquet", ".pq"})


@dataclass(frozen=True)
class Parquet(TableReader):
    """Reader of a Parquet file, or of a folder of them, whose subfolders may stand for the values of some columns."""

    path: Path
    reading: Reading

    @property
    def described(self) -> str:
        return "Parquet"

    def names(self) -> list[str]:
        with self._explained():
            return [str(name) for name in self._dataset().schema.names]

    def table(self) -> Any:
        from pyarrow import parquet

        with self._explained():
            self._check_same_columns()
            return self.finish(parquet.read_table(self.path))

    def parts(self, columns: Sequence[str]) -> Iterator[TablePart]:
        import pyarrow as pa

        with self._explained():
            self._check_same_columns()
            rows, rows_read = self._dataset(), 0
            total = max(1, rows.count_rows())
            for batch in rows.to_batches(columns=list(columns), batch_size=self.reading.batch_rows):
                rows_read += batch.num_rows
                yield TablePart(self.finish(pa.Table.from_batches([batch])), rows_read / total)

    def _dataset(self) -> Any:
        from pyarrow import dataset

        return dataset.dataset(self.path, format="parquet", partitioning="hive")

    def _check_same_columns(self) -> None:
        """Raise an error if the files of a folder have different columns; pyarrow would add missing values or cast
        words to numbers.
        """
        first, *others = [(Path(file.path).name, file.physical_schema) for file in self._dataset().get_fragments()]
        for name, schema in others:
            same_columns(schema.names, first[1].names, name, first[0])
        types_by_place = [(repr(name), types_of(schema, repr(name))) for name, schema in (first, *others)]
        held = {name: what for name, what in self.reading.held.items() if what not in TYPED}
        merge_types(types_by_place, first[1].names, held_types(held, first[1].names))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (
            pa.ArrowException,
            OSError,
            UnicodeError,
        ) as failure:  # UnicodeError: names of columns that are not text
            raise DataError(
                f"{self.path.resolve().name!r} cannot be read as Parquet: {what_failed(failure)}."
            ) from None
