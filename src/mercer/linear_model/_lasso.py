"""The lasso and the elastic net, also with the penalty chosen by cross-validation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.model_selection import check_cv
from sklearn.utils import check_scalar, metadata_routing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import column_or_1d

from mercer._errors import DataError
from mercer._stored import either, floats, real, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import Candidate, Question, traits
from mercer.base.diagnosis import Finding
from mercer.base.fitted_fields import FITTED_LINEAR, FITTED_PATHS
from mercer.base.progress import show_bar
from mercer.base.sources import fits_sources
from mercer.base.validation import cast_to_precision, check_alphas, weight_in_fold
from mercer.data.blocks import rows_per_block
from mercer.data.sources.base import Source
from mercer.linear_model._lasso_path import (
    RANDOM_WORKING_SETS,
    WORKING_SETS,
    CoordinateFit,
    PathTask,
    PathTerms,
    alpha_grid,
    enet_path,
    fit_path,
    fit_targets,
    largest_slope,
    lasso_path,
    sort_alphas,
    warn_if_unconverged,
)
from mercer.linear_model.least_squares import LeastSquaresRegressor
from mercer.matrices import Matrix, Observations
from mercer.optim.certificate import Solution


class L1Regressor(LeastSquaresRegressor, ABC):
    """Base of linear regressions with absolute values in the penalty, which make coefficients vanish."""

    precompute: Any
    max_iter: int | None
    tol: float
    positive: bool
    selection: str

    def _takes_tensors(self) -> bool:
        return False

    def _reads_codes(self) -> bool:
        return False  # coordinate descent reads column by column

    def _terms(self, l1_ratio: float) -> PathTerms:
        return PathTerms(float(l1_ratio), self.fit_intercept, self.positive, self.tol, self.max_iter)

    def _warn_without_penalty(self, alpha: float) -> None:
        if alpha == 0:
            warn(
                "With alpha=0, this algorithm does not converge well. You are advised to use the LinearRegression "
                "estimator",
            )

    def _solve_at(self, rows: Observations, alpha: float, l1_ratio: float, start: Any = None) -> Solution:
        """Return the solution at one penalty, and set `dual_gap_` and `n_iter_`."""
        fitted = fit_targets(rows, alpha, self._terms(l1_ratio), precompute=self.precompute, start=start)
        return self._record(fitted, rows)

    def _record(self, fitted: CoordinateFit, rows: Observations) -> Solution:
        gaps = cast_to_precision(np.array([point.gap for point in fitted.each]), rows.design.dtype)
        sweeps = [point.sweeps for point in fitted.each]
        single = len(sweeps) == 1
        self.dual_gap_ = gaps[0] if single else gaps
        self.n_iter_ = sweeps[0] if single else sweeps
        solution = fitted.solution
        if self.selection == "random" and solution.coef.path == WORKING_SETS:
            return replace(solution, coef=replace(solution.coef, path=RANDOM_WORKING_SETS))
        return solution

    def _store(self, solution: Solution, rows: Observations, y: Any) -> None:
        super()._store(solution, rows, y)
        moved = self._moved_by_rounding(solution.coef, rows)
        if moved.any():
            gaps = np.square(np.sqrt(self.dual_gap_, dtype=np.float64) + moved * np.sqrt(0.5 / rows.total_weight))
            self.dual_gap_ = cast_to_precision(gaps, rows.design.dtype)[() if np.ndim(self.dual_gap_) else 0]

    def _findings(self, solution: Solution) -> list[Finding]:
        found = super()._findings(solution)
        if not solution.coef.coefficients.any():
            sentence = "Every coefficient is zero: the penalty outweighs what any column explains."
            found.append(Finding("empty", "note", sentence, "Choose a smaller alpha, e.g. by LassoCV."))
        return found

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a sparse matrix."""
        from sklearn.utils._sparse import _align_api_if_sparse

        return _align_api_if_sparse(sparse.csr_array(np.atleast_2d(self.coef_)))


