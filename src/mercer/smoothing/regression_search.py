"""The widths of a kernel regression with the least leave-one-out error: one for each axis and each category.

Of many rows some are searched (`width_walk`); the common width is then chosen for the fit of all, by leaving out each
of them, or, of very many, so many as are worth the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._errors import BandwidthError, FitInterrupted
from mercer._stored import floats, optional, stored
from mercer._typing import Array
from mercer.smoothing.bandwidth import Bandwidth, Criterion
from mercer.smoothing.kernels import SmoothingKernel
from mercer.smoothing.mixed import Rows, most_mismatch
from mercer.smoothing.regression import LocalFit
from mercer.smoothing.rules.rule import canonical
from mercer.smoothing.rules.spread import Spread
from mercer.smoothing.width_walk import NAME, Error, Walk

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

    def _walk(self, some: Array) -> Walk:
        """Of the fit of some rows, each left out."""
        most = None if self.levels is None or self.mismatch is not None else most_mismatch(self.levels)
        error, given = self._error(some, np.arange(len(some))), (self.bandwidth, self.mismatch)
        return Walk(error, self._reference(len(some)), most, given, of_all=len(some) == self.rows.count)

    def _with_all(self, walk: Walk, searched: int) -> Walk:
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

    def _choice(self, walk: Walk, searched: int) -> WidthChoice:
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
        spread = Spread(self.rows.numbers, self.weight, self.names).deviations
        return np.asarray(spread * canonical(self.kernel, d) * searched ** (-1 / (d + 4)))


def own_order(rows: Rows, values: Array, weight: Array) -> Array:
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
