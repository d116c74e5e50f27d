"""What a statistic is: a value that knows a data set well enough to fit from, and can be added up.

Every statistic is *grouped*: its arrays have a leading axis with one entry per class, and `update` takes the
class of each row as an integer code. Statistics are never changed in place; each method returns a new one, so
that a failed fit leaves the old model whole and threads need no locks.

Laws (`mercer.testing.check_statistic`): `merge` is associative and commutative, an update in two halves equals
an update in one, and `remove` undoes `update`. A row of weight zero is no row.
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

#: a remaining weight or sum of squares this far below zero, relative to what there was, is no rounding error
ROUNDING = 1e-9
#: a remainder this small, relative to what there was, consists of rounding errors only
NOTHING = 1e-14
#: a sum spoilt by an infinite value is asked for by `finite`, and not to be warned about while it is passed on
spoilt_sums_are_silent = np.errstate(invalid="ignore", over="ignore")


@dataclass(frozen=True)
class Statistic(ABC):
    """A mergeable, removable summary of rows, one entry per group."""

    #: the fields that have a leading axis of groups, or are statistics themselves
    grouped: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def groups(self) -> int:
        """Number of groups (classes)."""

    def empty(self) -> Self:
        """The same kind of statistic, having seen nothing."""
        return self.regroup(np.full(self.groups, -1), self.groups)

    @abstractmethod
    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        """With the rows of `x` added, row i to group `groups[i]`. NaN in `x` means missing."""

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """With everything added that `other` has seen."""

    @abstractmethod
    def subtract(self, other: Self) -> Self:
        """The statistic that `other` was merged into: undoes `merge`; `UnseenRowsError` if that cannot be."""

    def regroup(self, positions: Array, n_groups: int) -> Self:
        """Group i becomes group `positions[i]` of `n_groups`; −1 drops it, positions not named are empty."""
        return replace(self, **{name: moved(getattr(self, name), positions, n_groups) for name in self.grouped})

    def pooled(self) -> Self:
        """All groups taken together, as one group."""
        alone = (self.regroup(np.where(np.arange(self.groups) == g, 0, -1), 1) for g in range(self.groups))
        return functools.reduce(lambda mine, theirs: mine.merge(theirs), alone)

    def contents(self) -> dict[str, Any]:
        """What is known, however it is stored: statistics of the same rows have the same contents."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def finite(self) -> bool:
        """False once an infinite value has gone in: the cheapest test for one is the sum it spoils."""
        return True

    def cancellation(self, left: Self) -> float:
        """How many times larger this statistic is than `left`, what remained of it: digits lost, as a factor."""
        return 1.0

    def remove(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        """With the rows of `x` taken out again."""
        return self.subtract(self.empty().update(x, groups, weight))


def is_block(x: Any) -> bool:
    """Whether it is a writable, C-ordered float matrix: the one array type (per dtype) that loops are compiled for."""
    return isinstance(x, np.ndarray) and x.dtype in (np.float32, np.float64) and x.flags.carray


def as_block(x: Any) -> Array:
    """Rows as loops can read them, copied if they have to be; tensors, which have loops of their own, as they are."""
    if is_block(x):
        return np.asarray(x)
    if is_tensor(x):
        return x  # type: ignore[no-any-return]
    x = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
    return np.array(x, dtype=x.dtype if x.dtype == np.float32 else np.float64, order="C")


def group_totals(groups: Array, weight: Array | None, n_groups: int) -> tuple[Array, Array]:
    """Rows and weight of each group."""
    if is_tensor(groups):
        return tensor_loops.group_totals(groups, weight, n_groups)
    if weight is None:
        rows = np.bincount(groups, minlength=n_groups)
        return rows, rows.astype(float)
    return np.bincount(groups[weight != 0], minlength=n_groups), np.bincount(groups, weight, minlength=n_groups)


def ratio(numerator: Array, denominator: Array) -> Array:
    """numerator / denominator, and 0 where nothing has been seen."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0)


def moved(value: Any, positions: Array, n_groups: int) -> Any:
    """`value`, an array or a statistic, with its groups moved as `Statistic.regroup` says."""
    if isinstance(value, Statistic):
        return value.regroup(positions, n_groups)
    result = np.zeros((n_groups, *value.shape[1:]), dtype=value.dtype)
    kept = positions >= 0
    result[positions[kept]] = value[kept]
    return result


def rows_left(before: Array, gone: Array) -> Array:
    """Integer counts after forgetting; never negative."""
    left: Array = before - gone
    if (left < 0).any():
        raise UnseenRowsError(
            f"{int(-left.min())} more rows are to be forgotten than were ever seen in one class; "
            "forget only rows that were passed to fit or partial_fit."
        )
    return left


def weight_left(before: Array, gone: Array, rows: Array) -> Array:
    """Weights after forgetting: exactly zero where no row is left, never negative."""
    left = before - gone
    if (left < -ROUNDING * before).any() or ((rows == 0) & (left > ROUNDING * before)).any():
        raise UnseenRowsError(
            "the forgotten rows carry other weights than the rows that were seen; "
            "pass the same sample_weight as when they were learnt."
        )
    return np.where((rows == 0) | (left <= NOTHING * before), 0.0, left)


def counts_left(before: Array, gone: Array) -> Array:
    """Weighted counts after forgetting; never negative."""
    left = before - gone
    refuse_negative_counts(left, before)
    return np.where(left <= NOTHING * before, 0.0, left)


def refuse_negative_counts(left: Array, size: Array) -> None:
    """Raise if counts that remain are negative by more than rounding in numbers of that size."""
    if (left < -ROUNDING * size).any():
        raise UnseenRowsError(
            "the forgotten rows count more than all rows seen, so they were never seen; "
            "forget only rows that were passed to fit or partial_fit."
        )


def largest_shrinkage(before: Array, left: Array, changed: Array) -> float:
    """The largest factor by which a sum has become smaller where `changed`."""
    changed = changed & (before > 0)
    with np.errstate(divide="ignore"):
        return float(np.max(before[changed] / left[changed], initial=1.0))


def same_shape(name: str, mine: tuple[int, ...], theirs: tuple[int, ...]) -> None:
    """Refuse to merge statistics of different shape."""
    if mine != theirs:
        raise MergeError(
            f"cannot merge {name} of shape {theirs} into shape {mine}: both must describe the same columns and classes."
        )
