"""Figures of a fitted GLM: deviance, dispersion, degrees of freedom, log likelihood, and tests of overdispersion.

In memory the figures take one pass over the rows. From a source they take one pass, or two where the densities depend
on a dispersion that has to be estimated first.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2

from mercer._errors import NoDensityError
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.base.diagnosis import Finding
from mercer.data.coding import code_floats
from mercer.data.sources.base import Chunk
from mercer.engines.folding import fold
from mercer.engines.reducing import reduce
from mercer.families import IDENTITY, Family, Gaussian, NegativeBinomial, Poisson
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.linear_model.glm_solve import LARGEST_R, SolverLimits, solve
from mercer.linear_model.glm_target import saturated_counts
from mercer.linear_model.separation import Prepare
from mercer.matrices import DenseMatrix, Observations
from mercer.optim.problem import Problem
from mercer.stats.goodness import Goodness

#: rows whose densities one thread computes at a time
DENSITY_ROWS_AT_ONCE = 1 << 16
#: probability of a false alarm of the tests of overdispersion
FALSE_ALARM_RATE = 0.001
#: trials of a row from which on its Pearson residual is about normal
ENOUGH_TRIALS = 5
#: a ratio of variances below this changes standard errors by less than a twentieth, and is not reported
LEAST_EXCESS = 1.1
#: tolerance, in standard errors, of a fit of the intercept alone: the deviance is right to its square
CONSTANT_TOLERANCE = 1e-5


class Figures(NamedTuple):
    """Figures of a fit that are not coefficients."""

    deviance: float
    null_deviance: float
    dispersion: float
    df_residual: float
    log_likelihood: float
    goodness: Goodness | None = None


#: figures of a fit that was interrupted before they were computed
UNKNOWN_FIGURES = Figures(np.nan, np.nan, np.nan, np.nan, np.nan)


def compute_figures(problem: Problem, w: Array, coefficients: float, weight_kind: str) -> Figures:
    """Return the figures of a fit.

    Parameters
    ----------
    problem : Problem
        The problem that was solved.
    w : array of shape (p,)
        Its solution.
    coefficients : float
        Effective number of coefficients, as determined by the data.
    weight_kind : {"frequency", "precision"}
        Whether a weight of 2 counts as two observations or as one.
    """
    problem = replace(problem, observations=problem.observations.vectors_in_memory())
    observations, response = problem.observations, problem.response
    # means close to 0, and rows of weight 0 whatever they hold, may overflow; figures need not be finite
    with np.errstate(all="ignore"):
        goodness = reduce(Goodness(response, w), observations)
        phi = estimate_dispersion(goodness, response, coefficients, weight_kind)
        likelihood = log_likelihood(observations, response, goodness.deviance, phi.for_likelihood, weight_kind)
        null = null_deviance(problem)
        return Figures(goodness.deviance, null, phi.dispersion, phi.df_residual, likelihood, goodness)


def adjust_figures_for_trials(
    found: Figures, observations: Observations, coefficients: float, weight_kind: str, trials: Array
) -> Figures:
    """Return the figures of counts, from those of shares: a row is one observation, whatever its number of trials."""
    weight = np.ones(len(trials)) if observations.weight is None else observations.weight
    own = np.divide(weight, trials, out=np.zeros(len(trials)), where=trials > 0)
    count = float(own.sum() if weight_kind == "frequency" else np.count_nonzero(own))
    likelihood = saturated_counts(observations.y, trials, own) - found.deviance / 2
    return found._replace(df_residual=count - coefficients, log_likelihood=likelihood)


class DispersionEstimate(NamedTuple):
    """Estimate of φ, the value of φ that the log likelihood uses, and the residual degrees of freedom."""

    dispersion: float
    for_likelihood: float
    df_residual: float


def estimate_dispersion(
    goodness: Goodness, response: Response, coefficients: float, weight_kind: str
) -> DispersionEstimate:
    """Return φ, known or estimated by Pearson's χ², after a fit that has determined this number of coefficients."""
    count = goodness.weight if weight_kind == "frequency" else float(goodness.rows)
    df = count - coefficients
    dispersion = response.family.known_dispersion
    if dispersion is None:
        # with as many coefficients as rows, no degrees of freedom are left to estimate φ
        dispersion = goodness.pearson / df if df > 0 else np.nan
    return DispersionEstimate(
        dispersion, goodness.deviance / count if has_profiled_variance(response) else dispersion, df
    )


def has_profiled_variance(response: Response) -> bool:
    """Return whether the likelihood is that at the maximum likelihood variance, which least squares have in closed \
form."""
    return isinstance(response.family, Gaussian) and response.link == IDENTITY and response.family.variance is None


