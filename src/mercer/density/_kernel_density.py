"""Kernel density estimation: Parzen windows with scikit-learn's interface (lecture 4)."""

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
from sklearn.utils.validation import check_is_fitted

from mercer._errors import BandwidthError, ColumnMismatchError, DataError, KernelError, NoClosedFormError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._held import ValueHolder
from mercer._stored import either, floats, optional, part_of, real, stored
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base import DESCRIBES_ROWS, traits
from mercer.base.agreement import refuse_other_columns, refuse_other_parameters
from mercer.base.fitted_fields import FITTED
from mercer.base.sources import fits_sources
from mercer.base.validation import (
    Plan,
    adds_up,
    checked,
    checked_tensor,
    checked_tensor_weight,
    checked_weight,
    column_names,
    old_state_on_failure,
    refuse_not_finite,
    refuse_where,
)
from mercer.density import _tensor_sums as tensor_sums
from mercer.density._bandwidth import Bandwidth
from mercer.density._bounded import on_support, refuse_given
from mercer.density._density import Density, Rng
from mercer.density._estimator import DensityEstimator
from mercer.density._kernels import KERNELS, Gaussian, SmoothingKernel, Uniform, smoothing_kernel_from
from mercer.density._regions import HighestDensityRegion, highest_density_regions
from mercer.density._sums import has_grid
from mercer.density._support import Support, support_from, unbounded
from mercer.density._windows import Windows, narrowed
from mercer.density.named_rules import bandwidth_from
from mercer.density.sum_loops import SIZE
from mercer.families.base import checked_count
from mercer.families.multivariate import distinct_patterns
from mercer.optim.certificate import Certificate

# The rows that a kernel density is made of, some of whose values may be missing.


@stored(X=floats("nd"), weight=optional(floats("n", least=0)), tag="DensityRows")
@dataclass(frozen=True, eq=False)
class DensityRows:
    """Rows and their weights; None if all are 1."""

    X: Array
    weight: Array | None
    is_complete: bool = True

    def joined(self, other: Self) -> DensityRows:
        """These rows and then those of `other`."""
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([self.weights, other.weights])
        return DensityRows(np.concatenate([self.X, other.X]), weight, self.is_complete and other.is_complete)

    @property
    def weights(self) -> Array:
        return np.ones(len(self.X)) if self.weight is None else self.weight

    @cached_property
    def observed(self) -> Array:
        """Where there is a value."""
        return ~np.isnan(self.X)

    def observing(self, columns: list[int]) -> Array:
        """Numbers of the rows that have a value in all of these columns."""
        return np.flatnonzero(self.observed[:, columns].all(axis=1))

    @property
    def weighs_nothing(self) -> bool:
        """Whether there are no rows, or none of any weight."""
        return not len(self.X) or (self.weight is not None and not self.weight.any())

    def taken(self, rows: Array, columns: list[int]) -> DensityRows:
        return DensityRows(self.X[rows][:, columns], None if self.weight is None else self.weight[rows])


def patterns(X: Array) -> list[tuple[list[int], Array]]:
    """Which columns have values, and which rows have those and no others."""
    kinds, which = distinct_patterns(~np.isnan(X))
    return [(np.flatnonzero(kind).tolist(), np.flatnonzero(which == i)) for i, kind in enumerate(kinds)]


def refuse_values(X: Array, names: list[str], *, missing: bool, infinite: bool = False) -> None:
    """Raise an error that names the first NaN, unless values may be missing, or infinity, unless it has a meaning."""
    if adds_up(X):
        return
    refuse_where(
        lambda values: (np.isnan(values) & (not missing)) | (np.isinf(values) & (not infinite)),
        X,
        names,
        gaps="KernelDensity does not accept missing values encoded as NaN; drop such rows, or pass "
        'missing="integrate", which integrates them out',
    )


# Kernel densities of another metric than the Euclidean: scikit-learn's trees compute them.

TREES = {"kd_tree": KDTree, "ball_tree": BallTree}
METRICS = set(chain(*(VALID_METRICS[name] for name in TREES)))
#: names that scikit-learn has for the kernels that it has
NAMES = {"uniform": "tophat", "triangular": "linear"}
KNOWN = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")