@traits(
    "regression",
    export="mercer.export.linear.regression",
    summary="mercer.inference.reading.raise_for_selection",
    objective="mercer.kernel_ridge.objectives.raise_for_l1",
)
@stored(**FITTED_LINEAR, dual_gap_=either(real(), floats("t")))
class ElasticNet(L1Regressor):
    """Linear regression with absolute values and squares in the penalty; scikit-learn's, with a certificate.

    Minimises the mean of (y − X w − b)² / 2 plus alpha (l1_ratio ‖w‖₁ + (1 − l1_ratio) ‖w‖² / 2).

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    l1_ratio : float, default=0.5
        Share of the absolute values in the penalty: 1 is the lasso, 0 is ridge regression, which has a closed form.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    precompute : bool or array-like of shape (n_features, n_features), default=False
        The Gram matrix of X, if it is known. True and False have no effect: products are computed where needed.
    max_iter : int, default=1000
        Maximum number of iterations.
    copy_X : bool, default=True
        Has no effect: X is never changed.
    tol : float, default=1e-4
        Tolerance of the duality gap, in units of the mean of (y − ȳ)².
    warm_start : bool, default=False
        Whether to begin with the coefficients of the last fit.
    positive : bool, default=False
        Whether to forbid negative coefficients.
    random_state : int, RandomState instance or None, default=None
        Has no effect: nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Has no effect: either leads to the same optimum.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    sparse_coef_ : sparse matrix of shape (1, n_features) or (n_targets, n_features)
        The same.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0.0 if `fit_intercept` is False.
    n_iter_ : int or list of int
        Number of iterations, for each target.
    dual_gap_ : float or ndarray of shape (n_targets,)
        Upper bound of the distance of the objective from its minimum, for each target.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    diagnosis_ : Diagnosis
        Constant columns by name, and whether any column is used.
    certificate_ : Certificate
        Evidence that this is the optimum.
    plan_ : Plan
        Path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ElasticNet
    >>> X = np.array([[-1.0], [0.0], [1.0]])
    >>> model = ElasticNet(alpha=0.5, l1_ratio=0.5).fit(X, [-1, 0, 1])
    >>> model.coef_.round(5)
    array([0.45455])
    """

    # `check_input` is not routed in pipelines
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"check_input": metadata_routing.UNUSED}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "precompute": ["boolean", "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    path = staticmethod(enet_path)

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame of shape (n_samples, n_features), or Source
            Training rows. A source is read piece by piece, and has its target with it.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows; only their ratios matter.
        check_input : bool, default=True
            Has no effect: the checks read no values.

        Returns
        -------
        self : object
            The fitted model.
        """
        return self._fit(X, y, None if isinstance(sample_weight, Real) else sample_weight, self._solver())

    def _fit_source(self, source: Source) -> Any:
        return self._fit_rows_of(source, self._solver())

    def _solver(self) -> Callable[[Observations], Solution]:
        """Return the function that solves for rows; with a warm start it begins at the last coefficients."""
        start = getattr(self, "coef_", None) if self.warm_start else None

        def solve(rows: Observations) -> Solution:
            self._warn_without_penalty(self.alpha)
            return self._solve_at(rows, self.alpha, self.l1_ratio, start)

        return solve


@traits(
    "regression",
    export="mercer.export.linear.regression",
    summary="mercer.inference.reading.raise_for_selection",
    objective="mercer.kernel_ridge.objectives.raise_for_l1",
)
@stored(**FITTED_LINEAR, l1_ratio=real())
class Lasso(ElasticNet):
    """Linear regression with absolute values in the penalty; scikit-learn's, with a certificate.

    Minimises the mean of (y − X w − b)² / 2 plus alpha ‖w‖₁.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    precompute : bool or array-like of shape (n_features, n_features), default=False
        The Gram matrix of X, if it is known. True and False have no effect: products are computed where needed.
    copy_X : bool, default=True
        Has no effect: X is never changed.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-4
        Tolerance of the duality gap, in units of the mean of (y − ȳ)².
    warm_start : bool, default=False
        Whether to begin with the coefficients of the last fit.
    positive : bool, default=False
        Whether to forbid negative coefficients.
    random_state : int, RandomState instance or None, default=None
        Has no effect: nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Has no effect: either leads to the same optimum.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    sparse_coef_ : sparse matrix of shape (1, n_features) or (n_targets, n_features)
        The same.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0.0 if `fit_intercept` is False.
    n_iter_ : int or list of int
        Number of iterations, for each target.
    dual_gap_ : float or ndarray of shape (n_targets,)
        Upper bound of the distance of the objective from its minimum, for each target.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    diagnosis_ : Diagnosis
        Constant columns by name, and whether any column is used.
    certificate_ : Certificate
        Evidence that this is the optimum.
    plan_ : Plan
        Path that the fit took.

    Examples
    --------
    >>> from mercer import Lasso
    >>> model = Lasso(alpha=0.1).fit([[-1, 0], [0, 1], [1, 0]], [-1, 0, 1])
    >>> model.coef_.round(5)
    array([0.85, 0.  ])
    >>> print(model.certificate_.kind)
    duality gap
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: allowed for name, allowed in ElasticNet._parameter_constraints.items() if name != "l1_ratio"
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        super().__init__(
            alpha=alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            precompute=precompute,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            positive=positive,
            random_state=random_state,
            selection=selection,
        )


#: training rows and test rows
Split = tuple[Array, Array]


def mean_squared_errors(
    X: Matrix,
    y: Array,
    weight: Array | None,
    splits: Sequence[Split],
    alphas: Sequence[Array],
    ratios: Sequence[PathTerms],
    *,
    progress: Callable[[], None] = lambda: None,
) -> Array:
    """Return mean squared errors of test rows, of shape (ratios, folds, alphas); `progress` is called for each path."""
    errors = []
    for grid, terms in zip(alphas, ratios, strict=True):
        for train, test in splits:
            task = PathTask.of(X, y, weight_in_fold(train, len(y), weight))
            errors.append(_test_errors(task, test, weight, grid, terms))
            progress()
    return np.reshape(errors, (len(ratios), len(splits), -1))


def choose_penalty(errors: Array, alphas: Sequence[Array], l1_ratios: Sequence[Any]) -> tuple[Any, Any]:
    """Return the alpha and the l1_ratio of the first of the smallest mean errors over folds."""
    means = errors.mean(axis=1)
    kind = int(np.argmin(means.min(axis=1)))
    return alphas[kind][np.argmin(means[kind])], l1_ratios[kind]


def _test_errors(task: PathTask, test: Array, weight: Array | None, alphas: Array, terms: PathTerms) -> Array:
    found = fit_path(task, alphas, terms)
    if found[-1].interrupted:  # no model of all rows exists yet, so that the old one is kept
        raise KeyboardInterrupt("stopped by the user before a penalty was chosen.")
    warn_if_unconverged(found, alphas, task.total)
    rows = np.arange(len(task.y))[test]
    weight = np.ones(len(rows)) if weight is None else weight[rows]
    if not weight.any():
        raise DataError("the rows that a fold leaves out all have the weight zero; use fewer folds, or shuffle them.")
    W = np.column_stack([point.coefficients for point in found])
    intercepts = np.array([point.intercept for point in found])
    total = np.zeros(len(found))
    for block in row_blocks(len(rows), rows_per_block(task.X.n_columns)):  # a few rows are copied at a time
        few = rows[block]
        total += weight[block] @ np.square(task.X.take(few).matvec(W) + intercepts - task.y[few, None])
    return np.asarray(total / weight.sum())


class L1RegressorCV(L1Regressor, ABC):
    """Base of regressions that choose the strength and kind of an L1 penalty by cross-validation."""

    eps: float
    alphas: Any
    cv: Any
    verbose: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "eps": [Interval(Real, 0, None, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "fit_intercept": ["boolean"],
        "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "copy_X": ["boolean"],
        "cv": ["cv_object"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    @abstractmethod
    def _l1_ratios(self) -> list[Any]:
        """Return the l1_ratios to try."""

    def _store_l1_ratio(self, l1_ratio: Any) -> None:
        """Store the chosen l1_ratio, if there was a choice."""

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose the penalty, and fit the model with it.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows, in the fits and in the errors; only their ratios matter.
        **params : dict
            Parameters of the splitter, if metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted model.
        """
        _raise_for_params(params, self, "fit")
        weight = None if isinstance(sample_weight, Real) else sample_weight
        return self._fit(X, y, weight, partial(self._choose_and_solve, params=params))

    def _checked(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        X, y = super()._checked(X, y, reset=reset)
        if y.ndim > 1 and y.shape[1] > 1:
            name = type(self).__name__
            raise DataError(
                f"For multi-task outputs, use MultiTask{name}. It is scikit-learn's; or fit one {name} for each target."
            )
        return X, column_or_1d(y, warn=True)

    def _choose_and_solve(self, rows: Observations, *, params: dict[str, Any]) -> Solution:
        X, y, l1_ratios = rows.design, rows.y[:, 0], self._l1_ratios()
        alphas = self._grids(PathTask.of(X, y, rows.weight), l1_ratios)
        splits = self._splits(rows, params)
        kinds = [self._terms(l1_ratio) for l1_ratio in l1_ratios]
        with show_bar(self, verbose=self.verbose, total=len(kinds) * len(splits), what="paths") as progress:
            errors = mean_squared_errors(X, y, rows.weight, splits, alphas, kinds, progress=progress)
        self.mse_path_ = np.squeeze(np.moveaxis(errors, 2, 1))
        self.alpha_, l1_ratio = choose_penalty(errors, alphas, l1_ratios)
        self._store_l1_ratio(l1_ratio)
        several = isinstance(self.alphas, Integral) and len(l1_ratios) > 1
        self.alphas_ = np.asarray(alphas) if several else alphas[0]
        self._warn_without_penalty(self.alpha_)
        return self._solve_at(rows, float(self.alpha_), l1_ratio)

    def _grids(self, task: PathTask, l1_ratios: list[Any]) -> list[Array]:
        """Return the penalties to try, for each l1_ratio."""
        if isinstance(self.alphas, Integral):
            largest = largest_slope(task, intercept=self.fit_intercept, positive=self.positive)
            return [alpha_grid(largest, l1_ratio, self.eps, int(self.alphas)) for l1_ratio in l1_ratios]
        check_alphas(self.alphas)
        for index, alpha in enumerate(self.alphas):
            check_scalar(alpha, f"alphas[{index}]", target_type=Real, min_val=0.0, include_boundaries="left")
        return [sort_alphas(self.alphas)] * len(l1_ratios)

    def _splits(self, rows: Observations, params: dict[str, Any]) -> list[Any]:
        given: dict[str, Any] = {}
        if _routing_enabled():
            given = process_routing(self, "fit", sample_weight=rows.weight, **params).splitter.split
        return list(check_cv(self.cv).split(rows.design.data, rows.y[:, 0], **given))

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing.

        Returns
        -------
        routing : MetadataRouter
            Parameters that are passed to the splitter.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


@traits(
    "regression",
    export="mercer.export.linear.regression",
    summary="mercer.inference.reading.raise_for_selection",
    objective="mercer.kernel_ridge.objectives.raise_for_l1",
)
@stored(**FITTED_PATHS, l1_ratio_=real())
class ElasticNetCV(L1RegressorCV):
    """The elastic net with the penalty chosen by cross-validation; scikit-learn's, with a certificate.

    Parameters
    ----------
    l1_ratio : float or array-like, default=0.5
        Share of the absolute values in the penalty, or several to try.
    eps : float, default=1e-3
        Ratio of the smallest alpha to the largest, at which every coefficient is zero.
    alphas : int or array-like, default=100
        Penalties to try, or their number.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    precompute : "auto", bool or array-like of shape (n_features, n_features), default="auto"
        The Gram matrix of X, if it is known, for the last fit. Other values have no effect.
    max_iter : int, default=1000
        Maximum number of iterations of a fit.
    tol : float, default=1e-4
        Tolerance of the duality gap, in units of the mean of (y − ȳ)².
    copy_X : bool, default=True
        Has no effect: X is never changed, and folds are not copied.
    cv : int, cross-validation generator, iterable or None, default=None
        Splitting; None means five folds.
    verbose : bool or int, default=False
        Whether to show a progress bar, with one step for each fold and l1_ratio.
    n_jobs : int, default=None
        Has no effect: `mercer.engine` sets the threads.
    positive : bool, default=False
        Whether to forbid negative coefficients.
    random_state : int, RandomState instance or None, default=None
        Has no effect: nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Has no effect: either leads to the same optimum.

    Attributes
    ----------
    alpha_ : float
        The chosen penalty.
    l1_ratio_ : float
        The chosen share of the absolute values.
    mse_path_ : ndarray of shape (n_l1_ratio, n_alphas, n_folds)
        Mean squared errors of the test rows.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        Penalties tried, the largest first.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    sparse_coef_ : sparse matrix of shape (1, n_features)
        The same.
    intercept_ : float
        The intercept; 0.0 if `fit_intercept` is False.
    dual_gap_ : float
        Upper bound of the distance of the objective from its minimum, for the chosen penalty.
    n_iter_ : int
        Iterations of the last fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    diagnosis_ : Diagnosis
        Constant columns by name, and whether any column is used.
    certificate_ : Certificate
        Evidence that this is the optimum for the chosen penalty.
    plan_ : Plan
        Path that the last fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ElasticNetCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 10))
    >>> y = X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=60)
    >>> ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9]).fit(X, y).l1_ratio_
    np.float64(0.9)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **L1RegressorCV._parameter_constraints,
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
    }

    path = staticmethod(enet_path)

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def _l1_ratios(self) -> list[Any]:
        return list(np.atleast_1d(self.l1_ratio))

    def _store_l1_ratio(self, l1_ratio: Any) -> None:
        self.l1_ratio_ = l1_ratio


