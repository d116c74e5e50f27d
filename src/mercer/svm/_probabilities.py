"""Probabilities of a support vector classifier that agree with its predictions.

They are a softmax of τ times each class's smallest margin: its decision against the rival that does best against it.
The scale τ is fitted, without a second fit of the machines, to approximate leave-one-out decisions (`calibration`) of a
sample of the rows, when probabilities are first computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy.special import log_softmax

from mercer._stored import floats, integers, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer.base.kernel_choice import sample_row_numbers
from mercer.svm.calibration import SupportSpan, fit_scale
from mercer.svm.one_against_one import class_pairs, compute_smallest_margins, raise_winner

#: k(x, z) of support vectors by their positions
SupportKernel = Callable[[Array, Array], Array]

#: largest number of rows whose leave-one-out decisions fit the scale
MAX_CALIBRATION_ROWS = 2000
#: largest number of free support vectors that span a machine
MAX_FREE_VECTORS = 2000
#: support vectors of several machines up to which their whole kernel matrix is computed once
MAX_SHARED_VECTORS = 2000
#: relative distance from its bound at which a coefficient counts as bounded
AT_BOUND = 1e-8
#: rows of a block that is compared with all support vectors
DECISION_BLOCK = 256


@stored(
    codes=integers("n", below="m"),
    weight=floats("n"),
    own=floats("nm"),
    positions=integers("n", least=-1, below="s"),
    bounds=floats("s"),
    diagonal=floats("s"),
    columns=floats("sp"),
    intercept=floats("p"),
    support_codes=integers("s", below="m"),
)
@dataclass(eq=False)
class Calibration:
    """Everything that is needed to fit the scale of the scores, kept from the fit of the machines."""

    codes: Array
    weight: Array
    #: decisions of sampled rows for their own class and against each other; NaN against itself
    own: Array
    #: position of a sampled row among the support vectors; −1 for other rows
    positions: Array
    #: bounds of |β| of the support vectors
    bounds: Array
    #: k(x, x) of the support vectors
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
        """Collect the results of a fit.

        Parameters
        ----------
        scores, numbers : iterables of arrays
            For every pair of classes the decisions of its rows, and the positions of these rows.
        codes, weight, bounds, diagonal : arrays of shape (n,)
            Class, weight, bound of |β| and k(x, x) of all rows.
        found : integer array of shape (n_support,)
            Positions of the support vectors.
        columns, intercept : arrays of shape (n_support, n_pairs) and (n_pairs,)
            β and b of every pair.
        fit_intercept : bool
            Whether the machines have an intercept.
        """
        n_classes, sample = int(codes.max()) + 1, sample_row_numbers(len(codes), MAX_CALIBRATION_ROWS)
        place, position = _invert_positions(sample, len(codes)), _invert_positions(found, len(codes))
        own = np.full((len(sample), n_classes), np.nan)
        for score, rows, (i, j) in zip(scores, numbers, class_pairs(n_classes), strict=True):
            drawn = place[rows] >= 0
            at, decision, first = place[rows[drawn]], score[drawn], codes[rows[drawn]] == i
            own[at[first], j] = decision[first]
            own[at[~first], i] = -decision[~first]
        of_support = (bounds[found], diagonal[found], columns, intercept, codes[found])
        return cls(codes[sample], weight[sample], own, position[sample], *of_support, fit_intercept)

    @property
    def n_classes(self) -> int:
        return int(self.own.shape[1])

    def scale(self, among: SupportKernel | None) -> float:
        """Return τ, fitted on the first call; `among` gives k(x, z) of support vectors by their positions."""
        if "scale" not in self.found and among is not None:
            margins = compute_smallest_margins(self._decisions(among), self.n_classes)
            self.found["scale"] = float(fit_scale(margins, self.codes, self.weight).coef)
        return self.found["scale"]

    def _decisions(self, among: SupportKernel) -> Array:
        """Return leave-one-out decisions of all pairs.

        A row that is not a support vector has NaN for pairs without its own class: its margins in its own pairs are 1
        or more, so that the others hardly matter.
        """
        if self.n_classes > 2 and len(self.columns) <= MAX_SHARED_VECTORS:  # pairs of classes share support vectors
            among = _read_matrix(among(every := np.arange(len(self.columns)), every))
        decisions = np.full((len(self.codes), self.columns.shape[1]), np.nan)
        supporting = self.positions >= 0
        if self.n_classes > 2 and supporting.any():
            every, rows = np.arange(len(self.columns)), np.flatnonzero(supporting)
            for cut in row_blocks(len(rows), DECISION_BLOCK):
                some = rows[cut]
                decisions[some] = among(self.positions[some], every) @ self.columns + self.intercept
        for p, (i, j) in enumerate(class_pairs(self.n_classes)):
            for here, other, sign in ((i, j, 1.0), (j, i, -1.0)):
                rows = self.codes == here
                decisions[rows, p] = sign * self.own[rows, other]
            self._leave_out(decisions[:, p], self.columns[:, p], np.isin(self.support_codes, (i, j)), among)
        return decisions

    def _leave_out(self, decision: Array, beta: Array, in_pair: Array, among: SupportKernel) -> None:
        """Subtract from the decisions of a pair the contribution of each row to its own decision, β S²."""
        size = np.abs(beta)
        free = np.flatnonzero(in_pair & (size > 0) & (size < (1 - AT_BOUND) * self.bounds))
        free = free[sample_row_numbers(len(free), MAX_FREE_VECTORS)]
        rows = np.flatnonzero(self.positions >= 0)
        rows = rows[size[self.positions[rows]] > 0]
        if not len(rows):
            return
        support = self.positions[rows]
        decision[rows] -= beta[support] * self._squared_distances(support, free, among)

    def _squared_distances(self, support: Array, free: Array, among: SupportKernel) -> Array:
        """Return S² of support vectors, given which of them are free."""
        if not len(free):
            return np.asarray(self.diagonal[support])
        span = SupportSpan.of(among(free, free), intercept=self.fit_intercept)
        at = np.searchsorted(free, support).clip(max=len(free) - 1)
        inside = free[at] == support
        squares = np.empty(len(support))
        squares[inside] = span.squared_distances[at[inside]]
        if (outside := support[~inside]).size:
            squares[~inside] = span.squared_distances_of(self.diagonal[outside], among(outside, free))
        return squares


def _read_matrix(K: Array) -> SupportKernel:
    """Return a function that reads k(x, z) from a matrix."""
    return lambda a, b: K[np.ix_(a, b)]


def _invert_positions(numbers: Array, n: int) -> Array:
    """Return the position of each of n rows in `numbers`; −1 where it is missing."""
    place = np.full(n, -1)
    place[numbers] = np.arange(len(numbers))
    return place


def log_probabilities(decisions: Array, winner: Array, scale: float, n_classes: int) -> Array:
    """Return log p of every class, largest for the winner."""
    scores = compute_smallest_margins(decisions, n_classes)
    rows = np.arange(len(scores))
    # where votes are circular no class beats every other; the winner is then as probable as any
    scores[rows, winner] = scores.max(axis=1)
    return raise_winner(np.asarray(log_softmax(scale * scores, axis=1)), winner)
