"""The likelihood of normal rows with gaps, as a function of mean and covariance, from moments by pattern alone.

For the rows of one group that show the columns o, with weight n, mean m and scatter S,

    ℓ(μ, Σ) = −½ [ n |o| log 2π + n log|Σ_oo| + tr Σ_oo⁻¹ (S + n (m−μ)_o (m−μ)_oᵀ) ].
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mercer._threads import ordered_map, row_blocks
from mercer.families.gaussian import LOG_2PI
from mercer.stats import PatternMoments
from mercer.stats._base import ratio

Array = NDArray[Any]

#: bytes of one array over cells that is multiplied at a time: a few of them fit the L2 cache
CHUNK = 1 << 18


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
    scatter: Array  # (cells, columns, columns)
    log_unit: Array  # (cells,): Σ log of the units of the observed columns, for densities in the original ones
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
        mean, scatter = np.zeros((len(seen), d)), np.zeros((len(seen), d, d))
        for i, (mask, part, g) in enumerate(seen):
            mean[i, mask] = (part.pilot[g] - centre[mask]) + part.offset[g]
            scatter[i][np.ix_(mask, mask)] = part.scatter[g]
        observed = np.array([mask for mask, _, _ in seen], dtype=bool).reshape(-1, d)
        group = np.array([g for _, _, g in seen], dtype=np.int64)
        weight = np.array([part.weight[g] for _, part, g in seen])
        return cls(observed, group, weight, mean, scatter, np.zeros(len(seen)), moments.groups)

    def _in(self, unit: Array) -> Self:
        log_unit = self.observed @ np.log(unit)
        return replace(
            self, mean=self.mean / unit, scatter=self.scatter / (unit[:, None] * unit), log_unit=log_unit
        )

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
        squares = np.einsum("cjj->cj", self.scatter) + self.weight[:, None] * np.square(away)
        return ratio(squares.sum(axis=0), self.column_weight().sum(axis=0))

    def slope(self, point: Point) -> Slope:
        """The log likelihood and its derivatives; `LinAlgError` where the covariance is not positive definite."""
        chunks = row_blocks(len(self.weight), max(1, CHUNK // point.covariance.nbytes))
        parts = ordered_map(lambda rows: self._of(rows)._slope(point), chunks)
        return functools.reduce(lambda a, b: Slope(*(x + y for x, y in zip(a, b, strict=True))), parts)

    def _of(self, rows: slice) -> Self:
        fields = ("observed", "group", "weight", "mean", "scatter", "log_unit")
        return replace(self, **{name: getattr(self, name)[rows] for name in fields})

    def _slope(self, point: Point) -> Slope:
        n = self.weight
        precision, log_determinant = self._precision(point.covariance)
        away = np.where(self.observed, self.mean - point.mean[self.group], 0.0)
        pull = np.einsum("cij,cj->ci", precision, away)
        half = precision @ self.scatter
        squares = np.einsum("cii->c", half) + n * np.einsum("ci,ci->c", away, pull)
        constants = self.observed.sum(axis=1) * LOG_2PI + log_determinant + 2 * self.log_unit
        curve = half @ precision + n[:, None, None] * (pull[:, :, None] * pull[:, None, :] - precision)
        return Slope(*map(self.by_group, (-0.5 * (n * constants + squares), n[:, None] * pull, curve)))

    def _precision(self, covariance: Array) -> tuple[Array, Array]:
        """Σ_oo⁻¹ of each cell, zero outside o, and log|Σ_oo|."""
        both = self.observed[:, :, None] & self.observed[:, None, :]
        # with ones in place of what is not observed, all cells are inverted in one call
        bordered = np.where(both, covariance, np.eye(len(covariance)) * ~self.observed[:, :, None])
        root = np.linalg.inv(np.linalg.cholesky(bordered))
        log_determinant = -2 * np.log(np.einsum("cii->ci", root)).sum(axis=1)
        return np.where(both, np.swapaxes(root, 1, 2) @ root, 0.0), log_determinant


def _centre(moments: PatternMoments) -> Array:
    """A value near the data of each column, from which means can be subtracted without losing digits."""
    centre, found = np.zeros(moments.columns), np.zeros(moments.columns, dtype=bool)
    for mask, part in moments:
        centre[mask & ~found] = part.pilot[np.argmax(part.weight > 0)][~found[mask]]
        found |= mask
    return centre
