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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from mercer._errors import DataError, DegenerateDataError, FitInterrupted, NotConvergedWarning, SingularCovarianceError
from mercer._stored import stored
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer._warn import warn
from mercer.families.gaussian import LOG_2PI
from mercer.optim import _em_loops as loops
from mercer.optim._anderson import AndersonAcceleration
from mercer.optim.certificate import STATIONARY, Certificate, Solution
from mercer.stats import PatternMoments, ScatterMoments
from mercer.stats.base import ratio

# The likelihood of normal rows with gaps, as a function of mean and covariance, from moments by pattern alone.
#
# For the rows of one group that show the columns o, with weight n, mean m and scatter S,
#
#     ℓ(μ, Σ) = −½ [ n |o| log 2π + n log|Σ_oo| + tr Σ_oo⁻¹ (S + n (m−μ)_o (m−μ)_oᵀ) ].

#: cells that are added up at a time
CHUNK = 128


class EMParameters(NamedTuple):
    """Means (groups, columns) and the covariance they share (columns, columns)."""

    mean: Array
    covariance: Array


class LikelihoodSlope(NamedTuple):
    """Log likelihood of each group (groups,), its derivatives by the mean (groups, columns), twice that by Σ."""

    log_likelihood: Array
    by_mean: Array
    by_covariance: Array


class ColumnUnits(NamedTuple):
    """Columns are measured as (x − centre) / unit, so that units decide nothing."""

    centre: Array
    unit: Array


@dataclass(frozen=True)
class IncompleteLikelihood:
    """One cell for the rows of one group that lack the same columns; entries of columns they lack are zero."""

    observed: Array  # (cells, columns)
    group: Array  # (cells,)
    weight: Array  # (cells,)
    mean: Array  # (cells, columns)
    several: Array  # (cells,): whether there is more than one row
    scatter: Array  # (those of several rows, columns, columns)
    log_unit: Array  # (columns,): for densities in the original units
    groups: int

    @classmethod
    def of(cls, moments: PatternMoments) -> tuple[Self, ColumnUnits]:
        """Cells of columns with unit variance within the groups. Rows that show nothing are left out."""
        centre = _centre(moments)
        cells = cls._about(moments, centre)
        unit = np.sqrt(cells.variance())
        unit[unit == 0] = 1.0
        return cells._in(unit), ColumnUnits(centre, unit)

    @classmethod
    def _about(cls, moments: PatternMoments, centre: Array) -> Self:
        d = moments.columns
        seen = [(mask, part, g) for mask, part in moments if mask.any() for g in np.flatnonzero(part.weight > 0)]
        mean, scatter = np.zeros((len(seen), d)), []
        for i, (mask, part, g) in enumerate(seen):
            mean[i, mask] = (part.pilot[g] - centre[mask]) + part.offset[g]
            if part.rows[g] > 1:
                scatter.append(np.zeros((d, d)))
                scatter[-1][np.ix_(mask, mask)] = part.scatter[g]
        return cls(
            observed=np.array([mask for mask, _, _ in seen], dtype=bool).reshape(-1, d),
            group=np.array([g for _, _, g in seen], dtype=np.int64),
            weight=np.array([part.weight[g] for _, part, g in seen]),
            mean=mean,
            several=np.array([part.rows[g] > 1 for _, part, g in seen], dtype=bool),
            scatter=np.array(scatter).reshape(-1, d, d),
            log_unit=np.zeros(d),
            groups=moments.groups,
        )

    def _in(self, unit: Array) -> Self:
        scatter = self.scatter / (unit[:, None] * unit)
        return replace(self, mean=self.mean / unit, scatter=scatter, log_unit=np.log(unit))

    def by_group(self, values: Array) -> Array:
        """Sums over the cells of each group."""
        member = (self.group == np.arange(self.groups)[:, None]).astype(float)
        return np.asarray(np.tensordot(member, values, axes=1))

    def column_weight(self) -> Array:
        """How much was observed of each column in each group: (groups, columns)."""
        return self.by_group(self.weight[:, None] * self.observed)

    def column_mean(self) -> Array:
        """Mean of what was observed of each column in each group: (groups, columns)."""
        return ratio(self.by_group(self.weight[:, None] * self.mean), self.column_weight())

    def variance(self) -> Array:
        """Variance of what was observed of each column about the means of the groups: (columns,)."""
        away = np.where(self.observed, self.mean - self.column_mean()[self.group], 0.0)
        squares = np.einsum("cjj->j", self.scatter) + self.weight @ np.square(away)
        return ratio(squares, self.column_weight().sum(axis=0))

    def slope(self, point: EMParameters) -> LikelihoodSlope:
        """The log likelihood and its derivatives; `LinAlgError` where the covariance is not positive definite."""
        parts = ordered_map(lambda rows: self._sums(rows, point), row_blocks(len(self.weight), CHUNK))
        deviance, by_mean, by_covariance = (sum(part) for part in zip(*parts, strict=True))
        if not np.isfinite(deviance).all():
            raise np.linalg.LinAlgError("the covariance is not positive definite.")
        constants = self.column_weight() @ (LOG_2PI + 2 * self.log_unit)
        return LikelihoodSlope(-0.5 * (deviance + constants), by_mean, by_covariance)

    def _sums(self, rows: slice, point: EMParameters) -> tuple[Array, Array, Array]:
        cells = (a[rows] for a in (self.observed, self.group, self.weight, self.mean))
        before = int(np.count_nonzero(self.several[: rows.start]))
        sums: tuple[Array, Array, Array] = loops.slope(*cells, self.scatter[before:], self.several[rows], *point)
        return sums


