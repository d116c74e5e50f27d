"""Fourth moments for the shrinkage of Ledoit and Wolf, in a form that can be merged and subtracted.

The intensity depends on Σᵢ (Σⱼ zᵢⱼ²)² of rows z that are standardised by the final mean and standard deviation, which
are unknown while a shard is read. The sums Σ u_a² u_b² and Σ u_a² u_b about a shard's own mean can be moved to any
other mean, and be scaled afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mercer._gpu import is_tensor
from mercer._gpu import moments as tensor_loops
from mercer._stored import floats, part_of, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.stats.base import Statistic, as_block, divide, measure_shrinkage, silence_infinities
from mercer.stats.centred import ScatterMoments

#: a smaller fourth power has lost digits, and the reciprocal of the variance may overflow
SMALLEST_FOURTH_POWER = 1e-290
#: rows multiplied at a time
FOURTH_MOMENT_ROWS = 1024


@stored(moments=part_of(ScatterMoments, g="g", d="d"), third=floats("gdd"), fourth=floats("gdd"))
@dataclass(frozen=True)
class FourthMoments(Statistic):
    """third[g, a, b] = Σ w u_a² u_b and fourth[g, a, b] = Σ w u_a² u_b² of complete rows, with u = x − mean."""

    moments: ScatterMoments
    third: Array
    fourth: Array

    grouped: ClassVar[tuple[str, ...]] = ("moments", "third", "fourth")

    @classmethod
    def zero(cls, groups: int, columns: int) -> Self:
        third, fourth = np.zeros((2, groups, columns, columns))
        return cls(ScatterMoments.zero(groups, columns), third, fourth)

    @property
    def groups(self) -> int:
        return self.moments.groups

    @property
    def finite(self) -> bool:
        return self.moments.finite

    def beyond_range(self) -> Array:
        """Return the columns, as a mask (groups, columns), whose fourth powers are out of the range of float64."""
        squares, fourths = (np.diagonal(a, axis1=1, axis2=2) for a in (self.moments.scatter, self.fourth))
        with np.errstate(over="ignore"):
            means = divide(fourths, self.moments.weight[:, None])
        known = (np.minimum(fourths, means) > SMALLEST_FOURTH_POWER) & np.isfinite(fourths) & np.isfinite(means)
        return np.asarray((squares > 0) & ~known)

    def ledoit_wolf(self) -> Array:
        """Return the shrinkage intensity of each group's standardised rows towards a multiple of the identity."""
        return ledoit_wolf_intensity(self.moments.weight, self.moments.scatter, self.fourth)

    def ledoit_wolf_within(self) -> float:
        """Return the intensity for a covariance shared by all groups, with each row relative to its group's mean."""
        weight, scatter, fourth = (a.sum(axis=0) for a in (self.moments.weight, self.moments.scatter, self.fourth))
        return float(ledoit_wolf_intensity(weight, scatter, fourth))

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        block = as_block(x)
        moments = self.moments.empty().update(block, groups, weight)
        third, fourth = np.zeros((2, *self.third.shape))
        if moments.finite:
            sums = tensor_loops.higher_sums if is_tensor(block) else higher_sums
            third, fourth = sums(block, groups, weight, moments.pilot, moments.offset)
        return self.merge(replace(self, moments=moments, third=third, fourth=fourth))

    @silence_infinities
    def merge(self, other: Self) -> Self:
        moments = self.moments.merge(other.moments)
        third, fourth = (a + b for a, b in zip(self._move(moments), other._move(moments), strict=True))
        return replace(self, moments=moments, third=third, fourth=fourth)

    def subtract(self, other: Self) -> Self:
        gone_third, gone_fourth = other._move(self.moments)
        left = replace(self, moments=self.moments.subtract(other.moments))
        left = replace(left, third=self.third - gone_third - left._third_excess(self.moments))
        fourth = self.fourth - gone_fourth - left._fourth_excess(self.moments)
        several = left.moments.rows[:, None, None] > 1
        return replace(left, third=np.where(several, left.third, 0.0), fourth=np.where(several, fourth, 0.0))

    def _move(self, centre: ScatterMoments) -> tuple[Array, Array]:
        """Return the third and fourth moments about the mean of `centre`."""
        return self.third + self._third_excess(centre), self.fourth + self._fourth_excess(centre)

    def _third_excess(self, centre: ScatterMoments) -> Array:
        """Return Σ w (u_a+s_a)² (u_b+s_b) − Σ w u_a² u_b, with s = mean − that of `centre`."""
        step, squares, scatter, weight = self._step(centre)
        a, b = step[:, :, None], step[:, None, :]
        return np.asarray(b * squares[:, :, None] + 2 * a * scatter + weight * np.square(a) * b)

    def _fourth_excess(self, centre: ScatterMoments) -> Array:
        """Return Σ w (u_a+s_a)² (u_b+s_b)² − Σ w u_a² u_b²."""
        step, squares, scatter, weight = self._step(centre)
        a, b = step[:, :, None], step[:, None, :]
        half = 2 * b * self.third + np.square(b) * squares[:, :, None]
        return np.asarray(half + half.swapaxes(1, 2) + 4 * a * b * scatter + weight * np.square(a * b))

    def _step(self, centre: ScatterMoments) -> tuple[Array, Array, Array, Array]:
        scatter = self.moments.scatter
        squares = np.diagonal(scatter, axis1=1, axis2=2)
        return centre.difference(self.moments), squares, scatter, self.moments.weight[:, None, None]

    def cancellation(self, left: Self) -> float:
        changed = ((left.moments.rows > 1) & (left.moments.rows < self.moments.rows))[:, None]
        squares, squares_left = (np.diagonal(s.fourth, axis1=1, axis2=2) for s in (self, left))
        return measure_shrinkage(squares, squares_left, changed)


