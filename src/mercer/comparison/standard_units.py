"""Columns of any kind as numbers that can be compared: for models that measure distances between rows."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from mercer.data import Table

Array = NDArray[Any]


class StandardUnits(TransformerMixin, BaseEstimator):
    """Numbers in standard deviations from their mean; categories as a column of 0 and 1 for each level.

    Two rows of different levels are then as far apart as two numbers are on average. There must be no gaps; a level
    that no training row has is 0 in all columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> StandardUnits().fit_transform(pa.table({"age": [20.0, 40.0], "city": ["Rome", "Oslo"]}))
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means, deviations and levels."""
        table = Table.of(X)
        self.columns_: list[Scale | Indicators] = [
            Scale.of(table, j) if kind.numeric else Indicators.of(table, j) for j, kind in enumerate(table.kinds)
        ]
        return self

    def transform(self, X: Any) -> Array:
        """A matrix of numbers."""
        table = Table.of(X)
        return np.hstack([column.numbers(table, j) for j, column in enumerate(self.columns_)])


class Scale(NamedTuple):
    """Mean and standard deviation of a column of numbers; a constant one is only centred."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, table: Table, column: int) -> Self:
        values = table.numbers([column])
        if values.size == 0 or values.min() == values.max():  # which a deviation with its roundings need not show
            return cls(float(values[0, 0]) if values.size else 0.0, 1.0)
        # a power of two, so that no square leaves the range of floats and no digit is lost
        size = float(np.ldexp(1.0, np.frexp(np.abs(values).max())[1] - 1))
        return cls(size * float((values / size).mean()), size * float((values / size).std()))

    def numbers(self, table: Table, column: int) -> Array:
        return np.asarray((table.numbers([column]) - self.mean) / self.deviation)


class Indicators(NamedTuple):
    """The levels of a category, sorted."""

    levels: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, column: int) -> Self:
        codes, labels = table.coded(column)
        return cls(tuple(sorted({str(labels[code]) for code in np.unique(codes[codes >= 0])})))

    def numbers(self, table: Table, column: int) -> Array:
        codes, labels = table.coded(column)
        of_labels = np.array([[str(label) == level for level in self.levels] for label in labels.tolist()], dtype=float)
        nowhere = np.zeros((1, len(self.levels)))  # which is where the code −1 of a gap points
        return np.asarray(np.vstack([of_labels.reshape(-1, len(self.levels)), nowhere])[codes])
