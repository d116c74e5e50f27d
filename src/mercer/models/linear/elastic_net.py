"""Linear regression whose penalty is a mixture of absolute values and squares."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.utils import metadata_routing
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._stored import stored
from mercer.base import traits
from mercer.data.sources.base import Source
from mercer.models.fitted_fields import FITTED_LINEAR
from mercer.models.linear._coordinate_paths import enet_path
from mercer.models.linear._coordinate_regressor import CoordinateRegressor
from mercer.models.streaming.from_source import fits_sources
from mercer.solvers.certificate import Solution
from mercer.solvers.least_squares.direct import Rows


@traits(
    "regression",
    export="mercer.export.linear.regression",
    summary="mercer.models.inference.reading.refuse_selection",
    objective="mercer.models.kernel_models.norm_regularised.refuse_l1",
)
@stored(**FITTED_LINEAR)
class ElasticNet(CoordinateRegressor):
    """Linear regression with absolute values and squares in the penalty; scikit-learn's, with a proof of optimality.

    Minimises the mean of (y − X w − b)² / 2 plus alpha (l1_ratio ‖w‖₁ + (1 − l1_ratio) ‖w‖² / 2).

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    l1_ratio : float, default=0.5
        The share of the absolute values in it: 1 is the lasso, 0 is ridge regression, which has a closed form.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    precompute : bool or array-like of shape (n_features, n_features), default=False
        The Gram matrix of X, where it is known. True and False have no effect: products are computed where needed.
    max_iter : int, default=1000
        Iterations after which to give up, with a warning.
    copy_X : bool, default=True
        Has no effect: X is never changed.
    tol : float, default=1e-4
        The duality gap to be reached, in units of the mean of (y − ȳ)².
    warm_start : bool, default=False
        Whether to begin with the coefficients of the last fit.
    positive : bool, default=False
        Whether to forbid negative coefficients.
    random_state : int, RandomState instance or None, default=None
        Has no effect: nothing is random.
    selection : {"cyclic", "random"}, default="cyclic"
        Has no effect: either leads to the same optimum.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    sparse_coef_ : sparse matrix of shape (1, n_features) or (n_targets, n_features)
        The same.
    intercept_ : float or ndarray of shape (n_targets,)
        The intercept; 0.0 if `fit_intercept` is False.
    n_iter_ : int or list of int
        Iterations made, for each target.
    dual_gap_ : float or ndarray of shape (n_targets,)
        How much lower the objective can be at most, for each target.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    diagnosis_ : Diagnosis
        Constant columns by name, and whether any column is used.
    certificate_ : Certificate
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit took.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ElasticNet
    >>> X = np.array([[-1.0], [0.0], [1.0]])
    >>> model = ElasticNet(alpha=0.5, l1_ratio=0.5).fit(X, [-1, 0, 1])
    >>> model.coef_.round(5)
    array([0.45455])
    """

    # not something to be passed around in a pipeline
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"check_input": metadata_routing.UNUSED}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "precompute": ["boolean", "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    path = staticmethod(enet_path)

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @fits_sources
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame of shape (n_samples, n_features), or Source
            Training rows. A source is read piece by piece, and has its target with it.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows; only their ratios matter.
        check_input : bool, default=True
            Has no effect: the checks read no values.

        Returns
        -------
        self : object
            The fitted model.
        """
        return self._fit(X, y, None if isinstance(sample_weight, Real) else sample_weight, self._solving())

    def _fit_source(self, source: Source) -> Any:
        return self._fit_rows_of(source, self._solving())

    def _solving(self) -> Callable[[Rows], Solution]:
        """What solves for the coefficients of some rows, from those of the last fit if it is to begin there."""
        start = getattr(self, "coef_", None) if self.warm_start else None

        def solved(rows: Rows) -> Solution:
            self._warn_without_penalty(self.alpha)
            return self._at(rows, self.alpha, self.l1_ratio, start)

        return solved
