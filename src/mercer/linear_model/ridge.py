"""Ridge regression: `Ridge` with a given penalty or one tuned in closed form, and `RidgeCV` with several to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)

from mercer._errors import DataError
from mercer._stored import either, floats, part_of, real, reals, stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import Candidate, Question, traits
from mercer.base.fitted_fields import FITTED, FITTED_LINEAR
from mercer.base.sources import fits_sources
from mercer.base.validation import check_alphas, forget_fit, is_sparse, restore_on_failure, validate_params
from mercer.data.sources.base import Source
from mercer.linear_model.least_squares import LeastSquaresRegressor, checked_penalties
from mercer.matrices import Observations
from mercer.optim.certificate import Solution
from mercer.optim.krylov import RESIDUAL_TOLERANCE
from mercer.optim.least_squares import is_direct_cheap, least_squares, solve_by_conjugate_gradients
from mercer.optim.leave_one_out import (
    LeaveOneOutErrors,
    RidgeSpectrum,
    candidate_penalties,
    decompose,
    index_of_least,
)
from mercer.optim.nonnegative import nonnegative_least_squares
from mercer.stats.normal_equations import NormalEquations

#: scikit-learn's solvers that are iterative
ITERATIVE_SOLVERS = frozenset({"sparse_cg", "lsqr", "sag", "saga"})
#: rows and columns from which on these are iterative here
SIZE_WORTH_ITERATION = 2000
#: scikit-learn's solvers that count their steps
STEP_COUNTING_SOLVERS = frozenset({"lsqr", "sag", "saga"})
#: scikit-learn's solvers that find an intercept for sparse X
SPARSE_INTERCEPT_SOLVERS = frozenset({"auto", "lbfgs", "lsqr", "sag", "sparse_cg"})
#: penalties that a comparison tries by folds, safest first
RIDGE_STRENGTHS = (1.0, 0.01, 0.1, 10.0, 100.0, 1e3, 1e4, 1e5)
#: score of the predictions of all rows for all targets: one number, or one for each target
Score = Callable[[Array], Any]


class PenaltyChoice(NamedTuple):
    """The best penalty, one for all targets or one for each, its score, and all penalties tried."""

    alpha: Array  # (targets,)
    score: Any
    alphas: Array  # (penalties,)
    scores: Array  # (penalties,) or (penalties, targets); higher is better
    sums: NormalEquations | None = None  # sums over the rows, if they were computed
    stored: Array | None = None  # (rows, targets, penalties): squared errors, or predictions where they were scored


def tune_penalty(rows: Observations, method: str, *, intercept: bool) -> PenaltyChoice:
    """Choose the penalty by the "loo" or "gcv" error, over a range that the spectrum suggests."""
    check_two_rows(rows)
    spectrum = decompose(rows, intercept=intercept)
    alphas = candidate_penalties(spectrum)
    each = spectrum.generalised_errors(alphas) if method == "gcv" else squared_errors(spectrum, rows, alphas)
    errors = each.mean(axis=1)
    best = index_of_least(spectrum, alphas, errors)
    return PenaltyChoice(np.broadcast_to(alphas[best], (rows.targets,)), -errors[best], alphas, -errors, spectrum.sums)


def choose_by_leave_one_out(
    rows: Observations,
    alphas: Array,
    *,
    intercept: bool,
    stable: bool,
    score: Score | None,
    per_target: bool,
    store: bool,
) -> PenaltyChoice:
    """Choose the penalty by leaving out each row in turn, with the squared error or `score`."""
    check_two_rows(rows)
    spectrum = decompose(rows, intercept=intercept, stable=stable, smallest=float(alphas.min()))
    stored = (
        _store_errors(spectrum, rows, alphas, predictions=score is not None) if store or score is not None else None
    )
    if score is not None:
        assert stored is not None
        scores = np.array([score(stored[:, :, position]) for position in range(len(alphas))])
    else:
        errors = squared_errors(spectrum, rows, alphas) if stored is None else stored.mean(axis=0).T
        scores = -errors if per_target else -errors.mean(axis=1)
    return choose_best(alphas, scores, rows.targets)._replace(sums=spectrum.sums, stored=stored)


def _store_errors(spectrum: RidgeSpectrum, rows: Observations, alphas: Array, *, predictions: bool) -> Array:
    """Return the prediction, or the weighted squared error, of every row when it is left out."""
    values = np.empty((len(rows), rows.targets, len(alphas)))

    def keep(errors: LeaveOneOutErrors) -> None:
        values[errors.rows] = errors.values

    for _ in spectrum.errors(alphas, keep):
        pass
    if predictions:
        return np.asarray(rows.y[:, :, None] - values)
    if rows.weight is None:
        return values**2
    values[rows.weight == 0] = 0.0  # they may be infinite
    return np.asarray(rows.weight[:, None, None] * values**2)


def squared_errors(spectrum: RidgeSpectrum, rows: Observations, alphas: Array) -> Array:
    """Return weighted mean squares of leave-one-out errors, of shape (penalties, targets)."""
    without_rows = spectrum.on(Observations(rows.design.rows(slice(0, 0)), rows.y[:0]))
    total: Array = rows.fold(partial(_sum_squares_of_part, without_rows, alphas), np.add)
    return np.asarray(total.T / len(rows))


def _sum_squares_of_part(spectrum: RidgeSpectrum, alphas: Array, rows: Observations) -> Array:
    return _sum_squares(spectrum.on(rows), rows, alphas)


def _sum_squares(spectrum: RidgeSpectrum, rows: Observations, alphas: Array) -> Array:
    """Return weighted sums of squared leave-one-out errors, of shape (targets, penalties)."""

    def squares(errors: LeaveOneOutErrors) -> Array:
        weight = None if rows.weight is None else rows.weight[errors.rows]
        if weight is not None:
            errors.values[weight == 0] = 0.0  # they may be infinite
        square = np.square(errors.values, out=errors.values)
        return square.sum(axis=0) if weight is None else np.tensordot(weight, square, axes=1)

    total: Array = sum(spectrum.errors(alphas, squares), np.zeros((rows.targets, len(alphas))))
    return total


def choose_best(alphas: Array, scores: Array, targets: int) -> PenaltyChoice:
    """Choose the first of the best scores; NaN counts as the worst."""
    scores = np.where(np.isnan(scores), -np.inf, scores)
    best = np.argmax(scores, axis=0)
    score = np.take_along_axis(scores, np.asarray(best)[None], axis=0)[0]
    return PenaltyChoice(np.broadcast_to(alphas[best], (targets,)), score, alphas, scores)


def check_two_rows(rows: Observations) -> None:
    if len(rows) < 2:
        raise DataError(
            f"Found array with {len(rows)} sample(s) while a minimum of 2 is required to leave one out: n_samples = 1. "
            "Give more rows, or a fixed alpha."
        )


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model that chooses its penalty by leaving out each row in turn, which has a closed form.

    For rows in groups the penalty is chosen by folds, since rows of the same group would be left in. For texts, which
    have too many columns, it is not tuned.
    """
    if question.has_texts:
        if question.task != "counts":
            yield Candidate(Ridge(), 32)
    elif question.inner is None:
        yield Candidate(Ridge(alpha="loo"), 32)
    else:
        yield Candidate(Ridge(), 32, search=("alpha", RIDGE_STRENGTHS))