def tree_for(algorithm: str, metric: str) -> Any:
    """The tree that scikit-learn would grow."""
    if algorithm == "auto":
        algorithm = "kd_tree" if metric in KDTree.valid_metrics else "ball_tree"
    if metric not in TREES[algorithm].valid_metrics:
        raise DataError(f"invalid metric for {TREES[algorithm]}: '{metric}'. Use algorithm='auto'.")
    return TREES[algorithm]


def is_euclidean(metric: str, params: dict[str, Any] | None) -> bool:
    """Whether a metric, with its parameters, is the length of the difference."""
    if metric in ("minkowski", "p"):
        return set(params or {}) <= {"p"} and (params or {}).get("p", 2) == 2
    return metric in ("euclidean", "l2") and not params


class TreeDensity:
    """What scikit-learn's `KernelDensity` computes: its normaliser is right for the Euclidean metric only.

    Parameters
    ----------
    tree : BallTree or KDTree
        A tree of the rows.
    kernel : SmoothingKernel
        One of those that scikit-learn has.
    bandwidth : Bandwidth
        A number.
    rows : Rows
        The points.
    breadth_first : bool
        How the tree is searched.
    """

    def __init__(
        self, tree: Any, kernel: SmoothingKernel, bandwidth: Bandwidth, rows: DensityRows, breadth_first: bool
    ) -> None:
        self.name = NAMES.get(kernel.name, kernel.name)
        if self.name not in KNOWN or kernel.form != "radial":
            raise KernelError(
                f"the {kernel.form} {kernel.name} kernel goes with the Euclidean metric only; other metrics take "
                f"{', '.join(KNOWN)}."
            )
        if np.ndim(bandwidth.value) or bandwidth.sensitivity:
            raise BandwidthError("a metric other than the Euclidean takes one bandwidth, a number for all points.")
        self.tree, self.kernel, self.bandwidth, self.rows = tree, kernel, bandwidth, rows
        self.breadth_first = breadth_first

    def log_density(self, X: Array, *, rtol: float = 0.0, atol: float = 0.0) -> Array:
        """Log density of every row."""
        total = float(self.rows.weights.sum())
        logs: Array = self.tree.kernel_density(
            X, h=self.bandwidth.value, kernel=self.name, atol=atol * total, rtol=rtol,
            breadth_first=self.breadth_first, return_log=True,
        )  # fmt: skip
        return np.asarray(logs - np.log(total))

    def sample(self, n: int, rng: Rng) -> Array:
        """As scikit-learn draws: steps are Euclidean whatever the metric is."""
        if not isinstance(self.kernel, Gaussian | Uniform):
            raise NoClosedFormError(
                f"the {self.name} kernel cannot be drawn from in another metric; use the Euclidean one, or the "
                "Gaussian or tophat kernel."
            )
        return Windows(self.kernel, self.bandwidth, self.rows.X, self.rows.weight).sample(n, rng)


