"""Log-normal regression: least squares of log y, with the mean of y predicted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._errors import DataError
from mercer._gpu import is_tensor
from mercer._stored import stored
from mercer._typing import Array
from mercer.base import Candidate, Question, traits
from mercer.data.sources.base import Source
from mercer.designs import Observations
from mercer.families import IDENTITY, LOG, Gamma, Gaussian
from mercer.families.response import Response
from mercer.models._tensors import in_memory
from mercer.models.fitted_fields import FITTED_LINEAR
from mercer.models.glm.regressor import GLMRegressor
from mercer.models.glm.solve import Solved
from mercer.solvers.problem import Problem

#: penalties that a comparison tries, safest first
STRENGTHS = (1e-3, 1e-5, 1e-4, 1e-2, 0.1)


def _candidates(question: Question) -> Iterator[Candidate]:
    """Yield a model of positive amounts."""
    if question.task == "amounts" and question.positive:
        yield Candidate(LogNormalRegressor(), 30.5, search=("alpha", STRENGTHS))


@traits(
    "regression",
    "amounts",
    candidates=_candidates,
    export="mercer.export.linear.glm_regression",
    summary="mercer.models.inference.reading.refuse_log_target",
    objective="mercer.models.kernel_models.norm_regularised.OfRegressor",
)
@stored(**FITTED_LINEAR)
class LogNormalRegressor(GLMRegressor):
    """Ridge-penalised least squares of log y, whose predictions are means of y: E y = exp(Xβ + b).

    It minimises 1/(2 Σw) Σ w (log y − Xβ − a)² + α/2 ‖β‖². exp(Xβ + a) would be the median of y given X. The mean is
    larger by a factor s = Σ w exp(r) / Σ w, where r are the residuals of log y (Duan 1983, "smearing"), which needs no
    normal distribution of r; `intercept_` is b = a + log s.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the penalty; with 0 there is none.
    fit_intercept : bool, default=True
        Whether a is fitted; it is not penalised. Otherwise a is 0.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both find the same optimum by Newton's method, or by L-BFGS where there are very many columns and "lbfgs"
        was asked for; `plan_` says which. Without a penalty, "newton-cholesky" warns of collinear columns.
    max_iter : int, default=100
        Maximum number of steps.
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
        Which path the fit took.
    n_features_in_ : int
        Number of columns seen in the fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where they had any.

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
            X, y, sample_weight = in_memory(X), in_memory(y), in_memory(sample_weight)
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
        residuals = log_y - design.times(solved.solution.value)
        self.smearing_ = float(np.average(np.exp(residuals), weights=weight))
        self.intercept_ = float(self.intercept_) + float(np.log(self.smearing_))
