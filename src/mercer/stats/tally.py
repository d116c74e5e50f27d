"""Weighted counts of the values of each group and column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mercer._errors import UnseenRowsError
from mercer._stored import flags, floats, reals, stored, values
from mercer._typing import Array
from mercer.data.coding import Coded
from mercer.families.losses import as_weight
from mercer.stats import _tally_loops as loops
from mercer.stats.base import Statistic, as_block, check_same_shape, divide, subtract_rows, subtract_weight

#: levels of a column without values
NO_LEVELS = np.empty(0, dtype=object)


@dataclass(frozen=True)
class Tally(Statistic):
    """Sorted `levels`, and for each the number and the weight (`counts`) of its rows, on the last axis.

    A level is kept as long as a row has it, or permanently if it is `declared`.
    """

    levels: Array
    declared: Array
    rows: Array
    counts: Array

    grouped: ClassVar[tuple[str, ...]] = ("rows", "counts")

    @property
    def groups(self) -> int:
        return len(self.rows)

    @property
    def weight(self) -> Array:
        """Weight of the values that are not missing."""
        return np.asarray(self.counts.sum(axis=-1))

    def empty(self) -> Self:
        return self.regroup(np.full(self.groups, -1), self.groups)._align(self.levels[self.declared])

    def regroup(self, positions: Array, n_groups: int) -> Self:
        return Statistic.regroup(self, positions, n_groups)._drop_empty_levels()

    def _count(self, codes: Array, labels: Array, groups: Array, weight: Array | None) -> Self:
        """Count codes, where code i, in any column, stands for `labels[i]`; −1 is missing."""
        rows, counts = loops.tally(codes, groups, as_weight(weight), self.groups, len(labels))
        shape = (*self.rows.shape[:-1], len(labels))
        declared = np.zeros(len(labels), dtype=bool)
        added = replace(self, levels=labels, declared=declared, rows=rows.reshape(shape), counts=counts.reshape(shape))
        return added._align(join_levels(labels, NO_LEVELS))._drop_empty_levels()

    def _align(self, levels: Array) -> Self:
        """Return the counts with the levels at their positions in `levels`; other levels are dropped."""
        if levels is self.levels or (levels.dtype == self.levels.dtype and np.array_equal(levels, self.levels)):
            return self
        places = find_positions(self.levels, levels)
        kept = places >= 0

        def align(array: Array) -> Array:
            result = np.zeros((*array.shape[:-1], len(levels)), dtype=array.dtype)
            result[..., places[kept]] = array[..., kept]
            return result

        return replace(
            self, levels=levels, declared=align(self.declared), rows=align(self.rows), counts=align(self.counts)
        )

    def _find_occurring(self) -> Array:
        """Return a mask of the levels that rows have."""
        return np.asarray(self.rows.any(axis=tuple(range(self.rows.ndim - 1))))

    def _drop_empty_levels(self) -> Self:
        alive = self.declared | self._find_occurring()
        return self if alive.all() else self._align(self.levels[alive])

    def merge(self, other: Self) -> Self:
        check_same_shape("counts", self.rows.shape[:-1], other.rows.shape[:-1])
        levels = join_levels(self.levels, other.levels)
        mine, theirs = self._align(levels), other._align(levels)
        return replace(
            mine,
            declared=mine.declared | theirs.declared,
            rows=mine.rows + theirs.rows,
            counts=mine.counts + theirs.counts,
        )

    def subtract(self, other: Self) -> Self:
        check_same_shape("counts", self.rows.shape[:-1], other.rows.shape[:-1])
        unknown = other.levels[(find_positions(other.levels, self.levels) < 0) & other._find_occurring()].tolist()
        if unknown:
            raise UnseenRowsError(f"the value {unknown[0]!r} was never seen, so no row with it can be forgotten.")
        removed = other._align(self.levels)
        rows = subtract_rows(self.rows, removed.rows)
        return replace(self, rows=rows, counts=subtract_weight(self.counts, removed.counts, rows))._drop_empty_levels()


def find_positions(levels: Array, among: Array) -> Array:
    """Return the position of each of `levels` in the sorted `among`; −1 where it does not occur."""
    if levels is among:
        return np.arange(len(levels))
    if levels.dtype == object or among.dtype == object:
        place: dict[Any, int] = {level: i for i, level in enumerate(among.tolist())}
        return np.array([place.get(level, -1) for level in levels.tolist()], dtype=np.int64)
    places = np.minimum(np.searchsorted(among, levels), max(0, len(among) - 1))
    occurs = among[places] == levels if len(among) else np.zeros(len(levels), dtype=bool)
    return np.where(occurs, places, -1)


def join_levels(a: Array, b: Array) -> Array:
    """Return all levels of both, sorted; text and numbers together as objects, by type first."""
    if a is b or (a.dtype == b.dtype and np.array_equal(a, b)):
        return a
    if not len(a) or not len(b):
        return _sort_levels(a if len(a) else b)
    if {a.dtype.kind, b.dtype.kind} <= set("biuf") or a.dtype.kind == b.dtype.kind != "O":
        return np.union1d(a, b)
    both = np.empty(len(a) + len(b), dtype=object)
    both[: len(a)], both[len(a) :] = a.tolist(), b.tolist()
    return _sort_levels(both)


def _sort_levels(levels: Array) -> Array:
    try:
        return np.unique(levels)
    except TypeError:  # objects that cannot be compared, such as text and numbers
        distinct = sorted(set(levels.tolist()), key=lambda level: (type(level).__name__, str(level)))
        result = np.empty(len(distinct), dtype=object)
        result[:] = distinct
        return result


@stored(levels=values("l"), declared=flags("l"), rows=reals("gl"), counts=reals("gl"))
@dataclass(frozen=True)
class LevelCounts(Tally):
    """Counts of one categorical column: `rows` and weighted `counts` of shape (groups, levels)."""

    @classmethod
    def zero(cls, groups: int, *, declared: Array = NO_LEVELS) -> Self:
        """Return empty counts; `declared` levels are kept without rows, like the categories of a dtype."""
        levels = join_levels(np.asarray(declared), NO_LEVELS)
        shape = (groups, len(levels))
        return cls(levels, np.ones(len(levels), dtype=bool), np.zeros(shape, dtype=np.int64), np.zeros(shape))

    @property
    def mean(self) -> Array:
        """Share of each level in each group; 0 where there are no rows."""
        return divide(self.counts, self.weight[:, None])

    def update(self, x: Coded, groups: Array, weight: Array | None = None) -> Self:
        codes = np.require(x.codes, np.int32, ["C", "W"])[:, None]
        return self.merge(self._count(codes, np.asarray(x.labels), groups, weight))


#: integers below this are their own codes; others are looked up
OWN_CODES = 1 << 16


@stored(levels=floats("l"), declared=flags("l"), rows=reals("gdl"), counts=reals("gdl"))
@dataclass(frozen=True)
class ValueCounts(Tally):
    """A histogram of the values of every column: `rows` and weighted `counts` of shape (groups, columns, values)."""

    @classmethod
    def zero(cls, groups: int, columns: int) -> Self:
        shape = (groups, columns, 0)
        return cls(np.zeros(0), np.zeros(0, dtype=bool), np.zeros(shape, dtype=np.int64), np.zeros(shape))

    @property
    def mean(self) -> Array:
        """Mean value, with an axis for the single component of T; 0 where there are no values."""
        return divide(self.counts @ self.levels, self.weight)[..., None]

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.levels).all())

    def histogram(self, group: int, column: int) -> tuple[Array, Array]:
        """Return the values that occur, and the weight of each."""
        occurring = self.rows[group, column] > 0
        return self.levels[occurring], self.counts[group, column, occurring]

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        codes, labels = _encode_values(as_block(x))
        return self.merge(self._count(codes, labels, groups, weight))


def _encode_values(x: Array) -> tuple[Array, Array]:
    """Return codes (−1 where missing) and the values for which they stand."""
    missing = np.isnan(x)
    values = np.where(missing, 0.0, x)
    highest = values.max(initial=0.0)
    if highest < OWN_CODES and (values >= 0).all() and (values == np.floor(values)).all():
        labels, codes = np.arange(highest + 1), values.astype(np.int32)
    else:
        labels, places = np.unique(values, return_inverse=True)
        codes = places.reshape(x.shape).astype(np.int32)
    codes[missing] = -1
    return codes, labels
