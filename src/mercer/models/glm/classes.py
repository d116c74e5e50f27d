"""A categorical response: the softmax of one linear predictor per class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._errors import DataError, UnsuitableSolverError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._stored import part_of, stored, values
from mercer._typing import Array
from mercer.designs import Coordinates, Observations
from mercer.families import Categorical, CategoricalParameters, Distribution, Family
from mercer.families.penalties import Strengths
from mercer.families.softmax import SoftmaxResponse
from mercer.models._progress import Progress
from mercer.models.generative.posterior import log_posterior
from mercer.models.glm.figures import Figures
from mercer.models.glm.kind import Kind
from mercer.models.glm.rank import MOST_COLUMNS, Dependence, find_dependence
from mercer.models.glm.separation import examine_classes, weak_prior
from mercer.models.glm.settle import Settled, dependent, separated, wide
from mercer.models.glm.solve import Limits, Solved, solve
from mercer.solvers.curvature import Curvature
from mercer.solvers.smooth.softmax import SoftmaxProblem
from mercer.stats.quadratic import LOSS


@stored(labels=values("k"), response=part_of(SoftmaxResponse, k="k"))
@dataclass(frozen=True, eq=False)
class Classes(Kind):
    """One of K classes: `coef_` has a row for each, of zeros for the reference class."""

    response: SoftmaxResponse
    labels: Array

    @classmethod
    def of(cls, labels: Array, reference: Any) -> Classes:
        return cls(SoftmaxResponse(len(labels), _reference_code(reference, labels)), labels)

    def problem(self, observations: Observations, strengths: Strengths) -> SoftmaxProblem:
        if observations.has_offset:
            raise DataError(
                "a categorical response has a linear predictor for each class, to which one offset would add nothing; "
                "leave it out, or make the numbers a column of X."
            )
        if not strengths.smooth and self.response.reference is not None:
            raise UnsuitableSolverError(
                "with a reference class there is no solver for absolute values; leave `reference` out, or use an L2 "
                "penalty."
            )
        return SoftmaxProblem(observations.responses_as(np.int64), self.response, strengths)

    def solve(
        self, problem: Any, solver: str, limits: Limits, start: Array | None, progress: Progress | None
    ) -> Solved:
        return solve(problem, solver, limits, start=start, progress=progress)

    def settle(
        self, solved: Solved, names: Sequence[str], on_separation: str, limits: Limits, progress: Progress | None
    ) -> Settled:
        problem: Any = solved.problem
        dependence = find_dependence(problem.observations, problem.strengths)
        settled = Settled(solved, self._used(problem, solved.solution.value, dependence))
        if dependence is not None:
            value = dependence.smallest(solved.solution.value, problem.observations.design.coordinates)
            settled = Settled(
                solved.with_value(value),
                settled.coefficients,
                *dependent(names, dependence.columns(), dependence.constant),
            )
        elif (open_ones := wide(solved, names)) is not None:
            settled = open_ones._replace(coefficients=open_ones.coefficients * (self.response.levels - 1))
        finding = None if problem.strengths.any else self._examined(solved, names)
        if finding is None:
            return settled
        if on_separation == "firth":
            raise UnsuitableSolverError(
                f"{finding.sentence} Firth's penalised likelihood is not for categorical responses; use "
                'on_separation="ridge".'
            )
        return separated(settled, finding, on_separation, lambda: self._ridge(solved, limits, progress))

    def _used(self, problem: SoftmaxProblem, W: Array, dependence: Dependence | None) -> float:
        """How many coefficients the data have determined; see `used_coefficients`."""
        strengths, free = problem.strengths, self.response.levels - 1
        if not strengths.smooth:
            return float(
                np.count_nonzero(W - strengths.mean[:, None]) - problem.observations.design.coordinates.intercept
            )
        if strengths.l2.any() and problem.n_columns <= MOST_COLUMNS:
            curvature = Curvature.of(problem.at(problem.vector(W)).hessian)
            return curvature.rank - curvature.share(np.repeat(strengths.l2, free))
        return float((len(W) - (0 if dependence is None else dependence.rank_lost)) * free)

    def _examined(self, solved: Solved, names: Sequence[str]) -> Any:
        labels = [str(label) for label in self.labels.tolist()]
        return examine_classes(solved.problem.observations, self.response, solved.solution, names, labels)

    def _ridge(self, solved: Solved, limits: Limits, progress: Progress | None) -> Solved:
        problem: Any = solved.problem
        return solve(replace(problem, strengths=weak_prior(problem.observations)), "auto", limits, progress=progress)

    def figures(self, solved: Solved, coefficients: float, weight_kind: str) -> Figures:
        observations = solved.problem.observations.vectors_in_memory()
        if observations.streamed:
            loss = solved.problem.sums(solved.solution.value, LOSS).loss
        else:
            eta = to_numpy(observations.design.times(solved.solution.value))
            loss = self.response.loss(observations.y, eta, observations.weight)
        counts = observations.class_weights(self.response.levels)
        total = counts.sum()
        seen = counts[counts > 0]
        intercept = observations.design.coordinates.intercept
        null = -float(seen @ np.log(seen / total)) if intercept else float(total * np.log(self.response.levels))
        count = float(total if weight_kind == "frequency" else observations.heavy)
        return Figures(2 * loss, 2 * null, 1.0, count - coefficients, -loss)

    @property
    def family(self) -> Family:
        return Categorical(self.response.levels)

    def fitted(self, solved: Solved) -> Classes:
        return self

    def like(self, other: Kind) -> bool:
        return isinstance(other, Classes) and np.array_equal(self.labels, other.labels)

    def to_user(self, w: Array, coordinates: Coordinates) -> tuple[Array, Any]:
        coefficients, intercept = coordinates.to_user(self._all_columns(w))
        if self.response.reference is None:
            # a constant for all classes changes no probability, and centred ones are easier to read
            intercept = intercept - intercept.mean()
        return np.ascontiguousarray(coefficients.T), intercept

    def from_user(self, coefficients: Array, intercept: Any, coordinates: Coordinates) -> Array:
        w = coordinates.from_user(coefficients.T, intercept)
        if (reference := self.response.reference) is None:
            return w
        return np.delete(w - w[:, [reference]], reference, axis=1)

    def _all_columns(self, w: Array) -> Array:
        reference = self.response.reference
        return w if reference is None else np.insert(w, reference, 0.0, axis=1)

    def linear(self, eta: Array) -> Array:
        return like(self._all_columns(to_numpy(eta)), eta) if is_tensor(eta) else self._all_columns(eta)

    def mean(self, eta: Array) -> Array:
        return self.response.probabilities(eta)

    def log_probabilities(self, eta: Array) -> Array:
        if is_tensor(eta):
            return self.response.log_probabilities(eta)
        return log_posterior(np.array(self.linear(eta), order="C"))

    def distribution(self, eta: Array, dispersion: float) -> Distribution:
        return Distribution(self.family, CategoricalParameters(self.mean(to_numpy(eta))))


def _reference_code(reference: Any, labels: Array) -> int | None:
    """The position of the reference class."""
    if reference is None:
        return None
    known: list[Any] = labels.tolist()
    if reference not in known:
        raise DataError(f"reference={reference!r} is none of the classes {known[:10]}; give one of them, or None.")
    return known.index(reference)
