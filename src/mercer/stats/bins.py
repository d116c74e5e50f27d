"""How often the values of each column fell into given bins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mercer._errors import MergeError
from mercer._jit.stats import tally as loops
from mercer._stored import floats, reals, stored
from mercer._typing import Array
from mercer.stats.base import Statistic, as_block, as_weight, ratio, rows_left, same_shape, weight_left


@stored(edges=floats("d e", order=None), rows=reals("g d n"), counts=reals("g d n"))
@dataclass(frozen=True)
class BinCounts(Statistic):
    """`rows` and weighted `counts` of shape (groups, columns, bins); `edges` (columns, bins + 1).

    A bin holds its left edge, the last one both. Values beyond the edges count to the outermost bins.
    """

    edges: Array
    rows: Array
    counts: Array

    grouped: ClassVar[tuple[str, ...]] = ("rows", "counts")

    @classmethod
    def zero(cls, groups: int, columns: int, *, edges: Array) -> Self:
        """`edges` of one dimension hold for all columns."""
        edges = np.asarray(edges, dtype=float)
        edges = np.broadcast_to(edges, (columns, edges.shape[-1])).copy()
        shape = (groups, columns, edges.shape[1] - 1)
        return cls(edges, np.zeros(shape, dtype=np.int64), np.zeros(shape))

    @property
    def groups(self) -> int:
        return len(self.rows)

    @property
    def weight(self) -> Array:
        """Weight of what was not missing: (groups, columns)."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def mean(self) -> Array:
        """Share of each bin; 0 where nothing has been seen."""
        return ratio(self.counts, self.weight[..., None])

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.counts).all())

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        rows, counts = loops.tally_bins(as_block(x), self.edges, groups, as_weight(weight), self.groups)
        return self.merge(replace(self, rows=rows, counts=counts))

    def merge(self, other: Self) -> Self:
        self._check(other)
        return replace(self, rows=self.rows + other.rows, counts=self.counts + other.counts)

    def subtract(self, other: Self) -> Self:
        self._check(other)
        rows = rows_left(self.rows, other.rows)
        return replace(self, rows=rows, counts=weight_left(self.counts, other.counts, rows))

    def _check(self, other: Self) -> None:
        same_shape("histograms", self.rows.shape, other.rows.shape)
        if not np.array_equal(self.edges, other.edges):
            raise MergeError("cannot merge histograms with different edges; give both the same edges as `bins`.")
