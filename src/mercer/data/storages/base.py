"""What a table needs of the container that holds its values, and what arrays and sparse matrices have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from mercer._typing import Array
from mercer.data.coding import Coded


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

    def take_native(self, rows: Array) -> Any:
        """The rows at these positions in the library they came in."""
        ...

    def numbers(self, columns: list[int]) -> Array:
        """Columns known to be numeric as a C-ordered, writable float matrix, NaN for missing."""
        ...

    def coded(self, column: int) -> Coded: ...

    def declared_levels(self, column: int) -> Array | None: ...

    def strings(self, column: int) -> Any:
        """A column of strings as a pyarrow array; None where it is not stored like that."""
        ...

    def zone(self, column: int) -> str:
        """The time zone that the type of a column names; "" without one."""
        ...

    def days(self, column: int, zone: str) -> Array:
        """A column of dates as days since 1970 by the clock of a zone; "" for their own."""
        ...


@dataclass(frozen=True, eq=False)
class MatrixStorage:
    """Values of one type in rows and columns."""

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
        """Some columns; all of them as they are."""
        return self.values if columns == list(range(self.n_columns)) else self.values[:, columns]
