"""One of several classes, with a penalty of absolute values: coefficients of every class, many of them exactly zero.

|w| is the least u + v with w = u − v and u, v ≥ 0: a smooth problem with bounds, which SciPy's L-BFGS-B solves. Once it
knows which coefficients are zero and the signs of the others, those are free, and Newton's method finishes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer._typing import Array
from mercer.engines.reducing import reduce
from mercer.optim.certificate import Certificate, LengthMeasure, Progress, Solution, keep_on_interrupt
from mercer.optim.curvature import Curvature
from mercer.optim.duality import STRONGEST
from mercer.optim.scaling import DiagonalScaling
from mercer.optim.softmax import SoftmaxProblem
from mercer.stats.quadratic import GRADIENT, HESSIAN, SoftmaxQuadratic

TOLERANCE = 1e-8
MOST_STEPS = 1000
MEMORY = 20
#: coefficients up to which Newton's method finishes
MOST_NEWTON = 600
#: steps of Newton's method at the end, which are quick or of no use
MOST_FINISHING = 20


def solve(
    problem: SoftmaxProblem,
    start: Array | None = None,
    *,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a problem whose penalty has absolute values.

    Parameters
    ----------
    problem : SoftmaxProblem
        In the symmetric form.
    start : array of shape (columns, classes), optional
        The coefficients to begin with.
    tolerance : float
        How small the shortest subgradient has to become, in standard errors.
    most_steps : int
        Steps after which to give up; the certificate then does not hold.
    progress : callable, optional
        Called after each step with its number, the objective and the length of the subgradient.

    Returns
    -------
    solution : Solution
        `value` is the matrix of working coefficients, a column for each class.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    search = _SoftmaxSearch(problem, start, tolerance, progress)
    with keep_on_interrupt(search.solution):
        search.run(most_steps)
    return search.solution()


@dataclass(frozen=True, eq=False)
class _SoftmaxPoint:
    """Coefficients, the objective, and in scaled variables: they, the gradient of the smooth part, and l1."""

    W: Array
    value: float
    z: Array
    gradient: Array
    l1: Array
    #: √φ, as lengths are in standard errors
    unit: float

    @cached_property
    def subgradient(self) -> Array:
        """The shortest one, in standard errors if the curvature is that of the start."""
        pulled = self.gradient + self.l1 * np.sign(self.z)
        free = np.sign(self.gradient) * np.maximum(np.abs(self.gradient) - self.l1, 0.0)
        return np.asarray(np.where(self.z == 0, free, pulled) / self.unit)

    @cached_property
    def length(self) -> float:
        return float(np.linalg.norm(self.subgradient))


class _SoftmaxSearch:
    """Variables z = u − v of the coefficients mean + S z, and the best point so far."""

    def __init__(
        self, problem: SoftmaxProblem, start: Array | None, tolerance: float, progress: Progress | None
    ) -> None:
        self._problem, self._tolerance, self._progress = problem, tolerance, progress
        self._scaling = self._standardising()
        with np.errstate(over="ignore"):
            l1 = np.minimum(problem.strengths.l1 * self._scaling.scale, STRONGEST)
        self._l1 = l1[:, None] * np.ones(problem.response.levels)
        #: coefficients that are u − v; the others are free
        self._split = self._l1 > 0
        W = problem.matrix(problem.start()) if start is None else np.array(start, dtype=float)
        self.here = self._look(self._inverse(W))
        #: the length to come down to by the curvature of the start
        self._aim = tolerance
        self._measured = LengthMeasure(self._measure)
        self.trace = [self.here.value]

    def _standardising(self) -> DiagonalScaling:
        design, _, weight, _ = self._problem.observations.batch(slice(None))
        shares = self._problem.shares
        variance = float(np.mean(shares * (1 - shares)))
        h = variance * (np.ones(design.n_rows) if weight is None else weight)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # an objective of such rows is not finite
            return DiagonalScaling.of(design, h, self._problem.strengths.l2)

    def measured(self) -> float:
        """The length by the curvature that is here."""
        return self._measured.at(self.here)

    def _measure(self) -> float:
        if not 0 < self.here.length < np.inf:
            return self.here.length
        return max(self._by_columns(), self._by_face())

    def _by_columns(self) -> float:
        """As if columns had nothing to do with each other."""
        design, _, weight, offset = self._problem.observations.batch(slice(None))
        eta = design.times(self.here.W)
        p = self._problem.response.probabilities(eta if offset is None else eta + offset)
        h = p * (1 - p) * (1.0 if weight is None else weight[:, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            scales = [DiagonalScaling.of(design, of_class, self._problem.strengths.l2).scale for of_class in h.T]
        longer = np.stack(scales, axis=1) / self._scaling.scale[:, None]
        return float(np.linalg.norm(longer * self.here.subgradient))

    def _by_face(self) -> float:
        """Of coefficients that are not zero or should not be, with all that columns have to do with each other."""
        if self._split.size > MOST_NEWTON:
            return 0.0
        _, slopes, move = self._newton(self._moving | (self.here.subgradient != 0))
        return float(np.sqrt(np.maximum(0.0, -slopes @ move))) / self.here.unit

    @property
    def _moving(self) -> Array:
        """Coefficients that are not zero, or have no penalty to keep them there."""
        return np.asarray((self.here.z != 0) | ~self._split)

    def _inverse(self, W: Array) -> Array:
        away = W - self._problem.strengths.mean[:, None]
        if self._scaling.mean is not None:
            with np.errstate(invalid="ignore"):
                away[-1] += self._scaling.mean @ away[:-1]
        return away / self._scaling.scale[:, None]

    def _look(self, z: Array) -> _SoftmaxPoint:
        problem, strengths = self._problem, self._problem.strengths
        with np.errstate(over="ignore", invalid="ignore"):
            away = self._scaling.forth(z)
            W = strengths.mean[:, None] + away
            sums = reduce(SoftmaxQuadratic.at(problem.response, W, GRADIENT), problem.observations)
            pull = strengths.l2[:, None] * away
            value = sums.loss + 0.5 * float(np.vdot(pull, away)) + float(np.vdot(self._l1, np.abs(z)))
            gradient = self._scaling.back(sums.gradient + pull)
            return _SoftmaxPoint(W, value, z, gradient, self._l1, problem.unit(value))

    def _arrive(self, there: _SoftmaxPoint) -> None:
        self.here = there
        self.trace.append(there.value)
        if self._progress is not None:
            self._progress(len(self.trace) - 1, there.value, there.length)

    def run(self, most_steps: int) -> None:
        """Down to the tolerance by the curvature of the start, and on where it has fallen since."""
        while self._descend(most_steps):
            aim = self._measured.aim(self.here, self.here.length, self._tolerance)
            if aim is None:
                return
            self._aim = aim

    def _descend(self, most_steps: int) -> bool:
        """Whether the length has come down to the aim; an objective that is not finite has no way down."""
        while self.here.length > self._aim and len(self.trace) <= most_steps:
            before = self.here
            self._bounded(most_steps - len(self.trace) + 1)
            self._shift()
            self._finish(most_steps - len(self.trace) + 1)
            # SciPy may give up too early, and is then asked again
            if self.here.value >= before.value and self.here.length >= before.length:
                break
        return self.here.length <= self._aim

    def _bounded(self, most_steps: int) -> None:
        """SciPy's steps."""
        split = self._split
        seen = self.here

        def joined(x: Array) -> Array:
            z = x[: split.size].reshape(split.shape).copy()
            z[split] -= x[split.size :]
            return z

        def value(x: Array) -> tuple[float, Array]:
            nonlocal seen
            seen = self._look(joined(x))
            both = x[: split.size][split.ravel()] + x[split.size :] - np.abs(seen.z[split])
            # where both u and v are above 0, the penalty is more than that of their difference
            more = float(self._l1[split] @ both)
            up = (seen.gradient + self._l1).ravel()
            return seen.value + more, np.concatenate([up, (self._l1 - seen.gradient)[split]])

        def arrive(intermediate_result: Any) -> None:
            self._arrive(seen if seen.value == intermediate_result.fun else self._look(joined(intermediate_result.x)))
            if self.here.length <= self._aim:
                raise StopIteration

        z = self.here.z
        begin = np.concatenate([np.where(split, np.maximum(z, 0.0), z).ravel(), np.maximum(-z[split], 0.0)])
        lowest = np.concatenate([np.where(split, 0.0, -np.inf).ravel(), np.zeros(int(split.sum()))])
        options: Any = {"maxiter": most_steps, "maxfun": np.inf, "maxcor": MEMORY, "ftol": 1e-15, "gtol": 0.0}
        bounds = [(low, None) for low in lowest]
        minimize(value, begin, jac=True, method="L-BFGS-B", bounds=bounds, callback=arrive, options=options)

    def _shift(self) -> None:
        """What is added to the coefficients of all classes changes no probability: the least absolute values are taken.

        No slope tells how far that is: it is the same on all of the way.
        """
        k = self.here.z.shape[1]
        ordered = np.sort(self.here.z, axis=1)
        # as small a move as will do: for an even number of classes all between the middle two are as good
        moves = np.clip(0.0, ordered[:, (k - 1) // 2], ordered[:, k // 2])
        moves = np.where(self._split.all(axis=1) & (self._problem.strengths.l2 == 0), moves, 0.0)
        if moves.any() and (there := self._look(self.here.z - moves[:, None])).value < self.here.value:
            self._arrive(there)

    def _finish(self, most_steps: int) -> None:
        """Newton's steps of the coefficients that are not zero, as long as they help and cross no zero."""
        if self._split.size > MOST_NEWTON:
            return
        for _ in range(min(MOST_FINISHING, most_steps)):
            if self.here.length <= self._aim:
                return
            there = self._look(self.here.z + self._newton_step())
            crossed = self._split & (np.sign(there.z) != np.sign(self.here.z))
            if crossed.any() or not there.length < self.here.length:
                return
            self._arrive(there)

    def _newton_step(self) -> Array:
        p, k = self.here.W.shape
        chosen, _, move = self._newton(self._moving)
        flat = np.zeros(p * k)
        flat[chosen] = move
        return self._inverse(flat.reshape(k, p).T + self._problem.strengths.mean[:, None])

    def _newton(self, free: Array) -> tuple[Array, Array, Array]:
        """Places of some coefficients, their slopes, and −H⁻¹ of these; in working coefficients, class by class."""
        problem, k = self._problem, self.here.W.shape[1]
        sums = reduce(SoftmaxQuadratic.at(problem.response, self.here.W, HESSIAN), problem.observations)
        hessian = sums.hessian + np.diag(np.tile(problem.strengths.l2, k))
        chosen = np.flatnonzero(free.T.ravel())
        slopes = self._unscaled(self.here.subgradient * self.here.unit).T.ravel()[chosen]
        return chosen, slopes, -Curvature.of(hessian[np.ix_(chosen, chosen)]).solve(slopes)

    def _unscaled(self, gradient: Array) -> Array:
        """From scaled variables back to working coefficients: the inverse of Sᵀ."""
        plain = gradient / self._scaling.scale[:, None]
        if self._scaling.mean is not None:
            plain[:-1] += np.multiply.outer(self._scaling.mean, plain[-1])
        return plain

    def solution(self) -> Solution:
        by = "the diagonal D of the Hessian" if self._split.size > MOST_NEWTON else "the Hessian D, or its diagonal"
        sentence = (
            f"length of the shortest subgradient in standard errors, √(gᵀD⁻¹g) with {by}, "
            f"after {len(self.trace) - 1} steps of L-BFGS-B and Newton's method"
        )
        return Solution(self.here.W, Certificate("KKT", self.measured(), self._tolerance, sentence), tuple(self.trace))
