"""Ordinary least squares, and the base of all linear models that are fitted by least squares."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval

from mercer._errors import DataError, NonFiniteError, PenaltyError
from mercer._gpu import is_tensor
from mercer._stored import floats, stored, whole
from mercer._suggest import listed
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.base import Candidate, Question, traits
from mercer.base.diagnosis import Diagnosis, Finding
from mercer.base.fitted_fields import FITTED_LINEAR
from mercer.base.linear import linear_predictor, r_squared
from mercer.base.sources import check_no_offset, fits_sources, locate_bad_values, reader_of, streamed_plan
from mercer.base.validation import (
    Plan,
    check_finite,
    check_has_target,
    check_is_fitted,
    check_rows,
    check_same_device,
    check_tensor,
    check_weight,
    column_names,
    fetch_tensor,
    forget_fit,
    is_sparse,
    move_to_main_memory,
    publish,
    raise_if_interrupted,
    restore_on_failure,
    validate_params,
)
from mercer.data.sources.base import Chunk, Source
from mercer.matrices import Observations, observations_of
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.least_squares import is_direct_cheap, least_squares, solve_by_conjugate_gradients
from mercer.optim.least_squares_source import SourceObservations
from mercer.optim.linear_fit import LinearFit
from mercer.optim.nonnegative import nonnegative_least_squares


class LeastSquaresRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator, ABC):
    """Base of linear models fitted by least squares, with or without a penalty."""

    fit_intercept: bool
    plan_: Plan

    # Hooks of concrete models.

    def _check_options(self, X: Any) -> None:
        """Raise an error if the parameters do not fit together, or do not fit X."""

    def _takes_tensors(self) -> bool:
        """Return whether tensors are fitted on their device, and not converted to arrays."""
        return True

    def _is_flat(self, y: Any) -> bool:
        """Return whether `coef_` is a vector, by default also for a matrix y of one column."""
        return bool(y.ndim == 1 or y.shape[1] == 1)

    def _accepts_sparse(self) -> bool:
        return True

    def _reads_codes(self) -> bool:
        """Return whether encoded rows are fitted as they are, and not converted to a matrix."""
        return True

    # Fitting.

    def _fit(self, X: Any, y: Any, sample_weight: Any, solver: Callable[[Observations], Solution]) -> Self:
        """Fit by `solver`, which returns the `LinearFit` of rows and sets the attributes of the concrete model."""
        with restore_on_failure(self):
            validate_params(self)
            if not self._takes_tensors():
                X, y, sample_weight = move_to_main_memory(type(self).__name__, X=X, y=y, sample_weight=sample_weight)
            self._check_options(X)
            forget_fit(self)
            X, y = self._checked_tensors(X, y) if is_tensor(X) else self._checked(X, y)
            Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
            rows = self._rows(X, Y, sample_weight)
            try:
                self._solve(rows, y, solver)
            except NonFiniteError:
                check_finite(self, X)
                raise
        return self

    def _solve(self, rows: Observations, y: Any, solver: Callable[[Observations], Solution]) -> None:
        """Solve and store; after an interruption the best coefficients so far are stored."""
        solution = solver(rows)
        self._store(solution, rows, y)
        raise_if_interrupted(solution)

    def _fit_rows_of(self, source: Source, solver: Callable[[Observations], Solution]) -> Any:
        """Fit to a source; return NotImplemented if it has no more rows than columns, which need all rows in memory."""
        forget_fit(self)
        first = source.head()
        check_no_offset(self, first)
        self._check_options(first.X)
        _, y = self._checked(first.X, first.y)
        reader = reader_of(self)
        with locate_bad_values(source, reader, _numbers_of):
            rows = SourceObservations.of(source, partial(_rows_of, reader))
            if rows.n_rows <= rows.shape[1]:
                return NotImplemented
            self._solve(rows, y, solver)
        self.plan_ = streamed_plan(self.plan_.path, rows.design.dtype)
        return self

    def _checked_tensors(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Return X on its device, and y in main memory."""
        X = check_tensor(self, X, reset=True)
        check_same_device(y, X, "y")
        stand_in = np.broadcast_to(0.0, X.shape)  # replaces X where only y is checked
        return X, self._checked(stand_in, fetch_tensor(y))[1]

    def _rows(self, X: Any, Y: Array, sample_weight: Any, *, part: bool = False) -> Observations:
        check_same_device(sample_weight, X, "sample_weight")
        return observations_of(X, Y, check_weight(fetch_tensor(sample_weight), range(len(Y)), part=part))

    def _checked(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        check_has_target(self, y)
        X, y = check_rows(
            self,
            X,
            y,
            reset=reset,
            accept_sparse="csr" if self._accepts_sparse() else False,
            y_numeric=True,
            multi_output=True,
            codes=self._reads_codes(),
        )
        if is_sparse(y):
            raise TypeError(
                "Sparse data was passed for y, but dense data is required. Use '.toarray()' to convert to a dense "
                "numpy array."
            )
        is_other_float = X.dtype.kind == "f" and X.dtype not in (np.float32, np.float64)
        return X.astype(np.float64) if is_other_float or (is_sparse(X) and X.dtype.kind != "f") else X, y

    def _store(self, solution: Solution, rows: Observations, y: Any) -> None:
        fit: LinearFit = solution.coef
        X = rows.design
        self.plan_ = Plan(fit.path, str(X.dtype), len(X.triangle_blocks()), thread_count(), device=X.device)
        self.diagnosis_ = Diagnosis(tuple(self._findings(solution)))
        publish(self, coef_=fit.coefficients[:, 0].copy() if self._is_flat(y) else fit.coefficients.T.copy())
        if self.fit_intercept:
            publish(self, intercept_=fit.intercept[0] if y.ndim == 1 else fit.intercept)
        else:
            self.intercept_ = 0.0
        self.certificate_ = self._certificate_as_published(solution, rows)

    def _certificate_as_published(self, solution: Solution, rows: Observations) -> Certificate:
        """Return the certificate of `coef_` and `intercept_`, which float32 rows have rounded."""
        moved = self._moved_by_rounding(solution.coef, rows)
        if not moved.any():
            return solution.certificate
        dtype = self.coef_.dtype
        if solution.certificate.kind == "duality gap":  # for weights that sum to the number of rows
            far = float(moved.max()) * np.sqrt(0.5 * len(rows) / rows.total_weight)
            return solution.certificate.after_rounding(dtype, lambda gap: (np.sqrt(gap) + far) ** 2)
        lengths = rows.target_lengths()
        share = float(np.max(moved / np.where(lengths > 0, lengths, 1.0)))
        return solution.certificate.after_rounding(dtype, lambda left: left + share)

    def _moved_by_rounding(self, fit: LinearFit, rows: Observations) -> Array:
        """Return how far rounding has moved the predictions of each target, as a length; the penalty counts as rows."""
        coefficients = np.reshape(self.coef_, (rows.targets, -1)).T
        change = coefficients.astype(np.float64) - fit.coefficients
        level = np.broadcast_to(np.asarray(self.intercept_, dtype=np.float64), (rows.targets,)) - fit.intercept
        if not (change.any() or level.any()):
            return np.zeros(rows.targets)
        # the penalty: alpha ‖w‖² is at most ‖y‖², the objective at w = 0, which bounds its change by rounding
        of_penalty = 0.5 * np.finfo(coefficients.dtype).eps * rows.target_lengths()
        return np.asarray(np.hypot(rows.predictor_lengths(change, level), of_penalty))

    def _findings(self, solution: Solution) -> list[Finding]:
        fit: LinearFit = solution.coef
        found = []
        if fit.constant:
            names, subject = self._named(fit.constant)
            verb = "do not vary" if len(names) > 1 else "does not vary"
            found.append(Finding("constant", "note", f"{subject} {verb}.", "Leave constant columns out.", names))
        if fit.collinear:
            names, subject = self._named(fit.collinear)
            sentence = f"{subject} are linear combinations of one another."
            found.append(Finding("collinear", "warning", sentence, self._many_solutions(), names))
        if not solution.certificate.holds:
            sentence = f"The fit has not reached its tolerance: {solution.certificate}."
            found.append(Finding("not converged", "warning", sentence, "Allow more steps, or scale the columns."))
        return found

    def _many_solutions(self) -> str:
        """Return the remedy for columns that depend on one another."""
        return "The penalty decides how they share their effect: leave some of them out."

    def _named(self, columns: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
        """Return the names of columns, and the subject of a sentence about them."""
        all_names = column_names(self)
        names = tuple(all_names[j] for j in columns)
        return names, f"Column{'s' if len(names) > 1 else ''} {listed(list(names))}"

    # Prediction.

    def predict(self, X: Any) -> Array:
        """Predict the targets.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict for.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predicted values.
        """
        check_is_fitted(self)
        return linear_predictor(self, X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², the share of the variance of y that is explained; the mean over several targets.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or tensor of shape (n_samples, n_features)
            Rows to predict for.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        score : float
            At most 1, and below 0 for a model that is worse than a constant.
        """
        return r_squared(self, X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse()
        return tags


def _rows_of(reader: LeastSquaresRegressor, chunk: Chunk) -> Observations:
    X, y = reader._checked(chunk.X, chunk.y, reset=False)
    return reader._rows(X, np.asarray(y, dtype=np.float64).reshape(len(y), -1), chunk.weight, part=True)


def _numbers_of(reader: LeastSquaresRegressor, chunk: Chunk) -> Any:
    return reader._checked(chunk.X, chunk.y, reset=False)[0]


def checked_penalties(alpha: Any, targets: int) -> Array:
    """Return one penalty per target, or raise an error if one is negative."""
    strengths = np.ravel(np.asarray(alpha, dtype=np.float64))
    if len(strengths) not in (1, targets):
        raise DataError(
            f"Number of targets and number of penalties do not correspond: {len(strengths)} != {targets}. Give one "
            "alpha, or one for each target."
        )
    if not (strengths >= 0).all():
        raise PenaltyError(f"alpha must not be negative, but is {strengths.min()}; 0 penalises nothing.")
    return np.broadcast_to(strengths, (targets,))


def _candidates(question: Question) -> Iterator[Candidate]:
    if not question.has_texts:
        yield Candidate(LinearRegression(), 31)


@traits(
    "regression",
    candidates=_candidates,
    export="mercer.export.linear.regression",
    summary="mercer.inference.reading.read_least_squares",
    objective="mercer.kernel_ridge.objectives.raise_for_no_penalty",
)
@stored(**FITTED_LINEAR, rank_=whole(0), singular_=floats("."))
class LinearRegression(LeastSquaresRegressor):
    """Ordinary least squares; scikit-learn's, with a certificate and full accuracy.

    With more rows than columns, the rank does not depend on the units of the columns.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether there is an intercept.
    copy_X : bool, default=True
        Has no effect: X is never changed.
    tol : float, default=1e-6
        Tolerance of the gradient, relative to the one at zero coefficients, for sparse matrices so wide that they are
        solved by conjugate gradients. Other fits are exact: columns are left out as collinear only if they are so up to
        rounding.
    n_jobs : int, default=None
        Has no effect: `mercer.engine` sets the threads.
    positive : bool, default=False
        Whether to forbid negative coefficients. Only for dense X.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0.0 if `fit_intercept` is False.
    rank_ : int
        Rank of X, about its means if there is an intercept. Only for dense X.
    singular_ : ndarray of shape (min(n_samples, n_features),)
        Singular values of the same matrix. Only for dense X.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    diagnosis_ : Diagnosis
        Constant and collinear columns, by name.
    certificate_ : Certificate
        Evidence that this is the optimum.
    plan_ : Plan
        Path that the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LinearRegression
    >>> X = np.array([[1, 1], [1, 2], [2, 2], [2, 3]])
    >>> model = LinearRegression().fit(X, X @ [1, 2] + 3)
    >>> model.coef_.round(10), round(model.intercept_, 10)
    (array([1., 2.]), np.float64(3.0))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "positive": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

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
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; 1 if not given.

        Returns
        -------
        self : object
            The fitted model.
        """
        return self._fit(X, y, sample_weight, self._minimise)

    def _fit_source(self, source: Source) -> Any:
        return self._fit_rows_of(source, self._minimise)

    def _is_flat(self, y: Any) -> bool:
        return bool(y.ndim == 1)

    def _takes_tensors(self) -> bool:
        return not self.positive

    def _minimise(self, rows: Observations) -> Solution:
        no_penalty = np.zeros(rows.targets)
        if self.positive:
            return nonnegative_least_squares(rows, no_penalty, intercept=self.fit_intercept)
        if not is_direct_cheap(rows):
            return solve_by_conjugate_gradients(rows, no_penalty, intercept=self.fit_intercept, tolerance=self.tol)
        solution = least_squares(rows, no_penalty, intercept=self.fit_intercept)
        if not rows.design.is_sparse:
            self.rank_ = solution.coef.rank
            with np.errstate(over="ignore"):  # infinite in single precision, as in scikit-learn
                self.singular_ = solution.coef.singular_values().astype(rows.design.dtype, copy=False)
        return solution

    def _findings(self, solution: Solution) -> list[Finding]:
        found, fit = super()._findings(solution), solution.coef
        columns = len(fit.coefficients) - len(fit.constant)
        if fit.rank is not None and fit.rank < columns and not fit.collinear:
            sentence = f"The rows determine {fit.rank} of {columns} coefficients."
            found.append(Finding("underdetermined", "warning", sentence, self._many_solutions()))
        return found

    def _many_solutions(self) -> str:
        return "The shortest of many solutions is given: leave columns out, add rows, or use Ridge."
