"""How many bins of equal width a histogram should have: the rules by their authors' names.

On one axis Scott, Freedman–Diaconis, Sturges, Doane and "auto" give what `numpy.histogram_bin_edges` gives, and so does
Stone where the best number of bins is among those that NumPy tries. On a grid of d axes the widths of the first two
shrink like n^(−1/(2+d)), which is optimal there (Scott 1992, eq. 3.64); the others look at each axis by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from mercer._errors import BinsError
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer.families.quartiles import quartile_distance

#: exponents of two beyond which squares and cubes of the data would leave float64
EXTREME = 200
#: numbers of bins that Knuth's and Stone's rules try: up to 10 √n between these two, and √n beyond. NumPy's Stone stops
#: at √n, or 100, which is too early for long tails
FEWEST_TRIED, MOST_TRIED = 100, 1000


class Sample:
    """Values on one axis with their weights, and what rules ask of them.

    Values of weight zero are left out. Where there are weights, n is Kish's effective number (Σw)²/Σw²: it does not
    change when all weights are multiplied, and is the number of rows when all are equal.

    Parameters
    ----------
    x : array of shape (n,)
        Finite values, at least one.
    weight : array of shape (n,), default=None
        Of each; 1 if not given.
    axes : int, default=1
        Of the grid that the bins are one axis of.
    """

    def __init__(self, x: Array, weight: Array | None = None, axes: int = 1) -> None:
        if weight is not None and not weight.all():
            x, weight = x[weight > 0], weight[weight > 0]
        self.axes, self.weight, self.whole, self._values = axes, weight, x.dtype.kind in "iub", x
        self.lowest, self.highest = float(x.min()), float(x.max())

    @cached_property
    def exponent(self) -> int:
        """Of the power of two, which changes no digit, that brings values into a range where squares are numbers."""
        exponent = int(np.frexp(max(abs(self.lowest), abs(self.highest)))[1])
        return -exponent if abs(exponent) > EXTREME else 0

    @cached_property
    def x(self) -> Array:
        values = np.asarray(self._values, dtype=float)
        return np.ldexp(values, self.exponent) if self.exponent else values

    def scaled(self, value: float) -> float:
        """A value in the units of `x`."""
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
        return float(np.average(z * z * z, weights=self.weight))  # a power takes ten times as long

    @cached_property
    def quartile_distance(self) -> float:
        return quartile_distance(self.x, self.weight)

    def counts_by_number(self) -> Callable[[int], Array]:
        """From a number of bins to what each of them holds; in all n."""
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
        return range(1, int(max(FEWEST_TRIED, min(10 * root, MOST_TRIED), root)) + 1)


def number_of_bins(rule: str, sample: Sample) -> int:
    """So many bins of equal width from the least to the greatest value; 1 where a rule finds no width."""
    if rule in NUMBERS:
        bins = float(NUMBERS[rule](sample))
    else:
        width = WIDTHS[rule](sample)
        bins = float(np.ceil(sample.span / width)) if width > 0 else 1.0
    if sample.whole:
        bins = min(bins, sample.span)  # narrower ones would be empty by turns
    # float64 cannot tell more of them apart
    most = sample.span / (8 * np.spacing(sample.scaled(max(abs(sample.lowest), abs(sample.highest)))))
    return max(1, int(min(bins, most)))


def rule_named(name: str) -> str:
    """The rule of that name, or an error that says which there are."""
    name = SHORT.get(name, name)
    if name not in (known := sorted(WIDTHS | NUMBERS)):
        raise BinsError(f"no rule for the bins of a histogram is called {name!r}. {did_you_mean(name, known)}")
    return name


def _scott(sample: Sample) -> float:
    """(24 √π/n)^⅓ σ on one axis: least mean squared error if the density is normal (Scott 1979)."""
    d = sample.axes
    return float((2 ** (d + 2) * 3 * np.pi ** (d / 2) / sample.n) ** (1 / (d + 2)) * sample.deviation)


def _freedman_diaconis(sample: Sample) -> float:
    """2 IQR n^(−⅓) on one axis: a few far values do not widen the bins (Freedman & Diaconis 1981)."""
    return float(2 * sample.quartile_distance * sample.n ** (-1 / (sample.axes + 2)))


def _sturges(sample: Sample) -> float:
    """1 + log₂ n bins: binomial counts of a normal density; too few for large n (Sturges 1926)."""
    return float(sample.span / (np.log2(sample.n) + 1.0))


def _doane(sample: Sample) -> float:
    """Sturges with more bins the more skewed the data are (Doane 1976)."""
    n = sample.n
    if n <= 2 or sample.deviation == 0:
        return 0.0
    spread = np.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
    return float(sample.span / (1 + np.log2(n) + np.log2(1 + abs(sample.skewness) / spread)))


def _auto(sample: Sample) -> float:
    """The narrower of Freedman–Diaconis, with no more than 2√n bins on one axis, and Sturges."""
    most = 2 * float(sample.n ** (1 / (sample.axes + 1)))
    return min(max(_freedman_diaconis(sample), sample.span / most), _sturges(sample))


def _knuth(sample: Sample) -> int:
    """The most probable number of bins of equal width, a priori all being equally so (Knuth 2006, eq. 31)."""
    return _best(sample, log_posterior)


def _stone(sample: Sample) -> int:
    """The least squared error as leaving rows out estimates it (Stone 1984)."""

    def gain(counts: Array) -> float:
        return float(len(counts) * ((sample.n + 1) * np.square(counts / sample.n).sum() - 2))

    return _best(sample, gain)


def log_posterior(counts: Array) -> float:
    """log p(M | data) of M bins with such counts, up to a constant (Knuth 2006)."""
    n, bins = counts.sum(), len(counts)
    prior = gammaln(bins / 2) - bins * gammaln(0.5) - gammaln(n + bins / 2)
    return float(n * np.log(bins) + prior + gammaln(counts + 0.5).sum())


def _best(sample: Sample, value: Callable[[Array], float]) -> int:
    """The number of bins that makes `value` of their counts largest."""
    counts, tried = sample.counts_by_number(), sample.numbers_tried()
    return tried[int(np.argmax([value(counts(bins)) for bins in tried]))]


#: rules that give a width
WIDTHS: dict[str, Callable[[Sample], float]] = {
    "auto": _auto,
    "doane": _doane,
    "freedman-diaconis": _freedman_diaconis,
    "scott": _scott,
    "sturges": _sturges,
}
#: rules that give the number of bins
NUMBERS: dict[str, Callable[[Sample], int]] = {"knuth": _knuth, "stone": _stone}
#: NumPy's name for it
SHORT = {"fd": "freedman-diaconis"}
