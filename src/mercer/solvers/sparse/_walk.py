"""From one strength of a penalty to the next, by working sets: see `mercer.solvers.sparse.path`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer._jit.solvers.columns import AT_ONCE
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.sparse._gram_set import GramSet
from mercer.solvers.sparse._lasso_point import Attempt, LassoFit, Point
from mercer.solvers.sparse._residual_set import ResidualSet
from mercer.solvers.sparse.duality import Penalty, least_squares_gap
from mercer.solvers.sparse.regression import Regression

#: columns that a working set begins with; it may double each time
FIRST = 100
#: columns up to which a Gram matrix is kept
MOST_GRAM = 5_000
#: columns up to which all of them make up the set from the start, if there are as many rows
ALL_AT_ONCE = 1_000
#: working sets are solved to this portion of the tolerance; while columns are missing, of the gap
CLOSER, CLOSER_THAN_NOW = 1e-4, 0.05
#: columns are foreseen to be needed that come this near to their penalty, in portions of its change
MARGIN = 0.1
#: columns are looked at whose slopes may have reached this portion of their penalty
NEAR = 0.7
#: gaps below this portion of Σ weight (y − ȳ)² are taken from the data, not from a Gram matrix
ROUNDING = 1e-12
#: slopes of columns and residuals of length one are not more accurate than this
NOTHING = 1e-15


class Walk:
    """The present point of a regression, and the columns that matter there."""

    def __init__(
        self,
        regression: Regression,
        penalty: Penalty,
        *,
        tolerance: float,
        most_sweeps: int,
        screening: bool,
        gram: Array | None = None,
    ) -> None:
        self._regression, self._base, self._screening = regression, penalty, screening
        self._relative, self._most = tolerance, most_sweeps
        self._tolerance = tolerance * regression.scale
        self._closer = CLOSER * self._tolerance
        scale = regression.columns.scale
        known = regression.gram if gram is None else gram / scale[:, None] / scale
        self._set = GramSet(regression.columns, regression.weight)
        if known is not None:
            self._set = GramSet.of_gram(regression.columns, known)
        #: the multiplier that the present point was found for, and how slopes change with it
        self._at = np.inf
        self._trend: Array | None = None
        self._attempt = Attempt()

    def begin(self, start: Array | None) -> None:
        """At coefficients of the user's, or at zero."""
        regression = self._regression
        w = np.zeros(regression.n_columns) if start is None else regression.working(start)
        if self._base.positive:
            w = np.maximum(w, 0.0)
        if w.any():
            ids = np.flatnonzero(w)
            residual = regression.residuals(regression.columns.combination(ids, w[None, ids]))
            self.here = Point(w, residual[0], regression.squares(residual)[0], regression.slopes(residual)[0])
        else:
            self.here = Point(w, regression.target, regression.scale, regression.slopes_at_zero())
        #: upper bounds of the sizes of all slopes at the present point
        self._bound = np.abs(self.here.c)
        p = regression.n_columns
        #: columns whose slopes there are known; of others they are those of an earlier point
        self._known = np.ones(p, dtype=bool)
        wanted = (self._base.l1 == 0) | (w != 0)
        if p <= min(ALL_AT_ONCE, len(regression.target)):
            wanted = np.ones(p, dtype=bool)
        self._set.grow(np.flatnonzero(wanted & self._varies & ~self._set.member))
        self._set.load(w, self.here.c, self.here.squares)

    def _penalty(self, multiplier: float) -> Penalty:
        """At a multiplier; what is less than the rounding of slopes is nothing."""
        l1, l2, positive = self._base.times(multiplier)
        return Penalty(np.where(l1 < NOTHING, 0.0, l1), l2, positive)

    @property
    def _varies(self) -> Array:
        return np.asarray(self._regression.lengths > 0)

    @property
    def _complete(self) -> bool:
        """Whether every column is in the set, whose slopes are accurate enough to speak for the data."""
        return len(self._set) >= int(self._varies.sum()) and self._relative > ROUNDING

    @property
    def _most_gram(self) -> int:
        """Columns up to which a Gram matrix is kept; with a squared penalty there may be many more than rows."""
        n = len(self._regression.target)
        return min(MOST_GRAM, max(FIRST, 2 * n)) if self._base.l2.all() else MOST_GRAM

    # One strength after another.

    def along(self, multipliers: Array) -> Iterator[Solution]:
        """Solutions at the multipliers, in their order."""
        done, ahead = 0, 1
        while done < len(multipliers):
            few = multipliers[done : done + ahead]
            found = 0
            for solution in self._few(few, last=done + len(few) == len(multipliers)):
                yield solution
                found += 1
            done += found
            # looking ahead pays as long as what was foreseen comes true
            ahead = min(AT_ONCE, ahead + 1) if found == len(few) else 1

    def _few(self, multipliers: Array, *, last: bool) -> Iterator[Solution]:
        """Solutions at the first of these multipliers: as many as turn out right, perhaps none."""
        penalties = [self._penalty(m) for m in multipliers]
        # coefficients of zero would be off by the root of a gap; those of the user's are as good as was asked
        enough = self._tolerance if self.here.w.any() else self._closer
        if self._at == np.inf and not self._attempt.gaps and self._gap(self.here, penalties[0]) <= enough:
            self._arrive(self.here, multipliers[0])
            yield self._solution(self.here, penalties[0])
        elif self._complete and (len(penalties) > 1 or not last):
            # the last one is looked at, which tells if rounding has spoilt the others
            for self._at, penalty in zip(multipliers[: len(penalties) - last], penalties, strict=False):
                yield self._by_set(penalty)
        else:
            wanted, lacking = self._foresee(multipliers[-1])
            if len(self._set) + len(wanted) > self._most_gram:
                penalties = penalties[:1]
                found = self._solved_by_rows(penalties[0])
            else:
                self._look_again(wanted)
                self._set.grow(wanted)
                found = self._solved(penalties, lacking)
            yield from self._looked_at(multipliers, penalties, *found)

    def _looked_at(
        self, multipliers: Array, penalties: list[Penalty], sweeps: list[int], W: Array
    ) -> Iterator[Solution]:
        """Which of the coefficients W are right, by a pass over all columns that may matter."""
        used = np.flatnonzero(W.any(axis=0))
        residuals = self._regression.residuals(self._regression.columns.combination(used, W[:, used]))
        looked = self._may_matter(used, residuals, penalties)
        C = np.tile(self.here.c, (len(W), 1))
        C[:, looked] = self._regression.slopes(residuals, looked)
        squares = self._regression.squares(residuals)
        for i, penalty in enumerate(penalties):
            point = Point(W[i], residuals[i], float(squares[i]), C[i])
            self._arrive(point, multipliers[i], looked)
            self._attempt.sweeps += sweeps[i]
            self._attempt.gaps.append(self._gap(point, penalty))
            right = self._attempt.gaps[-1] <= self._tolerance
            if right or self._attempt.sweeps >= self._most or self._attempt.in_vain:
                yield self._solution(point, penalty)
            if not right:
                return

    # Looking at the data.

    def _gap(self, point: Point, penalty: Penalty) -> float:
        """Upper bound of what the objective can still fall by; unpenalised slopes have to vanish."""
        return least_squares_gap(penalty, point.w, point.c, point.squares)

    def _may_matter(self, used: Array, residuals: Array, penalties: list[Penalty]) -> Array:
        """Columns in use or in the set, and others whose slopes may have come near their penalty."""
        if not self._screening:
            return self._regression.columns.all_ids()
        matters = self._set.member.copy()
        matters[used] = True
        moved = np.sqrt(self._regression.squares(residuals - self.here.residual))
        for distance, penalty in zip(moved, penalties, strict=True):
            matters |= self._bound + self._regression.lengths * distance >= NEAR * penalty.l1
        return np.flatnonzero(matters & self._varies)

    def _look_again(self, ids: Array) -> None:
        """Find the slopes of columns that were not looked at: a set has to begin at those of the present point."""
        unknown = ids[~self._known[ids]]
        if len(unknown):
            self.here.c[unknown] = self._regression.slopes(self.here.residual[None], unknown)[0]

    def _arrive(self, there: Point, multiplier: float, looked: Array | None = None) -> None:
        """Make a point the present one; the slopes of columns that were not `looked` at are only bounded."""
        bound, self._known = np.abs(there.c), np.ones(len(there.c), dtype=bool)
        if looked is not None:
            away = self._regression.squares((there.residual - self.here.residual)[None])[0]
            skipped = np.ones(len(bound), dtype=bool)
            skipped[looked] = False
            bound[skipped] = (self._bound + self._regression.lengths * np.sqrt(away))[skipped]
            self._known = ~skipped
        if np.isfinite(self._at) and multiplier != self._at:
            self._trend = (there.c - self.here.c) / (multiplier - self._at)
        self._bound, self.here, self._at = bound, there, multiplier

    # The working set.

    def _foresee(self, multiplier: float) -> tuple[Array, bool]:
        """Columns that the set will need down to a multiplier, and whether some had to be left out."""
        l1 = self._base.times(multiplier).l1
        size, threshold = self._base.pull(self.here.c), l1
        if np.isfinite(self._at):
            ahead = self._at - multiplier
            if self._trend is None:
                threshold = l1 - self._base.times(ahead).l1  # slopes seldom change faster than penalties
            else:
                size = self._base.pull(self.here.c - ahead * self._trend)
                threshold = l1 - self._base.times(MARGIN * ahead).l1
        outside = ~self._set.member & self._varies
        needed = np.flatnonzero((self.here.w != 0) & outside)
        wanted = np.flatnonzero((size > threshold) & (self.here.w == 0) & outside)
        most = max(FIRST, len(self._set))
        if lacking := len(wanted) > most:
            wanted = wanted[np.argpartition(l1[wanted] - size[wanted], most)[:most]]
        return np.sort(np.append(needed, wanted)), lacking

    def _solved(self, penalties: list[Penalty], lacking: bool) -> tuple[list[int], Array]:
        """Coefficients at each of the penalties as if only the columns of the set mattered, and the sweeps spent."""
        now = CLOSER_THAN_NOW * self._gap(self.here, penalties[0])
        target = max(self._closer, now) if lacking else self._closer
        self._set.load(self.here.w, self.here.c, self.here.squares)
        W = np.zeros((len(penalties), self._regression.n_columns))
        sweeps = []
        with blas_for(FIRST):
            for w, penalty in zip(W, penalties, strict=True):
                sweeps.append(self._set.solve(penalty, target, self._most - self._attempt.sweeps))
                w[self._set.ids] = self._set.quadratic.w
        return sweeps, W

    def _solved_by_rows(self, penalty: Penalty) -> tuple[list[int], Array]:
        """The same for more columns than a Gram matrix is kept of."""
        regression, here = self._regression, self.here
        ids = np.flatnonzero(((here.w != 0) | (penalty.pull(here.c) > penalty.l1)) & self._varies)
        rows = ResidualSet(regression.columns, ids, regression.weight, centred=regression.intercept)
        rows.load(here.w[ids], regression.weight * here.residual)
        sweeps = rows.solve(penalty, self._closer, self._most - self._attempt.sweeps)
        W = np.zeros((1, regression.n_columns))
        W[0, ids] = rows.w
        return [sweeps], W

    def _by_set(self, penalty: Penalty) -> Solution:
        """The solution where the Gram matrix knows all columns: the data are not looked at."""
        quadratic = self._set.quadratic
        sweeps = self._set.solve(penalty, self._closer, self._most)
        w, c = np.zeros((2, self._regression.n_columns))
        w[self._set.ids], c[self._set.ids] = quadratic.w, quadratic.c
        self.here = Point(w, self.here.residual, quadratic.squares, c)
        self._attempt.sweeps, self._attempt.gaps = sweeps, [self._gap(self.here, penalty)]
        return self._solution(self.here, penalty)

    # Results.

    def _solution(self, point: Point, penalty: Penalty) -> Solution:
        unit = self._regression.unit**2
        gap = self._attempt.gaps[-1] if self._attempt.gaps else self._gap(point, penalty)
        attempt, self._attempt = self._attempt, Attempt()
        fit = LassoFit(*self._regression.coefficients(point.w), attempt.sweeps)
        free = penalty.free.any()
        sentence = (
            f"the objective can fall by no more than this, after {attempt.sweeps} sweeps"
            f"{' and as the slopes of unpenalised coefficients vanish' if free else ''}"
        )
        certificate = Certificate("duality gap", gap * unit, self._tolerance * unit, sentence)
        return Solution(fit, certificate, tuple(gap * unit for gap in attempt.gaps))

    def unfinished(self) -> Solution:
        """Where it stands, with a certificate that does not hold."""
        fit = LassoFit(*self._regression.coefficients(self.here.w), self._attempt.sweeps)
        unit = self._regression.unit**2
        sentence = "stopped by the user before the gap was known"
        return Solution(fit, Certificate("duality gap", np.inf, self._tolerance * unit, sentence), ())
