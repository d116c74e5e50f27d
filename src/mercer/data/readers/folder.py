"""Folders of files with the same columns, read as one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer.data.readers.base import Reading, TablePart, TableReader, concatenate_tables, same_columns


@dataclass(frozen=True)
class Folder(TableReader):
    """Reader of the files of a folder in the order of their names, with the same options."""

    path: Path
    reading: Reading
    files: tuple[TableReader, ...]

    @property
    def described(self) -> str:
        return f"{len(self.files)} files, {self.files[0].described}"

    def names(self) -> list[str]:
        first, *others = self.files
        names = first.names()
        for other in others:
            same_columns(other.names(), names, other.path.name, first.path.name)
        return names

    def table(self) -> Any:
        names = self.names()
        return concatenate_tables([file.table().select(names) for file in self.files], self.path)

    def parts(self, columns: Sequence[str]) -> Iterator[TablePart]:
        self.names()
        for number, file in enumerate(self.files):
            for frame, share in file.parts(columns):
                yield TablePart(frame, (number + (1.0 if share is None else share)) / len(self.files))
