"""Sources over datasets of pyarrow on any of its file systems: a piece is a file or a row group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from mercer.data.readers.arrow_types import row_bytes
from mercer.data.readers.base import what_failed
from mercer.data.sources.base import Piece
from mercer.data.sources.files.base import Files, PartOfFile, raise_or_skip
from mercer.data.sources.files.stamps import Stamp
from mercer.data.sources.layout import Layout
from mercer.data.sources.options import OpenOptions
from mercer.data.sources.streams import RepeatedStream
from mercer.data.sources.tabular import TabularSource


def of_dataset(dataset: Any, options: OpenOptions) -> TabularSource:
    """Return a dataset of files as a source; other datasets, or those with a filter, are read in one pass."""
    from pyarrow import dataset as datasets

    try:
        if isinstance(dataset, datasets.FileSystemDataset):
            return DatasetFiles(dataset, list(dataset.get_fragments()), options)
    except ValueError:  # the dataset has a filter, which pyarrow applies only to the whole
        pass
    return RepeatedStream(partial(_reader, dataset, options.rows), options)


def _reader(dataset: Any, rows: int | None) -> Any:
    return dataset.scanner(**({} if rows is None else {"batch_size": rows})).to_reader()


class DatasetFiles(Files):
    """The files of a dataset, with its schema."""

    def __init__(self, dataset: Any, fragments: list[Any], options: OpenOptions) -> None:
        super().__init__([Stamp.of(each.path, each.filesystem) for each in fragments], options, "dataset")
        self._dataset, self._fragments = dataset, fragments
        self.columns = options.columns(list(dataset.schema.names))

    @cached_property
    def layout(self) -> Layout:
        schema = self._dataset.schema
        return self._options.layout(self.columns, {name: schema.field(name).type for name in self.columns.read})

    @cached_property
    def n_rows(self) -> int | None:
        """Number of rows if the files state it, so that they need not be read."""
        from pyarrow import dataset as datasets

        has_counts = isinstance(self._dataset.format, datasets.ParquetFileFormat | datasets.IpcFileFormat)
        return int(self._dataset.count_rows()) if has_counts else None

    def pieces(self) -> Iterator[Piece]:
        most = self._options.piece_bytes // row_bytes(self.layout.types.types)
        for stamp, fragment in zip(self.stamps, self._fragments, strict=True):
            groups = getattr(fragment, "num_row_groups", None)
            parts = fragment.split_by_row_group() if groups and fragment.metadata.num_rows > most else [fragment]
            for part in parts:
                yield FragmentPiece(stamp, self.layout, part, self._dataset.schema)


@dataclass(frozen=True, eq=False)
class FragmentPiece(PartOfFile):
    """A file of a dataset, or a row group of one."""

    fragment: Any
    schema: Any

    @property
    def name(self) -> str:
        groups = [group.id for group in getattr(self.fragment, "row_groups", None) or ()]
        return f"{self.stamp.name!r}, row group {groups[0]}" if len(groups) == 1 else repr(self.stamp.name)

    @property
    def place(self) -> str:
        return self.name

    def _tables(self, skipped: list[str]) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa

        row = 0
        try:
            for batch in self.fragment.to_batches(
                schema=self.schema,
                columns=self.layout.names,
                batch_size=self.layout.rows,
                batch_readahead=1,
                use_threads=False,
                **self._scan_options(),
            ):
                yield row, pa.Table.from_batches([batch])
                row += batch.num_rows
        except (pa.ArrowException, OSError) as failure:
            what = self.name if row == 0 else f"{self.name} from row {row} on"
            raise_or_skip(self.stamp, f"{what} cannot be read: {what_failed(failure)}.", self.layout, skipped)

    def _scan_options(self) -> dict[str, Any]:
        """Return options that keep little of a row group in memory and verify the checksums of pages."""
        from pyarrow import dataset as datasets

        if not isinstance(self.fragment, datasets.ParquetFileFragment):
            return {}
        options = datasets.ParquetFragmentScanOptions(
            use_buffered_stream=True, pre_buffer=False, page_checksum_verification=True
        )
        return {"fragment_scan_options": options}
