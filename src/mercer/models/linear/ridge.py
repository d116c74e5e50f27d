"""Ridge regression: least squares under a normal prior of the coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._errors import DataError
from mercer._stored import stored
from mercer._warn import warn
from mercer.base import Candidate, Question, traits
from mercer.data.sources.base import Source
from mercer.models.base import is_sparse
from mercer.models.fitted_fields import FITTED_LINEAR
from mercer.models.linear.least_squares import LeastSquaresRegressor, checked_penalties
from mercer.models.linear.ridge_tuning import tuned
from mercer.models.streaming.from_source import fits_sources
from mercer.solvers.certificate import Solution
from mercer.solvers.least_squares.direct import Rows, least_squares, worth_a_square
from mercer.solvers.least_squares.iterative import by_conjugate_gradients
from mercer.solvers.least_squares.nonnegative import nonnegative_least_squares
from mercer.solvers.least_squares.streamed_rows import StreamedRows
from mercer.solvers.least_squares.tensor_rows import TensorRows

#: solvers of scikit-learn that work step by step, and rows and columns from which on they do so here
ITERATIVE = frozenset({"sparse_cg", "lsqr", "sag", "saga"})
WORTH_STEPS = 2000
#: … and those of them that count their steps
COUNTING = frozenset({"lsqr", "sag", "saga"})
#: those that find an intercept for sparse X
WITH_SPARSE_INTERCEPT = frozenset({"auto", "lbfgs", "lsqr", "sag", "sparse_cg"})


#: penalties that a comparison tries by folds, safest first
STRENGTHS = (1.0, 0.01, 0.1, 10.0, 100.0, 1e3, 1e4, 1e5)


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model that leaves out each row in turn, which has a closed form, to choose its penalty.

    That says nothing where rows of the same group are left in: there, folds choose. Of words there are too many.
    """
    if question.has_texts:
        if question.task != "counts":
            yield Candidate(Ridge(), 32)
    elif question.inner is None:
        yield Candidate(Ridge(alpha="loo"), 32)
    else:
        yield Candidate(Ridge(), 32, search=("alpha", STRENGTHS))


