"""L-BFGS, in variables that make the objective round.

A Hessian is never formed in full: of up to some thousand columns a sample of the rows tells enough of it, of more
columns their means and spreads. As with Newton's method, the length of the gradient is measured in standard errors,
λ = √(gᵀH⁻¹g), here with the Hessian as it is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mercer._errors import FitInterrupted
from mercer._gpu import to_numpy
from mercer._threads import blas_for
from mercer.designs import Observations, TensorDesign
from mercer.designs.observations import ObservedBatch
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.newton import SAMPLE_TOLERANCE, Model, Progress
from mercer.solvers.problem import Problem, Slope
from mercer.solvers.scaling import FewRows, Scaling, Standardising, Whitening
from mercer.stats.quadratic import GRADIENT, HESSIAN

Array = NDArray[Any]

TOLERANCE = 1e-8
MOST_STEPS = 1000
#: columns up to which a Hessian is factorised
MOST_WHITENED = 1500
#: rows of the sample per column, and at least
SAMPLE_PER_COLUMN, SMALLEST_SAMPLE = 8, 1000
#: … and how many times as many of a source, where they are at hand
MORE_AT_HAND = 10
#: how much of the diagonal is added to the Hessian of a sample, which may lack directions that all rows have
SAMPLE_SHRINKAGE = 1e-3
#: halvings and doublings of a step
MOST_LOOKS = 50
#: the objective falls by at least this share of what its slope promises, and at most this share of the slope is left
LEAST_FALL, MOST_SLOPE_LEFT = 1e-4, 0.9
#: an objective that falls by no more than this portion may not fall at all
ROUNDING = 1e-14
#: steps without progress after which to stop
PATIENCE = 10


class Smooth(Protocol):
    """What can be minimised: a value and a gradient at each point."""

    def at(self, w: Array, order: int) -> Slope: ...

    def unit(self, value: float) -> float: ...


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a smooth problem.

    Parameters
    ----------
    problem : Problem
        Its penalty must have no absolute values.
    start : array, optional
        Where to begin; by default where no column has an effect.
    tolerance : float
        How small λ has to become, in standard errors.
    most_steps : int
        Steps after which to give up; the certificate then does not hold.
    progress : callable, optional
        Called after each step with its number, the objective and λ.

    Returns
    -------
    solution : Solution
        `value` are the working coefficients; `trace` has the objective after each step.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    if start is None and problem.observations.streamed:
        start = fit_to_sample(problem, solve)
    begin = problem.start() if start is None else np.array(start, dtype=float)
    scaling = scaling_of(problem, begin if problem.observations.streamed else problem.start())
    return descend(problem, begin, scaling, tolerance=tolerance, most_steps=most_steps, progress=progress)


def scaling_of(problem: Problem, w: Array) -> Scaling:
    """Variables in which the Hessian at `w` is close to the identity."""
    if problem.n_columns <= MOST_WHITENED:
        few = few_rows(problem, w) if len(problem.observations) < problem.n_columns else None
        return few or Whitening.of(sampled_hessian(problem, w))
    (design, y, weight, _), factor = typical_rows(problem.observations)
    # as if no column had an effect: the expected curvature is then the same in all rows
    level = np.full(1, problem.start()[-1] if design.coordinates.intercept else 0.0)
    curvature = factor * float(problem.response.slopes(to_numpy(y[:1]), level).second[0])
    return Standardising.of(design, curvature * (np.ones(len(y)) if weight is None else weight), problem.strengths.l2)


def few_rows(problem: Problem, w: Array) -> FewRows | None:
    """Of fewer rows than columns: all of the Hessian at `w`, which is not formed."""
    if problem.observations.streamed or isinstance(problem.observations.design, TensorDesign):
        return None
    design, y, weight, offset = problem.observations.batch(slice(None))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        eta = design.times(w)
        h = problem.response.slopes(y, eta if offset is None else eta + offset, weight).second
        return FewRows.of(design, h, problem.strengths.l2)


def typical_rows(observations: Observations) -> tuple[ObservedBatch, float]:
    """All rows, or of a source those at hand, and how many times as many there are."""
    some = observations.some(len(observations)) if observations.streamed else observations
    assert some is not None  # there are as many
    return some.batch(slice(None)), len(observations) / len(some)


def fit_to_sample(problem: Any, solve: Callable[..., Solution]) -> Array | None:
    """Where a fit to the rows at hand of a source ends; None where it gets nowhere."""
    solution = solve(problem.on(problem.observations.some(len(problem.observations))), tolerance=SAMPLE_TOLERANCE)
    return np.asarray(solution.value) if solution.certificate.holds else None


def sampled_hessian(problem: Any, w: Array) -> Array:
    """The Hessian at `w`, from rows spread evenly over all."""
    n, p = len(problem.observations), problem.n_columns
    # one pass more would cost more than many rows at hand
    some = problem.observations.some(sample_size(p) * (MORE_AT_HAND if problem.observations.streamed else 1), of=2)
    if some is None:
        return np.asarray(problem.at(w, HESSIAN).hessian)
    return blown_up(problem.on(some).at(w, HESSIAN).hessian, n / len(some))


def sample_size(columns: int) -> int:
    """How many rows tell enough of the Hessian."""
    return max(SMALLEST_SAMPLE, SAMPLE_PER_COLUMN * columns)


def blown_up(hessian: Array, factor: float) -> Array:
    """The Hessian of a sample, times how many times more rows there are; directions that it may lack have a little."""
    hessian = hessian * factor
    hessian[np.diag_indices(len(hessian))] *= 1 + SAMPLE_SHRINKAGE
    return np.asarray(hessian)


def descend(
    problem: Smooth,
    start: Array,
    scaling: Scaling,
    *,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise anything smooth from `start`, in the variables u of w = start + S u; see `solve`."""
    descent = Descent(problem, start, scaling, tolerance, progress)
    try:
        with blas_for(1):  # its threads would gain little on vectors, and go on spinning while ours work
            descent.run(most_steps)
    except KeyboardInterrupt:
        message = "stopped by the user; the best coefficients found so far are kept."
        raise FitInterrupted(message, descent.solution()) from None
    return descent.solution()


