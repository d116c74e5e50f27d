"""Feature maps that need to see some rows only: learnt from a sample of a source, and from all rows if they are few."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._stored import flags, floats, part_of, stored
from mercer._typing import Array
from mercer.data.frame_like import frame_like
from mercer.data.sources.base import Chunk, Source
from mercer.data.table import Table
from mercer.engines.folding import fold
from mercer.models.base import is_sparse
from mercer.stats.distinct_rows import DistinctRows

#: different rows that are kept at most, and numbers in all
MOST_ROWS, MOST_NUMBERS = 100_000, 1 << 24


@stored(sample=part_of(DistinctRows, d="d"), lowest=floats("d"), highest=floats("d"), gaps=flags("d"))
class Outline(NamedTuple):
    """A sample of rows, and of all rows the least and greatest value and whether some are missing, column by column."""

    sample: DistinctRows
    lowest: Array
    highest: Array
    gaps: Array

    @classmethod
    def of(cls, most: int, chunk: Chunk) -> Self:
        """Weights are for the model that follows: in memory, feature maps are not told of them either."""
        X = Table.of(chunk.X).numbers()
        gaps = np.asarray(np.isnan(X).any(axis=0))
        lowest = np.fmin.reduce(X, axis=0, initial=np.inf)
        highest = np.fmax.reduce(X, axis=0, initial=-np.inf)
        return cls(DistinctRows.zero(X.shape[1], most=most).update(X), lowest, highest, gaps)

    def merge(self, other: Self) -> Self:
        return type(self)(
            self.sample.merge(other.sample),
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
            self.gaps | other.gaps,
        )

    def rows(self) -> Array:
        """Rows to learn from, each as often as it occurs; of a sample with rows that show how far the columns reach."""
        times = np.maximum(1, np.round(self.sample.weight * min(1.0, 10 * self.sample.most / self.sample.weight.sum())))
        rows = np.repeat(self.sample.rows, times.astype(np.intp), axis=0)
        if self.sample.complete:
            return rows
        ends = np.array([self.lowest, self.highest])
        return np.concatenate([rows, ends, np.where(self.gaps, np.nan, self.highest)[None]])


def fit_to_sample(model: Any, source: Source, fit: Callable[..., Any]) -> Any:
    """`fit(model, rows)` of a sample that no cut and no order of the rows changes; not of sparse rows."""
    first = source.head().X
    if is_sparse(first):
        return NotImplemented
    most = max(1000, min(MOST_ROWS, MOST_NUMBERS // max(1, first.shape[1])))
    rows = fold(functools.partial(Outline.of, most), source, Outline.merge).rows()
    table = Table.of(first)
    named = rows if table.column_names is None else frame_like(table.names, list(rows.T), table.library)
    fit(model, named)
    return None
