"""Linear regression with absolute values in the penalty."""

from __future__ import annotations

from typing import Any, ClassVar

from mercer._stored import stored
from mercer.base import traits
from mercer.models.fitted_fields import FITTED_LINEAR
from mercer.models.linear.elastic_net import ElasticNet


@traits(
    "regression",
    export="mercer.export.linear.regression",
    summary="mercer.models.inference.reading.refuse_selection",
    objective="mercer.models.kernel_models.norm_regularised.refuse_l1",
)
@stored(**FITTED_LINEAR)
class Lasso(ElasticNet):
    """Linear regression with absolute values in the penalty; scikit-learn's, with a proof of optimality.

    Minimises the mean of (y − X w − b)² / 2 plus alpha ‖w‖₁.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised.
    precompute : bool or array-like of shape (n_features, n_features), default=False
        The Gram matrix of X, where it is known. True and False have no effect: products are computed where needed.
    copy_X : bool, default=True
        Has no effect: X is never changed.
    max_iter : int, default=1000
        Iterations after which to give up, with a warning.
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
    >>> from mercer import Lasso
    >>> model = Lasso(alpha=0.1).fit([[-1, 0], [0, 1], [1, 0]], [-1, 0, 1])
    >>> model.coef_.round(5)
    array([0.85, 0.  ])
    >>> print(model.certificate_.kind)
    duality gap
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: allowed for name, allowed in ElasticNet._parameter_constraints.items() if name != "l1_ratio"
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        super().__init__(
            alpha=alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            precompute=precompute,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            positive=positive,
            random_state=random_state,
            selection=selection,
        )
