"""Linear support vector classification."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError
from mercer._stored import either, floats, matrix, real, stored
from mercer._typing import Array
from mercer.base import DECIDES_ONLY, traits
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.linear import LinearClassifier
from mercer.base.progress import watch_fit
from mercer.base.sources import fits_sources
from mercer.base.validation import (
    check_two_classes_of_solver,
    compute_class_weight,
    raise_if_interrupted,
    restore_on_failure,
    validate_params,
    warn_of_many_classes,
)
from mercer.data.labels import encode_labels
from mercer.optim.descent import Callback
from mercer.svm._linear import (
    LinearMachineFit,
    LinearMachineLimits,
    check_squares,
    check_supported,
    fill_row_weights,
    fit_crammer_singer,
    fit_lasso,
    fit_ridge,
    intercept_constant,
    store_fit,
    validate_rows,
    warn_if_unfinished,
)
from mercer.svm._margins import MarginLosses, MarginRows

CRAMMER_SINGER = "crammer_singer"


@traits(
    "classification",
    kind="direct",
    no_counterpart=DECIDES_ONLY,
    export="mercer.export.linear.boundary",
    objective="mercer.kernel_ridge.objectives.raise_for_linear_machine",
)
@stored(**FITTED_CLASSES, coef_=matrix("ud"), intercept_=either(real(), floats("u")))
class LinearSVC(LinearClassifier):
    """Linear support vector classification: scikit-learn's, at the exact optimum of liblinear's objective.

    It minimises ½ ‖w‖² + C Σ loss(y (x·w + b)) for each class against the rest, or for the second of two; the loss of a
    margin m is (1 − m)₊ or its square. As in liblinear the intercept is penalised like a coefficient.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        The norm of the penalty: ½ ‖w‖², or ‖w‖₁, which makes coefficients exactly zero.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        The loss of a margin.
    dual : "auto" or bool, default="auto"
        Which combinations of penalty and loss are allowed, as in scikit-learn; the optimum is the same. The solver
        depends on the data; see `plan_`.
    tol : float, default=1e-4
        The fit ends at a duality gap of 0.01 `tol` of the objective.
    C : float, default=1
        Weight of the losses, compared with the penalty.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        Each of several classes against the rest, or one problem for all classes, which is slower and ignores
        `penalty`, `loss` and `dual`.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=1
        The intercept divided by this is penalised like a coefficient.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; for one class against the rest, only the weight of the one has an effect, as in
        liblinear.
    verbose : int, default=0
        Whether to show the progress of the solver.
    random_state : int, RandomState or None, default=None
        Order of the rows in coordinate descent.
    max_iter : int, default=1000
        Steps of Newton's method, or sweeps over the rows, at most.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the second of two classes, or of each of several.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0.0 if there are none.
    n_iter_ : int
        Steps of the solver; of several classes, the most that one took.
    certificate_ : Certificate
        Duality gap: an upper bound of the error of the objective, as a portion of it; of several classes the worst.
    plan_ : Plan
        Path that the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where they had any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC().fit(X, y)
    >>> float(round(model.score(X, y), 3)), model.certificate_.holds
    (0.967, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "multi_class": [StrOptions({"ovr", CRAMMER_SINGER})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    @property
    def predict_proba(self) -> NoReturn:
        """Raise an error: a support vector machine has a boundary, but no probabilities."""
        raise AttributeError(
            "This 'LinearSVC' has no attribute 'predict_proba': it learns a boundary and no probabilities; use "
            "LogisticRegression, or sklearn.calibration.CalibratedClassifierCV."
        )

    predict_log_proba = predict_proba

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, multiplied with C; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            if self.multi_class != CRAMMER_SINGER:
                check_supported(self.penalty, self.loss, self.dual)
            self._fit_checked(X, y, sample_weight)
        warn_if_unfinished(self)
        return self

    def _fit_checked(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y = validate_rows(self, X, y)
        self.classes_, codes = encode_labels(y)
        check_two_classes_of_solver(self.classes_)
        warn_of_many_classes(self.classes_, len(codes))
        weight = fill_row_weights(sample_weight, X)
        class_weight = self._class_weights(y, weight)
        rows = MarginRows.of(X, intercept_constant(self))
        check_squares(self, rows)
        with watch_fit(self, verbose=self.verbose, X=X, y=y) as watch:
            fitted = self._solve(rows, codes, self.C * weight, class_weight, watch.callback)
        self._store(fitted)
        raise_if_interrupted(fitted.worst)

    def _class_weights(self, y: Any, weight: Array) -> Array:
        try:
            return np.asarray(
                compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=weight), dtype=float
            )
        except ValueError as wrong:
            raise DataError(f"{wrong}. Give the classes of y as keys; those without a weight have 1.") from None

    def _solve(
        self, rows: MarginRows, codes: Array, penalty: Array, class_weight: Array, callback: Callback | None
    ) -> LinearMachineFit:
        limits = LinearMachineLimits(
            self.tol, self.max_iter, int(check_random_state(self.random_state).randint(2**31 - 1))
        )
        if self.multi_class == CRAMMER_SINGER:
            return fit_crammer_singer(rows, codes, penalty * class_weight[codes], len(self.classes_), limits, callback)
        problems = list(self._make_problems(codes, penalty, class_weight))
        if self.penalty == "l1":
            return fit_lasso(rows, problems, limits, callback)
        squared = self.loss == "squared_hinge"
        losses = [MarginLosses.for_classes(signs, weight, squared=squared) for signs, weight in problems]
        return fit_ridge(rows, losses, limits, callback)

    def _make_problems(self, codes: Array, penalty: Array, class_weight: Array) -> list[tuple[Array, Array]]:
        """Return classes as ±1, and C of each row: for the second of two classes, or each against the rest."""
        if len(self.classes_) == 2:
            return [(np.where(codes == 1, 1.0, -1.0), penalty * class_weight[codes])]
        return [
            (np.where(codes == k, 1.0, -1.0), np.where(codes == k, weight * penalty, penalty))
            for k, weight in enumerate(class_weight)
        ]

    def _store(self, fitted: LinearMachineFit) -> None:
        coef, intercept = store_fit(self, fitted)
        if self.multi_class == CRAMMER_SINGER and len(self.classes_) == 2:
            coef = coef[1:] - coef[:1]
            intercept = intercept[1:] - intercept[:1] if self.fit_intercept else intercept
        self.coef_, self.intercept_ = coef, intercept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
