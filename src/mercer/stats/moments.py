"""Mean and variance of every column in every group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._gpu import is_tensor
from mercer._gpu import moments as tensor_loops
from mercer._jit.stats import moments as loops
from mercer._stored import floats, reals, stored
from mercer._typing import Array
from mercer.stats._centred import Centred, squares_left
from mercer.stats.base import as_block, as_weight, largest_shrinkage, ratio, spoilt_sums_are_silent


@stored(rows=reals("gd"), weight=reals("gd"), pilot=floats("gd"), offset=floats("gd"), scatter=floats("gd"))
@dataclass(frozen=True)
class ColumnMoments(Centred):
    """Rows, weight, mean and centred sum of squares; all of shape (groups, columns).

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
        """Maximum likelihood variance; 0 where nothing has been seen."""
        return ratio(self.scatter, self.weight)

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        block = as_block(x)
        if self.transform is not None:
            block = as_block(self.transform(block))
        return self.merge(self._of(block, groups, weight))

    @spoilt_sums_are_silent
    def _of(self, block: Array, groups: Array, weight: Array | None) -> Self:
        sums = tensor_loops.column_sums if is_tensor(block) else column_sums
        pilot, rows, total, first, second = sums(block, groups, weight, self.groups)
        offset = ratio(first, total)
        scatter = np.maximum(second - first * offset, 0.0)
        return replace(self, rows=rows, weight=total, pilot=pilot, offset=offset, scatter=scatter)

    @spoilt_sums_are_silent
    def merge(self, other: Self) -> Self:
        centre, shift = self._joined(other)
        scatter = self.scatter + other.scatter + shift.weight * np.square(shift.difference)
        return replace(self, **centre._asdict(), scatter=scatter)

    def subtract(self, other: Self) -> Self:
        centre, shift = self._parted(other)
        scatter = self.scatter - other.scatter - shift.weight * np.square(shift.difference)
        return replace(self, **centre._asdict(), scatter=squares_left(self.scatter, scatter, centre.rows))

    def cancellation(self, left: Self) -> float:
        changed = (left.rows > 1) & (left.rows < self.rows)
        return largest_shrinkage(self.scatter, left.scatter, changed)


def column_sums(block: Array, groups: Array, weight: Array | None, n_groups: int) -> tuple[Array, ...]:
    """The pilot, and rows, weight, Σw(x−pilot) and Σw(x−pilot)² of what is no NaN: each (groups, columns)."""
    weight = as_weight(weight)
    pilot = loops.pilot(block, groups, weight, n_groups)
    rows, total, first, second = loops.sums(block, groups, weight, pilot)
    if np.isfinite(first).all():
        rows, total = (np.repeat(a[:, None], block.shape[1], axis=1) for a in (rows, total))
    else:
        rows, total, first, second = loops.sums_of_observed(block, groups, weight, pilot)
    return pilot, rows, total, first, second
