"""Linear support vector regression (lecture 5)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError
from mercer._stored import either, floats, real, stored
from mercer._typing import Array
from mercer.base import traits
from mercer.base.fitted_fields import FITTED
from mercer.base.linear import linear_predictor
from mercer.base.progress import watch_fit
from mercer.base.sources import fits_sources
from mercer.base.validation import raise_if_interrupted, restore_on_failure, validate_params
from mercer.svm._linear import (
    LinearMachineFit,
    LinearMachineLimits,
    check_squares,
    check_supported,
    fill_row_weights,
    fit_ridge,
    intercept_constant,
    store_fit,
    validate_rows,
    warn_if_unfinished,
)
from mercer.svm._margins import MarginLosses, MarginRows


@traits(
    "regression",
    export="mercer.export.linear.regression",
    objective="mercer.kernel_ridge.objectives.raise_for_linear_machine",
)
@stored(**FITTED, coef_=floats("d"), intercept_=either(real(), floats("1")))
class LinearSVR(RegressorMixin, BaseEstimator):
    """Linear support vector regression: scikit-learn's, at the exact optimum of liblinear's objective.

    It minimises ½ ‖w‖² + C Σ loss(y − x·w − b), where the loss of a residual r is `(|r| − ε)₊` or its square: residuals
    within the tube `|r| ≤ ε` are free. As in liblinear the intercept is penalised like a coefficient.

    Parameters
    ----------
    epsilon : float, default=0
        Half the width of the tube in which residuals are free, in the units of y.
    tol : float, default=1e-4
        The fit ends at a duality gap of 0.01 `tol` of the objective.
    C : float, default=1
        Weight of the losses, compared with the penalty.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        The loss of a residual.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=1
        The intercept divided by this is penalised like a coefficient.
    dual : "auto" or bool, default="auto"
        Which losses are allowed, as in scikit-learn; the optimum is the same. The solver depends on the data; see
        `plan_`.
    verbose : int, default=0
        Whether to show the progress of the solver.
    random_state : int, RandomState or None, default=None
        Order of the rows in coordinate descent.
    max_iter : int, default=1000
        Steps of Newton's method, or sweeps over the rows, at most.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : ndarray of shape (1,)
        The intercept; 0.0 if there is none.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        Duality gap: an upper bound of the error of the objective, as a portion of it.
    plan_ : Plan
        Path that the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where they had any.

    Examples
    --------
    >>> from mercer import LinearSVR
    >>> model = LinearSVR(C=100.0).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 5.0, 70.0])
    >>> model.coef_.round(3), model.intercept_.round(3)  # an outlier does not count for more than any other row
    (array([2.]), array([1.]))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "epsilon": [Real],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "dual": ["boolean", StrOptions({"auto"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
    }

    coef_: Array
    intercept_: Any

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: Any = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, multiplied with C; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            check_supported("l2", self.loss, self.dual)
            if not 0 <= self.epsilon < np.inf:
                raise DataError(
                    f"epsilon must be 0 or a positive number, got {self.epsilon}: it is half the width of a tube."
                )
            self._fit_checked(X, y, sample_weight)
        warn_if_unfinished(self)
        return self

    def _fit_checked(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y = validate_rows(self, X, y, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        penalty = self.C * fill_row_weights(sample_weight, X)
        rows = MarginRows.of(X, intercept_constant(self))
        check_squares(self, rows)
        losses = MarginLosses.for_numbers(y, penalty, self.epsilon, squared=self.loss == "squared_epsilon_insensitive")
        limits = LinearMachineLimits(
            self.tol, self.max_iter, int(check_random_state(self.random_state).randint(2**31 - 1))
        )
        with watch_fit(self, verbose=self.verbose, X=X, y=y) as watch:
            fitted = fit_ridge(rows, [losses], limits, watch.callback)
        self._store(fitted)
        raise_if_interrupted(fitted.worst)

    def _store(self, fitted: LinearMachineFit) -> None:
        coef, self.intercept_ = store_fit(self, fitted)
        self.coef_ = coef[0]

    def predict(self, X: Any) -> Array:
        """Predict `X coef_ + intercept_`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        return linear_predictor(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
