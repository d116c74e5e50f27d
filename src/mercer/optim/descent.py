"""The loop of descents: a method supplies steps, and a measure of the distance to the optimum.

`descend` runs a `Descent`. It records the history, detects that only rounding is left, calls the user's function after
each iteration, and returns the best point if Ctrl-C ends the search. `halve_step` shortens a step until the objective
falls. The lasso path (`lasso`) and the duals of kernel machines (`mercer.svm`) have loops of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from mercer.optim.certificate import Certificate, History, Solution

#: a rise of the objective by this portion is rounding
OBJECTIVE_ROUNDING = 1e-13
#: lengths of a step that are tried
MAX_STEP_HALVINGS = 40
#: consecutive steps that neither lower the objective nor together halve the distance: only rounding is left
MAX_STALLED_STEPS = 5


class Step(NamedTuple):
    """The state after an iteration, the argument of callbacks."""

    #: number of the iteration; 0 is the start
    iteration: int
    objective: float
    #: distance to the optimum by the measure of the method
    distance: float
    #: coefficients in the coordinates of the problem; not a copy
    coef: Any


#: called at the start and after each iteration
Callback = Callable[[Step], None]


def map_coefficients(callback: Callback | None, function: Callable[[Any], Any]) -> Callback | None:
    """Return a callback for steps in other coordinates, from which `function` maps; None for None."""
    if callback is None:
        return None
    return lambda step: callback(step._replace(coef=function(step.coef)))


class Descent(ABC):
    """A search for the minimum of an objective: its present point, which is the best so far, and how to improve it."""

    #: consecutive steps without progress after which steps are refined, or the search ends
    patience: ClassVar[float] = MAX_STALLED_STEPS

    #: the present point, with the objective as its `value`
    point: Any
    #: distance to the optimum by the measure of the method; NaN or infinite where the data are not finite
    distance: float
    #: distance at which the search ends
    tolerance: float
    #: number of iterations, counted by `descend`
    n_iter: int = 0
    #: portion of the proposed step that the last iteration took
    step_length: float = np.nan

    #: set by `descend`: records an iteration; for an `advance` of several iterations, after each but the last
    record: Callable[[], None]

    @property
    @abstractmethod
    def coef(self) -> Any:
        """The present coefficients, in the coordinates of the problem."""

    @property
    def objective(self) -> float:
        """The objective at the present point."""
        return float(self.point.value)

    def has_converged(self) -> bool:
        """Return whether the present point is close enough to the optimum; it may be measured again for that."""
        return self.distance <= self.tolerance

    @abstractmethod
    def advance(self) -> bool:
        """Make an iteration; return False if no step lowers the objective."""

    @abstractmethod
    def certificate(self) -> Certificate:
        """Return the certificate of the present point."""

    def begin(self) -> None:  # noqa: B027 – optional
        """Prepare the search at its start."""

    def refine(self) -> bool:
        """Make later steps, or the measure, more precise; return False if they cannot be."""
        return False

    def finish(self) -> None:  # noqa: B027 – optional
        """Complete a search that has ended without convergence."""


def descend(descent: Descent, *, max_iter: int, callback: Callback | None = None) -> Solution:
    """Run a descent until it has converged, or no step lowers the objective any further.

    Parameters
    ----------
    descent : Descent
        The search, at its start.
    max_iter : int
        Maximum number of iterations; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration. A `KeyboardInterrupt` that it raises ends the
        search.

    Returns
    -------
    solution : Solution
        The last point. If Ctrl-C ended the search it is `interrupted`, and its certificate does not hold.
    """
    record = HistoryRecorder(descent, callback)
    interrupted = False
    try:
        descent.begin()
        record.add()
        _iterate(descent, max_iter, record)
        certificate = descent.certificate()
    except KeyboardInterrupt:
        interrupted = True
        record.add_unrecorded()
        certificate = descent.certificate().after_interruption()
    return Solution(descent.coef, certificate, record.history(), interrupted)


def _iterate(descent: Descent, max_iter: int, record: HistoryRecorder) -> None:
    if np.isfinite(descent.objective + descent.distance):
        monitor = StallMonitor(descent.distance, descent.patience)
        for _ in range(max_iter):
            # 1. end at the optimum
            if descent.has_converged():
                return
            # 2. make a step, unless the last ones were in vain
            before = descent.objective
            if not monitor.is_stalled and descent.advance():
                record.add()
                monitor.note(before, descent.objective, descent.distance)
            # 3. if none helps, make the following ones more precise
            elif descent.refine():
                monitor = monitor.after_refinement(descent.distance)
            else:
                break
    descent.finish()


class HistoryRecorder:
    """The entries of a history, one for each iteration."""

    def __init__(self, descent: Descent, callback: Callback | None) -> None:
        self._descent, self._callback = descent, callback
        #: objective, distance and length of the step
        self._entries = list[tuple[float, float, float]]()
        descent.record = self.add

    def add(self) -> None:
        """Add the present point, and call the user's function."""
        descent = self._descent
        self._append()
        if self._callback is not None:
            self._callback(Step(descent.n_iter, descent.objective, descent.distance, descent.coef))

    def _append(self) -> None:
        descent, number = self._descent, len(self._entries)
        # whole entries, because the distance may be computed only here, and Ctrl-C may end that
        self._entries.append((descent.objective, descent.distance, descent.step_length if number else np.nan))
        descent.n_iter = number

    def add_unrecorded(self) -> None:
        """Add the present point if the descent was interrupted between a step and its record."""
        if not self._entries or self._descent.objective < self._entries[-1][0]:
            self._append()
        self._descent.n_iter = len(self._entries) - 1

    def history(self) -> History:
        """Return the history, which ends at the present point."""
        descent = self._descent
        self._entries[-1] = (descent.objective, descent.distance, self._entries[-1][2])
        return History.of(*zip(*self._entries, strict=True))


