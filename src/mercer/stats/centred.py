"""Mean and variance or covariance of every group, in a form that can be merged and subtracted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mercer._errors import UnseenRowsError
from mercer._gpu import is_tensor
from mercer._gpu import moments as tensor_loops
from mercer._stored import floats, reals, stored
from mercer._threads import MIN_COLUMNS_FOR_THREADS
from mercer._typing import Array
from mercer.families.losses import as_weight
from mercer.stats import _moment_loops as loops
from mercer.stats.base import (
    SUBTRACTION_RESIDUE,
    SUBTRACTION_ROUNDING,
    Statistic,
    as_block,
    check_same_shape,
    divide,
    measure_shrinkage,
    silence_infinities,
    subtract_rows,
    subtract_weight,
)
from mercer.stats.tiles import squares_by_blas, squares_by_loops


class Centroid(NamedTuple):
    """Number and weight of rows, and their mean, `pilot + offset`."""

    rows: Array
    weight: Array
    pilot: Array
    offset: Array


class Shift(NamedTuple):
    """Effect of merging or parting two means on sums about them: Σw(x−mean)² changes by `weight · difference²`."""

    weight: Array
    difference: Array


@dataclass(frozen=True)
class CentredMoments(Statistic):
    """Means, and `scatter`, the sums of squares about them.

    `pilot` and `offset` have shape (groups, columns), `rows` and `weight` the same or (groups,).

    The mean is stored as `pilot + offset`, a value near the data and a small correction, so that the differences of
    means in `merge` and `subtract` keep their digits however far from zero the column lies.
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
        """Mean of each group; 0 where there are no rows."""
        return np.asarray(self.pilot + self.offset)

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.offset).all() and np.isfinite(self.scatter).all())

    def contents(self) -> dict[str, Any]:
        known = Statistic.contents(self)
        del known["pilot"], known["offset"]
        return known | {"mean": self.mean}

    def _wide(self, per_group: Array) -> Array:
        """Append axes to `per_group` so that it broadcasts against the columns."""
        return per_group.reshape(per_group.shape + (1,) * (self.pilot.ndim - per_group.ndim))

    def difference(self, other: CentredMoments) -> Array:
        """Return other.mean − self.mean; 0 where either is empty."""
        check_same_shape("moments", self.pilot.shape, other.pilot.shape)
        both = self._wide((self.weight > 0) & (other.weight > 0))
        return np.where(both, (other.pilot - self.pilot) + (other.offset - self.offset), 0.0)

    def _join(self, other: CentredMoments) -> tuple[Centroid, Shift]:
        """Return the centre of both together, and the shift."""
        difference = self.difference(other)
        weight = self.weight + other.weight
        share = divide(other.weight, weight)
        known = self._wide(self.weight > 0)
        pilot = np.where(known, self.pilot, other.pilot)
        offset = np.where(known, self.offset + self._wide(share) * difference, other.offset)
        return Centroid(self.rows + other.rows, weight, pilot, offset), Shift(self.weight * share, difference)

    def _part(self, other: CentredMoments) -> tuple[Centroid, Shift]:
        """Return the centre of the rest when `other` is removed, and the shift."""
        difference = self.difference(other)
        rows = subtract_rows(self.rows, other.rows)
        weight = subtract_weight(self.weight, other.weight, rows)
        share = divide(other.weight, weight)
        left = self._wide(weight > 0)
        pilot = np.where(left, self.pilot, 0.0)
        offset = np.where(left, self.offset - self._wide(share) * difference, 0.0)
        return Centroid(rows, weight, pilot, offset), Shift(self.weight * share, difference)


def subtract_squares(before: Array, left: Array, rows: Array) -> Array:
    """Return sums of squares after removal: never negative, and exactly zero where fewer than two rows are left."""
    several = np.broadcast_to(rows > 1, left.shape)
    if (left < -SUBTRACTION_ROUNDING * before)[several].any():
        raise UnseenRowsError(
            "the forgotten rows vary more than all rows seen, so they were never seen; "
            "forget only rows that were passed to fit or partial_fit."
        )
    return np.where(several & (left > SUBTRACTION_RESIDUE * before), left, 0.0)


