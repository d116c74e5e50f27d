"""The likelihood of normal rows with gaps, as a function of mean and covariance, from moments by pattern alone.

For the rows of one group that show the columns o, with weight n, mean m and scatter S,

    ℓ(μ, Σ) = −½ [ n |o| log 2π + n log|Σ_oo| + tr Σ_oo⁻¹ (S + n (m−μ)_o (m−μ)_oᵀ) ].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from mercer._jit.solvers import gaps as loops
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.families.gaussian import LOG_2PI
from mercer.stats import PatternMoments
from mercer.stats.base import ratio

#: cells that are added up at a time
CHUNK = 128


class Point(NamedTuple):
    """Means (groups, columns) and the covariance they share (columns, columns)."""

    mean: Array
    covariance: Array


class Slope(NamedTuple):
    """Log likelihood of each group (groups,), its derivatives by the mean (groups, columns), twice that by Σ."""

    log_likelihood: Array
    by_mean: Array
    by_covariance: Array


class Scale(NamedTuple):
    """Columns are measured as (x − centre) / unit, so that units decide nothing."""

    centre: Array
    unit: Array


@dataclass(frozen=True)
class Cells:
    """One cell for the rows of one group that lack the same columns; entries of columns they lack are zero."""

    observed: Array  # (cells, columns)
    group: Array  # (cells,)
    weight: Array  # (cells,)
    mean: Array  # (cells, columns)
    several: Array  # (cells,): whether there is more than one row
    scatter: Array  # (those of several rows, columns, columns)
    log_unit: Array  # (columns,): for densities in the original units
    groups: int

    @classmethod
    def of(cls, moments: PatternMoments) -> tuple[Self, Scale]:
        """Cells of columns with unit variance within the groups. Rows that show nothing are left out."""
        centre = _centre(moments)
        cells = cls._about(moments, centre)
        unit = np.sqrt(cells.variance())
        unit[unit == 0] = 1.0
        return cells._in(unit), Scale(centre, unit)

    @classmethod
    def _about(cls, moments: PatternMoments, centre: Array) -> Self:
        d = moments.columns
        seen = [(mask, part, g) for mask, part in moments if mask.any() for g in np.flatnonzero(part.weight > 0)]
        mean, scatter = np.zeros((len(seen), d)), []
        for i, (mask, part, g) in enumerate(seen):
            mean[i, mask] = (part.pilot[g] - centre[mask]) + part.offset[g]
            if part.rows[g] > 1:
                scatter.append(np.zeros((d, d)))
                scatter[-1][np.ix_(mask, mask)] = part.scatter[g]
        return cls(
            observed=np.array([mask for mask, _, _ in seen], dtype=bool).reshape(-1, d),
            group=np.array([g for _, _, g in seen], dtype=np.int64),
            weight=np.array([part.weight[g] for _, part, g in seen]),
            mean=mean,
            several=np.array([part.rows[g] > 1 for _, part, g in seen], dtype=bool),
            scatter=np.array(scatter).reshape(-1, d, d),
            log_unit=np.zeros(d),
            groups=moments.groups,
        )

    def _in(self, unit: Array) -> Self:
        scatter = self.scatter / (unit[:, None] * unit)
        return replace(self, mean=self.mean / unit, scatter=scatter, log_unit=np.log(unit))

    def by_group(self, values: Array) -> Array:
        """Sums over the cells of each group."""
        member = (self.group == np.arange(self.groups)[:, None]).astype(float)
        return np.asarray(np.tensordot(member, values, axes=1))

    def column_weight(self) -> Array:
        """How much was observed of each column in each group: (groups, columns)."""
        return self.by_group(self.weight[:, None] * self.observed)

    def column_mean(self) -> Array:
        """Mean of what was observed of each column in each group: (groups, columns)."""
        return ratio(self.by_group(self.weight[:, None] * self.mean), self.column_weight())

    def variance(self) -> Array:
        """Variance of what was observed of each column about the means of the groups: (columns,)."""
        away = np.where(self.observed, self.mean - self.column_mean()[self.group], 0.0)
        squares = np.einsum("cjj->j", self.scatter) + self.weight @ np.square(away)
        return ratio(squares, self.column_weight().sum(axis=0))

    def slope(self, point: Point) -> Slope:
        """The log likelihood and its derivatives; `LinAlgError` where the covariance is not positive definite."""
        parts = ordered_map(lambda rows: self._sums(rows, point), row_blocks(len(self.weight), CHUNK))
        deviance, by_mean, by_covariance = (sum(part) for part in zip(*parts, strict=True))
        if not np.isfinite(deviance).all():
            raise np.linalg.LinAlgError("the covariance is not positive definite.")
        constants = self.column_weight() @ (LOG_2PI + 2 * self.log_unit)
        return Slope(-0.5 * (deviance + constants), by_mean, by_covariance)

    def _sums(self, rows: slice, point: Point) -> tuple[Array, Array, Array]:
        cells = (a[rows] for a in (self.observed, self.group, self.weight, self.mean))
        before = int(np.count_nonzero(self.several[: rows.start]))
        sums: tuple[Array, Array, Array] = loops.slope(*cells, self.scatter[before:], self.several[rows], *point)
        return sums


def _centre(moments: PatternMoments) -> Array:
    """A value near the data of each column, from which means can be subtracted without losing digits."""
    centre, found = np.zeros(moments.columns), np.zeros(moments.columns, dtype=bool)
    for mask, part in moments:
        centre[mask & ~found] = part.pilot[np.argmax(part.weight > 0)][~found[mask]]
        found |= mask
    return centre
