"""What a model that was fitted to a source asks of its rows beside losses: each question is a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._errors import TooManyColumnsError
from mercer._gpu import to_numpy
from mercer._stored import stored
from mercer._typing import Array
from mercer.base.diagnosis import Finding
from mercer.data.sources.base import Chunk
from mercer.engines.folding import fold
from mercer.families import LOG, Bernoulli, Binomial, Family, NegativeBinomial, Poisson, Tweedie
from mercer.families.penalties import Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.matrices import Observations
from mercer.matrices.observations import ObservedBatch
from mercer.optim import firth, separation
from mercer.optim.certificate import Solution
from mercer.optim.problem import Problem
from mercer.optim.separation import Separation

#: a chunk in working coordinates; can be pickled
Prepare = Callable[[Chunk], ObservedBatch]


def cross_products(observations: Any, *, counted: bool) -> Array:
    """XᵀX of all rows by their weights; where `counted`, every row that has one weighs 1."""
    return fold(partial(_products, observations.prepare, counted), observations.source, np.add)


def least_information(observations: Any, response: Response, w: Array) -> float:
    """The least information about η that any row has at these coefficients, for a weight of 1."""
    return fold(partial(_least_information, observations.prepare, response, w), observations.source, min)


def class_collapsed(observations: Any, response: SoftmaxResponse, W: Array, portion: float) -> bool:
    """Whether some row's own class is certain, but for this portion."""
    return fold(partial(_class_collapsed, observations.prepare, response, W, portion), observations.source, max)


def _class_collapsed(prepare: Prepare, response: SoftmaxResponse, W: Array, portion: float, chunk: Chunk) -> bool:
    design, y, _, _ = prepare(chunk)
    own = response.probabilities(design.times(W))[np.arange(len(y)), y]
    return bool((own > 1 - portion).any())


def _products(prepare: Prepare, counted: bool, chunk: Chunk) -> Array:
    design, y, weight, _ = prepare(chunk)
    h = np.ones(len(y)) if weight is None else 1.0 * (weight > 0) if counted else weight
    return design.gram(h)


def _least_information(prepare: Prepare, response: Response, w: Array, chunk: Chunk) -> float:
    design, y, _, offset = prepare(chunk)
    eta = design.times(w)
    return float(response.slopes(y, eta if offset is None else eta + offset).second.min())


# Separation: told from the way a fit went, proved by linear programming, named term by term, and remedied.
#
# Where a hyperplane separates the responses, the likelihood rises for ever along it and some coefficients are infinite:
# a solver stops where rounding or its tolerance tells it to, at numbers that mean nothing. A healthy fit pays nothing
# for the diagnosis: only one that took many steps, did not arrive, or has more columns than rows, which a few steps may
# separate, is looked at, and only if the information of some row has collapsed is a linear programme solved.

#: steps that a fit with a finite maximum rarely needs
MANY_STEPS = 10
#: the information of a row about η, per unit of its weight, below which it says next to nothing
COLLAPSED = 1e-5
#: standard deviation of the normal prior for on_separation="ridge", per standard deviation of a column
PRIOR_DEVIATION = 2.5
#: rows at hand of a source that are asked whether they are separated: if they are not, no more rows are
SOME_ROWS = 10_000
#: columns named in a sentence
MOST_NAMES = 10

CODE = "separation"
#: why it is not said which coefficients are infinite, and who would say it
OF_A_SOURCE = (
    "A fit to a source does not look for those that are infinite.",
    "; or fit to a sample in memory, which names the columns",
)
TOO_WIDE = "There are too many columns to look for those that are infinite.", ""
WORDS = {np.inf: "+∞", -np.inf: "−∞"}


@stored()
@dataclass(frozen=True)
class SeparationFinding(Finding):
    """Which coefficients are infinite: `limits` has "+∞", "−∞" or "finite" for each term."""

    limits: Mapping[str, str] = field(default_factory=dict)


def examine(problem: Problem, solution: Solution, names: Sequence[str]) -> SeparationFinding | None:
    """What separates the responses of an unpenalised fit, if anything does.

    Parameters
    ----------
    problem : Problem
        What was solved.
    solution : Solution
        Where the solver stopped.
    names : sequence of str
        Of the coefficients, the intercept (where there is one) last.

    Returns
    -------
    finding : SeparationFinding or None
    """
    if problem.strengths.any or not _can_separate(problem.response) or not _looks_separated(problem, solution):
        return None
    if problem.observations.streamed:
        return unproved(OF_A_SOURCE)
    found = _separation(problem)
    return unproved(TOO_WIDE) if found is None else _finding(found, names, firth=firth.suits(problem.response))


def examine_classes(
    observations: Observations,
    response: SoftmaxResponse,
    solution: Solution,
    names: Sequence[str],
    classes: Sequence[str],
) -> SeparationFinding | None:
    """The same for an unpenalised softmax."""
    if observations.streamed:
        some: Any = observations.some(SOME_ROWS)
        told = _some_class_certain(some, response, solution)
        suspect = not _went_well(solution) or (told and _is_separated(separation.categorical(some, len(classes))))
        certain = suspect and class_collapsed(observations, response, solution.value, COLLAPSED)
        return unproved(OF_A_SOURCE) if certain else None
    if _is_healthy(observations, solution) or not _some_class_certain(observations, response, solution):
        return None
    named = [f"{label}: {name}" for name in names for label in classes]
    try:
        return _finding(separation.categorical(observations.in_memory(), len(classes)), named, firth=False)
    except TooManyColumnsError:
        return unproved(TOO_WIDE)


