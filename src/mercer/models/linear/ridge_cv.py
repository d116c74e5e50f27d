"""Ridge regression with the penalty chosen by cross-validation."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
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
from mercer._stored import stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import traits
from mercer.data.sources.base import Source
from mercer.models._refusal import refuse_no_alphas
from mercer.models.base import forget_fit, is_sparse, old_state_on_failure
from mercer.models.fitted_fields import FITTED, FITTED_LINEAR
from mercer.models.linear.least_squares import LeastSquaresRegressor
from mercer.models.linear.ridge import Ridge
from mercer.models.linear.ridge_tuning import Score, cross_validated
from mercer.models.streaming.from_source import fits_sources
from mercer.solvers.certificate import Solution
from mercer.solvers.krylov import TOLERANCE
from mercer.solvers.least_squares.direct import Rows, least_squares, worth_a_square
from mercer.solvers.least_squares.iterative import by_conjugate_gradients


@traits(
    "regression",
    export="mercer.export.linear.regression",
    summary="mercer.models.inference.read_drop_ins.read_least_squares",
    objective="mercer.models.kernel_models.norm_regularised.refuse_search",
)
@stored(**FITTED_LINEAR)
class RidgeCV(LeastSquaresRegressor):
    """Ridge regression that tries several penalties; scikit-learn's, with a proof of optimality.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,) or float, default=(0.1, 1.0, 10.0)
        Penalties to try, all positive; with `cv` also 0.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    scoring : str, callable or None, default=None
        What is to be as large as possible; minus the mean squared error if not given (with `cv`: R²).
    cv : int, cross-validation generator, iterable or None, default=None
        How to split; None leaves out each row in turn, which has a closed form.
    gcv_mode : {"auto", "svd", "eigen"} or None, default=None
        "svd" works with orthogonal factorisations from the start, the others only where they are needed.
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
        What the fit with the best penalty came across.
    certificate_ : Certificate
        How we know that this is the optimum for the best penalty.
    plan_ : Plan
        Which path the fit took.

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
            What the scorer is to be given, where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted model.
        """
        _raise_for_params(params, self, "fit")
        with old_state_on_failure(self):
            self._validate_params()
            if self.cv is not None:
                return self._fit_by_search(X, y, sample_weight, params)
            given = self._score_params(sample_weight, params)
            flat = np.asarray(y).ndim == 1
            return self._fit(X, y, sample_weight, partial(self._cross_validated, flat=flat, score_params=given))

    def _fit_source(self, source: Source) -> Any:
        if self.cv is not None or self.scoring is not None or self.store_cv_results:
            return NotImplemented  # other splits and scores look at single rows
        flat = source.head().y.ndim == 1
        return self._fit_rows_of(source, partial(self._cross_validated, flat=flat, score_params={}))

    # By leaving out one row.

    def _score_params(self, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_enabled():
            return dict(process_routing(self, "fit", **params, **given).scorer.score)
        return given

    def _refuse_options(self, X: Any) -> None:
        if self.gcv_mode == "svd" and is_sparse(X):
            warn(
                "The 'svd' mode is not supported for sparse X, we fallback to `gcv_mode='eigen'`. Passing "
                "`gcv_mode='svd'` on sparse X will raise an error in 1.11, use the default or pass `gcv_mode='eigen'` "
                "to suppress this warning.",
                FutureWarning,
            )

    def _cross_validated(self, rows: Rows, *, flat: bool, score_params: dict[str, Any]) -> Solution:
        choice = cross_validated(
            rows,
            self._checked_alphas(zero=False),
            intercept=self.fit_intercept,
            stable=self.gcv_mode == "svd" and not rows.sparse,
            score=None if self.scoring is None else self._score(rows, flat, score_params),
            per_target=self.alpha_per_target,
            store=self.store_cv_results,
        )
        each = self.alpha_per_target and rows.targets > 1
        self.alpha_ = np.array(choice.alpha) if each else float(choice.alpha[0])
        self.best_score_ = choice.score if self.alpha_per_target and not flat else choice.score.item()
        if self.store_cv_results and choice.stored is not None:
            self.cv_results_ = (choice.stored[:, 0] if flat else choice.stored).astype(rows.dtype, copy=False)
        if not worth_a_square(rows):
            return by_conjugate_gradients(rows, choice.alpha, intercept=self.fit_intercept, tolerance=TOLERANCE)
        return least_squares(rows, choice.alpha, intercept=self.fit_intercept, sums=choice.sums)

    def _checked_alphas(self, *, zero: bool) -> Array:
        check = partial(check_scalar, target_type=Real, min_val=0.0, include_boundaries="left" if zero else "neither")
        if isinstance(self.alphas, np.ndarray | list | tuple) and np.ndim(self.alphas) > 0:
            refuse_no_alphas(self.alphas)
            for index, alpha in enumerate(self.alphas):
                check(alpha, "alphas" if len(self.alphas) == 1 else f"alphas[{index}]")
        return np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))

    def _score(self, rows: Rows, flat: bool, params: dict[str, Any]) -> Score:
        scorer, identity = self._scorer(), Identity()

        def score(predicted: Array) -> Any:
            if self.alpha_per_target:
                return [scorer(identity, p, y, **params) for p, y in zip(predicted.T, rows.Y.T, strict=True)]
            if flat:
                return scorer(identity, predicted[:, 0], rows.Y[:, 0], **params)
            return scorer(identity, predicted, rows.Y, **params)

        return score

    # By other splits.

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
        """Where metadata goes.

        Returns
        -------
        routing : MetadataRouter
            What the scorer and the splitter are given.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )


@stored(**FITTED, tag="UnchangedPredictions")
class Identity(RegressorMixin, BaseEstimator):
    """Predicts what it is given: scorers want an estimator, and the predictions are known."""

    def decision_function(self, predicted: Array) -> Array:
        return predicted

    def predict(self, predicted: Array) -> Array:
        return predicted