def ledoit_wolf_intensity(weight: Array, scatter: Array, fourth: Array) -> Array:
    """Return the intensity of Ledoit and Wolf (2004), eq. 14, for standardised columns; 0 without spread.

    With Z the standardised rows and C their covariance: β = (Σ‖z‖⁴/n − ‖C‖²)/n estimates the error of C, and
    δ = ‖C − μI‖² its distance from the target; the intensity is min(β, δ)/δ.
    """
    d = scatter.shape[-1]
    covariance = divide(scatter, np.asarray(weight)[..., None, None])
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    precision = divide(np.ones_like(variance), variance)
    squared_norm = _scaled_sum(np.square(covariance), precision)
    trace = np.count_nonzero(variance, axis=-1)
    distance = squared_norm - trace**2 / d
    error = divide(divide(_scaled_sum(fourth, precision), weight) - squared_norm, weight)
    # one column is its own target, which rounding would hide
    return np.zeros(np.shape(weight)) if d == 1 else divide(np.minimum(error, distance), distance)


def _scaled_sum(matrices: Array, scale: Array) -> Array:
    """Return Σ scale_a scale_b M_ab."""
    return np.asarray(np.einsum("...a,...ab,...b->...", scale, matrices, scale))


@silence_infinities
def higher_sums(block: Array, groups: Array, weight: Array | None, pilot: Array, offset: Array) -> tuple[Array, Array]:
    """Return Σw u_a² u_b and Σw u_a² u_b² of each group, with u = (x − pilot) − offset; not finite on overflow."""
    third, fourth = np.zeros((2, *pilot.shape, block.shape[1]))
    for group, rows in _rows_by_group(groups, weight, len(pilot)):
        u = (block[rows] - pilot[group]) - offset[group]
        root = 1.0 if weight is None else np.sqrt(weight[rows, None])
        scaled, squared = root * u, root * np.square(u)
        third[group] += squared.T @ scaled
        fourth[group] += squared.T @ squared
    return third, fourth


def _rows_by_group(groups: Array, weight: Array | None, n_groups: int) -> Iterator[tuple[int, Array]]:
    """Yield each group with the indices of some of its rows of positive weight, few enough to stay in the cache."""
    rows = np.arange(len(groups)) if weight is None else np.flatnonzero(weight)
    order = rows[np.argsort(groups[rows], kind="stable")]
    ends = np.cumsum(np.bincount(groups[rows], minlength=n_groups))
    for group, rows in enumerate(np.split(order, ends[:-1])):
        for tile in row_blocks(len(rows), FOURTH_MOMENT_ROWS):
            yield group, rows[tile]
