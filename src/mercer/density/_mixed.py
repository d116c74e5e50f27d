"""Kernels over numbers and categories side by side: a smoothing kernel times Aitchison and Aitken's for each category.

l(c, c') is 1 − λ for the same of m levels and λ/(m − 1) for two different ones: λ = 0 tells levels apart, λ = (m − 1)/m
takes no notice of them. Points that agree in all categories make a cell, in which l is one number: a sum over points is
a sum over cells of what `KernelSums` says of each, and never a matrix. Only where cells are so small that there is more
to asking than to adding are pairs looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._stored import floats, integers, optional, part_of, real, reals, sequence, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.density._kernels import Biweight, Exponential, Gaussian, SmoothingKernel, Uniform
from mercer.density._sums import KernelSums

#: pairs of a query and a point, for each cell, below which they are not worth a call
FEW = 50_000
#: pairs that are looked at together
PAIRS = 1 << 20
#: kernels whose square is the profile of a kernel, and so many times as narrow
SQUARES: dict[str, tuple[type[SmoothingKernel], float]] = {
    "gaussian": (Gaussian, np.sqrt(2.0)),
    "exponential": (Exponential, 2.0),
    "uniform": (Uniform, 1.0),
    "epanechnikov": (Biweight, 1.0),
}


def most_mismatch(levels: Array) -> Array:
    """The λ at which a category of so many levels says nothing."""
    return np.asarray((levels - 1) / np.maximum(levels, 1))


@stored(numbers=floats("nd"), codes=optional(integers("nc", least=-1)), tag="MixedRows")
@dataclass(frozen=True, eq=False)
class MixedRows:
    """Numbers, of shape (n, d), and the codes of categories, of shape (n, q) with −1 for a level never seen."""

    numbers: Array
    codes: Array | None = None

    def take(self, index: Any) -> MixedRows:
        return MixedRows(self.numbers[index], None if self.codes is None else self.codes[index])

    def times(self, factor: float) -> MixedRows:
        return MixedRows(self.numbers * factor, self.codes)

    @property
    def count(self) -> int:
        return len(self.numbers)


class _Share(NamedTuple):
    """What one cell adds to the sums of some queries."""

    #: numbers of the queries
    at: Array
    points: KernelSums
    members: Array
    log_factor: Array
    #: where the queries are; if they are members of the cell, where all members are
    queries: Array
    #: which members they are, none of which counts itself; None if they are none
    itself: Array | None

    def log_sums(self) -> Array:
        return np.asarray(self.points.log_sums(self.queries) + self.log_factor)

    def means(self, values: Array) -> tuple[Array, Array]:
        """And the logarithms of their weights."""
        means, logs = self.points.means_and_log_sums(
            self.queries, values[self.members], leave_out=self.itself is not None, some=self.itself
        )
        return means, logs + self.log_factor

    def local_moments(self, values: Array) -> tuple[Array, Array, Array]:
        S, T, scale = self.points.local_moments(
            self.queries, values[self.members], leave_out=self.itself is not None, some=self.itself
        )
        return S, T, scale + self.log_factor


@stored(
    kernel=part_of(SmoothingKernel),
    points=part_of(MixedRows, n="n", d="d", c="c"),
    weight=floats("n"),
    factors=optional(floats("n")),
    narrower=real(),
    _cells=reals("g."),
    _members=sequence("g", integers("_m", below="n")),
    _sums=sequence("g", part_of(KernelSums, d="d")),
)
class MixedSums:
    """Sums over points with categories, Σ_j w_j k(x − x_j) Π_c l(x_c, x_jc).

    Parameters
    ----------
    kernel : SmoothingKernel
        k.
    points : Rows
        Where, numbers in units of the bandwidth; no codes if there are no categories.
    weight : array of shape (n,)
        How much of it.
    factors : array of shape (n,), default=None
        See `KernelSums`.
    mismatch : array of shape (q,), default=None
        λ of each category.
    levels : array of shape (q,), default=None
        How many levels each has.
    """

    def __init__(
        self,
        kernel: SmoothingKernel,
        points: MixedRows,
        weight: Array,
        factors: Array | None = None,
        *,
        mismatch: Array | None = None,
        levels: Array | None = None,
    ) -> None:
        self.kernel, self.points, self.weight, self.factors = kernel, points, weight, factors
        #: what numbers of queries are multiplied by, for sums of squares
        self.narrower = 1.0
        if points.codes is None:
            self._cells, self._members = np.empty((1, 0)), [np.arange(points.count)]
        else:
            self._cells, cell = np.unique(points.codes, axis=0, return_inverse=True)
            self._members = [np.flatnonzero(cell.ravel() == g) for g in range(len(self._cells))]
        self._sums = [self._of(members) for members in self._members]
        if mismatch is not None and levels is not None:
            with np.errstate(divide="ignore"):
                self._log_same, self._log_other = np.log(1 - mismatch), np.log(mismatch / np.maximum(levels - 1, 1))

    def log_sums(self, queries: MixedRows) -> Array:
        """Log of the sum for every query; −inf where no point is in reach. See `KernelSums.log_sums`."""
        if self.points.codes is None:
            return self._sums[0].log_sums(queries.numbers)
        if self._are_few(queries):
            return np.concatenate([np.logaddexp.reduce(terms, axis=1) for _, terms in self._pairs(queries, None)])
        total = np.full(queries.count, -np.inf)
        for part in self._parts(queries, None):
            total[part.at] = np.logaddexp(total[part.at], part.log_sums())
        return total

    def means(self, queries: MixedRows, values: Array, *, itself: Array | None = None) -> Array:
        """Mean of the values under these weights; NaN where no point is in reach. See `KernelSums.means`.

        `itself` are the numbers of the points that the queries are, if they are points: none counts itself.
        """
        if self.points.codes is None:
            return self._sums[0].means(self._asked(queries, itself), values, leave_out=itself is not None, some=itself)
        if self._are_few(queries):
            return np.concatenate([shares(terms) @ values for _, terms in self._pairs(queries, itself)])
        total, means = np.full(queries.count, -np.inf), np.full((queries.count, values.shape[1]), np.nan)
        for part in self._parts(queries, itself):
            at = part.at
            here, logs = part.means(values)
            new = np.logaddexp(total[at], logs)
            means[at] = _scaled(means[at], total[at], new) + _scaled(here, logs, new)
            total[at] = new
        means[np.isneginf(total)] = np.nan
        return means

    def local_moments(
        self, queries: MixedRows, values: Array, *, itself: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """S, T and their log scale. See `KernelSums.local_moments`, and `means` for `itself`."""
        if self.points.codes is None:
            asked = self._asked(queries, itself)
            return self._sums[0].local_moments(asked, values, leave_out=itself is not None, some=itself)
        if self._are_few(queries):
            parts = [self._moments(some, terms, values) for some, terms in self._pairs(queries, itself)]
            S, T, scale = (np.concatenate(part) for part in zip(*parts, strict=True))
            return S, T, scale
        size = self.points.numbers.shape[1] + 1
        S, T = np.zeros((queries.count, size, size)), np.zeros((queries.count, size, values.shape[1]))
        scale = np.full(queries.count, -np.inf)
        for part in self._parts(queries, itself):
            at = part.at
            S_here, T_here, here = part.local_moments(values)
            new = np.maximum(scale[at], here)
            S[at] = _scaled(S[at], scale[at], new) + _scaled(S_here, here, new)
            T[at] = _scaled(T[at], scale[at], new) + _scaled(T_here, here, new)
            scale[at] = new
        return S, T, scale

    def squared(self) -> MixedSums | None:
        """Sums of the squares of all terms, for queries times `narrower`; None if the square of k is no kernel here."""
        if self.kernel.name not in SQUARES:
            return None
        kernel, narrower = SQUARES[self.kernel.name]
        weight = np.square(self.weight)
        if self.factors is not None:
            weight = weight * self.factors ** -float(self.points.numbers.shape[1])
        squares = MixedSums(kernel(self.kernel.form), self.points.times(narrower), weight, self.factors)
        squares.narrower = narrower
        if self.points.codes is not None:
            squares._log_same, squares._log_other = 2 * self._log_same, 2 * self._log_other
        return squares

    def log_terms(self, queries: MixedRows) -> Array:
        """Log of every term, of shape (queries, points): for few queries at a time."""
        lengths = np.ones(self.points.count) if self.factors is None else self.factors
        with np.errstate(divide="ignore"):
            terms = np.log(self.weight) - self.points.numbers.shape[1] * np.log(lengths)
        terms = terms + self._log_kernels(queries.numbers, lengths)
        if self.points.codes is not None:
            for cell, members in zip(self._cells, self._members, strict=True):
                terms[:, members] += self._log_factor(queries.codes, cell)[:, None]
        return np.asarray(terms)

    def _are_few(self, queries: MixedRows) -> bool:
        return queries.count * self.points.count < FEW * len(self._cells)

    def _asked(self, queries: MixedRows, itself: Array | None) -> Array:
        """What `KernelSums` is asked about: all points, of which only some are of interest, if queries are points."""
        return queries.numbers if itself is None else self.points.numbers

    def _pairs(self, queries: MixedRows, itself: Array | None) -> Iterator[tuple[MixedRows, Array]]:
        """Some queries after the other, and the log of every term."""
        for block in row_blocks(queries.count, max(1, PAIRS // self.points.count)):
            some = queries.take(block)
            terms = self.log_terms(some)
            if itself is not None:
                terms[np.arange(some.count), itself[block]] = -np.inf
            yield some, terms

    def _moments(self, queries: MixedRows, terms: Array, values: Array) -> tuple[Array, Array, Array]:
        scale = terms.max(axis=1)
        heights = np.exp(terms - np.where(np.isfinite(scale), scale, 0.0)[:, None])
        away = self.points.numbers - queries.numbers[:, None]
        z = np.concatenate([np.ones((*heights.shape, 1)), away], axis=2)
        weighted = np.swapaxes(z * heights[:, :, None], 1, 2)
        return weighted @ z, weighted @ values, scale

    def _log_kernels(self, numbers: Array, lengths: Array) -> Array:
        """Log k of every pair, a column at a time."""
        total = np.zeros((len(numbers), self.points.count))
        product = self.kernel.form == "product"
        for query, point in zip(numbers.T, self.points.numbers.T, strict=True):
            away = (query[:, None] - point) / lengths
            with np.errstate(over="ignore"):  # further away than there are numbers is out of reach
                total += self.kernel.log_profile(np.abs(away)) if product else np.square(away)
        return total if product else self.kernel.log_profile(np.sqrt(total))

    def _of(self, members: Array) -> KernelSums:
        factors = None if self.factors is None else self.factors[members]
        return KernelSums(self.kernel, self.points.numbers[members], self.weight[members], factors)

    def _parts(self, queries: MixedRows, itself: Array | None) -> Iterator[_Share]:
        """What each cell adds: to queries that are its members, all but themselves."""
        for cell, members, points in zip(self._cells, self._members, self._sums, strict=True):
            log_factor = self._log_factor(queries.codes, cell)
            others = np.isfinite(log_factor)
            if itself is not None:
                own = np.isin(itself, members)
                others &= ~own
                if (at := np.flatnonzero(own)).size:
                    place = np.searchsorted(members, itself[at])
                    yield _Share(at, points, members, log_factor[at], points.points, place)
            if (at := np.flatnonzero(others)).size:
                yield _Share(at, points, members, log_factor[at], queries.numbers[at], None)

    def _log_factor(self, codes: Array | None, cell: Array) -> Array:
        """log Π l of queries and a cell. A level never seen differs from all points alike, so that it says nothing."""
        assert codes is not None
        unequal = np.where(codes < 0, 0.0, self._log_other)
        return np.asarray(np.where(codes == cell, self._log_same, unequal).sum(axis=1))


def shares(terms: Array) -> Array:
    """e^terms as shares of the sum of their row; NaN where that is 0."""
    with np.errstate(invalid="ignore"):
        heights = np.exp(terms - terms.max(axis=1, keepdims=True))
        return np.asarray(heights / heights.sum(axis=1, keepdims=True))


def _scaled(sums: Array, log_scale: Array, new: Array) -> Array:
    """Sums in another scale; 0 where there is nothing in them, whatever they are."""
    there = np.isfinite(log_scale)
    ratio = np.exp(np.where(there, log_scale - np.where(np.isfinite(new), new, 0.0), 0.0))
    shape = (-1,) + (1,) * (sums.ndim - 1)
    return np.where(there.reshape(shape), sums * ratio.reshape(shape), 0.0)
