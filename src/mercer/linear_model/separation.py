"""Separation of responses by a hyperplane: suspected from the course of a fit, proved by linear programming, described.

Where a hyperplane separates the responses, the likelihood increases without bound along its normal and some
coefficients are infinite: a solver stops at arbitrary numbers, when rounding or its tolerance ends the descent. A
healthy fit costs nothing extra. Only a fit that took many steps, did not converge, or has more columns than rows (where
few steps may suffice) is examined, and a linear program is solved only if the information of some row has collapsed.
"""

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
from mercer.families import LOG, Bernoulli, Binomial, NegativeBinomial, Poisson, Tweedie
from mercer.families.penalties import Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.matrices import Observations
from mercer.matrices.observations import ObservedBatch
from mercer.matrices.streamed import StreamedObservations
from mercer.optim import firth, separation
from mercer.optim.certificate import Solution
from mercer.optim.problem import Problem
from mercer.optim.separation import Separation

#: a chunk in working coordinates; can be pickled
Prepare = Callable[[Chunk], ObservedBatch]
#: steps that a fit with a finite maximum rarely needs
STEPS_OF_HEALTHY_FIT = 10
#: information of a row about η, per unit of its weight, below which it has collapsed
COLLAPSED_INFORMATION = 1e-5
#: standard deviation of the normal prior for on_separation="ridge", per standard deviation of a column
PRIOR_DEVIATION = 2.5
#: sampled rows of a source that are tested first: if they are not separated, all rows are not
SAMPLED_ROWS = 10_000
#: maximum number of columns named in a sentence
MOST_TERMS_NAMED = 10

#: code of the finding
SEPARATION_CODE = "separation"
#: reason why infinite coefficients of a source are not identified, and an alternative
NOT_SEARCHED_IN_SOURCE = (
    "A fit to a source does not search for those that are infinite.",
    "; or fit to a sample in memory, which names the columns",
)
#: the same for many columns in memory
NOT_SEARCHED_IN_WIDE_DATA = "There are too many columns to search for those that are infinite.", ""


@stored()
@dataclass(frozen=True)
class SeparationFinding(Finding):
    """Infinite coefficients: `limits` has "+∞", "−∞" or "finite" for each term."""

    limits: Mapping[str, str] = field(default_factory=dict)


def examine(problem: Problem, solution: Solution, names: Sequence[str]) -> SeparationFinding | None:
    """Return a finding if a hyperplane separates the responses of an unpenalised fit.

    Parameters
    ----------
    problem : Problem
        The problem that was solved.
    solution : Solution
        Point at which the solver stopped.
    names : sequence of str
        Names of the coefficients, with the intercept (if there is one) last.

    Returns
    -------
    finding : SeparationFinding or None
        Finding with the limits of the coefficients; None if the responses are not separated.
    """
    observations, response = problem.observations, problem.response
    if problem.strengths.any or not _can_separate(response):
        return None
    if observations.streamed:
        if not _looks_separated_in_source(problem, solution):
            return None
        return _describe_without_proof(*NOT_SEARCHED_IN_SOURCE)
    if _is_healthy(observations, solution) or not _has_collapsed_row(problem, solution):
        return None
    found = _find_separation(problem)
    if found is None:
        return _describe_without_proof(*NOT_SEARCHED_IN_WIDE_DATA)
    return _describe_separation(found, names, has_firth=firth.suits(response))


def examine_classes(
    observations: Observations,
    response: SoftmaxResponse,
    solution: Solution,
    names: Sequence[str],
    classes: Sequence[str],
) -> SeparationFinding | None:
    """Return a finding if hyperplanes separate the classes of an unpenalised softmax; see `examine`."""
    if observations.streamed:
        sample: Any = observations.some(SAMPLED_ROWS)
        is_suspect = not _has_converged_fast(solution) or (
            _has_certain_class(sample, response, solution)
            and separation.categorical(sample, len(classes)).kind != "none"
        )
        if not is_suspect:
            return None
        assert isinstance(observations, StreamedObservations)
        is_certain = partial(_has_certain_class_in_chunk, observations.prepare, response, solution.coef)
        return _describe_without_proof(*NOT_SEARCHED_IN_SOURCE) if fold(is_certain, observations.source, max) else None
    if _is_healthy(observations, solution) or not _has_certain_class(observations, response, solution):
        return None
    named = [f"{label}: {name}" for name in names for label in classes]
    try:
        found = separation.categorical(observations.in_memory(), len(classes))
    except TooManyColumnsError:
        return _describe_without_proof(*NOT_SEARCHED_IN_WIDE_DATA)
    return _describe_separation(found, named, has_firth=False)


def _can_separate(response: Response) -> bool:
    """Return whether a hyperplane can make coefficients of this family and link infinite.

    With a log link it can if a response of 0 is likeliest under a mean of 0: for counts, and for sums of claims.
    """
    family = response.family
    if isinstance(family, Bernoulli | Binomial):
        return response.link.means == (0.0, 1.0)
    can_be_zero = isinstance(family, Poisson | NegativeBinomial) or (
        isinstance(family, Tweedie) and 1 <= family.power < 2
    )
    return can_be_zero and response.link == LOG


def _has_converged_fast(solution: Solution) -> bool:
    return solution.certificate.holds and solution.n_iter < STEPS_OF_HEALTHY_FIT


def _is_healthy(observations: Observations, solution: Solution) -> bool:
    """Return whether a fit in memory shows no sign of separation."""
    return _has_converged_fast(solution) and observations.heavy >= observations.design.n_columns


