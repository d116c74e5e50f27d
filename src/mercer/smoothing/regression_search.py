"""The widths of a kernel regression with the least leave-one-out error: one for each axis and each category.

First the width of all axes together, on a grid and then to four digits; then one axis and one category after the other;
then all of them by a simplex. Of many rows some are searched in this way and all then have a say on the common width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from mercer._errors import BandwidthError
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
#: and those around the choice of a part of the rows
NEAR = np.arange(-1.0, 1.25, 0.25)
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

    @property
    def criterion(self) -> Criterion | None:
        """The error at multiples of a reference width."""
        return None if self.bandwidth is None else self.bandwidth.criterion


@dataclass(frozen=True, eq=False)
class WidthSearch:
    """What is asked: some widths are given, others are to be found.

    Parameters
    ----------
    make : function of index, bandwidth and mismatch
        The fit of some rows.
    loss : function of a fit and index
        Its leave-one-out error.
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
        n, d = self.rows.numbers.shape
        self._refuse_one_row(n)
        everything = np.arange(n)
        few = n <= SEARCHED
        some = everything if few else np.sort(np.random.default_rng(0).choice(n, SEARCHED, replace=False))
        found = _Walk(self, some, self._reference(len(some)))
        found.search()
        if not few:
            found = found.on(everything, (len(some) / n) ** (1 / (d + 4)))
            if found.axes:
                found.along_joint(NEAR, COARSE)
        return found.choice(len(some))

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
    """Where a search is: binary logarithms of the widths of the axes, and shares of the greatest mismatches."""

    def __init__(self, asked: WidthSearch, index: Array, reference: Array | None) -> None:
        self.asked, self.index, self.reference = asked, index, reference
        own = 0 if reference is None else len(reference)
        self.axes = own if own <= AXES else 1
        self.categories = 0 if asked.levels is None or asked.mismatch is not None else len(asked.levels)
        self.place = np.concatenate([np.zeros(self.axes), np.full(self.categories, FIRST_SHARE)])
        self.evaluations, self.error = 0, np.inf
        self.curve: Criterion | None = None

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

    def along_joint(self, steps: Array, digits: float) -> None:
        """All axes wider or narrower together."""
        direction = np.concatenate([np.ones(self.axes), np.zeros(self.categories)])
        start = self.place
        values = self._line(direction, steps, digits)
        chosen = 2.0 ** float(self.place[0] - start[0])
        self.curve = Criterion(NAME, 2.0**steps, values, "multiple of a reference", chosen, self.error)

    def on(self, index: Array, factor: float) -> _Walk:
        """The same place for other rows, all widths times a factor."""
        reference = None if self.reference is None else self.reference * factor
        there = _Walk(self.asked, index, reference)
        there.place, there.evaluations, there.curve = self.place, self.evaluations, self.curve
        there.error = there._at(there.place)
        return there

    def choice(self, searched: int) -> WidthChoice:
        bandwidth, mismatch = self._widths(self.place)
        if bandwidth is not None and self.reference is not None:
            assert self.curve is not None
            bandwidth = Bandwidth(bandwidth.value, "leave-one-out", criterion=replace(self.curve, best=self.error))
        return WidthChoice(bandwidth, mismatch, self.error, self.evaluations, searched)

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

    def _line(self, direction: Array, steps: Array, digits: float) -> Array:
        """Walk to the best of the steps, and to the least error between its neighbours; of equals to the widest."""
        start = self.place
        values = np.array([self._at(start + step * direction) for step in steps])
        tried, place = np.unique(np.append(steps, 0.0), return_index=True)
        errors = np.append(values, self.error)[place]
        best = int(np.flatnonzero(errors <= errors.min() + SAME)[-1])
        self._move(start + tried[best] * direction, errors[best])
        between = tried[max(0, best - 1)], tried[min(len(tried) - 1, best + 1)]
        if errors[best] > SAME and between[0] < between[1]:
            options: Any = {"xatol": digits}
            refined = minimize_scalar(
                lambda step: self._at(start + step * direction), bounds=between, method="bounded", options=options
            )
            if refined.fun < self.error:
                self._move(start + refined.x * direction, float(refined.fun))
        return values

    def _polish(self, start: Array) -> None:
        if self.error <= SAME:
            return
        size = len(start)
        low, high = self._bounds()
        corners = np.vstack([start, start + np.where(start + 0.1 > high, -0.1, 0.1) * np.eye(size)])
        options: Any = {"initial_simplex": corners, "maxfev": POLISH * size, "xatol": 1e-4, "fatol": 1e-9 * self.error}
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
        self.evaluations += 1
        fit = self.asked.make(self.index, *self._widths(np.clip(place, *self._bounds())))
        return self.asked.loss(fit, self.index)

    def _widths(self, place: Array) -> tuple[Bandwidth | None, Array | None]:
        bandwidth, mismatch = self.asked.bandwidth, self.asked.mismatch
        if self.reference is not None:
            value = self.reference * 2.0 ** place[: self.axes]
            bandwidth = Bandwidth(value if len(value) > 1 else float(value[0]))
        if self.categories:
            assert self.asked.levels is not None
            mismatch = place[self.axes :] * most_mismatch(self.asked.levels)
        return bandwidth, mismatch
