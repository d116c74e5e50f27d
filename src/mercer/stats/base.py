"""Abstract base of statistics: mergeable summaries of a data set from which a model can be fitted.

Every statistic is *grouped*: its arrays have a leading axis with one entry per class, and `update` takes the
class of each row as an integer code. Statistics are immutable; each method returns a new one, so
that a failed fit leaves the old model intact and threads need no locks.

Laws (`mercer.testing.check_statistic`): `merge` is associative and commutative, an update in two halves equals
an update in one, and `remove` undoes `update`. Rows of weight zero are ignored.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from mercer._errors import MergeError, UnseenRowsError
from mercer._gpu import is_tensor
from mercer._gpu import moments as tensor_loops
from mercer._typing import Array

#: a remaining weight or sum of squares further below zero than this, relative to the previous one, is not rounding
SUBTRACTION_ROUNDING = 1e-9
#: a remainder smaller than this, relative to the previous value, consists of rounding errors only
SUBTRACTION_RESIDUE = 1e-14
#: infinite values propagate through sums and are reported by `finite`, without warnings in between
silence_infinities = np.errstate(invalid="ignore", over="ignore")


@dataclass(frozen=True)
class Statistic(ABC):
    """A summary of rows that can be merged and subtracted, with one entry per group."""

    #: names of the fields that have a leading axis of groups, or are statistics themselves
    grouped: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def groups(self) -> int:
        """Number of groups (classes)."""

    def empty(self) -> Self:
        """Return an empty statistic of the same kind."""
        return self.regroup(np.full(self.groups, -1), self.groups)

    @abstractmethod
    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        """Add the rows of `x`, row i to group `groups[i]`. NaN in `x` means missing."""

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Add all rows of `other`."""

    @abstractmethod
    def subtract(self, other: Self) -> Self:
        """Undo `merge` with `other`; raise `UnseenRowsError` if its rows cannot be part of this statistic."""

    def regroup(self, positions: Array, n_groups: int) -> Self:
        """Move group i to position `positions[i]` of `n_groups`; −1 drops it, and positions not named are empty."""
        return replace(self, **{name: move_groups(getattr(self, name), positions, n_groups) for name in self.grouped})

    def pool(self) -> Self:
        """Merge all groups into one."""
        alone = (self.regroup(np.where(np.arange(self.groups) == g, 0, -1), 1) for g in range(self.groups))
        return functools.reduce(lambda mine, theirs: mine.merge(theirs), alone)

    def contents(self) -> dict[str, Any]:
        """Return the content in a canonical form: statistics of the same rows have equal contents."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def finite(self) -> bool:
        """True if all values so far were finite, judged by the sums, through which infinite values propagate."""
        return True

    def cancellation(self, left: Self) -> float:
        """Return the factor by which this statistic is larger than `left`, its remainder: a measure of lost digits."""
        return 1.0

    def remove(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        """Remove the rows of `x` again."""
        return self.subtract(self.empty().update(x, groups, weight))


def is_block(x: Any) -> bool:
    """Return whether x is a writable, C-ordered float matrix: the array types for which loops are compiled."""
    return isinstance(x, np.ndarray) and x.dtype in (np.float32, np.float64) and x.flags.carray


def as_block(x: Any) -> Array:
    """Return rows in a form that loops can read, copied if necessary; tensors have their own loops."""
    if is_block(x):
        return np.asarray(x)
    if is_tensor(x):
        return x  # type: ignore[no-any-return]
    x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
    return np.array(x, dtype=x.dtype if x.dtype == np.float32 else np.float64, order="C")


def group_totals(groups: Array, weight: Array | None, n_groups: int) -> tuple[Array, Array]:
    """Return the number and the weight of the rows of each group."""
    if is_tensor(groups):
        return tensor_loops.group_totals(groups, weight, n_groups)
    if weight is None:
        rows = np.bincount(groups, minlength=n_groups)
        return rows, rows.astype(float)
    return np.bincount(groups[weight != 0], minlength=n_groups), np.bincount(groups, weight, minlength=n_groups)


def divide(numerator: Array, denominator: Array) -> Array:
    """Return numerator / denominator, and 0 where the denominator is 0."""
    out = np.zeros(np.broadcast(numerator, denominator).shape)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)


def move_groups(value: Any, positions: Array, n_groups: int) -> Any:
    """Move the groups of `value`, an array or a statistic, like `Statistic.regroup`."""
    if isinstance(value, Statistic):
        return value.regroup(positions, n_groups)
    result = np.zeros((n_groups, *value.shape[1:]), dtype=value.dtype)
    kept = positions >= 0
    result[positions[kept]] = value[kept]
    return result


def subtract_rows(before: Array, removed: Array) -> Array:
    """Return integer counts after removal; raise `UnseenRowsError` if one is negative."""
    left: Array = before - removed
    if (left < 0).any():
        raise UnseenRowsError(
            f"{int(-left.min())} more rows are to be forgotten than were ever seen in one class; "
            "forget only rows that were passed to fit or partial_fit."
        )
    return left


def subtract_weight(before: Array, removed: Array, rows: Array) -> Array:
    """Return weights after removal: never negative, and exactly zero where no row is left."""
    left = before - removed
    if (left < -SUBTRACTION_ROUNDING * before).any() or ((rows == 0) & (left > SUBTRACTION_ROUNDING * before)).any():
        raise UnseenRowsError(
            "the forgotten rows carry other weights than the rows that were seen; "
            "pass the same sample_weight as when they were learnt."
        )
    return np.where((rows == 0) | (left <= SUBTRACTION_RESIDUE * before), 0.0, left)


def subtract_counts(before: Array, removed: Array) -> Array:
    """Return weighted counts after removal; never negative."""
    left = before - removed
    check_remaining_counts(left, before)
    return np.where(left <= SUBTRACTION_RESIDUE * before, 0.0, left)


def check_remaining_counts(left: Array, size: Array) -> None:
    """Raise an error if remaining counts are negative by more than rounding relative to `size`."""
    if (left < -SUBTRACTION_ROUNDING * size).any():
        raise UnseenRowsError(
            "the forgotten rows count more than all rows seen, so they were never seen; "
            "forget only rows that were passed to fit or partial_fit."
        )


def measure_shrinkage(before: Array, left: Array, changed: Array) -> float:
    """Return the largest factor by which a sum has become smaller where `changed`."""
    changed = changed & (before > 0)
    with np.errstate(divide="ignore"):
        return float(np.max(before[changed] / left[changed], initial=1.0))


def check_same_shape(name: str, mine: tuple[int, ...], theirs: tuple[int, ...]) -> None:
    """Raise an error if the shapes of two statistics to be merged differ."""
    if mine != theirs:
        raise MergeError(
            f"cannot merge {name} of shape {theirs} into shape {mine}: both must describe the same columns and classes."
        )
