"""Ridge-penalised GLMs with the parameters of scikit-learn's: Poisson, gamma, Tweedie, and the log-normal regression.

Their objective, 1/(2 Σw) Σ w deviance + α/2 ‖β‖², is that of `Problem` divided by Σw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import column_or_1d

from mercer._errors import DataError, NonFiniteError, SupportError
from mercer._gpu import is_tensor, to_numpy
from mercer._stored import real, stored
from mercer._threads import thread_count
from mercer._typing import Array
from mercer._warn import warn
from mercer.base import Candidate, Question, traits
from mercer.base.fitted_fields import FITTED_ONE_TARGET
from mercer.base.linear import linear_predictor
from mercer.base.progress import watch_fit
from mercer.base.sources import check_no_offset, fits_sources, locate_bad_values, observe, reader_of, streamed_plan
from mercer.base.validation import (
    Plan,
    align_with_rows,
    cast_to_precision,
    check_coefficients,
    check_finite,
    check_has_target,
    check_is_fitted,
    check_rows,
    check_tensor,
    check_tensor_weight,
    check_weight,
    column_names,
    complete_unless_interrupted,
    fetch_tensor,
    is_sparse,
    publish,
    raise_if_interrupted,
    restore_on_failure,
    tensor_plan,
    validate_params,
)
from mercer.data.sources.base import Chunk, Source
from mercer.families import IDENTITY, LOG, Gamma, Gaussian, Poisson, Tweedie
from mercer.families.penalties import L2
from mercer.families.response import Response
from mercer.linear_model._dependence import find_dependence
from mercer.linear_model.glm_figures import deviance_explained
from mercer.linear_model.glm_solve import (
    Solved,
    SolverLimits,
    certificate_as_published,
    curvature_along,
    solve,
)
from mercer.linear_model.glm_target import read_numbers
from mercer.matrices import Coordinates, Observations, TensorMatrix, TensorObservations, matrix_of
from mercer.matrices.streamed import Responses, Survey, SurveySample
from mercer.optim.certificate import Certificate
from mercer.optim.problem import Problem
from mercer.report.wording import format_count

#: allowed distance from the optimum, in standard errors, per unit of `tol`: for a million rows, scikit-learn's default
#: tol of 1e-4 allows the gradient at a distance of a tenth of a standard error
ERRORS_PER_TOL = 100.0
#: largest allowed distance from the optimum, in standard errors
LARGEST_TOLERANCE_OF_REGRESSORS = 1e-2
#: number of entries of X below which the cost of further steps is negligible
ENTRIES_OF_SMALL_DATA = 1_000_000
#: largest allowed distance from the optimum for fewer entries
LARGEST_TOLERANCE_OF_SMALL_DATA = 1e-8
#: distance in standard errors that rounding alone may leave
SMALLEST_TOLERANCE_OF_REGRESSORS = 1e-12


class GLMRegressor(RegressorMixin, BaseEstimator, ABC):
    """Base of the ridge-penalised GLMs with scikit-learn's parameters."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"lbfgs", "newton-cholesky"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    coef_: Array

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose

    @abstractmethod
    def _response(self) -> Response:
        """Return family and link."""

    @abstractmethod
    def _loss_name(self) -> str:
        """Return scikit-learn's name of the loss."""

    @abstractmethod
    def _out_of_range(self, y: Array) -> Array:
        """Return which responses the family excludes; fractions of counts are allowed, as in scikit-learn."""

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, tensor of shape (n_samples, n_features), or Source
            Training rows. A tensor of torch stays on its device; a source is read piece by piece, and has its target
            with it.
        y : array-like of shape (n_samples,)
            Responses.
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

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        if is_tensor(X) and y is not None:
            X, values, weight = self._tensors(X, y, sample_weight)
        else:
            X, y = self._checked_rows(X, y, reset=True)
            values, weight = self._checked_target(y), check_weight(sample_weight, X)
        problem = self._problem(X, values, weight)
        blocks = len(problem.observations.blocks())
        plan = tensor_plan("", X, blocks=blocks) if is_tensor(X) else Plan("", str(X.dtype), blocks, thread_count())
        self.plan_ = plan
        try:
            self._minimise(problem, X, y)
        except NonFiniteError:
            check_finite(self, X)
            raise

    def _minimise(self, problem: Problem, X: Any = None, y: Any = None) -> None:
        """Solve and store; after an interruption the best coefficients so far are stored."""
        with watch_fit(self, verbose=self.verbose, X=X, y=y) as watch:
            solved = solve(
                problem, self._solver(), self._limits(problem), start=self._start(problem), callback=watch.callback
            )
        resolved = complete_unless_interrupted(solved.solution, lambda: self._resolve_dependence(solved))
        solved = solved.after_interruption() if resolved is None else resolved
        self._store(solved)
        raise_if_interrupted(solved.solution)
        warn_if_not_converged(self.solver, self.certificate_, self.n_iter_, self.max_iter, allowed=self._allowed)

    def _fit_source(self, source: Source) -> None:
        first = source.head()
        check_no_offset(self, first)
        X, _ = self._checked_rows(first.X, first.y, reset=True)
        reader = reader_of(self)
        self.plan_ = streamed_plan("", X.dtype)
        with locate_bad_values(source, reader, _read_numbers):
            observations: Any = observe(
                source, partial(_read_chunk, reader), _responses, labels=False, intercept=self.fit_intercept
            )
            self._minimise(self._penalised(observations, X.shape[1]))
        self.plan_ = streamed_plan(self.plan_.path, X.dtype)

    def _checked_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        check_has_target(self, y, "response")
        taken: tuple[Any, Any] = check_rows(
            self,
            X,
            y,
            reset=reset,
            codes=True,
            accept_sparse=["csc", "csr"],
            dtype=[np.float64, np.float32],
            y_numeric=True,
        )
        return taken

    def _tensors(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Return X, responses and weights on the device of X."""
        import torch

        X = check_tensor(self, X, reset=True)
        values = align_with_rows(y, X, "y", dtype=torch.float64)
        if values.ndim != 1 or not bool(values.isfinite().all()) or self._out_of_range(to_numpy(values.min())).any():
            check_rows(self, np.broadcast_to(0.0, X.shape), fetch_tensor(y), reset=False, y_numeric=True)
            self._checked_target(to_numpy(values.reshape(-1)))  # raises the error that applies
            values = values.reshape(-1)
        return X, values, check_tensor_weight(sample_weight, X)

    def _checked_target(self, y: Any) -> Array:
        values = read_numbers(y)
        if (wrong := self._out_of_range(values)).any():
            row = int(np.argmax(wrong))
            raise SupportError(
                f"Some value(s) of y are out of the valid range of the loss {self._loss_name()!r}. It is "
                f"{values[row]:g} in row {row}; correct or drop the row, or choose a family that allows it."
            )
        return values

    def _problem(self, X: Any, y: Array, weight: Array | None) -> Problem:
        observations: Observations
        if is_tensor(X):
            observations = TensorObservations.of(
                TensorMatrix.of(X, intercept=self.fit_intercept, weight=weight), y, weight
            )
        else:
            observations = Observations(matrix_of(X, intercept=self.fit_intercept, weight=weight)[0], y, weight)
        return self._penalised(observations, X.shape[1])

    def _penalised(self, observations: Observations, columns: int) -> Problem:
        penalty = L2(self.alpha * observations.total_weight).strengths(columns)
        return Problem(observations, self._response(), observations.design.coordinates.strengths(penalty))

    def _solver(self) -> str:
        return "newton" if self.solver == "newton-cholesky" else "auto"

    def _limits(self, problem: Problem) -> SolverLimits:
        few = len(problem.observations) * (problem.n_columns - self.fit_intercept) < ENTRIES_OF_SMALL_DATA
        tolerance = min(self.tol, LARGEST_TOLERANCE_OF_SMALL_DATA) if few else self._allowed
        return SolverLimits(max(SMALLEST_TOLERANCE_OF_REGRESSORS, tolerance), self.max_iter)

    @property
    def _allowed(self) -> float:
        """Distance from the optimum that `tol` allows, in standard errors."""
        return min(ERRORS_PER_TOL * self.tol, LARGEST_TOLERANCE_OF_REGRESSORS)

    def _start(self, problem: Problem) -> Array | None:
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        if self.coef_.shape != (expected := (self.n_features_in_,)):
            raise DataError(
                f"Initialization coef is of shape {self.coef_.shape}, expected shape {expected}. Set warm_start=False "
                "to fit other columns."
            )
        return problem.observations.design.coordinates.from_user(
            np.asarray(self.coef_, dtype=float), float(self.intercept_) if self.fit_intercept else 0.0
        )

    def _resolve_dependence(self, solved: Solved) -> Solved:
        """Return the smallest of the coefficients that fit equally well, if columns depend on each other.

        They are those of scikit-learn's lbfgs, and of its newton-cholesky, which also warns.
        """
        observations, strengths = solved.problem.observations, solved.problem.strengths
        dependence = find_dependence(observations, strengths)
        if dependence is None:
            return solved
        if self.solver == "newton-cholesky":
            names = [*column_names(self), "the intercept"]
            warn(
                "The inner solver of NewtonCholeskySolver stumbled upon a singular or very ill-conditioned Hessian "
                f"matrix: the columns {', '.join(names[column] for column in dependence.columns()[:10])} are "
                "collinear. Leave some out, or increase alpha.",
                LinAlgWarning,
            )
        value = dependence.smallest(solved.solution.coef, observations.design.coordinates)
        return solved.with_coef(value)

    def _store(self, solved: Solved) -> None:
        coordinates: Coordinates = solved.problem.observations.design.coordinates
        with np.errstate(over="ignore", invalid="ignore"):
            coefficients, intercept = coordinates.to_user(solved.solution.coef)
        check_coefficients(coefficients[None], column_names(self))
        self.plan_ = replace(self.plan_, path=str(solved.choice))
        publish(self, coef_=coefficients)
        self.intercept_ = self.coef_.dtype.type(intercept) if self.fit_intercept else 0.0
        self.n_iter_ = max(1, solved.solution.n_iter)
        change = coordinates.from_user(
            self.coef_.astype(np.float64) - coefficients, float(self.intercept_) - float(intercept)
        )
        self.certificate_ = solved.solution.certificate
        if change.any():
            squares = curvature_along(solved.problem, solved.solution.coef, change)
            self.certificate_ = certificate_as_published(solved.problem, solved.solution, squares, self.coef_.dtype)

    def _linear_predictor(self, X: Any) -> Array:
        check_is_fitted(self)
        return linear_predictor(self, X)

    def predict(self, X: Any) -> Array:
        """Return the mean response of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predicted means.
        """
        eta = self._linear_predictor(X)
        if is_tensor(eta):
            return self._response().mean(eta)
        return cast_to_precision(self._response().mean(eta.astype(np.float64, copy=False)), eta.dtype)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D²: the share of the deviance of a constant mean that is explained.

        Parameters
        ----------
        X : array-like, sparse matrix or tensor of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Their responses.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        score : float
            At most 1, and below 0 for a model that is worse than a constant.
        """
        eta = fetch_tensor(self._linear_predictor(X))
        values = self._checked_target(column_or_1d(fetch_tensor(y), warn=True))
        if len(values) != len(eta):
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: {[len(eta), len(values)]}. Give one "
                "response for each row of X."
            )
        return deviance_explained(self._response(), values, eta, check_weight(fetch_tensor(sample_weight), eta))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.positive_only = bool(self._out_of_range(np.array([-1.0])).any())
        return tags


