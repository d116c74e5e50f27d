"""Weighted least squares with absolute values in the penalty, by coordinate descent on working sets.

A path of penalties is solved from the largest to the smallest, each fit starting at the last one. For a few penalties
at a time:

1. Predict the columns that they will need: slopes change nearly linearly along the path (`LassoPath._predict_columns`).
2. Solve the problem of these columns (the working set) for each of the penalties.
3. Compute the slopes of all columns that may matter in one pass over the data for up to four penalties, and from them
   the duality gaps (`LassoPath._check_on_data`). A slope changes by no more than the residual does, times the length of
   the column, so that columns that cannot have come near their penalty are screened out.
4. Accept the solutions whose gaps are small enough; repeat from 1 for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._errors import NonFiniteError
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.families.penalties import Strengths
from mercer.matrices import Matrix, Observations, as_matrix
from mercer.matrices.columns import (
    CONSTANT_SPREAD,
    SERIAL_STORED_ENTRIES,
    VECTORS_AT_ONCE,
    MatrixColumns,
    length_unit,
)
from mercer.optim._working_sets import GramWorkingSet, ResidualWorkingSet
from mercer.optim.certificate import Certificate, History, Solution
from mercer.optim.duality import STRONGEST, GapPenalty, least_squares_gap
from mercer.optim.least_squares import normal_equations

# The regression in working coordinates

#: columns up to which all of their products are formed
FULL_GRAM_COLUMNS = 1_000
#: rows per column from which on they are
FULL_GRAM_ROWS_PER_COLUMN = 2


@dataclass(frozen=True, eq=False)
class WorkingRegression:
    """½ Σ weight (y − b − X β)² with X β = unit · X̃ w, where X̃ are the `columns` and `target` is (y − ȳ) / unit.

    The columns X̃ are centred and have lengths of about one, and so has the target.
    """

    columns: MatrixColumns
    lengths: Array  # of the columns
    weight: Array
    target: Array
    level: float  # ȳ, or 0 without an intercept
    unit: float
    intercept: bool
    mean: Array  # prior means of the coefficients
    #: products of all columns with each other, if known
    gram: Array | None = None
    #: slopes of all columns at w = 0, if known
    first: Array | None = None

    @classmethod
    def of(cls, X: Any, y: Array, weight: Array | None, mean: Array, *, intercept: bool) -> Self:
        """Standardise data of any scale; raise `NonFiniteError` if sums of their squares are not finite."""
        ones = np.ones(len(y)) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        X = as_matrix(X)
        with np.errstate(over="ignore", invalid="ignore"):
            target = np.asarray(y, dtype=np.float64) - (X.matvec(mean) if mean.any() else 0.0)
            # about the first value, which is exact for a constant target
            level = float(target[0] + np.average(target - target[0], weights=ones)) if intercept else 0.0
            target -= level
            unit = float(length_unit(np.asarray(ones @ np.square(target))))
            columns, squares, gram, first = _columns(X, target, weight, ones, intercept=intercept)
            known = np.isfinite(squares).all() and np.isfinite(target).all() and np.isfinite(np.square(unit))
        if not known:
            raise NonFiniteError("the data are not finite, or their squares are not; divide the largest columns.")
        first = None if first is None else first / unit
        return cls(columns, np.sqrt(squares), ones, target / unit, level, unit, intercept, mean, gram, first)

    @property
    def n_columns(self) -> int:
        return self.columns.n_columns

    @property
    def scale(self) -> float:
        """Return Σ weight (y − ȳ)², in working units."""
        return float(self.weight @ np.square(self.target))

    def penalty(self, strengths: Strengths, *, positive: bool = False) -> GapPenalty:
        """Return the penalty of working coefficients; those of constant columns stay at zero."""
        scale = self.columns.scale
        with np.errstate(over="ignore", under="ignore"):
            l1, l2 = strengths.l1 / scale / self.unit, strengths.l2 / scale / scale
        l1[self.lengths == 0] = STRONGEST
        return GapPenalty(np.minimum(l1, STRONGEST), np.minimum(l2, STRONGEST), positive)

    def residuals(self, fitted: Array) -> Array:
        """Return residuals for several X̃ w, about their weighted means if there is an intercept."""
        R = self.target - fitted
        if self.intercept:
            R -= (R @ self.weight / self.weight.sum())[:, None]
        return np.asarray(R)

    def slopes(self, R: Array, ids: Array | None = None) -> Array:
        """Return X̃ᵀ weight r."""
        return self.columns.products(R * self.weight, ids)

    def slopes_at_zero(self) -> Array:
        """Return the slopes at w = 0."""
        return self.slopes(self.target[None])[0] if self.first is None else self.first

    def squares(self, R: Array) -> Array:
        """Return Σ weight r² for each residual."""
        return np.asarray(np.square(R) @ self.weight)

    def to_working(self, coefficients: Array) -> Array:
        """Return the working coefficients for coefficients of the user."""
        w = (coefficients - self.mean) * self.columns.scale / self.unit
        return np.asarray(np.where(self.lengths > 0, w, 0.0))

    def coefficients(self, w: Array) -> tuple[Array, float]:
        """Return the user's coefficients and intercept."""
        away = w * self.unit / self.columns.scale
        intercept = self.level - float(self.columns.centre @ away) if self.intercept else 0.0
        return self.mean + away, intercept


