"""Kernel density estimation: Parzen windows with scikit-learn's interface (lecture 4).

Bandwidths are chosen in `_rules`, `_plug_in` and `cross_validation`, and densities are computed in `_windows`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.neighbors import VALID_METRICS, BallTree, KDTree
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from mercer._errors import BandwidthError, ColumnMismatchError, DataError, KernelError, NoClosedFormError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._held import ValueHolder
from mercer._stored import either, floats, optional, part_of, real, stored
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base import DESCRIBES_ROWS, traits
from mercer.base.agreement import check_same_columns, check_same_parameters
from mercer.base.fitted_fields import FITTED
from mercer.base.sources import fits_sources
from mercer.base.validation import (
    Plan,
    check_finite,
    check_is_fitted,
    check_rows,
    check_tensor,
    check_tensor_weight,
    check_weight,
    column_names,
    has_finite_sum,
    raise_if_any,
    restore_on_failure,
    validate_params,
)
from mercer.density import _tensor_sums as tensor_sums
from mercer.density._bandwidth import Bandwidth
from mercer.density._bounded import Support, check_conditions, on_support, support_from, transform_points
from mercer.density._density import Density, Rng
from mercer.density._estimator import DensityEstimator
from mercer.density._kernels import SMOOTHING_KERNELS, Gaussian, SmoothingKernel, Uniform, smoothing_kernel_from
from mercer.density._regions import HighestDensityRegion, find_regions
from mercer.density._sums import has_grid
from mercer.density._windows import Windows, select_axes
from mercer.density.named_rules import bandwidth_from
from mercer.density.sum_loops import BLOCK_POINTS
from mercer.families.base import checked_count
from mercer.families.multivariate import distinct_patterns
from mercer.optim.certificate import Certificate


@stored(X=floats("nd"), weight=optional(floats("n", least=0)), tag="DensityRows")
@dataclass(frozen=True, eq=False)
class DensityRows:
    """Rows of a kernel density, some of whose values may be missing, and their weights; None if all are 1."""

    X: Array
    weight: Array | None
    is_complete: bool = True

    def concatenate(self, other: Self) -> DensityRows:
        """Return these rows followed by those of `other`."""
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([self.weights, other.weights])
        return DensityRows(np.concatenate([self.X, other.X]), weight, self.is_complete and other.is_complete)

    @property
    def weights(self) -> Array:
        return np.ones(len(self.X)) if self.weight is None else self.weight

    @cached_property
    def observed(self) -> Array:
        """Mask of the values that are not missing."""
        return ~np.isnan(self.X)

    def rows_observing(self, columns: list[int]) -> Array:
        """Return the indices of the rows that have a value in all of these columns."""
        return np.flatnonzero(self.observed[:, columns].all(axis=1))

    @property
    def is_weightless(self) -> bool:
        """Return whether there are no rows, or none of positive weight."""
        return not len(self.X) or (self.weight is not None and not self.weight.any())

    def take(self, rows: Array, columns: list[int]) -> DensityRows:
        return DensityRows(self.X[rows][:, columns], None if self.weight is None else self.weight[rows])


def group_by_pattern(X: Array) -> list[tuple[list[int], Array]]:
    """Return each pattern of observed columns and the indices of the rows that have this pattern."""
    kinds, which = distinct_patterns(~np.isnan(X))
    return [(np.flatnonzero(kind).tolist(), np.flatnonzero(which == i)) for i, kind in enumerate(kinds)]


def check_finite_rows(X: Array, names: list[str], *, missing: bool, infinite: bool = False) -> None:
    """Raise an error for the first NaN, unless `missing` is true, or the first infinity, unless `infinite` is true."""
    if has_finite_sum(X):
        return
    raise_if_any(
        lambda values: (np.isnan(values) & (not missing)) | (np.isinf(values) & (not infinite)),
        X,
        names,
        gaps="KernelDensity does not accept missing values encoded as NaN; drop such rows, or pass "
        'missing="integrate", which integrates them out',
    )


TREES = {"kd_tree": KDTree, "ball_tree": BallTree}
METRICS = set(chain(*(VALID_METRICS[name] for name in TREES)))
#: scikit-learn's names of kernels that have another one here
SKLEARN_NAMES = {"uniform": "tophat", "triangular": "linear"}
SKLEARN_KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")


def tree_for(algorithm: str, metric: str) -> Any:
    """Return the class of tree that scikit-learn would build."""
    if algorithm == "auto":
        algorithm = "kd_tree" if metric in KDTree.valid_metrics else "ball_tree"
    if metric not in TREES[algorithm].valid_metrics:
        raise DataError(f"invalid metric for {TREES[algorithm]}: '{metric}'. Use algorithm='auto'.")
    return TREES[algorithm]


def is_euclidean(metric: str, params: dict[str, Any] | None) -> bool:
    """Return whether a metric with these parameters is the Euclidean one."""
    if metric in ("minkowski", "p"):
        return set(params or {}) <= {"p"} and (params or {}).get("p", 2) == 2
    return metric in ("euclidean", "l2") and not params


class TreeDensity:
    """Density in a non-Euclidean metric by scikit-learn's trees; its normaliser is right for the Euclidean metric only.

    Parameters
    ----------
    tree : BallTree or KDTree
        A tree of the rows.
    kernel : SmoothingKernel
        A kernel that scikit-learn has.
    bandwidth : Bandwidth
        A number.
    rows : DensityRows
        The training rows.
    breadth_first : bool
        Order in which the tree is searched.
    """

    def __init__(
        self, tree: Any, kernel: SmoothingKernel, bandwidth: Bandwidth, rows: DensityRows, breadth_first: bool
    ) -> None:
        self.name = SKLEARN_NAMES.get(kernel.name, kernel.name)
        if self.name not in SKLEARN_KERNELS or kernel.form != "radial":
            raise KernelError(
                f"the {kernel.form} {kernel.name} kernel goes with the Euclidean metric only; other metrics take "
                f"{', '.join(SKLEARN_KERNELS)}."
            )
        if np.ndim(bandwidth.value) or bandwidth.sensitivity:
            raise BandwidthError("a metric other than the Euclidean takes one bandwidth, a number for all points.")
        self.tree, self.kernel, self.bandwidth, self.rows = tree, kernel, bandwidth, rows
        self.breadth_first = breadth_first

    def log_density(self, X: Array, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        """Return the log density of every row."""
        total = float(self.rows.weights.sum())
        logs: Array = self.tree.kernel_density(
            X, h=self.bandwidth.value, kernel=self.name, atol=atol * total, rtol=rtol,
            breadth_first=self.breadth_first, return_log=True,
        )  # fmt: skip
        return np.asarray(logs - np.log(total))

    def sample(self, n: int, rng: Rng) -> Array:
        """Draw n rows as scikit-learn does: steps are Euclidean whatever the metric."""
        if not isinstance(self.kernel, Gaussian | Uniform):
            raise NoClosedFormError(
                f"the {self.name} kernel cannot be sampled in a metric other than the Euclidean; use the Euclidean one "
                "or the Gaussian or tophat kernel."
            )
        return Windows(self.kernel, self.bandwidth, self.rows.X, self.rows.weight).sample(n, rng)


#: probabilities of the regions that a plot of two columns shows
PLOTTED_COVERAGES = (0.95, 0.8, 0.5)


@traits(
    "density",
    kind="density",
    no_counterpart=DESCRIBES_ROWS,
    cost="mercer.cost.work.windows",
)
@stored(
    **FITTED,
    kernel_=part_of(SmoothingKernel),
    _rows=part_of(DensityRows, d="d"),
    _support=optional(part_of(Support, d="d")),
    density_=part_of(d="d"),
    bandwidth_=either(real(), floats("d"), floats("dd")),
    bandwidth_choice_=part_of(Bandwidth),
    # files hold no scikit-learn trees; they are rebuilt from the stored rows
    regrow={"density_": lambda model: model._rebuild_tree()},
)
class KernelDensity(ValueHolder, DensityEstimator):
    """Kernel density estimation; scikit-learn's `KernelDensity` with automatic bandwidths, bounded supports and more.

    p(x) is the weighted mean of kernels centred on the rows. Sums are taken in log space: the density of a
    Gaussian kernel is never −inf, however far from all rows.

    Parameters
    ----------
    bandwidth : number, array, Bandwidth, rule or str, default=1.0
        h, one h per column, the matrix Σ (in squared units: h stands for Σ = h²I), a `mercer.density.Bandwidth`, or a
        rule to choose one: "isj" (one column), "plugin", "likelihood-cv", "least-squares-cv", "scott-scaled",
        "silverman-scaled". "scott" and "silverman" are scikit-learn's numbers, which ignore the scale of the data.
    algorithm : {"auto", "kd_tree", "ball_tree"}, default="auto"
        Tree that scikit-learn builds for metrics other than the Euclidean.
    kernel : str or SmoothingKernel, default="gaussian"
        "gaussian", "uniform" or "tophat", "epanechnikov", "triangular" or "linear", "biweight", "triweight", "cosine",
        "exponential", or a kernel of `mercer.density`, e.g. in its product form.
    metric : str, default="euclidean"
        Distances. Others than the Euclidean are computed by scikit-learn, whose normaliser is right for the Euclidean
        only.
    atol : float, default=0
        Absolute error of a density that is tolerated where this is faster.
    rtol : float, default=0
        Relative error that is tolerated.
    breadth_first : bool, default=True
        Order in which scikit-learn searches a tree.
    leaf_size : int, default=40
        Leaf size of the tree.
    metric_params : dict, default=None
        Parameters of the metric.
    support : None, pair, sequence of pairs or dict, default=None
        Bounds of the columns: (low, high) for all, one such pair or None for each, or pairs by name or number of the
        column. Bounds may be infinite or None.
    boundary : {"reflect", "transform"}, default="reflect"
        How the density is kept within the bounds. "reflect" folds space along them, so that mass beyond a bound is
        added back inside; it counts all images of a kernel that hold more than 1e-16 of its mass, and the slope is 0 at
        a bound. "transform" estimates the density of log(x − low), −log(high − x) or log((x − low)/(high − x));
        bandwidths are in these units, and the density is 0 at a bound.
    missing : {"error", "integrate"}, default="error"
        Treatment of NaN. "integrate" integrates missing columns out of a query: its density is that of the columns it
        has, 1 if it has none. A training row takes part in the marginal density of a set of columns if it has a value
        in all of them, so that complete queries, draws and conditional densities are based on complete rows, as is the
        choice of a bandwidth. It needs marginals that have a formula: a Gaussian kernel, or a product form with a
        bandwidth per column.

    Attributes
    ----------
    bandwidth_ : float or ndarray
        The bandwidth used: a number, one per column, or Σ.
    bandwidth_choice_ : Bandwidth
        The bandwidth as an object: how it was chosen, by which criterion, and whether it adapts to each point.
    kernel_ : SmoothingKernel
        The kernel used.
    density_ : Density
        The fitted density as a frozen object of `mercer.density`.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    certificate_ : Certificate
        Evidence of optimality.
    plan_ : Plan
        Which path the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDensity
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> model = KernelDensity(bandwidth="silverman-scaled").fit(X)
    >>> np.exp(model.score_samples([[0.0]])).round(2)  # that of the normal distribution is 0.40
    array([0.37])
    >>> model.quantile([0.25, 0.75]).round(1)
    array([-0.7,  0.7])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "bandwidth": [Interval(Real, 0, None, closed="neither"), str, "array-like", Bandwidth, HasMethods("choose")],
        "algorithm": [StrOptions(set(TREES) | {"auto"})],
        "kernel": [StrOptions(set(SMOOTHING_KERNELS)), SmoothingKernel],
        "metric": [StrOptions(METRICS)],
        "atol": [Interval(Real, 0, None, closed="left")],
        "rtol": [Interval(Real, 0, None, closed="left")],
        "breadth_first": ["boolean"],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "metric_params": [None, dict],
        "support": [None, "array-like", dict],
        "boundary": [StrOptions({"reflect", "transform"})],
        "missing": [StrOptions({"error", "integrate"})],
    }

    density_: Any
    plan_: Plan

    def __init__(
        self,
        *,
        bandwidth: Any = 1.0,
        algorithm: str = "auto",
        kernel: Any = "gaussian",
        metric: str = "euclidean",
        atol: float = 0,
        rtol: float = 0,
        breadth_first: bool = True,
        leaf_size: int = 40,
        metric_params: dict[str, Any] | None = None,
        support: Any = None,
        boundary: str = "reflect",
        missing: str = "error",
    ) -> None:
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params
        self.support = support
        self.boundary = boundary
        self.missing = missing

    @fits_sources
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the kernel density.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_samples, n_features)
            The rows.
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
            validate_params(self)
            self._learn(self._check_rows(X, sample_weight, reset=True))
            self.plan_ = self.plan_.where(X)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows; the result is that of one fit on all of them, with a bandwidth chosen anew if it is a rule.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            More rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The model itself.
        """
        if not hasattr(self, "density_"):
            return self.fit(X, y, sample_weight)
        with restore_on_failure(self):
            validate_params(self)
            self._learn(self._rows.concatenate(self._check_rows(X, sample_weight, reset=False)))
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows of another model; the result is that of one fit on the rows of both.

        Parameters
        ----------
        other : KernelDensity
            A fitted model with the same parameters and columns.

        Returns
        -------
        self : object
            The model itself.
        """
        check_is_fitted(self)
        check_same_columns(self, other)
        check_same_parameters(self, other)
        with restore_on_failure(self):
            self._learn(self._rows.concatenate(other._rows))
        return self

    def score_samples(self, X: Any) -> Any:
        """Log density of each row.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_density : ndarray or tensor of shape (n_samples,)
            log p(x), on the device of X if it is a tensor; −inf outside the support and where a kernel of compact
            support does not reach.
        """
        check_is_fitted(self)
        if is_tensor(X):
            return self._tensor_log_density(X)
        rows = self._check_queries(X)
        rtol, atol = float(self.rtol), float(self.atol)
        return self._evaluate_by_pattern(
            rows, lambda density, part: density.log_density(part, rtol=rtol, atol=atol), 0.0
        )

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw rows from the density, whatever its kernel.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
            Determines the draw; Gaussian and tophat kernels give scikit-learn's numbers.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows.
        """
        check_is_fitted(self)
        generator = isinstance(random_state, np.random.Generator)
        rng = random_state if generator else check_random_state(random_state)
        return np.asarray(self.density_.sample(checked_count(n_samples), rng))

    def leave_one_out_log_density(self) -> Array:
        """Log density of each training row under the kernels of all others, with the same bandwidth.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            −inf where no other kernel reaches; for a row with missing values, the density of the columns it has.
        """
        self._euclidean_density("leaving out rows")
        if self._rows.is_complete:
            return np.asarray(self.density_.log_density_left_out())
        result = np.zeros(len(self._rows.X))
        for columns, rows in group_by_pattern(self._rows.X):
            if columns:
                left_out = self._density_over(columns).log_density_left_out()
                result[rows] = left_out[np.searchsorted(self._rows.rows_observing(columns), rows)]
        return result

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
        self._euclidean_density("a distribution function")
        rows = self._check_queries(X, infinite=True)
        result = self._evaluate_by_pattern(rows, lambda density, part: density.cdf(part), 1.0)
        return like(result, check_tensor(self, X, reset=False)) if is_tensor(X) else result

    def quantile(self, q: Any) -> Array:
        """Smallest x with cdf(x) ≥ q, for a density of one column.

        Parameters
        ----------
        q : float or array-like
            Probabilities.

        Returns
        -------
        x : ndarray of the shape of q
            The quantiles.
        """
        return self._euclidean_density("quantiles").quantile(q)

    def highest_density_region(self, coverage: float = 0.95) -> HighestDensityRegion:
        """Smallest region that holds a given probability.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability of the region.

        Returns
        -------
        region : HighestDensityRegion
            With `level`, the density on its boundary, `contains(X)` and, for a single column, `intervals`. The level
            is exact for a single column; for several it is a quantile of the density at 10,000 draws
            from it, with a fixed seed (Hyndman 1996), and the coverage is off by less than a hundredth.
        """
        return self._euclidean_density("highest-density regions").highest_density_region(coverage)

    def conditional(self, given: Mapping[Any, float]) -> Density:
        """Density p(y|x) of the other columns given values of some.

        Parameters
        ----------
        given : mapping from column to number
            Columns by name or number.

        Returns
        -------
        density : Density
            An immutable density of the other columns in their order, with `log_density`, `sample`, `cdf`, `quantile`,
            `mean`, … of arrays. Its `mean` is the Nadaraya–Watson estimate at x unless Σ correlates columns.
        """
        density, numbered = self._euclidean_density("conditional densities"), self._number_conditions(given)
        if self._support is not None:
            check_conditions(self._support, numbered, column_names(self))
        return density.conditional(numbered)

    def on_grid(self, n_points: int | Sequence[int] | None = None, extent: float = 3.0) -> tuple[Any, Array]:
        """Density on a regular grid, for up to three columns.

        Parameters
        ----------
        n_points : int or sequence of int, default=None
            Points along every axis, or along each; by default 1024, 128 or 32 for one, two or three columns.
        extent : float, default=3.0
            Number of bandwidths by which the grid extends beyond the rows; it ends at the bounds of the support.

        Returns
        -------
        grid : ndarray of shape (n_points,), or tuple of such
            Coordinates along each axis.
        density : ndarray of shape (n_points,) or (n_points, n_points, …)
            Density at the grid points.
        """
        return self._euclidean_density("a grid").on_grid(n_points, extent)

    def plot(self, ax: Any = None) -> Any:
        """Plot the density of one column with its rows below, or of two with regions of 50, 80 and 95 %.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure if not given.

        Returns
        -------
        ax : matplotlib.axes.Axes
            The axes.
        """
        from mercer.report import plots

        density = self._euclidean_density("a plot")
        if density.columns > 2:
            raise DataError(f"a plot shows one or two columns, not {density.columns}; fit a density of one or two.")
        grid, values = density.on_grid()
        if density.columns == 1:
            return plots.density_curve(grid, values, rug=density.centres[:, 0], ax=ax, name=column_names(self)[0])
        levels = np.array([region.level for region in find_regions(density, PLOTTED_COVERAGES)])
        labels, names = [f"{coverage:.0%}" for coverage in PLOTTED_COVERAGES], column_names(self)
        x, y = grid
        return plots.density_contours(x, y, values.T, levels, labels, density.centres, ax, names=names)

    def _check_rows(self, X: Any, sample_weight: Any, *, reset: bool) -> DensityRows:
        if is_tensor(X):
            X = check_tensor(self, X, reset=reset)
            weight_there = check_tensor_weight(sample_weight, X)
            # the rows are kept in main memory, as after any other fit
            X, sample_weight = to_numpy(X), None if weight_there is None else to_numpy(weight_there)
        values = check_rows(self, X, reset=reset, accept_sparse=False, dtype=np.float64, order="C")
        check_finite_rows(values, column_names(self), missing=self.missing == "integrate")
        weight = check_weight(sample_weight, values)
        is_complete = self.missing == "error" or not np.isnan(values).any()
        return DensityRows(np.require(values, requirements="W"), weight, is_complete)

    def _learn(self, rows: DensityRows) -> None:
        self.kernel_ = smoothing_kernel_from(self.kernel)
        self._rows = rows
        self._support = self._check_support()
        tree = tree_for(self.algorithm, self.metric)
        if is_euclidean(self.metric, self.metric_params):
            self._fit_windows()
            path, exact = self._describe_path(), not self._is_approximate
        else:
            self._fit_tree(tree)
            path, exact = f"scikit-learn's {tree.__name__}, metric {self.metric!r}", not (self.rtol or self.atol)
        self.bandwidth_ = self.bandwidth_choice_.value
        self.certificate_ = Certificate.closed_form("the weighted mean of kernels centred on the rows")
        blocks = -(-len(rows.X) // BLOCK_POINTS)
        self.plan_ = Plan(path, "float64", blocks, thread_count(), exact=exact)

    def _check_support(self) -> Support | None:
        names = column_names(self)
        support = support_from(self.support, self.n_features_in_, self.boundary, names)
        if support is not None:
            support.check_inside(self._rows.X, names)
        return support

    def _fit_windows(self) -> None:
        everything = list(range(self.n_features_in_))
        complete = self._rows if self._rows.is_complete else self._rows_over(everything)
        if complete.is_weightless:
            raise DataError(
                "every row of positive weight has a missing value, so that no row is complete; "
                "fit fewer columns at a time, or drop those that are mostly missing."
            )
        points = transform_points(complete.X, self._support)
        names = column_names(self)
        self.bandwidth_choice_ = bandwidth_from(self.bandwidth, points, complete.weight, self.kernel_, names=names)
        if self.bandwidth_choice_.sensitivity and not self._rows.is_complete:
            raise BandwidthError(
                "widths that adapt to the density at each row need complete rows; drop those with missing values, or "
                "use a bandwidth without sensitivity."
            )
        windows = Windows(self.kernel_, self.bandwidth_choice_, points, complete.weight)
        self.density_ = on_support(windows, self._support)

    def _fit_tree(self, tree: Any) -> None:
        if self._support is not None or not self._rows.is_complete:
            raise NoClosedFormError(
                f"bounded supports and missing values go with the Euclidean metric only, not with {self.metric!r}."
            )
        rows = self._rows
        choice = self.bandwidth_choice_ = bandwidth_from(self.bandwidth, rows.X, rows.weight, self.kernel_)
        params = {"metric": self.metric, "leaf_size": self.leaf_size, **(self.metric_params or {})}
        grown = tree(rows.X, sample_weight=rows.weight, **params)
        self.density_ = TreeDensity(grown, self.kernel_, choice, rows, self.breadth_first)

    def _rebuild_tree(self) -> None:
        """Rebuild the tree after the model was loaded."""
        if hasattr(self, "_rows"):
            self._fit_tree(tree_for(self.algorithm, self.metric))

    def _describe_path(self) -> str:
        blocks = f"sums of {self.kernel_.name} kernels over blocks of points, without those out of reach"
        if not self._is_approximate:
            return blocks
        return f"a Fourier grid whose error is bounded; where it would cost more, or be too inaccurate, {blocks}"

    @property
    def _is_approximate(self) -> bool:
        """Return whether densities may be approximate: only sums on a grid are, whatever the tolerance."""
        transformed = self._support is not None and self._support.boundary == "transform"
        adaptive = self.bandwidth_choice_.sensitivity > 0
        is_tolerant = self.rtol > 0 or (self.atol > 0 and not transformed)
        return is_tolerant and has_grid(self.kernel_, self.n_features_in_, adaptive=adaptive)

    def _euclidean_density(self, what: str) -> Density:
        check_is_fitted(self)
        if not isinstance(self.density_, Density):
            raise NoClosedFormError(f"{what} goes with the Euclidean metric only, not with {self.metric!r}.")
        return self.density_

    def _check_queries(self, X: Any, *, infinite: bool = False) -> Array:
        X = to_numpy(X) if is_tensor(X) else X
        rows = check_rows(self, X, reset=False, accept_sparse=False, dtype=np.float64, order="C")
        check_finite_rows(rows, column_names(self), missing=self.missing == "integrate", infinite=infinite)
        return np.asarray(rows)

    def _tensor_log_density(self, X: Any) -> Any:
        """Return the log densities of a tensor on its device, computed there if the kernel allows it."""
        X = check_tensor(self, X, reset=False)
        summed = isinstance(self.density_, Windows) and tensor_sums.has_tensor_sums(
            self.kernel_, self.bandwidth_choice_, self.n_features_in_
        )
        if not summed or (self.missing == "integrate" and bool(X.isnan().any())):
            return like(self.score_samples(to_numpy(X)), X)
        check_finite(self, X)
        return tensor_sums.log_density(self.density_, X)

    def _evaluate_by_pattern(self, X: Array, evaluate: Any, default: float) -> Array:
        """Evaluate the density of the observed columns of each row; the result is `default` if there are none."""
        if self.missing == "error" or not np.isnan(X).any():
            return np.asarray(evaluate(self.density_, X))
        result = np.full(len(X), default)
        for columns, rows in group_by_pattern(X):
            if columns:
                result[rows] = evaluate(self._density_over(columns), X[rows][:, columns])
        return result

    def _density_over(self, columns: list[int]) -> Density:
        """Return the density of some columns, estimated from all rows that have a value in them."""
        if self._rows.is_complete:
            return self._euclidean_density("missing values").marginal(columns)
        rows = self._rows_over(columns)
        if rows.is_weightless:
            names = ", ".join(repr(column_names(self)[column]) for column in columns)
            raise DataError(f"no training row of positive weight has values in all of {names}; choose fewer columns.")
        self._euclidean_density("missing values").marginal(columns)  # raises where they have no formula
        support = None if self._support is None else self._support.over(columns)
        bandwidth = select_axes(self.bandwidth_choice_, columns)
        return on_support(Windows(self.kernel_, bandwidth, transform_points(rows.X, support), rows.weight), support)

    def _rows_over(self, columns: list[int]) -> DensityRows:
        return self._rows.take(self._rows.rows_observing(columns), columns)

    def _number_conditions(self, given: Mapping[Any, float]) -> dict[int, float]:
        """Return the conditions with column numbers as keys."""
        if not isinstance(given, Mapping):
            raise DataError(f"conditions are given by column, as in {{'height': 1.8}}; got {given!r}.")
        names = column_names(self)
        places = {name: place for place, name in enumerate(names)}
        conditions: dict[int, float] = {}
        for key, value in given.items():
            place = places.get(key, key)
            if not isinstance(place, Integral) or isinstance(place, bool) or not 0 <= int(place) < len(names):
                raise ColumnMismatchError(f"there is no column {key!r}; the columns are {', '.join(names)}.")
            if not isinstance(value, Real) or not np.isfinite(float(value)):
                raise DataError(f"column {names[int(place)]!r} was given as {value!r}; give a finite number.")
            conditions[int(place)] = float(value)
        if not 0 < len(conditions) < len(names):
            raise DataError("give values of at least one column, and leave at least one without.")
        return conditions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "integrate"
        return tags