@traits(
    "regression",
    candidates=_candidates,
    export="mercer.export.linear.regression",
    summary="mercer.inference.reading.read_least_squares",
    objective="mercer.kernel_ridge.objectives.make_ridge_objective",
)
@stored(
    **FITTED_LINEAR,
    alpha_=either(real(), reals()),
    alphas_=reals("a"),
    alpha_errors_=reals(),
    solver_=part_of(str),
)
class Ridge(LeastSquaresRegressor):
    """Ridge regression, ‖y − X w − b‖² + alpha ‖w‖²; scikit-learn's, with a certificate and automatic choice of alpha.

    The optimum is the mode of the posterior under w ~ N(0, σ²/alpha · I), where σ² is the variance of the residuals.

    Parameters
    ----------
    alpha : float, array-like of shape (n_targets,), "loo" or "gcv", default=1.0
        Strength of the penalty, not negative; one for all targets or one for each. "loo" chooses the one with the
        smallest leave-one-out error, "gcv" the one with the smallest generalised cross-validation error, among up to 31
        that the data suggest; if several errors differ only by rounding, the largest of these penalties is taken. Both
        errors have a closed form: "gcv" costs hardly more than a fit, "loo" one more pass over the rows.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    copy_X : bool, default=True
        Has no effect: X is never changed.
    max_iter : int, default=None
        Maximum number of steps of an iterative fit; see `solver`.
    tol : float, default=1e-4
        Tolerance of the gradient, relative to the one at zero coefficients, in an iterative fit.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, default="auto"
        All lead to the same optimum. "svd" uses orthogonal factorisations from the start, the others only if XᵀX is
        ill-conditioned. "lsqr", "sparse_cg", "sag", "saga", and "auto" for sparse X, are conjugate gradients if these
        are cheaper, because X has many columns. "lbfgs" is for `positive` only.
    positive : bool, default=False
        Whether to forbid negative coefficients.
    random_state : int, RandomState instance or None, default=None
        Has no effect: nothing is random.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0.0 if `fit_intercept` is False.
    n_iter_ : None or ndarray of shape (n_targets,)
        Steps for each target, if `solver` is one that counts them; 1 for a direct solution.
    solver_ : str
        Scikit-learn's solver that was given, or that "auto" stands for; `plan_` has the path of the fit.
    alpha_ : float or ndarray of shape (n_targets,)
        The penalty used.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties tried, if `alpha` is "loo" or "gcv".
    alpha_errors_ : ndarray of shape (n_alphas,)
        Their mean squared errors.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    diagnosis_ : Diagnosis
        Constant and collinear columns, by name, if the fit found any.
    certificate_ : Certificate
        Evidence that this is the optimum.
    plan_ : Plan
        Path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Ridge
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Ridge(alpha=5.0).fit(X, [1, 3, 5, 7]).coef_
    array([1.])
    >>> Ridge(alpha="loo").fit(X, [1, 3, 5, 7]).coef_.round(4)
    array([2.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"loo", "gcv"})],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"})],
        "positive": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, tensor of shape (n_samples, n_features), or Source
            Training rows. A tensor of torch stays on its device; a source is read piece by piece, and has its target
            with it.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        return self._fit(X, y, sample_weight, self._minimise)

    def _fit_source(self, source: Source) -> Any:
        return self._fit_rows_of(source, self._minimise)

    def _takes_tensors(self) -> bool:
        return not self.positive

    def _check_options(self, X: Any) -> None:
        if self.positive:
            if self.solver not in ("auto", "lbfgs"):
                raise DataError(
                    f"solver='{self.solver}' does not support positive fitting. Please set the solver to 'auto' or "
                    "'lbfgs', or set `positive=False`"
                )
            if isinstance(self.alpha, str):
                raise DataError(
                    f"alpha={self.alpha!r} has no closed form with positive=True. Give a number, or use GridSearchCV."
                )
        elif self.solver == "lbfgs":
            raise DataError("'lbfgs' solver can be used only when positive=True. Please use another solver.")
        elif is_sparse(X):
            self._check_sparse_options()

    def _check_sparse_options(self) -> None:
        if self.fit_intercept and self.solver not in SPARSE_INTERCEPT_SOLVERS:
            raise DataError(
                f"solver='{self.solver}' does not support fitting the intercept on sparse data. Please set the solver "
                "to 'auto' or 'lsqr', 'sparse_cg', 'sag', 'lbfgs' or set `fit_intercept=False`"
            )
        if self.solver == "svd":
            raise TypeError("SVD solver does not support sparse inputs currently. Use another solver.")

    def _minimise(self, rows: Observations) -> Solution:
        self.solver_ = self._solver_name(rows)
        self.n_iter_ = np.ones(rows.targets, dtype=np.int32) if self.solver in STEP_COUNTING_SOLVERS else None
        sums = None
        if isinstance(self.alpha, str):
            choice = tune_penalty(rows, self.alpha, intercept=self.fit_intercept)
            alpha, sums = choice.alpha, choice.sums
            self.alphas_, self.alpha_errors_ = choice.alphas, -choice.scores
        else:
            alpha = checked_penalties(self.alpha, rows.targets)
        self.alpha_ = float(alpha[0]) if isinstance(self.alpha, str | Real) else np.array(alpha)
        if self.positive:
            return self._nonnegative(rows, alpha)
        is_iterative = (
            self.solver in ITERATIVE_SOLVERS and rows.has_cheap_products and min(rows.shape) > SIZE_WORTH_ITERATION
        )
        if not is_iterative and is_direct_cheap(rows):
            return least_squares(rows, alpha, intercept=self.fit_intercept, stable=self.solver == "svd", sums=sums)
        solution = solve_by_conjugate_gradients(
            rows, alpha, intercept=self.fit_intercept, tolerance=self.tol, most_steps=self.max_iter
        )
        if self.n_iter_ is not None:
            self.n_iter_[:] = solution.n_iter
        return solution

    def _nonnegative(self, rows: Observations, alpha: Any) -> Solution:
        solution = nonnegative_least_squares(rows, alpha, intercept=self.fit_intercept, most_steps=self.max_iter)
        if not solution.certificate.holds:
            warn(
                "The lbfgs solver did not converge. Try increasing max_iter or tol. Currently: "
                f"max_iter={self.max_iter} and tol={self.tol}. {solution.certificate}.",
                ConvergenceWarning,
            )
        return solution

    def _solver_name(self, rows: Observations) -> str:
        if self.solver != "auto":
            return self.solver
        if self.positive:
            return "lbfgs"
        return "sparse_cg" if rows.design.is_sparse else "cholesky"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver != "svd" and (self.solver != "cholesky" or not self.fit_intercept)
        return tags


@traits(
    "regression",
    export="mercer.export.linear.regression",
    summary="mercer.inference.reading.read_least_squares",
    objective="mercer.kernel_ridge.objectives.raise_for_search",
)
@stored(**FITTED_LINEAR, alpha_=either(real(), reals()), best_score_=either(real(), floats()), cv_results_=floats())
class RidgeCV(LeastSquaresRegressor):
    """Ridge regression that tries several penalties; scikit-learn's, with a certificate.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,) or float, default=(0.1, 1.0, 10.0)
        Penalties to try, all positive; with `cv` also 0.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    scoring : str, callable or None, default=None
        Score to maximise; minus the mean squared error if not given (with `cv`: R²).
    cv : int, cross-validation generator, iterable or None, default=None
        Splitting; None leaves out each row in turn, which has a closed form.
    gcv_mode : {"auto", "svd", "eigen"} or None, default=None
        "svd" uses orthogonal factorisations from the start, the others only if they are needed.
    store_cv_results : bool, default=False
        Whether to keep `cv_results_`. Not with `cv`.
    alpha_per_target : bool, default=False
        Whether each target has its own penalty. Not with `cv`.

    Attributes
    ----------
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Squared errors of the rows left out or, with `scoring`, predictions of them. Only if `store_cv_results`.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0.0 if `fit_intercept` is False.
    alpha_ : float or ndarray of shape (n_targets,)
        The best penalty.
    best_score_ : float or ndarray of shape (n_targets,)
        Its score.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    diagnosis_ : Diagnosis
        Findings of the fit with the best penalty.
    certificate_ : Certificate
        Evidence that this is the optimum for the best penalty.
    plan_ : Plan
        Path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20, 3))
    >>> y = X @ [1, 2, 3] + rng.normal(size=20)
    >>> RidgeCV(alphas=[0.1, 1.0, 100.0]).fit(X, y).alpha_
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": ["cv_object"],
        "gcv_mode": [StrOptions({"auto", "svd", "eigen"}), None],
        "store_cv_results": ["boolean"],
        "alpha_per_target": ["boolean"],
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame of shape (n_samples, n_features), or Source
            Training rows. A source is read piece by piece, and has its target with it.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.
        **params : dict
            Parameters of the scorer, if metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted model.
        """
        _raise_for_params(params, self, "fit")
        with restore_on_failure(self):
            validate_params(self)
            if self.cv is not None:
                return self._fit_by_search(X, y, sample_weight, params)
            given = self._score_params(sample_weight, params)
            flat = np.asarray(y).ndim == 1
            return self._fit(X, y, sample_weight, partial(self._cross_validated, flat=flat, score_params=given))

    def _fit_source(self, source: Source) -> Any:
        if self.cv is not None or self.scoring is not None or self.store_cv_results:
            return NotImplemented  # other splits and scores need single rows
        flat = source.head().y.ndim == 1
        return self._fit_rows_of(source, partial(self._cross_validated, flat=flat, score_params={}))

    # Leaving out one row.

    def _score_params(self, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_enabled():
            return dict(process_routing(self, "fit", **params, **given).scorer.score)
        return given

    def _check_options(self, X: Any) -> None:
        if self.gcv_mode == "svd" and is_sparse(X):
            warn(
                "The 'svd' mode is not supported for sparse X, we fallback to `gcv_mode='eigen'`. Passing "
                "`gcv_mode='svd'` on sparse X will raise an error in 1.11, use the default or pass `gcv_mode='eigen'` "
                "to suppress this warning.",
                FutureWarning,
            )

    def _cross_validated(self, rows: Observations, *, flat: bool, score_params: dict[str, Any]) -> Solution:
        choice = choose_by_leave_one_out(
            rows,
            self._checked_alphas(zero=False),
            intercept=self.fit_intercept,
            stable=self.gcv_mode == "svd" and not rows.design.is_sparse,
            score=None if self.scoring is None else self._score(rows, flat, score_params),
            per_target=self.alpha_per_target,
            store=self.store_cv_results,
        )
        each = self.alpha_per_target and rows.targets > 1
        self.alpha_ = np.array(choice.alpha) if each else float(choice.alpha[0])
        self.best_score_ = choice.score if self.alpha_per_target and not flat else choice.score.item()
        if self.store_cv_results and choice.stored is not None:
            self.cv_results_ = (choice.stored[:, 0] if flat else choice.stored).astype(rows.design.dtype, copy=False)
        if not is_direct_cheap(rows):
            return solve_by_conjugate_gradients(
                rows, choice.alpha, intercept=self.fit_intercept, tolerance=RESIDUAL_TOLERANCE
            )
        return least_squares(rows, choice.alpha, intercept=self.fit_intercept, sums=choice.sums)

    def _checked_alphas(self, *, zero: bool) -> Array:
        check = partial(check_scalar, target_type=Real, min_val=0.0, include_boundaries="left" if zero else "neither")
        if isinstance(self.alphas, np.ndarray | list | tuple) and np.ndim(self.alphas) > 0:
            check_alphas(self.alphas)
            for index, alpha in enumerate(self.alphas):
                check(alpha, "alphas" if len(self.alphas) == 1 else f"alphas[{index}]")
        return np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))

    def _score(self, rows: Observations, flat: bool, params: dict[str, Any]) -> Score:
        scorer, identity = self._scorer(), IdentityEstimator()

        def score(predicted: Array) -> Any:
            if self.alpha_per_target:
                return [scorer(identity, p, y, **params) for p, y in zip(predicted.T, rows.y.T, strict=True)]
            if flat:
                return scorer(identity, predicted[:, 0], rows.y[:, 0], **params)
            return scorer(identity, predicted, rows.y, **params)

        return score

    # Other splits.

    def _fit_by_search(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> Self:
        from sklearn.model_selection import GridSearchCV

        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name):
                raise DataError(f"cv!=None and {name}=True are incompatible. Leave one of them out.")
        model = Ridge(fit_intercept=self.fit_intercept, solver="sparse_cg" if is_sparse(X) else "auto")
        if _routing_enabled():
            model.set_fit_request(sample_weight=True)
        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        alphas = {"alpha": self._checked_alphas(zero=True)}
        search = GridSearchCV(model, alphas, cv=self.cv, scoring=self._scorer()).fit(X, y, **params)
        best = search.best_estimator_
        forget_fit(self)
        self.alpha_, self.best_score_ = best.alpha, search.best_score_
        for name in ("coef_", "intercept_", "n_features_in_", "diagnosis_", "certificate_", "plan_"):
            setattr(self, name, getattr(best, name))
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
        return self

    # Metadata.

    def _scorer(self) -> Any:
        if _routing_enabled() and self.scoring is None:
            return get_scorer("r2").set_score_request(sample_weight=True)
        return check_scoring(estimator=self, scoring=self.scoring, allow_none=True)

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing.

        Returns
        -------
        routing : MetadataRouter
            Parameters that are passed to the scorer and the splitter.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )


@stored(**FITTED, tag="UnchangedPredictions")
class IdentityEstimator(RegressorMixin, BaseEstimator):
    """Estimator that returns its input as predictions, for scorers that need an estimator."""

    def decision_function(self, predicted: Array) -> Array:
        return predicted

    def predict(self, predicted: Array) -> Array:
        return predicted
