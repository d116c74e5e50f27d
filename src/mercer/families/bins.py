"""Bins of histograms: their edges by a rule, by number, by width, or given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from mercer._errors import BinsError, DataError, TooLargeError
from mercer._stored import floats, stored
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer.families.quartiles import quartile_distance
from mercer.report.wording import format_count

# Rules for the number of bins of equal width, by their authors' names.
#
# On one axis Scott, Freedman–Diaconis, Sturges, Doane and "auto" give the edges of `numpy.histogram_bin_edges`, and
# so does Stone where the best number of bins is among those that NumPy tries. On a grid of d axes the widths of the
# first two shrink like n^(−1/(2+d)), which is optimal there (Scott 1992, eq. 3.64); the others treat each axis alone.

#: exponents of two beyond which squares and cubes of the data may overflow or underflow
LARGEST_BIN_EXPONENT = 200
#: Knuth's and Stone's rules try the numbers of bins up to 10 √n, but at least up to this one;
#: NumPy's rule of Stone stops at √n or 100, which is too early for long tails
MIN_LAST_TRIED = 100
#: and at most up to this one, or √n where that is larger
MAX_LAST_TRIED = 1000


class BinSample:
    """Values on one axis with their weights, and the summaries that the rules use.

    Values of weight zero are left out. With weights, n is Kish's effective number (Σw)²/Σw²: it does not
    change when all weights are multiplied by a number, and is the number of rows when all are equal.

    Parameters
    ----------
    x : array of shape (n,)
        Finite values, at least one.
    weight : array of shape (n,), default=None
        Weight of each value; 1 if None.
    axes : int, default=1
        Number of axes of the grid.
    """

    def __init__(self, x: Array, weight: Array | None = None, axes: int = 1) -> None:
        if weight is not None and not weight.all():
            x, weight = x[weight > 0], weight[weight > 0]
        self.axes, self.weight, self._values = axes, weight, x
        self.is_integer = x.dtype.kind in "iub"
        self.lowest, self.highest = float(x.min()), float(x.max())

    @cached_property
    def exponent(self) -> int:
        """Exponent of the power of two by which values are scaled, exactly, so that their squares do not overflow."""
        exponent = int(np.frexp(max(abs(self.lowest), abs(self.highest)))[1])
        return -exponent if abs(exponent) > LARGEST_BIN_EXPONENT else 0

    @cached_property
    def x(self) -> Array:
        values = np.asarray(self._values, dtype=float)
        return np.ldexp(values, self.exponent) if self.exponent else values

    def scaled(self, value: float) -> float:
        """Scale a value to the units of `x`."""
        return float(np.ldexp(value, self.exponent))

    @cached_property
    def n(self) -> float:
        if self.weight is None:
            return float(len(self.x))
        share = self.weight / self.weight.max()
        return float(share.sum() ** 2 / np.square(share).sum())

    @cached_property
    def span(self) -> float:
        return self.scaled(self.highest) - self.scaled(self.lowest)

    @cached_property
    def mean(self) -> float:
        return float(np.average(self.x, weights=self.weight))

    @cached_property
    def deviation(self) -> float:
        if self.weight is None:
            return float(np.std(self.x))
        return float(np.sqrt(np.average(np.square(self.x - self.mean), weights=self.weight)))

    @cached_property
    def skewness(self) -> float:
        z = (self.x - self.mean) / self.deviation
        return float(np.average(z * z * z, weights=self.weight))  # z**3 takes ten times as long

    @cached_property
    def quartile_distance(self) -> float:
        return quartile_distance(self.x, self.weight)

    def counts_by_number(self) -> Callable[[int], Array]:
        """Return the function from a number of bins to their counts, which add up to n."""
        order = np.argsort(self.x, kind="stable") if self.weight is not None else None
        x = np.sort(self.x) if order is None else self.x[order]
        steps = np.arange(len(x) + 1.0) if self.weight is None else np.append(0.0, np.cumsum(self.weight[order]))

        def counts(bins: int) -> Array:
            inner = np.linspace(x[0], x[-1], bins + 1)[1:-1]
            below = steps[np.searchsorted(x, inner, side="left")]
            return np.asarray(np.diff(below, prepend=0.0, append=steps[-1]) * (self.n / steps[-1]))

        return counts

    def numbers_tried(self) -> range:
        root = np.sqrt(self.n)
        return range(1, int(max(MIN_LAST_TRIED, min(10 * root, MAX_LAST_TRIED), root)) + 1)


def number_of_bins(rule: str, sample: BinSample) -> int:
    """Number of bins of equal width from the lowest to the highest value; 1 where the rule gives no width."""
    if rule in NUMBER_RULES:
        bins = float(NUMBER_RULES[rule](sample))
    else:
        width = WIDTH_RULES[rule](sample)
        bins = float(np.ceil(sample.span / width)) if width > 0 else 1.0
    if sample.is_integer:
        bins = min(bins, sample.span)  # bins narrower than 1 would alternate between full and empty
    # with more bins their edges would not be distinct in float64
    most = sample.span / (8 * np.spacing(sample.scaled(max(abs(sample.lowest), abs(sample.highest)))))
    return max(1, int(min(bins, most)))


def rule_named(name: str) -> str:
    """Return the full name of a rule, or raise an error with the known names."""
    name = RULE_ALIASES.get(name, name)
    if name not in (known := sorted(WIDTH_RULES | NUMBER_RULES)):
        raise BinsError(f"no rule for the bins of a histogram is called {name!r}. {did_you_mean(name, known)}")
    return name


def _scott(sample: BinSample) -> float:
    """Width (24 √π/n)^⅓ σ on one axis: least mean squared error if the density is normal (Scott 1979)."""
    d = sample.axes
    return float((2 ** (d + 2) * 3 * np.pi ** (d / 2) / sample.n) ** (1 / (d + 2)) * sample.deviation)


def _freedman_diaconis(sample: BinSample) -> float:
    """Width 2 IQR n^(−⅓) on one axis: a few outliers do not widen the bins (Freedman & Diaconis 1981)."""
    return float(2 * sample.quartile_distance * sample.n ** (-1 / (sample.axes + 2)))


def _sturges(sample: BinSample) -> float:
    """Width of 1 + log₂ n bins: binomial counts of a normal density; too few for large n (Sturges 1926)."""
    return float(sample.span / (np.log2(sample.n) + 1.0))


def _doane(sample: BinSample) -> float:
    """Width by Sturges' rule, with more bins the more skewed the data are (Doane 1976)."""
    n = sample.n
    if n <= 2 or sample.deviation == 0:
        return 0.0
    spread = np.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
    return float(sample.span / (1 + np.log2(n) + np.log2(1 + abs(sample.skewness) / spread)))