def warn_if_not_converged(solver: str, certificate: Certificate, steps: int, max_iter: int, *, allowed: float) -> None:
    """Warn as scikit-learn does: not if rounding ended the descent at an `allowed` distance from the optimum."""
    if not certificate.holds and (steps >= max_iter or not certificate.value <= allowed):
        warn(
            f"{solver} failed to converge after {format_count(steps, 'iteration')}: {certificate}. Increase the number "
            "of iterations (max_iter) or scale the data.",
            ConvergenceWarning,
        )


def _read_chunk(reader: GLMRegressor, chunk: Chunk) -> SurveySample:
    X, y = reader._checked_rows(chunk.X, chunk.y, reset=False)
    X = X.tocsr() if is_sparse(X) else X
    return SurveySample(X, reader._checked_target(y), check_weight(chunk.weight, X, part=True), None)


def _read_numbers(reader: GLMRegressor, chunk: Chunk) -> Any:
    return _read_chunk(reader, chunk).X


def _responses(survey: Survey) -> Responses:
    return Responses()


@traits(
    "regression",
    "counts",
    export="mercer.export.linear.glm_regression",
    summary="mercer.inference.reading.read_glm_regressor",
    objective="mercer.kernel_ridge.objectives.DevianceObjective",
)
@stored(**FITTED_ONE_TARGET)
class PoissonRegressor(GLMRegressor):
    """Ridge-penalised Poisson regression with a log link: scikit-learn's `PoissonRegressor`, solved by Newton's method.

    It minimises 1/(2 Σw) Σ w deviance + α/2 ‖β‖². For other links, penalties, offsets, exposures and inference
    see `GLM("poisson")`.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the penalty; 0 means no penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both find the same optimum by Newton's method, or "lbfgs" by L-BFGS if there are very many columns; `plan_` has
        the choice. Without a penalty, "newton-cholesky" warns of collinear columns.
    max_iter : int, default=100
        Maximum number of steps.
    tol : float, default=1e-4
        The fit has converged if it is within 100 · tol and 1e-2 standard errors of the optimum, and for small data, at
        no extra cost, within 1e-8.
    warm_start : bool, default=False
        Whether a fit begins at the coefficients of the previous one.
    verbose : int, default=0
        Whether to show the progress of the solver.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept; 0 if there is none.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        Evidence that this is the optimum.
    plan_ : Plan
        Path that the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if they had any.

    Examples
    --------
    >>> from mercer import PoissonRegressor
    >>> model = PoissonRegressor().fit([[1, 2], [2, 3], [3, 4], [4, 3]], [12, 17, 22, 21])
    >>> model.coef_.round(3)
    array([0.121, 0.158])
    >>> model.predict([[1, 1], [3, 4]]).round(2)
    array([10.68, 21.88])
    """

    def _response(self) -> Response:
        return Response(Poisson(), LOG)

    def _loss_name(self) -> str:
        return "HalfPoissonLoss"

    def _out_of_range(self, y: Array) -> Array:
        return np.asarray(y < 0)