def _some_class_certain(observations: Observations, response: SoftmaxResponse, solution: Solution) -> bool:
    probabilities = response.probabilities(to_numpy(observations.design.times(solution.value)))
    own = probabilities[np.arange(len(observations)), to_numpy(observations.y)]
    return bool((own > 1 - COLLAPSED).any())


def unproved(reason: tuple[str, str]) -> SeparationFinding:
    """What is said where a proof would need more than can be had at once: all rows, or all pairs of columns."""
    why, otherwise = reason
    return SeparationFinding(
        CODE,
        "warning",
        "The responses look as if a hyperplane separated them: some rows came to say next to nothing about the "
        f"coefficients. {why}",
        f'Use on_separation="ridge", or a penalty, which keep coefficients finite{otherwise}.',
    )


def _went_well(solution: Solution) -> bool:
    return solution.certificate.holds and len(solution.trace) <= MANY_STEPS


def _is_healthy(observations: Observations, solution: Solution) -> bool:
    """Whether nothing about a fit in memory makes separation likely."""
    return _went_well(solution) and observations.heavy >= observations.design.n_columns


def _can_separate(response: Response) -> bool:
    if isinstance(response.family, Bernoulli | Binomial):
        return response.link.means == (0.0, 1.0)
    return _can_be_zero(response.family) and response.link == LOG


def _can_be_zero(family: Family) -> bool:
    """Whether a response of 0 is likeliest under a mean of 0, as of counts and of sums of as many claims."""
    return isinstance(family, Poisson | NegativeBinomial) or (isinstance(family, Tweedie) and 1 <= family.power < 2)


def _looks_separated(problem: Problem, solution: Solution) -> bool:
    """Whether the fit is not healthy and the information of some row collapsed."""
    if problem.observations.streamed:
        return _looks_separated_in_source(problem, solution)
    return not _is_healthy(problem.observations, solution) and _some_information_collapsed(problem, solution)


def _looks_separated_in_source(problem: Problem, solution: Solution) -> bool:
    """The same of rows of a source, where a fit may have begun at the end of a long way: that of the rows at hand."""
    some: Any = problem.observations.some(SOME_ROWS)
    part = problem.on(some)
    if _went_well(solution) and not (_some_information_collapsed(part, solution) and _is_separated(_separation(part))):
        return False
    return least_information(problem.observations, problem.response, solution.value) < COLLAPSED


def _is_separated(found: Separation | None) -> bool:
    return found is not None and found.kind != "none"


def _some_information_collapsed(problem: Problem, solution: Solution) -> bool:
    y, offset = problem.observations.y, problem.observations.offset
    with np.errstate(over="ignore", invalid="ignore"):  # coefficients of columns that are too small are refused later
        eta = problem.observations.design.times(solution.value)
        information = problem.response.slopes(y, eta if offset is None else eta + offset).second
    return bool((information < COLLAPSED).any())


def _separation(problem: Problem) -> Separation | None:
    """None where there are too many columns to find out."""
    observations, family = problem.observations.in_memory(), problem.response.family
    try:
        if isinstance(family, Bernoulli | Binomial):
            return separation.bernoulli(replace(observations, y=observations.y / family.n_trials))
        return separation.poisson(observations)
    except TooManyColumnsError:
        return None


def _finding(found: Separation, names: Sequence[str], *, firth: bool) -> SeparationFinding | None:
    if found.kind == "none":
        return None
    limits = {
        name: WORDS.get(limit, "finite") for name, limit in zip(names, found.limits.ravel().tolist(), strict=True)
    }
    infinite = tuple(name for name, limit in limits.items() if limit != "finite")
    told = ", ".join(f"{name} → {limits[name]}" for name in infinite[:MOST_NAMES])
    more = ", …" if len(infinite) > MOST_NAMES else ""
    how = "completely" if found.kind == "complete" else "for some of the rows"
    remedies = '"firth" or "ridge"' if firth else '"ridge"'
    return SeparationFinding(
        CODE,
        "warning",
        f"A hyperplane separates the responses {how}: the likelihood rises for ever as {told}{more}.",
        f"Use on_separation={remedies}, or a penalty, which keep coefficients finite; or leave the columns out.",
        infinite,
        limits,
    )


def weak_prior(observations: Observations) -> Strengths:
    """What on_separation="ridge" adds: a normal prior of deviation 2.5 per standard deviation of each column."""
    if observations.streamed:
        products = cross_products(observations, counted=False) / observations.total_weight
    else:
        counted = np.ones(len(observations)) if observations.weight is None else observations.weight
        products = observations.design.gram(counted / counted.sum())
    variance = np.diagonal(products).copy()
    if observations.design.coordinates.intercept:
        variance -= np.square(products[-1])
        variance[-1] = 0.0
    return Strengths.none(len(variance))._replace(l2=np.maximum(variance, 0.0) / PRIOR_DEVIATION**2)