def _centre(moments: PatternMoments) -> Array:
    """A value near the data of each column, from which means can be subtracted without losing digits."""
    centre, found = np.zeros(moments.columns), np.zeros(moments.columns, dtype=bool)
    for mask, part in moments:
        centre[mask & ~found] = part.pilot[np.argmax(part.weight > 0)][~found[mask]]
        found |= mask
    return centre


# One step of EM for normal groups whose rows have gaps, and how far it is from the top.

#: correlations with an eigenvalue below this are on their way to a singular matrix, where the likelihood is infinite
VANISHING = 1e-9
#: columns with a smaller part in the vanishing direction have none
NEGLIGIBLE = 1e-3


class EMShrinkage(NamedTuple):
    """Shrinkage of a covariance S: (1 − amount) S + amount · diag(target)."""

    amount: float
    target: Array

    def applied(self, covariance: Array) -> Array:
        result: Array = (1 - self.amount) * covariance
        np.einsum("ii->i", result)[...] += self.amount * self.target
        return result


#: how strongly, and to where, a covariance of so much weight is to be pulled
Shrinkage = Callable[[Array, float], EMShrinkage]


@stored()
class EMLabels(NamedTuple):
    """What columns and groups are called in messages."""

    columns: Sequence[str]
    groups: Sequence[str]

    @classmethod
    def default(cls, moments: PatternMoments) -> Self:
        return cls([f"x{j}" for j in range(moments.columns)], [f"group {g}" for g in range(moments.groups)])

    def only(self, groups: Array) -> Self:
        return self._replace(groups=[self.groups[g] for g in groups])

    @property
    def owner(self) -> str:
        return self.groups[0] if len(self.groups) == 1 else "all classes together"


class EMState(NamedTuple):
    """A point, how good it is, and where EM goes from it."""

    point: EMParameters
    log_likelihood: float
    gradient: float
    next: EMParameters
    spread: Array  # (groups, columns, columns): expected covariances about the next means
    pull: EMShrinkage
    log_determinant: float
    precision_diagonal: Array

    def objective(self, pull: EMShrinkage) -> float:
        """What a step under `pull` cannot lower: the likelihood, and that of imagined rows like the target."""
        imagined = -0.5 * (self.log_determinant + float(self.precision_diagonal @ pull.target))
        return (1 - pull.amount) * self.log_likelihood + pull.amount * imagined


