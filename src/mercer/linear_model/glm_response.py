"""A categorical response: the softmax of one linear predictor per class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._errors import DataError, DegenerateDataError, UnsuitableSolverError
from mercer._gpu import is_tensor, like, to_numpy
from mercer._stored import optional, part_of, reals, stored, values
from mercer._typing import Array
from mercer.base.diagnosis import Finding
from mercer.base.posterior import log_posterior
from mercer.base.progress import Progress
from mercer.families import Categorical, CategoricalParameters, Distribution, Family
from mercer.families.penalties import Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.linear_model._dependence import MOST_COLUMNS, Dependence, find_dependence
from mercer.linear_model.glm_figures import (
    Figures,
    figures,
    figures_of_counts,
    overdispersion,
    overdispersion_of_counts,
    streamed_figures,
)
from mercer.linear_model.glm_solve import (
    Settled,
    Solved,
    SolverLimits,
    dependent,
    estimates_r,
    separated,
    settle,
    solve,
    solve_with_r,
    wide,
)
from mercer.linear_model.separation import examine_classes, weak_prior
from mercer.matrices import Coordinates, Observations
from mercer.optim.curvature import Curvature
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem
from mercer.stats.quadratic import LOSS

# What kinds of response there are: of one mean, or of several classes. A `GLM` asks its kind for all that differs.


class ResponseKind(ABC):
    """How a response depends on linear predictors. Working coefficients have shape (p,), or (p, predictors)."""

    @abstractmethod
    def problem(self, observations: Observations, strengths: Strengths) -> Any:
        """What is to be minimised."""

    @abstractmethod
    def solve(
        self, problem: Any, solver: str, limits: SolverLimits, start: Array | None, progress: Progress | None
    ) -> Solved:
        """Minimise it."""

    @abstractmethod
    def settle(
        self, solved: Solved, names: Sequence[str], on_separation: str, limits: SolverLimits, progress: Progress | None
    ) -> Settled:
        """Make the answer unique and finite."""

    @abstractmethod
    def figures(self, solved: Solved, coefficients: float, weight_kind: str) -> Figures:
        """Deviance, dispersion and the like."""

    def overdispersion(self, figures: Figures) -> tuple[Finding, ...]:
        """Whether the rows spread more than the family allows."""
        return overdispersion(self.family, figures)

    @property
    @abstractmethod
    def family(self) -> Family:
        """With the parameters that were estimated."""

    @abstractmethod
    def fitted(self, solved: Solved) -> ResponseKind:
        """The kind with parameters of the family as they were estimated."""

    @abstractmethod
    def like(self, other: ResponseKind) -> bool:
        """Whether its coefficients are a start for those of the other."""

    @abstractmethod
    def to_user(self, w: Array, coordinates: Coordinates) -> tuple[Array, Any]:
        """Working coefficients -> `coef_`, `intercept_`."""

    @abstractmethod
    def from_user(self, coefficients: Array, intercept: Any, coordinates: Coordinates) -> Array:
        """The inverse of `to_user`."""

    @abstractmethod
    def linear(self, eta: Array) -> Array:
        """The linear predictors as the user sees them."""

    @abstractmethod
    def mean(self, eta: Array) -> Array:
        """Mean of y, or probabilities of the classes."""

    @abstractmethod
    def log_probabilities(self, eta: Array) -> Array:
        """log p of each class, where the response is one of several."""

    @abstractmethod
    def distribution(self, eta: Array, dispersion: float) -> Distribution:
        """p(y|x) of rows."""


# A response of one mean: a number, a count, or one of two labels.


@stored(trials=optional(reals()))
@dataclass(frozen=True, eq=False)
class MeanResponse(ResponseKind):
    """One linear predictor, seen through a link."""

    response: Response
    #: of the rows of a fit, the number of trials that each share is of; None where the family says it
    trials: Array | None = None

    def problem(self, observations: Observations, strengths: Strengths) -> Problem:
        return Problem(observations, self.response, strengths)

    def solve(
        self, problem: Any, solver: str, limits: SolverLimits, start: Array | None, progress: Progress | None
    ) -> Solved:
        find = solve_with_r if estimates_r(self.response.family) else solve
        return find(problem, solver, limits, start=start, progress=progress)

    def settle(
        self, solved: Solved, names: Sequence[str], on_separation: str, limits: SolverLimits, progress: Progress | None
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

    def fitted(self, solved: Solved) -> MeanResponse:
        return MeanResponse(solved.problem.response)

    def like(self, other: ResponseKind) -> bool:
        return isinstance(other, MeanResponse)

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


@stored(labels=values("k"), response=part_of(SoftmaxResponse, k="k"))
@dataclass(frozen=True, eq=False)
class ClassResponse(ResponseKind):
    """One of K classes: `coef_` has a row for each, of zeros for the reference class."""

    response: SoftmaxResponse
    labels: Array

    @classmethod
    def of(cls, labels: Array, reference: Any) -> ClassResponse:
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
        self, problem: Any, solver: str, limits: SolverLimits, start: Array | None, progress: Progress | None
    ) -> Solved:
        return solve(problem, solver, limits, start=start, progress=progress)

    def settle(
        self, solved: Solved, names: Sequence[str], on_separation: str, limits: SolverLimits, progress: Progress | None
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

    def _ridge(self, solved: Solved, limits: SolverLimits, progress: Progress | None) -> Solved:
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

    def fitted(self, solved: Solved) -> ClassResponse:
        return self

    def like(self, other: ResponseKind) -> bool:
        return isinstance(other, ClassResponse) and np.array_equal(self.labels, other.labels)

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
