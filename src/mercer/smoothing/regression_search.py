"""The widths of a kernel regression with the least leave-one-out error: one for each axis and each category.

First the width of all axes together, on a grid and then to four digits; then one axis and one category after the other;
then all of them by a simplex. Of many rows some are searched in this way; the common width is then chosen for the fit
of all, by leaving out each of them, or, of very many, so many as are worth the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from mercer._errors import BandwidthError, FitInterrupted
from mercer.smoothing.bandwidth import Bandwidth, Criterion
from mercer.smoothing.kernels import Gaussian, SmoothingKernel
from mercer.smoothing.mixed import Rows, most_mismatch
from mercer.smoothing.regression import LocalFit
from mercer.smoothing.rules.spread import Spread

Array = NDArray[Any]

#: rows among which every width is looked for
SEARCHED = 1000
#: axes that get a width of their own; more of them keep the proportions of their standard deviations
AXES = 10
#: widths of all axes together that are tried, as binary logarithms of multiples of a reference
JOINT = np.arange(-6.0, 8.5, 0.5)
#: if there is nothing else to try: the error of a kernel that ends has many a dent
ONE_WIDTH = np.concatenate([JOINT[JOINT < -3], np.arange(-3.0, 3.0, 0.125), JOINT[JOINT >= 3]])
#: and those around the choice of a part of the rows, and how often they are tried if the best is one of the last
NEAR, TURNS = np.array([-1.0, -0.5, 0.5, 1.0]), 3
#: pairs of a row of the fit and a row left out, for each width; as many rows are left out, but no fewer than `SEARCHED`
PAIRS = 2e8
#: steps along one axis
STEPS = np.array([-8.0, -4.0, -2.0, -1.0, 1.0, 2.0, 6.0])
#: least and greatest binary logarithm: beyond the latter an axis makes no difference
LEAST, MOST = -10.0, 14.0
#: shares of the greatest mismatch that are tried for a category, and the one to begin with
SHARES = np.array([0.0, 0.05, 0.2, 0.5, 1.0])
FIRST_SHARE = 0.25
SWEEPS = 2
#: of the variance of the values: errors that differ by less are the same, and the wider kernels are taken
SAME = 1e-12
#: an improvement by less than this share ends a search
GAIN = 1e-3
#: widths that a simplex is good for, and its evaluations for each
CORNERS, POLISH = 4, 50
#: digits of the binary logarithm where nothing comes after, and before a simplex or the next axis
FINE, COARSE = 1e-4, 0.05
NAME = "leave-one-out squared error"


@dataclass(frozen=True, eq=False)
class WidthChoice:
    """Widths by leave-one-out: what was chosen, and how the error depends on the width of all axes together."""

    bandwidth: Bandwidth | None
    #: λ of each category
    mismatch: Array | None
    #: the least leave-one-out error
    error: float
    #: widths that were tried
    evaluations: int
    #: rows among which the widths of the axes were looked for
    searched_rows: int
    #: rows that were left out of the fit of all to choose the common width, and that the error is a mean of
    left_out_rows: int

    @property
    def criterion(self) -> Criterion | None:
        """The error at multiples of a reference width."""
        return None if self.bandwidth is None else self.bandwidth.criterion

    def plot(self, ax: Any = None) -> Any:
        """Draw the error and the choice; gives the Axes."""
        if self.bandwidth is None:
            raise BandwidthError("there are only categories, so that there is no curve over widths; see `mismatch`.")
        return self.bandwidth.plot(ax)

    def __str__(self) -> str:
        told = [] if self.bandwidth is None else [str(replace(self.bandwidth, criterion=None))]
        if self.mismatch is not None:
            told.append(f"mismatch ({', '.join(f'{share:.4g}' for share in self.mismatch)})")
        return f"{', '.join(told)}: {NAME} {self.error:.6g}, {self.evaluations} widths tried"


@dataclass(frozen=True, eq=False)
class WidthSearch:
    """What is asked: some widths are given, others are to be found.

    Parameters
    ----------
    make : function of index, bandwidth and mismatch
        The fit of some rows.
    loss : function of a fit and index
        Its error for these of its rows, each left out.
    kernel : SmoothingKernel
        Gives the reference width.
    rows : Rows
        All rows.
    weight : array of shape (n,)
        Of each.
    levels : array of shape (q,) or None
        Of each category.
    bandwidth : Bandwidth or None
        If it is given.
    mismatch : array of shape (q,) or None
        If it is given.
    names : sequence of str
        What the columns of numbers are called, for errors.
    """

    make: Callable[[Array, Bandwidth | None, Array | None], LocalFit]
    loss: Callable[[LocalFit, Array], float]
    kernel: SmoothingKernel
    rows: Rows
    weight: Array
    levels: Array | None
    bandwidth: Bandwidth | None
    mismatch: Array | None
    names: Sequence[str]

    def choose(self) -> WidthChoice:
        """The best widths.

        Raises
        ------
        FitInterrupted
            Ctrl-C; `solution` is the best choice so far.
        """
        n = self.rows.count
        self._refuse_one_row(n)
        some = _some(n, SEARCHED)
        walk = _Walk(self, some, np.arange(len(some)), self._reference(len(some)))
        try:
            walk.search()
            walk = self._with_all(walk)
            walk.settle()
        except KeyboardInterrupt:
            if not np.isfinite(walk.retreat()):
                raise
            message = "stopped by the user; the best widths found so far are kept."
            raise FitInterrupted(message, self._with_all(walk).choice()) from None
        return walk.choice()

    def _with_all(self, walk: _Walk) -> _Walk:
        """Where it is, for the fit of all rows: widths shrink as these grow in number."""
        n, d = self.rows.numbers.shape
        if len(walk.index) == n:
            return walk
        return walk.on(np.arange(n), _some(n, max(SEARCHED, int(PAIRS / n))), (len(walk.index) / n) ** (1 / (d + 4)))

    def _refuse_one_row(self, n: int) -> None:
        if n < 2:
            raise BandwidthError(
                "n_samples=1: a bandwidth cannot be chosen by leaving out the one row there is. Give it as a number."
            )

    def _reference(self, searched: int) -> Array | None:
        """Standard deviations times n^(−1/(d+4)), for a kernel as wide as the Gaussian."""
        if self.bandwidth is not None or not self.rows.numbers.shape[1]:
            return None
        d = self.rows.numbers.shape[1]
        spread = Spread(self.rows.numbers, self.weight, self.names).deviations
        wider = self.kernel.canonical(d) / Gaussian().canonical(d)
        return np.asarray(spread * wider * searched ** (-1 / (d + 4)))


class _Walk:
    """Where a search is: binary logarithms of the widths of the axes, and shares of the greatest mismatches.

    Rows of the fit are known by their numbers among all (`index`), those left out by their numbers among these.
    """

    def __init__(self, asked: WidthSearch, index: Array, left_out: Array, reference: Array | None) -> None:
        self.asked, self.index, self.left_out, self.reference = asked, index, left_out, reference
        own = 0 if reference is None else len(reference)
        self.axes = own if own <= AXES else 1
        self.categories = 0 if asked.levels is None or asked.mismatch is not None else len(asked.levels)
        self.place = np.concatenate([np.zeros(self.axes), np.full(self.categories, FIRST_SHARE)])
        self.error, self.searched = np.inf, len(index)
        self.curve: Criterion | None = None
        #: evaluations of the walk that this one goes on from
        self._before = 0
        self._known: dict[tuple[float, ...], float] = {}

    def search(self) -> None:
        self.error = self._at(self.place)
        if self.axes:
            self.along_joint(*((ONE_WIDTH, FINE) if len(self.place) == 1 else (JOINT, COARSE)))
        coordinates, together = self._coordinates(), self.place
        for _ in range(SWEEPS if coordinates else 0):
            before = self.error
            for coordinate in coordinates:
                self._along(coordinate)
            if not self.error < before - max(SAME, GAIN * before):
                break
        if 1 < len(coordinates) <= CORNERS:
            self._polish(self.place)
            self._polish(together)  # axes one by one may have led into another valley

    def settle(self) -> None:
        """Choose the common width for all rows, if so far it is that of some."""
        if self.searched == len(self.index):
            return
        self.error = self._at(self.place)
        for _ in range(TURNS if self.axes else 0):
            if abs(self.along_joint(NEAR, None)) < NEAR.max():
                break

    def along_joint(self, steps: Array, digits: float | None) -> float:
        """All axes wider or narrower together, by the step that is returned."""
        direction = np.concatenate([np.ones(self.axes), np.zeros(self.categories)])
        unit, factor = "multiple of a reference", 1.0
        if self.reference is not None and len(self.reference) == 1:
            unit, factor = "bandwidth", float(self.reference[0] * 2.0 ** self.place[0])
        tried, errors, step = self._line(direction, steps, digits)
        tried, order = np.unique(np.append(tried, step), return_index=True)
        errors = np.append(errors, self.error)[order]
        self.curve = Criterion(NAME, factor * 2.0**tried, errors, unit, factor * 2.0**step, self.error)
        return step

    def on(self, index: Array, left_out: Array, factor: float) -> _Walk:
        """The same place for a fit of other rows, all widths times a factor."""
        there = _Walk(self.asked, index, left_out, None if self.reference is None else self.reference * factor)
        there.place, there.error, there.curve, there.searched = self.place, self.error, self.curve, self.searched
        there._before = self.evaluations
        return there

    def retreat(self) -> float:
        """Go to the best place that was tried; its error."""
        if self._known:
            best = min(self._known, key=self._known.__getitem__)
            self.place, self.error = np.array(best), self._known[best]
        return self.error

    @property
    def evaluations(self) -> int:
        return self._before + len(self._known)

    def choice(self) -> WidthChoice:
        bandwidth, mismatch = self._widths(self.place)
        if bandwidth is not None and self.reference is not None:
            curve = None if self.curve is None else replace(self.curve, best=self.error)
            bandwidth = Bandwidth(bandwidth.value, "leave-one-out", criterion=curve)
        return WidthChoice(bandwidth, mismatch, self.error, self.evaluations, self.searched, len(self.left_out))

    def _coordinates(self) -> list[int]:
        """All that there are, unless there is one axis and nothing else, which the joint search has seen to."""
        return [] if len(self.place) == self.axes == 1 else list(range(len(self.place)))

    def _along(self, coordinate: int) -> None:
        direction = np.zeros(len(self.place))
        direction[coordinate] = 1.0
        if coordinate < self.axes:
            self._line(direction, STEPS, COARSE)
        else:
            self._line(direction, SHARES - self.place[coordinate], FINE if len(self.place) == 1 else COARSE)

    def _line(self, direction: Array, steps: Array, digits: float | None) -> tuple[Array, Array, float]:
        """Walk to the best of the steps, and to the least error between its neighbours; of equals to the widest.

        The latter to so many digits, or, if None, where a parabola has it. Gives steps, errors and the choice.
        """
        start = self.place
        tried, place = np.unique(np.append(steps, 0.0), return_index=True)
        errors = np.array([*(self._at(start + step * direction) for step in steps), self.error])[place]
        best = int(np.flatnonzero(errors <= errors.min() + SAME)[-1])
        self._move(start + tried[best] * direction, errors[best])
        step, error = float(tried[best]), float(errors[best])
        if error > SAME:
            around = slice(max(0, best - 1), best + 2)
            step = self._between(lambda x: self._at(start + x * direction), tried[around], errors[around], digits)
            if (refined := self._at(start + step * direction)) < error:
                self._move(start + step * direction, refined)
            else:
                step = float(tried[best])
        return tried, errors, step

    def _between(self, error: Callable[[float], float], steps: Array, errors: Array, digits: float | None) -> float:
        """Where the error is least, between the first and the last of two or three steps."""
        if digits is not None:
            options: Any = {"xatol": digits}
            return float(minimize_scalar(error, bounds=(steps[0], steps[-1]), method="bounded", options=options).x)
        if len(steps) < 3:
            return float(steps[np.argmin(errors)])
        curvature, slope, _ = np.polyfit(steps, errors, 2)
        return float(-slope / (2 * curvature)) if curvature > 0 else float(steps[1])

    def _polish(self, start: Array) -> None:
        if self.error <= SAME:
            return
        size = len(start)
        low, high = self._bounds()
        corners = np.vstack([start, start + np.where(start + 0.1 > high, -0.1, 0.1) * np.eye(size)])
        options: Any = {"initial_simplex": corners, "maxfev": POLISH * size}
        if len(self.index) == self.asked.rows.count:
            options |= {"xatol": FINE, "fatol": 1e-9 * self.error}
        else:  # which rows were taken matters more
            options |= {"xatol": COARSE, "fatol": 1e-4 * self.error}
        bounds = list(zip(low, high, strict=True))
        found = minimize(self._at, start, method="Nelder-Mead", bounds=bounds, options=options)
        if found.fun < self.error:
            self._move(found.x, float(found.fun))

    def _bounds(self) -> tuple[Array, Array]:
        axes, categories = np.ones(self.axes), np.ones(self.categories)
        return np.concatenate([LEAST * axes, 0 * categories]), np.concatenate([MOST * axes, categories])

    def _move(self, place: Array, error: float) -> None:
        self.place, self.error = np.clip(place, *self._bounds()), float(error)

    def _at(self, place: Array) -> float:
        place = np.clip(place, *self._bounds())
        if (key := tuple(place.tolist())) not in self._known:
            self._known[key] = self.asked.loss(self.asked.make(self.index, *self._widths(place)), self.left_out)
        return self._known[key]

    def _widths(self, place: Array) -> tuple[Bandwidth | None, Array | None]:
        bandwidth, mismatch = self.asked.bandwidth, self.asked.mismatch
        if self.reference is not None:
            value = self.reference * 2.0 ** place[: self.axes]
            bandwidth = Bandwidth(value if len(value) > 1 else float(value[0]))
        if self.categories:
            assert self.asked.levels is not None
            mismatch = place[self.axes :] * most_mismatch(self.asked.levels)
        return bandwidth, mismatch


def _some(n: int, most: int) -> Array:
    """The numbers of n rows, or of so many of them."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))