@dataclass(frozen=True)
class EMProblem:
    """Groups with one covariance: what EM is run on."""

    cells: IncompleteLikelihood
    scale: ColumnUnits
    weight: Array  # (groups,)
    rows: Array  # (groups,)
    share: Array  # (groups,)
    shrinkage: Shrinkage | None
    words: EMLabels

    @classmethod
    def of(cls, moments: PatternMoments, share: Array | None, shrinkage: Shrinkage | None, words: EMLabels) -> Self:
        cells, scale = IncompleteLikelihood.of(moments)
        weight = cells.by_group(cells.weight)
        share = ratio(weight, weight.sum()) if share is None else ratio(share, share.sum())
        rows = sum((part.rows for mask, part in moments if mask.any()), np.zeros_like(moments.rows))
        problem = cls(cells, scale, weight, rows, share, shrinkage, words)
        problem._refuse_unidentified()
        return problem

    def _refuse_unidentified(self) -> None:
        unseen = np.argwhere(self.cells.column_weight() == 0)
        if len(unseen):
            group, column = unseen[0]
            raise DegenerateDataError(
                f"column {self.words.columns[column]!r} is missing in every row of {self.words.groups[group]}, so that "
                "its mean there is unknown; leave the column out, or choose a diagonal covariance."
            )
        d = len(self.scale.unit)
        if self.shrinkage is None and self.rows.sum() - len(self.rows) < d:
            raise SingularCovarianceError(
                f"the covariance of {self.words.owner} is singular: {self.rows.sum()} rows with gaps are too few for "
                f"{d} columns. Use shrinkage, e.g. shrinkage=0.1, or a shared or diagonal covariance."
            )

    def start(self) -> EMParameters:
        """What was observed of each column, and no correlations."""
        variance = self.cells.variance()
        if self.shrinkage is None and (variance == 0).any():
            raise self._singular(variance == 0)
        covariance = np.diag(variance)
        return EMParameters(self.cells.column_mean(), self._pull(covariance).applied(covariance))

    def _singular(self, columns: Array) -> SingularCovarianceError:
        listed = ", ".join(repr(self.words.columns[j]) for j in np.flatnonzero(columns)[:10])
        return SingularCovarianceError(
            f"the covariance of {self.words.owner} is singular: columns {listed} are collinear or constant in the rows "
            "that have all of them, so that the likelihood has no maximum. Leave columns out, or use shrinkage, e.g. "
            "shrinkage=0.1."
        )

    def checked_at(self, point: EMParameters) -> EMState:
        """`at`, unless the covariance is as good as singular: from there the likelihood only grows without bound."""
        if self.shrinkage is None:
            smallest, direction = smallest_correlation_eigenvalue(point.covariance)
            if smallest < VANISHING:
                raise self._singular(np.abs(direction) > NEGLIGIBLE)
        try:
            return self.at(point)
        except np.linalg.LinAlgError:  # shrinkage by hardly anything
            raise self._singular(np.ones(len(point.covariance), dtype=bool)) from None

    @cached_property
    def _varies(self) -> Array:
        """Columns that are not constant where they were observed: only of those can gaps be filled with variance."""
        return self.cells.variance() > 0

    def _pull(self, covariance: Array) -> EMShrinkage:
        if self.shrinkage is None:
            return EMShrinkage(0.0, np.zeros(len(covariance)))
        unit = self.scale.unit
        covariance = np.where(self._varies[:, None] & self._varies, covariance, 0.0)
        pull = self.shrinkage(covariance * unit[:, None] * unit, float(self.weight.sum()))
        return pull._replace(target=pull.target / np.square(unit))

    def at(self, point: EMParameters) -> EMState:
        """One E and one M step; `LinAlgError` where the covariance is not positive definite."""
        mean, covariance = point
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        slope = self.cells.slope(point)
        step = slope.by_mean @ covariance / self.weight[:, None]
        about = covariance + covariance @ (slope.by_covariance / self.weight[:, None, None]) @ covariance
        spread = about - step[:, :, None] * step[:, None, :]
        pull = self._pull(pooled := self._pooled(spread))
        uphill = root @ (pull.applied(self._pooled(about)) - covariance) @ root.T
        squared_norm = self.share @ np.square(step @ root.T).sum(axis=1) + 0.5 * np.square(uphill).sum()
        return EMState(
            point,
            log_likelihood=float(self.share @ (slope.log_likelihood / self.weight)),
            gradient=float(np.sqrt(squared_norm)),
            next=EMParameters(mean + step, pull.applied(pooled)),
            spread=spread,
            pull=pull,
            log_determinant=-2 * float(np.log(np.diagonal(root)).sum()),
            precision_diagonal=np.square(root).sum(axis=0),
        )

    def _pooled(self, matrices: Array) -> Array:
        pooled = np.tensordot(self.share, matrices, axes=1)
        return np.asarray((pooled + pooled.T) / 2)

    def completed(self, position: EMState) -> ScatterMoments:
        """The moments to be expected had nothing been missing."""
        centre, unit = self.scale
        scatter = position.spread * (self.weight[:, None, None] * unit[:, None] * unit)
        pilot = np.tile(centre, (len(self.weight), 1))
        scatter = (scatter + np.swapaxes(scatter, 1, 2)) / 2
        return ScatterMoments(self.rows, self.weight, pilot, position.next.mean * unit, scatter)


