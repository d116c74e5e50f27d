"""Kernels over numbers and categories: a smoothing kernel times the kernel of Aitchison and Aitken for each category.

l(c, c') is 1 − λ if c and c' are the same of m levels and λ/(m − 1) otherwise. λ = 0 separates the levels completely, λ
= (m − 1)/m ignores them. Points that agree in all categories form a cell, in which l is constant. A sum over points is
thus a sum over cells of the results of `KernelSums`, without a matrix of all pairs. Only if cells are very small are
pairs evaluated directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._stored import floats, integers, optional, part_of, real, reals, sequence, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.density._kernels import Biweight, Exponential, Gaussian, SmoothingKernel, Uniform
from mercer.density._sums import KernelSums

#: pairs that are evaluated together
TERM_PAIRS = 1 << 20
#: the kernel whose profile is the square of a kernel, and the factor by which the square is narrower
SQUARED_KERNELS: dict[str, tuple[type[SmoothingKernel], float]] = {
    "gaussian": (Gaussian, np.sqrt(2.0)),
    "exponential": (Exponential, 2.0),
    "uniform": (Uniform, 1.0),
    "epanechnikov": (Biweight, 1.0),
}


def most_mismatch(levels: Array) -> Array:
    """Return the λ at which a category with this number of levels has no effect."""
    return np.asarray((levels - 1) / np.maximum(levels, 1))


@stored(numbers=floats("nd"), codes=optional(integers("nc", least=-1)), tag="MixedRows")
@dataclass(frozen=True, eq=False)
class MixedRows:
    """Numbers, of shape (n, d), and category codes, of shape (n, q), with −1 for a level that is not in the fit."""

    numbers: Array
    codes: Array | None = None

    def take(self, index: Any) -> MixedRows:
        return MixedRows(self.numbers[index], None if self.codes is None else self.codes[index])

    def times(self, factor: float) -> MixedRows:
        return MixedRows(self.numbers * factor, self.codes)

    @property
    def count(self) -> int:
        return len(self.numbers)


class _CellPart(NamedTuple):
    """The contribution of one cell to the sums of some queries."""

    #: indices of the queries
    at: Array
    points: KernelSums
    members: Array
    log_factor: Array
    #: the queries; if they are members of the cell, all its members
    queries: Array
    #: positions of the queries among the members, each of which is left out of its own sum; None if they are not
    #: members
    itself: Array | None

    def log_sums(self) -> Array:
        return np.asarray(self.points.log_sums(self.queries) + self.log_factor)

    def means(self, values: Array) -> tuple[Array, Array]:
        """Return the means and the logarithms of their weights."""
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
        The kernel k.
    points : MixedRows
        Centres of the kernels, with numbers in units of the bandwidth; without codes if there are no categories.
    weight : array of shape (n,)
        Weight of each point.
    factors : array of shape (n,), default=None
        Factors by which kernels are wider; see `KernelSums`.
    mismatch : array of shape (q,), default=None
        λ of each category.
    levels : array of shape (q,), default=None
        Number of levels of each category.
    """

    #: pairs of a query and a point, per cell, below which a call of `KernelSums` costs more than it saves
    pairs_per_cell: ClassVar[int] = 50_000
    #: pairs that are evaluated together
    pairs_per_block: ClassVar[int] = TERM_PAIRS

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
        #: factor by which the numbers of queries are multiplied, for sums of squares
        self.narrower = 1.0
        if points.codes is None:
            self._cells, self._members = np.empty((1, 0)), [np.arange(points.count)]
        else:
            self._cells, cell = np.unique(points.codes, axis=0, return_inverse=True)
            self._members = [np.flatnonzero(cell.ravel() == g) for g in range(len(self._cells))]
        self._sums = [
            KernelSums(kernel, points.numbers[members], weight[members], None if factors is None else factors[members])
            for members in self._members
        ]
        if mismatch is not None and levels is not None:
            with np.errstate(divide="ignore"):
                self._log_same, self._log_other = np.log(1 - mismatch), np.log(mismatch / np.maximum(levels - 1, 1))

    def log_sums(self, queries: MixedRows) -> Array:
        """Return the log of the sum for every query; −inf where no point is in reach. See `KernelSums.log_sums`."""
        if self.points.codes is None:
            return self._sums[0].log_sums(queries.numbers)
        if self._are_few(queries):
            return np.concatenate([np.logaddexp.reduce(terms, axis=1) for _, terms in self._pairs(queries, None)])
        total = np.full(queries.count, -np.inf)
        for part in self._parts(queries, None):
            total[part.at] = np.logaddexp(total[part.at], part.log_sums())
        return total

    def means(self, queries: MixedRows, values: Array, *, itself: Array | None = None) -> Array:
        """Return the mean of the values under these weights; NaN where no point is in reach. See `KernelSums.means`.

        If the queries are points, `itself` holds their indices among the points, and each is left out of its own sum.
        """
        if self.points.codes is None:
            return self._sums[0].means(
                self._select_queries(queries, itself), values, leave_out=itself is not None, some=itself
            )
        if self._are_few(queries):
            return np.concatenate([normalize_terms(terms) @ values for _, terms in self._pairs(queries, itself)])
        total, means = np.full(queries.count, -np.inf), np.full((queries.count, values.shape[1]), np.nan)
        for part in self._parts(queries, itself):
            at = part.at
            part_means, logs = part.means(values)
            new = np.logaddexp(total[at], logs)
            means[at] = _rescale(means[at], total[at], new) + _rescale(part_means, logs, new)
            total[at] = new
        means[np.isneginf(total)] = np.nan
        return means

    def local_moments(
        self, queries: MixedRows, values: Array, *, itself: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Return S, T and their log scale. See `KernelSums.local_moments`, and `means` for `itself`."""
        if self.points.codes is None:
            selected = self._select_queries(queries, itself)
            return self._sums[0].local_moments(selected, values, leave_out=itself is not None, some=itself)
        if self._are_few(queries):
            parts = [self._moments(some, terms, values) for some, terms in self._pairs(queries, itself)]
            S, T, scale = (np.concatenate(part) for part in zip(*parts, strict=True))
            return S, T, scale
        size = self.points.numbers.shape[1] + 1
        S, T = np.zeros((queries.count, size, size)), np.zeros((queries.count, size, values.shape[1]))
        scale = np.full(queries.count, -np.inf)
        for part in self._parts(queries, itself):
            at = part.at
            S_part, T_part, part_scale = part.local_moments(values)
            new = np.maximum(scale[at], part_scale)
            S[at] = _rescale(S[at], scale[at], new) + _rescale(S_part, part_scale, new)
            T[at] = _rescale(T[at], scale[at], new) + _rescale(T_part, part_scale, new)
            scale[at] = new
        return S, T, scale

    def square(self) -> MixedSums | None:
        """Return sums of the squares of all terms, for queries times `narrower`; None if k² is not a known kernel."""
        if self.kernel.name not in SQUARED_KERNELS:
            return None
        kernel, narrower = SQUARED_KERNELS[self.kernel.name]
        weight = np.square(self.weight)
        if self.factors is not None:
            weight = weight * self.factors ** -float(self.points.numbers.shape[1])
        squares = MixedSums(kernel(self.kernel.form), self.points.times(narrower), weight, self.factors)
        squares.narrower = narrower
        if self.points.codes is not None:
            squares._log_same, squares._log_other = 2 * self._log_same, 2 * self._log_other
        return squares

    def log_terms(self, queries: MixedRows) -> Array:
        """Return the log of every term, of shape (queries, points); meant for few queries at a time."""
        lengths = np.ones(self.points.count) if self.factors is None else self.factors
        with np.errstate(divide="ignore"):
            terms = np.log(self.weight) - self.points.numbers.shape[1] * np.log(lengths)
        terms = terms + self._log_kernels(queries.numbers, lengths)
        if self.points.codes is not None:
            for cell, members in zip(self._cells, self._members, strict=True):
                terms[:, members] += self._log_factor(queries.codes, cell)[:, None]
        return np.asarray(terms)

    def _are_few(self, queries: MixedRows) -> bool:
        return queries.count * self.points.count < self.pairs_per_cell * len(self._cells)

    def _select_queries(self, queries: MixedRows, itself: Array | None) -> Array:
        """Return the queries of `KernelSums`: all points, of which `itself` selects some, if queries are points."""
        return queries.numbers if itself is None else self.points.numbers

    def _pairs(self, queries: MixedRows, itself: Array | None) -> Iterator[tuple[MixedRows, Array]]:
        """Yield blocks of queries with the log of every term."""
        for block in row_blocks(queries.count, max(1, self.pairs_per_block // self.points.count)):
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
        """Return log k of every pair, computed column by column."""
        total = np.zeros((len(numbers), self.points.count))
        product = self.kernel.form == "product"
        for query, point in zip(numbers.T, self.points.numbers.T, strict=True):
            away = (query[:, None] - point) / lengths
            with np.errstate(over="ignore"):  # a distance that overflows is out of reach
                total += self.kernel.log_profile(np.abs(away)) if product else np.square(away)
        return total if product else self.kernel.log_profile(np.sqrt(total))

    def _parts(self, queries: MixedRows, itself: Array | None) -> Iterator[_CellPart]:
        """Yield the contribution of each cell; a query that is a member of the cell is left out of its own sum."""
        for cell, members, points in zip(self._cells, self._members, self._sums, strict=True):
            log_factor = self._log_factor(queries.codes, cell)
            others = np.isfinite(log_factor)
            if itself is not None:
                own = np.isin(itself, members)
                others &= ~own
                if (at := np.flatnonzero(own)).size:
                    place = np.searchsorted(members, itself[at])
                    yield _CellPart(at, points, members, log_factor[at], points.points, place)
            if (at := np.flatnonzero(others)).size:
                yield _CellPart(at, points, members, log_factor[at], queries.numbers[at], None)

    def _log_factor(self, codes: Array | None, cell: Array) -> Array:
        """Return log Π l of queries and a cell; an unknown level differs equally from all points and has no effect."""
        assert codes is not None
        unequal = np.where(codes < 0, 0.0, self._log_other)
        return np.asarray(np.where(codes == cell, self._log_same, unequal).sum(axis=1))


def normalize_terms(terms: Array) -> Array:
    """Return e^terms divided by the sum of their row; NaN where the sum is 0."""
    with np.errstate(invalid="ignore"):
        heights = np.exp(terms - terms.max(axis=1, keepdims=True))
        return np.asarray(heights / heights.sum(axis=1, keepdims=True))


def _rescale(sums: Array, log_scale: Array, new: Array) -> Array:
    """Change the scale of sums; empty sums become 0."""
    is_nonzero = np.isfinite(log_scale)
    ratio = np.exp(np.where(is_nonzero, log_scale - np.where(np.isfinite(new), new, 0.0), 0.0))
    shape = (-1,) + (1,) * (sums.ndim - 1)
    return np.where(is_nonzero.reshape(shape), sums * ratio.reshape(shape), 0.0)
