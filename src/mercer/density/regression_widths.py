"""The widths of a kernel regression with the least leave-one-out error: one for each axis and each category.

Of many rows some are searched (`width_walk`); the common width is then chosen for the fit of all, by leaving out each
of them, or, of very many, so many as are worth the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from mercer._errors import BandwidthError, FitInterrupted
from mercer._stored import floats, optional, stored
from mercer._typing import Array
from mercer.density._bandwidth import Bandwidth, Criterion
from mercer.density._kernels import SmoothingKernel
from mercer.density._mixed import MixedRows, most_mismatch
from mercer.density._regression import LocalFit
from mercer.density._rules import SampleSpread, canonical

# A walk to the widths of least error: one for each axis of numbers and each category.
#
# First the width of all axes together, on a grid and then to four digits; then one axis and one category after the
# other; then all of them by a simplex.

#: of numbers and of categories, λ of each; None where there are none
Widths = tuple[Bandwidth | None, Array | None]
Error = Callable[[Bandwidth | None, Array | None], float]

#: axes that get a width of their own; more of them keep the proportions of their standard deviations
AXES = 10
#: widths of all axes together that are tried, as binary logarithms of multiples of a reference
JOINT = np.arange(-6.0, 8.5, 0.5)
#: if there is nothing else to try: the error of a kernel that ends has many a dent
ONE_WIDTH = np.concatenate([JOINT[JOINT < -3], np.arange(-3.0, 3.0, 0.125), JOINT[JOINT >= 3]])
#: and those around the choice of a part of the rows, and how often they are tried if the best is one of the last
NEAR, TURNS = np.array([-1.0, -0.5, 0.5, 1.0]), 3
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


class WidthSearchPath:
    """Where a search is: binary logarithms of the widths of the axes, and shares of the greatest mismatches.

    Parameters
    ----------
    error : function of a bandwidth and mismatches
        What is to be least.
    reference : array of shape (d,) or None
        What widths are multiples of; None if they are given.
    most : array of shape (q,) or None
        The greatest mismatch of each category; None if mismatches are given.
    given : pair of a bandwidth and mismatches
        Those that are given.
    of_all : bool
        Whether the error is that of the fit of all rows. Of some, which they are matters more than digits.
    """

    def __init__(
        self, error: Error, reference: Array | None, most: Array | None, given: Widths, *, of_all: bool
    ) -> None:
        self.reference, self.of_all = reference, of_all
        self._error_of, self._most, self._given = error, most, given
        own = 0 if reference is None else len(reference)
        self.axes = own if own <= AXES else 1
        self.categories = 0 if most is None else len(most)
        self.place = np.concatenate([np.zeros(self.axes), np.full(self.categories, FIRST_SHARE)])
        self.error = np.inf
        self.curve: Criterion | None = None
        #: evaluations of the walk that this one goes on from
        self._before = 0
        self._known: dict[tuple[float, ...], float] = {}

    def search(self) -> None:
        self.error = self._at(self.place)
        if self.axes:
            self._along_joint(*((ONE_WIDTH, FINE) if len(self.place) == 1 else (JOINT, COARSE)))
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
        """Choose the common width anew, near where others have led."""
        self.error = self._at(self.place)
        for _ in range(TURNS if self.axes else 0):
            if abs(self._along_joint(NEAR, None)) < NEAR.max():
                break

    def _along_joint(self, steps: Array, digits: float | None) -> float:
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

    def continued(self, error: Error, factor: float) -> WidthSearchPath:
        """From the same place for the fit of all rows, all widths times a factor."""
        reference = None if self.reference is None else self.reference * factor
        there = WidthSearchPath(error, reference, self._most, self._given, of_all=True)
        there.place, there.error, there.curve, there._before = self.place, self.error, self.curve, self.evaluations
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

    def widths(self) -> Widths:
        """Where it is."""
        return self._widths(self.place)

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
        if self.of_all:
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
            self._known[key] = self._error_of(*self._widths(place))
        return self._known[key]

    def _widths(self, place: Array) -> Widths:
        bandwidth, mismatch = self._given
        if self.reference is not None:
            value = self.reference * 2.0 ** place[: self.axes]
            bandwidth = Bandwidth(value if len(value) > 1 else float(value[0]))
        if self._most is not None:
            mismatch = place[self.axes :] * self._most
        return bandwidth, mismatch


#: rows among which every width is looked for
SEARCHED = 1000
#: pairs of a row of the fit and a row left out, for each width; as many rows are left out, but no fewer than `SEARCHED`
PAIRS = 2e8


@stored(mismatch=optional(floats()))
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
    rows: MixedRows
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
        self._refuse_one_row()
        n = self.rows.count
        some = _some(n, SEARCHED)
        walk = self._walk(some)
        try:
            walk.search()
            if not walk.of_all:
                walk = self._with_all(walk, len(some))
                walk.settle()
        except KeyboardInterrupt:
            if not np.isfinite(walk.retreat()):
                raise
            message = "stopped by the user; the best widths found so far are kept."
            raise FitInterrupted(message, self._choice(self._with_all(walk, len(some)), len(some))) from None
        return self._choice(walk, len(some))

    def _walk(self, some: Array) -> WidthSearchPath:
        """Of the fit of some rows, each left out."""
        most = None if self.levels is None or self.mismatch is not None else most_mismatch(self.levels)
        error, given = self._error(some, np.arange(len(some))), (self.bandwidth, self.mismatch)
        return WidthSearchPath(error, self._reference(len(some)), most, given, of_all=len(some) == self.rows.count)

    def _with_all(self, walk: WidthSearchPath, searched: int) -> WidthSearchPath:
        """Where it is, for the fit of all rows: widths shrink as these grow in number."""
        if walk.of_all:
            return walk
        n, d = self.rows.numbers.shape
        return walk.continued(self._error(np.arange(n), self._left_out()), (searched / n) ** (1 / (d + 4)))

    def _error(self, index: Array, left_out: Array) -> Error:
        """Of the fit of rows by their numbers among all, with those left out that have these numbers among them."""
        return lambda bandwidth, mismatch: self.loss(self.make(index, bandwidth, mismatch), left_out)

    def _left_out(self) -> Array:
        """Rows that are left out of the fit of all."""
        n = self.rows.count
        return _some(n, max(SEARCHED, int(PAIRS / n)))

    def _choice(self, walk: WidthSearchPath, searched: int) -> WidthChoice:
        bandwidth, mismatch = walk.widths()
        if bandwidth is not None and walk.reference is not None:
            curve = None if walk.curve is None else replace(walk.curve, best=walk.error)
            bandwidth = Bandwidth(bandwidth.value, "leave-one-out", criterion=curve)
        return WidthChoice(bandwidth, mismatch, walk.error, walk.evaluations, searched, len(self._left_out()))

    def _refuse_one_row(self) -> None:
        if self.rows.count < 2:
            raise BandwidthError(
                "n_samples=1: a bandwidth cannot be chosen by leaving out the one row there is. Give it as a number."
            )

    def _reference(self, searched: int) -> Array | None:
        """Standard deviations times n^(−1/(d+4)), for a kernel as wide as the Gaussian."""
        d = self.rows.numbers.shape[1]
        if self.bandwidth is not None or not d:
            return None
        spread = SampleSpread(self.rows.numbers, self.weight, self.names).deviations
        return np.asarray(spread * canonical(self.kernel, d) * searched ** (-1 / (d + 4)))


def own_order(rows: MixedRows, values: Array, weight: Array) -> Array:
    """The numbers of the rows from the least to the greatest: the same rows, whatever the order they come in."""
    first = np.argsort(rows.numbers[:, 0]) if rows.numbers.shape[1] else np.zeros(0, dtype=np.intp)
    ordered = rows.numbers[first, :1]
    if len(first) and (ordered[1:] > ordered[:-1]).all():
        return first
    codes = () if rows.codes is None else rows.codes.T
    return np.lexsort((weight, *values.T, *codes, *rows.numbers.T))


def _some(n: int, most: int) -> Array:
    """The numbers of n rows, or of so many of them."""
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))