@traits(
    "regression",
    "amounts",
    export="mercer.export.linear.glm_regression",
    summary="mercer.inference.reading.read_glm_regressor",
    objective="mercer.kernel_ridge.objectives.DevianceObjective",
)
@stored(**FITTED_ONE_TARGET)
class GammaRegressor(GLMRegressor):
    """Ridge-penalised gamma regression with a log link: scikit-learn's `GammaRegressor`, solved by Newton's method.

    It minimises 1/(2 Σw) Σ w deviance + α/2 ‖β‖². For other links, penalties, offsets, exposures and inference
    see `GLM("gamma", link="log")`.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the penalty; 0 means no penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both find the same optimum by Newton's method, or "lbfgs" by L-BFGS if there are very many columns; `plan_` has
        the choice. Without a penalty, "newton-cholesky" warns of collinear columns.
    max_iter : int, default=100
        Maximum number of steps.
    tol : float, default=1e-4
        The fit has converged if it is within 100 · tol and 1e-2 standard errors of the optimum, and for small data, at
        no extra cost, within 1e-8.
    warm_start : bool, default=False
        Whether a fit begins at the coefficients of the previous one.
    verbose : int, default=0
        Whether to show the progress of the solver.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept; 0 if there is none.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        Evidence that this is the optimum.
    plan_ : Plan
        Path that the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if they had any.

    Examples
    --------
    >>> from mercer import GammaRegressor
    >>> model = GammaRegressor().fit([[1, 2], [2, 3], [3, 4], [4, 3]], [19, 26, 33, 30])
    >>> model.coef_.round(3)
    array([0.073, 0.067])
    >>> model.predict([[1, 0], [2, 8]]).round(2)
    array([19.49, 35.78])
    """

    def _response(self) -> Response:
        return Response(Gamma(), LOG)

    def _loss_name(self) -> str:
        return "HalfGammaLoss"

    def _out_of_range(self, y: Array) -> Array:
        return np.asarray(y <= 0)


