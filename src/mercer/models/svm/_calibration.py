"""The scale τ of the scores in the probabilities of a support vector classifier, without a second fit.

It is fitted on approximate leave-one-out decisions (`solvers.machines.calibration`) of a sample of the rows, when it is
first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from mercer._stored import floats, integers, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.models._kernel_choice import sample_of
from mercer.models.svm.one_against_one import pairs, smallest_margins
from mercer.solvers.machines.calibration import Span, scale_of

Among = Callable[[Array, Array], Array]

#: rows whose leave-one-out decisions fit the scale, and free support vectors that span a machine, at most
MOST_ROWS = MOST_FREE = 2000
#: support vectors of several machines up to which all are compared with each other once
MOST_TOGETHER = 2000
#: how near to its bound a coefficient is at it
AT_BOUND = 1e-8
#: rows that are compared with all support vectors at once
AT_ONCE = 256


@stored(
    codes=integers("n"),
    weight=floats("n"),
    own=floats("nm"),
    positions=integers("n", least=-1),
    bounds=floats("s"),
    diagonal=floats("s"),
    columns=floats("sp"),
    intercept=floats("p"),
    support_codes=integers("s"),
)
@dataclass(eq=False)
class Calibration:
    """What the scale of the scores needs to be fitted, once somebody asks for probabilities."""

    codes: Array
    weight: Array
    #: decisions of sampled rows for their own class and against each other; NaN against itself
    own: Array
    #: the position of a sampled row among the support vectors, −1 where it is none
    positions: Array
    #: of the support vectors: the bounds of |β|, and k(x, x)
    bounds: Array
    diagonal: Array
    columns: Array
    intercept: Array
    support_codes: Array
    fit_intercept: bool
    found: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        scores: Iterable[Array],
        numbers: Iterable[Array],
        codes: Array,
        weight: Array,
        found: Array,
        *,
        bounds: Array,
        diagonal: Array,
        columns: Array,
        intercept: Array,
        fit_intercept: bool,
    ) -> Self:
        """From what a fit has found.

        Parameters
        ----------
        scores, numbers : iterables of arrays
            For every pair of classes the decisions of its rows, and their numbers.
        codes, weight, bounds, diagonal : arrays of shape (n,)
            Class, weight, bound of |β| and k(x, x) of all rows.
        found : integer array of shape (n_support,)
            The numbers of the support vectors.
        columns, intercept : arrays of shape (n_support, n_pairs) and (n_pairs,)
            β and b of every pair.
        fit_intercept : bool
            Whether there was a b.
        """
        n_classes, sample = int(codes.max()) + 1, sample_of(len(codes), MOST_ROWS)
        place, position = _inverse(sample, len(codes)), _inverse(found, len(codes))
        own = np.full((len(sample), n_classes), np.nan)
        for score, rows, (i, j) in zip(scores, numbers, pairs(n_classes), strict=True):
            drawn = place[rows] >= 0
            at, decision, first = place[rows[drawn]], score[drawn], codes[rows[drawn]] == i
            own[at[first], j] = decision[first]
            own[at[~first], i] = -decision[~first]
        of_support = (bounds[found], diagonal[found], columns, intercept, codes[found])
        return cls(codes[sample], weight[sample], own, position[sample], *of_support, fit_intercept)

    @property
    def n_classes(self) -> int:
        return int(self.own.shape[1])

    def scale(self, among: Among | None) -> float:
        """τ, fitted when it is first asked for; `among` gives k(x, z) of support vectors by their positions."""
        if "scale" not in self.found and among is not None:
            margins = smallest_margins(self._decisions(among), self.n_classes)
            self.found["scale"] = scale_of(margins, self.codes, self.weight)
        return self.found["scale"]

    def _decisions(self, among: Among) -> Array:
        """Leave-one-out decisions of all pairs; NaN for rows that support none, where the pair is not their own's.

        Those have margins of 1 or more in their own pairs, so that the others hardly matter.
        """
        if self.n_classes > 2 and len(self.columns) <= MOST_TOGETHER:  # pairs of classes share support vectors
            among = _of_matrix(among(every := np.arange(len(self.columns)), every))
        decisions = np.full((len(self.codes), self.columns.shape[1]), np.nan)
        supporting = self.positions >= 0
        if self.n_classes > 2 and supporting.any():
            every, rows = np.arange(len(self.columns)), np.flatnonzero(supporting)
            for cut in row_blocks(len(rows), AT_ONCE):
                some = rows[cut]
                decisions[some] = among(self.positions[some], every) @ self.columns + self.intercept
        for p, (i, j) in enumerate(pairs(self.n_classes)):
            for here, other, sign in ((i, j, 1.0), (j, i, -1.0)):
                rows = self.codes == here
                decisions[rows, p] = sign * self.own[rows, other]
            self._leave_out(decisions[:, p], self.columns[:, p], np.isin(self.support_codes, (i, j)), among)
        return decisions

    def _leave_out(self, decision: Array, beta: Array, in_pair: Array, among: Among) -> None:
        """Take from the decisions of a pair what each row itself adds to its own: β S²."""
        size = np.abs(beta)
        free = np.flatnonzero(in_pair & (size > 0) & (size < (1 - AT_BOUND) * self.bounds))
        free = free[sample_of(len(free), MOST_FREE)]
        rows = np.flatnonzero(self.positions >= 0)
        rows = rows[size[self.positions[rows]] > 0]
        if not len(rows):
            return
        support = self.positions[rows]
        decision[rows] -= beta[support] * self._squared_distances(support, free, among)

    def _squared_distances(self, support: Array, free: Array, among: Among) -> Array:
        """S² of some support vectors, given which are free."""
        if not len(free):
            return np.asarray(self.diagonal[support])
        span = Span.of(among(free, free), intercept=self.fit_intercept)
        at = np.searchsorted(free, support).clip(max=len(free) - 1)
        inside = free[at] == support
        squares = np.empty(len(support))
        squares[inside] = span.squared_distances[at[inside]]
        if (outside := support[~inside]).size:
            squares[~inside] = span.squared_distances_of(self.diagonal[outside], among(outside, free))
        return squares


def _of_matrix(K: Array) -> Among:
    return lambda a, b: K[np.ix_(a, b)]


def _inverse(numbers: Array, n: int) -> Array:
    """Where each of n numbers is among some of them; −1 where it is not."""
    place = np.full(n, -1)
    place[numbers] = np.arange(len(numbers))
    return place
