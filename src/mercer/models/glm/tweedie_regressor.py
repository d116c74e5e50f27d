"""Tweedie regression: variance proportional to a power of the mean."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._stored import stored
from mercer._typing import Array
from mercer.base import traits
from mercer.families import IDENTITY, LOG, Tweedie
from mercer.families.response import Response
from mercer.models.fitted_fields import FITTED_LINEAR
from mercer.models.glm.regressor import GLMRegressor


@traits(
    "regression",
    "amounts",
    export="mercer.export.linear.glm_regression",
    summary="mercer.models.inference.read_drop_ins.read_glm_regressor",
    objective="mercer.models.kernel_models.norm_regularised.OfRegressor",
)
@stored(**FITTED_LINEAR)
class TweedieRegressor(GLMRegressor):
    """Ridge-penalised regression with variance φ μᵖ: scikit-learn's `TweedieRegressor`, solved by Newton's method.

    It minimises 1/(2 Σw) Σ w deviance + α/2 ‖β‖². For other links, penalties, offsets, exposures and inference
    see `GLM(Tweedie(power))`.

    Parameters
    ----------
    power : float, default=0
        p: 0 normal, 1 Poisson, between 1 and 2 compound Poisson-gamma, 2 gamma, 3 inverse Gaussian. There is no such
        distribution between 0 and 1.
    alpha : float, default=1
        Strength of the penalty; with 0 there is none.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
    link : {"auto", "identity", "log"}, default="auto"
        "auto" is the identity for powers up to 0 and else the logarithm.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both find the same optimum by Newton's method, or by L-BFGS where there are very many columns and "lbfgs"
        was asked for; `plan_` says which. Without a penalty, "newton-cholesky" warns of collinear columns.
    max_iter : int, default=100
        Steps after which to give up.
    tol : float, default=1e-4
        The fit has converged when it is within 100 · tol standard errors of the optimum, and never farther than 1e-2;
        for small data within 1e-8, where that costs nothing.
    warm_start : bool, default=False
        Whether a fit begins at the coefficients of the last one.
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
        How we know that this is the optimum.
    plan_ : Plan
        Which path the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where they had any.

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
