"""What a table needs of the container that holds its values."""

from __future__ import annotations

from typing import Any, Protocol, Self

from numpy.typing import NDArray

from mercer.data.coding import Coded

Array = NDArray[Any]


class Storage(Protocol):
    """Rows and columns by position, in whatever library they came."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def library(self) -> str:
        """Name of the library the data came in: numpy, scipy, pandas, polars, pyarrow, …"""
        ...

    @property
    def native(self) -> Any:
        """The rows in the library they came in."""
        ...

    def rows(self, start: int, stop: int) -> Self: ...

    def take(self, rows: Array) -> Self: ...

    def numbers(self, columns: list[int]) -> Array:
        """Columns known to be numeric as a C-ordered, writable float matrix, NaN for missing."""
        ...

    def coded(self, column: int) -> Coded: ...

    def declared_levels(self, column: int) -> Array | None: ...
