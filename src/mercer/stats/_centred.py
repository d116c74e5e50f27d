"""Means that keep their digits, however far from zero the data lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._errors import UnseenRowsError
from mercer._typing import Array
from mercer.stats.base import NOTHING, ROUNDING, Statistic, ratio, rows_left, same_shape, weight_left


class Centre(NamedTuple):
    """How much was seen, and its mean, `pilot + offset`."""

    rows: Array
    weight: Array
    pilot: Array
    offset: Array


class Shift(NamedTuple):
    """What joining or parting two means does to sums about them: Σw(x−mean)² changes by `weight · difference²`."""

    weight: Array
    difference: Array


@dataclass(frozen=True)
class Centred(Statistic):
    """Means, and `scatter`, sums of squares about them.

    `pilot` and `offset` are (groups, columns), `rows` and `weight` that or (groups,).

    The mean is kept as `pilot + offset`, a value near the data and a small correction: differences of means, on
    which merging and forgetting rest, then keep their digits however far from zero the column lies.
    """

    rows: Array
    weight: Array
    pilot: Array
    offset: Array
    scatter: Array

    grouped: ClassVar[tuple[str, ...]] = ("rows", "weight", "pilot", "offset", "scatter")

    @property
    def groups(self) -> int:
        return len(self.rows)

    @property
    def mean(self) -> Array:
        """Mean of what was seen; 0 where nothing was."""
        return np.asarray(self.pilot + self.offset)

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.offset).all() and np.isfinite(self.scatter).all())

    def contents(self) -> dict[str, Any]:
        known = Statistic.contents(self)
        del known["pilot"], known["offset"]
        return known | {"mean": self.mean}

    def _wide(self, per_group: Array) -> Array:
        """`per_group` with the axes it lacks, so that it broadcasts against the columns."""
        return per_group.reshape(per_group.shape + (1,) * (self.pilot.ndim - per_group.ndim))

    def difference(self, other: Centred) -> Array:
        """other.mean − self.mean; 0 where either has seen nothing."""
        same_shape("moments", self.pilot.shape, other.pilot.shape)
        both = self._wide((self.weight > 0) & (other.weight > 0))
        return np.where(both, (other.pilot - self.pilot) + (other.offset - self.offset), 0.0)

    def _joined(self, other: Centred) -> tuple[Centre, Shift]:
        """The centre of both together."""
        difference = self.difference(other)
        weight = self.weight + other.weight
        share = ratio(other.weight, weight)
        known = self._wide(self.weight > 0)
        pilot = np.where(known, self.pilot, other.pilot)
        offset = np.where(known, self.offset + self._wide(share) * difference, other.offset)
        return Centre(self.rows + other.rows, weight, pilot, offset), Shift(self.weight * share, difference)

    def _parted(self, other: Centred) -> tuple[Centre, Shift]:
        """The centre of what is left when `other` is taken out."""
        difference = self.difference(other)
        rows = rows_left(self.rows, other.rows)
        weight = weight_left(self.weight, other.weight, rows)
        gone = ratio(other.weight, weight)
        left = self._wide(weight > 0)
        pilot = np.where(left, self.pilot, 0.0)
        offset = np.where(left, self.offset - self._wide(gone) * difference, 0.0)
        return Centre(rows, weight, pilot, offset), Shift(self.weight * gone, difference)


def squares_left(before: Array, left: Array, rows: Array) -> Array:
    """Sums of squares after forgetting: exactly zero where fewer than two rows are left, never negative."""
    several = np.broadcast_to(rows > 1, left.shape)
    if (left < -ROUNDING * before)[several].any():
        raise UnseenRowsError(
            "the forgotten rows vary more than all rows seen, so they were never seen; "
            "forget only rows that were passed to fit or partial_fit."
        )
    return np.where(several & (left > NOTHING * before), left, 0.0)
