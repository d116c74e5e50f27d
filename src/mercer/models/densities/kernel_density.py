"""Kernel density estimation: Parzen windows with scikit-learn's interface (lecture 4)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._errors import BandwidthError, DataError, NoClosedFormError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._held import ValueHolder
from mercer._jit.smoothing.parzen import SIZE
from mercer._stored import either, floats, optional, part_of, real, stored
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base import DESCRIBES_ROWS, traits
from mercer.families.draws import checked_count
from mercer.models._agreement import refuse_other_columns, refuse_other_parameters
from mercer.models._finite import refuse_not_finite
from mercer.models._tensors import checked_tensor, checked_tensor_weight
from mercer.models.base import Plan, checked, checked_weight, column_names, old_state_on_failure
from mercer.models.densities._kernel_questions import DensityQuestions
from mercer.models.densities._kernel_rows import Rows, refuse_values
from mercer.models.densities._kernel_tree import METRICS, TREES, TreeDensity, is_euclidean, tree_for
from mercer.models.fitted_fields import FITTED
from mercer.models.streaming.from_source import fits_sources
from mercer.smoothing import SmoothingKernel, Windows, smoothing_kernel_from, tensors
from mercer.smoothing.bandwidth import Bandwidth
from mercer.smoothing.bounded import on_support
from mercer.smoothing.kernels import KERNELS
from mercer.smoothing.rules import bandwidth_from
from mercer.smoothing.support import Support, support_from, unbounded
from mercer.smoothing.tolerance import has_grid
from mercer.solvers.certificate import Certificate


@traits(
    "density",
    kind="density",
    no_counterpart=DESCRIBES_ROWS,
    cost="mercer.models.costs.work.windows",
)
@stored(
    **FITTED,
    kernel_=part_of(SmoothingKernel),
    _rows=part_of(Rows, d="d"),
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
        h, one h per column, the matrix Σ (in squared units: h stands for Σ = h²I), a `mercer.smoothing.Bandwidth`, or a
        rule to choose one: "isj" (one column), "plugin", "likelihood-cv", "least-squares-cv", "scott-scaled",
        "silverman-scaled". "scott" and "silverman" are scikit-learn's numbers, which ignore the scale of the data.
    algorithm : {"auto", "kd_tree", "ball_tree"}, default="auto"
        Which tree scikit-learn grows for metrics other than the Euclidean.
    kernel : str or SmoothingKernel, default="gaussian"
        "gaussian", "uniform" or "tophat", "epanechnikov", "triangular" or "linear", "biweight", "triweight", "cosine",
        "exponential", or a kernel of `mercer.smoothing`, e.g. in its product form.
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
        The fitted density as a frozen object of `mercer.smoothing`.
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

    def _checked_rows(self, X: Any, sample_weight: Any, *, reset: bool) -> Rows:
        if is_tensor(X):
            X = checked_tensor(self, X, reset=reset)
            weight_there = checked_tensor_weight(sample_weight, X)
            # the rows are kept in main memory, as of any other fit
            X, sample_weight = to_numpy(X), None if weight_there is None else to_numpy(weight_there)
        values = checked(self, X, reset=reset, accept_sparse=False, dtype=np.float64, order="C")
        refuse_values(values, column_names(self), missing=self.missing == "integrate")
        weight = checked_weight(sample_weight, values)
        is_complete = self.missing == "error" or not np.isnan(values).any()
        return Rows(np.require(values, requirements="W"), weight, is_complete)

    def _learn(self, rows: Rows) -> None:
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
        summed = isinstance(self.density_, Windows) and tensors.is_summed(
            self.kernel_, self.bandwidth_choice_, self.n_features_in_
        )
        if not summed or (self.missing == "integrate" and bool(X.isnan().any())):
            return like(self.score_samples(to_numpy(X)), X)
        refuse_not_finite(self, X)
        return tensors.log_density(self.density_, X)

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
