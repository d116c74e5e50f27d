"""Where to begin where not every η has a mean: a start from which each row has one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._errors import DegenerateDataError
from mercer._gpu import is_tensor
from mercer._stored import stored
from mercer._typing import Array
from mercer.families.response import Response, Slopes, in_memory
from mercer.solvers.curvature import Curvature
from mercer.solvers.problem import Problem
from mercer.stats.quadratic import LOSS

MOST_HALVINGS = 30


@stored()
@dataclass(frozen=True)
class Midway(Response):
    """Squares of η − Xw, where η belongs to the mean halfway between y and the mean of all responses."""

    centre: float

    def slopes(self, y: Array, eta: Array, weight: Array | None = None) -> Slopes:
        if is_tensor(eta):
            return in_memory(self.slopes, y, eta, weight)
        mean = (y + self.centre) / 2
        wanted = self.predictor(mean)
        bend = self.whole * self.link.slope(wanted)
        second = np.square(bend) / self.family.unit_variance(mean)
        second = second if weight is None else weight * second
        return Slopes(0.0, second * (eta - wanted), second)


def feasible_start(problem: Problem) -> Array:
    """A start for links such as the inverse, the root, or the identity of a positive mean.

    The least squares fit to Midway, drawn back towards a constant mean until every row has a mean.
    """
    plain = problem.start()
    fitted = _midway_fit(problem)
    for share in (*(0.5**k for k in range(MOST_HALVINGS)), 0.0):
        start = share * fitted + (1 - share) * plain
        with np.errstate(all="ignore"):
            if np.isfinite(problem.at(start, LOSS).value):
                return start
    if not all(np.isfinite(part).all() for part in (problem.observations.mean_response, fitted)):
        return plain  # not finite for another reason: for the caller to find
    raise DegenerateDataError(
        f"no start was found from which every row has a mean under {problem.response.link!r}: the linear predictor "
        "has to be above 0 in all rows. Use link='log', or fit an intercept."
    )


def _midway_fit(problem: Problem) -> Array:
    observations = problem.observations
    response = Midway(problem.response.family, problem.response.link, observations.mean_response)
    with np.errstate(all="ignore"):
        slope = replace(problem, response=response).at(np.zeros(problem.n_columns))
    if not np.isfinite(slope.hessian).all():
        return np.full(problem.n_columns, np.nan)
    return -Curvature.of(slope.hessian).solve(slope.gradient)
