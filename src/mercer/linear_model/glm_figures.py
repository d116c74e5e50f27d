"""What the rows say about the family: counts that spread more than a Poisson's, or no more."""

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
from mercer.linear_model.glm_solve import NO_DISPERSION, SolverLimits, solve
from mercer.linear_model.glm_target import saturated_counts
from mercer.linear_model.separation import Prepare
from mercer.matrices import DenseDesign, Observations
from mercer.optim.problem import Problem
from mercer.stats.goodness import Goodness

# The figures of a fitted GLM: deviance, dispersion, degrees of freedom, log likelihood.

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
    return 2 * solve(alone, "newton", SolverLimits(tolerance, 100)).solution.trace[-1]


def _deviance(response: Response, y: Array, eta: Array, weight: Array | None) -> float:
    return 2 * response.loss(y, eta, weight)


# The figures of a GLM that was fitted to a source: in one pass, or two where densities wait for the dispersion.

#: standard errors that the intercept alone may be off by: the square of it is lost in the rounding of a deviance
NEAR = 1e-5
#: goodness of the fit, loss of a constant mean, and log likelihood of means equal to y
Sums = tuple[Goodness, float, float]


def streamed_figures(problem: Problem, w: Array, coefficients: float, weight_kind: str) -> Figures:
    """See `figures`."""
    observations: Any = problem.observations
    response, known = problem.response, problem.response.family.known_dispersion
    look = partial(_looked, observations.prepare, Goodness(response, w), _level(problem), known, weight_kind)
    goodness, null, best = fold(look, observations.source, _merged)
    told = told_by(goodness, response, coefficients, weight_kind)
    if not told.spread > 0:
        likelihood = np.nan if np.isnan(told.spread) else np.inf  # no spread at all: a density without bound
    else:
        best = _best(problem, told.spread, weight_kind) if known is None else best
        likelihood = likelihood_of(best, goodness.deviance, told.spread)
    fits = observations.has_offset and observations.design.coordinates.intercept
    null = deviance_of_constant(problem, observations.without_columns(), NEAR) if fits else 2 * null
    return Figures(goodness.deviance, null, told.dispersion, told.df, likelihood, goodness)


def _level(problem: Problem) -> float:
    """η of the mean response; 0 where there is no intercept."""
    if not problem.observations.design.coordinates.intercept:
        return 0.0
    with np.errstate(divide="ignore"):
        return float(problem.response.predictor(np.asarray(problem.observations.mean_response)))


def _looked(
    prepare: Prepare, goodness: Goodness, level: float, known: float | None, weight_kind: str, chunk: Chunk
) -> Sums:
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
        return saturated(response, y, weight, dispersion, weight_kind)
    except NoDensityError:
        return np.nan


def _merged(mine: Sums, theirs: Sums) -> Sums:
    return mine[0].merge(theirs[0]), mine[1] + theirs[1], mine[2] + theirs[2]


def _best(problem: Problem, dispersion: float, weight_kind: str) -> float:
    """The log likelihood of means equal to y, where φ had to be estimated first."""
    observations: Any = problem.observations
    if isinstance(problem.response.family, Gaussian) and weight_kind == "frequency":
        of_one = saturated(problem.response, np.zeros(1), None, dispersion, weight_kind)  # y does not matter
        return float(observations.total_weight * of_one)
    look = partial(_density_of_chunk, observations.prepare, problem.response, dispersion, weight_kind)
    best: float = fold(look, observations.source, operator.add)
    return best


def _density_of_chunk(prepare: Prepare, response: Response, dispersion: float, weight_kind: str, chunk: Chunk) -> float:
    _, y, weight, _ = prepare(chunk)
    return _density(response, y, weight, dispersion, weight_kind)


#: the chance of a false alarm
LEVEL = 0.001
#: trials of a row from which on its Pearson residual is about normal
ENOUGH_TRIALS = 5
#: a spread that exceeds a Poisson's by less changes standard errors by less than a twentieth
WORTH_TELLING = 1.1


def overdispersion(family: Family, figures: Figures) -> tuple[Finding, ...]:
    """Score test of a Poisson against variances μ + θμ² (Dean and Lawless 1989): normal if there is no θ."""
    goodness = figures.goodness
    if not isinstance(family, Poisson) or goodness is None or not figures.df_residual > 0:
        return ()
    if not 0 < goodness.squares < np.inf or not np.isfinite(goodness.excess):  # of counts of 1e150 neither has a float
        return ()
    score = goodness.excess / np.sqrt(2 * goodness.squares)
    ratio = goodness.pearson / figures.df_residual
    chance = float(ndtr(-score))
    if chance > LEVEL or ratio < WORTH_TELLING:
        return ()
    finding = Finding(
        "overdispersion",
        "warning",
        f"The counts spread more than a Poisson's: Pearson's χ² is {ratio:.3g} times its degrees of freedom (score "
        f"test {score:.1f}, p = {chance:.1g}), so that standard errors are about {np.sqrt(ratio):.2g} times too small.",
        'Use family="negative_binomial", or a robust covariance in `summary`.',
    )
    return (finding,)


def overdispersion_of_counts(figures: Figures, trials: Array) -> tuple[Finding, ...]:
    """Pearson's χ² of successes among trials, where there are enough trials in a row for it to be one."""
    seen, df = trials[trials > 0], figures.df_residual
    if figures.goodness is None or not df > 0 or np.median(seen) < ENOUGH_TRIALS:
        return ()
    ratio, chance = figures.goodness.pearson / df, float(chi2.sf(figures.goodness.pearson, df))
    if chance > LEVEL or ratio < WORTH_TELLING:
        return ()
    finding = Finding(
        "overdispersion",
        "warning",
        f"The successes spread more than a binomial's: Pearson's χ² is {ratio:.3g} times its degrees of freedom (p = "
        f"{chance:.1g}), so that standard errors are about {np.sqrt(ratio):.2g} times too small.",
        "Use a robust covariance in `summary`, or multiply them.",
    )
    return (finding,)


def no_overdispersion(family: Family) -> tuple[Finding, ...]:
    """That counts spread no more than a Poisson's, where the r of a negative binomial ran to its largest value."""
    if not isinstance(family, NegativeBinomial) or family.r is None or not np.all(family.r >= 0.99 * NO_DISPERSION):
        return ()
    finding = Finding(
        "no overdispersion",
        "note",
        "The counts spread no more than a Poisson's: the likelihood of the negative binomial grows with r without end.",
        'Use family="poisson", whose fit is the same and has one parameter fewer.',
    )
    return (finding,)