class StallMonitor:
    """Detection of descents that have stalled, since only rounding is left."""

    def __init__(self, distance: float, patience: float = MAX_STALLED_STEPS) -> None:
        self._shortest, self._patience, self._lowest = distance, patience, np.inf
        self._in_vain = 0.0

    def note(self, before: float, value: float, distance: float) -> None:
        """Note a step from one value of the objective to another, and the distance to the optimum after it.

        Progress is a fall below the lowest value so far: rounding may let the objective rise and fall by turns.
        """
        lowest = min(self._lowest, before)
        self._lowest = min(lowest, value)
        if lowest - value > OBJECTIVE_ROUNDING * abs(lowest) or distance < self._shortest / 2:
            self._shortest, self._in_vain = min(self._shortest, distance), 0.0
        else:
            self._in_vain += 1

    @property
    def is_stalled(self) -> bool:
        """True if the last steps made no progress."""
        return self._in_vain >= self._patience

    def after_refinement(self, distance: float) -> StallMonitor:
        """Return the monitor of a refined search; one that had stalled has one more step to make progress."""
        monitor = StallMonitor(distance, self._patience)
        monitor._in_vain = self._patience - 1 if self.is_stalled else 0
        return monitor


class Evaluated(Protocol):
    """A point at which the objective was evaluated."""

    @property
    def value(self) -> float: ...


P = TypeVar("P", bound=Evaluated)


class ShortenedStep(NamedTuple, Generic[P]):
    """The point that a step leads to, and the portion of the step that was taken."""

    point: P
    length: float


def halve_step(
    evaluate: Callable[[float], P | None],
    highest: float,
    *,
    promised: float = 0.0,
    max_halvings: int = MAX_STEP_HALVINGS,
    single_halvings: int = MAX_STEP_HALVINGS,
) -> ShortenedStep[P] | None:
    """Return the first point along a step at which the objective is low enough; None if it never is.

    Parameters
    ----------
    evaluate : callable
        Function of the portion of the step, 1, ½, ¼, …, that returns the point there, or None if there is no value.
    highest : float
        Upper bound of the objective.
    promised : float
        Fall of the objective by which the bound is reduced for the whole step, and in proportion for a shorter one.
    max_halvings : int
        Number of lengths that are tried.
    single_halvings : int
        Number of halvings after which the step is divided by 16.
    """
    for halvings in range(max_halvings):
        length = 0.5 ** (halvings + 3 * max(0, halvings - single_halvings))
        point = evaluate(length)
        if point is not None and point.value <= highest - length * promised:
            return ShortenedStep(point, length)
    return None


def rounding_above(value: float) -> float:
    """Return the value plus its rounding error: an objective up to there has not risen."""
    return value + OBJECTIVE_ROUNDING * abs(value)
