"""The density of a histogram: constant on each cell of a grid, nothing beyond it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from mercer._stored import part_of, real, reals, sequence, stored
from mercer._typing import Array
from mercer.families.bins import Axis


@stored(
    lambda own: own.counts.shape == tuple(len(axis.edges) - 1 for axis in own.axes),
    axes=sequence("d", part_of(Axis)),
    counts=reals(),
    total=real(),
)
class Cells:
    """p(x) = (count of the cell of x) / (all counts · volume of the cell).

    Parameters
    ----------
    axes : sequence of Axis
        The sides of the grid.
    counts : array with one dimension per axis
        Weight in each cell, not all of it zero.
    """

    def __init__(self, axes: Sequence[Axis], counts: Array) -> None:
        self.axes, self.counts = tuple(axes), counts
        self.total = float(counts.sum())

    @cached_property
    def density(self) -> Array:
        """p in each cell; inf where a volume is too small for float64, as `log_densities` are not."""
        with np.errstate(over="ignore", under="ignore"):
            density = self.counts / self.total
            for j, axis in enumerate(self.axes):
                density = density / self._along(j, axis.widths)
        return np.asarray(density)

    @cached_property
    def log_densities(self) -> Array:
        """log p in each cell; −inf in empty ones."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.counts) - np.log(self.total)
        for j, axis in enumerate(self.axes):
            logs = logs - self._along(j, np.log(axis.widths))
        return np.asarray(logs)

    @cached_property
    def cumulative(self) -> Array:
        """Share of the weight below each corner of the grid."""
        sums = np.pad(self.counts, [(1, 0)] * len(self.axes))
        for j in range(len(self.axes)):
            sums = np.cumsum(sums, axis=j)
        return np.asarray(sums / sums[(-1,) * len(self.axes)])

    def _along(self, j: int, values: Array) -> Array:
        """Values of one axis, to be broadcast over the others."""
        return values.reshape([-1 if k == j else 1 for k in range(len(self.axes))])

    def log_density(self, X: Array) -> Array:
        """log p(x) for every row; −inf beyond the edges and in empty cells."""
        inside, places = np.ones(len(X), dtype=bool), np.zeros(len(X), dtype=np.intp)
        for j, axis in enumerate(self.axes):
            x = np.ascontiguousarray(X[:, j], dtype=float)
            held = axis.holds(x)
            if not held.all():
                inside &= held
                x = np.where(held, x, axis.edges[0])
            places *= axis.bins
            places += axis.codes(x)
        logs = self.log_densities.ravel()[places]
        return logs if inside.all() else np.where(inside, logs, -np.inf)

    def cdf(self, X: Array) -> Array:
        """P(X₁ ≤ x₁, X₂ ≤ x₂, …) for every row: linear between the corners of a cell along each axis."""
        starts, shares = zip(*(_place(axis, X[:, j]) for j, axis in enumerate(self.axes)), strict=True)
        result = np.zeros(len(X))
        for corner in itertools.product((0, 1), repeat=len(self.axes)):
            weight = np.prod([s if upper else 1 - s for s, upper in zip(shares, corner, strict=True)], axis=0)
            result += weight * self.cumulative[tuple(k + upper for k, upper in zip(starts, corner, strict=True))]
        return result

    def quantile(self, q: Array) -> Array:
        """The least x with P(X ≤ x) ≥ q, of a density on one axis."""
        (axis,) = self.axes
        filled = np.flatnonzero(self.counts)  # elsewhere the distribution function is flat
        ends = self.cumulative[filled + 1]
        places = np.minimum(np.searchsorted(ends, q, side="left"), len(filled) - 1)
        below, within = self.cumulative[filled[places]], np.diff(self.cumulative)[filled[places]]
        left, width = axis.edges[filled[places]], axis.widths[filled[places]]
        return np.asarray(left + width * np.clip((q - below) / within, 0.0, 1.0))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """So many rows."""
        shares = self.counts.ravel() / self.total
        chosen = np.unravel_index(rng.choice(shares.size, size=n, p=shares / shares.sum()), self.counts.shape)
        X = np.empty((n, len(self.axes)))
        for j, (axis, codes) in enumerate(zip(self.axes, chosen, strict=True)):
            left, right = axis.edges[codes], axis.edges[codes + 1]
            # a right edge, which rounding could yield, belongs to the next cell
            X[:, j] = np.minimum(left + rng.random(n) * (right - left), np.nextafter(right, left))
        return X

    def marginal(self, columns: Sequence[int]) -> Cells:
        """The density of some of the columns, in this order."""
        others = tuple(j for j in range(len(self.axes)) if j not in columns)
        kept = [j for j in range(len(self.axes)) if j in columns]
        counts = self.counts.sum(axis=others).transpose([kept.index(j) for j in columns])
        return Cells([self.axes[j] for j in columns], counts)


def _place(axis: Axis, x: Array) -> tuple[Array, Array]:
    """The bin of each value, and the share of it that lies below; values beyond the edges are taken to these."""
    inside = np.clip(np.asarray(x, dtype=float), axis.edges[0], axis.edges[-1])
    bins = np.minimum(axis.codes(inside), axis.bins - 1)
    return bins, (inside - axis.edges[bins]) / axis.widths[bins]
