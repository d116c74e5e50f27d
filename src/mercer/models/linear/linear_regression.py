"""Ordinary least squares."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval

from mercer._stored import floats, stored, whole
from mercer.base import Candidate, Question, traits
from mercer.data.sources.base import Source
from mercer.models.diagnosis import Finding
from mercer.models.fitted_fields import FITTED_LINEAR
from mercer.models.linear.least_squares import LeastSquaresRegressor
from mercer.models.streaming.from_source import fits_sources
from mercer.solvers.certificate import Solution
from mercer.solvers.least_squares.direct import Rows, least_squares, worth_a_square
from mercer.solvers.least_squares.iterative import by_conjugate_gradients
from mercer.solvers.least_squares.nonnegative import nonnegative_least_squares


def _candidates(question: Question) -> Iterator[Candidate]:
    if not question.has_texts:
        yield Candidate(LinearRegression(), 31)


@traits(
    "regression",
    candidates=_candidates,
    export="mercer.export.linear.regression",
    summary="mercer.models.inference.read_drop_ins.read_least_squares",
    objective="mercer.models.kernel_models.norm_regularised.refuse_unpenalised",
)
@stored(**FITTED_LINEAR, rank_=whole(0), singular_=floats("."))
class LinearRegression(LeastSquaresRegressor):
    """Ordinary least squares; scikit-learn's, with a proof of optimality and all digits.

    With more rows than columns the rank does not depend on the units of the columns.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether there is an intercept.
    copy_X : bool, default=True
        Has no effect: X is never changed.
    tol : float, default=1e-6
        How small the gradient has to become, compared with the one of all coefficients 0, where a sparse matrix is so
        wide that it is solved by conjugate gradients. Other fits are exact: columns are left out as collinear only
        where rounding decides.
    n_jobs : int, default=None
        Has no effect: threads are those of `mercer.engine`.
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
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit took.

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
        return self._fit(X, y, sample_weight, self._solved)

    def _fit_source(self, source: Source) -> Any:
        return self._fit_rows_of(source, self._solved)

    def _flat(self, y: Any) -> bool:
        return bool(y.ndim == 1)

    def _takes_tensors(self) -> bool:
        return not self.positive

    def _solved(self, rows: Rows) -> Solution:
        nothing = np.zeros(rows.targets)
        if self.positive:
            return nonnegative_least_squares(rows, nothing, intercept=self.fit_intercept)
        if not worth_a_square(rows):
            return by_conjugate_gradients(rows, nothing, intercept=self.fit_intercept, tolerance=self.tol)
        solution = least_squares(rows, nothing, intercept=self.fit_intercept)
        if not rows.sparse:
            self.rank_ = solution.value.rank
            with np.errstate(over="ignore"):  # infinite in single precision, as in scikit-learn
                self.singular_ = solution.value.singular_values().astype(rows.dtype, copy=False)
        return solution

    def _findings(self, solution: Solution) -> list[Finding]:
        found, fit = super()._findings(solution), solution.value
        columns = len(fit.coefficients) - len(fit.constant)
        if fit.rank is not None and fit.rank < columns and not fit.collinear:
            sentence = f"The rows determine {fit.rank} of {columns} coefficients."
            found.append(Finding("underdetermined", "warning", sentence, self._many_solutions()))
        return found

    def _many_solutions(self) -> str:
        return "Of many solutions the shortest is given: leave columns out, add rows, or use Ridge."
