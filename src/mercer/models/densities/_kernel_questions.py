"""What can be asked of a fitted kernel density beyond scikit-learn: quantiles, regions, slices, plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._errors import ColumnMismatchError, DataError, NoClosedFormError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._typing import Array
from mercer.models._tensors import checked_tensor
from mercer.models.base import Plan, checked, column_names
from mercer.models.densities._kernel_rows import Rows, patterns, refuse_values
from mercer.models.densities.estimator import DensityEstimator
from mercer.smoothing import SmoothingKernel, Windows
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.bounded import on_support, refuse_given
from mercer.smoothing.density import Density
from mercer.smoothing.regions import HighestDensityRegion, highest_density_regions
from mercer.smoothing.slices import narrowed
from mercer.smoothing.support import Support, unbounded

#: what a plot shows of a density of two columns
COVERAGES = (0.95, 0.8, 0.5)


class DensityQuestions(DensityEstimator):
    """An estimator with a `density_`, made of `_rows` within a `_support`."""

    metric: str
    missing: str
    score_samples: Any
    density_: Any
    kernel_: SmoothingKernel
    bandwidth_choice_: Bandwidth
    plan_: Plan
    _rows: Rows
    _support: Support | None

    def leave_one_out_log_density(self) -> Array:
        """Log density of each training row under the windows of all others, with the same bandwidth.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            −inf where the others do not reach; of a row with missing values, of the columns it has.
        """
        self._windows("leaving out rows")
        if self._rows.is_complete:
            return np.asarray(self.density_.log_density_left_out())
        found = np.zeros(len(self._rows.X))
        for columns, rows in patterns(self._rows.X):
            if columns:
                left_out = self._density_of(columns).log_density_left_out()
                found[rows] = left_out[np.searchsorted(self._rows.observing(columns), rows)]
        return found

    def cdf(self, X: Any) -> Any:
        """P(x' ≤ x in every column) for each row.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_samples, n_features)
            Upper bounds, which may be infinite.

        Returns
        -------
        probability : ndarray or tensor of shape (n_samples,)
            The probabilities. Several columns need a product form with a bandwidth per column, or a Gaussian kernel
            (with a bandwidth matrix: two columns).
        """
        self._windows("a distribution function")
        rows = self._checked_queries(X, infinite=True)
        found = self._over_patterns(rows, lambda density, part: density.cdf(part), 1.0)
        return like(found, checked_tensor(self, X, reset=False)) if is_tensor(X) else found

    def quantile(self, q: Any) -> Array:
        """The smallest x with cdf(x) ≥ q, of a single column.

        Parameters
        ----------
        q : float or array-like
            Probabilities.

        Returns
        -------
        x : ndarray of the shape of q
            The quantiles.
        """
        return self._windows("quantiles").quantile(q)

    def highest_density_region(self, coverage: float = 0.95) -> HighestDensityRegion:
        """The smallest region that holds so much of the probability.

        Parameters
        ----------
        coverage : float, default=0.95
            Its probability.

        Returns
        -------
        region : HighestDensityRegion
            With `level`, the density on its boundary, `contains(X)` and, for a single column, `intervals`. The level
            is solved for on the curve of a single column, and for several a quantile of the density at 10 000 draws
            from it, always the same (Hyndman 1996): the coverage is off by less than a hundredth.
        """
        return self._windows("highest-density regions").highest_density_region(coverage)

    def conditional(self, given: Mapping[Any, float]) -> Density:
        """The density p(y|x) of the other columns where some have given values.

        Parameters
        ----------
        given : mapping from column to number
            Columns by name or number.

        Returns
        -------
        density : Density
            A frozen density of the other columns in their order, with `log_density`, `sample`, `cdf`, `quantile`,
            `mean`, … of arrays. Its `mean` is the Nadaraya–Watson estimate at x unless Σ correlates columns.
        """
        density, numbered = self._windows("conditional densities"), self._numbered(given)
        if self._support is not None:
            refuse_given(self._support, numbered, column_names(self))
        return density.conditional(numbered)

    def on_grid(self, n_points: int | Sequence[int] | None = None, extent: float = 3.0) -> tuple[Any, Array]:
        """The density on a regular grid, for up to three columns.

        Parameters
        ----------
        n_points : int or sequence of int, default=None
            Points along every axis, or along each; 1024, 128 or 32 for one, two or three columns if not given.
        extent : float, default=3.0
            How many bandwidths the grid goes on beyond the rows; it ends at the bounds of the support.

        Returns
        -------
        grid : ndarray of shape (n_points,), or tuple of such
            Places along each axis.
        density : ndarray of shape (n_points,) or (n_points, n_points, …)
            p there.
        """
        return self._windows("a grid").on_grid(n_points, extent)

    def plot(self, ax: Any = None) -> Any:
        """Plot the density of one column with its rows below, or of two with regions of 50, 80 and 95 %.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to; a new figure if not given.

        Returns
        -------
        ax : matplotlib.axes.Axes
            The axes.
        """
        from mercer.report import plots

        density = self._windows("a plot")
        if density.columns > 2:
            raise DataError(f"a plot shows one or two columns, not {density.columns}; fit a density of these alone.")
        grid, values = density.on_grid()
        if density.columns == 1:
            return plots.density_curve(grid, values, rug=density.centres[:, 0], ax=ax, name=column_names(self)[0])
        levels = np.array([region.level for region in highest_density_regions(density, COVERAGES)])
        labels, names = [f"{coverage:.0%}" for coverage in COVERAGES], column_names(self)
        x, y = grid
        return plots.density_contours(x, y, values.T, levels, labels, density.centres, ax, names=names)

    # Inner parts.

    def _windows(self, what: str) -> Density:
        check_is_fitted(self)
        if not isinstance(self.density_, Density):
            raise NoClosedFormError(f"{what} goes with the Euclidean metric only, not with {self.metric!r}.")
        return self.density_

    def _checked_queries(self, X: Any, *, infinite: bool = False) -> Array:
        X = to_numpy(X) if is_tensor(X) else X
        rows = checked(self, X, reset=False, accept_sparse=False, dtype=np.float64, order="C")
        refuse_values(rows, column_names(self), missing=self.missing == "integrate", infinite=infinite)
        return np.asarray(rows)

    def _over_patterns(self, X: Array, ask: Any, of_nothing: float) -> Array:
        """What each row gets from the density of the columns that it has; `of_nothing` if it has none."""
        if self.missing == "error" or not np.isnan(X).any():
            return np.asarray(ask(self.density_, X))
        found = np.full(len(X), of_nothing)
        for columns, rows in patterns(X):
            if columns:
                found[rows] = ask(self._density_of(columns), X[rows][:, columns])
        return found

    def _density_of(self, columns: list[int]) -> Density:
        """The density of some of the columns, of all rows that have them."""
        if self._rows.is_complete:
            return self._windows("missing values").marginal(columns)
        seen = self._seen(columns)
        if seen.weighs_nothing:
            names = ", ".join(repr(column_names(self)[column]) for column in columns)
            raise DataError(f"no training row that weighs anything has values in all of {names}; ask for fewer.")
        self._windows("missing values").marginal(columns)  # refuses kernels whose marginals have no formula
        support = None if self._support is None else self._support.over(columns)
        bandwidth = narrowed(self.bandwidth_choice_, columns)
        return on_support(Windows(self.kernel_, bandwidth, unbounded(seen.X, support), seen.weight), support)

    def _numbered(self, given: Mapping[Any, float]) -> dict[int, float]:
        """Conditions by the number of the column."""
        if not isinstance(given, Mapping):
            raise DataError(f"conditions are given by column, as in {{'height': 1.8}}; got {given!r}.")
        names = column_names(self)
        places = {name: place for place, name in enumerate(names)}
        found: dict[int, float] = {}
        for key, value in given.items():
            place = places.get(key, key)
            if not isinstance(place, Integral) or isinstance(place, bool) or not 0 <= int(place) < len(names):
                raise ColumnMismatchError(f"there is no column {key!r}; the columns are {', '.join(names)}.")
            if not isinstance(value, Real) or not np.isfinite(float(value)):
                raise DataError(f"column {names[int(place)]!r} was given as {value!r}; give a finite number.")
            found[int(place)] = float(value)
        if not 0 < len(found) < len(names):
            raise DataError("give values of at least one column, and leave at least one.")
        return found

    def _seen(self, columns: list[int]) -> Rows:
        return self._rows.taken(self._rows.observing(columns), columns)