def _candidates(question: Question) -> Iterator[Candidate]:
    if not question.has_texts:
        yield Candidate(LassoCV(cv=question.inner), 33)


@traits(
    "regression",
    label=lambda model: type(model).__name__,
    chooses="alpha",
    candidates=_candidates,
    export="mercer.export.linear.regression",
    summary="mercer.inference.reading.raise_for_selection",
    objective="mercer.kernel_ridge.objectives.raise_for_l1",
)
@stored(**FITTED_PATHS)
class LassoCV(L1RegressorCV):
    """The lasso with the penalty chosen by cross-validation; scikit-learn's, with a certificate.

    Parameters
    ----------
    eps : float, default=1e-3
        Ratio of the smallest alpha to the largest, at which every coefficient is zero.
    alphas : int or array-like, default=100
        Penalties to try, or their number.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    precompute : "auto", bool or array-like of shape (n_features, n_features), default="auto"
        The Gram matrix of X, if it is known, for the last fit. Other values have no effect.
    max_iter : int, default=1000
        Maximum number of iterations of a fit.
    tol : float, default=1e-4
        Tolerance of the duality gap, in units of the mean of (y − ȳ)².
    copy_X : bool, default=True
        Has no effect: X is never changed, and folds are not copied.
    cv : int, cross-validation generator, iterable or None, default=None
        Splitting; None means five folds.
    verbose : bool or int, default=False
        Whether to show a progress bar, with one step for each fold and l1_ratio.
    n_jobs : int, default=None
        Has no effect: `mercer.engine` sets the threads.
    positive : bool, default=False
        Whether to forbid negative coefficients.
    random_state : int, RandomState instance or None, default=None
        Has no effect: nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Has no effect: either leads to the same optimum.

    Attributes
    ----------
    alpha_ : float
        The chosen penalty.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared errors of the test rows.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties tried, the largest first.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    sparse_coef_ : sparse matrix of shape (1, n_features)
        The same.
    intercept_ : float
        The intercept; 0.0 if `fit_intercept` is False.
    dual_gap_ : float
        Upper bound of the distance of the objective from its minimum, for the chosen penalty.
    n_iter_ : int
        Iterations of the last fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    diagnosis_ : Diagnosis
        Constant columns by name, and whether any column is used.
    certificate_ : Certificate
        Evidence that this is the optimum for the chosen penalty.
    plan_ : Plan
        Path that the last fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 10))
    >>> model = LassoCV(cv=5).fit(X, X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=60))
    >>> model.coef_[[0, 3]].round(2), round(float(model.alpha_), 4)
    (array([ 0.95, -1.98]), 0.0086)
    """

    path = staticmethod(lasso_path)

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def _l1_ratios(self) -> list[Any]:
        return [1]