@traits(
    "regression",
    candidates=_candidates,
    export="mercer.export.linear.regression",
    summary="mercer.models.inference.read_drop_ins.read_least_squares",
    objective="mercer.models.kernel_models.norm_regularised.of_ridge",
)
@stored(**FITTED_LINEAR)
class Ridge(LeastSquaresRegressor):
    """Ridge regression, ‖y − X w − b‖² + alpha ‖w‖²; scikit-learn's, with a certificate and an alpha that tunes itself.

    The answer is the mode of the posterior under w ~ N(0, σ²/alpha · I), where σ² is the variance of the residuals.

    Parameters
    ----------
    alpha : float, array-like of shape (n_targets,), "loo" or "gcv", default=1.0
        Strength of the penalty, not negative; one for all targets or one for each. "loo" chooses the one with the
        smallest leave-one-out error, "gcv" the one with the smallest generalised cross-validation error, among up to 31
        that the data suggest; if several errors differ only by rounding, the largest of these penalties is taken. Both
        are known in closed form: "gcv" costs hardly more than a fit, "loo" one more pass over the rows.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    copy_X : bool, default=True
        Has no effect: X is never changed.
    max_iter : int, default=None
        Most steps of a fit that is iterative; see `solver`.
    tol : float, default=1e-4
        How small the gradient has to become, compared with the one of all coefficients 0, in a fit that is iterative.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, default="auto"
        All lead to the same answer. "svd" works with orthogonal factorisations from the start, the others only where
        XᵀX is ill-conditioned. "lsqr", "sparse_cg", "sag", "saga", and "auto" for sparse X, are conjugate gradients
        where X has so many columns that these are cheaper. "lbfgs" is for `positive` only.
    positive : bool, default=False
        Whether to forbid negative coefficients.
    random_state : int, RandomState instance or None, default=None
        Has no effect: nothing is left to chance.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0.0 if `fit_intercept` is False.
    n_iter_ : None or ndarray of shape (n_targets,)
        Steps for each target, if `solver` is one that counts them; 1 where the answer was found directly.
    solver_ : str
        The solver of scikit-learn that was asked for, or that "auto" stands for; `plan_` says which path was taken.
    alpha_ : float or ndarray of shape (n_targets,)
        The penalty used.
    alphas_ : ndarray of shape (n_alphas,)
        The penalties tried, if `alpha` is "loo" or "gcv".
    alpha_errors_ : ndarray of shape (n_alphas,)
        Their mean squared errors.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    diagnosis_ : Diagnosis
        Constant and collinear columns, by name, where the fit came across them.
    certificate_ : Certificate
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit took.

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
        return self._fit(X, y, sample_weight, self._solved)

    def _fit_source(self, source: Source) -> Any:
        return self._fit_rows_of(source, self._solved)

    def _takes_tensors(self) -> bool:
        return not self.positive

    def _refuse_options(self, X: Any) -> None:
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
            self._refuse_with_sparse()

    def _refuse_with_sparse(self) -> None:
        if self.fit_intercept and self.solver not in WITH_SPARSE_INTERCEPT:
            raise DataError(
                f"solver='{self.solver}' does not support fitting the intercept on sparse data. Please set the solver "
                "to 'auto' or 'lsqr', 'sparse_cg', 'sag', 'lbfgs' or set `fit_intercept=False`"
            )
        if self.solver == "svd":
            raise TypeError("SVD solver does not support sparse inputs currently. Use another solver.")

    def _solved(self, rows: Rows) -> Solution:
        self.solver_ = self._solver_name(rows)
        self.n_iter_ = np.ones(rows.targets, dtype=np.int32) if self.solver in COUNTING else None
        sums = None
        if isinstance(self.alpha, str):
            choice = tuned(rows, self.alpha, intercept=self.fit_intercept)
            alpha, sums = choice.alpha, choice.sums
            self.alphas_, self.alpha_errors_ = choice.alphas, -choice.scores
        else:
            alpha = checked_penalties(self.alpha, rows.targets)
        self.alpha_ = float(alpha[0]) if isinstance(self.alpha, str | Real) else np.array(alpha)
        if self.positive:
            return self._nonnegative(rows, alpha)
        steps = self.solver in ITERATIVE and not isinstance(rows, TensorRows | StreamedRows)
        iterative = steps and min(rows.shape) > WORTH_STEPS
        if iterative or not worth_a_square(rows):
            return self._by_conjugate_gradients(rows, alpha)
        return least_squares(rows, alpha, intercept=self.fit_intercept, stable=self.solver == "svd", sums=sums)

    def _by_conjugate_gradients(self, rows: Rows, alpha: Any) -> Solution:
        solution = by_conjugate_gradients(
            rows, alpha, intercept=self.fit_intercept, tolerance=self.tol, most_steps=self.max_iter
        )
        if self.n_iter_ is not None:
            self.n_iter_[:] = len(solution.trace)
        return solution

    def _nonnegative(self, rows: Rows, alpha: Any) -> Solution:
        solution = nonnegative_least_squares(rows, alpha, intercept=self.fit_intercept, most_steps=self.max_iter)
        if not solution.certificate.holds:
            warn(
                "The lbfgs solver did not converge. Try increasing max_iter or tol. Currently: "
                f"max_iter={self.max_iter} and tol={self.tol}. {solution.certificate}.",
                ConvergenceWarning,
            )
        return solution

    def _solver_name(self, rows: Rows) -> str:
        if self.solver != "auto":
            return self.solver
        if self.positive:
            return "lbfgs"
        return "sparse_cg" if rows.sparse else "cholesky"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver != "svd" and (self.solver != "cholesky" or not self.fit_intercept)
        return tags
