"""How well a model fits as a whole: deviance, log likelihood, information criteria, shares of what is explained."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from mercer.designs import DenseDesign
from mercer.families.penalties import Strengths
from mercer.models.glm.figures import log_likelihood, null_deviance, profiled
from mercer.models.glm.negative_binomial import solve_with_r
from mercer.models.glm.solve import Limits
from mercer.models.inference.covariance import Covariance
from mercer.models.inference.fitted import Fitted
from mercer.models.inference.rows import OneMean
from mercer.stats.quadratic import LOSS


class Criteria(NamedTuple):
    """Figures of a fit; NaN where a figure does not exist.

    The null model has nothing but the intercept (if there is one) and the offset. For the normal with the identity
    link the log likelihoods are at the most likely variance; the criteria count coefficients, not the dispersion.
    """

    observations: float
    parameters: float
    residual_freedom: float
    dispersion: float
    deviance: float
    null_deviance: float
    pearson: float
    log_likelihood: float
    null_log_likelihood: float
    aic: float
    bic: float
    #: 1 − deviance / null deviance: R² of a linear regression
    r2_deviance: float
    #: 1 − log likelihood / null log likelihood (McFadden), for counts and classes
    r2_mcfadden: float
    #: 1 − (null likelihood / likelihood)^(2/n) (Cox and Snell)
    r2_cox_snell: float


def criteria_of(fitted: Fitted, covariance: Covariance) -> Criteria:
    n, phi = fitted.n, covariance.dispersion
    k = covariance.effective + fitted.family_parameters
    deviance = 2 * float(fitted.weight @ fitted.rows.losses(fitted.observations.y, fitted.eta))
    null = _null_deviance(fitted)
    likelihood = _log_likelihood(fitted, deviance, phi)
    null_likelihood = _null_of_family(fitted) if fitted.family_parameters else _log_likelihood(fitted, null, phi)
    discrete = not isinstance(fitted.rows, OneMean) or fitted.rows.family.discrete
    with np.errstate(divide="ignore", invalid="ignore"):
        return Criteria(
            n,
            k,
            n - covariance.effective,
            phi,
            deviance,
            null,
            float(fitted.weight @ fitted.rows.pearson(fitted.observations.y, fitted.eta)),
            likelihood,
            null_likelihood,
            2 * k - 2 * likelihood,
            float(np.log(n)) * k - 2 * likelihood,
            1 - deviance / null if null > 0 else np.nan,
            1 - likelihood / null_likelihood if discrete else np.nan,
            float(-np.expm1(2 / n * (null_likelihood - likelihood))),
        )


def _null_deviance(fitted: Fitted) -> float:
    if isinstance(fitted.rows, OneMean):
        return null_deviance(fitted.problem)
    shares = np.bincount(fitted.observations.y.astype(np.intp), weights=fitted.weight, minlength=fitted.rows.predictors)
    if not fitted.observations.design.coordinates.intercept:
        return float(2 * fitted.weight.sum() * np.log(fitted.rows.predictors))
    return float(-2 * xlogy(shares, shares / shares.sum()).sum())


def _null_of_family(fitted: Fitted) -> float:
    """With the parameters of the family that are most likely without the columns."""
    problem = fitted.problem
    if problem.observations.design.coordinates.intercept:
        constant = replace(problem.observations, design=DenseDesign.of(np.empty((len(problem.observations), 0))))
        alone = replace(problem, observations=constant, strengths=Strengths.none(1))
        solved = solve_with_r(alone, "newton", Limits(1e-8, 100))
        null = fitted.of_family(solved.problem.response.family)
        return null.best_of_all - float(solved.problem.at(solved.solution.value, LOSS).value)
    null = fitted.moved(np.zeros(len(fitted.theta)))
    return null.best_of_all - float(null.weight @ null.rows.losses(null.observations.y, null.eta))


def _log_likelihood(fitted: Fitted, deviance: float, dispersion: float) -> float:
    if not isinstance(fitted.rows, OneMean):
        return -deviance / 2
    response = fitted.rows.response
    if profiled(response):
        dispersion = deviance / fitted.n
    kind = "frequency" if fitted.frequency else "precision"
    return log_likelihood(fitted.observations, response, deviance, dispersion, kind)
