"""Kinds of response of a GLM: one mean (a number, a count, one of two labels), or the probabilities of several classes.

A `GLM` calls its `ResponseKind` for every step that differs between the two.
"""

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
from mercer.families import Categorical, CategoricalParameters, Distribution, Family
from mercer.families.penalties import Strengths
from mercer.families.response import Response, SoftmaxResponse
from mercer.linear_model._dependence import MOST_COLUMNS_OF_DEPENDENCE, Dependence, find_dependence
from mercer.linear_model.glm_figures import (
    Figures,
    adjust_figures_for_trials,
    compute_figures,
    compute_figures_of_source,
    find_overdispersion,
    find_overdispersion_of_trials,
)
from mercer.linear_model.glm_solve import (
    DiagnosedFit,
    Solved,
    SolverLimits,
    describe_dependence,
    diagnose,
    diagnose_wide,
    estimates_r,
    handle_separation,
    solve,
    solve_with_r,
)
from mercer.linear_model.separation import examine_classes, weak_prior
from mercer.matrices import Coordinates, Observations
from mercer.optim.curvature import Curvature
from mercer.optim.descent import Callback
from mercer.optim.problem import Problem
from mercer.optim.softmax import SoftmaxProblem
from mercer.stats.quadratic import LOSS


class ResponseKind(ABC):
    """Relation of a response to linear predictors. Working coefficients have shape (p,), or (p, predictors)."""

    @abstractmethod
    def problem(self, observations: Observations, strengths: Strengths) -> Any:
        """Return the problem to minimise."""

    @abstractmethod
    def solve(
        self, problem: Any, solver: str, limits: SolverLimits, start: Array | None, callback: Callback | None
    ) -> Solved:
        """Minimise the problem."""

    @abstractmethod
    def diagnose(
        self, solved: Solved, names: Sequence[str], on_separation: str, limits: SolverLimits, callback: Callback | None
    ) -> DiagnosedFit:
        """Make the coefficients unique and finite, or describe why they are not."""

    @abstractmethod
    def figures(self, solved: Solved, coefficients: float, weight_kind: str) -> Figures:
        """Return deviance, dispersion, degrees of freedom and log likelihood."""

    @property
    def n_free_predictors(self) -> int:
        """Number of linear predictors that are not determined by the others."""
        return 1

    def overdispersion(self, figures: Figures) -> tuple[Finding, ...]:
        """Return a finding if the responses spread more than the family allows."""
        return find_overdispersion(self.family, figures)

    @property
    @abstractmethod
    def family(self) -> Family:
        """The family, with its estimated parameters after a fit."""

    @abstractmethod
    def fitted(self, solved: Solved) -> ResponseKind:
        """Return the kind with the estimated parameters of the family."""

    @abstractmethod
    def is_like(self, other: ResponseKind) -> bool:
        """Return whether coefficients of this kind are a start for the other kind."""

    @abstractmethod
    def to_user(self, w: Array, coordinates: Coordinates) -> tuple[Array, Any]:
        """Convert working coefficients to `coef_` and `intercept_`."""

    @abstractmethod
    def from_user(self, coefficients: Array, intercept: Any, coordinates: Coordinates) -> Array:
        """Convert `coef_` and `intercept_` to working coefficients."""

    @abstractmethod
    def linear(self, eta: Array) -> Array:
        """Return the linear predictors, with zeros for a reference class."""

    @abstractmethod
    def mean(self, eta: Array) -> Array:
        """Return the mean of y, or the probabilities of the classes."""

    @abstractmethod
    def log_probabilities(self, eta: Array) -> Array:
        """Return log p of each class, for labels."""

    @abstractmethod
    def distribution(self, eta: Array, dispersion: float) -> Distribution:
        """Return p(y|x) of every row."""


@stored(trials=optional(reals()))
@dataclass(frozen=True, eq=False)
class MeanResponse(ResponseKind):
    """Response with one linear predictor and a link: a number, a count, or one of two labels."""

    response: Response
    #: number of trials behind each share in the rows of a fit; None if the family fixes the number of trials
    trials: Array | None = None

    def problem(self, observations: Observations, strengths: Strengths) -> Problem:
        return Problem(observations, self.response, strengths)

    def solve(
        self, problem: Any, solver: str, limits: SolverLimits, start: Array | None, callback: Callback | None
    ) -> Solved:
        minimise = solve_with_r if estimates_r(self.response.family) else solve
        return minimise(problem, solver, limits, start=start, callback=callback)

    def diagnose(
        self, solved: Solved, names: Sequence[str], on_separation: str, limits: SolverLimits, callback: Callback | None
    ) -> DiagnosedFit:
        return diagnose(solved, names, on_separation, limits, callback)

    def figures(self, solved: Solved, coefficients: float, weight_kind: str) -> Figures:
        compute = compute_figures_of_source if solved.problem.observations.streamed else compute_figures
        found = compute(solved.problem, solved.solution.coef, coefficients, weight_kind)
        if self.trials is None:
            return found
        return adjust_figures_for_trials(found, solved.problem.observations, coefficients, weight_kind, self.trials)

    def overdispersion(self, figures: Figures) -> tuple[Finding, ...]:
        return (
            super().overdispersion(figures)
            if self.trials is None
            else find_overdispersion_of_trials(figures, self.trials)
        )

    @property
    def family(self) -> Family:
        return self.response.family

    def fitted(self, solved: Solved) -> MeanResponse:
        return MeanResponse(solved.problem.response)

    def is_like(self, other: ResponseKind) -> bool:
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
                "the fit has as many coefficients as rows, so that the dispersion is not determined; fit to more rows, "
                "or give the dispersion, e.g. Gaussian(variance=…)."
            )
        return Distribution(self.response.family, self.response.family.at_mean(self.mean(to_numpy(eta)), dispersion))


