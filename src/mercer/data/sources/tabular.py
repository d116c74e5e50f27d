"""Sources whose rows come as pyarrow tables: files, databases, streams of frames."""

from __future__ import annotations

from abc import abstractmethod

from mercer.data.schema import Schema
from mercer.data.sources.base import Source
from mercer.data.sources.layout import Layout
from mercer.data.table import Table


class TabularSource(Source):
    """Every column has one type, wherever its values come from."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The layout by which tables become chunks; inferring it may take a pass over files of text."""

    @property
    def schema(self) -> Schema:
        empty = self.layout.types.empty_table().select(list(self.columns.features))
        return Schema.of(Table.of(empty, dates=True))
