"""The figures of a fitted GLM: deviance, dispersion, degrees of freedom, log likelihood."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mercer._errors import NoDensityError
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.data.coding import code_floats
from mercer.designs import DenseDesign, Observations
from mercer.engines.reducing import reduce
from mercer.families import IDENTITY, Family, Gaussian
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.models.glm.solve import Limits, solve
from mercer.models.glm.trials import saturated_counts
from mercer.solvers.problem import Problem
from mercer.stats.goodness import Goodness

#: rows whose densities one thread computes at a time
BLOCK_ROWS = 1 << 16


class Figures(NamedTuple):
    """Figures of a fit beside its coefficients."""

    deviance: float
    null_deviance: float
    dispersion: float
    df_residual: float
    log_likelihood: float
    goodness: Goodness | None = None


#: of a fit that was stopped before they were computed
UNKNOWN = Figures(np.nan, np.nan, np.nan, np.nan, np.nan)


def figures(problem: Problem, w: Array, coefficients: float, weight_kind: str) -> Figures:
    """Figures of a fit that used so many coefficients; `weight_kind` says how many observations the weights make."""
    problem = replace(problem, observations=problem.observations.vectors_in_memory())
    observations, response = problem.observations, problem.response
    # means close to 0, and rows of weight 0 whatever they hold, may overflow; figures need not be finite
    with np.errstate(all="ignore"):
        goodness = reduce(Goodness(response, w), observations)
        told = told_by(goodness, response, coefficients, weight_kind)
        likelihood = log_likelihood(observations, response, goodness.deviance, told.spread, weight_kind)
        return Figures(goodness.deviance, null_deviance(problem), told.dispersion, told.df, likelihood, goodness)


def figures_of_counts(
    found: Figures, observations: Observations, coefficients: float, weight_kind: str, trials: Array
) -> Figures:
    """Figures of shares, as those of the counts that they are of: a row is one observation, whatever its trials."""
    weight = np.ones(len(trials)) if observations.weight is None else observations.weight
    own = np.divide(weight, trials, out=np.zeros(len(trials)), where=trials > 0)
    count = float(own.sum() if weight_kind == "frequency" else np.count_nonzero(own))
    likelihood = saturated_counts(observations.y, trials, own) - found.deviance / 2
    return found._replace(df_residual=count - coefficients, log_likelihood=likelihood)


class Told(NamedTuple):
    """What the goodness of a fit says of φ: the estimate, the one of the likelihood, and degrees of freedom."""

    dispersion: float
    spread: float
    df: float


def told_by(goodness: Goodness, response: Response, coefficients: float, weight_kind: str) -> Told:
    """After so many coefficients."""
    count = goodness.weight if weight_kind == "frequency" else float(goodness.rows)
    df = count - coefficients
    dispersion = response.family.known_dispersion
    if dispersion is None:
        # as many coefficients as rows leave nothing to measure the spread by
        dispersion = goodness.pearson / df if df > 0 else np.nan
    return Told(dispersion, goodness.deviance / count if profiled(response) else dispersion, df)


def profiled(response: Response) -> bool:
    """Least squares have a maximum likelihood variance in closed form, which information criteria use."""
    return isinstance(response.family, Gaussian) and response.link == IDENTITY and response.family.variance is None


def log_likelihood(
    observations: Observations, response: Response, deviance: float, dispersion: float, weight_kind: str
) -> float:
    """Σ w log p(y; μ, φ), or Σ log p(y; μ, φ/w) for precisions: that of means equal to y, less deviance / 2φ."""
    if not dispersion > 0:
        return np.nan if np.isnan(dispersion) else np.inf  # no spread at all: a density without bound
    try:
        best = saturated(response, observations.y, observations.weight, dispersion, weight_kind)
    except NoDensityError:
        return np.nan
    return likelihood_of(best, deviance, dispersion)


def likelihood_of(best: float, deviance: float, dispersion: float) -> float:
    """From that of means equal to y; rates have a quasi-likelihood alone: a fraction of an event has no probability."""
    return best - deviance / (2 * dispersion) if np.isfinite(best) else np.nan


def saturated(response: Response, y: Array, weight: Array | None, dispersion: float, weight_kind: str) -> float:
    """The log likelihood of means equal to y."""
    spread: float | Array = dispersion
    if weight is not None and weight_kind == "precision" and response.family.known_dispersion is None:
        seen = weight > 0
        y, spread, weight = y[seen], dispersion / weight[seen], None
    elif response.family.discrete:
        y, weight = _distinct(y, weight)
    return _saturated(response.family, y, spread, weight)


def _distinct(y: Array, weight: Array | None) -> tuple[Array, Array]:
    """Each count once, and how often it was seen: the densities of a million counts are those of a few."""
    codes, counts = code_floats(y)
    return counts.astype(float), np.bincount(codes, weight, minlength=len(counts)).astype(float)


def _saturated(family: Family, y: Array, dispersion: float | Array, weight: Array | None) -> float:
    """Σ w log p(y; μ = y, φ)."""

    def of_block(rows: slice) -> float:
        spread = dispersion[rows] if isinstance(dispersion, np.ndarray) else dispersion
        logs = family.log_density(y[rows], family.at_mean(y[rows], spread))
        return float(logs.sum() if weight is None else weight[rows] @ np.where(weight[rows] > 0, logs, 0.0))

    return sum(ordered_map(of_block, row_blocks(len(y), BLOCK_ROWS)))


def null_deviance(problem: Problem) -> float:
    """Deviance of a model with nothing but an intercept, where there is one, and the offset."""
    observations, response = problem.observations, problem.response
    y, weight, offset = observations.y, observations.weight, observations.offset
    if not observations.design.coordinates.intercept:
        return _deviance(response, y, np.zeros(len(y)) if offset is None else offset, weight)
    if offset is None:
        with np.errstate(divide="ignore"):
            level = response.predictor(np.average(y, weights=weight))
        return _deviance(response, y, np.full(len(y), level), weight)
    return _fitted_null_deviance(problem)


def _fitted_null_deviance(problem: Problem) -> float:
    return deviance_of_constant(
        problem, replace(problem.observations, design=DenseDesign.of(np.empty((len(problem.observations), 0))))
    )


def deviance_of_constant(problem: Problem, constant: Observations, tolerance: float = 1e-8) -> float:
    """Of the best intercept, where nothing is known of the rows but their offsets."""
    alone = replace(problem, observations=constant, strengths=Strengths.none(1))
    return 2 * solve(alone, "newton", Limits(tolerance, 100)).solution.trace[-1]


def _deviance(response: Response, y: Array, eta: Array, weight: Array | None) -> float:
    return 2 * response.loss(y, eta, weight)
