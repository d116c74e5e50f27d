"""A kernel matrix that is in memory, with the face of one that is made tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from mercer._jit.kernels.rows import add_rows
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.kernels.gram import SIDE

T = TypeVar("T")


class GivenMatrix:
    """k(X, Z), or k(X, X), as numbers: what `Gram` is for a kernel and its rows.

    Examples
    --------
    >>> GivenMatrix(np.eye(3)).part([0, 2]).times(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    def __init__(self, matrix: Array) -> None:
        self._matrix = np.ascontiguousarray(matrix)

    @property
    def shape(self) -> tuple[int, int]:
        return self._matrix.shape[0], self._matrix.shape[1]

    @property
    def dtype(self) -> Any:
        return self._matrix.dtype

    @property
    def diagonal(self) -> Array:
        return np.asarray(np.diagonal(self._matrix), dtype=float)

    def exact(self) -> GivenMatrix:
        """Itself: the matrix is as exact as it was given."""
        return self

    def part(self, rows: Any, columns: Any = None) -> GivenMatrix:
        """The matrix of some rows and columns, by their numbers; without columns, of the rows with themselves."""
        return GivenMatrix(self._matrix[np.ix_(rows, rows if columns is None else columns)])

    def rows(self, numbers: Any) -> Array:
        """Some rows, by their numbers."""
        return np.asarray(self._matrix[numbers])

    def tile(self, rows: Any, columns: slice) -> Array:
        """Some rows, by a slice or their numbers, of some columns."""
        return np.asarray(self._matrix[:, columns][rows])

    def lower(self, use: Callable[[slice, slice, Array], T]) -> Iterator[T]:
        """What is made of the tiles on and below the diagonal, in order; they are views."""
        cuts = row_blocks(len(self._matrix), SIDE)
        for rows in cuts:
            for columns in cuts[: rows.start // SIDE + 1]:
                yield use(rows, columns, self._matrix[rows, columns])

    def put_rows(self, numbers: Array, kept: Array, slots: Array) -> None:
        """Rows by their numbers into the slots of an array."""
        kept[slots] = self._matrix[numbers]

    def add_rows(self, numbers: Array, factors: Array, total: Array) -> None:
        """Add Σ factor · row to a total of float64, for rows by their numbers."""
        add_rows(total, 0, len(total), self._matrix, numbers, factors)

    def times(self, v: Array) -> Array:
        """The matrix times a vector, of float64."""
        return np.asarray(self._matrix @ np.asarray(v, dtype=float))
