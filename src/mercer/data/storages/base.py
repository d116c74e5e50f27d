"""Interface of the containers behind a table, and the base class of arrays and sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from mercer._typing import Array
from mercer.data.coding import Coded


class Storage(Protocol):
    """Rows and columns by position, independent of the library of the data."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_columns(self) -> int: ...

    @property
    def library(self) -> str:
        """Name of the library of the data: numpy, scipy, pandas, polars, pyarrow, …"""
        ...

    @property
    def native(self) -> Any:
        """The rows in the library of the data."""
        ...

    def rows(self, start: int, stop: int) -> Self: ...

    def take(self, rows: Array) -> Self: ...

    def take_native(self, rows: Array) -> Any:
        """Return the rows at these positions in the library of the data."""
        ...

    def numbers(self, columns: list[int]) -> Array:
        """Return numeric columns as a C-ordered, writable float matrix, NaN for missing."""
        ...

    def coded(self, column: int) -> Coded: ...

    def declared_levels(self, column: int) -> Array | None: ...

    def strings(self, column: int) -> Any:
        """Return a column of strings as a pyarrow array; None if it is not stored so."""
        ...

    def zone(self, column: int) -> str:
        """Return the time zone of the type of a column, or ""."""
        ...

    def days(self, column: int, zone: str) -> Array:
        """Return a column of dates as days since 1970 in a time zone; "" for their own."""
        ...


@dataclass(frozen=True, eq=False)
class MatrixStorage:
    """Base class of matrices with values of one type."""

    values: Any

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.values.shape[1])

    @property
    def native(self) -> Any:
        return self.values

    def take(self, rows: Array) -> Self:
        return type(self)(self.values[rows])

    def take_native(self, rows: Array) -> Any:
        return self.values[rows]

    def declared_levels(self, column: int) -> Array | None:
        return np.array([False, True]) if self.values.dtype.kind == "b" else None

    def strings(self, column: int) -> None:
        return None

    def zone(self, column: int) -> str:
        return ""

    def _columns(self, columns: list[int]) -> Any:
        """Return some columns; all of them without a copy."""
        return self.values if columns == list(range(self.n_columns)) else self.values[:, columns]
