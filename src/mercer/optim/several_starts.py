"""Where to begin if the objective is not convex: the ends of descents from many starts, the lowest first.

A far minimum is often one that fits some rows well and gives up others, whose losses are bounded. So most of the starts
are the coefficients that fit as many rows as there are columns: all such sets of a few rows, or sets that are drawn
(the elemental sets of Rousseeuw, 1984, and of Hawkins, 1993). Those with the lowest objective are descended from, and
some of the others. Nothing here depends on chance: sets are drawn with a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import FitInterrupted
from mercer._gpu import to_numpy
from mercer._typing import Array
from mercer.matrices import Observations
from mercer.optim.certificate import STATIONARY, Solution
from mercer.optim.problem import Problem, evaluate
from mercer.stats.quadratic import GRADIENT, HESSIAN, LOSS

#: a solver with its options: from a problem, a start and whether a rough answer will do to a solution
Solver = Callable[[Problem, Array, bool], Solution]

#: rows that descents are tried on; of more, these are spread over all
SCREENED = 2_000
#: multiplications that a step of all descents together may take, and the fewest and most descents
WORK, FEWEST, MOST = 5e6, 4, 30
#: sets of rows that are fitted exactly
MOST_SETS = 300
#: how far the mean of a row is from a response that no η has, as a portion of its distance from the mean of all
SHORTFALLS = (0.5, 0.1, 0.01)
#: ends whose objectives differ by less than this portion are the same
SAME_OBJECTIVE = 1e-7
#: ends that are gone on from on all rows
CONTINUED = 2
#: curvature below minus this portion of the largest leads down
NEGATIVE_CURVATURE = 1e-7
#: columns up to which it is looked for, and how often
MOST_COLUMNS, MOST_SADDLES = 300, 5


class Starts(NamedTuple):
    """Coefficients to begin at, the lowest first, and how many starts were tried."""

    points: list[Array]
    tried: int


def solve(problem: Problem, solver: Solver, first: Sequence[Array]) -> Solution:
    """The lowest end of descents from several starts.

    Parameters
    ----------
    problem : Problem
        Not convex.
    solver : callable
        Descends from a start, on all rows or some; roughly where it is only tried.
    first : sequence of arrays
        Starts that are tried in any case, the best guess first.

    Returns
    -------
    solution : Solution
        Its certificate is a local one, and says how many starts were tried.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the lowest point so far.
    """
    starts = explore(problem, solver, first)
    best = min((solver(problem, start, False) for start in starts.points), key=lambda end: _objective(problem, end.value))
    for _ in range(MOST_SADDLES):
        below = _descend_from_saddle(problem, best.value)
        if below is None:
            break
        best = min(best, solver(problem, below, False), key=lambda end: _objective(problem, end.value))
    certificate = best.certificate
    if certificate.kind == STATIONARY:
        certificate = replace(certificate, sentence=f"{certificate.sentence} (the lowest of {starts.tried} starts)")
    return replace(best, certificate=certificate)


def explore(problem: Problem, solver: Solver, first: Sequence[Array]) -> Starts:
    """The starts that lead lowest: of all rows if these are few, else the ends of descents on some of them."""
    some = problem.on(_screening_rows(problem.observations))
    tried: list[tuple[float, Array, Solution]] = []
    candidates = _candidate_starts(some, first)
    for start in candidates:
        try:
            end = solver(some, start, True)
        except FitInterrupted as stop:
            ends = [stop.solution, *(end for _, _, end in tried)]
            lowest = min(ends, key=lambda end: _objective(some, end.value))
            stop.solution = replace(lowest, certificate=replace(lowest.certificate, value=np.inf))
            raise
        tried.append((_objective(some, end.value), start, end))
    tried.sort(key=lambda each: each[0])
    if len(some.observations) == len(problem.observations):
        return Starts([tried[0][1]], len(candidates))
    points: list[Array] = []
    last = -np.inf
    for value, _, end in tried:
        if not points or value > last + SAME_OBJECTIVE * abs(last):
            points.append(end.value)
            last = value
    return Starts(points[: 1 if problem.observations.streamed else CONTINUED], len(candidates))


def _screening_rows(observations: Any) -> Observations:
    """Some rows, as arrays."""
    rows = observations.some(min(SCREENED, len(observations))) if len(observations) > SCREENED else None
    if rows is None:
        rows = observations.some(len(observations)) if observations.streamed else observations
    in_memory: Observations = rows.in_memory()
    return in_memory


def _objective(problem: Problem, w: Array) -> float:
    """The objective with its absolute values; ∞ where it is not a number."""
    strengths = problem.strengths
    value = evaluate(problem, w, LOSS).value + float(strengths.l1 @ np.abs(w - strengths.mean))
    return value if np.isfinite(value) else np.inf


def _candidate_starts(problem: Problem, first: Sequence[Array]) -> list[Array]:
    """Starts in proportion to the cost of a step: the first ones, the lowest of the others, and some of the rest."""
    n, p = len(problem.observations), problem.n_columns
    count = int(np.clip(WORK / (n * p * (p + 1)), FEWEST, MOST))
    by_height = {height: w for w in _elemental_fits(problem) if np.isfinite(height := _objective(problem, w))}
    order = [by_height[height] for height in sorted(by_height)]  # of starts with the same objective one
    room = max(1, count - len(first))
    lowest, rest = order[: -(-room // 2)], order[-(-room // 2) :]
    spread = [rest[i] for i in np.unique(np.linspace(0, len(rest) - 1, room // 2).astype(int))] if rest else []
    return [*(w for w in first if np.isfinite(_objective(problem, w))), *lowest, *spread] or list(first)


def _elemental_fits(problem: Problem) -> Iterator[Array]:
    """Coefficients that fit as many rows as there are columns: of all such sets, or of some."""
    rows = problem.observations
    heavy = np.arange(len(rows)) if rows.weight is None else np.flatnonzero(rows.weight > 0)
    size = min(problem.n_columns, len(heavy))
    if size == 0:
        return
    for number, chosen in enumerate(_row_sets(heavy, size)):
        some = rows.take(chosen)
        wanted = _predictors(problem, to_numpy(some.y), SHORTFALLS[number % len(SHORTFALLS)])
        wanted = wanted if some.offset is None else wanted - some.offset
        X = some.design.dense()
        if np.isfinite(wanted).all() and np.isfinite(X).all():
            yield np.linalg.pinv(X) @ wanted


def _row_sets(rows: Array, size: int) -> Iterator[Array]:
    if comb(len(rows), size) <= MOST_SETS:
        yield from (np.array(chosen, dtype=np.intp) for chosen in combinations(rows.tolist(), size))
        return
    rng = np.random.default_rng(0)
    for _ in range(MOST_SETS):
        yield rng.choice(rows, size, replace=False)


@np.errstate(all="ignore")
def _predictors(problem: Problem, y: Array, short: float) -> Array:
    """The η of each response; where it has none, of a mean on the way to that of all."""
    response, centre = problem.response, np.asarray(problem.observations.mean_response)
    exact, near = response.predictor(y), response.predictor(y + short * (centre - y))
    return np.where(np.isfinite(exact), exact, np.where(np.isfinite(near), near, response.predictor(centre)))


def _descend_from_saddle(problem: Problem, w: Array) -> Array | None:
    """A lower point in a direction of negative curvature; None if there is none, or none is looked for."""
    rows = problem.observations
    if rows.streamed or not problem.strengths.smooth or problem.n_columns > MOST_COLUMNS:
        return None
    rows = rows.in_memory()
    here, expected = evaluate(problem, w, GRADIENT), np.diagonal(evaluate(problem, w, HESSIAN).hessian)
    scale = np.where(expected > 0, np.where(expected > 0, expected, 1.0) ** -0.5, 0.0)
    eta = rows.design.times(w)
    eta = eta if rows.offset is None else eta + rows.offset
    hessian = rows.design.gram(problem.response.curvature(rows.y, eta, rows.weight)) + np.diag(problem.strengths.l2)
    hessian = hessian * scale * scale[:, None]
    if not np.isfinite(hessian).all():
        return None
    values, vectors = np.linalg.eigh(hessian)
    if not values[0] < -NEGATIVE_CURVATURE * max(1.0, values[-1]):
        return None
    step = scale * vectors[:, 0] * problem.unit(here.value)
    trials = (w + sign * 4.0**-power * step for power in range(-2, 8) for sign in (1, -1))
    lower = min(trials, key=lambda trial: _objective(problem, trial))
    return lower if _objective(problem, lower) < here.value - SAME_OBJECTIVE * abs(here.value) else None