def _auto(sample: BinSample) -> float:
    """Width by the narrower of Freedman–Diaconis, with at most 2√n bins on one axis, and Sturges."""
    most = 2 * float(sample.n ** (1 / (sample.axes + 1)))
    return min(max(_freedman_diaconis(sample), sample.span / most), _sturges(sample))


def _knuth(sample: BinSample) -> int:
    """Number of bins of largest posterior probability under a uniform prior (Knuth 2006, eq. 31)."""
    return _best(sample, log_posterior)


def _stone(sample: BinSample) -> int:
    """Number of bins of least squared error, estimated by leaving out one row at a time (Stone 1984)."""

    def gain(counts: Array) -> float:
        return float(len(counts) * ((sample.n + 1) * np.square(counts / sample.n).sum() - 2))

    return _best(sample, gain)


def log_posterior(counts: Array) -> float:
    """log p(M | data) for M bins with these counts, up to a constant (Knuth 2006)."""
    n, bins = counts.sum(), len(counts)
    prior = gammaln(bins / 2) - bins * gammaln(0.5) - gammaln(n + bins / 2)
    return float(n * np.log(bins) + prior + gammaln(counts + 0.5).sum())


def _best(sample: BinSample, value: Callable[[Array], float]) -> int:
    """Return the number of bins that maximizes `value` of their counts."""
    counts, tried = sample.counts_by_number(), sample.numbers_tried()
    return tried[int(np.argmax([value(counts(bins)) for bins in tried]))]


#: rules for the width of the bins
WIDTH_RULES: dict[str, Callable[[BinSample], float]] = {
    "auto": _auto,
    "doane": _doane,
    "freedman-diaconis": _freedman_diaconis,
    "scott": _scott,
    "sturges": _sturges,
}
#: rules for the number of bins
NUMBER_RULES: dict[str, Callable[[BinSample], int]] = {"knuth": _knuth, "stone": _stone}
#: other names of rules: NumPy's
RULE_ALIASES = {"fd": "freedman-diaconis"}


# One axis of bins: the bin of a value, and further bins of the same width for values beyond the edges.

#: limit on the bins of an axis and the cells of a grid; more are a mistake (an outlier, say) and fill the memory
MAX_BINS = 1 << 26


