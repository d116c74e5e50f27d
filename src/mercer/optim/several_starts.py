"""Minimisation of objectives that are not convex, by descents from several starts.

1. Fit exactly as many rows as there are columns, for all such sets of rows, or for a sample of them (the elemental sets
   of Rousseeuw 1984 and Hawkins 1993): a distant minimum often fits some rows well, and others badly, whose losses are
   bounded.
2. Descend from the given starts, from the fits with the lowest objective, and from some of the others, on a sample of
   the rows.
3. Continue from the lowest ends on all rows, and move away from saddle points along negative curvature.

Sets are drawn with a fixed seed, so that results are reproducible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from mercer._gpu import to_numpy
from mercer._typing import Array
from mercer.matrices import Observations
from mercer.optim.certificate import STATIONARY, Solution
from mercer.optim.problem import Problem, evaluate
from mercer.stats.quadratic import GRADIENT, HESSIAN, LOSS

#: a solver with its options: (problem, start, whether a rough solution suffices) ↦ solution
Solver = Callable[[Problem, Array, bool], Solution]

#: evenly spaced rows on which descents are tried
START_SCREEN_ROWS = 2_000
#: multiplications for one step of all descents together, which bounds their number
WORK_PER_STEP = 5e6
#: smallest number of descents
MIN_DESCENTS = 4
#: largest number of descents
MAX_DESCENTS = 30
#: sets of rows that are fitted exactly
MAX_ROW_SETS = 300
#: a response that no η has is replaced by a mean this far towards the mean of all responses
SHORTFALLS = (0.5, 0.1, 0.01)
#: ends whose objectives differ by less than this portion are the same
SAME_OBJECTIVE = 1e-7
#: ends from which descents continue on all rows
CONTINUED_ENDS = 2
#: relative curvature below minus this is negative, rather than rounding
NEGATIVE_CURVATURE = 1e-7
#: columns up to which negative curvature is computed
MAX_CURVATURE_COLUMNS = 300
#: saddle points that a search leaves
MAX_SADDLES = 5


class Starts(NamedTuple):
    """Starts on all rows, the lowest first, and the number of starts that were tried."""

    points: list[Array]
    tried: int
    #: the lowest end so far, if Ctrl-C ended the search
    interrupted: Solution | None = None


def solve(problem: Problem, solver: Solver, first: Sequence[Array]) -> Solution:
    """Return the lowest end of descents from several starts.

    Parameters
    ----------
    problem : Problem
        A problem that is not convex.
    solver : callable
        Descends from a start, on all rows or a sample; roughly if the start is only tried.
    first : sequence of arrays
        Starts that are always tried, the best guess first.

    Returns
    -------
    solution : Solution
        Its certificate is local, and states the number of starts.
    """
    # 1. try the starts
    starts = explore(problem, solver, first)
    if starts.interrupted is not None:
        return starts.interrupted
    # 2. descend from the best of them
    ends: list[Solution] = []
    for start in starts.points:
        ends.append(solver(problem, start, False))
        if ends[-1].interrupted:
            return _lowest_end(problem, ends)
    best = _lowest_end(problem, ends)
    # 3. leave saddle points
    for _ in range(MAX_SADDLES):
        below = _descend_from_saddle(problem, best.coef)
        if below is None:
            break
        best = _lowest_end(problem, [best, solver(problem, below, False)])
        if best.interrupted:
            return best
    certificate = best.certificate
    if certificate.kind == STATIONARY:
        certificate = replace(certificate, sentence=f"{certificate.sentence} (the lowest of {starts.tried} starts)")
    return replace(best, certificate=certificate)


def _lowest_end(problem: Problem, ends: Sequence[Solution]) -> Solution:
    """Return the lowest of the ends of descents; if one was interrupted, it is interrupted, too."""
    lowest = min(ends, key=lambda end: _objective(problem, end.coef))
    if not any(end.interrupted for end in ends):
        return lowest
    return replace(lowest, certificate=lowest.certificate.after_interruption(), interrupted=True)


def explore(problem: Problem, solver: Solver, first: Sequence[Array]) -> Starts:
    """Return the start with the lowest end if all rows are screened, else the lowest ends of descents on a sample."""
    some = problem.on(_screening_rows(problem.observations))
    tried: list[tuple[float, Array, Solution]] = []
    candidates = _candidate_starts(some, first)
    for start in candidates:
        end = solver(some, start, True)
        if end.interrupted:
            lowest = _lowest_end(some, [end, *(end for _, _, end in tried)])
            unknown = replace(lowest.certificate, value=np.inf)
            return Starts([lowest.coef], len(tried) + 1, replace(lowest, certificate=unknown))
        tried.append((_objective(some, end.coef), start, end))
    tried.sort(key=lambda each: each[0])
    if len(some.observations) == len(problem.observations):
        return Starts([tried[0][1]], len(candidates))
    points: list[Array] = []
    last = -np.inf
    for value, _, end in tried:
        if not points or value > last + SAME_OBJECTIVE * abs(last):
            points.append(end.coef)
            last = value
    return Starts(points[: 1 if problem.observations.streamed else CONTINUED_ENDS], len(candidates))


def _screening_rows(observations: Any) -> Observations:
    """Return all rows if they are few, else evenly spaced ones, in memory."""
    rows = (
        observations.some(min(START_SCREEN_ROWS, len(observations))) if len(observations) > START_SCREEN_ROWS else None
    )
    if rows is None:
        rows = observations.some(len(observations)) if observations.streamed else observations
    in_memory: Observations = rows.in_memory()
    return in_memory


def _objective(problem: Problem, w: Array) -> float:
    """Return the objective with its absolute values; ∞ if it is not finite."""
    strengths = problem.strengths
    value = evaluate(problem, w, LOSS).value + float(strengths.l1 @ np.abs(w - strengths.mean))
    return value if np.isfinite(value) else np.inf


def _candidate_starts(problem: Problem, first: Sequence[Array]) -> list[Array]:
    """Return the first starts, the lowest of the others, and some of the rest: fewer if a step is expensive."""
    n, p = len(problem.observations), problem.n_columns
    count = int(np.clip(WORK_PER_STEP / (n * p * (p + 1)), MIN_DESCENTS, MAX_DESCENTS))
    by_height = {height: w for w in _elemental_fits(problem) if np.isfinite(height := _objective(problem, w))}
    order = [by_height[height] for height in sorted(by_height)]  # one start per value of the objective
    rest_count = max(1, count - len(first))
    lowest, rest = order[: -(-rest_count // 2)], order[-(-rest_count // 2) :]
    spread = [rest[i] for i in np.unique(np.linspace(0, len(rest) - 1, rest_count // 2).astype(int))] if rest else []
    return [*(w for w in first if np.isfinite(_objective(problem, w))), *lowest, *spread] or list(first)


def _elemental_fits(problem: Problem) -> Iterator[Array]:
    """Yield coefficients that fit as many rows as there are columns: for all such sets, or a sample of them."""
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
    if comb(len(rows), size) <= MAX_ROW_SETS:
        yield from (np.array(chosen, dtype=np.intp) for chosen in combinations(rows.tolist(), size))
        return
    rng = np.random.default_rng(0)
    for _ in range(MAX_ROW_SETS):
        yield rng.choice(rows, size, replace=False)


@np.errstate(all="ignore")
def _predictors(problem: Problem, y: Array, short: float) -> Array:
    """Return η for each response; where there is none, for a mean between it and that of all responses."""
    response, centre = problem.response, np.asarray(problem.observations.mean_response)
    exact, near = response.predictor(y), response.predictor(y + short * (centre - y))
    return np.where(np.isfinite(exact), exact, np.where(np.isfinite(near), near, response.predictor(centre)))


def _descend_from_saddle(problem: Problem, w: Array) -> Array | None:
    """Return a lower point in a direction of negative curvature; None if there is none, or if it is not computed."""
    rows = problem.observations
    if rows.streamed or not problem.strengths.smooth or problem.n_columns > MAX_CURVATURE_COLUMNS:
        return None
    rows = rows.in_memory()
    here, expected = evaluate(problem, w, GRADIENT), np.diagonal(evaluate(problem, w, HESSIAN).hessian)
    scale = np.where(expected > 0, np.where(expected > 0, expected, 1.0) ** -0.5, 0.0)
    eta = rows.design.matvec(w)
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
