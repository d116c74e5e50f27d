"""How often each value turned up in each group and column."""

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
from mercer.stats.base import Statistic, as_block, ratio, rows_left, same_shape, weight_left

# Counts of levels that are not known beforehand: what `LevelCounts` and `ValueCounts` share.

NO_LEVELS = np.empty(0, dtype=object)


@dataclass(frozen=True)
class Tally(Statistic):
    """Sorted `levels`, and for each the rows and the weight (`counts`) that showed it, on the last axis.

    A level is there as long as a row shows it, or for good where it is `declared`.
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
        """Weight of what was not missing."""
        return np.asarray(self.counts.sum(axis=-1))

    def empty(self) -> Self:
        return self.regroup(np.full(self.groups, -1), self.groups)._among(self.levels[self.declared])

    def regroup(self, positions: Array, n_groups: int) -> Self:
        return Statistic.regroup(self, positions, n_groups)._without_vanished()

    def _counted(self, codes: Array, labels: Array, groups: Array, weight: Array | None) -> Self:
        """Code i, in as many columns as there are, stands for `labels[i]`; −1 is missing."""
        rows, counts = loops.tally(codes, groups, as_weight(weight), self.groups, len(labels))
        shape = (*self.rows.shape[:-1], len(labels))
        declared = np.zeros(len(labels), dtype=bool)
        made = replace(self, levels=labels, declared=declared, rows=rows.reshape(shape), counts=counts.reshape(shape))
        return made._among(union_of_levels(labels, NO_LEVELS))._without_vanished()

    def _among(self, levels: Array) -> Self:
        """The same counts with the levels in the places `levels` gives them; those not named are dropped."""
        places = places_of(self.levels, levels)
        kept = places >= 0

        def placed(array: Array) -> Array:
            result = np.zeros((*array.shape[:-1], len(levels)), dtype=array.dtype)
            result[..., places[kept]] = array[..., kept]
            return result

        return replace(
            self, levels=levels, declared=placed(self.declared), rows=placed(self.rows), counts=placed(self.counts)
        )

    def _shown(self) -> Array:
        """Which levels a row shows."""
        return np.asarray(self.rows.any(axis=tuple(range(self.rows.ndim - 1))))

    def _without_vanished(self) -> Self:
        alive = self.declared | self._shown()
        return self if alive.all() else self._among(self.levels[alive])

    def merge(self, other: Self) -> Self:
        same_shape("counts", self.rows.shape[:-1], other.rows.shape[:-1])
        levels = union_of_levels(self.levels, other.levels)
        mine, theirs = self._among(levels), other._among(levels)
        return replace(
            mine,
            declared=mine.declared | theirs.declared,
            rows=mine.rows + theirs.rows,
            counts=mine.counts + theirs.counts,
        )

    def subtract(self, other: Self) -> Self:
        same_shape("counts", self.rows.shape[:-1], other.rows.shape[:-1])
        unknown = other.levels[(places_of(other.levels, self.levels) < 0) & other._shown()].tolist()
        if unknown:
            raise UnseenRowsError(f"the value {unknown[0]!r} was never seen, so no row with it can be forgotten.")
        gone = other._among(self.levels)
        rows = rows_left(self.rows, gone.rows)
        return replace(self, rows=rows, counts=weight_left(self.counts, gone.counts, rows))._without_vanished()


def places_of(levels: Array, among: Array) -> Array:
    """The place of each of `levels` in the sorted `among`; −1 where it is not there."""
    if levels is among:
        return np.arange(len(levels))
    if levels.dtype == object or among.dtype == object:
        place: dict[Any, int] = {level: i for i, level in enumerate(among.tolist())}
        return np.array([place.get(level, -1) for level in levels.tolist()], dtype=np.int64)
    places = np.minimum(np.searchsorted(among, levels), max(0, len(among) - 1))
    found = among[places] == levels if len(among) else np.zeros(len(levels), dtype=bool)
    return np.where(found, places, -1)


def union_of_levels(a: Array, b: Array) -> Array:
    """Every level of either, sorted; of text and numbers together, as objects by type first."""
    if a is b or (a.dtype == b.dtype and np.array_equal(a, b)):
        return a
    if not len(a) or not len(b):
        return _sorted(a if len(a) else b)
    if {a.dtype.kind, b.dtype.kind} <= set("biuf") or a.dtype.kind == b.dtype.kind != "O":
        return np.union1d(a, b)
    both = np.empty(len(a) + len(b), dtype=object)
    both[: len(a)], both[len(a) :] = a.tolist(), b.tolist()
    return _sorted(both)


def _sorted(levels: Array) -> Array:
    try:
        return np.unique(levels)
    except TypeError:  # objects that do not compare, such as text and numbers
        distinct = sorted(set(levels.tolist()), key=lambda level: (type(level).__name__, str(level)))
        result = np.empty(len(distinct), dtype=object)
        result[:] = distinct
        return result


# How often each level of a categorical column turned up in each group.


@stored(levels=values("l"), declared=flags("."), rows=reals("gl"), counts=reals("gl"))
@dataclass(frozen=True)
class LevelCounts(Tally):
    """One categorical column: `rows` and weighted `counts` of shape (groups, levels)."""

    @classmethod
    def zero(cls, groups: int, *, declared: Array = NO_LEVELS) -> Self:
        """`declared` are levels that stay even while no row shows them, as the categories of a dtype do."""
        levels = union_of_levels(np.asarray(declared), NO_LEVELS)
        shape = (groups, len(levels))
        return cls(levels, np.ones(len(levels), dtype=bool), np.zeros(shape, dtype=np.int64), np.zeros(shape))

    @property
    def mean(self) -> Array:
        """Share of each level in each group; 0 where nothing has been seen."""
        return ratio(self.counts, self.weight[:, None])

    def update(self, x: Coded, groups: Array, weight: Array | None = None) -> Self:
        codes = np.require(x.codes, np.int32, ["C", "W"])[:, None]
        return self.merge(self._counted(codes, np.asarray(x.labels), groups, weight))


#: whole numbers below this are their own codes; others are looked up
OWN_CODES = 1 << 16


@stored(levels=floats("l"), declared=flags("."), rows=reals("gdl"), counts=reals("gdl"))
@dataclass(frozen=True)
class ValueCounts(Tally):
    """A histogram of the values of every column: `rows` and weighted `counts` of shape (groups, columns, values)."""

    @classmethod
    def zero(cls, groups: int, columns: int) -> Self:
        shape = (groups, columns, 0)
        return cls(np.zeros(0), np.zeros(0, dtype=bool), np.zeros(shape, dtype=np.int64), np.zeros(shape))

    @property
    def mean(self) -> Array:
        """Mean value, with an axis for the one component of T; 0 where nothing was seen."""
        return ratio(self.counts @ self.levels, self.weight)[..., None]

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.levels).all())

    def histogram(self, group: int, column: int) -> tuple[Array, Array]:
        """The values seen, and the weight of each."""
        seen = self.rows[group, column] > 0
        return self.levels[seen], self.counts[group, column, seen]

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        codes, labels = _coded(as_block(x))
        return self.merge(self._counted(codes, labels, groups, weight))


def _coded(x: Array) -> tuple[Array, Array]:
    """Codes (−1 where missing) and the values they stand for."""
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
