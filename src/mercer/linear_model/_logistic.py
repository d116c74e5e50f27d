"""Logistic regression: one of two classes, or of several by softmax (lectures 2, 3 and 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from mercer._errors import DataError, NonFiniteError
from mercer._gpu import is_tensor
from mercer._stored import floats, matrix, stored
from mercer._threads import thread_count
from mercer._warn import warn
from mercer.base import Candidate, Question, traits
from mercer.base.diagnosis import Diagnosis
from mercer.base.fitted_fields import FITTED_CLASSES
from mercer.base.linear import LinearClassifier
from mercer.base.progress import watch_fit, with_callbacks
from mercer.base.sources import check_no_offset, fits_sources, locate_bad_values, observe, reader_of, streamed_plan
from mercer.base.validation import (
    NO_WEIGHT,
    Plan,
    check_coefficients,
    check_finite,
    check_start,
    check_tensor,
    column_names,
    encode_tensor_labels,
    move_to_main_memory,
    publish,
    raise_if_interrupted,
    restore_on_failure,
    tensor_plan,
    validate_params,
    warn_of_many_classes,
)
from mercer.data.sources.base import Source
from mercer.linear_model.logistic_path import (
    LOGISTIC_CONSTRAINTS,
    Coefficients,
    LogisticCallbacks,
    LogisticPath,
    LogisticPoint,
    PathPenalty,
    check_enough_classes,
    check_solver,
    checked_rows,
    class_weights,
    diagnose_point,
    encode_classes,
    read_labelled_chunk,
    read_labelled_numbers,
    report_steps,
    row_weights,
    tensor_row_weights,
    warn_if_unfinished,
)
from mercer.matrices.streamed import Responses, Survey
from mercer.optim import streamed_proximal
from mercer.optim.descent import map_coefficients
from mercer.optim.linear_fit import NOT_FINITE

#: maximum number of columns of which a comparison takes all products as features
MOST_SQUARED_COLUMNS = 12


def linear_candidates(question: Question, model: Any) -> Iterator[Candidate]:
    """Yield a logistic regression of features and, for a few columns of numbers, one of their products.

    The latter is the form of p(y|x) if each class has a normal distribution.
    """
    yield Candidate(model, 31)
    if question.is_numeric and not question.has_texts and question.columns <= MOST_SQUARED_COLUMNS:
        yield Candidate(clone(model), 58, "numbers", fill=True, products=True)


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model with the default penalty if some class has too few rows to choose one by folds."""
    if not question.has_enough_rows:
        yield from linear_candidates(question, LogisticRegression())