@stored(rows=reals("gd"), weight=reals("gd"), pilot=floats("gd"), offset=floats("gd"), scatter=floats("gd"))
@dataclass(frozen=True)
class ColumnMoments(CentredMoments):
    """Rows, weight, mean and centred sum of squares of every column; all of shape (groups, columns).

    `transform` is applied to the data first (the logarithm, for a log-normal).
    """

    transform: Callable[[Array], Array] | None = None

    @classmethod
    def zero(cls, groups: int, columns: int, transform: Callable[[Array], Array] | None = None) -> Self:
        weight, pilot, offset, scatter = np.zeros((4, groups, columns))
        rows = np.zeros((groups, columns), dtype=np.int64)
        return cls(rows, weight, pilot, offset, scatter, transform)

    @property
    def variance(self) -> Array:
        """Maximum likelihood variance; 0 where there are no values."""
        return divide(self.scatter, self.weight)

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        block = as_block(x)
        if self.transform is not None:
            block = as_block(self.transform(block))
        return self.merge(self._sum(block, groups, weight))

    @silence_infinities
    def _sum(self, block: Array, groups: Array, weight: Array | None) -> Self:
        sums = tensor_loops.column_sums if is_tensor(block) else column_sums
        pilot, rows, total, first, second = sums(block, groups, weight, self.groups)
        offset = divide(first, total)
        scatter = np.maximum(second - first * offset, 0.0)
        return replace(self, rows=rows, weight=total, pilot=pilot, offset=offset, scatter=scatter)

    @silence_infinities
    def merge(self, other: Self) -> Self:
        centre, shift = self._join(other)
        scatter = self.scatter + other.scatter + shift.weight * np.square(shift.difference)
        return replace(self, **centre._asdict(), scatter=scatter)

    def subtract(self, other: Self) -> Self:
        centre, shift = self._part(other)
        scatter = self.scatter - other.scatter - shift.weight * np.square(shift.difference)
        return replace(self, **centre._asdict(), scatter=subtract_squares(self.scatter, scatter, centre.rows))

    def cancellation(self, left: Self) -> float:
        changed = (left.rows > 1) & (left.rows < self.rows)
        return measure_shrinkage(self.scatter, left.scatter, changed)


def column_sums(block: Array, groups: Array, weight: Array | None, n_groups: int) -> tuple[Array, ...]:
    """Return the pilot, and rows, weight, Σw(x−pilot) and Σw(x−pilot)² of the values that are not NaN."""
    weight = as_weight(weight)
    pilot = loops.pilot(block, groups, weight, n_groups)
    rows, total, first, second = loops.sums(block, groups, weight, pilot)
    if np.isfinite(first).all():
        rows, total = (np.repeat(a[:, None], block.shape[1], axis=1) for a in (rows, total))
    else:
        rows, total, first, second = loops.sums_without_missing(block, groups, weight, pilot)
    return pilot, rows, total, first, second


@stored(rows=reals("g"), weight=reals("g"), pilot=floats("gd"), offset=floats("gd"), scatter=floats("gdd"))
@dataclass(frozen=True)
class ScatterMoments(CentredMoments):
    """Rows and weight (groups,), mean (groups, columns) and scatter Σw(x−mean)(x−mean)ᵀ (groups, columns, columns).

    It requires complete rows: a missing or infinite value makes `finite` False, and `PatternMoments` handles
    missing values.
    """

    @classmethod
    def zero(cls, groups: int, columns: int) -> Self:
        pilot, offset = np.zeros((2, groups, columns))
        scatter = np.zeros((groups, columns, columns))
        return cls(np.zeros(groups, dtype=np.int64), np.zeros(groups), pilot, offset, scatter)

    @property
    def covariance(self) -> Array:
        """Maximum likelihood covariance of each group; 0 where there are no rows."""
        return divide(self.scatter, self.weight[:, None, None])

    def within(self) -> Array:
        """Return the scatter about the groups' own means, pooled over the groups: (columns, columns)."""
        return np.asarray(self.scatter.sum(axis=0))

    @silence_infinities
    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        block = as_block(x)
        squares: Any = squares_by_loops if self.scatter.shape[1] < MIN_COLUMNS_FOR_THREADS else squares_by_blas
        if is_tensor(block):
            squares = tensor_loops.scatter_sums
        (pilot, rows, weight, first), second = squares(block, groups, weight, self.groups)
        offset = divide(first, weight[:, None])
        if np.isfinite(offset).all():
            _centre_squares(second, weight, offset)
        return self.merge(replace(self, rows=rows, weight=weight, pilot=pilot, offset=offset, scatter=second))

    @silence_infinities
    def merge(self, other: Self) -> Self:
        centre, shift = self._join(other)
        scatter = self.scatter + other.scatter
        scatter += _outer(*shift)
        return replace(self, **centre._asdict(), scatter=scatter)

    def subtract(self, other: Self) -> Self:
        centre, shift = self._part(other)
        scatter = self.scatter - other.scatter
        scatter -= _outer(*shift)
        squares = subtract_squares(_diagonal(self.scatter), _diagonal(scatter), centre.rows[:, None])
        varies = squares > 0
        # a column without variance has zero covariances, up to rounding errors that are removed here
        scatter = np.where(varies[:, :, None] & varies[:, None, :], scatter, 0.0)
        return replace(self, **centre._asdict(), scatter=scatter)

    def cancellation(self, left: Self) -> float:
        changed = ((left.rows > 1) & (left.rows < self.rows))[:, None]
        return measure_shrinkage(_diagonal(self.scatter), _diagonal(left.scatter), changed)


def _diagonal(matrices: Array) -> Array:
    return np.diagonal(matrices, axis1=1, axis2=2)


def _outer(weight: Array, difference: Array) -> Array:
    """Return weight · difference differenceᵀ for each group, exactly symmetric."""
    result: Array = difference[:, :, None] * difference[:, None, :]
    result *= weight[:, None, None]
    return result


def _centre_squares(second: Array, weight: Array, offset: Array) -> None:
    """Turn sums of squares about the pilot into those about the mean, in place."""
    second -= _outer(weight, offset)
    squares = np.einsum("kii->ki", second)
    np.maximum(squares, 0.0, out=squares)
