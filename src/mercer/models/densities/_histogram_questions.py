"""What can be asked of a fitted histogram: densities, probabilities, quantiles, draws, pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._errors import ColumnTypeError, DataError
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.families.draws import as_generator, checked_count
from mercer.models.base import checked, column_names, refuse_infinite
from mercer.models.densities.estimator import DensityEstimator
from mercer.report import plots
from mercer.smoothing.cells import Cells
from mercer.smoothing.quantiles import checked_probabilities

#: rows of a block: its columns and their codes stay in the L2 cache
BLOCK_ROWS = 1 << 16


class HistogramQuestions(DensityEstimator):
    """An estimator whose density is constant on `_cells`."""

    _cells: Cells

    def score_samples(self, X: Any) -> Array:
        """Log density of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            log p(x); −inf beyond the edges and where no row was seen.
        """
        X = self._queries(X)
        self._refuse_unless_finite(X, corners(X, None))
        _ = self._cells.log_densities  # before threads ask for it at the same time
        return _in_blocks(self._cells.log_density, X)

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
        X = self._queries(X)
        if np.isnan(X).any():
            self._refuse_unless_finite(np.where(np.isinf(X), 0.0, X), np.nan)
        _ = self._cells.cumulative  # before threads ask for it at the same time
        return _in_blocks(self._cells.cdf, X)

    def quantile(self, q: Any) -> Array:
        """The least x with P(X ≤ x) ≥ q, for a density of one column.

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
                f"quantiles are of one column, and this model has {self.n_features_in_}; fit a HistogramDensity on one."
            )
        return self._cells.quantile(checked_probabilities(q))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw rows from the density.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
            Fixes the draw.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows.
        """
        check_is_fitted(self)
        return self._cells.sample(checked_count(n_samples), as_generator(random_state))

    def plot(self, ax: Any = None, *, columns: Sequence[int | str] | None = None, label: str | None = None) -> Any:
        """Bars over one column, or shaded cells over two. Needs matplotlib: pip install 'mercer[plot]'.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if not given.
        columns : sequence of one or two int or str, default=None
            The columns, by number or name, whose density is drawn, whatever the others are; all if not given.
        label : str, default=None
            What bars are called in a legend.

        Returns
        -------
        matplotlib Axes
        """
        check_is_fitted(self)
        names = column_names(self)
        shown = self._places(columns)
        cells, names = self._cells.marginal(shown), [names[j] for j in shown]
        edges = [axis.edges for axis in cells.axes]
        if len(shown) == 1:
            return plots.histogram_bars(edges[0], cells.density, ax=ax, label=label, name=names[0])
        return plots.histogram_cells(edges[0], edges[1], cells.density, ax=ax, names=names)

    def _places(self, columns: Sequence[int | str] | None) -> tuple[int, ...]:
        """Numbers of the one or two columns of a picture."""
        names = column_names(self)
        asked = names if columns is None else columns
        places = [names.index(key) if key in names else key for key in asked]
        known = [int(place) for place in places if place in range(len(names))]
        if not 1 <= len(set(known)) == len(places) <= 2:
            raise DataError(
                f"a histogram is drawn over one or two of its {len(names)} columns, e.g. plot(columns={names[:2]}); "
                f"got columns={columns!r}."
            )
        return tuple(known)

    def _queries(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._numbers(X, reset=False)

    def _numbers(self, X: Any, *, reset: bool) -> Array:
        values = np.asarray(checked(self, X, reset=reset, accept_sparse=False))
        if values.dtype.kind in "mM":
            raise ColumnTypeError(
                f"Column {column_names(self)[0]!r} has the type {values.dtype}, which is not a number; turn it into "
                "one, e.g. the hour, the weekday or the days since some date."
            )
        return values

    def _refuse_unless_finite(self, X: Array, extremes: Any) -> None:
        """Name the first value that is not finite, if the extremes say that there is one."""
        if not np.isfinite(extremes).all():
            refuse_infinite(X, column_names(self), estimator=type(self).__name__, missing=False)


def corners(X: Array, weight: Array | None) -> tuple[Array, Array]:
    """The least and the greatest value of each column among rows that weigh something."""
    if weight is not None and not weight.all():
        X = X[weight > 0]
    # column by column: NumPy's reduction of a whole matrix of few columns is ten times slower
    return np.array([x.min() for x in X.T]), np.array([x.max() for x in X.T])


def _in_blocks(answer: Callable[[Array], Array], X: Array) -> Array:
    """One number for each row, a block of rows at a time."""
    return np.concatenate(ordered_map(lambda rows: answer(X[rows]), row_blocks(len(X), BLOCK_ROWS)))