def _columns(
    X: Matrix, target: Array, weight: Array | None, ones: Array, *, intercept: bool
) -> tuple[MatrixColumns, Array, Array | None, Array | None]:
    """Return columns and squared lengths; for few columns and many rows also Gram matrix and slopes, by one pass."""
    n, p = X.shape
    few = p > min(FULL_GRAM_COLUMNS, n // FULL_GRAM_ROWS_PER_COLUMN) or n * p <= SERIAL_STORED_ENTRIES
    if few or X.is_sparse:
        return *X.standardized_columns(ones, centred=intercept), None, None
    sums = normal_equations(Observations(X, target[:, None], weight))
    gram, moment, _ = sums.products(centred=intercept)
    centre = sums.mean[0] if intercept else np.zeros(p)
    squares = np.array(gram.diagonal())
    squares[squares <= sums.weight * np.square(CONSTANT_SPREAD * centre)] = 0.0
    columns = X.columns(centre, length_unit(squares))
    units = columns.scale[:, None] * columns.scale
    return columns, squares / np.square(columns.scale), gram / units, moment[:, 0] / columns.scale


# Results

#: passes over the data without progress
MAX_IDLE_PASSES = 3


class LassoFit(NamedTuple):
    """Coefficients, the intercept, and the number of sweeps."""

    coefficients: Array
    intercept: float
    sweeps: int


class LassoPoint(NamedTuple):
    """Working coefficients, the residual of each row, Σ weight r², and the slope of each column."""

    w: Array
    residual: Array
    squares: float
    c: Array


@dataclass
class LassoAttempt:
    """Sweeps and gaps so far for the present strength."""

    sweeps: int = 0
    gaps: list[float] = field(default_factory=list)

    @property
    def is_stalled(self) -> bool:
        """True if the last passes over the data made no progress."""
        return len(self.gaps) > MAX_IDLE_PASSES and min(self.gaps[-MAX_IDLE_PASSES:]) > 0.5 * min(
            self.gaps[:-MAX_IDLE_PASSES]
        )


# The path

#: columns of the first working set, which may double in each round
FIRST_SET_COLUMNS = 100
#: columns up to which a Gram matrix is kept
MAX_SET_GRAM = 5_000
#: columns up to which the first working set has all of them, if there are as many rows
FULL_SET_COLUMNS = 1_000
#: working sets are solved to this portion of the tolerance
SET_ACCURACY = 1e-4
#: working sets that lack columns are solved to this portion of the present gap
INCOMPLETE_SET_ACCURACY = 0.05
#: columns are predicted to be needed if their slopes come this near to the penalty, in portions of its change
PREDICTION_MARGIN = 0.1
#: slopes are computed for columns whose bounds reach this portion of their penalty
NEAR_PENALTY = 0.7
#: tolerances below this portion of Σ weight (y − ȳ)² need gaps from the data, not from a Gram matrix
GRAM_GAP_ROUNDING = 1e-12
#: rounding error of the slopes of columns and residuals of length one
SLOPE_ROUNDING = 1e-15


class LassoPath:
    """Solutions along a path of penalties: the present point, and the working set of columns."""

    def __init__(
        self,
        regression: WorkingRegression,
        penalty: GapPenalty,
        *,
        tolerance: float,
        most_sweeps: int,
        screening: bool,
        gram: Array | None = None,
        max_gram: int = MAX_SET_GRAM,
    ) -> None:
        self._regression, self._base, self._screening, self._max_gram = regression, penalty, screening, max_gram
        self._relative, self._most = tolerance, most_sweeps
        self._tolerance = tolerance * regression.scale
        self._closer = SET_ACCURACY * self._tolerance
        scale = regression.columns.scale
        known = regression.gram if gram is None else gram / scale[:, None] / scale
        self._set = GramWorkingSet(regression.columns, regression.weight)
        if known is not None:
            self._set = GramWorkingSet.of_gram(regression.columns, known)
        #: the present point, whose slopes `begin` computes
        self.here = LassoPoint(np.zeros(regression.n_columns), regression.target, regression.scale, np.zeros(0))
        #: multiplier of the present point
        self._at = np.inf
        #: derivative of the slopes by the multiplier
        self._trend: Array | None = None
        self._attempt = LassoAttempt()

    def begin(self, start: Array | None) -> None:
        """Set the first point: coefficients of the user, or zero."""
        regression = self._regression
        w = np.zeros(regression.n_columns) if start is None else regression.to_working(start)
        if self._base.positive:
            w = np.maximum(w, 0.0)
        self.here = self.here._replace(w=w)  # what is left if Ctrl-C ends the computation of slopes
        if w.any():
            ids = np.flatnonzero(w)
            residual = regression.residuals(regression.columns.combination(ids, w[None, ids]))
            self.here = LassoPoint(w, residual[0], regression.squares(residual)[0], regression.slopes(residual)[0])
        else:
            self.here = LassoPoint(w, regression.target, regression.scale, regression.slopes_at_zero())
        #: upper bounds for the sizes of all slopes at the present point
        self._bound = np.abs(self.here.c)
        p = regression.n_columns
        #: columns whose slopes at the present point are known; the others have those of an earlier point
        self._known = np.ones(p, dtype=bool)
        wanted = (self._base.l1 == 0) | (w != 0)
        if p <= min(FULL_SET_COLUMNS, len(regression.target)):
            wanted = np.ones(p, dtype=bool)
        self._set.grow(np.flatnonzero(wanted & self._varies & ~self._set.member))
        self._set.load(w, self.here.c, self.here.squares)

    def _penalty(self, multiplier: float) -> GapPenalty:
        """Return the penalty for a multiplier; strengths below the rounding of slopes are set to 0."""
        l1, l2, positive = self._base.times(multiplier)
        return GapPenalty(np.where(l1 < SLOPE_ROUNDING, 0.0, l1), l2, positive)

    @property
    def _varies(self) -> Array:
        return np.asarray(self._regression.lengths > 0)

    @property
    def _is_complete(self) -> bool:
        """True if the set has every column, and its slopes are accurate enough to compute gaps without the data."""
        return len(self._set) >= int(self._varies.sum()) and self._relative > GRAM_GAP_ROUNDING

    @property
    def _most_gram(self) -> int:
        """Return the columns up to which a Gram matrix is kept: with a squared penalty at most twice the rows."""
        n = len(self._regression.target)
        return min(self._max_gram, max(FIRST_SET_COLUMNS, 2 * n)) if self._base.l2.all() else self._max_gram

    def solve_along(self, multipliers: Array) -> Iterator[Solution]:
        """Yield the solutions for the multipliers, in their order."""
        done, ahead = 0, 1
        while done < len(multipliers):
            few = multipliers[done : done + ahead]
            found = 0
            for solution in self._solve_few(few, last=done + len(few) == len(multipliers)):
                yield solution
                found += 1
            done += found
            # more penalties at a time, as long as the predictions are right
            ahead = min(VECTORS_AT_ONCE, ahead + 1) if found == len(few) else 1

    def _solve_few(self, multipliers: Array, *, last: bool) -> Iterator[Solution]:
        """Yield solutions for the first of these multipliers, as many as have small enough gaps, perhaps none."""
        penalties = [self._penalty(m) for m in multipliers]
        # a start at zero has to be more accurate: coefficients would be wrong by the root of the gap
        enough = self._tolerance if self.here.w.any() else self._closer
        if self._at == np.inf and not self._attempt.gaps and self._gap(self.here, penalties[0]) <= enough:
            self._arrive(self.here, multipliers[0])
            yield self._solution(self.here, penalties[0])
        elif self._is_complete and (len(penalties) > 1 or not last):
            # the last one is checked on the data, which reveals rounding errors of the others
            for self._at, penalty in zip(multipliers[: len(penalties) - last], penalties, strict=False):
                yield self._solve_without_data(penalty)
        else:
            wanted, lacking = self._predict_columns(multipliers[-1])
            if len(self._set) + len(wanted) > self._most_gram:
                penalties = penalties[:1]
                found = self._solve_by_rows(penalties[0])
            else:
                self._update_slopes(wanted)
                self._set.grow(wanted)
                found = self._solve_set(penalties, lacking)
            yield from self._check_on_data(multipliers, penalties, *found)

    def _check_on_data(
        self, multipliers: Array, penalties: list[GapPenalty], sweeps: list[int], W: Array
    ) -> Iterator[Solution]:
        """Yield the solutions W whose gaps are small enough, by a pass over all columns that may matter."""
        used = np.flatnonzero(W.any(axis=0))
        residuals = self._regression.residuals(self._regression.columns.combination(used, W[:, used]))
        relevant = self._screen(used, residuals, penalties)
        C = np.tile(self.here.c, (len(W), 1))
        C[:, relevant] = self._regression.slopes(residuals, relevant)
        squares = self._regression.squares(residuals)
        for i, penalty in enumerate(penalties):
            point = LassoPoint(W[i], residuals[i], float(squares[i]), C[i])
            self._arrive(point, multipliers[i], relevant)
            self._attempt.sweeps += sweeps[i]
            self._attempt.gaps.append(self._gap(point, penalty))
            is_solved = self._attempt.gaps[-1] <= self._tolerance
            if is_solved or self._attempt.sweeps >= self._most or self._attempt.is_stalled:
                yield self._solution(point, penalty)
            if not is_solved:
                return

    def _gap(self, point: LassoPoint, penalty: GapPenalty) -> float:
        """Return the duality gap; unpenalised slopes have to vanish."""
        return least_squares_gap(penalty, point.w, point.c, point.squares)

    def _screen(self, used: Array, residuals: Array, penalties: list[GapPenalty]) -> Array:
        """Return the columns in use or in the set, and others whose slopes may have come near their penalty."""
        if not self._screening:
            return self._regression.columns.all_ids()
        matters = self._set.member.copy()
        matters[used] = True
        moved = np.sqrt(self._regression.squares(residuals - self.here.residual))
        for distance, penalty in zip(moved, penalties, strict=True):
            matters |= self._bound + self._regression.lengths * distance >= NEAR_PENALTY * penalty.l1
        return np.flatnonzero(matters & self._varies)

    def _update_slopes(self, ids: Array) -> None:
        """Compute unknown slopes of columns at the present point, at which a working set begins."""
        unknown = ids[~self._known[ids]]
        if len(unknown):
            self.here.c[unknown] = self._regression.slopes(self.here.residual[None], unknown)[0]

    def _arrive(self, there: LassoPoint, multiplier: float, computed: Array | None = None) -> None:
        """Make a point the present one; slopes that were not `computed` (all by default) are only bounded."""
        bound, self._known = np.abs(there.c), np.ones(len(there.c), dtype=bool)
        if computed is not None:
            away = self._regression.squares((there.residual - self.here.residual)[None])[0]
            skipped = np.ones(len(bound), dtype=bool)
            skipped[computed] = False
            bound[skipped] = (self._bound + self._regression.lengths * np.sqrt(away))[skipped]
            self._known = ~skipped
        if np.isfinite(self._at) and multiplier != self._at:
            self._trend = (there.c - self.here.c) / (multiplier - self._at)
        self._bound, self.here, self._at = bound, there, multiplier

    def _predict_columns(self, multiplier: float) -> tuple[Array, bool]:
        """Return the columns to add to the set for a multiplier, and whether some had to be left out."""
        l1 = self._base.times(multiplier).l1
        size, threshold = self._base.pull(self.here.c), l1
        if np.isfinite(self._at):
            ahead = self._at - multiplier
            if self._trend is None:
                # sequential strong rule: slopes seldom change faster than penalties
                threshold = l1 - self._base.times(ahead).l1
            else:
                size = self._base.pull(self.here.c - ahead * self._trend)
                threshold = l1 - self._base.times(PREDICTION_MARGIN * ahead).l1
        outside = ~self._set.member & self._varies
        needed = np.flatnonzero((self.here.w != 0) & outside)
        wanted = np.flatnonzero((size > threshold) & (self.here.w == 0) & outside)
        most = max(FIRST_SET_COLUMNS, len(self._set))
        if lacking := len(wanted) > most:
            wanted = wanted[np.argpartition(l1[wanted] - size[wanted], most)[:most]]
        return np.sort(np.append(needed, wanted)), lacking

    def _solve_set(self, penalties: list[GapPenalty], lacking: bool) -> tuple[list[int], Array]:
        """Return the sweeps and the coefficients for each of the penalties, with the columns of the set only."""
        now = INCOMPLETE_SET_ACCURACY * self._gap(self.here, penalties[0])
        target = max(self._closer, now) if lacking else self._closer
        self._set.load(self.here.w, self.here.c, self.here.squares)
        W = np.zeros((len(penalties), self._regression.n_columns))
        sweeps = []
        with blas_for(FIRST_SET_COLUMNS):
            for w, penalty in zip(W, penalties, strict=True):
                sweeps.append(self._set.solve(penalty, target, self._most - self._attempt.sweeps))
                w[self._set.ids] = self._set.quadratic.w
        return sweeps, W

    def _solve_by_rows(self, penalty: GapPenalty) -> tuple[list[int], Array]:
        """Return the same for one penalty and more columns than a Gram matrix is kept for."""
        regression, here = self._regression, self.here
        ids = np.flatnonzero(((here.w != 0) | (penalty.pull(here.c) > penalty.l1)) & self._varies)
        rows = ResidualWorkingSet(regression.columns, ids, regression.weight, centred=regression.intercept)
        rows.load(here.w[ids], regression.weight * here.residual)
        sweeps = rows.solve(penalty, self._closer, self._most - self._attempt.sweeps)
        W = np.zeros((1, regression.n_columns))
        W[0, ids] = rows.w
        return [sweeps], W

    def _solve_without_data(self, penalty: GapPenalty) -> Solution:
        """Return the solution by a Gram matrix of all columns, without a pass over the data."""
        quadratic = self._set.quadratic
        sweeps = self._set.solve(penalty, self._closer, self._most)
        w, c = np.zeros((2, self._regression.n_columns))
        w[self._set.ids], c[self._set.ids] = quadratic.w, quadratic.c
        self.here = LassoPoint(w, self.here.residual, quadratic.squares, c)
        self._attempt.sweeps, self._attempt.gaps = sweeps, [self._gap(self.here, penalty)]
        return self._solution(self.here, penalty)

    def _solution(self, point: LassoPoint, penalty: GapPenalty) -> Solution:
        unit = self._regression.unit**2
        gap = self._attempt.gaps[-1] if self._attempt.gaps else self._gap(point, penalty)
        attempt, self._attempt = self._attempt, LassoAttempt()
        fit = LassoFit(*self._regression.coefficients(point.w), attempt.sweeps)
        free = penalty.free.any()
        sentence = (
            f"the objective can fall by no more than this, after {attempt.sweeps} sweeps"
            f"{' and as the slopes of unpenalised coefficients vanish' if free else ''}"
        )
        certificate = Certificate("duality gap", gap * unit, self._tolerance * unit, sentence)
        gaps = [gap * unit for gap in attempt.gaps]
        return Solution(fit, certificate, History.of([np.nan] * len(gaps), gaps))

    def unfinished(self) -> Solution:
        """Return the present coefficients with a certificate that does not hold."""
        fit = LassoFit(*self._regression.coefficients(self.here.w), self._attempt.sweeps)
        unit = self._regression.unit**2
        sentence = "stopped by the user before the gap was known"
        certificate = Certificate("duality gap", np.inf, self._tolerance * unit, sentence)
        return Solution(fit, certificate, interrupted=True)


# Solvers

#: duality gap, in units of Σ weight (y − ȳ)²
GAP_TOLERANCE = 1e-8
#: sweeps over the coefficients for each penalty
MAX_LASSO_SWEEPS = 10_000


def solve_path(
    X: Any,
    y: Array,
    strengths: Strengths,
    multipliers: Array,
    *,
    weight: Array | None = None,
    fit_intercept: bool = True,
    positive: bool = False,
    start: Array | None = None,
    tolerance: float = GAP_TOLERANCE,
    most_sweeps: int = MAX_LASSO_SWEEPS,
    screening: bool = True,
    gram: Array | None = None,
    max_gram: int = MAX_SET_GRAM,
) -> list[Solution]:
    """Minimise ½ Σ weight (y − b − X β)² + m (Σ l1 |β − mean| + ½ Σ l2 (β − mean)²) for each multiplier m.

    Parameters
    ----------
    X : Matrix, or data for `mercer.matrices.as_matrix`, of shape (n, p)
        Columns; a dense one is not copied.
    y : array of shape (n,)
        Responses.
    strengths : Strengths
        One l1, l2 and mean for each column.
    multipliers : array
        From the largest to the smallest, which is the cheapest order.
    weight : array of shape (n,), optional
        Weights of the rows.
    fit_intercept : bool
        Whether there is a b.
    positive : bool
        Whether coefficients are constrained to be at least their means.
    start : array of shape (p,), optional
        Initial coefficients.
    tolerance : float
        Upper bound for the duality gap, in units of Σ weight (y − ȳ)².
    most_sweeps : int
        Maximum number of sweeps over the coefficients for each multiplier.
    screening : bool
        Whether columns that cannot matter are skipped; the solution is the same.
    gram : array of shape (p, p), optional
        Σ weight (x − x̄)(x − x̄)ᵀ, if known.
    max_gram : int
        Columns up to which a Gram matrix is kept.

    Returns
    -------
    solutions : list of Solution
        One for each multiplier; `coef` is a `LassoFit`, and the distances of the history are the gaps after each pass
        over the data. Ctrl-C leaves those found so far, the last one `interrupted`.

    Raises
    ------
    NonFiniteError
        If the data, or sums of their squares, are not finite.
    """
    regression = WorkingRegression.of(X, y, weight, strengths.mean, intercept=fit_intercept)
    penalty = regression.penalty(strengths, positive=positive)
    path = LassoPath(
        regression,
        penalty,
        tolerance=tolerance,
        most_sweeps=most_sweeps,
        screening=screening,
        gram=gram,
        max_gram=max_gram,
    )
    solutions: list[Solution] = []
    try:
        path.begin(start)
        solutions.extend(path.solve_along(np.asarray(multipliers, dtype=np.float64)))
    except KeyboardInterrupt:
        solutions.append(path.unfinished())
    return solutions


def solve(X: Any, y: Array, strengths: Strengths, **options: Any) -> Solution:
    """Minimise ½ Σ weight (y − b − X β)² + Σ l1 |β − mean| + ½ Σ l2 (β − mean)².

    Parameters
    ----------
    X : Matrix, or data for `mercer.matrices.as_matrix`, of shape (n, p)
        Columns; a dense one is not copied.
    y : array of shape (n,)
        Responses.
    strengths : Strengths
        One l1, l2 and mean for each column.
    **options : Any
        Those of `mercer.optim.lasso.solve_path`.

    Returns
    -------
    solution : Solution
        `coef` is a `LassoFit`; the certificate is a duality gap.

    Raises
    ------
    NonFiniteError
        If the data, or sums of their squares, are not finite.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([-1.0, 0.0, 1.0])
    >>> solution = solve(X, y, Strengths(np.array([0.5]), np.zeros(1), np.zeros(1)))
    >>> solution.coef.coefficients, solution.certificate.holds
    (array([0.75]), True)
    """
    return solve_path(X, y, strengths, np.ones(1), **options)[-1]
