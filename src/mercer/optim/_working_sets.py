"""Working sets of columns, in which penalised least squares are solved by coordinate descent and linear systems.

Sweeps of coordinate descent find out which coefficients are zero. As long as the signs of the others stay, the
objective is a quadratic, whose minimum is a linear system. A set keeps either the Gram matrix of its columns
(`GramWorkingSet`), so that coefficients move without the data, or the slope of each row (`ResidualWorkingSet`), for
more columns than a Gram matrix is worth.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.linalg import solve_triangular

from mercer._jit.product import square
from mercer._threads import blas_for
from mercer._typing import Array
from mercer.kernels.row_loops import add_rows
from mercer.matrices.columns import COPIED_BYTES, MatrixColumns
from mercer.optim import _gram_descent_loops as gram_loops
from mercer.optim import _triangle_loops as triangle_loops
from mercer.optim._anderson import AndersonAcceleration
from mercer.optim.duality import GapPenalty, least_squares_gap

# A Cholesky factor that is updated

#: columns that are appended at once
FACTOR_PANEL = 128
#: a column is linearly dependent on others if no more than this portion of its square is independent of them
DEPENDENT = 1e-12
#: share of the columns to be removed beyond which it is cheaper to factorise anew
MAX_LEAVING_SHARE = 1 / 3


class ColumnFactor:
    """UᵀU = G[ids, ids] + diag(ridge[ids]) for the requested columns except those that depend on others."""

    def __init__(self) -> None:
        self._U = np.zeros((0, 0))
        self._ridge = np.zeros(0)
        self.ids = np.zeros(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.ids)

    def changes(self, ids: Array, ridge: Array) -> int:
        """Return the number of columns that would have to be added or removed."""
        if not self._is_current(ridge):
            return len(ids)
        return int(np.setxor1d(ids, self.ids, assume_unique=True).size)

    def _is_current(self, ridge: Array) -> bool:
        return np.array_equal(self._ridge, ridge[self.ids])

    def drop(self, keep: Array, ridge: Array) -> None:
        """Remove the columns that are not in the mask `keep`."""
        kept = keep[self.ids]
        if not self._is_current(ridge) or np.count_nonzero(~kept) > MAX_LEAVING_SHARE * len(kept):
            self.ids = self.ids[:0]
        elif not kept.all():
            triangle_loops.remove_columns(self._U, len(self), kept)
            self.ids = self.ids[kept]
        self._ridge = ridge[self.ids]

    def extend(self, G: Array, ids: Array, ridge: Array) -> None:
        """Append columns that are not in the factor yet."""
        new = np.setdiff1d(ids, self.ids, assume_unique=True)
        for first in range(0, len(new), FACTOR_PANEL):
            self._append(G, new[first : first + FACTOR_PANEL], ridge)

    def _append(self, G: Array, new: Array, ridge: Array) -> None:
        a, m = len(self), len(new)
        self._reserve(a + m)
        border = self._forward(G[np.ix_(self.ids, new)])
        corner = G[np.ix_(new, new)]
        corner[np.diag_indices(m)] += ridge[new]
        pivots = DEPENDENT * corner.diagonal()
        corner -= border.T @ border
        try:
            if (corner.diagonal() <= pivots).any():
                raise np.linalg.LinAlgError
            with blas_for(FACTOR_PANEL):
                lower = np.linalg.cholesky(corner)
            if (np.square(lower.diagonal()) <= pivots).any():
                raise np.linalg.LinAlgError
        except np.linalg.LinAlgError:
            if m > 1:  # one of them is dependent
                for half in np.array_split(new, 2):
                    self._append(G, half, ridge)
            return
        self._U[:a, a : a + m] = border
        self._U[a : a + m, a : a + m] = lower.T
        self.ids = np.append(self.ids, new)
        self._ridge = np.append(self._ridge, ridge[new])

    def _reserve(self, size: int) -> None:
        if size > len(self._U):
            larger = np.zeros((2 * size, 2 * size))
            larger[: len(self), : len(self)] = self._U[: len(self), : len(self)]
            self._U = larger

    def _forward(self, B: Array) -> Array:
        """Return U⁻ᵀ B, in panels, so that most of the work is a product of matrices."""
        a, U = len(B), self._U
        for first in range(0, a, FACTOR_PANEL):
            last = min(first + FACTOR_PANEL, a)
            # on one thread: SciPy's BLAS threads would wait for NumPy's, which keep spinning after a product
            with blas_for(FACTOR_PANEL):
                B[first:last] = solve_triangular(U[first:last, first:last], B[first:last], trans=1, check_finite=False)
            B[last:] -= U[first:last, last:a].T @ B[first:last]
        return B

    def solve(self, b: Array) -> Array:
        """Return (UᵀU)⁻¹ b."""
        x = np.array(b)
        triangle_loops.solve(self._U, len(self), x)
        return x


# A quadratic with a penalty

#: multiplications that take no longer than one step in Python: as many are first spent on sweeps
CHEAP_PRODUCTS = 1 << 16
#: sweeps that are made in this way
MAX_CHEAP_SWEEPS = 100
#: sweeps before the linear system is tried
FEWEST_SWEEPS = 2
#: speed of a product of matrices compared with a sweep, per entry
PRODUCT_GAIN = 12
#: times that coefficients may reach zero on the way to the solution of a linear system
MAX_FACES = 50
#: a change of the objective by this portion is negligible
LEVEL_CHANGE = 1e-9
#: a slope of this portion of the length of the residual is rounding
RESIDUAL_SLOPE_ROUNDING = 1e-13
#: a fall of the objective by this portion is rounding
QUADRATIC_ROUNDING = 1e-16
#: sweeps end when one gains less than this portion of that rounding: coefficients no longer change
AT_REST = 1e-8


class PenalisedQuadratic:
    """Minimise ½ wᵀ G w − bᵀ w + Σ l1 |w| + ½ l2 w²: coefficients w, and their negative gradient c = b − G w.

    `squares` is twice the quadratic with the constant that makes it nonnegative, Σ h r². The factor of the linear
    system is kept from one penalty to the next. G may be larger than the coefficients: its leading part counts.
    """

    def __init__(self, G: Array) -> None:
        self.G = G
        self._factor = ColumnFactor()
        self.w, self.c, self.squares = np.zeros(0), np.zeros(0), 0.0

    def load(self, w: Array, c: Array, squares: float) -> None:
        """Set coefficients with these slopes."""
        self.w, self.c, self.squares = np.array(w), np.array(c), squares

    def gap(self, penalty: GapPenalty) -> float:
        """Return the duality gap."""
        return least_squares_gap(penalty, self.w, self.c, self.squares)

    def solve(self, penalty: GapPenalty, target: float, most: int) -> int:
        """Minimise until the gap is at most `target`; return the number of steps.

        1. Make cheap sweeps over all coefficients in compiled code.
        2. Solve the linear system of the coefficients whose factor is there already.
        3. Sweep over the coefficients that are not zero or have steep slopes; where sweeps become slow, solve the
           linear system. Repeat until the gap is reached or rounding stops the decrease.
        """
        rounding = QUADRATIC_ROUNDING * (self.squares + penalty.value(self.w))
        steps, sweeps = self._cheap_sweeps(penalty, target, rounding, most), 0
        if len(self._factor) and steps < most and not self._is_solved(penalty, target):
            self._newton(penalty, extend=False)  # coefficients that were not zero before probably stay so
            steps += 1
        while steps < most and not self._is_solved(penalty, target):
            active = np.flatnonzero((self.w != 0) | (penalty.pull(self.c) > penalty.l1))
            decrease = self._sweep(active, penalty)
            steps, sweeps = steps + 1, sweeps + 1
            slow = decrease <= rounding or sweeps >= self._patience(penalty)
            if slow and steps < most and not self._is_solved(penalty, target):
                decrease += self._newton(penalty, extend=True)
                steps, sweeps = steps + 1, 0
            if decrease <= rounding:
                break  # only rounding is left
        return steps

    def _cheap_sweeps(self, penalty: GapPenalty, target: float, rounding: float, most: int) -> int:
        """Make sweeps that cost less than computing the gap after each, until coefficients no longer change."""
        size = len(self.w)
        few = min(CHEAP_PRODUCTS // max(1, size * size), MAX_CHEAP_SWEEPS, most // 10)
        known = self.G, size, *penalty, self.w, self.c, self.squares
        sweeps, self.squares = gram_loops.gram_descent(*known, target, AT_REST * rounding, few)
        return int(sweeps)

    def _is_solved(self, penalty: GapPenalty, target: float) -> bool:
        return self.gap(penalty) <= target

    def _sweep(self, active: Array, penalty: GapPenalty) -> float:
        before, slopes = self.w.copy(), self.c.copy()
        decrease = gram_loops.gram_sweep(self.G, len(self.w), active, *penalty, self.w, self.c)
        self.squares = max(0.0, self.squares - float((slopes + self.c) @ (self.w - before)))
        return float(decrease)

    def _patience(self, penalty: GapPenalty) -> float:
        """Return the number of sweeps after which the linear system is worth its cost."""
        support = np.flatnonzero(self.w)
        changes = self._factor.changes(support, penalty.l2)
        return max(FEWEST_SWEEPS, changes * len(support) / (PRODUCT_GAIN * len(self.w)))

    def _newton(self, penalty: GapPenalty, *, extend: bool) -> float:
        """Move to the minimum for the present signs; coefficients that reach zero on the way stay there.

        Return the decrease of the objective.
        """
        total = self._independent(penalty) if extend else 0.0
        for _ in range(MAX_FACES):
            self._factor.drop(self.w != 0, penalty.l2)
            if not len(self._factor):
                break
            decrease, inside = self._face(penalty, self._factor.ids)
            total += decrease
            if inside or decrease <= 0:
                break
        return total

    def _independent(self, penalty: GapPenalty) -> float:
        """Update the factor; remove dependent columns, and return the decrease of the objective."""
        decrease = 0.0
        for _ in range(MAX_FACES):
            self._factor.drop(self.w != 0, penalty.l2)
            self._factor.extend(self.G, np.flatnonzero(self.w), penalty.l2)
            dependent = np.setdiff1d(np.flatnonzero(self.w), self._factor.ids, assume_unique=True)
            if not len(dependent):
                break
            lower = self._exchange(penalty, dependent[0])
            if lower < 0:  # the direction is downhill, so that only rounding can prevent a decrease
                break
            decrease += lower
        return decrease

    def _exchange(self, penalty: GapPenalty, j: int) -> float:
        """Move along a linear dependence of columns, which changes only the penalty, until a coefficient is zero.

        Return the decrease of the objective; below 0 if no step was made.
        """
        rows = np.append(self._factor.ids, j)
        few, w = penalty.select(rows), self.w[rows]
        step = np.append(-self._factor.solve(self.G[j, rows[:-1]]), 1.0)
        step[np.abs(step) <= LEVEL_CHANGE * np.abs(step).max()] = 0.0
        uphill = (few.l1 * np.sign(w) + few.l2 * w - self.c[rows]) @ step
        level = abs(uphill) <= (LEVEL_CHANGE * few.l1 + RESIDUAL_SLOPE_ROUNDING * np.sqrt(self.squares)) @ np.abs(step)
        # where the direction is level, column j is removed
        step *= -np.sign(w[-1] if level else uphill)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(w * step < 0, -w / step, np.inf)
        first = reach.min()
        if first == np.inf:  # up to rounding, no coefficient approaches zero
            return -1.0
        slack = LEVEL_CHANGE * self.squares if level else 0.0
        lower = self._try(rows, few, w, np.where(reach == first, -w, first * step), slack)
        return max(lower, 0.0) if lower >= -slack else lower  # a level step counts as no decrease

    def _face(self, penalty: GapPenalty, rows: Array) -> tuple[float, bool]:
        """Step towards the minimum for the present signs; return the decrease, and whether no sign changed."""
        few, w = penalty.select(rows), self.w[rows]
        sign = np.sign(w)
        step = self._factor.solve(self.c[rows] - few.l2 * w - few.l1 * sign)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where((w + step) * sign < 0, -w / step, 1.0)
        first = reach.min()
        # coefficients whose sign would change stop at zero; if that is not a decrease, all stop with the first of them
        rounding = 10 * QUADRATIC_ROUNDING * (self.squares + penalty.value(self.w))
        decrease = self._try(rows, few, w, np.where(reach < 1, -w, step), rounding)
        if decrease < -rounding and first < 1:
            decrease = self._try(rows, few, w, np.where(reach == first, -w, first * step))
        return max(decrease, 0.0), bool(first == 1)

    def _try(self, rows: Array, few: GapPenalty, w: Array, step: Array, slack: float = 0.0) -> float:
        """Make a step unless the objective rises by more than `slack`; return the decrease."""
        slopes = self.c.copy()
        add_rows(self.c, 0, len(self.w), self.G, rows, -step)
        change = float((slopes[rows] + self.c[rows]) @ step)
        decrease = 0.5 * change - (few.value(w + step) - few.value(w))
        if decrease < -slack:
            self.c = slopes
        else:
            self.w[rows] = w + step
            self.squares = max(0.0, self.squares - change)
        return decrease


# Working sets


class GramWorkingSet:
    """Columns `ids`, and the quadratic Σ h (r − X w)² of their coefficients by its Gram matrix, without the data."""

    def __init__(self, columns: MatrixColumns, h: Array) -> None:
        self._columns, self._h = columns, h
        self.ids = np.zeros(0, dtype=np.intp)
        self.member = np.zeros(columns.n_columns, dtype=bool)
        self.quadratic = PenalisedQuadratic(np.zeros((0, 0)))
        #: the columns times √h, if they are few
        self._kept: Array | None = np.zeros((0, columns.n_rows)) if columns.is_dense else None

    @classmethod
    def of_gram(cls, columns: MatrixColumns, G: Array) -> GramWorkingSet:
        """Return the set of all columns, with their known Gram matrix."""
        made = cls(columns, np.zeros(0))
        made.ids, made.quadratic = columns.all_ids(), PenalisedQuadratic(np.require(G, np.float64, ["C", "W"]))
        made.member[:] = True
        return made

    def __len__(self) -> int:
        return len(self.ids)

    def grow(self, new: Array) -> None:
        """Add columns; coefficients have to be loaded afterwards."""
        if not len(new):
            return
        k, size = len(self), len(self) + len(new)
        ids = np.append(self.ids, new)
        products = self._products(new, ids)
        G = self.quadratic.G
        if size > len(G):
            larger = np.zeros((max(2 * k, size), max(2 * k, size)))
            larger[:k, :k] = G[:k, :k]
            self.quadratic.G = G = larger
        G[k:size, :size] = products
        G[:k, k:size] = products[:, :k].T
        self.ids = ids
        self.member[new] = True

    def _products(self, new: Array, ids: Array) -> Array:
        """Return the products of new columns with all."""
        n, k, columns = self._columns.n_rows, len(self), self._columns
        if self._kept is None or 8 * n * len(ids) > COPIED_BYTES:
            self._kept = None
            return columns.gram(new, ids, self._h)
        if len(ids) > len(self._kept):
            larger = np.empty((min(2 * len(ids), COPIED_BYTES // (8 * max(1, n)) + 1), n))
            larger[:k] = self._kept[:k]
            self._kept = larger
        self._kept[k : len(ids)] = columns.gather(new)
        self._kept[k : len(ids)] *= np.sqrt(self._h)
        return np.asarray(self._kept[k : len(ids)] @ self._kept[: len(ids)].T)

    def load(self, w: Array, c: Array, squares: float) -> None:
        """Set the coefficients of all columns, with their exact slopes and Σ h r²."""
        self.quadratic.load(w[self.ids], c[self.ids], squares)

    def solve(self, penalty: GapPenalty, target: float, most: int) -> int:
        """Minimise until the gap of the set is at most `target`; return the number of steps."""
        return self.quadratic.solve(penalty.select(self.ids), target, most)


#: earlier sweeps that Anderson acceleration combines
ANDERSON_MEMORY = 5
#: rows up to which their linear system is solved
MAX_WOODBURY_ROWS = 3_000
#: cost of that system in sweeps, per row
SWEEPS_PER_ROW = 0.02


class ResidualWorkingSet:
    """Columns `ids` with coefficients w, and the negative gradient v of each row, from which a unit of X w subtracts h.

    The objective is Σ v²/2h + penalty, up to a constant. If `centred`, an intercept keeps Σ v at zero. Sweeps are
    accelerated by Anderson's method with `memory` earlier sweeps; an extrapolation that does not lower the objective is
    rejected. With more columns than rows and squared penalties for all, the minimum for the present signs is a linear
    system of the size of the rows (Woodbury's identity), which is solved from time to time.
    """

    def __init__(
        self, columns: MatrixColumns, ids: Array, h: Array, *, centred: bool, memory: int = ANDERSON_MEMORY
    ) -> None:
        self._columns, self.ids, self._h, self._centred, self._memory = columns, ids, h, centred, memory
        self._curvature = columns.squares(ids, h)
        with np.errstate(divide="ignore"):
            self._inverse = np.where(h > 0, 1 / h, 0.0)
        self.w, self.v = np.zeros(0), np.zeros(0)

    def load(self, w: Array, v: Array) -> None:
        """Set the coefficients of these columns, with the negative gradient of the rows."""
        self.w, self.v = np.array(w), np.array(v)

    def solve(self, penalty: GapPenalty, target: float, most: int) -> int:
        """Sweep until a sweep lowers the objective by no more than `target`; return the number of sweeps."""
        penalty = penalty.select(self.ids)
        k, anderson = len(self.ids), AndersonAcceleration(self._memory)
        patience = self._patience(penalty)
        for sweeps in range(1, most + 1):
            before = np.concatenate([self.w, self.v])
            decrease = self._sweep(penalty)
            if decrease <= target:
                return sweeps
            if sweeps % patience == 0:
                self._newton(penalty)
                anderson = AndersonAcceleration(self._memory)
                continue
            leap = anderson.propose(before, np.concatenate([self.w, self.v]) - before)
            self._try(penalty, leap[:k].copy(), leap[k:].copy())
        return most

    def _try(self, penalty: GapPenalty, w: Array, v: Array) -> bool:
        """Move to a point if the objective is lower there and the constraint holds; return whether it is."""
        lower = self._value(penalty, w, v) < self._value(penalty, self.w, self.v)
        if is_accepted := bool(lower and not (penalty.positive and (w < 0).any())):
            self.w, self.v = w, v
        return is_accepted

    def _value(self, penalty: GapPenalty, w: Array, v: Array) -> float:
        return 0.5 * float(np.square(v) @ self._inverse) + penalty.value(w)

    def _sweep(self, penalty: GapPenalty) -> float:
        decrease = self._columns.sweep(self.ids, self._h, self._curvature, penalty, self.w, self.v)
        if self._centred:
            total, weight = self.v.sum(), self._h.sum()
            self.v -= total / weight * self._h
            decrease += 0.5 * total**2 / weight
        return float(decrease)

    def _patience(self, penalty: GapPenalty) -> int:
        """Return the number of sweeps after which a linear system of the rows is worth its cost."""
        n = self._columns.n_rows
        suits = self._columns.is_dense and n <= min(MAX_WOODBURY_ROWS, len(self.ids)) and penalty.l2.all()
        return max(ANDERSON_MEMORY, int(SWEEPS_PER_ROW * n)) if suits else np.iinfo(np.int64).max

    def _newton(self, penalty: GapPenalty) -> None:
        """Move to the minimum for the present signs; coefficients that reach zero on the way stay there."""
        support = np.flatnonzero(self.w)
        K = np.eye(self._columns.n_rows) + self._outer(penalty, support)
        for _ in range(MAX_FACES):
            left = np.flatnonzero(self.w)
            K -= self._outer(penalty, np.setdiff1d(support, left, assume_unique=True))
            support = left
            if not len(support) or self._face(penalty, support, K):
                break

    def _outer(self, penalty: GapPenalty, which: Array) -> Array:
        """Return √h X l2⁻¹ Xᵀ √h for some of the columns."""
        root, total = np.sqrt(self._h), np.zeros((self._columns.n_rows,) * 2)
        for part in self._columns.chunks(which):
            tile = self._columns.gather(self.ids[which[part]])
            tile *= root
            tile /= np.sqrt(penalty.l2[which[part]])[:, None]
            total += square(tile)
        return total

    def _face(self, penalty: GapPenalty, support: Array, K: Array) -> bool:
        """Step towards the minimum for the present signs; return whether no more steps are needed."""
        few, w, ids, root = penalty.select(support), self.w[support], self.ids[support], np.sqrt(self._h)
        sign = np.sign(w)
        # (XᵀhX + l2)⁻¹ b = l2⁻¹ (b − Xᵀ√h K⁻¹ √hX l2⁻¹ b)
        step = (self._columns.products(self.v[None], ids)[0] - few.l1 * sign - few.l2 * w) / few.l2
        inner = scipy.linalg.solve(K, root * self._columns.combination(ids, step[None])[0], assume_a="pos")
        step -= self._columns.products((root * inner)[None], ids)[0] / few.l2
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where((w + step) * sign < 0, -w / step, 1.0)
        # as in `PenalisedQuadratic`: coefficients whose sign would change stop at zero, or all with the first of them
        first = reach.min()
        for trial in (np.where(reach < 1, -w, step), np.where(reach == first, -w, first * step)):
            there = self.w.copy()
            there[support] = w + trial
            moved = self._columns.combination(ids, trial[None])[0]
            if self._try(penalty, there, self.v - self._h * moved):
                return bool(first == 1)
            if first == 1:
                break
        return True