def log_likelihood(
    observations: Observations, response: Response, deviance: float, dispersion: float, weight_kind: str
) -> float:
    """Return Σ w log p(y; μ, φ), or Σ log p(y; μ, φ/w) for precisions: that of means equal to y, minus deviance / 2φ.

    It is NaN for rates: a fraction of an event has no probability, and they have only a quasi-likelihood.
    """
    if not dispersion > 0:
        return np.nan if np.isnan(dispersion) else np.inf  # the density has no bound where nothing varies
    try:
        best = saturated_log_likelihood(response, observations.y, observations.weight, dispersion, weight_kind)
    except NoDensityError:
        return np.nan
    return best - deviance / (2 * dispersion) if np.isfinite(best) else np.nan


def saturated_log_likelihood(
    response: Response, y: Array, weight: Array | None, dispersion: float, weight_kind: str
) -> float:
    """Return the log likelihood of means equal to y."""
    family = response.family
    phi: float | Array = dispersion
    if weight is not None and weight_kind == "precision" and family.known_dispersion is None:
        positive = weight > 0
        y, phi, weight = y[positive], dispersion / weight[positive], None
    elif family.discrete:  # a million counts have few distinct values, each of which needs one density
        codes, counts = code_floats(y)
        y, weight = counts.astype(float), np.bincount(codes, weight, minlength=len(counts)).astype(float)

    def sum_block(rows: slice) -> float:
        logs = family.log_density(y[rows], family.at_mean(y[rows], phi[rows] if isinstance(phi, np.ndarray) else phi))
        return float(logs.sum() if weight is None else weight[rows] @ np.where(weight[rows] > 0, logs, 0.0))

    return sum(ordered_map(sum_block, row_blocks(len(y), DENSITY_ROWS_AT_ONCE)))


def null_deviance(problem: Problem) -> float:
    """Return the deviance of a model with only an intercept, if there is one, and the offset."""
    observations, response = problem.observations, problem.response
    y, weight, offset = observations.y, observations.weight, observations.offset
    if not observations.design.coordinates.intercept:
        return _deviance(response, y, np.zeros(len(y)) if offset is None else offset, weight)
    if offset is None:
        with np.errstate(divide="ignore"):
            level = response.predictor(np.average(y, weights=weight))
        return _deviance(response, y, np.full(len(y), level), weight)
    return fit_constant_deviance(problem, replace(observations, design=DenseMatrix.of(np.empty((len(y), 0)))))


def fit_constant_deviance(problem: Problem, constant: Observations, tolerance: float = 1e-8) -> float:
    """Return the deviance of the best intercept, for rows with an offset and no columns."""
    alone = replace(problem, observations=constant, strengths=Strengths.none(1))
    return 2 * solve(alone, "newton", SolverLimits(tolerance, 100)).solution.require_completion().objective


def _deviance(response: Response, y: Array, eta: Array, weight: Array | None) -> float:
    return 2 * response.loss(y, eta, weight)


