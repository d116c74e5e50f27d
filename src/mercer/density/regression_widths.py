"""Widths of a kernel regression that minimise the leave-one-out error, one for each axis and each category.

With many rows, the search uses a sample. The common width is then chosen for the fit of all rows, by leaving out each
row, or a sample of them if that takes too long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from mercer._errors import BandwidthError
from mercer._stored import floats, optional, stored
from mercer._typing import Array
from mercer.density._bandwidth import Bandwidth, Criterion
from mercer.density._kernels import SmoothingKernel
from mercer.density._mixed import MixedRows, most_mismatch
from mercer.density._regression import LocalFit
from mercer.density._rules import SampleSpread, canonical_factor

#: bandwidth of the numbers, and λ of each category; None where there are none
Widths = tuple[Bandwidth | None, Array | None]
Error = Callable[[Bandwidth | None, Array | None], float]

#: number of axes up to which each gets its own width; more keep the proportions of their standard deviations
MOST_AXES = 10
#: trial widths of all axes together, as binary logarithms of multiples of a reference
JOINT_WIDTHS = np.arange(-6.0, 8.5, 0.5)
#: a finer grid if this is the only parameter, because kernels of compact support have errors with many local minima
SINGLE_WIDTHS = np.concatenate(
    [JOINT_WIDTHS[JOINT_WIDTHS < -3], np.arange(-3.0, 3.0, 0.125), JOINT_WIDTHS[JOINT_WIDTHS >= 3]]
)
#: trial steps around the choice of a sample
NEAR_STEPS = np.array([-1.0, -0.5, 0.5, 1.0])
#: most repetitions of these steps while the best is at the edge
MOST_REPETITIONS = 3
#: steps along one axis
AXIS_STEPS = np.array([-8.0, -4.0, -2.0, -1.0, 1.0, 2.0, 6.0])
#: least binary logarithm of a multiple
LEAST_LOG = -10.0
#: greatest binary logarithm of a multiple; beyond it an axis has no influence
MOST_LOG = 14.0
#: trial shares of the greatest mismatch of a category
MISMATCH_SHARES = np.array([0.0, 0.05, 0.2, 0.5, 1.0])
#: share of the greatest mismatch at which a search begins
FIRST_MISMATCH_SHARE = 0.25
#: sweeps over all parameters
WIDTH_SWEEPS = 2
#: errors that differ by less than this share of the variance are equal; the wider kernels are then chosen
EQUAL_ERRORS = 1e-12
#: a relative improvement below this ends a search
LEAST_SWEEP_GAIN = 1e-3
#: number of parameters up to which a simplex is used
SIMPLEX_PARAMETERS = 4
#: evaluations of the simplex per parameter
SIMPLEX_EVALUATIONS = 50
#: tolerance of the binary logarithm in the last search
FINE_PRECISION = 1e-4
#: tolerance of the binary logarithm before a simplex or the next axis
COARSE_PRECISION = 0.05
CRITERION_NAME = "leave-one-out squared error"


class WidthSearchPath:
    """A search over the binary logarithms of the widths of the axes and the shares of the greatest mismatches.

    First the common width of all axes is searched on a grid and then to four digits; then one axis and one category
    after the other; then all of them by a simplex.

    Parameters
    ----------
    error : function of a bandwidth and mismatches
        The objective.
    reference : array of shape (d,) or None
        Reference widths; None if the bandwidth is given.
    most : array of shape (q,) or None
        The greatest mismatch of each category; None if mismatches are given.
    given : pair of a bandwidth and mismatches
        The given bandwidth and mismatches.
    uses_all_rows : bool
        Whether the error is that of the fit of all rows. For a sample, the tolerances are larger.
    """

    def __init__(
        self, error: Error, reference: Array | None, most: Array | None, given: Widths, *, uses_all_rows: bool
    ) -> None:
        self.reference, self.uses_all_rows = reference, uses_all_rows
        self._error_of, self._most, self._given = error, most, given
        own = 0 if reference is None else len(reference)
        self.axes = own if own <= MOST_AXES else 1
        self.categories = 0 if most is None else len(most)
        self.point = np.concatenate([np.zeros(self.axes), np.full(self.categories, FIRST_MISMATCH_SHARE)])
        self.error = np.inf
        self.curve: Criterion | None = None
        #: evaluations of the search that this one continues
        self._before = 0
        self._known: dict[tuple[float, ...], float] = {}

    def search(self) -> None:
        self.error = self._at(self.point)
        if self.axes:
            self._along_joint(
                *((SINGLE_WIDTHS, FINE_PRECISION) if len(self.point) == 1 else (JOINT_WIDTHS, COARSE_PRECISION))
            )
        coordinates, together = self._coordinates(), self.point
        for _ in range(WIDTH_SWEEPS if coordinates else 0):
            before = self.error
            for coordinate in coordinates:
                self._along(coordinate)
            if not self.error < before - max(EQUAL_ERRORS, LEAST_SWEEP_GAIN * before):
                break
        if 1 < len(coordinates) <= SIMPLEX_PARAMETERS:
            self._polish(self.point)
            self._polish(together)  # the search along axes may have ended in another valley

    def refine_joint_width(self) -> None:
        """Choose the common width again, near the current one."""
        self.error = self._at(self.point)
        for _ in range(MOST_REPETITIONS if self.axes else 0):
            if abs(self._along_joint(NEAR_STEPS, None)) < NEAR_STEPS.max():
                break

    def _along_joint(self, steps: Array, digits: float | None) -> float:
        """Scale all axes together; return the step taken."""
        direction = np.concatenate([np.ones(self.axes), np.zeros(self.categories)])
        unit, factor = "multiple of a reference", 1.0
        if self.reference is not None and len(self.reference) == 1:
            unit, factor = "bandwidth", float(self.reference[0] * 2.0 ** self.point[0])
        tried, errors, step = self._line(direction, steps, digits)
        tried, order = np.unique(np.append(tried, step), return_index=True)
        errors = np.append(errors, self.error)[order]
        self.curve = Criterion(CRITERION_NAME, factor * 2.0**tried, errors, unit, factor * 2.0**step, self.error)
        return step

    def extend(self, error: Error, factor: float) -> WidthSearchPath:
        """Continue from the same point for the fit of all rows, with all widths times a factor."""
        reference = None if self.reference is None else self.reference * factor
        wider = WidthSearchPath(error, reference, self._most, self._given, uses_all_rows=True)
        wider.point, wider.error, wider.curve, wider._before = self.point, self.error, self.curve, self.evaluations
        return wider

    def return_to_best(self) -> float:
        """Return to the best point tried; return its error."""
        if self._known:
            best = min(self._known, key=self._known.__getitem__)
            self.point, self.error = np.array(best), self._known[best]
        return self.error

    @property
    def evaluations(self) -> int:
        return self._before + len(self._known)

    def widths(self) -> Widths:
        """Return the bandwidth and the mismatches of the current point."""
        return self._widths(self.point)

    def _coordinates(self) -> list[int]:
        """Return all parameters, unless the joint search has already covered the only one."""
        return [] if len(self.point) == self.axes == 1 else list(range(len(self.point)))

    def _along(self, coordinate: int) -> None:
        direction = np.zeros(len(self.point))
        direction[coordinate] = 1.0
        if coordinate < self.axes:
            self._line(direction, AXIS_STEPS, COARSE_PRECISION)
        else:
            precision = FINE_PRECISION if len(self.point) == 1 else COARSE_PRECISION
            self._line(direction, MISMATCH_SHARES - self.point[coordinate], precision)

    def _line(self, direction: Array, steps: Array, digits: float | None) -> tuple[Array, Array, float]:
        """Move to the best of the steps, and then to the least error between its neighbours; ties go to the widest.

        The second part has the tolerance `digits`; if None, it is the vertex of a parabola. Return steps, errors and
        the choice.
        """
        start = self.point
        tried, first = np.unique(np.append(steps, 0.0), return_index=True)
        errors = np.array([*(self._at(start + step * direction) for step in steps), self.error])[first]
        best = int(np.flatnonzero(errors <= errors.min() + EQUAL_ERRORS)[-1])
        self._move(start + tried[best] * direction, errors[best])
        step, error = float(tried[best]), float(errors[best])
        if error > EQUAL_ERRORS:
            around = slice(max(0, best - 1), best + 2)
            step = self._minimize_between(
                lambda x: self._at(start + x * direction), tried[around], errors[around], digits
            )
            if (refined := self._at(start + step * direction)) < error:
                self._move(start + step * direction, refined)
            else:
                step = float(tried[best])
        return tried, errors, step

    def _minimize_between(
        self, error: Callable[[float], float], steps: Array, errors: Array, digits: float | None
    ) -> float:
        """Return the minimiser of the error between the first and the last of two or three steps."""
        if digits is not None:
            options: Any = {"xatol": digits}
            return float(minimize_scalar(error, bounds=(steps[0], steps[-1]), method="bounded", options=options).x)
        if len(steps) < 3:
            return float(steps[np.argmin(errors)])
        curvature, slope, _ = np.polyfit(steps, errors, 2)
        return float(-slope / (2 * curvature)) if curvature > 0 else float(steps[1])

    def _polish(self, start: Array) -> None:
        if self.error <= EQUAL_ERRORS:
            return
        size = len(start)
        low, high = self._bounds()
        corners = np.vstack([start, start + np.where(start + 0.1 > high, -0.1, 0.1) * np.eye(size)])
        options: Any = {"initial_simplex": corners, "maxfev": SIMPLEX_EVALUATIONS * size}
        if self.uses_all_rows:
            options |= {"xatol": FINE_PRECISION, "fatol": 1e-9 * self.error}
        else:  # the choice of the sample matters more than digits
            options |= {"xatol": COARSE_PRECISION, "fatol": 1e-4 * self.error}
        bounds = list(zip(low, high, strict=True))
        solution = minimize(self._at, start, method="Nelder-Mead", bounds=bounds, options=options)
        if solution.fun < self.error:
            self._move(solution.x, float(solution.fun))

    def _bounds(self) -> tuple[Array, Array]:
        axes, categories = np.ones(self.axes), np.ones(self.categories)
        return np.concatenate([LEAST_LOG * axes, 0 * categories]), np.concatenate([MOST_LOG * axes, categories])

    def _move(self, point: Array, error: float) -> None:
        self.point, self.error = np.clip(point, *self._bounds()), float(error)

    def _at(self, point: Array) -> float:
        point = np.clip(point, *self._bounds())
        if (key := tuple(point.tolist())) not in self._known:
            self._known[key] = self._error_of(*self._widths(point))
        return self._known[key]

    def _widths(self, point: Array) -> Widths:
        bandwidth, mismatch = self._given
        if self.reference is not None:
            value = self.reference * 2.0 ** point[: self.axes]
            bandwidth = Bandwidth(value if len(value) > 1 else float(value[0]))
        if self._most is not None:
            mismatch = point[self.axes :] * self._most
        return bandwidth, mismatch


#: rows of the sample in which widths are searched
SEARCHED_ROWS = 1000
#: pairs of a row of the fit and a row left out, for each width; they bound the rows left out, but not below
#: `SEARCHED_ROWS`
MOST_LEFT_OUT_PAIRS = 2e8


@stored(mismatch=optional(floats()))
@dataclass(frozen=True, eq=False)
class WidthChoice:
    """Widths chosen by leave-one-out, with the error as a function of the common width of all axes."""

    bandwidth: Bandwidth | None
    #: λ of each category
    mismatch: Array | None
    #: the least leave-one-out error
    error: float
    #: widths that were tried
    evaluations: int
    #: rows of the sample in which the widths of the axes were searched
    searched_rows: int
    #: rows that were left out of the fit of all rows to choose the common width and to compute the error
    left_out_rows: int

    @property
    def criterion(self) -> Criterion | None:
        """The error as a function of the common width."""
        return None if self.bandwidth is None else self.bandwidth.criterion

    def plot(self, ax: Any = None) -> Any:
        """Draw the error and the choice; return the Axes."""
        if self.bandwidth is None:
            raise BandwidthError("there are only categories, so that there is no curve over widths; see `mismatch`.")
        return self.bandwidth.plot(ax)

    def __str__(self) -> str:
        parts = [] if self.bandwidth is None else [str(replace(self.bandwidth, criterion=None))]
        if self.mismatch is not None:
            parts.append(f"mismatch ({', '.join(f'{share:.4g}' for share in self.mismatch)})")
        return f"{', '.join(parts)}: {CRITERION_NAME} {self.error:.6g}, {self.evaluations} widths tried"


@dataclass(frozen=True, eq=False)
class WidthSearch:
    """The search for those widths that are not given.

    Parameters
    ----------
    make : function of index, bandwidth and mismatch
        Fits some of the rows.
    loss : function of a fit and index
        Error of a fit for these of its rows, each left out.
    kernel : SmoothingKernel
        Determines the reference width.
    rows : MixedRows
        All rows.
    weight : array of shape (n,)
        Weight of each row.
    levels : array of shape (q,) or None
        Number of levels of each category.
    bandwidth : Bandwidth or None
        The bandwidth if it is given.
    mismatch : array of shape (q,) or None
        The mismatches if they are given.
    names : sequence of str
        Names of the columns of numbers, for error messages.
    searched_rows : int, default=1000
        Rows of the sample in which widths are searched.
    most_pairs : float, default=2e8
        Pairs of a row of the fit and a row left out, for each width; they bound the rows left out, but not below
        `searched_rows`.
    """

    make: Callable[[Array, Bandwidth | None, Array | None], LocalFit]
    loss: Callable[[LocalFit, Array], float]
    kernel: SmoothingKernel
    rows: MixedRows
    weight: Array
    levels: Array | None
    bandwidth: Bandwidth | None
    mismatch: Array | None
    names: Sequence[str]
    searched_rows: int = SEARCHED_ROWS
    most_pairs: float = MOST_LEFT_OUT_PAIRS

    def choose(self) -> tuple[WidthChoice, bool]:
        """Return the best widths, and whether Ctrl-C ended the search, which leaves the best so far."""
        self._check_two_rows()
        n = self.rows.count
        some = _sample_rows(n, self.searched_rows)
        path = self._start(some)
        try:
            path.search()
            if not path.uses_all_rows:
                path = self._extend_to_all(path, len(some))
                path.refine_joint_width()
        except KeyboardInterrupt:
            if not np.isfinite(path.return_to_best()):
                raise
            return self._choice(self._extend_to_all(path, len(some)), len(some)), True
        return self._choice(path, len(some)), False

    def _start(self, some: Array) -> WidthSearchPath:
        """Return a search for the fit of a sample, each row left out."""
        most = None if self.levels is None or self.mismatch is not None else most_mismatch(self.levels)
        error, given = self._error(some, np.arange(len(some))), (self.bandwidth, self.mismatch)
        uses_all_rows = len(some) == self.rows.count
        return WidthSearchPath(error, self._reference(len(some)), most, given, uses_all_rows=uses_all_rows)

    def _extend_to_all(self, path: WidthSearchPath, searched: int) -> WidthSearchPath:
        """Continue a search with all rows; widths shrink as their number grows."""
        if path.uses_all_rows:
            return path
        n, d = self.rows.numbers.shape
        return path.extend(self._error(np.arange(n), self._left_out()), (searched / n) ** (1 / (d + 4)))

    def _error(self, index: Array, left_out: Array) -> Error:
        """Return the error of the fit of the rows `index`, for those at the positions `left_out`, as a function."""
        return lambda bandwidth, mismatch: self.loss(self.make(index, bandwidth, mismatch), left_out)

    def _left_out(self) -> Array:
        """Return the rows that are left out of the fit of all rows."""
        n = self.rows.count
        return _sample_rows(n, max(self.searched_rows, int(self.most_pairs / n)))

    def _choice(self, path: WidthSearchPath, searched: int) -> WidthChoice:
        bandwidth, mismatch = path.widths()
        if bandwidth is not None and path.reference is not None:
            curve = None if path.curve is None else replace(path.curve, best=path.error)
            bandwidth = Bandwidth(bandwidth.value, "leave-one-out", criterion=curve)
        return WidthChoice(bandwidth, mismatch, path.error, path.evaluations, searched, len(self._left_out()))

    def _check_two_rows(self) -> None:
        if self.rows.count < 2:
            raise BandwidthError(
                "n_samples=1: a bandwidth cannot be chosen by leaving out the only row. Give it as a number."
            )

    def _reference(self, searched: int) -> Array | None:
        """Return standard deviations times n^(−1/(d+4)), adjusted for the kernel."""
        d = self.rows.numbers.shape[1]
        if self.bandwidth is not None or not d:
            return None
        spread = SampleSpread(self.rows.numbers, self.weight, self.names).deviations
        return np.asarray(spread * canonical_factor(self.kernel, d) * searched ** (-1 / (d + 4)))


def sort_rows(rows: MixedRows, values: Array, weight: Array) -> Array:
    """Return a sorted order of the rows, which does not depend on the order in which they are given."""
    first = np.argsort(rows.numbers[:, 0]) if rows.numbers.shape[1] else np.zeros(0, dtype=np.intp)
    ordered = rows.numbers[first, :1]
    if len(first) and (ordered[1:] > ordered[:-1]).all():
        return first
    codes = () if rows.codes is None else rows.codes.T
    return np.lexsort((weight, *values.T, *codes, *rows.numbers.T))


def _sample_rows(n: int, most: int) -> Array:
    """Return the indices of n rows, or of a sample of `most` of them."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))
