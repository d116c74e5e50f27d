"""EM for normal groups with missing values, from the moments of each pattern of missing values.

For the rows of one group with the observed columns o, with weight n, mean m and scatter S, the log likelihood is

    ℓ(μ, Σ) = −½ [ n |o| log 2π + n log|Σ_oo| + tr Σ_oo⁻¹ (S + n (m−μ)_o (m−μ)_oᵀ) ],

a function of these moments alone. One EM step follows from its gradient. With n the weight of a group,

    E step:   mean   μ⁺ = μ + Σ ∂ℓ/∂μ / n
              spread S  = Σ + 2 Σ (∂ℓ/∂Σ) Σ / n − (μ⁺−μ)(μ⁺−μ)ᵀ      (expected covariance of the completed rows)
    M step:   Σ⁺ = S, shrunk towards a diagonal target if there is shrinkage,

so that the length of a step, measured by the Fisher information of complete rows, is the norm of the gradient: it is
zero exactly at a stationary point, and does not depend on units. Steps are accelerated by Anderson's method; an
extrapolation that would lower the likelihood is replaced by the plain step, which cannot lower it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from mercer._errors import DataError, DegenerateDataError, NotConvergedWarning, SingularCovarianceError
from mercer._stored import stored
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer._warn import warn
from mercer.families.gaussian import LOG_2PI
from mercer.optim import _em_loops as loops
from mercer.optim._anderson import AndersonAcceleration
from mercer.optim.certificate import STATIONARY, Certificate, History, Solution
from mercer.stats import PatternMoments, ScatterMoments
from mercer.stats.base import divide

# The likelihood

#: cells that a thread sums at a time
CELLS_PER_CHUNK = 128


class EMParameters(NamedTuple):
    """Means (groups, columns) and the common covariance (columns, columns)."""

    mean: Array
    covariance: Array


class LikelihoodSlope(NamedTuple):
    """Log likelihood of each group (groups,), its derivative by the mean (groups, columns), and twice that by Σ."""

    log_likelihood: Array
    by_mean: Array
    by_covariance: Array


class ColumnUnits(NamedTuple):
    """Columns are transformed to (x − centre) / unit, so that results do not depend on units."""

    centre: Array
    unit: Array


@dataclass(frozen=True)
class IncompleteLikelihood:
    """The observed log likelihood, by cells.

    A cell has the rows of a group with the same columns missing, whose entries are zero.
    """

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
        """Return cells with columns of unit variance within the groups; rows without observed values are left out."""
        centre = _centre(moments)
        cells = cls._about(moments, centre)
        unit = np.sqrt(cells.variance())
        unit[unit == 0] = 1.0
        return cells._divide(unit), ColumnUnits(centre, unit)

    @classmethod
    def _about(cls, moments: PatternMoments, centre: Array) -> Self:
        d = moments.columns
        cells = [(mask, part, g) for mask, part in moments if mask.any() for g in np.flatnonzero(part.weight > 0)]
        mean, scatter = np.zeros((len(cells), d)), []
        for i, (mask, part, g) in enumerate(cells):
            mean[i, mask] = (part.pilot[g] - centre[mask]) + part.offset[g]
            if part.rows[g] > 1:
                scatter.append(np.zeros((d, d)))
                scatter[-1][np.ix_(mask, mask)] = part.scatter[g]
        return cls(
            observed=np.array([mask for mask, _, _ in cells], dtype=bool).reshape(-1, d),
            group=np.array([g for _, _, g in cells], dtype=np.int64),
            weight=np.array([part.weight[g] for _, part, g in cells]),
            mean=mean,
            several=np.array([part.rows[g] > 1 for _, part, g in cells], dtype=bool),
            scatter=np.array(scatter).reshape(-1, d, d),
            log_unit=np.zeros(d),
            groups=moments.groups,
        )

    def _divide(self, unit: Array) -> Self:
        """Return the same cells with columns divided by these units."""
        scatter = self.scatter / (unit[:, None] * unit)
        return replace(self, mean=self.mean / unit, scatter=scatter, log_unit=np.log(unit))

    def by_group(self, values: Array) -> Array:
        """Return sums over the cells of each group."""
        member = (self.group == np.arange(self.groups)[:, None]).astype(float)
        return np.asarray(np.tensordot(member, values, axes=1))

    def column_weight(self) -> Array:
        """Return the observed weight of each column in each group: (groups, columns)."""
        return self.by_group(self.weight[:, None] * self.observed)

    def column_mean(self) -> Array:
        """Return the mean of the observed values of each column in each group: (groups, columns)."""
        return divide(self.by_group(self.weight[:, None] * self.mean), self.column_weight())

    def variance(self) -> Array:
        """Return the variance of the observed values of each column about the means of the groups: (columns,)."""
        away = np.where(self.observed, self.mean - self.column_mean()[self.group], 0.0)
        squares = np.einsum("cjj->j", self.scatter) + self.weight @ np.square(away)
        return divide(squares, self.column_weight().sum(axis=0))

    def slope(self, point: EMParameters) -> LikelihoodSlope:
        """Return the log likelihood and its derivatives; raise `LinAlgError` if the covariance is not definite."""
        parts = ordered_map(lambda rows: self._sums(rows, point), row_blocks(len(self.weight), CELLS_PER_CHUNK))
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
    """Return a value near the data of each column, about which means keep their digits."""
    centre, found = np.zeros(moments.columns), np.zeros(moments.columns, dtype=bool)
    for mask, part in moments:
        centre[mask & ~found] = part.pilot[np.argmax(part.weight > 0)][~found[mask]]
        found |= mask
    return centre


# One EM step

#: correlations with an eigenvalue below this converge to a singular matrix, where the likelihood is infinite
VANISHING_EIGENVALUE = 1e-9
#: columns with a smaller component in the vanishing direction are not named in the error
NEGLIGIBLE_COMPONENT = 1e-3


class EMShrinkage(NamedTuple):
    """Shrinkage of a covariance S: (1 − amount) S + amount · diag(target)."""

    amount: float
    target: Array

    def apply(self, covariance: Array) -> Array:
        """Return the shrunk covariance."""
        result: Array = (1 - self.amount) * covariance
        np.einsum("ii->i", result)[...] += self.amount * self.target
        return result


#: (covariance, its weight) ↦ its shrinkage
Shrinkage = Callable[[Array, float], EMShrinkage]


@stored()
class EMLabels(NamedTuple):
    """Names of columns and groups in messages."""

    columns: Sequence[str]
    groups: Sequence[str]

    @classmethod
    def default(cls, moments: PatternMoments) -> Self:
        return cls([f"x{j}" for j in range(moments.columns)], [f"group {g}" for g in range(moments.groups)])

    def select_groups(self, groups: Array) -> Self:
        return self._replace(groups=[self.groups[g] for g in groups])

    @property
    def owner(self) -> str:
        """Return the name of the group, or of all."""
        return self.groups[0] if len(self.groups) == 1 else "all classes together"


class EMState(NamedTuple):
    """Parameters, their likelihood and gradient, and the parameters after one EM step."""

    point: EMParameters
    log_likelihood: float
    gradient: float
    next: EMParameters
    spread: Array  # (groups, columns, columns): expected covariances about the next means
    pull: EMShrinkage
    log_determinant: float
    precision_diagonal: Array

    def objective(self, pull: EMShrinkage) -> float:
        """Return the objective that an EM step with shrinkage `pull` cannot lower.

        It is the likelihood of the rows and of pseudo-rows with the target as their covariance.
        """
        imagined = -0.5 * (self.log_determinant + float(self.precision_diagonal @ pull.target))
        return (1 - pull.amount) * self.log_likelihood + pull.amount * imagined


@dataclass(frozen=True)
class EMProblem:
    """Groups with one common covariance, to be fitted by EM."""

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
        share = divide(weight, weight.sum()) if share is None else divide(share, share.sum())
        rows = sum((part.rows for mask, part in moments if mask.any()), np.zeros_like(moments.rows))
        problem = cls(cells, scale, weight, rows, share, shrinkage, words)
        problem._check_identified()
        return problem

    def _check_identified(self) -> None:
        unobserved = np.argwhere(self.cells.column_weight() == 0)
        if len(unobserved):
            group, column = unobserved[0]
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
        """Return the means and variances of the observed values, without correlations."""
        variance = self.cells.variance()
        if self.shrinkage is None and (variance == 0).any():
            raise self._singular(variance == 0)
        covariance = np.diag(variance)
        return EMParameters(self.cells.column_mean(), self._pull(covariance).apply(covariance))

    def _singular(self, columns: Array) -> SingularCovarianceError:
        listed = ", ".join(repr(self.words.columns[j]) for j in np.flatnonzero(columns)[:10])
        return SingularCovarianceError(
            f"the covariance of {self.words.owner} is singular: columns {listed} are collinear or constant in the rows "
            "that have all of them, so that the likelihood has no maximum. Leave columns out, or use shrinkage, e.g. "
            "shrinkage=0.1."
        )

    def checked_at(self, point: EMParameters) -> EMState:
        """Return `at(point)`; raise an error if the covariance is nearly singular, where it is unbounded."""
        if self.shrinkage is None:
            smallest, direction = smallest_correlation_eigenvalue(point.covariance)
            if smallest < VANISHING_EIGENVALUE:
                raise self._singular(np.abs(direction) > NEGLIGIBLE_COMPONENT)
        try:
            return self.at(point)
        except np.linalg.LinAlgError:  # shrinkage too weak
            raise self._singular(np.ones(len(point.covariance), dtype=bool)) from None

    @cached_property
    def _varies(self) -> Array:
        """Return the mask of columns whose observed values vary: only their missing values have a variance."""
        return self.cells.variance() > 0

    def _pull(self, covariance: Array) -> EMShrinkage:
        if self.shrinkage is None:
            return EMShrinkage(0.0, np.zeros(len(covariance)))
        unit = self.scale.unit
        covariance = np.where(self._varies[:, None] & self._varies, covariance, 0.0)
        pull = self.shrinkage(covariance * unit[:, None] * unit, float(self.weight.sum()))
        return pull._replace(target=pull.target / np.square(unit))

    def at(self, point: EMParameters) -> EMState:
        """Make one E and one M step; raise `LinAlgError` if the covariance is not positive definite."""
        mean, covariance = point
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        slope = self.cells.slope(point)
        # E step: μ⁺ − μ = Σ ∂ℓ/∂μ / n and S = Σ + 2 Σ (∂ℓ/∂Σ) Σ / n − (μ⁺−μ)(μ⁺−μ)ᵀ
        step = slope.by_mean @ covariance / self.weight[:, None]
        about = covariance + covariance @ (slope.by_covariance / self.weight[:, None, None]) @ covariance
        spread = about - step[:, :, None] * step[:, None, :]
        # M step: the pooled spread, shrunk
        pull = self._pull(pooled := self._pooled(spread))
        # norm of the gradient in the Fisher information of complete rows: ‖Σ^(−½) Δμ‖² + ½ ‖Σ^(−½) ΔΣ Σ^(−½)‖²
        uphill = root @ (pull.apply(self._pooled(about)) - covariance) @ root.T
        squared_norm = self.share @ np.square(step @ root.T).sum(axis=1) + 0.5 * np.square(uphill).sum()
        return EMState(
            point,
            log_likelihood=float(self.share @ (slope.log_likelihood / self.weight)),
            gradient=float(np.sqrt(squared_norm)),
            next=EMParameters(mean + step, pull.apply(pooled)),
            spread=spread,
            pull=pull,
            log_determinant=-2 * float(np.log(np.diagonal(root)).sum()),
            precision_diagonal=np.square(root).sum(axis=0),
        )

    def _pooled(self, matrices: Array) -> Array:
        pooled = np.tensordot(self.share, matrices, axes=1)
        return np.asarray((pooled + pooled.T) / 2)

    def expected_moments(self, position: EMState) -> ScatterMoments:
        """Return the expected moments of the completed rows."""
        centre, unit = self.scale
        scatter = position.spread * (self.weight[:, None, None] * unit[:, None] * unit)
        pilot = np.tile(centre, (len(self.weight), 1))
        scatter = (scatter + np.swapaxes(scatter, 1, 2)) / 2
        return ScatterMoments(self.rows, self.weight, pilot, position.next.mean * unit, scatter)


def smallest_correlation_eigenvalue(covariance: Array) -> tuple[float, Array]:
    """Return the smallest eigenvalue of the correlations and its eigenvector."""
    deviation = np.sqrt(np.diagonal(covariance))
    eigenvalues, vectors = np.linalg.eigh(covariance / deviation[:, None] / deviation)
    return float(eigenvalues[0]), vectors[:, 0]


# EM

#: norm of the gradient per unit weight
EM_TOLERANCE = 1e-8
#: steps of EM, accelerated
MAX_EM_STEPS = 1000
#: earlier steps that Anderson acceleration combines
EM_MEMORY = 20
#: a fall of the likelihood by this portion of its size is rounding
EM_ROUNDING = 1e-13
#: correlations with an eigenvalue below this may be converging to a singular matrix
NEARLY_COLLINEAR = 1e-4


def em_gaussian(
    moments: PatternMoments,
    *,
    shared: bool = False,
    share: Array | None = None,
    shrinkage: Shrinkage | None = None,
    tolerance: float = EM_TOLERANCE,
    most_steps: int = MAX_EM_STEPS,
    words: EMLabels | None = None,
) -> Solution:
    """Fit means and covariances of the groups by maximum likelihood: one covariance each, or a shared one.

    Parameters
    ----------
    moments : PatternMoments
        Moments of each pattern of missing values.
    shared : bool
        Whether all groups have the same covariance.
    share : array of shape (groups,), optional
        Contribution of each group to a shared covariance; its portion of the weight by default.
    shrinkage : callable, optional
        Shrinkage of the covariance in every M step.
    tolerance : float
        Upper bound for the norm of the gradient per unit weight.
    most_steps : int
        Maximum number of steps; beyond it a `NotConvergedWarning` is given.
    words : EMLabels, optional
        Names of columns and groups in messages.

    Returns
    -------
    solution : Solution
        `coef` has the expected `ScatterMoments` of the completed rows: mean and (unshrunk) covariance follow from it
        as from complete data. The history has the observed log likelihood per unit weight after each step.
    """
    words = words or EMLabels.default(moments)
    present = np.flatnonzero(moments.rows)
    ascents: list[tuple[Array, EMAscent]] = []
    try:
        for groups in [present] if shared else present[:, None]:
            problem = EMProblem.of(
                _select_groups(moments, groups),
                None if share is None else share[groups],
                shrinkage,
                words.select_groups(groups),
            )
            ascent = EMAscent(problem, tolerance)
            ascents.append((groups, ascent))
            ascent.run(0 if _interrupted(ascents) else most_steps)
        solution = _merge_solutions([(groups, ascent.solution()) for groups, ascent in ascents], moments.groups)
    except DataError:
        # a group that cannot be fitted leaves nothing to keep, and must not hide the interruption
        if _interrupted(ascents):
            raise KeyboardInterrupt from None
        raise
    if _interrupted(ascents):
        return replace(solution, certificate=solution.certificate.after_interruption(), interrupted=True)
    max((ascent for _, ascent in ascents), key=lambda ascent: ascent.gradient).warn_if_unfinished()
    return solution


def _interrupted(ascents: list[tuple[Array, EMAscent]]) -> bool:
    return any(ascent.interrupted for _, ascent in ascents)


def _select_groups(moments: PatternMoments, groups: Array) -> PatternMoments:
    positions = np.full(moments.groups, -1)
    positions[groups] = np.arange(len(groups))
    return moments.regroup(positions, len(groups))


def _merge_solutions(solutions: list[tuple[Array, Solution]], n_groups: int) -> Solution:
    """Merge the solutions of separately fitted groups: the worst certificate, and the mean of the histories."""
    values = [solution.coef.regroup(groups, n_groups) for groups, solution in solutions]
    value = functools.reduce(ScatterMoments.merge, values)
    worst = max((solution.certificate for _, solution in solutions), key=lambda certificate: certificate.value)
    length = max(solution.n_iter for _, solution in solutions)
    heights = [np.pad(each.history.objective, (0, length - each.n_iter), mode="edge") for _, each in solutions]
    weights = [solution.coef.weight.sum() for _, solution in solutions]
    return Solution(value, worst, History.of(np.average(heights, axis=0, weights=weights)))


class EMAscent:
    """Accelerated EM steps from the start of a problem until the gradient vanishes."""

    def __init__(self, problem: EMProblem, tolerance: float) -> None:
        self._problem, self._tolerance = problem, tolerance
        self._acceleration = AndersonAcceleration(EM_MEMORY)
        self._here = problem.at(problem.start())
        self._trace = [self._here.log_likelihood]
        self.interrupted = False

    def run(self, most_steps: int) -> None:
        """Step until the gradient vanishes or the user interrupts; in either case the best point so far is kept."""
        try:
            for _ in range(most_steps):
                if self._here.gradient <= self._tolerance and self._has_converged():
                    break
                self._here = self._next_state()
                self._trace.append(self._here.log_likelihood)
        except KeyboardInterrupt:
            self.interrupted = True

    def _has_converged(self) -> bool:
        """Return whether the gradient vanishes at the next point, which follows from the returned moments."""
        return self._plain_step().gradient <= self._tolerance

    def _plain_step(self) -> EMState:
        return self._problem.checked_at(self._here.next)

    def _next_state(self) -> EMState:
        """Return the accelerated step, or the plain EM step if that would lower the objective."""
        here = self._here
        leap = self._extrapolate()
        rounding = EM_ROUNDING * (abs(here.log_likelihood) + len(here.precision_diagonal))
        if leap is not None and leap.objective(here.pull) >= here.objective(here.pull) - rounding:
            return leap
        return self._plain_step()

    def _extrapolate(self) -> EMState | None:
        """Return the point that Anderson acceleration proposes; None if its covariance is not positive definite."""
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
        """Return the state after the returned moments."""
        return self._plain_step()

    @property
    def gradient(self) -> float:
        """Return the norm of the gradient at the end."""
        return self._end.gradient

    def solution(self) -> Solution:
        certificate = Certificate(
            STATIONARY,
            self.gradient,
            self._tolerance,
            f"size of the gradient of the observed log likelihood per unit weight after {self._steps} steps of EM; "
            "with values missing it is not concave, so that a higher point may exist elsewhere",
        )
        history = History.of([*self._trace, self._end.log_likelihood])
        return Solution(self._problem.expected_moments(self._here), certificate, history)

    @property
    def _steps(self) -> int:
        return len(self._trace) - 1

    def warn_if_unfinished(self) -> None:
        """Warn with evidence, cause and one remedy if the gradient has not vanished."""
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
