"""Densities by counting: constant on each bin of an axis, or on each cell of a grid (lecture 4, "Histogram method")."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer._errors import (
    ColumnTypeError,
    DataError,
    EmptyDataError,
    SupportError,
    TooManyColumnsError,
    UnseenRowsError,
)
from mercer._stored import floats, part_of, real, reals, sequence, stored
from mercer._threads import ordered_map, row_blocks, thread_count
from mercer._typing import Array
from mercer.base import DESCRIBES_ROWS, traits
from mercer.base.agreement import check_same_columns
from mercer.base.fitted_fields import FITTED
from mercer.base.sources import fits_sources
from mercer.base.validation import Plan, check_no_infinity, check_rows, check_weight, column_names, restore_on_failure
from mercer.data.blocks import RowBlocks
from mercer.data.sources.base import Chunk, Source
from mercer.density._estimator import DensityEstimator
from mercer.density._regions import check_probabilities
from mercer.engines.folding import fold
from mercer.engines.passes import current_run
from mercer.engines.reducing import reduce
from mercer.families.base import as_generator, checked_count
from mercer.families.bins import BinAxis, BinSample, axis_from, bins_in_words, bins_per_column
from mercer.optim.certificate import Certificate
from mercer.report import plots
from mercer.stats.bins import GridCounts, join_axes


@stored(
    lambda own: own.counts.shape == tuple(len(axis.edges) - 1 for axis in own.axes),
    axes=sequence("d", part_of(BinAxis)),
    counts=reals(),
    total=real(),
)
class HistogramCells:
    """Piecewise constant density on a grid: p(x) = (count of the cell of x) / (all counts · volume of the cell).

    Parameters
    ----------
    axes : sequence of BinAxis
        The sides of the grid.
    counts : array with one dimension per axis
        Weight in each cell, not all of it zero.
    """

    def __init__(self, axes: Sequence[BinAxis], counts: Array) -> None:
        self.axes, self.counts = tuple(axes), counts
        self.total = float(counts.sum())

    @cached_property
    def density(self) -> Array:
        """Density of each cell; infinite where a volume underflows float64 (`log_densities` stay finite)."""
        with np.errstate(over="ignore", under="ignore"):
            density = self.counts / self.total
            for j, axis in enumerate(self.axes):
                density = density / self._along(j, axis.widths)
        return np.asarray(density)

    @cached_property
    def log_densities(self) -> Array:
        """Log density of each cell; −inf in empty cells."""
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
        """Reshape values of one axis such that they broadcast over the others."""
        return values.reshape([-1 if k == j else 1 for k in range(len(self.axes))])

    def log_density(self, X: Array) -> Array:
        """Return log p(x) for every row; −inf beyond the edges and in empty cells."""
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
        """Return P(X₁ ≤ x₁, X₂ ≤ x₂, …) for every row, by linear interpolation between the corners of a cell."""
        starts, shares = zip(*(_locate(axis, X[:, j]) for j, axis in enumerate(self.axes)), strict=True)
        result = np.zeros(len(X))
        for corner in itertools.product((0, 1), repeat=len(self.axes)):
            weight = np.prod([s if upper else 1 - s for s, upper in zip(shares, corner, strict=True)], axis=0)
            result += weight * self.cumulative[tuple(k + upper for k, upper in zip(starts, corner, strict=True))]
        return result

    def quantile(self, q: Array) -> Array:
        """Return the least x with P(X ≤ x) ≥ q, for a density of one column."""
        (axis,) = self.axes
        filled = np.flatnonzero(self.counts)  # elsewhere the distribution function is flat
        ends = self.cumulative[filled + 1]
        places = np.minimum(np.searchsorted(ends, q, side="left"), len(filled) - 1)
        below, within = self.cumulative[filled[places]], np.diff(self.cumulative)[filled[places]]
        left, width = axis.edges[filled[places]], axis.widths[filled[places]]
        return np.asarray(left + width * np.clip((q - below) / within, 0.0, 1.0))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n rows."""
        shares = self.counts.ravel() / self.total
        chosen = np.unravel_index(rng.choice(shares.size, size=n, p=shares / shares.sum()), self.counts.shape)
        X = np.empty((n, len(self.axes)))
        for j, (axis, codes) in enumerate(zip(self.axes, chosen, strict=True)):
            left, right = axis.edges[codes], axis.edges[codes + 1]
            # a right edge, which rounding could yield, belongs to the next cell
            X[:, j] = np.minimum(left + rng.random(n) * (right - left), np.nextafter(right, left))
        return X

    def marginal(self, columns: Sequence[int]) -> HistogramCells:
        """Return the density of some of the columns, in this order."""
        others = tuple(j for j in range(len(self.axes)) if j not in columns)
        kept = [j for j in range(len(self.axes)) if j in columns]
        counts = self.counts.sum(axis=others).transpose([kept.index(j) for j in columns])
        return HistogramCells([self.axes[j] for j in columns], counts)