@stored(labels=values("k"), response=part_of(SoftmaxResponse, k="k"))
@dataclass(frozen=True, eq=False)
class ClassResponse(ResponseKind):
    """One of K classes, by the softmax of a linear predictor per class.

    `coef_` has a row for each class, of zeros for the reference class.
    """

    response: SoftmaxResponse
    labels: Array

    @property
    def n_free_predictors(self) -> int:
        return self.response.levels - 1

    @classmethod
    def of(cls, labels: Array, reference: Any) -> ClassResponse:
        """Return the response with these labels; `reference` is one of them, or None."""
        if reference is None:
            return cls(SoftmaxResponse(len(labels), None), labels)
        known: list[Any] = labels.tolist()
        if reference not in known:
            raise DataError(f"reference={reference!r} is none of the classes {known[:10]}; give one of them, or None.")
        return cls(SoftmaxResponse(len(labels), known.index(reference)), labels)

    def problem(self, observations: Observations, strengths: Strengths) -> SoftmaxProblem:
        if observations.has_offset:
            raise DataError(
                "a categorical response has a linear predictor for each class, and one offset added to all of them has "
                "no effect; leave it out, or make the numbers a column of X."
            )
        if not strengths.smooth and self.response.reference is not None:
            raise UnsuitableSolverError(
                "with a reference class there is no solver for absolute values; leave `reference` out, or use an L2 "
                "penalty."
            )
        return SoftmaxProblem(observations.responses_as(np.int64), self.response, strengths)

    def solve(
        self, problem: Any, solver: str, limits: SolverLimits, start: Array | None, callback: Callback | None
    ) -> Solved:
        return solve(problem, solver, limits, start=start, callback=callback)

    def diagnose(
        self, solved: Solved, names: Sequence[str], on_separation: str, limits: SolverLimits, callback: Callback | None
    ) -> DiagnosedFit:
        problem: Any = solved.problem
        # 1. coefficients that are not unique: take the smallest
        dependence = find_dependence(problem.observations, problem.strengths)
        used = self._used_coefficients(problem, solved.solution.coef, dependence)
        if dependence is not None:
            value = dependence.smallest(solved.solution.coef, problem.observations.design.coordinates)
            fit = DiagnosedFit(
                solved.with_coef(value),
                used,
                *describe_dependence(names, dependence.columns(), dependence.constant),
            )
        elif (wide := diagnose_wide(solved, names)) is not None:
            fit = wide._replace(effective_parameters=wide.effective_parameters * self.n_free_predictors)
        else:
            fit = DiagnosedFit(solved, used)
        # 2. separated classes: infinite coefficients
        if problem.strengths.any:
            return fit
        labels = [str(label) for label in self.labels.tolist()]
        finding = examine_classes(problem.observations, self.response, solved.solution, names, labels)
        if finding is None:
            return fit
        if on_separation == "firth":
            raise UnsuitableSolverError(
                f"{finding.sentence} Firth's penalised likelihood is not for categorical responses; use "
                'on_separation="ridge".'
            )

        def ridge() -> Solved:
            weak = replace(problem, strengths=weak_prior(problem.observations))
            return solve(weak, "auto", limits, callback=callback)

        return handle_separation(fit, finding, on_separation, ridge)

    def _used_coefficients(self, problem: SoftmaxProblem, W: Array, dependence: Dependence | None) -> float:
        """Return the number of coefficients that the data have determined; see `used_coefficients`."""
        strengths, free = problem.strengths, self.n_free_predictors
        if not strengths.smooth:
            return float(
                np.count_nonzero(W - strengths.mean[:, None]) - problem.observations.design.coordinates.intercept
            )
        if strengths.l2.any() and problem.n_columns <= MOST_COLUMNS_OF_DEPENDENCE:
            curvature = Curvature.of(problem.at(problem.vector(W)).hessian)
            return curvature.rank - curvature.share(np.repeat(strengths.l2, free))
        return float((len(W) - (0 if dependence is None else dependence.rank_lost)) * free)

    def figures(self, solved: Solved, coefficients: float, weight_kind: str) -> Figures:
        observations = solved.problem.observations.vectors_in_memory()
        if observations.streamed:
            loss = solved.problem.sums(solved.solution.coef, LOSS).loss
        else:
            eta = to_numpy(observations.design.matvec(solved.solution.coef))
            loss = self.response.loss(observations.y, eta, observations.weight)
        counts = observations.class_weights(self.response.levels)
        total = counts.sum()
        if observations.design.coordinates.intercept:
            positive = counts[counts > 0]
            null = -float(positive @ np.log(positive / total))
        else:
            null = float(total * np.log(self.response.levels))
        count = float(total if weight_kind == "frequency" else observations.heavy)
        return Figures(2 * loss, 2 * null, 1.0, count - coefficients, -loss)

    @property
    def family(self) -> Family:
        return Categorical(self.response.levels)

    def fitted(self, solved: Solved) -> ClassResponse:
        return self

    def is_like(self, other: ResponseKind) -> bool:
        return isinstance(other, ClassResponse) and np.array_equal(self.labels, other.labels)

    def to_user(self, w: Array, coordinates: Coordinates) -> tuple[Array, Any]:
        coefficients, intercept = coordinates.to_user(self._all_columns(w))
        if self.response.reference is None:
            # adding a constant for all classes changes no probability, and centred intercepts are easier to read
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
