"""The lasso, with the penalty chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mercer._stored import stored
from mercer.base import Candidate, Question, traits
from mercer.models.fitted_fields import FITTED_PATHS
from mercer.models.linear._coordinate_cv import CoordinateCV
from mercer.models.linear._coordinate_paths import lasso_path


def _candidates(question: Question) -> Iterator[Candidate]:
    if not question.has_texts:
        yield Candidate(LassoCV(cv=question.inner), 33)


@traits(
    "regression",
    label=lambda model: type(model).__name__,
    chooses="alpha",
    candidates=_candidates,
    export="mercer.export.linear.regression",
    summary="mercer.models.inference.reading.refuse_selection",
    objective="mercer.models.kernel_models.norm_regularised.refuse_l1",
)
@stored(**FITTED_PATHS)
class LassoCV(CoordinateCV):
    """The lasso with the penalty chosen by cross-validation; scikit-learn's, with a proof of optimality.

    Parameters
    ----------
    eps : float, default=1e-3
        The smallest alpha to try, as a portion of the largest, at which every coefficient is zero.
    alphas : int or array-like, default=100
        Penalties to try, or how many of them to choose.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    precompute : "auto", bool or array-like of shape (n_features, n_features), default="auto"
        The Gram matrix of X, where it is known, for the last fit. Others have no effect.
    max_iter : int, default=1000
        Iterations after which to give up a fit, with a warning.
    tol : float, default=1e-4
        The duality gap to be reached, in units of the mean of (y − ȳ)².
    copy_X : bool, default=True
        Has no effect: X is never changed, and folds are not copied.
    cv : int, cross-validation generator, iterable or None, default=None
        How to split; None is five folds.
    verbose : bool or int, default=False
        Whether to show a progress bar: one piece for each fold and kind of penalty.
    n_jobs : int, default=None
        Has no effect: threads are those of `mercer.engine`.
    positive : bool, default=False
        Whether to forbid negative coefficients.
    random_state : int, RandomState instance or None, default=None
        Has no effect: nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Has no effect: either leads to the same optimum.

    Attributes
    ----------
    alpha_ : float
        The penalty chosen.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared errors of the rows left out.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties tried, the largest first.
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    sparse_coef_ : sparse matrix of shape (1, n_features)
        The same.
    intercept_ : float
        The intercept; 0.0 if `fit_intercept` is False.
    dual_gap_ : float
        How much lower the objective can be at most, for the penalty chosen.
    n_iter_ : int
        Iterations of the last fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    diagnosis_ : Diagnosis
        Constant columns by name, and whether any column is used.
    certificate_ : Certificate
        How we know that this is the optimum for the penalty chosen.
    plan_ : Plan
        Which path the last fit took.

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
