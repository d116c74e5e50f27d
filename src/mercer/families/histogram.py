"""The histogram as a family: a density that is constant on each bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._errors import BinsError, EmptyDataError
from mercer._stored import stored
from mercer._typing import Array
from mercer.families.bins import BinAxis, BinSample, Width, axis_from, rule_named
from mercer.families.levels import CategoricalParameters, LevelFamily, draw, log_probability, one_hot


@stored()
@dataclass(frozen=True, repr=False)
class Histogram(LevelFamily):
    """p(x) = p_j / width_j for x in bin j;  T = indicators of the bins,  η = log p,  A = log Σ e^η,  b = 1/width.

    `bins` is their number between the lowest and the highest value of the first batch of data (`with_edges_from`), a
    rule for it ("auto", "freedman-diaconis", "scott", "sturges", "doane", "stone", "knuth"), a `Width`, or the
    increasing edges. A bin contains its left edge, the last bin both edges. Values beyond the edges are counted in
    the outermost bins, and have their density.

    Examples
    --------
    >>> from mercer.families import CategoricalParameters, Histogram
    >>> bins = Histogram(bins=(0.0, 1.0, 4.0))
    >>> np.exp(bins.log_density([0.5, 2.0], CategoricalParameters(np.array([0.4, 0.6])))).round(3)
    array([0.4, 0.2])
    """

    bins: int | str | Width | tuple[float, ...] | Array = 10

    name: ClassVar[str] = "histogram"
    statistic: ClassVar[str] = "bins"
    support: ClassVar[str] = "finite numbers"

    def __post_init__(self) -> None:
        if isinstance(self.bins, str):
            rule_named(self.bins)
        elif isinstance(self.bins, int | np.integer):
            if self.bins < 1:
                raise BinsError(f"a histogram needs at least one bin; got bins={self.bins}.")
        elif not isinstance(self.bins, Width):
            object.__setattr__(self, "bins", tuple(BinAxis.given(self.bins).edges.tolist()))

    def __repr__(self) -> str:
        if not self.resolved:
            return f"Histogram(bins={self.bins!r})"
        return f"Histogram(<{self.n_bins} bins from {self.edges[0]:g} to {self.edges[-1]:g}>)"

    @property
    def resolved(self) -> bool:
        """Return whether the edges are known."""
        return isinstance(self.bins, tuple)

    @property
    def edges(self) -> Array:
        if not isinstance(self.bins, tuple):
            raise ValueError(f"{self!r} has no edges yet: call with_edges_from(x), or give the edges as `bins`.")
        return np.array(self.bins)

    @property
    def n_bins(self) -> int:
        return int(self.bins) if isinstance(self.bins, int | np.integer) else len(self.edges) - 1

    @property
    def widths(self) -> Array:
        return np.diff(self.edges)

    def with_edges_from(self, x: Array) -> Histogram:
        """Return the histogram whose edges the number, rule or width of `bins` places for the values `x`."""
        if self.resolved:
            return self
        values = np.asarray(x)
        values = values[np.isfinite(values)]
        if not values.size:
            raise EmptyDataError("a histogram cannot place its bins without a finite value; give the edges as `bins`.")
        return Histogram(axis_from(self.bins, BinSample(values)).edges)

    def bin_codes(self, x: Array) -> Array:
        """Bin of each value, or −1 where it is missing."""
        codes = np.searchsorted(self.edges[1:-1], x, side="right")
        return np.where(np.isnan(x), -1, codes)

    def sufficient(self, x: Array) -> Array:
        return one_hot(self.bin_codes(x), self.n_bins)

    def log_base(self, x: Array) -> Array:
        return np.where(self.outside(x), -np.inf, -np.log(self.widths)[self.bin_codes(x)])

    def log_density_inside(self, x: Array, parameters: CategoricalParameters) -> Array:
        codes = self.bin_codes(x)
        return np.asarray(log_probability(codes, parameters) - np.log(self.widths)[codes])

    def sample(self, parameters: CategoricalParameters, n: int, rng: np.random.Generator) -> Array:
        codes = draw(parameters, n, rng)
        return np.asarray(self.edges[codes] + rng.random(codes.shape) * self.widths[codes])

    def outside(self, x: Array) -> Array:
        return np.isinf(x)
