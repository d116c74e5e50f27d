"""Fit a model with a kernel instead of features: f(x) + b = Σ αᵢ k(x, xᵢ) + b.

`fit_kernel` minimises Σ weight · loss + λ/2 ‖f‖² for any `ResponseKind`, in the span of the rows or on features that
approximate the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import NoRepresenterError, NotConvergedWarning, PenaltyError
from mercer._gpu import is_tensor, to_numpy
from mercer._typing import Array
from mercer.base.validation import complete_unless_interrupted
from mercer.families import IDENTITY, Family, Gaussian
from mercer.families import ElasticNet as Mixed
from mercer.families.penalties import L2, Penalty, Strengths
from mercer.families.response import Response
from mercer.kernel_approximation.approximate import Approximation, Map, assess_approximation
from mercer.kernel_approximation.fourier import FourierMap
from mercer.kernel_approximation.function import Function, KernelFunction, feature_function, tensor_design
from mercer.kernel_approximation.nystroem_map import NystroemMap
from mercer.kernels import Gram, Kernel, Linear
from mercer.kernels.inputs import count, take
from mercer.linear_model.glm_response import ClassResponse, MeanResponse, ResponseKind
from mercer.linear_model.glm_solve import SolverLimits, alternate_with_r, estimate_theta, estimates_r
from mercer.matrices import Coordinates, DenseMatrix, Observations
from mercer.matrices.mapped import MappedMatrix
from mercer.matrices.mapped_tensors import LandmarkTensors, MappedTensors
from mercer.optim.certificate import Solution
from mercer.optim.descent import Callback
from mercer.optim.span import mapped_newton
from mercer.optim.span.losses import ArrayLosses, ClassRowLosses, ResponseLosses
from mercer.optim.span.mapped_newton import MappedFit, MappedProblem
from mercer.optim.span.newton import KernelExpansion, KernelProblem, solve
from mercer.optim.span.products import KernelProducts, make_products
from mercer.optim.span.ridge import DualFit, kernel_ridge, residual_certificate
from mercer.optim.span.system import RidgeSystem
from mercer.optim.span.tensor_losses import TensorRowLosses

#: reason why only penalties of the norm have a kernel form
REPRESENTER_THEOREM = (
    "By the representer theorem the optimum lies in the span of the rows only if the penalty is an increasing function "
    "of the norm ‖w‖"
)
#: remedy for other penalties
WRITE_OUT_FEATURES = "Write the features out, e.g. with kernel.feature_map(columns) or Nystroem"


@dataclass(frozen=True, eq=False)
class KernelData:
    """Responses of the rows (numbers, codes, or a column for each target), their weights and offsets."""

    y: Array
    weight: Array | None = None
    offset: Array | None = None

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def positive(self) -> Array:
        """Indices of the rows of positive weight."""
        return np.arange(len(self.y)) if self.weight is None else np.flatnonzero(self.weight)

    def counted(self, X: Any) -> Any:
        """Return the rows of X that have positive weight."""
        return X if len(self.positive) == len(self.y) else take(X, self.positive)

    def take(self, rows: Array) -> KernelData:
        weight, offset = (None if part is None else part[rows] for part in (self.weight, self.offset))
        return KernelData(self.y[rows], weight, offset)


@dataclass(frozen=True, eq=False)
class KernelProblemSpec:
    """Specification of a norm-regularised model: kind of response, and λ/2 ‖f‖² with one λ or one for each target."""

    kernel: Kernel
    kind: ResponseKind
    strength: Array | float
    intercept: bool
    limits: SolverLimits
    solver: str = "auto"
    #: features that approximate the kernel; None for the exact kernel
    map: Map | None = None


class KernelFit(NamedTuple):
    """Fitted function, its solution with a certificate, and the kind of response with its estimated parameters."""

    function: Function
    solution: Solution
    kind: ResponseKind
    path: str
    #: the problem that was minimised over the rows of positive weight, and their responses
    problem: Callable[[], KernelProblem | MappedProblem]
    data: KernelData
    intercept: bool
    approximation: Approximation | None = None
    #: whether the kernel itself was used, not features that approximate it
    is_exact: bool = True

    def as_column(self) -> tuple[Any, Array]:
        """Return a GLM problem whose only column is f, and its coefficient 1, from which figures are computed."""
        eta, intercept, data = self.solution.coef.values, self.intercept, self.data
        outputs = eta.shape[1]
        design = DenseMatrix(eta, Coordinates.plain(outputs, intercept=intercept))
        problem = self.kind.problem(
            Observations(design, data.y, data.weight, data.offset), Strengths.none(outputs + intercept)
        )
        ones = np.eye(outputs + intercept, outputs)
        return problem, ones if isinstance(self.kind, ClassResponse) else ones[:, 0]


def check_has_penalty(strength: Array | float) -> None:
    """Raise `PenaltyError` unless every λ is above 0."""
    given = np.atleast_1d(np.asarray(strength, dtype=float))
    if (wrong := ~(np.isfinite(given) & (given > 0))).any():
        raise PenaltyError(
            f"a model with a kernel needs a penalty above 0, but its strength is {given[np.argmax(wrong)]:g}. Without "
            "one, the optimum need not lie in the span of the rows: if the kernel matrix is singular it is not unique, "
            "and otherwise every row is fitted exactly. Give a small one, such as 1e-6."
        )


def kernel_convergence_warnings(fit: KernelFit, limits: SolverLimits) -> tuple[NotConvergedWarning, ...]:
    """Return a warning with the evidence and one remedy; none if the certificate holds."""
    certificate = fit.solution.certificate
    if certificate.holds:
        return ()
    if fit.solution.n_iter >= limits.most_steps:
        remedy = (
            f"It was stopped after {limits.most_steps} steps; allow more of them (max_iter={10 * limits.most_steps})."
        )
    elif isinstance(design := getattr(fit.problem(), "design", None), MappedTensors) and design.is_single:
        remedy = (
            f"Rounding of float32, in which {len(design.X):,} rows and their kernels are computed, allows no further "
            "step, and predictions may be off by as much: give float64 tensors, X.double(), or have fewer landmarks "
            "(approximate=Nystroem(n_components=…)), or raise the penalty."
        )
    else:
        remedy = (
            "Rounding allows no further step: bring the columns to mean 0 and spread 1, e.g. with StandardScaler, "
            "raise the penalty, or use a larger tol."
        )
    return (NotConvergedWarning(f"the fit with {fit.function.kernel!r} has not converged: {certificate}. {remedy}"),)


def norm_strength(penalty: Penalty | None) -> float:
    """Return λ of a penalty λ/2 ‖w‖², 0 for None, or raise an error if the penalty is not of this form."""
    if penalty is None:
        return 0.0
    strengths = penalty.strengths(1) if np.ndim(penalty.strength) == np.ndim(penalty.mean) == 0 else None
    if not isinstance(penalty, L2 | Mixed) or (strengths is not None and strengths.l1.any()):
        raise NoRepresenterError(
            f"{penalty!r} has no kernel form. {REPRESENTER_THEOREM}, and Σ|w| depends on the axes that w is written "
            f"in. {WRITE_OUT_FEATURES}, and fit a GLM to those, or use penalty='l2'."
        )
    if strengths is None or strengths.mean.any():
        raise PenaltyError(
            f"with a kernel the coefficients of features are never computed, so that {penalty!r} cannot have a "
            "strength or a mean for each; give L2(strength) with one number. A strength for a column is a scale of it."
        )
    return float(strengths.l2[0])


def kernel_least_squares(
    kernel: Kernel, X: Any, Y: Array, weight: Array | None, strengths: Array, *, intercept: bool
) -> tuple[Solution, str]:
    """Minimise Σ weight (y − f − b)²/2 + λ/2 ‖f‖² for each target; return the solution and its path.

    The optimum solves (K + λW⁻¹) α = y − b with Σ α = 0. These equations of kernel ridge regression are solved for y
    and for a target of ones, which together give the intercept b, which is not penalised.
    """
    unit = powers_of_2(Y)  # so that sums of the largest numbers do not overflow
    level = np.average(Y / unit, axis=0, weights=weight) if intercept else np.zeros(Y.shape[1])
    scale = powers_of_2(Y / unit - level)
    centred = (Y / unit - level) / scale
    distinct, position = np.unique(strengths, return_inverse=True)
    ones = np.ones((len(Y), len(distinct))) if intercept else np.zeros((len(Y), 0))
    system = RidgeSystem.of(kernel, X, np.hstack([centred, ones]), weight)
    alphas = np.concatenate([strengths, distinct]) if intercept else strengths

    def to_solution(fit: DualFit) -> Solution:
        alpha, b = fit.coefficients[:, : Y.shape[1]], np.zeros(Y.shape[1])
        if intercept:
            of_ones = fit.coefficients[:, Y.shape[1] :]
            b = alpha.sum(axis=0) / of_ones.sum(axis=0)[position]
            alpha = alpha - of_ones[:, position] * b
        unweighted = alpha if weight is None else alpha / weight[:, None]
        centred_system = RidgeSystem(system.K, system.rough, centred - b, weight)
        error, _ = centred_system.compute_residual(centred_system.apply_roots(unweighted), strengths)
        values = ((centred - strengths * unweighted) * scale + level) * unit
        found = KernelExpansion(alpha * scale * unit, (b * scale + level) * unit, values)
        return Solution(found, residual_certificate(error))

    solution = kernel_ridge(system, alphas)
    found = to_solution(solution.coef)
    if solution.interrupted:
        found = replace(found, certificate=found.certificate.after_interruption(), interrupted=True)
    return found, str(solution.coef.path)


def powers_of_2(Y: Array) -> Array:
    """Return the power of 2 next to the size of each column, which scales without rounding; 1 for columns of zeros."""
    size = np.abs(Y).max(axis=0, initial=0.0)
    return np.asarray(np.exp2(np.floor(np.log2(np.where(size > 0, size, 1.0)))))


#: root mean square error of predictions, in standard deviations of the noise, that makes no practical difference
NEGLIGIBLE_PREDICTION_ERROR = 1e-5
#: rows times features from which on the tolerance is relaxed to errors that make no practical difference
MANY_FEATURE_ENTRIES = 1e8
#: `NEGLIGIBLE_PREDICTION_ERROR` for float32 tensors that are too large for float64
NEGLIGIBLE_PREDICTION_ERROR_OF_SINGLE = 5e-5
#: least noise, as a portion of the targets of least squares, that errors are compared with
LEAST_NOISE = 0.01
#: limits of the exact and the approximate fit to a sample, whose comparison measures the approximation
TWIN_LIMITS = SolverLimits(1e-4, 30)
#: solvers of GLMs that have a kernel form, and whether K is in memory
KERNEL_SOLVERS = {"auto": None, "newton": True, "newton-cg": False}


def fit_kernel(
    spec: KernelProblemSpec, X: Any, data: KernelData, *, start: Any = None, callback: Callback | None = None
) -> KernelFit:
    """Fit a model with a kernel to rows; those of weight 0 are left out.

    `start` is a `KernelFunction` of the same number of rows or, with features, a `MappedFit`.
    """
    check_has_penalty(spec.strength)
    positive, rows = data.positive, data.counted(X)
    fitter = KernelFitter(spec, X, rows, data.take(positive), positive, callback)
    if spec.map is not None:
        fit = fitter.fit(start if isinstance(start, MappedFit) else None)
        approximation = complete_unless_interrupted(fit.solution, lambda: _compare_with_exact(spec, rows, fitter.data))
        if approximation is None:
            return fit._replace(solution=replace(fit.solution, interrupted=True))
        return fit._replace(approximation=approximation)
    if start is None or is_tensor(rows):  # the coefficients of tensors refer to other coordinates
        return fitter.fit(None)
    return fitter.fit(KernelExpansion(start.alpha[positive], start.intercept, np.zeros(0)))


def _compare_with_exact(spec: KernelProblemSpec, X: Any, data: KernelData) -> Approximation:
    """Compare the features with the exact kernel by fits to samples, with the penalty scaled to the sample's weight."""
    features = spec.map
    assert features is not None

    def values(rows: Any, numbers: Array, others: Any) -> tuple[Array, Array]:
        sample = data.take(numbers)
        strength = sample.total / data.total * np.asarray(spec.strength)
        twin = replace(spec, strength=strength, limits=TWIN_LIMITS, solver="auto", map=None)
        exact = fit_without_comparison(twin, rows, sample).function.values(others)
        # a sample has fewer rows than features: a linear kernel of the features is the smaller problem
        on_features = fit_without_comparison(replace(twin, kernel=Linear()), np.asarray(features(rows), float), sample)
        return exact, on_features.function.values(np.asarray(features(others), float))

    outputs = int(getattr(spec.kind.response, "columns", 1))  # type: ignore[attr-defined]
    return assess_approximation(features, spec.kernel, X, values, outputs)