def smallest_correlation_eigenvalue(covariance: Array) -> tuple[float, Array]:
    """The smallest eigenvalue of the correlations, and its direction."""
    deviation = np.sqrt(np.diagonal(covariance))
    eigenvalues, vectors = np.linalg.eigh(covariance / deviation[:, None] / deviation)
    return float(eigenvalues[0]), vectors[:, 0]


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
    words: EMLabels | None = None,
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
    words = words or EMLabels.default(moments)
    seen = np.flatnonzero(moments.rows)
    climbs: list[tuple[Array, EMAscent]] = []
    try:
        for groups in [seen] if shared else seen[:, None]:
            problem = EMProblem.of(
                _select_groups(moments, groups), None if share is None else share[groups], shrinkage, words.only(groups)
            )
            climb = EMAscent(problem, tolerance)
            climbs.append((groups, climb))
            climb.run(0 if _interrupted(climbs) else most_steps)
        solution = _merge_solutions([(groups, climb.solution()) for groups, climb in climbs], moments.groups)
    except DataError:
        # a group that cannot be solved leaves nothing to keep, and must not swallow what the user asked for
        if _interrupted(climbs):
            raise KeyboardInterrupt from None
        raise
    if _interrupted(climbs):
        raise FitInterrupted("stopped by the user; the best parameters found so far are kept.", solution)
    max((climb for _, climb in climbs), key=lambda climb: climb.gradient).warn_if_unfinished()
    return solution


def _interrupted(climbs: list[tuple[Array, EMAscent]]) -> bool:
    return any(climb.interrupted for _, climb in climbs)


def _select_groups(moments: PatternMoments, groups: Array) -> PatternMoments:
    positions = np.full(moments.groups, -1)
    positions[groups] = np.arange(len(groups))
    return moments.regroup(positions, len(groups))


def _merge_solutions(solutions: list[tuple[Array, Solution]], n_groups: int) -> Solution:
    """The solutions of groups that were solved apart, as one: the worst certificate, likelihoods weighted together."""
    values = [solution.value.regroup(groups, n_groups) for groups, solution in solutions]
    value = functools.reduce(ScatterMoments.merge, values)
    worst = max((solution.certificate for _, solution in solutions), key=lambda certificate: certificate.value)
    length = max(len(solution.trace) for _, solution in solutions)
    traces = [np.pad(solution.trace, (0, length - len(solution.trace)), mode="edge") for _, solution in solutions]
    weights = [solution.value.weight.sum() for _, solution in solutions]
    return Solution(value, worst, tuple(np.average(traces, axis=0, weights=weights).tolist()))


class EMAscent:
    """From the start of a problem upwards, until the gradient vanishes."""

    def __init__(self, problem: EMProblem, tolerance: float) -> None:
        self._problem, self._tolerance = problem, tolerance
        self._acceleration = AndersonAcceleration(MEMORY)
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

    def _plain_step(self) -> EMState:
        return self._problem.checked_at(self._here.next)

    def _onwards(self) -> EMState:
        here = self._here
        leap = self._leap()
        if leap is not None and leap.objective(here.pull) >= here.objective(here.pull) - ROUNDING * self._size:
            return leap
        return self._plain_step()

    @property
    def _size(self) -> float:
        return abs(self._here.log_likelihood) + len(self._here.precision_diagonal)

    def _leap(self) -> EMState | None:
        here, shape = self._here, self._here.point.mean.shape
        now, after = _flatten(here.point), _flatten(here.next)
        leap = self._acceleration.propose(now, after - now)
        covariance = leap[here.point.mean.size :].reshape(shape[1], shape[1])
        try:
            return self._problem.at(EMParameters(leap[: here.point.mean.size].reshape(shape), covariance))
        except np.linalg.LinAlgError:
            return None

    @functools.cached_property
    def _end(self) -> EMState:
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
        smallest, _ = smallest_correlation_eigenvalue(self._here.point.covariance)
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


def _flatten(point: EMParameters) -> Array:
    return np.concatenate([point.mean.ravel(), point.covariance.ravel()])