def deviance_explained(response: Response, y: Array, eta: Array, weight: Array | None) -> float:
    """Return 1 − deviance / deviance of the mean of y."""
    level = response.predictor(np.average(y, weights=weight))
    null = response.loss(y, np.full(len(y), level), weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(1 - response.loss(y, np.asarray(eta, dtype=float), weight) / np.float64(null))


#: goodness of the fit, loss of a constant mean, and log likelihood of means equal to y
FigureSums = tuple[Goodness, float, float]


def compute_figures_of_source(problem: Problem, w: Array, coefficients: float, weight_kind: str) -> Figures:
    """Return the figures of a fit to a source; parameters as in `compute_figures`."""
    observations: Any = problem.observations
    response, known = problem.response, problem.response.family.known_dispersion
    sums = partial(_sums_of_chunk, observations.prepare, Goodness(response, w), _level(problem), known, weight_kind)
    goodness, null_loss, best = fold(sums, observations.source, _merge_sums)
    phi = estimate_dispersion(goodness, response, coefficients, weight_kind)
    if not phi.for_likelihood > 0:
        likelihood = np.nan if np.isnan(phi.for_likelihood) else np.inf  # see `log_likelihood`
    else:
        best = _saturated_of_source(problem, phi.for_likelihood, weight_kind) if known is None else best
        likelihood = best - goodness.deviance / (2 * phi.for_likelihood) if np.isfinite(best) else np.nan
    if observations.has_offset and observations.design.coordinates.intercept:
        null = fit_constant_deviance(problem, observations.without_columns(), CONSTANT_TOLERANCE)
    else:
        null = 2 * null_loss
    return Figures(goodness.deviance, null, phi.dispersion, phi.df_residual, likelihood, goodness)


def _level(problem: Problem) -> float:
    """Return η of the mean response, or 0 without an intercept."""
    if not problem.observations.design.coordinates.intercept:
        return 0.0
    with np.errstate(divide="ignore"):
        return float(problem.response.predictor(np.asarray(problem.observations.mean_response)))


def _sums_of_chunk(
    prepare: Prepare, goodness: Goodness, level: float, known: float | None, weight_kind: str, chunk: Chunk
) -> FigureSums:
    batch = prepare(chunk)
    _, y, weight, offset = batch
    with np.errstate(over="ignore", under="ignore"):
        fit = goodness.update(*batch)
    constant = np.full(len(y), level)
    null = goodness.response.loss(y, constant if offset is None else constant + offset, weight)
    best = np.nan if known is None else _density(goodness.response, y, weight, known, weight_kind)
    return fit, null, best


def _density(response: Response, y: Array, weight: Array | None, dispersion: float, weight_kind: str) -> float:
    try:
        return saturated_log_likelihood(response, y, weight, dispersion, weight_kind)
    except NoDensityError:
        return np.nan


def _merge_sums(mine: FigureSums, theirs: FigureSums) -> FigureSums:
    return mine[0].merge(theirs[0]), mine[1] + theirs[1], mine[2] + theirs[2]


def _saturated_of_source(problem: Problem, dispersion: float, weight_kind: str) -> float:
    """Return the log likelihood of means equal to y by a second pass, after φ was estimated by the first."""
    observations: Any = problem.observations
    if isinstance(problem.response.family, Gaussian) and weight_kind == "frequency":
        of_one = saturated_log_likelihood(
            problem.response, np.zeros(1), None, dispersion, weight_kind
        )  # y does not matter
        return float(observations.total_weight * of_one)
    density = partial(_density_of_chunk, observations.prepare, problem.response, dispersion, weight_kind)
    best: float = fold(density, observations.source, operator.add)
    return best


def _density_of_chunk(prepare: Prepare, response: Response, dispersion: float, weight_kind: str, chunk: Chunk) -> float:
    _, y, weight, _ = prepare(chunk)
    return _density(response, y, weight, dispersion, weight_kind)


def find_overdispersion(family: Family, figures: Figures) -> tuple[Finding, ...]:
    """Test a Poisson against variances μ + θμ²: the score is standard normal if θ = 0 (Dean and Lawless 1989)."""
    goodness = figures.goodness
    if not isinstance(family, Poisson) or goodness is None or not figures.df_residual > 0:
        return ()
    if not 0 < goodness.squares < np.inf or not np.isfinite(goodness.excess):  # overflow, e.g. for counts of 1e150
        return ()
    score = goodness.excess / np.sqrt(2 * goodness.squares)
    ratio = goodness.pearson / figures.df_residual
    chance = float(ndtr(-score))
    if chance > FALSE_ALARM_RATE or ratio < LEAST_EXCESS:
        return ()
    finding = Finding(
        "overdispersion",
        "warning",
        f"The counts spread more than a Poisson's: Pearson's χ² is {ratio:.3g} times its degrees of freedom (score "
        f"test {score:.1f}, p = {chance:.1g}), so that standard errors are about {np.sqrt(ratio):.2g} times too small.",
        'Use family="negative_binomial", or a robust covariance in `summary`.',
    )
    return (finding,)


def find_overdispersion_of_trials(figures: Figures, trials: Array) -> tuple[Finding, ...]:
    """Test a binomial by Pearson's χ², if rows have enough trials for its distribution to be χ²."""
    df = figures.df_residual
    if figures.goodness is None or not df > 0 or np.median(trials[trials > 0]) < ENOUGH_TRIALS:
        return ()
    ratio, chance = figures.goodness.pearson / df, float(chi2.sf(figures.goodness.pearson, df))
    if chance > FALSE_ALARM_RATE or ratio < LEAST_EXCESS:
        return ()
    finding = Finding(
        "overdispersion",
        "warning",
        f"The successes spread more than a binomial's: Pearson's χ² is {ratio:.3g} times its degrees of freedom (p = "
        f"{chance:.1g}), so that standard errors are about {np.sqrt(ratio):.2g} times too small.",
        "Use a robust covariance in `summary`, or multiply them.",
    )
    return (finding,)


def find_absent_overdispersion(family: Family) -> tuple[Finding, ...]:
    """Return a finding if the r of a negative binomial is at its largest value: counts spread no more than a \
Poisson's."""
    if not isinstance(family, NegativeBinomial) or family.r is None or not np.all(family.r >= 0.99 * LARGEST_R):
        return ()
    finding = Finding(
        "no overdispersion",
        "note",
        "The counts spread no more than a Poisson's: the likelihood of the negative binomial grows with r without end.",
        'Use family="poisson", whose fit is the same and has one parameter fewer.',
    )
    return (finding,)