@traits(
    "regression",
    "amounts",
    export="mercer.export.linear.glm_regression",
    summary="mercer.inference.reading.read_glm_regressor",
    objective="mercer.kernel_ridge.objectives.DevianceObjective",
)
@stored(**FITTED_ONE_TARGET)
class TweedieRegressor(GLMRegressor):
    """Ridge-penalised regression with variance φ μᵖ: scikit-learn's `TweedieRegressor`, solved by Newton's method.

    It minimises 1/(2 Σw) Σ w deviance + α/2 ‖β‖². For other links, penalties, offsets, exposures and inference
    see `GLM(Tweedie(power))`.

    Parameters
    ----------
    power : float, default=0
        p: 0 normal, 1 Poisson, between 1 and 2 compound Poisson-gamma, 2 gamma, 3 inverse Gaussian. No distribution
        has a power between 0 and 1.
    alpha : float, default=1
        Strength of the penalty; 0 means no penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    link : {"auto", "identity", "log"}, default="auto"
        "auto" is the identity for powers up to 0, and the logarithm otherwise.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both find the same optimum by Newton's method, or "lbfgs" by L-BFGS if there are very many columns; `plan_` has
        the choice. Without a penalty, "newton-cholesky" warns of collinear columns.
    max_iter : int, default=100
        Maximum number of steps.
    tol : float, default=1e-4
        The fit has converged if it is within 100 · tol and 1e-2 standard errors of the optimum, and for small data, at
        no extra cost, within 1e-8.
    warm_start : bool, default=False
        Whether a fit begins at the coefficients of the previous one.
    verbose : int, default=0
        Whether to show the progress of the solver.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept; 0 if there is none.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        Evidence that this is the optimum.
    plan_ : Plan
        Path that the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if they had any.

    Examples
    --------
    >>> from mercer import TweedieRegressor
    >>> model = TweedieRegressor().fit([[1, 2], [2, 3], [3, 4], [4, 3]], [2, 3.5, 5, 5.5])
    >>> model.coef_.round(3)
    array([0.6, 0.3])
    >>> model.predict([[1, 1], [3, 4]]).round(3)
    array([2.5, 4.6])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GLMRegressor._parameter_constraints,
        "power": [Interval(Real, None, None, closed="neither")],
        "link": [StrOptions({"auto", "identity", "log"})],
    }

    def __init__(
        self,
        *,
        power: float = 0.0,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        link: str = "auto",
        solver: str = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            alpha=alpha,
            fit_intercept=fit_intercept,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.power = power
        self.link = link

    def _is_log(self) -> bool:
        return self.link == "log" or (self.link == "auto" and self.power > 0)

    def _response(self) -> Response:
        return Response(Tweedie(self.power), LOG if self._is_log() else IDENTITY)

    def _loss_name(self) -> str:
        return "HalfTweedieLoss" if self._is_log() else "HalfTweedieLossIdentity"

    def _out_of_range(self, y: Array) -> Array:
        if self.power <= 0:
            return np.zeros(np.shape(y), dtype=bool)
        return np.asarray(y < 0 if self.power < 2 else y <= 0)


#: values of alpha that a comparison tries, safest first
LOG_NORMAL_STRENGTHS = (1e-3, 1e-5, 1e-4, 1e-2, 0.1)


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of positive amounts."""
    if question.task == "amounts" and question.positive:
        yield Candidate(LogNormalRegressor(), 30.5, search=("alpha", LOG_NORMAL_STRENGTHS))


