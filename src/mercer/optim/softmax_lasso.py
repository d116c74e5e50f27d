"""Softmax problems with a penalty of absolute values, which sets many coefficients exactly to zero.

|w| is the minimum of u + v over w = u − v and u, v ≥ 0:

1. SciPy's L-BFGS-B solves this smooth problem with bounds, in scaled variables.
2. A constant that can be added to the coefficients of all classes is chosen to minimise the penalty.
3. With the signs of the coefficients fixed, Newton's method finishes.

Steps 1 to 3 are repeated until the shortest subgradient is small enough by the curvature of the start, then by that of
the present point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer._typing import Array
from mercer.engines.reducing import reduce
from mercer.optim.certificate import LENGTH_TOLERANCE, Certificate, LengthMeasure, Solution
from mercer.optim.curvature import Curvature
from mercer.optim.descent import Callback, Descent, descend
from mercer.optim.duality import STRONGEST
from mercer.optim.lbfgs import MAX_LBFGS_STEPS
from mercer.optim.scaling import DiagonalScaling
from mercer.optim.softmax import SoftmaxProblem
from mercer.stats.quadratic import GRADIENT, HESSIAN, SoftmaxExpansion

#: pairs that L-BFGS-B remembers
BOUNDED_MEMORY = 20
#: coefficients up to which Newton's method finishes
MAX_FINISHED_COEFFICIENTS = 600
#: steps of Newton's method at the end, which converge quickly or not at all
MAX_FINISHING_STEPS = 20


def solve(
    problem: SoftmaxProblem,
    start: Array | None = None,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_LBFGS_STEPS,
    callback: Callback | None = None,
    max_newton: int = MAX_FINISHED_COEFFICIENTS,
) -> Solution:
    """Minimise a problem whose penalty has absolute values.

    Parameters
    ----------
    problem : SoftmaxProblem
        In the symmetric form.
    start : array of shape (columns, classes), optional
        Initial coefficients.
    tolerance : float
        Upper bound for the length of the shortest subgradient, in standard errors.
    most_steps : int
        Maximum number of steps; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.
    max_newton : int
        Coefficients up to which Newton's method finishes.

    Returns
    -------
    solution : Solution
        `coef` is the matrix of working coefficients, a column for each class.
    """
    descent = SoftmaxLassoDescent(problem, start, tolerance, most_steps, max_newton)
    return descend(descent, max_iter=most_steps, callback=callback)


@dataclass(frozen=True, eq=False)
class _SoftmaxPoint:
    """Coefficients W with the objective; in scaled variables z, the gradient of the smooth part, and l1."""

    W: Array
    value: float
    z: Array
    gradient: Array
    l1: Array
    #: √φ, the unit of lengths in standard errors
    unit: float

    @cached_property
    def subgradient(self) -> Array:
        """Return the shortest subgradient, in standard errors for the curvature of the start."""
        pulled = self.gradient + self.l1 * np.sign(self.z)
        free = np.sign(self.gradient) * np.maximum(np.abs(self.gradient) - self.l1, 0.0)
        return np.asarray(np.where(self.z == 0, free, pulled) / self.unit)

    @cached_property
    def length(self) -> float:
        """Return the length of the shortest subgradient."""
        return float(np.linalg.norm(self.subgradient))


class SoftmaxLassoDescent(Descent):
    """The search in variables z = u − v for coefficients mean + S z; SciPy makes several iterations at a time."""

    patience = np.inf
    point: _SoftmaxPoint

    def __init__(
        self, problem: SoftmaxProblem, start: Array | None, tolerance: float, most_steps: int, max_newton: int
    ) -> None:
        self._problem, self.tolerance, self._max_newton = problem, tolerance, max_newton
        self._most_steps, self._steps = most_steps, 0
        self._scaling = self._standardising()
        with np.errstate(over="ignore"):
            l1 = np.minimum(problem.strengths.l1 * self._scaling.scale, STRONGEST)
        self._l1 = l1[:, None] * np.ones(problem.response.levels)
        #: mask of the coefficients u − v; the others are unpenalised
        self._split = self._l1 > 0
        W = problem.matrix(problem.start()) if start is None else np.array(start, dtype=float)
        self.point = self._evaluate(self._inverse(W))
        self.distance = self.point.length
        #: bound for the length by the curvature of the start
        self._aim = tolerance
        self._length_measure = LengthMeasure(self._measure)
        #: whether the three steps have not led further, since only rounding is left
        self._is_stuck = False

    @property
    def coef(self) -> Array:
        return self.point.W

    def _standardising(self) -> DiagonalScaling:
        design, _, weight, _ = self._problem.observations.batch(slice(None))
        shares = self._problem.shares
        variance = float(np.mean(shares * (1 - shares)))
        h = variance * (np.ones(design.n_rows) if weight is None else weight)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the objective of such rows is not finite
            return DiagonalScaling.of(design, h, self._problem.strengths.l2)

    def measure_length(self) -> float:
        """Return the length by the curvature of the present point."""
        return self._length_measure.at(self.point)

    def _measure(self) -> float:
        if not 0 < self.point.length < np.inf:
            return self.point.length
        return max(self._length_by_diagonal(), self._length_by_hessian())

    def _length_by_diagonal(self) -> float:
        """Return the length by the diagonal of the Hessian, as if columns were uncorrelated."""
        design, _, weight, offset = self._problem.observations.batch(slice(None))
        eta = design.matvec(self.point.W)
        p = self._problem.response.probabilities(eta if offset is None else eta + offset)
        h = p * (1 - p) * (1.0 if weight is None else weight[:, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            scales = [DiagonalScaling.of(design, of_class, self._problem.strengths.l2).scale for of_class in h.T]
        longer = np.stack(scales, axis=1) / self._scaling.scale[:, None]
        return float(np.linalg.norm(longer * self.point.subgradient))

    def _length_by_hessian(self) -> float:
        """Return the length by the Hessian of the coefficients that are not zero or should not be."""
        if self._split.size > self._max_newton:
            return 0.0
        _, slopes, move = self._newton(self._is_active | (self.point.subgradient != 0))
        return float(np.sqrt(np.maximum(0.0, -slopes @ move))) / self.point.unit

    @property
    def _is_active(self) -> Array:
        """Return the mask of coefficients that are not zero, or unpenalised."""
        return np.asarray((self.point.z != 0) | ~self._split)

    def _inverse(self, W: Array) -> Array:
        away = W - self._problem.strengths.mean[:, None]
        if self._scaling.mean is not None:
            with np.errstate(invalid="ignore"):
                away[-1] += self._scaling.mean @ away[:-1]
        return away / self._scaling.scale[:, None]

    def _evaluate(self, z: Array) -> _SoftmaxPoint:
        problem, strengths = self._problem, self._problem.strengths
        with np.errstate(over="ignore", invalid="ignore"):
            away = self._scaling.apply(z)
            W = strengths.mean[:, None] + away
            sums = reduce(SoftmaxExpansion.at(problem.response, W, GRADIENT), problem.observations)
            pull = strengths.l2[:, None] * away
            value = sums.loss + 0.5 * float(np.vdot(pull, away)) + float(np.vdot(self._l1, np.abs(z)))
            gradient = self._scaling.apply_transposed(sums.gradient + pull)
            return _SoftmaxPoint(W, value, z, gradient, self._l1, problem.unit(value))

    def has_converged(self) -> bool:
        return self.point.length <= self._aim and self.measure_length() <= self.tolerance

    def refine(self) -> bool:
        """Reduce the aim for the length by the curvature of the start, if it is reached and that was not enough."""
        aim = None
        if self.point.length <= self._aim:
            aim = self._length_measure.aim(self.point, self.point.length, self.tolerance)
        self._aim = self._aim if aim is None else aim
        return aim is not None

    def advance(self) -> bool:
        """Make the three steps once, unless the length is at the aim."""
        before, steps = self.point, self._steps
        if before.length <= self._aim or self._is_stuck or steps >= self._most_steps:
            return False
        self._minimise_with_bounds(self._most_steps - self._steps)
        self._shift()
        self._finish(self._most_steps - self._steps)
        # SciPy may stop too early, and is then called again
        self._is_stuck = self.point.value >= before.value and self.point.length >= before.length
        return self._steps > steps

    def _arrive(self, there: _SoftmaxPoint) -> None:
        if self._steps > self.n_iter:  # the last one of an advance is recorded by `descend`
            self.record()
        self.point, self.distance, self._steps = there, there.length, self._steps + 1

    def _minimise_with_bounds(self, most_steps: int) -> None:
        """Make steps of SciPy's L-BFGS-B."""
        split = self._split
        latest = self.point

        def joined(x: Array) -> Array:
            z = x[: split.size].reshape(split.shape).copy()
            z[split] -= x[split.size :]
            return z

        def value(x: Array) -> tuple[float, Array]:
            nonlocal latest
            latest = self._evaluate(joined(x))
            both = x[: split.size][split.ravel()] + x[split.size :] - np.abs(latest.z[split])
            # if both u and v are above 0, the penalty is larger than that of their difference
            more = float(self._l1[split] @ both)
            up = (latest.gradient + self._l1).ravel()
            return latest.value + more, np.concatenate([up, (self._l1 - latest.gradient)[split]])

        def arrive(intermediate_result: Any) -> None:
            self._arrive(
                latest if latest.value == intermediate_result.fun else self._evaluate(joined(intermediate_result.x))
            )
            if self.point.length <= self._aim:
                raise StopIteration

        z = self.point.z
        begin = np.concatenate([np.where(split, np.maximum(z, 0.0), z).ravel(), np.maximum(-z[split], 0.0)])
        lowest = np.concatenate([np.where(split, 0.0, -np.inf).ravel(), np.zeros(int(split.sum()))])
        options: Any = {"maxiter": most_steps, "maxfun": np.inf, "maxcor": BOUNDED_MEMORY, "ftol": 1e-15, "gtol": 0.0}
        bounds = [(low, None) for low in lowest]
        minimize(value, begin, jac=True, method="L-BFGS-B", bounds=bounds, callback=arrive, options=options)

    def _shift(self) -> None:
        """Subtract the constant from the coefficients of all classes that minimises their absolute values.

        It changes no probability. Gradients do not determine it: the slope of the penalty is constant up to a kink.
        """
        k = self.point.z.shape[1]
        ordered = np.sort(self.point.z, axis=1)
        # the smallest change: for an even number of classes all values between the middle two are optimal
        moves = np.clip(0.0, ordered[:, (k - 1) // 2], ordered[:, k // 2])
        moves = np.where(self._split.all(axis=1) & (self._problem.strengths.l2 == 0), moves, 0.0)
        if moves.any() and (there := self._evaluate(self.point.z - moves[:, None])).value < self.point.value:
            self._arrive(there)

    def _finish(self, most_steps: int) -> None:
        """Make Newton steps for nonzero coefficients, while these shorten the subgradient and keep signs."""
        if self._split.size > self._max_newton:
            return
        for _ in range(min(MAX_FINISHING_STEPS, most_steps)):
            if self.point.length <= self._aim:
                return
            there = self._evaluate(self.point.z + self._newton_step())
            crossed = self._split & (np.sign(there.z) != np.sign(self.point.z))
            if crossed.any() or not there.length < self.point.length:
                return
            self._arrive(there)

    def _newton_step(self) -> Array:
        p, k = self.point.W.shape
        chosen, _, move = self._newton(self._is_active)
        flat = np.zeros(p * k)
        flat[chosen] = move
        return self._inverse(flat.reshape(k, p).T + self._problem.strengths.mean[:, None])

    def _newton(self, free: Array) -> tuple[Array, Array, Array]:
        """Return positions, slopes g and −H⁻¹g of some coefficients, in working coefficients, class by class."""
        problem, k = self._problem, self.point.W.shape[1]
        sums = reduce(SoftmaxExpansion.at(problem.response, self.point.W, HESSIAN), problem.observations)
        hessian = sums.hessian + np.diag(np.tile(problem.strengths.l2, k))
        chosen = np.flatnonzero(free.T.ravel())
        slopes = self._unscaled(self.point.subgradient * self.point.unit).T.ravel()[chosen]
        return chosen, slopes, -Curvature.of(hessian[np.ix_(chosen, chosen)]).solve(slopes)

    def _unscaled(self, gradient: Array) -> Array:
        """Return the gradient by working coefficients, S⁻ᵀ g."""
        plain = gradient / self._scaling.scale[:, None]
        if self._scaling.mean is not None:
            plain[:-1] += np.multiply.outer(self._scaling.mean, plain[-1])
        return plain

    def certificate(self) -> Certificate:
        by = (
            "the diagonal D of the Hessian" if self._split.size > self._max_newton else "the Hessian D, or its diagonal"
        )
        sentence = (
            f"length of the shortest subgradient in standard errors, √(gᵀD⁻¹g) with {by}, "
            f"after {self._steps} steps of L-BFGS-B and Newton's method"
        )
        return Certificate("KKT", self.measure_length(), self.tolerance, sentence)
