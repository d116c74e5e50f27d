"""A mergeable sample of distinct rows that depends neither on their blocks nor on their order.

Every row has a pseudo-random number that depends on its values only (a hash). The sample consists of the rows with the
smallest hashes, with the weight of each. A row of the sample of all rows is therefore also in the sample of its block,
so that samples can be merged, and the result is always the same. It is a uniform sample of the distinct rows and, with
their weights, of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer._stored import reals, stored, whole
from mercer._typing import Array

#: constants of SplitMix64, a bijection of 64 bits that behaves like a random number generator
GOLDEN_RATIO_BITS = np.uint64(0x9E3779B97F4A7C15)
FIRST_MIX = np.uint64(0xBF58476D1CE4E5B9)
SECOND_MIX = np.uint64(0x94D049BB133111EB)


@stored(most=whole(1), rows=reals("nd"), weight=reals("n"), hashes=reals("n"))
@dataclass(frozen=True, eq=False)
class DistinctRows:
    """At most `most` distinct rows, in the order of their hashes, and the weight of each among all rows.

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
    #: number of all rows, kept or not
    n_rows: int

    @classmethod
    def zero(cls, columns: int, *, most: int) -> Self:
        return cls(most, np.empty((0, columns)), np.empty(0), np.empty(0, dtype=np.uint64), 0)

    def empty(self) -> Self:
        return self.zero(self.rows.shape[1], most=self.most)

    def update(self, rows: Array, weight: Array | None = None) -> Self:
        """Add rows; those of weight 0 are ignored."""
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        if weight is not None:
            rows, weight = rows[weight > 0], weight[weight > 0]
        return self._join(rows, np.ones(len(rows)) if weight is None else weight, hash_rows(rows), len(rows))

    def merge(self, other: Self) -> Self:
        return self._join(other.rows, other.weight, other.hashes, other.n_rows)

    def _join(self, rows: Array, weight: Array, hashes: Array, n_rows: int) -> Self:
        if len(hashes) > 2 * self.most:  # most rows are dropped: only candidates are sorted
            low = hashes <= np.partition(hashes, 2 * self.most)[2 * self.most]
            if len(np.unique(hashes[low])) >= self.most:
                rows, weight, hashes = rows[low], weight[low], hashes[low]
        hashes = np.concatenate([self.hashes, hashes])
        kept, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        weights = np.bincount(place, np.concatenate([self.weight, weight]), minlength=len(kept))[: self.most]
        chosen = np.concatenate([self.rows, rows])[first[: self.most]]
        return replace(self, rows=chosen, weight=weights, hashes=kept[: self.most], n_rows=self.n_rows + n_rows)

    @property
    def complete(self) -> bool:
        """True if the sample contains all distinct rows."""
        return len(self.hashes) < self.most


def hash_rows(rows: Array) -> Array:
    """Return a pseudo-random number for each row, equal for equal rows."""
    bits = np.where(rows == 0, 0.0, np.where(np.isnan(rows), np.nan, rows)).view(np.uint64)
    total = np.zeros(len(rows), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in bits.T:
            total = _mix(total + GOLDEN_RATIO_BITS + column)
    return total


def _mix(bits: Array) -> Array:
    bits = (bits ^ (bits >> np.uint64(30))) * FIRST_MIX
    bits = (bits ^ (bits >> np.uint64(27))) * SECOND_MIX
    return np.asarray(bits ^ (bits >> np.uint64(31)))