def _locate(axis: BinAxis, x: Array) -> tuple[Array, Array]:
    """Return the bin of each value and the share of the bin below the value; values beyond the edges are clipped."""
    inside = np.clip(np.asarray(x, dtype=float), axis.edges[0], axis.edges[-1])
    bins = np.minimum(axis.codes(inside), axis.bins - 1)
    return bins, (inside - axis.edges[bins]) / axis.widths[bins]


#: rows of a block: its columns and their codes stay in the L2 cache
HISTOGRAM_BLOCK_ROWS = 1 << 16


@traits(
    "density",
    kind="density",
    no_counterpart=DESCRIBES_ROWS,
)
@stored(
    **FITTED,
    edges_=sequence("d", floats("_e")),
    counts_=reals(),
    density_=floats(),
    _cells=part_of(HistogramCells, d="d"),
    statistic_=part_of(GridCounts, d="d"),
    bins_rule_=sequence(".", part_of(str)),
)
class HistogramDensity(DensityEstimator):
    """A density that is constant on each bin of one column, or on each cell of a grid over two or three.

    p(x) = (weight of the rows in the cell of x) / (weight of all rows · volume of the cell), and 0 beyond the edges.

    Parameters
    ----------
    bins : str, int, Width, array-like of edges, or one of these per column, default="auto"
        The name of a rule, a number of bins of equal width, a `Width`, or the edges. With one column a sequence of
        numbers holds its edges; with more it has one entry for each column. The rules are "auto" (the narrower of
        "freedman-diaconis" and "sturges"), "freedman-diaconis" (or "fd"), "scott", "sturges", "doane", "stone" and
        "knuth", the most probable number. For one column they are those of `numpy.histogram_bin_edges`; on a grid of d
        columns the widths of Scott and of Freedman and Diaconis shrink like n^(−1/(2+d)). With weights, n in a rule is
        (Σw)²/Σw².

    Attributes
    ----------
    edges_ : list of ndarray of shape (n_bins + 1,)
        Edges of the bins of each column.
    counts_ : ndarray of shape (n_bins of column 0, n_bins of column 1, …)
        Weight of the rows in each cell.
    density_ : ndarray of the same shape
        Density in each cell.
    bins_rule_ : tuple of str
        How the bins of each column were chosen.
    statistic_ : GridCounts
        The counts with their axes, which can be merged.
    certificate_ : Certificate
        Evidence of optimality.
    plan_ : Plan
        Which path the fit took.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if X has any.

    Notes
    -----
    A bin holds its left edge, the last one both, as in NumPy; bins of a given `Width` only the left ones. A column
    without spread gets bins in an interval around its value (±0.5, or a millionth of it where that is more).
    "knuth" and "stone" resolve the steps of rounded numbers; use another rule where these are of no interest.

    The bins are chosen by the first batch. Later rows beyond them add bins of the same width, so that nothing is lost
    (the bin that held its right edge keeps it); where the edges were given, such rows raise an error, in the first
    batch too. Rows of weight zero are ignored.

    Histograms of `Width` bins, and those with equal edges, can be merged; others raise `UnequalEdgesError`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import HistogramDensity
    >>> X = np.array([[0.0], [0.5], [1.0], [3.5], [4.0]])
    >>> model = HistogramDensity(bins=2).fit(X)
    >>> model.density_
    array([0.3, 0.2])
    >>> model.log_density([[1.0], [9.0]])
    array([-1.2039728,       -inf])
    """

    #: a grid over more columns would have mostly empty cells, or cells too large to be informative
    _most_columns: ClassVar[int] = 3

    statistic_: GridCounts
    plan_: Plan
    _cells: HistogramCells

    def __init__(self, bins: Any = "auto") -> None:
        self.bins = bins

    @fits_sources
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the bins and count the rows; previous counts are discarded.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or Source
            Rows, of at most three columns. A source is read twice; where a rule chooses the bins, it is read into
            memory.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            X, weight = self._check_rows(X, sample_weight, reset=True)
            self._store(self._add(self._empty_grid(X, weight), X, weight))
        return self

    def _fit_source(self, source: Source) -> Any:
        """Fit in two passes, one for the ends of the axes and one to count, unless a rule needs all rows at once."""
        opened = clone(self)
        columns = opened._check_rows(source.head().X, None, reset=True)[0].shape[1]
        if any(isinstance(bins, str) for bins in bins_per_column(self.bins, columns)):
            return NotImplemented
        lowest, highest = fold(functools.partial(_chunk_corners, opened), source, _join_corners)
        if not (np.isfinite(lowest).all() or np.isfinite(highest).all()):
            raise EmptyDataError("no row has a weight above 0, so that there is nothing to learn from.")
        grid = opened._empty_grid(np.array([lowest, highest]), None)
        counts = fold(functools.partial(_count_chunk, opened, grid), source, GridCounts.merge)
        self.__dict__.update(vars(opened))
        self.plan_ = Plan("one pass for the ends, one of counts", "float64", current_run().pieces, thread_count())
        return self._store(counts)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count more rows in the bins of the first call; bins are added for rows beyond them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        if not hasattr(self, "statistic_"):
            return self.fit(X, y, sample_weight)
        with restore_on_failure(self):
            X, weight = self._check_rows(X, sample_weight, reset=False)
            ends = corners(X, weight)
            self._check_extremes(X, ends)
            self._store(self._add(self.statistic_.covering(*ends), X, weight))
        return self

    def merge(self, other: HistogramDensity) -> Self:
        """Add the counts of another model.

        Parameters
        ----------
        other : HistogramDensity
            Fitted on the same columns, with the same edges or the same `Width`.

        Returns
        -------
        self : object
            The model itself.
        """
        check_is_fitted(self)
        check_same_columns(self, other)
        # checked here, before the counts are merged, so that the error names the column and not the number of an axis
        join_axes(self.statistic_.axes, other.statistic_.axes, [f"column {name!r}" for name in column_names(self)])
        with restore_on_failure(self):
            self._store(self.statistic_.merge(other.statistic_))
        return self

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Subtract rows: afterwards the counts are those of a model that was never fitted on them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows that were counted before.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights they were counted with.

        Returns
        -------
        self : object
            The model itself.
        """
        check_is_fitted(self)
        with restore_on_failure(self):
            X, weight = self._check_rows(X, sample_weight, reset=False)
            self._check_extremes(X, corners(X, weight))
            try:
                removed = self._add(self.statistic_.empty(), X, weight)
            except SupportError as beyond:
                raise UnseenRowsError(f"{beyond} No such row was ever learnt, and none can be forgotten.") from None
            left = self.statistic_.subtract(removed)
            if not left.rows.any():
                raise EmptyDataError("Every row would be forgotten; make a new, unfitted model instead.")
            self._store(left)
        return self

    def score_samples(self, X: Any) -> Array:
        """Log density of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            log p(x); −inf beyond the edges and in cells without training rows.
        """
        X = self._check_queries(X)
        self._check_extremes(X, corners(X, None))
        _ = self._cells.log_densities  # computed once before threads use it
        return _map_rows(self._cells.log_density, X)

    def cdf(self, X: Any) -> Array:
        """P(X₁ ≤ x₁, X₂ ≤ x₂, …) for each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Corners; they may be infinite.

        Returns
        -------
        probability : ndarray of shape (n_samples,)
            From 0 below all edges to 1 above.
        """
        X = self._check_queries(X)
        if np.isnan(X).any():
            self._check_extremes(np.where(np.isinf(X), 0.0, X), np.nan)
        _ = self._cells.cumulative  # computed once before threads use it
        return _map_rows(self._cells.cdf, X)

    def quantile(self, q: Any) -> Array:
        """Least x with P(X ≤ x) ≥ q, for a density of one column.

        Parameters
        ----------
        q : float or array-like
            Probabilities.

        Returns
        -------
        x : ndarray of the shape of q
            Quantiles.
        """
        check_is_fitted(self)
        if self.n_features_in_ != 1:
            raise DataError(
                f"quantiles need one column, and this model has {self.n_features_in_}; fit a HistogramDensity on one."
            )
        return self._cells.quantile(check_probabilities(q))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw rows from the density.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
            Determines the draw.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows.
        """
        check_is_fitted(self)
        return self._cells.sample(checked_count(n_samples), as_generator(random_state))

    def plot(self, ax: Any = None, *, columns: Sequence[int | str] | None = None, label: str | None = None) -> Any:
        """Draw bars over one column, or shaded cells over two. Needs matplotlib: pip install 'mercer[plot]'.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.
        columns : sequence of one or two int or str, default=None
            The columns, by number or name, whose marginal density is drawn; all if not given.
        label : str, default=None
            Label of the bars in a legend.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self)
        names = column_names(self)
        shown = self._find_columns(columns)
        cells, names = self._cells.marginal(shown), [names[j] for j in shown]
        edges = [axis.edges for axis in cells.axes]
        if len(shown) == 1:
            return plots.histogram_bars(edges[0], cells.density, ax=ax, label=label, name=names[0])
        return plots.histogram_cells(edges[0], edges[1], cells.density, ax=ax, names=names)

    def _check_rows(self, X: Any, sample_weight: Any, *, reset: bool, part: bool = False) -> tuple[Array, Array | None]:
        X = self._check_numbers(X, reset=reset)
        if X.shape[1] > self._most_columns:
            raise TooManyColumnsError(
                f"X has {X.shape[1]} columns, but a histogram of more than {self._most_columns} is empty nearly "
                "everywhere; use KernelDensity, or a HistogramDensity of some of the columns."
            )
        return X, check_weight(sample_weight, X, forgets=True, part=part)

    def _empty_grid(self, X: Array, weight: Array | None) -> GridCounts:
        """Choose the bins for these rows and return them without counts."""
        chosen = bins_per_column(self.bins, X.shape[1])
        self.bins_rule_ = tuple(map(bins_in_words, chosen))
        samples = [BinSample(X[:, j], weight, X.shape[1]) for j in range(X.shape[1])]
        self._check_extremes(X, [(sample.lowest, sample.highest) for sample in samples])
        names = column_names(self)
        axes = tuple(_choose_axis(*column) for column in zip(names, chosen, samples, strict=True))
        return GridCounts.zero(1, axes)

    def _add(self, grid: GridCounts, X: Array, weight: Array | None) -> GridCounts:
        """Return the grid with these rows added."""
        groups = np.zeros(len(X), dtype=np.int8)
        # adding up the counts of a block should cost less than counting its rows
        source = RowBlocks(X.__getitem__, groups, weight, max(HISTOGRAM_BLOCK_ROWS, 4 * grid.rows.size))
        self.plan_ = Plan("one pass of counts", str(X.dtype), len(source.blocks()), thread_count())
        try:
            return reduce(grid, source)
        except SupportError as beyond:
            self._raise_beyond_edges(grid.axes, X, weight)
            raise beyond

    def _raise_beyond_edges(self, axes: Sequence[BinAxis], X: Array, weight: Array | None) -> None:
        """Raise an error for the first row that lies in no cell."""
        held = np.column_stack([axis.holds(X[:, j]) for j, axis in enumerate(axes)])
        if weight is not None:
            held |= (weight == 0)[:, None]
        row, column = (int(place) for place in np.argwhere(~held)[0])
        edges = axes[column].edges
        raise SupportError(
            f"Column {column_names(self)[column]!r} is {X[row, column]:g} in row {row}, beyond its edges, which go "
            f"from {edges[0]:g} to {edges[-1]:g}; give wider edges as `bins`, or leave such rows out."
        )

    def _store(self, statistic: GridCounts) -> None:
        self.statistic_ = statistic
        self._cells = HistogramCells(statistic.axes, statistic.counts[0])
        self.edges_ = [axis.edges for axis in statistic.axes]
        self.counts_, self.density_ = self._cells.counts, self._cells.density
        self.certificate_ = Certificate.closed_form(
            "shares of the weight are the maximum likelihood estimate of the probabilities of the cells"
        )

    def _check_queries(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._check_numbers(X, reset=False)

    def _check_numbers(self, X: Any, *, reset: bool) -> Array:
        values = np.asarray(check_rows(self, X, reset=reset, accept_sparse=False))
        if values.dtype.kind in "mM":
            raise ColumnTypeError(
                f"Column {column_names(self)[0]!r} has the type {values.dtype}, which is not a number; turn it into "
                "one, e.g. the hour, the weekday or the days since some date."
            )
        return values

    def _check_extremes(self, X: Array, extremes: Any) -> None:
        """Raise an error for the first value that is not finite, if `extremes` contain one."""
        if not np.isfinite(extremes).all():
            check_no_infinity(X, column_names(self), estimator=type(self).__name__, missing=False)

    def _find_columns(self, columns: Sequence[int | str] | None) -> tuple[int, ...]:
        """Return the numbers of the one or two columns to be drawn."""
        names = column_names(self)
        chosen = names if columns is None else columns
        places = [names.index(key) if key in names else key for key in chosen]
        known = [int(place) for place in places if place in range(len(names))]
        if not 1 <= len(set(known)) == len(places) <= 2:
            raise DataError(
                f"a histogram is drawn over one or two of its {len(names)} columns, e.g. plot(columns={names[:2]}); "
                f"got columns={columns!r}."
            )
        return tuple(known)


def _choose_axis(name: str, bins: Any, sample: BinSample) -> BinAxis:
    """Choose the bins of a column; errors mention its name."""
    try:
        return axis_from(bins, sample)
    except DataError as error:
        raise type(error)(f"Column {name!r}: {error}") from None


def corners(X: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return the least and the greatest value of each column among rows of positive weight."""
    if weight is not None and not weight.all():
        X = X[weight > 0]
    # column by column: NumPy's reduction of a matrix of few columns is ten times slower
    return np.array([x.min() for x in X.T]), np.array([x.max() for x in X.T])


def _map_rows(function: Callable[[Array], Array], X: Array) -> Array:
    """Evaluate a function of rows block by block."""
    return np.concatenate(ordered_map(lambda rows: function(X[rows]), row_blocks(len(X), HISTOGRAM_BLOCK_ROWS)))


def _chunk_corners(opened: Any, chunk: Chunk) -> tuple[Array, Array]:
    """Return the corners of the rows of a chunk; (inf, −inf) if no row has positive weight."""
    X, weight = copy.copy(opened)._check_rows(chunk.X, chunk.weight, reset=False, part=True)
    if weight is not None and not weight.any():
        return np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    ends = corners(X, weight)
    opened._check_extremes(X, ends)
    return ends


def _join_corners(mine: tuple[Array, Array], theirs: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.minimum(mine[0], theirs[0]), np.maximum(mine[1], theirs[1])


def _count_chunk(opened: Any, grid: GridCounts, chunk: Chunk) -> GridCounts:
    model = copy.copy(opened)
    counts: GridCounts = model._add(grid, *model._check_rows(chunk.X, chunk.weight, reset=False, part=True))
    return counts
