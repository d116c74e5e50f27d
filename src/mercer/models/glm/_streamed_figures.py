"""The figures of a GLM that was fitted to a source: in one pass, or two where densities wait for the dispersion."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

from mercer._errors import NoDensityError
from mercer._typing import Array
from mercer.data.sources.base import Chunk
from mercer.engines.folding import fold
from mercer.families import Gaussian
from mercer.families.response import Response
from mercer.models.glm._streamed_looks import Prepare
from mercer.models.glm.figures import Figures, deviance_of_constant, likelihood_of, saturated, told_by
from mercer.solvers.problem import Problem
from mercer.stats.goodness import Goodness

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