@traits(
    "regression",
    "amounts",
    candidates=_candidates,
    export="mercer.export.linear.glm_regression",
    summary="mercer.inference.reading.raise_for_log_target",
    objective="mercer.kernel_ridge.objectives.DevianceObjective",
)
@stored(**FITTED_ONE_TARGET, smearing_=real())
class LogNormalRegressor(GLMRegressor):
    """Ridge-penalised least squares of log y, whose predictions are means of y: E y = exp(Xβ + b).

    It minimises 1/(2 Σw) Σ w (log y − Xβ − a)² + α/2 ‖β‖². exp(Xβ + a) would be the median of y given X. The mean is
    larger by a factor s = Σ w exp(r) / Σ w, where r are the residuals of log y (Duan 1983, "smearing"), which needs no
    normal distribution of r; `intercept_` is b = a + log s.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the penalty; 0 means no penalty.
    fit_intercept : bool, default=True
        Whether a is fitted; it is not penalised. Otherwise a is 0.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both find the same optimum by Newton's method, or "lbfgs" by L-BFGS if there are very many columns; `plan_` has
        the choice. Without a penalty, "newton-cholesky" warns of collinear columns.
    max_iter : int, default=100
        Maximum number of steps.
    tol : float, default=1e-4
        The fit has converged if it is within 100 · tol and 1e-2 standard errors of the optimum, and for small data, at
        no extra cost, within 1e-8.
    warm_start : bool, default=False
        Whether a fit begins at the coefficients of the previous one.
    verbose : int, default=0
        Whether to show the progress of the solver.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients: a unit more of a column multiplies the mean by exp(coefficient).
    intercept_ : float
        Intercept of the logarithm of the mean, log s included.
    smearing_ : float
        s, the ratio of the mean to the median of y given X.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        Evidence that this is the optimum.
    plan_ : Plan
        Path that the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if they had any.

    See Also
    --------
    GammaRegressor : The same mean, with a gamma distribution of y.

    Examples
    --------
    >>> from mercer import LogNormalRegressor
    >>> model = LogNormalRegressor(alpha=0).fit([[0.0], [0.0], [1.0], [1.0]], [8.0, 2.0, 16.0, 4.0])
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([ 5., 10.])
    >>> round(float(model.smearing_), 6)
    1.25
    """

    smearing_: float

    def _response(self) -> Response:
        return Response(Gamma(), LOG)

    def _loss_name(self) -> str:
        return "HalfSquaredError of log y"

    def _out_of_range(self, y: Array) -> Array:
        return np.asarray(y <= 0)

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        if is_tensor(X):
            X, y, sample_weight = fetch_tensor(X), fetch_tensor(y), fetch_tensor(sample_weight)
        super()._learn(X, y, sample_weight)

    def _fit_source(self, source: Source) -> None:
        raise DataError(
            "LogNormalRegressor needs all rows in memory, because its residuals have to be transformed back. Use "
            "GammaRegressor for a source, which has the same mean."
        )

    def _problem(self, X: Any, y: Array, weight: Array | None) -> Problem:
        return super()._problem(X, np.log(y), weight)

    def _penalised(self, observations: Observations, columns: int) -> Problem:
        return replace(super()._penalised(observations, columns), response=Response(Gaussian(), IDENTITY))

    def _start(self, problem: Problem) -> Array | None:
        start = super()._start(problem)
        if start is not None and self.fit_intercept:
            start[-1] -= np.log(self.smearing_)
        return start

    def _store(self, solved: Solved) -> None:
        super()._store(solved)
        design, log_y, weight, _ = solved.problem.observations.batch(slice(None))
        residuals = log_y - design.matvec(solved.solution.coef)
        self.smearing_ = float(np.average(np.exp(residuals), weights=weight))
        self.intercept_ = float(self.intercept_) + float(np.log(self.smearing_))
