"""A model with a kernel instead of features: from rows and responses to f(x) + b = Σ αᵢ k(x, xᵢ) + b."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._errors import FitInterrupted
from mercer._gpu import is_tensor, to_numpy
from mercer._typing import Array
from mercer.designs.mapped import MappedDesign
from mercer.designs.mapped_tensors import LandmarkTensors, MappedTensors
from mercer.families import IDENTITY, Family, Gaussian
from mercer.families.response import Response
from mercer.features.fourier import FourierMap
from mercer.features.nystroem import NystroemMap
from mercer.kernels import Gram, Linear
from mercer.models._progress import Progress
from mercer.models.comparisons import count
from mercer.models.glm.classes import Classes
from mercer.models.glm.kind import Kind
from mercer.models.glm.negative_binomial import best_theta, estimates_r, in_turn
from mercer.models.glm.one_mean import OneMean
from mercer.models.glm.solve import Limits
from mercer.models.kernel_models._least_squares import least_squares, powers_of_2
from mercer.models.kernel_models.approximate import Approximation, approximation
from mercer.models.kernel_models.feature_function import Function, feature_function, tensor_design
from mercer.models.kernel_models.function import KernelFunction
from mercer.models.kernel_models.machine import Data, Fit, KernelFitInterrupted, Machine, refuse_no_penalty
from mercer.solvers.certificate import Solution
from mercer.solvers.span import mapped_newton
from mercer.solvers.span.kernel_losses import Losses, OfClasses, OfResponse
from mercer.solvers.span.kernel_newton import Expansion, KernelProblem, solve
from mercer.solvers.span.kernel_products import Products, products_of
from mercer.solvers.span.mapped_newton import MappedFit
from mercer.solvers.span.mapped_problem import MappedProblem
from mercer.solvers.span.tensor_losses import OnDevice

#: root mean square error of predictions, in standard deviations of the noise, that makes no practical difference
PREDICTIONS = 1e-5
#: rows times features from which on digits that make no difference cost time
MANY = 1e8
#: … of tensors of float32 that are too many for float64
SINGLE_PREDICTIONS = 5e-5
#: noise, as a portion of the targets of least squares, below which errors are compared with these
NOISE = 0.01
#: how closely an exact twin is fitted to a sample
TWIN = Limits(1e-4, 30)
#: which solvers of GLMs have a kernel form, and whether K is in memory
SOLVERS = {"auto": None, "newton": True, "newton-cg": False}


def fit_kernel(machine: Machine, X: Any, data: Data, *, start: Any = None, progress: Progress | None = None) -> Fit:
    """Fit a machine to rows; those of weight 0 are left out.

    The start is a `KernelFunction` of as many rows, or with features in its place a `MappedFit`.
    """
    refuse_no_penalty(machine.strength)
    seen, rows = data.seen, data.counted(X)
    fitting = _Fitting(machine, X, rows, data.take(seen), seen, progress)
    if machine.map is not None:
        fit = fitting.fit(start if isinstance(start, MappedFit) else None)
        try:
            return fit._replace(approximation=_approximation(machine, rows, fitting.data))
        except KeyboardInterrupt:
            message = "stopped by the user; the fit is finished, but nobody knows how good its features are."
            raise KernelFitInterrupted(message, fit) from None
    if start is None or is_tensor(rows):  # whose coefficients are of other coordinates
        return fitting.fit(None)
    return fitting.fit(Expansion(start.alpha[seen], start.intercept, np.zeros(0)))


def _approximation(machine: Machine, X: Any, data: Data) -> Approximation:
    """The machine and its exact twin, fitted to some rows with a penalty that weighs as much beside them."""

    features = machine.map
    assert features is not None

    def values(rows: Any, numbers: Array, others: Any) -> tuple[Array, Array]:
        some = data.take(numbers)
        share = some.total / data.total
        twin = replace(machine, strength=share * np.asarray(machine.strength), limits=TWIN, solver="auto", map=None)
        exact = fit_on_some(twin, rows, some).function.values(others)
        # of few rows the products of all features are fewer numbers than the features
        on_features = fit_on_some(replace(twin, kernel=Linear()), np.asarray(features(rows), float), some)
        return exact, on_features.function.values(np.asarray(features(others), float))

    outputs = int(getattr(machine.kind.response, "columns", 1))  # type: ignore[attr-defined]
    return approximation(features, machine.kernel, X, values, outputs)


def fit_on_some(machine: Machine, X: Any, data: Data) -> Fit:
    """`fit_kernel` without a look at how far an approximation is from the exact model."""
    return _Fitting(machine, X, data.counted(X), data.take(data.seen), data.seen, None).fit(None)


@dataclass(frozen=True, eq=False)
class _Fitting:
    """A machine and rows, of which those of weight above 0 count."""

    machine: Machine
    X: Any
    rows: Any
    data: Data
    seen: Array
    progress: Progress | None

    @cached_property
    def products(self) -> Products:
        return products_of(Gram(self.machine.kernel, self.rows), in_memory=SOLVERS[self.machine.solver])

    @property
    def _by_features(self) -> bool:
        """Whether it is coefficients of features that are found: those of tensors are kernels with rows."""
        return self.machine.map is not None or is_tensor(self.rows)

    @cached_property
    def design(self) -> MappedDesign | MappedTensors:
        """The rows as features see them."""
        map = self.machine.map
        if is_tensor(self.rows):
            return tensor_design(self.machine.kernel, map, self.rows, intercept=self.machine.intercept)
        assert isinstance(map, NystroemMap | FourierMap)
        return MappedDesign(map.tiles(self.rows), map.back, self.machine.intercept)

    def fit(self, start: Any) -> Fit:
        kind = self.machine.kind
        if isinstance(kind, Classes):
            losses = OfClasses(kind.response, self.data.y.astype(np.int64), self.data.weight)
            return self._solved(kind, losses, start)
        assert isinstance(kind, OneMean)
        family = kind.response.family
        if isinstance(family, Gaussian) and kind.response.link == IDENTITY and self.machine.solver == "auto":
            if self._by_features:
                return self._least_squares_on_features(kind, start)
            return self._least_squares(kind)
        if estimates_r(family):
            return self._with_r(kind.response, start)
        return self._solved(kind, self._losses(kind.response), start)

    def _losses(self, response: Response) -> OfResponse:
        return OfResponse(response, self.data.y[:, None].astype(float), self.data.weight, self.data.offset)

    @property
    def _targets(self) -> Array:
        """What functions of the rows are to come close to by least squares: (rows, targets)."""
        Y = np.asarray(self.data.y.reshape(len(self.data.y), -1), dtype=float)
        return Y if self.data.offset is None else Y - self.data.offset[:, None]

    def _least_squares_on_features(self, kind: OneMean, start: MappedFit | None) -> Fit:
        """Every target in a unit of its own, so that none is large beside the errors of another one."""
        Y = self._targets
        unit = powers_of_2(Y)
        begin = None if start is None else start._replace(w=start.w / unit)
        problem = self._problem(OfResponse(kind.response, Y / unit, self.data.weight))
        problem = replace(problem, least_noise=NOISE * float(np.sqrt(np.mean((Y / unit) ** 2))))
        return self._on_features(kind, problem, begin, unit)

    def _problem(self, losses: Losses) -> MappedProblem:
        strengths = np.broadcast_to(np.asarray(self.machine.strength, dtype=float).ravel(), losses.outputs)
        if isinstance(self.design, MappedTensors):
            assert isinstance(losses, OfResponse | OfClasses)
            return MappedProblem(self.design, OnDevice.beside(losses, self.rows), np.array(strengths))
        return MappedProblem(self.design, losses, np.array(strengths))

    def _on_features(
        self, kind: Kind, problem: MappedProblem, start: MappedFit | None, unit: Array | float = 1.0
    ) -> Fit:
        tolerance, most_steps = self.machine.limits
        # with many rows, such small fractions of a standard error make no difference to predictions
        if self._in_single or len(self.seen) * self.design.n_features > MANY:
            negligible = SINGLE_PREDICTIONS if self._in_single else PREDICTIONS
            tolerance = max(tolerance, negligible * np.sqrt(self.data.total))
        begin = None if start is None else start.w
        try:
            solution = mapped_newton.solve(
                problem, begin, tolerance=tolerance, most_steps=most_steps, progress=self.progress
            )
        except FitInterrupted as stop:
            raise KernelFitInterrupted(str(stop), self._of_features(kind, problem, stop.solution, unit)) from None
        return self._of_features(kind, problem, solution, unit)

    @property
    def _in_single(self) -> bool:
        return isinstance(self.design, MappedTensors) and self.design.is_single

    def _of_features(self, kind: Kind, problem: MappedProblem, solution: Solution, unit: Array | float) -> Fit:
        machine, r = self.machine, self.design.n_features
        found = MappedFit(solution.value.w * unit, to_numpy(solution.value.values) * unit)
        intercept = found.w[-1] if machine.intercept else np.zeros(found.w.shape[1])
        function: Function
        if isinstance(self.design, LandmarkTensors):
            alpha = self.design.of_landmarks(found.w[:r])
            function = KernelFunction(machine.kernel, to_numpy(self.design.landmarks), alpha, intercept)
        else:
            assert isinstance(machine.map, NystroemMap | FourierMap)
            function = feature_function(machine.kernel, machine.map, found.w[:r], intercept)
        path = f"Newton's method on {r} features of {len(self.seen)} rows"
        solution = replace(solution, value=found)
        exact = machine.map is None
        return Fit(function, solution, kind, path, lambda: problem, self.data, machine.intercept, is_exact=exact)

    def _solved(self, kind: Kind, losses: Losses, start: Any) -> Fit:
        if self._by_features:
            return self._on_features(kind, self._problem(losses), start)
        problem = KernelProblem(self.products, losses, float(self.machine.strength), self.machine.intercept)
        tolerance, most_steps = self.machine.limits
        path = f"Newton's method in the span of {len(self.seen)} rows, by {self.products.name}"
        try:
            solution = solve(problem, start, tolerance=tolerance, most_steps=most_steps, progress=self.progress)
        except FitInterrupted as stop:
            raise KernelFitInterrupted(str(stop), self._as_fit(kind, lambda: problem, stop.solution, path)) from None
        return self._as_fit(kind, lambda: problem, solution, path)

    def _least_squares(self, kind: OneMean) -> Fit:
        """Every target and its λ, in closed form."""
        data, intercept = self.data, self.machine.intercept
        Y = self._targets
        strengths = np.array(np.broadcast_to(np.asarray(self.machine.strength, dtype=float), Y.shape[1]))

        def problem() -> KernelProblem:
            losses = OfResponse(kind.response, Y, data.weight)
            return KernelProblem(self.products, losses, float(strengths[0]), intercept)

        span = f"least squares in the span of {len(self.seen)} rows"
        try:
            found = least_squares(self.machine.kernel, self.rows, Y, data.weight, strengths, intercept=intercept)
        except FitInterrupted as stop:
            raise KernelFitInterrupted(str(stop), self._as_fit(kind, problem, stop.solution, span)) from None
        return self._as_fit(kind, problem, found[0], f"{span}, by {found[1]}")

    def _as_fit(self, kind: Kind, problem: Callable[[], KernelProblem], solution: Solution, path: str) -> Fit:
        found: Expansion = solution.value
        alpha = np.zeros((count(self.X), found.alpha.shape[1]))
        alpha[self.seen] = found.alpha
        function = KernelFunction(self.machine.kernel, self.X, alpha, found.intercept)
        return Fit(function, solution, kind, path, problem, self.data, self.machine.intercept)

    def _with_r(self, response: Response, start: Any) -> Fit:
        """f and the r of a negative binomial in turn, as `solve_with_r` does with coefficients."""

        def fitted(family: Family, last: Fit | None) -> Fit:
            current = Response(family, response.link)
            begin = start if last is None else last.solution.value
            return self._solved(OneMean(current), self._losses(current), begin)

        return in_turn(fitted, lambda fit: best_theta(*fit.as_column()), "the function")
