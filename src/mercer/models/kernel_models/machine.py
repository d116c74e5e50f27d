"""Models with a kernel instead of features, as records: what is to be fitted, to what, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import FitInterrupted, NoRepresenterError, NotConvergedWarning, PenaltyError
from mercer._typing import Array
from mercer.designs import Coordinates, DenseDesign, Observations
from mercer.designs.mapped_tensors import MappedTensors
from mercer.families import ElasticNet as Mixed
from mercer.families.penalties import L2, Penalty, Strengths
from mercer.kernels import Kernel
from mercer.models.comparisons import take
from mercer.models.glm.classes import Classes
from mercer.models.glm.kind import Kind
from mercer.models.glm.solve import Limits
from mercer.models.kernel_models.approximate import Approximation, Map
from mercer.models.kernel_models.feature_function import Function
from mercer.solvers.certificate import Solution
from mercer.solvers.span.kernel_newton import KernelProblem
from mercer.solvers.span.mapped_problem import MappedProblem

THEOREM = (
    "By the representer theorem the optimum lies in the span of the rows only if the penalty is an increasing function "
    "of the norm ‖w‖"
)
INSTEAD = "Write the features out, e.g. with kernel.feature_map(columns) or Nystroem"


@dataclass(frozen=True, eq=False)
class Data:
    """Responses of the rows: numbers, codes, or a column for each target."""

    y: Array
    weight: Array | None = None
    offset: Array | None = None

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    @property
    def seen(self) -> Array:
        """Rows of weight above 0, by their numbers."""
        return np.arange(len(self.y)) if self.weight is None else np.flatnonzero(self.weight)

    def counted(self, X: Any) -> Any:
        """Of the rows X those of weight above 0."""
        return X if len(self.seen) == len(self.y) else take(X, self.seen)

    def take(self, rows: Array) -> Data:
        weight, offset = (None if part is None else part[rows] for part in (self.weight, self.offset))
        return Data(self.y[rows], weight, offset)


@dataclass(frozen=True, eq=False)
class Machine:
    """A norm-regularised model: responses of some kind, and λ/2 ‖f‖², one λ or one for each target."""

    kernel: Kernel
    kind: Kind
    strength: Array | float
    intercept: bool
    limits: Limits
    solver: str = "auto"
    #: features that stand for the kernel, if it is not to be exact
    map: Map | None = None


class Fit(NamedTuple):
    """A fitted function, its proof, and the kind of response with what was estimated of it."""

    function: Function
    solution: Solution
    kind: Kind
    path: str
    #: what was minimised over rows of weight above 0, and their responses
    problem: Callable[[], KernelProblem | MappedProblem]
    data: Data
    intercept: bool
    approximation: Approximation | None = None
    #: whether the kernel itself was used, not features that stand for it
    is_exact: bool = True

    def as_column(self) -> tuple[Any, Array]:
        """A GLM with f itself for a column, and its coefficient of 1: what figures of any GLM are computed from."""
        eta, intercept, data = self.solution.value.values, self.intercept, self.data
        outputs = eta.shape[1]
        design = DenseDesign(eta, Coordinates.plain(outputs, intercept=intercept))
        problem = self.kind.problem(
            Observations(design, data.y, data.weight, data.offset), Strengths.none(outputs + intercept)
        )
        ones = np.eye(outputs + intercept, outputs)
        return problem, ones if isinstance(self.kind, Classes) else ones[:, 0]


class KernelFitInterrupted(FitInterrupted):
    """Ctrl-C, with the fit so far."""

    def __init__(self, message: str, fit: Fit) -> None:
        super().__init__(message, fit.solution)
        self.fit = fit


def refuse_no_penalty(strength: Array | float) -> None:
    """`PenaltyError` unless every λ is above 0."""
    given = np.atleast_1d(np.asarray(strength, dtype=float))
    if (wrong := ~(np.isfinite(given) & (given > 0))).any():
        raise PenaltyError(
            f"a model with a kernel needs a penalty above 0, but its strength is {given[np.argmax(wrong)]:g}. Without "
            "one, nothing ties the function to the span of the rows: where the kernel matrix is singular there is no "
            "unique optimum, and else every row is fitted exactly. Give a small one, such as 1e-6."
        )


def not_converged(fit: Fit, limits: Limits) -> tuple[NotConvergedWarning, ...]:
    """Which condition failed, the evidence, and one thing to do; nothing if the certificate holds."""
    certificate = fit.solution.certificate
    if certificate.holds:
        return ()
    if len(fit.solution.trace) > limits.most_steps:
        remedy = (
            f"It was stopped after {limits.most_steps} steps; allow more of them (max_iter={10 * limits.most_steps})."
        )
    elif isinstance(design := getattr(fit.problem(), "design", None), MappedTensors) and design.is_single:
        remedy = (
            f"Rounding of float32, in which {len(design.X):,} rows and their kernels are computed, leaves no way on, "
            "and predictions may be off by as much: give float64 tensors, X.double(), or have fewer landmarks "
            "(approximate=Nystroem(n_components=…)), or raise the penalty."
        )
    else:
        remedy = (
            "Rounding leaves no way on: bring the columns to mean 0 and spread 1, e.g. with StandardScaler, raise the "
            "penalty, or ask for less (a larger tol)."
        )
    return (NotConvergedWarning(f"the fit with {fit.function.kernel!r} has not converged: {certificate}. {remedy}"),)


def strength_of(penalty: Penalty | None) -> float:
    """λ of a GLM's penalty; a typed error unless it is that of a norm."""
    if penalty is None:
        return 0.0
    strengths = penalty.strengths(1) if np.ndim(penalty.strength) == np.ndim(penalty.mean) == 0 else None
    if not isinstance(penalty, L2 | Mixed) or (strengths is not None and strengths.l1.any()):
        raise NoRepresenterError(
            f"{penalty!r} has no kernel form. {THEOREM}, and Σ|w| depends on the axes that w is written in. {INSTEAD}, "
            "and fit a GLM to those, or use penalty='l2'."
        )
    if strengths is None or strengths.mean.any():
        raise PenaltyError(
            f"with a kernel the coefficients of features are never seen, so that {penalty!r} cannot have a strength or "
            "a mean for each; give L2(strength) with one number. A strength for a column is a scale of it."
        )
    return float(strengths.l2[0])
