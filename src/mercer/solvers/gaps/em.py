"""EM for normal groups whose rows have gaps: from the moments of each pattern of gaps, never the rows.

One EM step follows from the gradient of the observed log likelihood ℓ alone. With n the weight of a group,

    E step:   mean   μ⁺ = μ + Σ ∂ℓ/∂μ / n
              spread S  = Σ + 2 Σ (∂ℓ/∂Σ) Σ / n − (μ⁺−μ)(μ⁺−μ)ᵀ      (expected covariance, the gaps filled in)
    M step:   Σ⁺ = S, pulled towards a diagonal target where shrinkage is asked for,

so that the length of a step, measured by the Fisher information of complete rows, is the norm of the gradient: it is
zero exactly at a stationary point, and the same in any units. The steps are accelerated by Anderson's method; a leap
that would lower the likelihood is replaced by the plain step, which cannot.
"""

from __future__ import annotations

import functools

import numpy as np

from mercer._errors import DataError, FitInterrupted, NotConvergedWarning
from mercer._typing import Array
from mercer._warn import warn
from mercer.solvers.anderson import Anderson
from mercer.solvers.certificate import STATIONARY, Certificate, Solution
from mercer.solvers.gaps._gaps import Point
from mercer.solvers.gaps.em_step import Position, Problem, Pull, Shrinkage, Words, least_spread
from mercer.stats import PatternMoments, ScatterMoments

__all__ = ["Pull", "Shrinkage", "Words", "em_gaussian"]

TOLERANCE = 1e-8
MOST_STEPS = 1000
#: steps that the acceleration looks back on
MEMORY = 20
#: a likelihood that is lower by this portion of its value is not lower
ROUNDING = 1e-13
#: correlations with an eigenvalue below this may be on their way to a singular matrix
NEARLY_COLLINEAR = 1e-4


