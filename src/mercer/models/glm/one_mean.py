"""A response of one mean: a number, a count, or one of two labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import DegenerateDataError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._stored import optional, reals, stored
from mercer._typing import Array
from mercer.designs import Coordinates, Observations
from mercer.families import Distribution, Family
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.models._progress import Progress
from mercer.models.diagnosis import Finding
from mercer.models.glm._overdispersion import overdispersion_of_counts
from mercer.models.glm._streamed_figures import streamed_figures
from mercer.models.glm.figures import Figures, figures, figures_of_counts
from mercer.models.glm.kind import Kind
from mercer.models.glm.negative_binomial import estimates_r, solve_with_r
from mercer.models.glm.settle import Settled, settle
from mercer.models.glm.solve import Limits, Solved, solve
from mercer.solvers.problem import Problem


@stored(trials=optional(reals()))
@dataclass(frozen=True, eq=False)
class OneMean(Kind):
    """One linear predictor, seen through a link."""

    response: Response
    #: of the rows of a fit, the number of trials that each share is of; None where the family says it
    trials: Array | None = None

    def problem(self, observations: Observations, strengths: Strengths) -> Problem:
        return Problem(observations, self.response, strengths)

    def solve(
        self, problem: Any, solver: str, limits: Limits, start: Array | None, progress: Progress | None
    ) -> Solved:
        find = solve_with_r if estimates_r(self.response.family) else solve
        return find(problem, solver, limits, start=start, progress=progress)

    def settle(
        self, solved: Solved, names: Sequence[str], on_separation: str, limits: Limits, progress: Progress | None
    ) -> Settled:
        return settle(solved, names, on_separation, limits, progress)

    def figures(self, solved: Solved, coefficients: float, weight_kind: str) -> Figures:
        find = streamed_figures if solved.problem.observations.streamed else figures
        found = find(solved.problem, solved.solution.value, coefficients, weight_kind)
        if self.trials is None:
            return found
        return figures_of_counts(found, solved.problem.observations, coefficients, weight_kind, self.trials)

    def overdispersion(self, figures: Figures) -> tuple[Finding, ...]:
        return (
            super().overdispersion(figures) if self.trials is None else overdispersion_of_counts(figures, self.trials)
        )

    @property
    def family(self) -> Family:
        return self.response.family

    def fitted(self, solved: Solved) -> OneMean:
        return OneMean(solved.problem.response)

    def like(self, other: Kind) -> bool:
        return isinstance(other, OneMean)

    def to_user(self, w: Array, coordinates: Coordinates) -> tuple[Array, Any]:
        coefficients, intercept = coordinates.to_user(w)
        return coefficients, float(intercept)

    def from_user(self, coefficients: Array, intercept: Any, coordinates: Coordinates) -> Array:
        return coordinates.from_user(coefficients, intercept)

    def linear(self, eta: Array) -> Array:
        return eta

    def mean(self, eta: Array) -> Array:
        return self.response.mean(eta)

    def log_probabilities(self, eta: Array) -> Array:
        # the loss of a label is its −log p, which keeps its digits where p is next to 0 or 1
        if is_tensor(eta):
            return like(self.log_probabilities(to_numpy(eta)), eta)  # type: ignore[no-any-return]
        return np.column_stack([-self.response.losses(np.full(len(eta), label), eta) for label in (0.0, 1.0)])

    def distribution(self, eta: Array, dispersion: float) -> Distribution:
        if np.isnan(dispersion):
            raise DegenerateDataError(
                "the fit has as many coefficients as rows, so that nothing tells how far responses spread; fit to more "
                "rows, or give the dispersion, e.g. Gaussian(variance=…)."
            )
        return Distribution(self.response.family, self.response.family.at_mean(self.mean(to_numpy(eta)), dispersion))
