"""Probabilities of a support vector classifier that agree with its predictions.

A softmax of τ times each class's smallest margin: its decision against the rival that does best against it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.special import log_softmax

from mercer._stored import floats, integers, stored
from mercer._threads import row_blocks
from mercer._typing import Array
from mercer._warn import warn
from mercer.base.kernel_choice import sample_of
from mercer.svm.calibration import SupportSpan, scale_of
from mercer.svm.one_against_one import agreeing, pairs, smallest_margins

# The scale τ of the scores in the probabilities of a support vector classifier, without a second fit.
#
# It is fitted on approximate leave-one-out decisions (`solvers.machines.calibration`) of a sample of the rows, when it
# is first asked for.

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
        span = SupportSpan.of(among(free, free), intercept=self.fit_intercept)
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


class WithProbabilities(ABC):
    """What a classifier that decides between pairs of classes needs in order to say how sure it is."""

    probability: Any
    classes_: Array
    _intercept_: Array
    _comparison: Any
    _calibration: Calibration

    @abstractmethod
    def _decisions(self, X: Any) -> Array:
        """Decisions of all pairs, above 0 for the first class of each."""

    @abstractmethod
    def _winner(self, decisions: Array) -> Array:
        """The class that these decisions are for."""

    def predict_proba(self, X: Any) -> Array:
        """p(y|x) of every row and class, largest for the class that `predict` gives.

        A softmax of each class's smallest margin over another one, times a scale that fits approximate leave-one-out
        margins of the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Rows to score; their kernel with the rows of the fit if it is precomputed.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        decisions = self._decisions(X)
        log = self._log_probabilities(decisions)
        return agreeing(np.exp(log), self._winner(decisions))

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y|x) of every row and class.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of shape (n_samples, n_features)
            Rows to score; their kernel with the rows of the fit if it is precomputed.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return self._log_probabilities(self._decisions(X))

    def _log_probabilities(self, decisions: Array) -> Array:
        return log_probabilities(decisions, self._winner(decisions), self._scale(), len(self.classes_))

    def _scale(self) -> float:
        """The factor of the scores in probabilities; where only the fit knew the kernel matrix it is known by now."""
        return self._calibration.scale(getattr(self._comparison, "among", None))

    @property
    def probA_(self) -> Array:
        """Slopes of Platt's sigmoids, where `probability=True`: of the scale of the scores; deprecated."""
        return self._platt("probA_", -2.0)

    @property
    def probB_(self) -> Array:
        """Offsets of Platt's sigmoids, where `probability=True`: 0, so that they agree with `predict`; deprecated."""
        return self._platt("probB_", 0.0)

    def _platt(self, name: str, factor: float) -> Array:
        machines = len(self._intercept_)
        warn(
            f"Attribute `{name}` was deprecated in version 1.9 and will be removed in 1.11 as the `probability=True` "
            "option for SVC and NuSVC was deprecated and will be removed in 1.11. Use predict_proba.",
            FutureWarning,
        )
        return np.full(machines, factor * self._scale()) if self.probability is True else np.empty(0)

    def _warn_of_probability(self) -> None:
        if not (isinstance(self.probability, str) and self.probability == "deprecated"):
            warn(
                "The `probability` parameter was deprecated in 1.9 and will be removed in version 1.11. Use "
                "`CalibratedClassifierCV(SVC(), ensemble=False)` instead of `SVC(probability=True)`. Here "
                "predict_proba is there without it.",
                FutureWarning,
            )


def log_probabilities(decisions: Array, winner: Array, scale: float, n_classes: int) -> Array:
    """log p of every class, largest for the winner."""
    scores = smallest_margins(decisions, n_classes)
    rows = np.arange(len(scores))
    # where votes go round in circles no class beats every other; the one that is chosen is then as probable as any
    scores[rows, winner] = scores.max(axis=1)
    return agreeing(np.asarray(log_softmax(scale * scores, axis=1)), winner)