@dataclass(frozen=True, eq=False)
class Point:
    """A point that was looked at: w, the objective, and its gradient in the variables u."""

    w: Array
    value: float
    gradient: Array


class Round:
    """A Hessian that is a multiple of the identity: as much as the last step found, or 1."""

    def __init__(self) -> None:
        self._inverse = 1.0

    def learn(self, step: Array, change: Array) -> None:
        if (along := step @ change) > 0:
            self._inverse = along / (change @ change)

    def solve(self, gradient: Array) -> Array:
        return self._inverse * gradient


class Descent:
    """Steps down from a start, and the best point so far."""

    def __init__(
        self, problem: Smooth, start: Array, scaling: Scaling, tolerance: float, progress: Progress | None
    ) -> None:
        self._problem, self._scaling, self._tolerance, self._progress = problem, scaling, tolerance, progress
        self._round = Round()
        self._model = Model(cast(Any, self._round))
        self.here = self._look(start)
        self.trace = [self.here.value]

    def _look(self, w: Array) -> Point:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            slope = self._problem.at(w, GRADIENT)
            return Point(w, slope.value, self._scaling.back(slope.gradient))

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.here.gradient)) / self._problem.unit(self.here.value)

    def run(self, most_steps: int) -> None:
        """Step down until there, or until there is no way down; an objective that is not finite has none."""
        idle, shortest = 0, self.length
        while (
            np.isfinite(shortest)
            and self.length > self._tolerance
            and len(self.trace) <= most_steps
            and idle < PATIENCE
        ):
            if not self._advance():
                return
            fallen = self.trace[-2] - self.trace[-1] > ROUNDING * abs(self.here.value) or self.length < 0.9 * shortest
            idle, shortest = 0 if fallen else idle + 1, min(shortest, self.length)

    def _advance(self) -> bool:
        """One step; False if none was found that goes down."""
        before = self.here
        direction = self._model.step(before.gradient)
        found = self._search(before, direction)
        if found is None:
            return False
        size, there = found
        change = there.gradient - before.gradient
        self._round.learn(size * direction, change)
        self._model.remember(size * direction, change)
        self.here = there
        self.trace.append(there.value)
        if self._progress is not None:
            self._progress(len(self.trace) - 1, there.value, self.length)
        return True

    def _search(self, before: Point, direction: Array) -> tuple[float, Point] | None:
        """A step that is neither too long nor too short (Wolfe's conditions), by doubling and halving."""
        slope = float(before.gradient @ direction)
        along = self._scaling.forth(direction)
        low, high, size = 0.0, np.inf, 1.0
        for _ in range(MOST_LOOKS):
            there = self._look(before.w + size * along)
            slope_there = float(there.gradient @ direction)
            if _too_long(before.value, slope, there.value, slope_there, size):
                high = size
            elif slope_there < MOST_SLOPE_LEFT * slope:
                low = size
            else:
                return size, there
            size = 0.5 * (low + high) if np.isfinite(high) else 2 * size
        return None

    def solution(self) -> Solution:
        sentence = (
            "distance to the optimum in standard errors, √(gᵀH⁻¹g) with H as estimated from the design, after "
            f"{len(self.trace) - 1} steps of L-BFGS"
        )
        certificate = Certificate("gradient norm", self.length, self._tolerance, sentence)
        return Solution(self.here.w, certificate, tuple(self.trace))


def _too_long(value: float, slope: float, value_there: float, slope_there: float, size: float) -> bool:
    """Whether the objective falls too little for the length of the step.

    Near the optimum, where rounding hides by how much it falls, its slope tells instead (Hager and Zhang, 2005).
    """
    if value_there <= value + LEAST_FALL * size * slope:
        return False
    hidden = value_there <= value + ROUNDING * abs(value)
    return not (hidden and slope_there <= (2 * LEAST_FALL - 1) * slope)
