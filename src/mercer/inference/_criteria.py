"""Figures of a whole fit: deviance, log likelihood, information criteria, explained shares, tests of all columns."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2, f

from mercer._errors import InferenceError
from mercer.base.diagnosis import INTERCEPT
from mercer.families.penalties import Strengths
from mercer.inference._covariance import Covariance
from mercer.inference._fitted import FittedModel, MeanRows
from mercer.inference._hypotheses import parse_hypothesis, wald_test
from mercer.linear_model.glm_figures import has_profiled_variance, log_likelihood, null_deviance
from mercer.linear_model.glm_solve import SolverLimits, solve_with_r
from mercer.linear_model.glm_target import saturated_counts
from mercer.matrices import DenseMatrix
from mercer.stats.quadratic import LOSS


class Criteria(NamedTuple):
    """Figures of a fit; NaN where a figure does not exist.

    After an L2 penalty the test of all columns does not exist. With a robust covariance that test is Wald's.

    The null model has only the intercept (if there is one) and the offset. For the normal with the identity link the
    log likelihoods are at the maximum likelihood variance; the criteria count coefficients, not the dispersion.

    Examples
    --------
    >>> from mercer import LinearRegression, summary
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 2.0, 4.0]
    >>> criteria = summary(LinearRegression().fit(X, y), X, y).criteria
    >>> criteria.observations, criteria.parameters, round(criteria.deviance, 2)
    (4.0, 2.0, 0.7)
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
    #: parameters without the intercept
    model_freedom: float
    #: share of the variance about the mean that is explained; this and the next two are for linear regressions
    r2: float
    #: the same for unbiased estimates of the variances
    r2_adjusted: float
    #: standard deviation of the residuals: √dispersion
    residual_standard_error: float
    #: test of all columns against none, if the dispersion is estimated: F with both degrees of freedom
    f_statistic: float
    f_p_value: float
    #: the same if the dispersion is known: the likelihood ratio, χ² with `model_freedom`
    chi2_statistic: float
    chi2_p_value: float


def compute_criteria(fitted: FittedModel, covariance: Covariance) -> Criteria:
    n, phi = fitted.n, covariance.dispersion
    k = covariance.effective + fitted.family_parameters
    deviance = 2 * float(fitted.weight @ fitted.rows.losses(fitted.observations.y, fitted.eta))
    null = _null_deviance(fitted)
    likelihood = _log_likelihood(fitted, deviance, phi)
    null_likelihood = _null_of_family(fitted) if fitted.family_parameters else _log_likelihood(fitted, null, phi)
    discrete = not isinstance(fitted.rows, MeanRows) or fitted.rows.family.discrete
    intercepts = (fitted.rows.predictors - (fitted.rows.predictors > 1)) * _has_intercept(fitted)
    left, model_freedom = n - covariance.effective, covariance.effective - intercepts
    least_squares = isinstance(fitted.rows, MeanRows) and has_profiled_variance(fitted.rows.response)
    f_test, chi2_test = _tests(fitted, covariance, (null - deviance, 2 * (likelihood - null_likelihood)), model_freedom)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Criteria(
            n,
            k,
            left,
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
            model_freedom,
            1 - deviance / null if least_squares and null > 0 else np.nan,
            1 - deviance / left / (null / (n - intercepts)) if least_squares and null > 0 and left > 0 else np.nan,
            float(np.sqrt(phi)) if least_squares else np.nan,
            *f_test,
            *chi2_test,
        )


#: a statistic that does not exist, and its p-value
NO_TEST = (np.nan, np.nan)


def _tests(
    fitted: FittedModel, covariance: Covariance, gains: tuple[float, float], freedom: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return F and χ² of all columns against none, each with its p-value; at most one of them exists.

    `gains` are the decreases of the deviance and of −2 log likelihood by the columns.
    """
    if fitted.is_penalised or fitted.firth or freedom <= 0:
        return NO_TEST, NO_TEST
    if covariance.kind != "model":
        slopes = [name for name in fitted.names if name.split(": ")[-1] != INTERCEPT]
        try:
            wald = wald_test(fitted, covariance, parse_hypothesis(fitted.names, slopes))
        except InferenceError:  # coefficients that depend on each other
            return NO_TEST, NO_TEST
        test = (wald.statistic, wald.p_value)
        return (NO_TEST, test) if covariance.freedom is None else (test, NO_TEST)
    if covariance.freedom is None:
        return NO_TEST, (gains[1], float(chi2.sf(gains[1], freedom)))
    if not covariance.dispersion > 0:
        return NO_TEST, NO_TEST
    statistic = gains[0] / freedom / covariance.dispersion
    return (statistic, float(f.sf(statistic, freedom, covariance.freedom))), NO_TEST


def _has_intercept(fitted: FittedModel) -> int:
    return int(fitted.observations.design.coordinates.intercept)


def _null_deviance(fitted: FittedModel) -> float:
    if isinstance(fitted.rows, MeanRows):
        return null_deviance(fitted.problem)
    shares = np.bincount(fitted.observations.y.astype(np.intp), weights=fitted.weight, minlength=fitted.rows.predictors)
    if not fitted.observations.design.coordinates.intercept:
        return float(2 * fitted.weight.sum() * np.log(fitted.rows.predictors))
    return float(-2 * xlogy(shares, shares / shares.sum()).sum())


def _null_of_family(fitted: FittedModel) -> float:
    """Return the null log likelihood, with the parameters of the family estimated without the columns."""
    problem = fitted.problem
    if problem.observations.design.coordinates.intercept:
        constant = replace(problem.observations, design=DenseMatrix.of(np.empty((len(problem.observations), 0))))
        alone = replace(problem, observations=constant, strengths=Strengths.none(1))
        solved = solve_with_r(alone, "newton", SolverLimits(1e-8, 100))
        null = fitted.with_family(solved.problem.response.family)
        return null.best_of_all - float(solved.problem.at(solved.solution.coef, LOSS).value)
    null = fitted.with_parameters(np.zeros(len(fitted.theta)))
    return null.best_of_all - float(null.weight @ null.rows.losses(null.observations.y, null.eta))


def _log_likelihood(fitted: FittedModel, deviance: float, dispersion: float) -> float:
    if not isinstance(fitted.rows, MeanRows):
        return -deviance / 2
    if fitted.trials is not None:
        return saturated_counts(fitted.observations.y, fitted.trials, fitted.own_weight) - deviance / 2
    response = fitted.rows.response
    if has_profiled_variance(response):
        dispersion = deviance / fitted.n
    kind = "frequency" if fitted.frequency else "precision"
    return log_likelihood(fitted.observations, response, deviance, dispersion, kind)