@stored()
@dataclass(frozen=True)
class Lattice:
    """Equally spaced edges: edge k is start + k·step, and edge `last` is exactly `stop`."""

    start: float
    step: float
    last: int | None = None
    stop: float | None = None

    def edge(self, k: int) -> float:
        return self.stop if self.stop is not None and k == self.last else self.start + k * self.step

    def between(self, first: int, last: int) -> Array:
        """Return edges `first` to `last`."""
        numbers = np.arange(first, last + 1, dtype=float)
        edges = numbers * self.step + self.start  # as numpy.linspace rounds
        if self.last is not None and first <= self.last <= last:
            edges[self.last - first] = self.stop
        return edges

    def below(self, value: float) -> int:
        """Return the number of the last edge at or below a value."""
        if not self.step > 4 * np.spacing(max(abs(value), abs(self.start))):
            raise BinsError(
                f"bins of width {self.step:g} do not have distinct edges in float64 at {value:g}; give wider bins, or "
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
class BinAxis:
    """Bins between increasing `edges`. A bin contains its left edge; the bin that ends at `closed` contains both.

    An axis on a lattice (whose edge number `first` is its first) can grow by whole bins. `closed` does not change then:
    a value stays in its bin of the lattice, so that counts of axes that have grown differently can be added.
    """

    edges: Array
    closed: float = math.nan
    lattice: Lattice | None = None
    first: int = 0

    @classmethod
    def given(cls, edges: Any) -> Self:
        """Build an axis from its edges, with the last bin closed."""
        try:
            values = np.array(edges, dtype=float)
        except (TypeError, ValueError):
            raise BinsError(f"the edges of a histogram must be numbers; got {edges!r}.") from None
        if values.ndim != 1 or len(values) < 2 or not (np.isfinite(values).all() and (np.diff(values) > 0).all()):
            raise BinsError(f"the edges of a histogram must be finite and increase strictly; got {edges!r}.")
        return cls(values, float(values[-1]))

    @classmethod
    def even(cls, lowest: float, highest: float, bins: int) -> Self:
        """Build an axis of bins of equal width, as `numpy.histogram` does, with the last bin closed."""
        check_number_of_bins(bins, f"{bins:,} bins")
        lattice = Lattice(lowest, (highest - lowest) / bins, bins, highest)
        edges = lattice.between(0, bins)
        if not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise BinsError(
                f"{bins} bins between {lowest!r} and {highest!r} do not have distinct edges in float64; give fewer, or "
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
        """Bin of each value; all of them must lie between the first and the last edge."""
        if self.lattice is None or self._rounding_in_bins > 0.25:
            return self._search(x)
        # a division gives the right bin, except for values so close to an edge that rounding decides
        places = x - self.edges[0]
        places /= self.lattice.step
        codes: Array = places.astype(np.intp)
        places -= np.rint(places)
        close = np.flatnonzero(np.abs(places, out=places) <= self._rounding_in_bins)
        if close.size:
            codes[close] = self._search(x[close])
        return codes

    @cached_property
    def _rounding_in_bins(self) -> float:
        """Bound on the rounding errors of a value's place and of an edge, in units of bins."""
        assert self.lattice is not None
        rounding = np.spacing(np.abs(self.edges).max()) + self.bins * np.spacing(self.lattice.step)
        return float(4 * rounding / self.lattice.step)

    def _search(self, x: Array) -> Array:
        codes = np.searchsorted(self.edges, x, side="right") - 1
        codes -= x == self.closed
        return codes

    def holds(self, x: Array) -> Array:
        """Mask of the values between the first and the last edge."""
        top = x <= self.edges[-1] if self.closed == self.edges[-1] else x < self.edges[-1]
        return np.asarray((x >= self.edges[0]) & top)

    def covering(self, lowest: float, highest: float) -> BinAxis:
        """Return the axis with bins added at both ends until it covers these values; without a lattice, the axis."""
        if self.lattice is None or self.holds(np.array([lowest, highest])).all():
            return self
        top, bottom = max(highest, float(self.edges[-1])), min(lowest, float(self.edges[0]))
        check_number_of_bins(
            top / self.lattice.step - bottom / self.lattice.step,
            f"values from {lowest:g} to {highest:g} in bins of width {self.lattice.step:g}",
        )
        first = min(self.first, self.lattice.below(lowest))
        last = max(self.first + self.bins, self.lattice.below(highest) + 1)
        return self._from_edge_to_edge(first, last)

    def joined(self, other: BinAxis) -> BinAxis | None:
        """Return the axis with the bins of both, or None where their edges differ."""
        if self.lattice is not None and self.lattice == other.lattice:
            first = min(self.first, other.first)
            return self._from_edge_to_edge(first, max(self.first + self.bins, other.first + other.bins))
        same = np.array_equal([*self.edges, self.closed], [*other.edges, other.closed], equal_nan=True)
        return self if same else None

    def _from_edge_to_edge(self, first: int, last: int) -> BinAxis:
        if (first, last) == (self.first, self.first + self.bins) or self.lattice is None:
            return self
        check_number_of_bins(last - first, f"{last - first:,} bins")
        return BinAxis(self.lattice.between(first, last), self.closed, self.lattice, first)


def check_number_of_bins(bins: float, what: str) -> None:
    """Raise `TooLargeError` for more than `MAX_BINS` bins."""
    if not bins <= MAX_BINS:
        raise TooLargeError(
            f"{what} make more than {MAX_BINS:,} bins; look for a value far from all others, or give wider or fewer "
            "`bins`."
        )


#: absolute value beyond which sums of values may overflow
LARGEST_BINNED_VALUE = 1e300
#: range below which a column counts as constant, as quotients by it may overflow
SMALLEST_BINNED_RANGE = 1e-300


@stored()
@dataclass(frozen=True)
class Width:
    """Bins of a given width with an edge at `origin`, over the range of the data.

    The edges do not depend on the data, so that histograms of any two data sets can be merged. A bin contains its left
    edge and not its right one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.families import Histogram, Width
    >>> Histogram(bins=Width(0.5)).with_edges_from(np.array([1.2, 2.1])).edges
    array([1. , 1.5, 2. , 2.5])
    """

    width: float
    origin: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.width < math.inf and math.isfinite(self.origin)):
            raise BinsError(f"the width of bins must be positive and finite, their origin finite; got {self!r}.")

    def axis(self, lowest: float, highest: float) -> BinAxis:
        """Return the bins that cover the range from the lowest to the highest value."""
        lattice = Lattice(float(self.origin), float(self.width))
        first = lattice.below(lowest)
        return BinAxis(lattice.between(first, first + 1), lattice=lattice, first=first).covering(lowest, highest)


def axis_from(bins: Any, sample: BinSample) -> BinAxis:
    """Build the bins of a sample, where `bins` is the name of a rule, a number, a `Width`, or the edges.

    A constant column gets bins around its value, wide enough that their edges are distinct in floating point.
    """
    lowest, highest = sample.lowest, sample.highest
    if max(abs(lowest), abs(highest)) > LARGEST_BINNED_VALUE:
        raise DataError(
            f"sums of values from {lowest:g} to {highest:g} may overflow float64; divide the column by a number."
        )
    if isinstance(bins, Width):
        return bins.axis(lowest, highest)
    constant = highest - lowest < SMALLEST_BINNED_RANGE
    if isinstance(bins, str):
        rule = rule_named(bins)
        bins = 1 if constant else number_of_bins(rule, sample)
    elif not isinstance(bins, Integral):
        return BinAxis.given(bins)
    if bins < 1:
        raise BinsError(f"a histogram needs at least one bin; got bins={bins}.")
    margin = max(0.5, abs(lowest) * 1e-6) if constant else 0.0
    return BinAxis.even(lowest - margin, highest + margin, int(bins))


def bins_in_words(bins: Any) -> str:
    """Describe the parameter `bins` for a plan: the rule, "width 0.5", "number given" or "edges given"."""
    if isinstance(bins, Width):
        return f"width {bins.width:g}"
    if isinstance(bins, str):
        return rule_named(bins)
    return "number given" if isinstance(bins, Integral) else "edges given"


def bins_per_column(bins: Any, columns: int) -> list[Any]:
    """Return the parameter `bins` of each axis."""
    if isinstance(bins, str | Integral | Width) and not isinstance(bins, bool):
        return [bins] * columns
    if isinstance(bins, Mapping):
        raise BinsError(
            f"bins={bins!r} is a mapping; give a sequence in the order of the columns, e.g. {list(bins.values())!r}."
        )
    try:
        entries = list(bins)
    except TypeError:
        raise BinsError(f"bins={bins!r} is not a rule, a number, a Width or a sequence of edges.") from None
    numbers = all(isinstance(entry, Real) for entry in entries)
    if columns == 1 and numbers and len(entries) > 1:
        return [bins]
    if len(entries) != columns or (numbers and not all(isinstance(entry, Integral) for entry in entries)):
        raise BinsError(
            f"bins has {len(entries)} entries for {format_count(columns, 'column')}; give one rule, number, Width or "
            "sequence of edges per column, e.g. bins=[10, [0.0, 0.5, 2.0]]."
        )
    return entries