def _looks_separated_in_source(problem: Problem, solution: Solution) -> bool:
    """Return whether rows of a source look separated.

    The fit may have begun near its end, at the solution for a sample, so that fast convergence alone proves nothing.
    """
    observations: Any = problem.observations
    if _has_converged_fast(solution):
        sample = problem.on(observations.some(SAMPLED_ROWS))
        if not _has_collapsed_row(sample, solution):
            return False
        found = _find_separation(sample)
        if found is None or found.kind == "none":
            return False
    information = partial(_least_information_of_chunk, observations.prepare, problem.response, solution.coef)
    return fold(information, observations.source, min) < COLLAPSED_INFORMATION


def _least_information_of_chunk(prepare: Prepare, response: Response, w: Array, chunk: Chunk) -> float:
    """Return the least information about η of the rows of a chunk, for a weight of 1."""
    design, y, _, offset = prepare(chunk)
    eta = design.matvec(w)
    return float(response.slopes(y, eta if offset is None else eta + offset).second.min())


def _has_collapsed_row(problem: Problem, solution: Solution) -> bool:
    y, offset = problem.observations.y, problem.observations.offset
    with np.errstate(over="ignore", invalid="ignore"):  # overflow of coefficients raises an error later
        eta = problem.observations.design.matvec(solution.coef)
        information = problem.response.slopes(y, eta if offset is None else eta + offset).second
    return bool((information < COLLAPSED_INFORMATION).any())


def _has_certain_class(observations: Observations, response: SoftmaxResponse, solution: Solution) -> bool:
    """Return whether the probability of some row's own class is 1 up to `COLLAPSED_INFORMATION`."""
    probabilities = response.probabilities(to_numpy(observations.design.matvec(solution.coef)))
    own = probabilities[np.arange(len(observations)), to_numpy(observations.y)]
    return bool((own > 1 - COLLAPSED_INFORMATION).any())


def _has_certain_class_in_chunk(prepare: Prepare, response: SoftmaxResponse, W: Array, chunk: Chunk) -> bool:
    design, y, _, _ = prepare(chunk)
    own = response.probabilities(design.matvec(W))[np.arange(len(y)), y]
    return bool((own > 1 - COLLAPSED_INFORMATION).any())


def _find_separation(problem: Problem) -> Separation | None:
    """Return the proof by linear programming; None if there are too many columns."""
    observations, family = problem.observations.in_memory(), problem.response.family
    try:
        if isinstance(family, Bernoulli | Binomial):
            return separation.bernoulli(replace(observations, y=observations.y / family.n_trials))
        return separation.poisson(observations)
    except TooManyColumnsError:
        return None


def _describe_without_proof(reason: str, alternative: str) -> SeparationFinding:
    """Return the finding if a proof would need more than is available: all rows, or all pairs of columns."""
    return SeparationFinding(
        SEPARATION_CODE,
        "warning",
        "The responses look as if a hyperplane separated them: the information of some rows about the coefficients is "
        f"next to nothing. {reason}",
        f'Use on_separation="ridge", or a penalty, which keep coefficients finite{alternative}.',
    )


def _describe_separation(found: Separation, names: Sequence[str], *, has_firth: bool) -> SeparationFinding | None:
    if found.kind == "none":
        return None
    words = {np.inf: "+∞", -np.inf: "−∞"}
    limits = {
        name: words.get(limit, "finite") for name, limit in zip(names, found.limits.ravel().tolist(), strict=True)
    }
    infinite = tuple(name for name, limit in limits.items() if limit != "finite")
    directions = ", ".join(f"{name} → {limits[name]}" for name in infinite[:MOST_TERMS_NAMED])
    more = ", …" if len(infinite) > MOST_TERMS_NAMED else ""
    extent = "completely" if found.kind == "complete" else "for some of the rows"
    remedies = '"firth" or "ridge"' if has_firth else '"ridge"'
    return SeparationFinding(
        SEPARATION_CODE,
        "warning",
        f"A hyperplane separates the responses {extent}: the likelihood rises for ever as {directions}{more}.",
        f"Use on_separation={remedies}, or a penalty, which keep coefficients finite; or leave the columns out.",
        infinite,
        limits,
    )


def weak_prior(observations: Observations) -> Strengths:
    """Return the penalty of on_separation="ridge": a normal prior with a deviation of 2.5 in units of each column's \
standard deviation."""
    if observations.streamed:
        products = cross_products(observations, equal_weights=False) / observations.total_weight
    else:
        weight = np.ones(len(observations)) if observations.weight is None else observations.weight
        products = observations.design.gram(weight / weight.sum())
    variance = np.diagonal(products).copy()
    if observations.design.coordinates.intercept:
        variance -= np.square(products[-1])
        variance[-1] = 0.0
    return Strengths.none(len(variance))._replace(l2=np.maximum(variance, 0.0) / PRIOR_DEVIATION**2)


def cross_products(observations: Any, *, equal_weights: bool) -> Array:
    """Return the weighted XᵀX of a source in one pass; with `equal_weights`, positive weights count as 1."""
    return fold(partial(_products_of_chunk, observations.prepare, equal_weights), observations.source, np.add)


def _products_of_chunk(prepare: Prepare, equal_weights: bool, chunk: Chunk) -> Array:
    design, y, weight, _ = prepare(chunk)
    if weight is None:
        return design.gram(np.ones(len(y)))
    return design.gram(1.0 * (weight > 0) if equal_weights else weight)