# What can be asked of a fitted kernel density beyond scikit-learn: quantiles, regions, slices, plots.

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
    _rows: DensityRows
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

    def _seen(self, columns: list[int]) -> DensityRows:
        return self._rows.taken(self._rows.observing(columns), columns)


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
    # trees of scikit-learn are in no file; the order of the rows decides them
    regrow={"density_": lambda model: model._regrow()},
)
class KernelDensity(ValueHolder, DensityQuestions):
    """Kernel density estimation; scikit-learn's `KernelDensity` with bandwidths that know the data, bounds and more.

    p(x) is the weighted mean of kernels laid around the rows. Sums are taken in the logarithm: the density of a
    Gaussian kernel is never −inf, however far from all rows.

    Parameters
    ----------
    bandwidth : number, array, Bandwidth, rule or str, default=1.0
        h, one h per column, the matrix Σ (in squared units: h stands for Σ = h²I), a `mercer.density.Bandwidth`, or a
        rule to choose one: "isj" (one column), "plugin", "likelihood-cv", "least-squares-cv", "scott-scaled",
        "silverman-scaled". "scott" and "silverman" are scikit-learn's numbers, which ignore the scale of the data.
    algorithm : {"auto", "kd_tree", "ball_tree"}, default="auto"
        Which tree scikit-learn grows for metrics other than the Euclidean.
    kernel : str or SmoothingKernel, default="gaussian"
        "gaussian", "uniform" or "tophat", "epanechnikov", "triangular" or "linear", "biweight", "triweight", "cosine",
        "exponential", or a kernel of `mercer.density`, e.g. in its product form.
    metric : str, default="euclidean"
        Distances. Others than the Euclidean are computed by scikit-learn, whose normaliser is right for the Euclidean
        only.
    atol : float, default=0
        Absolute error of a density that is tolerated where that is faster.
    rtol : float, default=0
        Relative error that is tolerated.
    breadth_first : bool, default=True
        How scikit-learn searches a tree.
    leaf_size : int, default=40
        Of a tree.
    metric_params : dict, default=None
        Parameters of the metric.
    support : None, pair, sequence of pairs or dict, default=None
        Bounds of the columns: (low, high) for all, one such pair or None for each, or pairs by name or number of the
        column. Bounds may be infinite or None.
    boundary : {"reflect", "transform"}, default="reflect"
        What keeps the density within bounds. "reflect" folds space along them, so that what would leak comes back; it
        sees as many images of a kernel as have 1e-16 of its mass, and the slope is 0 at a bound. "transform" estimates
        the density of log(x − low), −log(high − x) or log((x − low)/(high − x)); bandwidths are in these units, and
        the density is 0 at a bound.
    missing : {"error", "integrate"}, default="error"
        What NaN means. "integrate" integrates such columns out of a query: its density is that of the columns it has,
        1 if it has none. A training row takes part in the marginal density of a set of columns if it has a value in all
        of them, so that complete queries, draws and conditional densities are based on complete rows, as is the choice
        of a bandwidth. It needs marginals that have a formula: a Gaussian kernel, or a product form with a bandwidth
        per column.

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
        How we know that this is the estimate.
    plan_ : Plan
        How densities are computed.

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
        "kernel": [StrOptions(set(KERNELS)), SmoothingKernel],
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

    # Learning.

    @fits_sources
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Lay kernels around rows.

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
        with old_state_on_failure(self):
            self._validate_params()
            self._learn(self._checked_rows(X, sample_weight, reset=True))
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
        with old_state_on_failure(self):
            self._validate_params()
            self._learn(self._rows.joined(self._checked_rows(X, sample_weight, reset=False)))
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
        refuse_other_columns(self, other)
        refuse_other_parameters(self, other)
        with old_state_on_failure(self):
            self._learn(self._rows.joined(other._rows))
        return self

    def _checked_rows(self, X: Any, sample_weight: Any, *, reset: bool) -> DensityRows:
        if is_tensor(X):
            X = checked_tensor(self, X, reset=reset)
            weight_there = checked_tensor_weight(sample_weight, X)
            # the rows are kept in main memory, as of any other fit
            X, sample_weight = to_numpy(X), None if weight_there is None else to_numpy(weight_there)
        values = checked(self, X, reset=reset, accept_sparse=False, dtype=np.float64, order="C")
        refuse_values(values, column_names(self), missing=self.missing == "integrate")
        weight = checked_weight(sample_weight, values)
        is_complete = self.missing == "error" or not np.isnan(values).any()
        return DensityRows(np.require(values, requirements="W"), weight, is_complete)

    def _learn(self, rows: DensityRows) -> None:
        self.kernel_ = smoothing_kernel_from(self.kernel)
        self._rows = rows
        self._support = self._bounds()
        tree = tree_for(self.algorithm, self.metric)
        if is_euclidean(self.metric, self.metric_params):
            self._lay_windows()
            path, exact = self._path(), not self._tolerates
        else:
            self._grow(tree)
            path, exact = f"scikit-learn's {tree.__name__}, metric {self.metric!r}", not (self.rtol or self.atol)
        self.bandwidth_ = self.bandwidth_choice_.value
        self.certificate_ = Certificate.closed_form("the weighted mean of kernels around the rows")
        blocks = -(-len(rows.X) // SIZE)
        self.plan_ = Plan(path, "float64", blocks, thread_count(), exact=exact)

    def _path(self) -> str:
        blocks = f"sums of {self.kernel_.name} kernels over blocks of points, without those out of reach"
        if not self._tolerates:
            return blocks
        return f"a Fourier grid whose error is bounded; where it would cost more, or say too little, {blocks}"

    @property
    def _tolerates(self) -> bool:
        """Whether densities may be off: of other kernels they are exact, whatever is tolerated."""
        transformed = self._support is not None and self._support.boundary == "transform"
        adaptive = self.bandwidth_choice_.sensitivity > 0
        asked = self.rtol > 0 or (self.atol > 0 and not transformed)
        return asked and has_grid(self.kernel_, self.n_features_in_, adaptive=adaptive)

    def _bounds(self) -> Support | None:
        names = column_names(self)
        support = support_from(self.support, self.n_features_in_, self.boundary, names)
        if support is not None:
            support.refuse_outside(self._rows.X, names)
        return support

    def _lay_windows(self) -> None:
        everything = list(range(self.n_features_in_))
        complete = self._rows if self._rows.is_complete else self._seen(everything)
        if complete.weighs_nothing:
            raise DataError(
                "every row that weighs anything has a missing value, so that nothing is known of all columns together; "
                "fit fewer columns at a time, or drop those that are mostly missing."
            )
        points = unbounded(complete.X, self._support)
        names = column_names(self)
        self.bandwidth_choice_ = bandwidth_from(self.bandwidth, points, complete.weight, self.kernel_, names=names)
        if self.bandwidth_choice_.sensitivity and not self._rows.is_complete:
            raise BandwidthError(
                "widths that adapt to the density at each row need complete rows; drop those with missing values, or "
                "use a bandwidth without sensitivity."
            )
        windows = Windows(self.kernel_, self.bandwidth_choice_, points, complete.weight)
        self.density_ = on_support(windows, self._support)

    def _regrow(self) -> None:
        """Make the tree again, which no file holds."""
        if hasattr(self, "_rows"):
            self._grow(tree_for(self.algorithm, self.metric))

    def _grow(self, tree: Any) -> None:
        if self._support is not None or not self._rows.is_complete:
            raise NoClosedFormError(
                f"bounded supports and missing values go with the Euclidean metric only, not with {self.metric!r}."
            )
        rows = self._rows
        choice = self.bandwidth_choice_ = bandwidth_from(self.bandwidth, rows.X, rows.weight, self.kernel_)
        params = {"metric": self.metric, "leaf_size": self.leaf_size, **(self.metric_params or {})}
        grown = tree(rows.X, sample_weight=rows.weight, **params)
        self.density_ = TreeDensity(grown, self.kernel_, choice, rows, self.breadth_first)

    # Densities.

    def score_samples(self, X: Any) -> Any:
        """Log density of each row.

        Parameters
        ----------
        X : array-like, data frame or tensor of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        log_density : ndarray or tensor of shape (n_samples,)
            log p(x), of a tensor on its device; −inf beyond the support and where a kernel of compact support does
            not reach.
        """
        check_is_fitted(self)
        if is_tensor(X):
            return self._log_density_there(X)
        rows = self._checked_queries(X)
        rtol, atol = float(self.rtol), float(self.atol)
        return self._over_patterns(rows, lambda density, part: density.log_density(part, rtol=rtol, atol=atol), 0.0)

    def _log_density_there(self, X: Any) -> Any:
        """Of a tensor, where it lies if sums over points are taken there, else in main memory; a tensor there."""
        X = checked_tensor(self, X, reset=False)
        summed = isinstance(self.density_, Windows) and tensor_sums.is_summed(
            self.kernel_, self.bandwidth_choice_, self.n_features_in_
        )
        if not summed or (self.missing == "integrate" and bool(X.isnan().any())):
            return like(self.score_samples(to_numpy(X)), X)
        refuse_not_finite(self, X)
        return tensor_sums.log_density(self.density_, X)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw rows from the density, whatever its kernel.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, numpy.random.RandomState, numpy.random.Generator or None, default=None
            Fixes the draw; Gaussian and tophat kernels give scikit-learn's numbers.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows.
        """
        check_is_fitted(self)
        generator = isinstance(random_state, np.random.Generator)
        rng = random_state if generator else check_random_state(random_state)
        return np.asarray(self.density_.sample(checked_count(n_samples), rng))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "integrate"
        return tags
