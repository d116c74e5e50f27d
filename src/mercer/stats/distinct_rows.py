"""A sample of rows that does not depend on how they are cut into blocks, nor on their order.

Every row has a number that looks random and follows from its values alone (a hash); kept are the rows with the
smallest ones, and how often each occurs. So a row is in the sample of all rows if and only if it is among the smallest
of its block, too: samples merge, and the sample of all rows is always the same. It is a uniform sample of the different
rows; with their counts as weights, of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer._stored import reals, stored
from mercer._typing import Array

#: constants of SplitMix64, which turns any bits into others that look random
GOLDEN, FIRST, SECOND = (np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@stored(rows=reals("nd"), weight=reals("n"), hashes=reals("n"))
@dataclass(frozen=True, eq=False)
class DistinctRows:
    """At most `most` different rows, in the order of their hashes, and the weight of each among all rows.

    Examples
    --------
    >>> sample = DistinctRows.zero(2, most=3).update(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0]]))
    >>> sorted(zip(sample.rows[:, 0].tolist(), sample.weight.tolist()))
    [(1.0, 2.0), (2.0, 1.0)]
    """

    most: int
    rows: Array
    weight: Array
    hashes: Array
    #: of all rows, kept or not
    seen: int

    @classmethod
    def zero(cls, columns: int, *, most: int) -> Self:
        return cls(most, np.empty((0, columns)), np.empty(0), np.empty(0, dtype=np.uint64), 0)

    def empty(self) -> Self:
        return self.zero(self.rows.shape[1], most=self.most)

    def update(self, rows: Array, weight: Array | None = None) -> Self:
        """With more rows; those of weight 0 are none."""
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        if weight is not None:
            rows, weight = rows[weight > 0], weight[weight > 0]
        return self._joined(rows, np.ones(len(rows)) if weight is None else weight, row_hashes(rows), len(rows))

    def merge(self, other: Self) -> Self:
        return self._joined(other.rows, other.weight, other.hashes, other.seen)

    def _joined(self, rows: Array, weight: Array, hashes: Array, seen: int) -> Self:
        if len(hashes) > 2 * self.most:  # most rows are not kept: only those that may be are put in order
            low = hashes <= np.partition(hashes, 2 * self.most)[2 * self.most]
            if len(np.unique(hashes[low])) >= self.most:
                rows, weight, hashes = rows[low], weight[low], hashes[low]
        hashes = np.concatenate([self.hashes, hashes])
        kept, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        weights = np.bincount(place, np.concatenate([self.weight, weight]), minlength=len(kept))[: self.most]
        chosen = np.concatenate([self.rows, rows])[first[: self.most]]
        return replace(self, rows=chosen, weight=weights, hashes=kept[: self.most], seen=self.seen + seen)

    @property
    def complete(self) -> bool:
        """Whether every different row is there."""
        return len(self.hashes) < self.most


def row_hashes(rows: Array) -> Array:
    """A number for each row that looks random, the same for equal rows."""
    bits = np.where(rows == 0, 0.0, np.where(np.isnan(rows), np.nan, rows)).view(np.uint64)
    total = np.zeros(len(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in bits.T:
            total = _mixed(total + GOLDEN + column)
    return total


def _mixed(bits: Array) -> Array:
    bits = (bits ^ (bits >> np.uint64(30))) * FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * SECOND
    return np.asarray(bits ^ (bits >> np.uint64(31)))
