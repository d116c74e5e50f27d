"""Tables for models that take neither gaps nor levels they have not seen."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from mercer.data import Table

Array = NDArray[Any]

#: what a category that was not written down is taken for
MISSING = "(missing)"


class Completed(TransformerMixin, BaseEstimator):
    """Fills gaps from what the training rows show: numbers by means, categories by a level of their own.

    A level that no training row has is taken for the most frequent one.

    Examples
    --------
    >>> Completed().fit([[1.0, 4.0], [3.0, np.nan]]).transform([[np.nan, 5.0]])
    array([[2., 5.]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means and levels."""
        table = Table.of(X)
        self.columns_: list[Mean | Levels] = [
            Mean.of(table, j) if kind.numeric else Levels.of(table, j) for j, kind in enumerate(table.kinds)
        ]
        return self

    def transform(self, X: Any) -> Any:
        """The same columns without gaps, in a container of the same library."""
        table = Table.of(X)
        return table.like(
            {
                name: column.filled(table, j)
                for j, (name, column) in enumerate(zip(table.names, self.columns_, strict=True))
            }
        )


class Mean(NamedTuple):
    """Of a column of numbers; 0 where it has none."""

    value: float

    @classmethod
    def of(cls, table: Table, column: int) -> Self:
        values = table.numbers([column])
        there = values[~np.isnan(values)]
        return cls(float(there.mean()) if there.size else 0.0)

    def filled(self, table: Table, column: int) -> Array:
        values = table.numbers([column])[:, 0]
        return np.where(np.isnan(values), self.value, values)


class Levels(NamedTuple):
    """Those of a category, and the most frequent of them."""

    known: frozenset[str]
    usual: str

    @classmethod
    def of(cls, table: Table, column: int) -> Self:
        levels, counts = np.unique(_written(table, column), return_counts=True)
        return cls(frozenset(levels.tolist()), str(levels[counts.argmax()]))

    def filled(self, table: Table, column: int) -> Array:
        levels = _written(table, column)
        return np.array([level if level in self.known else self.usual for level in levels.tolist()], dtype=object)


def _written(table: Table, column: int) -> Array:
    """Labels as text, with a word for those that are missing."""
    codes, labels = table.coded(column)
    return np.array([*map(str, labels.tolist()), MISSING], dtype=object)[codes]
