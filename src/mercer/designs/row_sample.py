"""Rows drawn at random from a source, a bounded number of them, whatever blocks it comes in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from mercer._stored import stored, whole
from mercer._typing import Array

#: blocks from which on they are joined
MANY = 64


def _count_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _rows_agree(sample: RowSample) -> bool:
    """Whether each block has as many keys as rows."""
    return all(keys.ndim == 1 and all(_count_rows(X) == len(keys) for X in columns) for keys, columns in sample.blocks)


@stored(_rows_agree, most=whole(1))
@dataclass(frozen=True, eq=False)
class RowSample:
    """The rows with the smallest of random keys, about `most` of them; two samples merge to one of all rows.

    Up to twice as many are held, so that they seldom have to be thinned out.

    Examples
    --------
    >>> numbers = np.arange(6.0)
    >>> sample = RowSample.drawn(2, np.array([0.5, 0.1, 0.9, 0.8, 0.2, 0.7]), lambda rows: (numbers[rows],))
    >>> sample.columns()
    (array([1., 4.]),)
    """

    most: int
    #: keys of rows, and what is known of these rows, array by array
    blocks: tuple[tuple[Array, tuple[Any, ...]], ...]

    @classmethod
    def drawn(cls, most: int, keys: Array, take: Callable[[Array], tuple[Any, ...]]) -> Self:
        """From rows with these keys; `take` gives what is known of some of them."""
        rows = np.arange(len(keys))
        if len(keys) > most:
            rows = np.sort(np.argpartition(keys, most)[:most])
        return cls(most, ((keys[rows], take(rows)),))

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self.blocks)

    def merge(self, other: Self) -> Self:
        both = replace(self, blocks=self.blocks + other.blocks)
        if len(both) > 2 * self.most:
            both = both._thinned()
        return both._joined() if len(both.blocks) > MANY else both

    def _thinned(self) -> Self:
        if len(self) <= self.most:
            return self
        highest = np.partition(np.concatenate([keys for keys, _ in self.blocks]), self.most - 1)[self.most - 1]
        return replace(self, blocks=tuple(_up_to(highest, *block) for block in self.blocks))

    def _joined(self) -> Self:
        keys = np.concatenate([keys for keys, _ in self.blocks])
        columns = zip(*(columns for _, columns in self.blocks), strict=True)
        return replace(self, blocks=((keys, tuple(map(_stacked, columns))),))

    def columns(self) -> tuple[Any, ...]:
        """What is known of at most `most` rows."""
        return self._thinned()._joined().blocks[0][1]


def _up_to(highest: float, keys: Array, columns: tuple[Any, ...]) -> tuple[Array, tuple[Any, ...]]:
    rows = np.flatnonzero(keys <= highest)
    return (keys, columns) if len(rows) == len(keys) else (keys[rows], tuple(column[rows] for column in columns))


def _stacked(parts: tuple[Any, ...]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
