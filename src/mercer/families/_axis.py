"""Bins side by side on a line: which one a value falls into, and more of the same width where values lie beyond."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer._errors import BinsError, TooLargeError
from mercer._stored import floats, stored
from mercer._typing import Array

#: bins of an axis, and cells of a grid: more are a mistake (a far outlier, say), and fill the memory
MOST_BINS = 1 << 26


@stored()
@dataclass(frozen=True)
class Lattice:
    """Edges of equal distance without end: number k is at start + k·step, number `last` at `stop` to the last bit."""

    start: float
    step: float
    last: int | None = None
    stop: float | None = None

    def edge(self, k: int) -> float:
        return self.stop if self.stop is not None and k == self.last else self.start + k * self.step

    def between(self, first: int, last: int) -> Array:
        """Edges from number `first` to number `last`."""
        numbers = np.arange(first, last + 1, dtype=float)
        edges = numbers * self.step + self.start  # as numpy.linspace rounds
        if self.last is not None and first <= self.last <= last:
            edges[self.last - first] = self.stop
        return edges

    def below(self, value: float) -> int:
        """Number of the last edge at or below a value."""
        if not self.step > 4 * np.spacing(max(abs(value), abs(self.start))):
            raise BinsError(
                f"bins of width {self.step:g} cannot be told apart in float64 at {value:g}; give wider bins, or "
                "subtract a constant from the column."
            )
        k = math.floor((value - self.start) / self.step)
        while self.edge(k) > value:
            k -= 1
        while self.edge(k + 1) <= value:
            k += 1
        return k


@stored(edges=floats("e", order="rising"))
@dataclass(frozen=True, eq=False)
class Axis:
    """Increasing `edges`. A bin holds its left edge; the one that ends at `closed` holds this edge, too.

    An axis on a lattice (whose edge `first` is its first) can grow by whole bins. `closed`, where there is one, stays
    what it was: a value is in the same bin of the lattice however far the axis has grown, so that counts add up.
    """

    edges: Array
    closed: float = math.nan
    lattice: Lattice | None = None
    first: int = 0

    @classmethod
    def given(cls, edges: Any) -> Self:
        """The edges themselves; the last one is closed."""
        try:
            values = np.array(edges, dtype=float)
        except (TypeError, ValueError):
            raise BinsError(f"the edges of a histogram must be numbers; got {edges!r}.") from None
        if values.ndim != 1 or len(values) < 2 or not (np.isfinite(values).all() and (np.diff(values) > 0).all()):
            raise BinsError(f"the edges of a histogram must be finite and increase strictly; got {edges!r}.")
        return cls(values, float(values[-1]))

    @classmethod
    def even(cls, lowest: float, highest: float, bins: int) -> Self:
        """So many bins of equal width, as `numpy.histogram` makes them; the last edge is closed."""
        refuse_too_many(bins, f"{bins:,} bins")
        lattice = Lattice(lowest, (highest - lowest) / bins, bins, highest)
        edges = lattice.between(0, bins)
        if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise BinsError(
                f"{bins} bins between {lowest!r} and {highest!r} cannot be told apart in float64; ask for fewer, or "
                "subtract a constant from the column and divide it by one."
            )
        return cls(edges, highest, lattice)

    @property
    def bins(self) -> int:
        return len(self.edges) - 1

    @property
    def widths(self) -> Array:
        return np.diff(self.edges)

    def codes(self, x: Array) -> Array:
        """The bin of each value; all of them must lie between the first and the last edge."""
        if self.lattice is None or self._doubt > 0.25:
            return self._searched(x)
        # a division lands in the right bin unless a value is so close to an edge that rounding decides
        places = x - self.edges[0]
        places /= self.lattice.step
        codes: Array = places.astype(np.intp)
        places -= np.rint(places)
        close = np.flatnonzero(np.abs(places, out=places) <= self._doubt)
        if close.size:
            codes[close] = self._searched(x[close])
        return codes

    @cached_property
    def _doubt(self) -> float:
        """How far, in bins, rounding can move a value from where a division puts it, or an edge from where it is."""
        assert self.lattice is not None
        rounding = np.spacing(np.abs(self.edges).max()) + self.bins * np.spacing(self.lattice.step)
        return float(4 * rounding / self.lattice.step)

    def _searched(self, x: Array) -> Array:
        codes = np.searchsorted(self.edges, x, side="right") - 1
        codes -= x == self.closed
        return codes

    def holds(self, x: Array) -> Array:
        """Which values lie between the first and the last edge."""
        top = x <= self.edges[-1] if self.closed == self.edges[-1] else x < self.edges[-1]
        return np.asarray((x >= self.edges[0]) & top)

    def covering(self, lowest: float, highest: float) -> Axis:
        """With bins added at both ends until these values have one; unchanged where it is on no lattice."""
        if self.lattice is None or self.holds(np.array([lowest, highest])).all():
            return self
        top, bottom = max(highest, float(self.edges[-1])), min(lowest, float(self.edges[0]))
        refuse_too_many(
            top / self.lattice.step - bottom / self.lattice.step,
            f"values from {lowest:g} to {highest:g} in bins of width {self.lattice.step:g}",
        )
        first = min(self.first, self.lattice.below(lowest))
        last = max(self.first + self.bins, self.lattice.below(highest) + 1)
        return self._reaching(first, last)

    def joined(self, other: Axis) -> Axis | None:
        """The axis that has the bins of both; None where their edges differ."""
        if self.lattice is not None and self.lattice == other.lattice:
            first = min(self.first, other.first)
            return self._reaching(first, max(self.first + self.bins, other.first + other.bins))
        same = np.array_equal([*self.edges, self.closed], [*other.edges, other.closed], equal_nan=True)
        return self if same else None

    def _reaching(self, first: int, last: int) -> Axis:
        if (first, last) == (self.first, self.first + self.bins) or self.lattice is None:
            return self
        refuse_too_many(last - first, f"{last - first:,} bins")
        return Axis(self.lattice.between(first, last), self.closed, self.lattice, first)


def refuse_too_many(bins: float, what: str) -> None:
    """`TooLargeError` beyond `MOST_BINS`."""
    if not bins <= MOST_BINS:
        raise TooLargeError(
            f"{what} make more than {MOST_BINS:,} bins; look for a value far from all others, or give wider or fewer "
            "`bins`."
        )