def em_gaussian(
    moments: PatternMoments,
    *,
    shared: bool = False,
    share: Array | None = None,
    shrinkage: Shrinkage | None = None,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    words: Words | None = None,
) -> Solution:
    """Maximum likelihood means and covariances of the groups: one covariance each, or one that they share.

    Parameters
    ----------
    moments : PatternMoments
        Moments of each pattern of missing values.
    shared : bool
        Whether all groups have the same covariance.
    share : array of shape (groups,), optional
        What each group contributes to a shared covariance; its portion of the weight if not given.
    shrinkage : callable, optional
        Pulls the covariance in every M step.
    tolerance : float
        How small the norm of the gradient per unit weight has to become.
    most_steps : int
        Steps after which to give up, with a `NotConvergedWarning`.
    words : Words, optional
        What columns and groups are called in messages.

    Returns
    -------
    solution : Solution
        `value` is the `ScatterMoments` to be expected had no value been missing: mean and (unshrunk) covariance follow
        from it as from complete data. `trace` has the observed log likelihood per unit weight after each step.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    words = words or Words.default(moments)
    seen = np.flatnonzero(moments.rows)
    climbs: list[tuple[Array, Climb]] = []
    try:
        for groups in [seen] if shared else seen[:, None]:
            problem = Problem.of(
                _only(moments, groups), None if share is None else share[groups], shrinkage, words.only(groups)
            )
            climb = Climb(problem, tolerance)
            climbs.append((groups, climb))
            climb.run(0 if _interrupted(climbs) else most_steps)
        solution = _together([(groups, climb.solution()) for groups, climb in climbs], moments.groups)
    except DataError:
        # a group that cannot be solved leaves nothing to keep, and must not swallow what the user asked for
        if _interrupted(climbs):
            raise KeyboardInterrupt from None
        raise
    if _interrupted(climbs):
        raise FitInterrupted("stopped by the user; the best parameters found so far are kept.", solution)
    max((climb for _, climb in climbs), key=lambda climb: climb.gradient).warn_if_unfinished()
    return solution


def _interrupted(climbs: list[tuple[Array, Climb]]) -> bool:
    return any(climb.interrupted for _, climb in climbs)


def _only(moments: PatternMoments, groups: Array) -> PatternMoments:
    positions = np.full(moments.groups, -1)
    positions[groups] = np.arange(len(groups))
    return moments.regroup(positions, len(groups))


def _together(solutions: list[tuple[Array, Solution]], n_groups: int) -> Solution:
    """The solutions of groups that were solved apart, as one: the worst certificate, likelihoods weighted together."""
    values = [solution.value.regroup(groups, n_groups) for groups, solution in solutions]
    value = functools.reduce(ScatterMoments.merge, values)
    worst = max((solution.certificate for _, solution in solutions), key=lambda certificate: certificate.value)
    length = max(len(solution.trace) for _, solution in solutions)
    traces = [np.pad(solution.trace, (0, length - len(solution.trace)), mode="edge") for _, solution in solutions]
    weights = [solution.value.weight.sum() for _, solution in solutions]
    return Solution(value, worst, tuple(np.average(traces, axis=0, weights=weights).tolist()))


class Climb:
    """From the start of a problem upwards, until the gradient vanishes."""

    def __init__(self, problem: Problem, tolerance: float) -> None:
        self._problem, self._tolerance = problem, tolerance
        self._acceleration = Anderson(MEMORY)
        self._here = problem.at(problem.start())
        self._trace = [self._here.log_likelihood]
        self.interrupted = False

    def run(self, most_steps: int) -> None:
        """Climb until there, or until the user interrupts: what is kept is the best point so far in either case."""
        try:
            for _ in range(most_steps):
                if self._here.gradient <= self._tolerance and self._arrived():
                    break
                self._here = self._onwards()
                self._trace.append(self._here.log_likelihood)
        except KeyboardInterrupt:
            self.interrupted = True

    def _arrived(self) -> bool:
        """The moments to return are those that lead to the next point: that is where the gradient has to vanish."""
        return self._plain_step().gradient <= self._tolerance

    def _plain_step(self) -> Position:
        return self._problem.checked_at(self._here.next)

    def _onwards(self) -> Position:
        here = self._here
        leap = self._leap()
        if leap is not None and leap.objective(here.pull) >= here.objective(here.pull) - ROUNDING * self._size:
            return leap
        return self._plain_step()

    @property
    def _size(self) -> float:
        return abs(self._here.log_likelihood) + len(self._here.precision_diagonal)

    def _leap(self) -> Position | None:
        here, shape = self._here, self._here.point.mean.shape
        now, after = _flat(here.point), _flat(here.next)
        leap = self._acceleration.proposal(now, after - now)
        covariance = leap[here.point.mean.size :].reshape(shape[1], shape[1])
        try:
            return self._problem.at(Point(leap[: here.point.mean.size].reshape(shape), covariance))
        except np.linalg.LinAlgError:
            return None

    @functools.cached_property
    def _end(self) -> Position:
        """Where the moments to return lead."""
        return self._plain_step()

    @property
    def gradient(self) -> float:
        """Its norm at the end."""
        return self._end.gradient

    def solution(self) -> Solution:
        certificate = Certificate(
            STATIONARY,
            self.gradient,
            self._tolerance,
            f"size of the gradient of the observed log likelihood per unit weight after {self._steps} steps of EM; "
            "with values missing it is not concave, so that a higher point may exist elsewhere",
        )
        return Solution(self._problem.completed(self._here), certificate, (*self._trace, self._end.log_likelihood))

    @property
    def _steps(self) -> int:
        return len(self._trace) - 1

    def warn_if_unfinished(self) -> None:
        """Evidence, cause, and one thing to do."""
        if self.gradient > self._tolerance:
            warn(
                f"EM for the covariance of {self._problem.words.owner} has not converged: the gradient norm is "
                f"{self.gradient:.1e} after {self._steps} steps, above the tolerance {self._tolerance:.1e}. "
                + self._cause(),
                NotConvergedWarning,
            )

    def _cause(self) -> str:
        smallest, _ = least_spread(self._here.point.covariance)
        if smallest < NEARLY_COLLINEAR:
            return (
                "Too few rows have values in all columns, so that the likelihood may have no maximum: the smallest "
                f"eigenvalue of the correlations is down to {smallest:.1e}. Use shrinkage, e.g. shrinkage=0.1."
            )
        weight = self._problem.cells.column_weight().sum(axis=0)
        column = int(np.argmin(weight))
        missing = 1 - weight[column] / self._problem.weight.sum()
        return (
            f"Column {self._problem.words.columns[column]!r} is missing in {missing:.0%} of the rows, which makes for "
            "short steps; allow more of them (max_iter)."
        )


def _flat(point: Point) -> Array:
    return np.concatenate([point.mean.ravel(), point.covariance.ravel()])
