"""Proximal Newton: any smooth response with a penalty of absolute values, which makes coefficients exactly their mean.

Each step minimises the quadratic model of the losses plus the penalty itself, by coordinate descent over the columns
that matter: those whose coefficients are away from their means, and those whose slopes pull harder than the penalty
holds. Few columns are multiplied with each other once per step; of many sparse ones, each row's slope is kept. Steps
are halved until the objective does not rise.

How far the objective is from its minimum is bounded by the duality gap, where the loss has a conjugate that is known
(`_proximal_losses`). `tolerance` is that of `newton`, in standard errors: the shortest subgradient has to be as small.
Slopes that are λ standard errors off, about λ √n, leave the objective ½ λ² from its minimum, but a gap of λ/√n of the
objective: that is the gap that has to be reached. For other losses the subgradient has to do alone.
"""

from __future__ import annotations

from mercer._typing import Array
from mercer.solvers.certificate import Progress, Solution, keeping
from mercer.solvers.problem import Problem
from mercer.solvers.smooth.newton import MOST_STEPS, TOLERANCE
from mercer.solvers.sparse._proximal_descent import ProximalDescent


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a problem whose penalty may have absolute values.

    Parameters
    ----------
    problem : Problem
        Any response, any design, any penalty.
    start : array, optional
        The working coefficients to begin with; by default every one at its prior mean.
    tolerance : float
        How short the shortest subgradient has to become, in standard errors; the duality gap has to be at most
        tolerance/√n of the objective.
    most_steps : int
        Newton steps after which to give up; the certificate then does not hold.
    progress : callable, optional
        Called after each step with its number, the objective, and the duality gap as a portion of it.

    Returns
    -------
    solution : Solution
        `value` are the working coefficients; `trace` has the objective after each step.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    descent = ProximalDescent(problem, start, tolerance, progress)
    with keeping(descent.solution):
        descent.run(most_steps)
    return descent.solution()