@traits(
    "classification",
    half="linear",
    candidates=_candidates,
    export="mercer.export.linear.logistic",
    summary="mercer.inference.reading.read_logistic",
    objective="mercer.kernel_ridge.objectives.make_logistic_objective",
)
@stored(**FITTED_CLASSES, coef_=matrix("ud"), intercept_=floats("u"))
class LogisticRegression(LogisticCallbacks, LinearClassifier):
    """Logistic regression: scikit-learn's, at the exact optimum of the objective of `solver`.

    It minimises C Σ w · loss + l1_ratio ‖β‖₁ + (1 − l1_ratio)/2 ‖β‖²: the mode of the posterior under β ~ N(0, C) for
    the default l1_ratio = 0. The loss is −log p(y|x); of several classes, p is a softmax in which every class has
    coefficients.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}, default="deprecated"
        The penalty; deprecated, use `l1_ratio` and `C`.
    C : float, default=1
        Inverse of the strength of the penalty, or the variance of the prior; infinity means no penalty.
    l1_ratio : float in [0, 1], default=0
        Share of the L1 penalty, which makes coefficients exactly zero.
    dual : bool, default=False
        Accepted for liblinear; the optimum is the same.
    tol : float, default=1e-4
        Tolerance of the gradient per row, measured by the curvature: distance to the optimum in standard errors,
        divided by √n.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised, except with liblinear.
    intercept_scaling : float, default=1
        With liblinear, the intercept divided by this is penalised like a coefficient.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with those of the rows; "balanced" gives all classes the same total.
    random_state : int, RandomState or None, default=None
        Has no effect: nothing is random.
    solver : {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"}, default="lbfgs"
        Determines the allowed objectives, as in scikit-learn: liblinear penalises the intercept and takes two classes
        only, saga and liblinear take L1, saga also elastic net. The algorithm is chosen by the data; see `plan_`.
    max_iter : int, default=100
        Maximum number of steps.
    verbose : int, default=0
        Whether to show the progress of the solver.
    warm_start : bool, default=False
        Whether a fit begins at the coefficients of the last one.
    n_jobs : None
        Deprecated and without effect: `mercer.engine(threads=n)` bounds the threads.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the second of two classes, or of each of several.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 if there are none.
    n_iter_ : ndarray of shape (1,)
        Steps of the solver.
    certificate_ : Certificate
        Evidence that this is the optimum.
    diagnosis_ : Diagnosis
        For a fit without a penalty: collinear columns, and whether the classes are separated, so that there is no
        optimum.
    plan_ : Plan
        Path that the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if they had any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict_proba(X[:1]).round(3)
    array([[0.982, 0.018, 0.   ]])
    >>> model.certificate_.holds
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = LOGISTIC_CONSTRAINTS

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "lbfgs",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, tensor of shape (n_samples, n_features), or Source
            Training rows. A tensor of torch stays on its device; with an L1 penalty it must be in main memory. A source
            is read piece by piece, and has its target with it.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        with restore_on_failure(self):
            validate_params(self)
            self._learn(X, y, sample_weight)
        return self

    @with_callbacks
    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        penalised = self._penalised()
        if penalised.l1_ratio:
            X, y, sample_weight = move_to_main_memory(type(self).__name__, X=X, y=y, sample_weight=sample_weight)
        if is_tensor(X):
            X, codes, weight = self._tensors(X, y, sample_weight)
        else:
            X, y = checked_rows(self, X, y, self.solver, [np.float64, np.float32])
            self.classes_, codes = encode_classes(y, self.solver)
            weight = row_weights(sample_weight, X, self.class_weight, self.classes_, codes)
        path = LogisticPath.of(self, X, codes, weight)
        blocks = len(path.observations.blocks())
        plan = tensor_plan("", X, blocks=blocks) if is_tensor(X) else Plan("", str(X.dtype), blocks, thread_count())
        self.plan_ = replace(plan, dtype="float64") if self.solver == "liblinear" else plan
        self._follow(path, penalised, X, y, sample_weight)

    def _follow(self, path: LogisticPath, penalised: PathPenalty, X: Any, y: Any, sample_weight: Any) -> None:
        """Solve, diagnose and store; after an interruption the best coefficients so far are stored."""
        point = self._solve(path, penalised, X, y, sample_weight)
        self.diagnosis_ = Diagnosis()
        if not point.solution.interrupted:
            if not np.isfinite(point.certificate.value):
                if X is not None:
                    check_finite(self, X)
                raise NonFiniteError(NOT_FINITE)
            names, classes = column_names(self), [str(label) for label in self.classes_.tolist()]
            check_coefficients(point.coefficients.coef, names)
            point, self.diagnosis_ = diagnose_point(path, point, names, classes)
        self._store(point)
        raise_if_interrupted(point.solution)
        warn_if_unfinished(point, self.solver, self.max_iter)

    def _fit_source(self, source: Source) -> Any:
        return self._learn_from(source)

    @with_callbacks
    def _learn_from(self, source: Source) -> Any:
        penalised, first, liblinear = self._penalised(), source.head(), self.solver == "liblinear"
        check_no_offset(self, first)
        X, _ = checked_rows(self, first.X, first.y, self.solver, [np.float64, np.float32])
        reader, dtype = reader_of(self), "float64" if liblinear else X.dtype
        with locate_bad_values(source, reader, read_labelled_numbers):
            observations: Any = observe(
                source,
                partial(read_labelled_chunk, reader),
                self._coded,
                labels=True,
                intercept=self.fit_intercept,
                shifted=not liblinear,
            )
            path = LogisticPath.of_observations(self, observations)
            if penalised.l1_ratio and not streamed_proximal.suits(path.problem(*penalised)):
                return NotImplemented
            self.plan_ = streamed_plan("", dtype)
            self._follow(path, penalised, None, None, None)
        self.plan_ = streamed_plan(self.plan_.path, dtype)
        return self

    def _coded(self, survey: Survey) -> Responses:
        """Return how the labels of a source are read, as codes with the weights of their classes."""
        check_enough_classes(survey.labels, self.solver)
        warn_of_many_classes(survey.labels, survey.rows)
        self.classes_ = survey.labels
        if not survey.weight > 0:
            raise DataError(NO_WEIGHT)
        weights = class_weights(self.class_weight, self.classes_, survey.label_weights)
        return Responses(self.classes_, weights, np.int64)

    def _tensors(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Return X, the codes of the classes and the weights on the device of X."""
        if y is None:
            checked_rows(self, X, y, self.solver, None)
        X = check_tensor(self, X, reset=True)
        self.classes_, codes = encode_tensor_labels(y, X)
        check_enough_classes(self.classes_, self.solver)
        warn_of_many_classes(self.classes_, len(codes))
        return X, codes, tensor_row_weights(sample_weight, X, self.class_weight, self.classes_, codes)

    def _solve(self, path: LogisticPath, penalised: PathPenalty, X: Any, y: Any, sample_weight: Any) -> LogisticPoint:
        start = self._start()
        if hasattr(self, "_skl_callbacks"):
            with report_steps(self, X, y, sample_weight) as callback:
                return path.at(*penalised, start, callback=map_coefficients(callback, path.coefficients))
        with watch_fit(self, verbose=self.verbose, X=X, y=y) as watch:
            return path.at(*penalised, start, callback=watch.callback)

    def _penalised(self) -> PathPenalty:
        """Return C and l1_ratio, by scikit-learn's rules and with its warnings about deprecated parameters."""
        penalty = self._penalty()
        check_solver(self.solver, penalty, self.dual)
        ratio = self.l1_ratio
        if penalty != "elasticnet" and ratio is not None and 0 < ratio < 1:
            warn(f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})")
        if (self.penalty == "l2" and ratio != 0) or (self.penalty == "l1" and ratio != 1):
            warn(
                f"Inconsistent values: penalty={self.penalty} with l1_ratio={ratio}. penalty is deprecated. Please use "
                "l1_ratio only."
            )
        if penalty == "elasticnet" and ratio is None:
            raise DataError("l1_ratio must be specified when penalty is elasticnet. Give a number from 0 to 1.")
        if self.penalty is None and self.C != 1.0:
            warn("Setting penalty=None will ignore the C and l1_ratio parameters")
        if self.n_jobs is not None:
            warn(
                f"'n_jobs' has no effect since 1.8 and will be removed in 1.10. You provided 'n_jobs={self.n_jobs}', "
                "please leave it unspecified.",
                FutureWarning,
            )
        if penalty is None or np.inf == self.C:
            return PathPenalty(np.inf, 0.0)
        return PathPenalty(self.C, {"l1": 1.0, "l2": 0.0}.get(penalty, float(ratio or 0.0)))

    def _penalty(self) -> str | None:
        if self.penalty != "deprecated":
            warn(
                "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave "
                "'penalty' set to its default value and use 'l1_ratio' or 'C' instead. Use l1_ratio=0 instead of "
                "penalty='l2', l1_ratio=1 instead of penalty='l1', l1_ratio set to a float between 0 and 1 instead of "
                "penalty='elasticnet', and C=np.inf instead of penalty=None.",
                FutureWarning,
            )
            return self.penalty
        if self.l1_ratio is None:
            warn(
                "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use 0<=l1_ratio<=1 "
                "instead.",
                FutureWarning,
            )
        if np.inf == self.C:
            return None
        return {0.0: "l2", 1.0: "l1"}.get(self.l1_ratio or 0.0, "elasticnet")

    def _start(self) -> Coefficients | None:
        if not self.warm_start or self.solver == "liblinear" or not hasattr(self, "coef_"):
            return None
        self.densify()
        expected = (1 if len(self.classes_) == 2 else len(self.classes_), self.n_features_in_)
        if self.coef_.shape != expected:
            raise DataError(
                f"Initialization coef is of shape {self.coef_.shape}, expected shape {expected}. Set warm_start=False "
                "to fit other columns or classes."
            )
        check_start(self.coef_, self.intercept_)
        return Coefficients(np.asarray(self.coef_, dtype=float), np.asarray(self.intercept_, dtype=float))

    def _store(self, point: LogisticPoint) -> None:
        self.plan_ = replace(self.plan_, path=f"{point.path}, for solver={self.solver!r}")
        publish(self, coef_=point.coefficients.coef, intercept_=point.coefficients.intercept)
        self.n_iter_ = np.array([point.n_iter], dtype=np.int32)
        self.certificate_ = point.certificate_as_published(self.coef_, self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.solver != "liblinear"
        return tags
