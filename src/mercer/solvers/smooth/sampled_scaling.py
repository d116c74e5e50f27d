"""What some of the rows tell of all before the first step: variables in which the objective is round, and a start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._gpu import to_numpy
from mercer._typing import Array
from mercer.designs import Observations, TensorDesign
from mercer.designs.observations import ObservedBatch
from mercer.solvers.certificate import Solution
from mercer.solvers.problem import Problem
from mercer.solvers.smooth.newton import SAMPLE_TOLERANCE
from mercer.solvers.smooth.scaling import FewRows, Scaling, Standardising, Whitening
from mercer.stats.quadratic import HESSIAN

#: columns up to which a Hessian is factorised
MOST_WHITENED = 1500
#: rows of the sample per column, and at least
SAMPLE_PER_COLUMN, SMALLEST_SAMPLE = 8, 1000
#: … and how many times as many of a source, where they are at hand
MORE_AT_HAND = 10
#: how much of the diagonal is added to the Hessian of a sample, which may lack directions that all rows have
SAMPLE_SHRINKAGE = 1e-3


def scaling_of(problem: Problem, w: Array) -> Scaling:
    """Variables in which the Hessian at `w` is close to the identity."""
    if problem.n_columns <= MOST_WHITENED:
        few = few_rows(problem, w) if len(problem.observations) < problem.n_columns else None
        return few or Whitening.of(sampled_hessian(problem, w))
    (design, y, weight, _), factor = typical_rows(problem.observations)
    # as if no column had an effect: the expected curvature is then the same in all rows
    level = np.full(1, problem.start()[-1] if design.coordinates.intercept else 0.0)
    curvature = factor * float(problem.response.slopes(to_numpy(y[:1]), level).second[0])
    return Standardising.of(design, curvature * (np.ones(len(y)) if weight is None else weight), problem.strengths.l2)


def few_rows(problem: Problem, w: Array) -> FewRows | None:
    """Of fewer rows than columns: all of the Hessian at `w`, which is not formed."""
    if problem.observations.streamed or isinstance(problem.observations.design, TensorDesign):
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return FewRows.of(problem.observations.design, problem.row_curvatures(w), problem.strengths.l2)


def typical_rows(observations: Observations) -> tuple[ObservedBatch, float]:
    """All rows, or of a source those at hand, and how many times as many there are."""
    some = observations.some(len(observations)) if observations.streamed else observations
    assert some is not None  # there are as many
    return some.batch(slice(None)), len(observations) / len(some)


def fit_to_sample(problem: Any, solve: Callable[..., Solution]) -> Array | None:
    """Where a fit to the rows at hand of a source ends; None where it gets nowhere."""
    solution = solve(problem.on(problem.observations.some(len(problem.observations))), tolerance=SAMPLE_TOLERANCE)
    return np.asarray(solution.value) if solution.certificate.holds else None


def sampled_hessian(problem: Any, w: Array) -> Array:
    """The Hessian at `w`, from rows spread evenly over all."""
    n, p = len(problem.observations), problem.n_columns
    # one pass more would cost more than many rows at hand
    some = problem.observations.some(sample_size(p) * (MORE_AT_HAND if problem.observations.streamed else 1), of=2)
    if some is None:
        return np.asarray(problem.at(w, HESSIAN).hessian)
    return blown_up(problem.on(some).at(w, HESSIAN).hessian, n / len(some))


def sample_size(columns: int) -> int:
    """How many rows tell enough of the Hessian."""
    return max(SMALLEST_SAMPLE, SAMPLE_PER_COLUMN * columns)


def blown_up(hessian: Array, factor: float) -> Array:
    """The Hessian of a sample, times how many times more rows there are; directions that it may lack have a little."""
    hessian = hessian * factor
    hessian[np.diag_indices(len(hessian))] *= 1 + SAMPLE_SHRINKAGE
    return np.asarray(hessian)
