"""Mean and covariance of complete rows in every group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._gpu import is_tensor
from mercer._gpu import moments as tensor_loops
from mercer._stored import floats, reals, stored
from mercer._threads import WORTH_THREADS
from mercer._typing import Array
from mercer.stats._centred import Centred, squares_left
from mercer.stats._tiles import squares_by_blas, squares_by_loops
from mercer.stats.base import as_block, largest_shrinkage, ratio, spoilt_sums_are_silent


@stored(rows=reals("g"), weight=reals("g"), pilot=floats("gd"), offset=floats("gd"), scatter=floats("gdd"))
@dataclass(frozen=True)
class ScatterMoments(Centred):
    """Rows and weight (groups,), mean (groups, columns) and scatter Σw(x−mean)(x−mean)ᵀ (groups, columns, columns).

    For complete rows only: a missing or infinite value leaves `finite` False, and `PatternMoments` keeps
    missing values apart.
    """

    @classmethod
    def zero(cls, groups: int, columns: int) -> Self:
        pilot, offset = np.zeros((2, groups, columns))
        scatter = np.zeros((groups, columns, columns))
        return cls(np.zeros(groups, dtype=np.int64), np.zeros(groups), pilot, offset, scatter)

    @property
    def covariance(self) -> Array:
        """Maximum likelihood covariance of each group; 0 where nothing has been seen."""
        return ratio(self.scatter, self.weight[:, None, None])

    def within(self) -> Array:
        """Scatter about the groups' own means, pooled over the groups: (columns, columns)."""
        return np.asarray(self.scatter.sum(axis=0))

    @spoilt_sums_are_silent
    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        block = as_block(x)
        squares: Any = squares_by_loops if self.scatter.shape[1] < WORTH_THREADS else squares_by_blas
        if is_tensor(block):
            squares = tensor_loops.scatter_sums
        (pilot, rows, weight, first), second = squares(block, groups, weight, self.groups)
        offset = ratio(first, weight[:, None])
        if np.isfinite(offset).all():
            _take_out(second, weight, offset)
        return self.merge(replace(self, rows=rows, weight=weight, pilot=pilot, offset=offset, scatter=second))

    @spoilt_sums_are_silent
    def merge(self, other: Self) -> Self:
        centre, shift = self._joined(other)
        scatter = self.scatter + other.scatter
        scatter += _outer(*shift)
        return replace(self, **centre._asdict(), scatter=scatter)

    def subtract(self, other: Self) -> Self:
        centre, shift = self._parted(other)
        scatter = self.scatter - other.scatter
        scatter -= _outer(*shift)
        squares = squares_left(_diagonal(self.scatter), _diagonal(scatter), centre.rows[:, None])
        varies = squares > 0
        # a column without variance has no covariance either, whatever rounding has left of it
        scatter = np.where(varies[:, :, None] & varies[:, None, :], scatter, 0.0)
        return replace(self, **centre._asdict(), scatter=scatter)

    def cancellation(self, left: Self) -> float:
        changed = ((left.rows > 1) & (left.rows < self.rows))[:, None]
        return largest_shrinkage(_diagonal(self.scatter), _diagonal(left.scatter), changed)


def _diagonal(matrices: Array) -> Array:
    return np.diagonal(matrices, axis1=1, axis2=2)


def _outer(weight: Array, difference: Array) -> Array:
    """weight · difference differenceᵀ for each group, symmetric to the last bit."""
    result: Array = difference[:, :, None] * difference[:, None, :]
    result *= weight[:, None, None]
    return result


def _take_out(second: Array, weight: Array, offset: Array) -> None:
    """Turn sums of squares about the pilot into those about the mean."""
    second -= _outer(weight, offset)
    squares = np.einsum("kii->ki", second)
    np.maximum(squares, 0.0, out=squares)
