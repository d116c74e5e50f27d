"""Sums of the sufficient statistic T(x) of a family of whole rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from mercer._errors import UnseenRowsError
from mercer._jit.stats import sparse as sparse_loops
from mercer._jit.stats import sums as loops
from mercer._stored import floats, part_of, reals, stored
from mercer._typing import Array
from mercer.data.coding import Coded, code_floats
from mercer.families.base import Family
from mercer.stats.base import ROUNDING, as_block, as_weight, group_totals, spoilt_sums_are_silent
from mercer.stats.levels import LevelCounts
from mercer.stats.sparse import Stored
from mercer.stats.sums import Sums

#: lengths are kept to this many significant digits: few enough to count, exact for the lengths of short texts
LENGTH_DIGITS = 3


@stored(rows=reals("g"), weight=reals("g"), total=floats("gd"), lengths=part_of(LevelCounts, g="g"))
@dataclass(frozen=True)
class VectorSums(Sums):
    """Rows and weight (groups,), total (groups, components). Rows that are missing altogether are left out.

    Where the family counts (a multinomial) `lengths` keeps how long the rows were, which the family does not model
    and sampling needs.
    """

    lengths: LevelCounts

    grouped: ClassVar[tuple[str, ...]] = ("rows", "weight", "total", "lengths")

    @classmethod
    def zero(cls, family: Family, groups: int, columns: int) -> Self:
        total = np.zeros((groups, family.order(columns)))
        return cls(family, np.zeros(groups, dtype=np.int64), np.zeros(groups), total, LevelCounts.zero(groups))

    def length_distribution(self, group: int) -> tuple[Array, Array]:
        """Lengths of the rows of a group and their shares; their mean alone where some were no whole numbers."""
        if self.lengths.rows[group].sum() == self.rows[group] > 0:
            return self.lengths.levels, self.lengths.mean[group]
        return np.rint(self.mean[group].sum(keepdims=True)).astype(np.int64), np.ones(1)

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        if sp.issparse(x) and self.family.discrete:
            return self.merge(self._of_stored(x, groups, weight))
        block = as_block(x)
        made = self._of_rows(block, groups, weight)
        if not made.finite:
            present = ~self.family.missing(block)
            made = self._of_rows(block[present], groups[present], None if weight is None else weight[present])
        return self.merge(made)

    @spoilt_sums_are_silent
    def _of_rows(self, x: Array, groups: Array, weight: Array | None) -> Self:
        T = as_block(self.family.sufficient(x))
        rows, total_weight, total = loops.group_sums(T, groups, as_weight(weight), self.groups)
        made = replace(self, rows=rows, weight=total_weight, total=total, lengths=self.lengths.empty())
        return made._with_lengths(x.sum(axis=1, dtype=np.float64), groups, weight) if self.family.discrete else made

    def _of_stored(self, x: Any, groups: Array, weight: Array | None) -> Self:
        """A family that counts has T(x) = x: what is not stored adds nothing, what is stored twice adds up."""
        rows, total_weight = group_totals(groups, weight, self.groups)
        total = np.zeros(self.total.shape)
        lengths = sparse_loops.add_stored(*Stored.of(x), groups, as_weight(weight), total)
        made = replace(self, rows=rows, weight=total_weight, total=total, lengths=self.lengths.empty())
        return made._with_lengths(lengths, groups, weight)

    def _with_lengths(self, lengths: Array, groups: Array, weight: Array | None) -> Self:
        return replace(self, lengths=self.lengths.update(coded_lengths(lengths), groups, weight))

    def merge(self, other: Self) -> Self:
        return replace(self, **self._joined(other), lengths=self.lengths.merge(other.lengths))

    def subtract(self, other: Self) -> Self:
        parted = self._parted(other)
        try:
            lengths = self.lengths.subtract(other.lengths)
        except UnseenRowsError as reason:
            raise UnseenRowsError(f"the totals of the rows to be forgotten are not those seen: {reason}") from None
        return replace(self, **parted, lengths=lengths)


@spoilt_sums_are_silent
def coded_lengths(lengths: Array) -> Coded:
    """Lengths that are whole, up to rounding in the sum of a row, to LENGTH_DIGITS digits; others are missing."""
    nearest = np.rint(lengths)
    coarse = np.where(np.abs(lengths - nearest) <= ROUNDING * nearest, nearest, np.nan)
    long = coarse >= 10**LENGTH_DIGITS
    unit = 10.0 ** (np.floor(np.log10(coarse[long])) + 1 - LENGTH_DIGITS)
    coarse[long] = np.rint(coarse[long] / unit) * unit
    return code_floats(coarse)
