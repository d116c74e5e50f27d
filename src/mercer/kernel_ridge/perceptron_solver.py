"""The perceptron in the span of its rows: w = Σ αᵢ ψ(xᵢ), where αᵢ counts the mistakes about row i (lecture 2).

A mistake about row i adds rate · y · k(x, xᵢ) to the score of every row: a pass costs a row of the kernel matrix for
each mistake and nothing for rows that are right. On a linear kernel the steps are those of the linear rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._memory import available_bytes
from mercer._typing import Array
from mercer.kernels import Gram
from mercer.optim.learning_rules import LearningRate
from mercer.optim.span.kernel_rows import KernelRows

#: share of the available memory for rows of K; the other rows are computed at each mistake
ROW_CACHE_SHARE = 0.5
#: rows that are checked at once for the next mistake
CHECK_BLOCK = 512


def cache_rows(gram: Gram) -> KernelRows:
    """Return the rows of a kernel matrix with a cache of those used last; all of them where memory allows."""
    return KernelRows(gram, min(8.0 * gram.shape[0] ** 2, ROW_CACHE_SHARE * available_bytes()))


@dataclass(eq=False)
class KernelUnit:
    """A perceptron that learns to separate rows with y = 1 from rows with y = −1."""

    rows: KernelRows
    y: Array
    #: weight of a mistake about each row
    importance: Array
    #: step of the intercept; 0 without one
    intercept_rate: float
    #: whether a score of 0 is right for y = 1, as the lecture has it, or wrong for both, as scikit-learn has it
    zero_is_positive: bool
    alpha: Array = field(init=False)
    intercept: float = 0.0
    scores: Array = field(init=False)
    #: Σ t Δ over the steps, of α, intercept and scores, from which their mean over all steps follows
    _alpha_sum: Array = field(init=False)
    _intercept_sum: float = 0.0
    _scores_sum: Array = field(init=False)
    _steps: float = 0.0

    def __post_init__(self) -> None:
        self.alpha, self._alpha_sum, self.scores, self._scores_sum = (np.zeros(len(self.rows)) for _ in range(4))

    def is_wrong(self, rows: Any = slice(None), scores: Array | None = None) -> Array:
        """Return which rows are on the wrong side."""
        u = (self.scores if scores is None else scores)[rows]
        if self.zero_is_positive:
            return np.asarray((u >= 0) != (self.y[rows] > 0))
        return np.asarray(u * self.y[rows] <= 0)

    def pass_over(self, order: Array, rate: LearningRate, passes: int) -> float:
        """Learn from every row once, one after the other; return the sum of |scores| of the mistakes."""
        n, at, loss = len(order), 0, 0.0
        while at < n:
            ahead = order[at : at + CHECK_BLOCK]
            mistaken = self.is_wrong(ahead)
            first = int(np.argmax(mistaken))
            if not mistaken[first]:
                at += len(ahead)
                continue
            row, t = int(ahead[first]), at + first
            loss += abs(float(self.scores[row]))
            step = rate.after(passes + t / n) * self.importance[row] * self.y[row]
            self._move(np.array([row]), np.array([step]), self._steps + t)
            at = t + 1
        self._steps += n
        return loss

    def step_over(self, rate: float) -> None:
        """Make one step for all rows together."""
        mistaken = np.flatnonzero(self.is_wrong())
        self._move(mistaken, rate * self.importance[mistaken] * self.y[mistaken], self._steps)
        self._steps += 1

    def _move(self, rows: Array, steps: Array, before: float) -> None:
        """Add to α of some rows, after `before` steps."""
        level = float(steps.sum()) * self.intercept_rate
        moved = np.full(len(self.scores), level)
        self.rows.add_to(moved, rows, steps, np.ones(len(rows), dtype=bool))
        self.alpha[rows] += steps
        self.intercept += level
        self.scores += moved
        self._alpha_sum[rows] += before * steps
        self._intercept_sum += before * level
        self._scores_sum += before * moved

    def function(self, *, average: bool) -> tuple[Array, float, Array]:
        """Return α, intercept and scores as they are now, or their mean after each step."""
        if not average:
            return self.alpha, self.intercept, self.scores
        steps = max(1.0, self._steps)
        return (
            self.alpha - self._alpha_sum / steps,
            self.intercept - self._intercept_sum / steps,
            self.scores - self._scores_sum / steps,
        )


class KernelPocket:
    """The α and intercept with the fewest mistakes so far (Gallant's pocket)."""

    def __init__(self, unit: KernelUnit, *, average: bool) -> None:
        self._unit, self._average = unit, average
        self.mistakes, self._weight = np.inf, np.inf
        self.alpha, self.intercept = unit.alpha.copy(), unit.intercept

    def update(self) -> bool:
        """Keep the unit's current function if it is better than before; return whether it is perfect."""
        unit = self._unit
        alpha, intercept, scores = unit.function(average=self._average)
        mistaken = unit.is_wrong(scores=scores)
        weight = float(unit.importance[mistaken].sum())
        if weight < self._weight:
            self.mistakes, self._weight = float(mistaken.sum()), weight
            self.alpha, self.intercept = alpha.copy(), intercept
        return self.mistakes == 0