def fit_without_comparison(spec: KernelProblemSpec, X: Any, data: KernelData) -> KernelFit:
    """Fit as `fit_kernel` does, without a comparison of an approximation with the exact model."""
    fit = KernelFitter(spec, X, data.counted(X), data.take(data.positive), data.positive, None).fit(None)
    fit.solution.require_completion()
    return fit


@dataclass(frozen=True, eq=False)
class KernelFitter:
    """Fit of one model; `rows` and `data` are those of positive weight, at the indices `positive` of X."""

    spec: KernelProblemSpec
    X: Any
    rows: Any
    data: KernelData
    positive: Array
    callback: Callback | None

    @cached_property
    def products(self) -> KernelProducts:
        return make_products(Gram(self.spec.kernel, self.rows), in_memory=KERNEL_SOLVERS[self.spec.solver])

    @property
    def _uses_features(self) -> bool:
        """True if coefficients of features are found; with tensors the features are kernels with landmark rows."""
        return self.spec.map is not None or is_tensor(self.rows)

    @cached_property
    def design(self) -> MappedMatrix | MappedTensors:
        """The design of the features."""
        map = self.spec.map
        if is_tensor(self.rows):
            return tensor_design(self.spec.kernel, map, self.rows, intercept=self.spec.intercept)
        assert isinstance(map, NystroemMap | FourierMap)
        return MappedMatrix(map.tiles(self.rows), map.back, self.spec.intercept)

    def fit(self, start: Any) -> KernelFit:
        kind = self.spec.kind
        if isinstance(kind, ClassResponse):
            losses = ClassRowLosses(kind.response, self.data.y.astype(np.int64), self.data.weight)
            return self._fit_by_newton(kind, losses, start)
        assert isinstance(kind, MeanResponse)
        family = kind.response.family
        if isinstance(family, Gaussian) and kind.response.link == IDENTITY and self.spec.solver == "auto":
            if self._uses_features:
                return self._fit_least_squares_on_features(kind, start)
            return self._fit_least_squares(kind)
        if estimates_r(family):
            return self._fit_with_r(kind.response, start)
        return self._fit_by_newton(kind, self._losses(kind.response), start)

    def _losses(self, response: Response) -> ResponseLosses:
        return ResponseLosses(response, self.data.y[:, None].astype(float), self.data.weight, self.data.offset)

    @property
    def _targets(self) -> Array:
        """Targets of least squares, of shape (rows, targets)."""
        Y = np.asarray(self.data.y.reshape(len(self.data.y), -1), dtype=float)
        return Y if self.data.offset is None else Y - self.data.offset[:, None]

    def _fit_least_squares_on_features(self, kind: MeanResponse, start: MappedFit | None) -> KernelFit:
        """Fit every target, each scaled to size one, so that no target is large beside the errors of another."""
        Y = self._targets
        unit = powers_of_2(Y)
        begin = None if start is None else start._replace(w=start.w / unit)
        problem = self._problem(ResponseLosses(kind.response, Y / unit, self.data.weight))
        problem = replace(problem, least_noise=LEAST_NOISE * float(np.sqrt(np.mean((Y / unit) ** 2))))
        return self._fit_on_features(kind, problem, begin, unit)

    def _problem(self, losses: ArrayLosses) -> MappedProblem:
        strengths = np.broadcast_to(np.asarray(self.spec.strength, dtype=float).ravel(), losses.outputs)
        if isinstance(self.design, MappedTensors):
            assert isinstance(losses, ResponseLosses | ClassRowLosses)
            return MappedProblem(self.design, TensorRowLosses.on_device_of(losses, self.rows), np.array(strengths))
        return MappedProblem(self.design, losses, np.array(strengths))

    def _fit_on_features(
        self, kind: ResponseKind, problem: MappedProblem, start: MappedFit | None, unit: Array | float = 1.0
    ) -> KernelFit:
        tolerance, most_steps = self.spec.limits
        # with many rows, small fractions of a standard error make no difference to predictions
        is_single = isinstance(self.design, MappedTensors) and self.design.is_single
        if is_single or len(self.positive) * self.design.n_features > MANY_FEATURE_ENTRIES:
            negligible = NEGLIGIBLE_PREDICTION_ERROR_OF_SINGLE if is_single else NEGLIGIBLE_PREDICTION_ERROR
            tolerance = max(tolerance, negligible * np.sqrt(self.data.total))
        begin = None if start is None else start.w
        solution = mapped_newton.solve(
            problem, begin, tolerance=tolerance, most_steps=most_steps, callback=self.callback
        )
        return self._fit_of_features(kind, problem, solution, unit)

    def _fit_of_features(
        self, kind: ResponseKind, problem: MappedProblem, solution: Solution, unit: Array | float
    ) -> KernelFit:
        spec, r = self.spec, self.design.n_features
        found = MappedFit(solution.coef.w * unit, to_numpy(solution.coef.values) * unit)
        intercept = found.w[-1] if spec.intercept else np.zeros(found.w.shape[1])
        function: Function
        if isinstance(self.design, LandmarkTensors):
            alpha = self.design.landmark_coefficients(found.w[:r])
            function = KernelFunction(spec.kernel, to_numpy(self.design.landmarks), alpha, intercept)
        else:
            assert isinstance(spec.map, NystroemMap | FourierMap)
            function = feature_function(spec.kernel, spec.map, found.w[:r], intercept)
        path = f"Newton's method on {r} features of {len(self.positive)} rows"
        solution = replace(solution, coef=found)
        exact = spec.map is None
        return KernelFit(function, solution, kind, path, lambda: problem, self.data, spec.intercept, is_exact=exact)

    def _fit_by_newton(self, kind: ResponseKind, losses: ArrayLosses, start: Any) -> KernelFit:
        if self._uses_features:
            return self._fit_on_features(kind, self._problem(losses), start)
        problem = KernelProblem(self.products, losses, float(self.spec.strength), self.spec.intercept)
        tolerance, most_steps = self.spec.limits
        path = f"Newton's method in the span of {len(self.positive)} rows, by {self.products.name}"
        solution = solve(problem, start, tolerance=tolerance, most_steps=most_steps, callback=self.callback)
        return self._fit_of_span(kind, lambda: problem, solution, path)

    def _fit_least_squares(self, kind: MeanResponse) -> KernelFit:
        """Fit every target with its λ by linear equations."""
        data, intercept = self.data, self.spec.intercept
        Y = self._targets
        strengths = np.array(np.broadcast_to(np.asarray(self.spec.strength, dtype=float), Y.shape[1]))

        def problem() -> KernelProblem:
            losses = ResponseLosses(kind.response, Y, data.weight)
            return KernelProblem(self.products, losses, float(strengths[0]), intercept)

        span = f"least squares in the span of {len(self.positive)} rows"
        solution, path = kernel_least_squares(
            self.spec.kernel, self.rows, Y, data.weight, strengths, intercept=intercept
        )
        return self._fit_of_span(kind, problem, solution, f"{span}, by {path}")

    def _fit_of_span(
        self, kind: ResponseKind, problem: Callable[[], KernelProblem], solution: Solution, path: str
    ) -> KernelFit:
        found: KernelExpansion = solution.coef
        alpha = np.zeros((count(self.X), found.alpha.shape[1]))
        alpha[self.positive] = found.alpha
        function = KernelFunction(self.spec.kernel, self.X, alpha, found.intercept)
        return KernelFit(function, solution, kind, path, problem, self.data, self.spec.intercept)

    def _fit_with_r(self, response: Response, start: Any) -> KernelFit:
        """Fit f and the r of a negative binomial in turn, as `solve_with_r` does with coefficients."""

        def fitted(family: Family, last: KernelFit | None) -> KernelFit:
            current = Response(family, response.link)
            begin = start if last is None else last.solution.coef
            return self._fit_by_newton(MeanResponse(current), self._losses(current), begin)

        return alternate_with_r(fitted, lambda fit: estimate_theta(*fit.as_column()), "the function")
