"""The elastic net, with the penalty chosen by cross-validation."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from mercer._stored import real, stored
from mercer.base import traits
from mercer.models.fitted_fields import FITTED_PATHS
from mercer.models.linear._coordinate_cv import CoordinateCV
from mercer.models.linear._coordinate_paths import enet_path


@traits(
    "regression",
    export="mercer.export.linear.regression",
    summary="mercer.models.inference.reading.refuse_selection",
    objective="mercer.models.kernel_models.norm_regularised.refuse_l1",
)
@stored(**FITTED_PATHS, l1_ratio_=real())
class ElasticNetCV(CoordinateCV):
    """The elastic net with the penalty chosen by cross-validation; scikit-learn's, with a proof of optimality.

    Parameters
    ----------
    l1_ratio : float or array-like, default=0.5
        The share of the absolute values in the penalty, or several to try.
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
    l1_ratio_ : float
        The share of the absolute values chosen.
    mse_path_ : ndarray of shape (n_l1_ratio, n_alphas, n_folds)
        Mean squared errors of the rows left out.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
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
    >>> from mercer import ElasticNetCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 10))
    >>> y = X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=60)
    >>> ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9]).fit(X, y).l1_ratio_
    np.float64(0.9)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CoordinateCV._parameter_constraints,
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
    }

    path = staticmethod(enet_path)

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def _l1_ratios(self) -> list[Any]:
        return list(np.atleast_1d(self.l1_ratio))

    def _note_kind(self, l1_ratio: Any) -> None:
        self.l1_ratio_ = l1_ratio
