"""Sums of the sufficient statistic T(x) of an exponential family, of single numbers or of whole rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from mercer._errors import MergeError, UnseenRowsError
from mercer._stored import floats, part_of, reals, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.data.coding import Coded, code_floats
from mercer.families.base import Family
from mercer.families.losses import as_weight
from mercer.stats import _sparse_loops as sparse_loops
from mercer.stats import _sum_loops as loops
from mercer.stats.base import (
    SUBTRACTION_ROUNDING,
    Statistic,
    as_block,
    check_remaining_counts,
    check_same_shape,
    divide,
    group_totals,
    measure_shrinkage,
    silence_infinities,
    subtract_counts,
    subtract_rows,
    subtract_weight,
)
from mercer.stats.sparse import StoredMatrixRows, sum_duplicates
from mercer.stats.tally import LevelCounts

#: rows for which T is computed at a time, so that it is summed while it is in the cache
STATISTIC_ROWS = 1024


@dataclass(frozen=True)
class StatisticSums(Statistic):
    """Rows and weight, and the sum of w·T(x) with a further axis for the components of T."""

    family: Family
    rows: Array
    weight: Array
    total: Array

    @property
    def groups(self) -> int:
        return len(self.rows)

    @property
    def mean(self) -> Array:
        """Mean of T; 0 where there are no rows."""
        return divide(self.total, self.weight[..., None])

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.total).all())

    def cancellation(self, left: Self) -> float:
        if self.family.discrete:  # counts are subtracted without rounding
            return 1.0
        changed = ((left.rows > 0) & (left.rows < self.rows))[..., None]
        return measure_shrinkage(np.abs(self.total), np.abs(left.total), changed)

    @silence_infinities
    def _join(self, other: Self) -> dict[str, Any]:
        self._check(other)
        return {name: getattr(self, name) + getattr(other, name) for name in ("rows", "weight", "total")}

    def _part(self, other: Self) -> dict[str, Any]:
        self._check(other)
        rows = subtract_rows(self.rows, other.rows)
        weight = subtract_weight(self.weight, other.weight, rows)
        total = self._counts_left(other) if self.family.discrete else self.total - other.total
        return {"rows": rows, "weight": weight, "total": np.where(rows[..., None] > 0, total, 0.0)}

    def _counts_left(self, other: Self) -> Array:
        if hasattr(self.family, "n_trials"):  # failures are counts, too
            trials, removed_trials = (self.family.n_trials * s.weight[..., None] for s in (self, other))
            check_remaining_counts((trials - self.total) - (removed_trials - other.total), trials)
        return subtract_counts(self.total, other.total)

    def _check(self, other: Self) -> None:
        if self.family != other.family:
            raise MergeError(f"cannot merge sums of {other.family!r} into sums of {self.family!r}; fit both alike.")
        check_same_shape("sums", self.total.shape, other.total.shape)


@stored(rows=reals("gd"), weight=reals("gd"), total=floats("gdt"))
@dataclass(frozen=True)
class ColumnSums(StatisticSums):
    """Sums for a scalar family: rows and weight (groups, columns), total (groups, columns, components), without NaN."""

    grouped: ClassVar[tuple[str, ...]] = ("rows", "weight", "total")

    @classmethod
    def zero(cls, family: Family, groups: int, columns: int) -> Self:
        shape = (groups, columns)
        return cls(family, np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros((*shape, family.order())))

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        if sp.issparse(x):
            at_zero = self.family.sufficient(np.zeros(1))[0]
            if np.isfinite(at_zero).all():
                return self.merge(self._sum_stored(sum_duplicates(x), at_zero, groups, weight))
        return self.merge(self._of_tiles(as_block(x), groups, weight))

    @silence_infinities
    def _of_tiles(self, block: Array, groups: Array, weight: Array | None) -> Self:
        sums = [np.zeros_like(field) for field in (self.rows, self.weight, self.total)]
        for rows in row_blocks(len(block), STATISTIC_ROWS):
            tile = self._of_tile(block[rows], groups[rows], None if weight is None else weight[rows])
            for field, part in zip(sums, tile, strict=True):
                field += part
        return replace(self, rows=sums[0], weight=sums[1], total=sums[2])

    def _of_tile(self, x: Array, groups: Array, weight: Array | None) -> tuple[Array, Array, Array]:
        T, weights = as_block(self.family.sufficient(x)), as_weight(weight)
        rows, total_weight, total = loops.group_sums(T.reshape(len(T), -1), groups, weights, self.groups)
        if np.isfinite(total).all():
            return rows[:, None], total_weight[:, None], total.reshape(self.total.shape)
        observed: tuple[Array, Array, Array] = loops.group_sums_without_missing(T, groups, weights, self.groups)
        return observed

    def _sum_stored(self, x: Any, at_zero: Array, groups: Array, weight: Array | None) -> Self:
        """Return the sums as Σw·T(0) over all entries plus Σw·(T(x) − T(0)) over the stored ones."""
        entries = StoredMatrixRows.of(x)
        rows, total_weight = (
            np.repeat(a[:, None], x.shape[1], axis=1) for a in group_totals(groups, weight, self.groups)
        )
        missing = np.flatnonzero(np.isnan(entries.values))
        if len(missing):
            row = entries.row_of(missing)
            removed = np.ones(len(row)) if weight is None else weight[row]
            place = (groups[row], entries.indices[missing])
            np.subtract.at(rows, place, (removed != 0).astype(np.int64))
            np.subtract.at(total_weight, place, removed)
            total_weight[rows == 0] = 0.0
        total = total_weight[..., None] * at_zero
        for tile in row_blocks(len(groups), STATISTIC_ROWS):
            weights = as_weight(None if weight is None else weight[tile])
            part = entries.rows(tile)
            change = self._change(part.values, at_zero, gaps=len(missing) > 0)
            for component, values in enumerate(change):
                sparse_loops.add_stored(*part[:2], values, groups[tile], weights, total[..., component])
        return replace(self, rows=rows, weight=total_weight, total=total)

    def _change(self, x: Array, at_zero: Array, *, gaps: bool) -> Array:
        """Return T(x) − T(0) with the components first; 0 where x is missing, if `gaps` is true."""
        T = self.family.sufficient(x)
        change = T - at_zero if at_zero.any() else T
        return np.ascontiguousarray((np.where(np.isnan(x)[:, None], 0.0, change) if gaps else change).T)

    def merge(self, other: Self) -> Self:
        return replace(self, **self._join(other))

    def subtract(self, other: Self) -> Self:
        return replace(self, **self._part(other))


#: lengths are rounded to this many significant digits: few distinct values, but exact for the lengths of short texts
LENGTH_DIGITS = 3


@stored(rows=reals("g"), weight=reals("g"), total=floats("gd"), lengths=part_of(LevelCounts, g="g"))
@dataclass(frozen=True)
class VectorSums(StatisticSums):
    """Rows and weight (groups,), total (groups, components). Rows that are entirely missing are left out.

    For a family of counts (a multinomial), `lengths` holds the sums of the rows, which the family does not model
    but sampling needs.
    """

    lengths: LevelCounts

    grouped: ClassVar[tuple[str, ...]] = ("rows", "weight", "total", "lengths")

    @classmethod
    def zero(cls, family: Family, groups: int, columns: int) -> Self:
        total = np.zeros((groups, family.order(columns)))
        return cls(family, np.zeros(groups, dtype=np.int64), np.zeros(groups), total, LevelCounts.zero(groups))

    def length_distribution(self, group: int) -> tuple[Array, Array]:
        """Return the lengths of the rows of a group and their shares; only their mean if some are not integers."""
        if self.lengths.rows[group].sum() == self.rows[group] > 0:
            return self.lengths.levels, self.lengths.mean[group]
        return np.rint(self.mean[group].sum(keepdims=True)).astype(np.int64), np.ones(1)

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        if sp.issparse(x) and self.family.discrete:
            return self.merge(self._sum_stored(x, groups, weight))
        block = as_block(x)
        added = self._sum_rows(block, groups, weight)
        if not added.finite:
            present = ~self.family.missing(block)
            added = self._sum_rows(block[present], groups[present], None if weight is None else weight[present])
        return self.merge(added)

    @silence_infinities
    def _sum_rows(self, x: Array, groups: Array, weight: Array | None) -> Self:
        T = as_block(self.family.sufficient(x))
        rows, total_weight, total = loops.group_sums(T, groups, as_weight(weight), self.groups)
        added = replace(self, rows=rows, weight=total_weight, total=total, lengths=self.lengths.empty())
        return added._with_lengths(x.sum(axis=1, dtype=np.float64), groups, weight) if self.family.discrete else added

    def _sum_stored(self, x: Any, groups: Array, weight: Array | None) -> Self:
        """Return the sums for a family of counts, whose T(x) = x needs stored entries only, duplicates included."""
        rows, total_weight = group_totals(groups, weight, self.groups)
        total = np.zeros(self.total.shape)
        lengths = sparse_loops.add_stored(*StoredMatrixRows.of(x), groups, as_weight(weight), total)
        added = replace(self, rows=rows, weight=total_weight, total=total, lengths=self.lengths.empty())
        return added._with_lengths(lengths, groups, weight)

    def _with_lengths(self, lengths: Array, groups: Array, weight: Array | None) -> Self:
        return replace(self, lengths=self.lengths.update(encode_lengths(lengths), groups, weight))

    def merge(self, other: Self) -> Self:
        return replace(self, **self._join(other), lengths=self.lengths.merge(other.lengths))

    def subtract(self, other: Self) -> Self:
        rest = self._part(other)
        try:
            lengths = self.lengths.subtract(other.lengths)
        except UnseenRowsError as reason:
            raise UnseenRowsError(f"the totals of the rows to be forgotten are not those seen: {reason}") from None
        return replace(self, **rest, lengths=lengths)


@silence_infinities
def encode_lengths(lengths: Array) -> Coded:
    """Encode integer lengths, up to rounding in the sum of a row, with LENGTH_DIGITS digits; others are missing."""
    nearest = np.rint(lengths)
    coarse = np.where(np.abs(lengths - nearest) <= SUBTRACTION_ROUNDING * nearest, nearest, np.nan)
    long = coarse >= 10**LENGTH_DIGITS
    unit = 10.0 ** (np.floor(np.log10(coarse[long])) + 1 - LENGTH_DIGITS)
    coarse[long] = np.rint(coarse[long] / unit) * unit
    return code_floats(coarse)
