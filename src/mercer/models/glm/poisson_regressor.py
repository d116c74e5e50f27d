"""Poisson regression: counts with a log link."""

from __future__ import annotations

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.base import traits
from mercer.families import LOG, Poisson
from mercer.families.response import Response
from mercer.models.fitted_fields import FITTED_LINEAR
from mercer.models.glm.regressor import GLMRegressor


@traits(
    "regression",
    "counts",
    export="mercer.export.linear.glm_regression",
    summary="mercer.models.inference.read_drop_ins.read_glm_regressor",
    objective="mercer.models.kernel_models.norm_regularised.OfRegressor",
)
@stored(**FITTED_LINEAR)
class PoissonRegressor(GLMRegressor):
    """Ridge-penalised Poisson regression with a log link: scikit-learn's `PoissonRegressor`, solved by Newton's method.

    It minimises 1/(2 Σw) Σ w deviance + α/2 ‖β‖². For other links, penalties, offsets, exposures and inference
    see `GLM("poisson")`.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the penalty; with 0 there is none.
    fit_intercept : bool, default=True
        Whether there is an intercept; it is not penalised.
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
