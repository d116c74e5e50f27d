"""Densities by counting: constant on each bin of an axis, or on each cell of a grid (lecture 4, "Histogram method")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._errors import (
    DataError,
    EmptyDataError,
    SupportError,
    TooManyColumnsError,
    UnseenRowsError,
)
from mercer._stored import floats, part_of, reals, sequence, stored
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base import DESCRIBES_ROWS, traits
from mercer.data.blocks import RowBlocks
from mercer.data.sources.base import Source
from mercer.engines.reducing import reduce
from mercer.families.bins import Axis, Sample, axis_from, bins_in_words, bins_per_column
from mercer.models._agreement import refuse_other_columns
from mercer.models.base import Plan, checked_weight, column_names, old_state_on_failure
from mercer.models.densities._histogram_questions import BLOCK_ROWS, HistogramQuestions, corners
from mercer.models.densities._histogram_source import count_source
from mercer.models.fitted_fields import FITTED
from mercer.models.streaming.from_source import fits_sources
from mercer.smoothing.cells import Cells
from mercer.solvers.certificate import Certificate
from mercer.stats.grid import GridCounts, joined_axes


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
    _cells=part_of(Cells, d="d"),
    statistic_=part_of(GridCounts, d="d"),
)
class HistogramDensity(HistogramQuestions):
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
        Of each column.
    counts_ : ndarray of shape (n_bins of column 0, n_bins of column 1, …)
        Weight of the rows in each cell.
    density_ : ndarray of the same shape
        In each cell.
    bins_rule_ : tuple of str
        How the bins of each column were chosen.
    statistic_ : GridCounts
        The counts with their axes, which can be merged.
    certificate_ : Certificate
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit took.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where they had any.

    Notes
    -----
    A bin holds its left edge, the last one both, as in NumPy; bins of a given `Width` only the left ones. A column
    without spread gets bins in an interval around its value (±0.5, or a millionth of it where that is more).
    "knuth" and "stone" find the steps of numbers that were rounded; use another rule where these are of no interest.

    The bins are chosen by the first batch. Later rows beyond them add bins of the same width, so that nothing is lost
    (the bin that held its right edge keeps it); where the edges were given, such rows are refused, in the first
    batch too. Rows of weight zero are no rows.

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

    #: a grid over more columns would be empty nearly everywhere, or have cells that say nothing
    _most_columns: ClassVar[int] = 3

    statistic_: GridCounts
    plan_: Plan

    def __init__(self, bins: Any = "auto") -> None:
        self.bins = bins

    @fits_sources
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the bins and count, forgetting what was learnt before.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), or Source
            Rows, of at most three columns. A source is read twice; where a rule chooses the bins, into memory.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with old_state_on_failure(self):
            X, weight = self._checked_rows(X, sample_weight, reset=True)
            self._store(self._counted(self._empty_grid(X, weight), X, weight))
        return self

    def _fit_source(self, source: Source) -> Any:
        counts = count_source(self, source)
        return NotImplemented if counts is None else self._store(counts)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count more rows in the bins of the first call, with bins added where rows lie beyond them.

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
        with old_state_on_failure(self):
            X, weight = self._checked_rows(X, sample_weight, reset=False)
            ends = corners(X, weight)
            self._refuse_unless_finite(X, ends)
            self._store(self._counted(self.statistic_.covering(*ends), X, weight))
        return self

    def merge(self, other: HistogramDensity) -> Self:
        """Add all that another model has counted.

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
        refuse_other_columns(self, other)
        # before the counts are: whose edges differ is a column here, not the number of an axis
        joined_axes(self.statistic_.axes, other.statistic_.axes, [f"column {name!r}" for name in column_names(self)])
        with old_state_on_failure(self):
            self._store(self.statistic_.merge(other.statistic_))
        return self

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows out again: afterwards the counts are those of a model that was never shown them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows that were learnt before.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights they were learnt with.

        Returns
        -------
        self : object
            The model itself.
        """
        check_is_fitted(self)
        with old_state_on_failure(self):
            X, weight = self._checked_rows(X, sample_weight, reset=False)
            self._refuse_unless_finite(X, corners(X, weight))
            try:
                gone = self._counted(self.statistic_.empty(), X, weight)
            except SupportError as beyond:
                raise UnseenRowsError(f"{beyond} No such row was ever learnt, and none can be forgotten.") from None
            left = self.statistic_.subtract(gone)
            if not left.rows.any():
                raise EmptyDataError("Every row would be forgotten; make a new, unfitted model instead.")
            self._store(left)
        return self

    def _checked_rows(
        self, X: Any, sample_weight: Any, *, reset: bool, part: bool = False
    ) -> tuple[Array, Array | None]:
        X = self._numbers(X, reset=reset)
        if X.shape[1] > self._most_columns:
            raise TooManyColumnsError(
                f"X has {X.shape[1]} columns, but a histogram of more than {self._most_columns} is empty nearly "
                "everywhere; use KernelDensity, or a HistogramDensity of some of the columns."
            )
        return X, checked_weight(sample_weight, X, forgets=True, part=part)

    def _empty_grid(self, X: Array, weight: Array | None) -> GridCounts:
        """The bins for these rows."""
        asked = bins_per_column(self.bins, X.shape[1])
        self.bins_rule_ = tuple(map(bins_in_words, asked))
        samples = [Sample(X[:, j], weight, X.shape[1]) for j in range(X.shape[1])]
        self._refuse_unless_finite(X, [(sample.lowest, sample.highest) for sample in samples])
        names = column_names(self)
        axes = tuple(_axis(*column) for column in zip(names, asked, samples, strict=True))
        return GridCounts.zero(1, axes)

    def _counted(self, grid: GridCounts, X: Array, weight: Array | None) -> GridCounts:
        """The grid with these rows in it."""
        groups = np.zeros(len(X), dtype=np.int8)
        # the counts of a block should cost less to add up than its rows to count
        source = RowBlocks(X.__getitem__, groups, weight, max(BLOCK_ROWS, 4 * grid.rows.size))
        self.plan_ = Plan("one pass of counts", str(X.dtype), len(source.blocks()), thread_count())
        try:
            return reduce(grid, source)
        except SupportError as beyond:
            self._refuse_beyond(grid.axes, X, weight)
            raise beyond

    def _refuse_beyond(self, axes: Sequence[Axis], X: Array, weight: Array | None) -> None:
        """Name the first row that has no cell."""
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
        self._cells = Cells(statistic.axes, statistic.counts[0])
        self.edges_ = [axis.edges for axis in statistic.axes]
        self.counts_, self.density_ = self._cells.counts, self._cells.density
        self.certificate_ = Certificate.closed_form(
            "shares of the weight are the maximum likelihood estimate of the probabilities of the cells"
        )


def _axis(name: str, bins: Any, sample: Sample) -> Axis:
    """The bins of a column, or an error with its name."""
    try:
        return axis_from(bins, sample)
    except DataError as refusal:
        raise type(refusal)(f"Column {name!r}: {refusal}") from None
