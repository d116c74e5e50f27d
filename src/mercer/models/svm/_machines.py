"""Solving the machines of a model one after the other, with progress and limits; a fit that is stopped is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from mercer._errors import DataError, FitInterrupted
from mercer._typing import Array
from mercer.models._progress import StoppedByCallback, Watch, line
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.machines import dual, feature_machine
from mercer.solvers.machines.box_problem import BoxPoint, BoxProblem, Margins, Progress
from mercer.solvers.machines.feature_machine import FeatureRows


@dataclass(eq=False)
class Machines:
    """What a fit has found: a solution for each machine, and the interruption if there was one."""

    solutions: list[Solution] = field(default_factory=list)
    interruption: FitInterrupted | None = None

    @property
    def worst(self) -> Certificate:
        """The certificate of the machine that is furthest from its optimum."""
        return max((solution.certificate for solution in self.solutions), key=lambda certificate: certificate.value)

    @property
    def intercepts(self) -> Array:
        return np.array([solution.value.intercept for solution in self.solutions], dtype=float)

    @property
    def weights(self) -> Array:
        """w of each machine in a column, where rows have features; 0 of those not begun."""
        found = [solution.value.weights for solution in self.solutions]
        size = max(len(weights) for weights in found if weights is not None)
        return np.column_stack([np.zeros(size) if weights is None else weights for weights in found])

    @property
    def iterations(self) -> list[int]:
        return [int(solution.value.steps) for solution in self.solutions]


def solved(
    problems: Iterable[tuple[BoxProblem, Array | None]],
    *,
    name: str,
    verbose: Any,
    callback: Callable[[Any], Any] | None,
    tolerance: float,
    max_iter: int,
    time_limit: float | None,
) -> Machines:
    """The solution of each problem, from its start; once stopped, the remaining ones stay at zero.

    Ctrl-C is kept in `interruption`, to be raised again when the machines are stored; that a callback ended the fit is
    no error.
    """
    machines, started = Machines(), perf_counter()
    with _watched(name, verbose, callback) as watch:
        stopped = False
        for problem, start in problems:
            if stopped:
                machines.solutions.append(_not_begun(len(problem.target), tolerance))
                continue
            left = None if time_limit is None else max(0.0, time_limit - (perf_counter() - started))
            try:
                solve = feature_machine.solve if isinstance(problem.rows, FeatureRows) else dual.solve
                solution = solve(
                    problem,
                    tolerance=tolerance,
                    start=start,
                    max_iter=max_iter,
                    time_limit=left,
                    callback=watch.progress,
                )
            except FitInterrupted as interruption:
                solution, stopped = interruption.solution, True
                machines.interruption = None if watch.stopped else interruption
            _refuse_overflow(solution.value)
            machines.solutions.append(solution)
    return machines


def _refuse_overflow(point: BoxPoint) -> None:
    if not (np.isfinite(point.intercept) and np.isfinite(point.scores).all()):
        raise DataError(
            "The dual coefficients or intercepts are not finite. The input data may contain large values and need to "
            "be preprocessed. The kernel exceeds the range of numbers on these rows; divide the columns by their "
            "scale, e.g. with StandardScaler, or lower gamma or degree."
        )


def _not_begun(n: int, tolerance: float) -> Solution:
    certificate = Margins("KKT", np.inf, tolerance, "the fit was stopped before this machine was begun")
    return Solution(BoxPoint(np.zeros(n), 0.0, np.zeros(n)), certificate, ())


@contextmanager
def _watched(name: str, verbose: Any, callback: Callable[[Any], Any] | None) -> Iterator[Watch]:
    """A line on the terminal, and a function of the user."""
    own: list[Callable[..., Any]] = [] if callback is None else [partial(_ask, callback)]
    with line(name, _of_step) if verbose else nullcontext() as show:
        yield Watch(own if show is None else [show, *own])


def _ask(callback: Callable[[Any], Any], progress: Progress) -> None:
    """Tell the user, who may end the fit by answering True."""
    if isinstance(answer := callback(progress), bool | np.bool_) and answer:
        raise StoppedByCallback


def _of_step(told: Progress) -> str:
    return f"{told.iterations} steps, KKT violation {told.violation:.1e}, gap {told.gap:.1e}, {told.seconds:.1f} s"
