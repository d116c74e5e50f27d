"""Which coefficients a round of decomposition works on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.kernels.gram import GivenMatrix, Gram
from mercer.optim.certificate import Certificate

#: rows whose problem is solved at a time, half of them new in each round: a tenth of all, within these bounds
FEWEST, MOST, SHARE = 512, 1536, 0.1
#: rows that are all worked on at once
FEW = 1024


@dataclass(frozen=True)
class Scores:
    """−slope of the objective as each coordinate rises, and the slope as it falls; −∞ if it is at that bound."""

    up: Array
    down: Array
    intercept: bool

    @cached_property
    def highest(self) -> float:
        return float(self.up.max(initial=-np.inf))

    @cached_property
    def lowest(self) -> float:
        return float(-self.down.max(initial=-np.inf))

    @cached_property
    def violation(self) -> float:
        """By how much the conditions are missed: m(β) − M(β) of libsvm, or the largest slope that can be followed."""
        if self.intercept:
            return max(self.highest - self.lowest, 0.0)
        return max(self.highest, -self.lowest, 0.0)

    def level(self, free: Array) -> float:
        """b such that `free` rows lie on the margin, on average; without such rows the middle of what is possible."""
        if free.any():
            return float(self.up[free].mean())
        sides = [side for side in (self.highest, self.lowest) if np.isfinite(side)]
        return float(np.mean(sides)) if sides else 0.0


def is_free(beta: Array, lower: Array, upper: Array) -> Array:
    """Which coefficients are off their bounds, and off the kink at 0."""
    return np.asarray((beta != 0) & (beta > lower) & (beta < upper))


def working_size(n: int) -> int:
    """How many of n rows are worked on at a time."""
    return n if n <= FEW else max(FEWEST, min(MOST, int(SHARE * n)))


def working_set(scores: Scores, last: Array) -> tuple[Array, int]:
    """The newest half of the last working set and the rows that violate most; and how many of these are not new."""
    n, size = len(scores.up), working_size(len(scores.up))
    if n == size:
        return np.arange(n), len(last)
    kept = last[-(size // 2) :]
    up, down = scores.up.copy(), scores.down.copy()
    if not scores.intercept:
        up, down = np.maximum(up, down), np.full(n, -np.inf)
    up[kept] = down[kept] = -np.inf
    count = (size - len(kept)) // (2 if scores.intercept else 1)
    rising = _largest(up, count)
    down[rising] = -np.inf
    return np.concatenate([kept, rising, _largest(down, count)]), len(kept)


def _largest(values: Array, count: int) -> Array:
    numbers = np.argpartition(values, len(values) - count)[len(values) - count :]
    return np.asarray(numbers[values[numbers] > -np.inf])


class WorkingTile:
    """The kernel matrix of a working set, in which what the last one knew is not made again."""

    def __init__(self, gram: Gram | GivenMatrix) -> None:
        side = working_size(gram.shape[0])
        self._gram = gram
        # used in turn: allocating a tile takes as long as computing a tenth of it
        self._last, self._next = (np.empty(side * side, gram.dtype) for _ in range(2))
        self._side = 0

    def of(self, numbers: Array, kept: int) -> Array:
        """The matrix of a working set, whose first rows were the last ones of the one before."""
        before, side = self._last[: self._side**2].reshape(self._side, self._side), len(numbers)
        tile, new = self._next[: side**2].reshape(side, side), np.arange(kept, side)
        tile[:kept, :kept] = before[self._side - kept :, self._side - kept :]
        if len(new):
            part = self._gram if side == self._gram.shape[0] else self._gram.part(numbers)
            part.put_rows(new, tile, new)
            tile[:kept, kept:] = tile[kept:, :kept].T
        self._last, self._next, self._side = self._next, self._last, side
        return tile


# Quadratic problems in a box: the duals of support vector machines, and what is known of a point of one.


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """Minimise ½ βᵀKβ − targetᵀβ + ε Σ|βᵢ| in a box that has 0 in it.

    Parameters
    ----------
    rows : KernelRows, PairRows or FeatureRows
        K, or Ψ with K = ΨΨᵀ.
    target : ndarray of shape (n,)
        Classes as ±1, or numbers.
    lower, upper : ndarray of shape (n,)
        Bounds of β.
    epsilon : float, default=0
        Half the width of the tube in which residuals are free.
    intercept : bool, default=True
        Whether there is a b, and so the constraint Σβ = 0.
    """

    rows: Any
    target: Array
    lower: Array
    upper: Array
    epsilon: float = 0.0
    intercept: bool = True

    def __len__(self) -> int:
        return len(self.target)


@dataclass(frozen=True, eq=False)
class BoxPoint:
    """A feasible β, the intercept that goes with it, f at the rows, and the steps it took; w where rows have features.

    w is Ψᵀβ but for rounding, which it has less of.
    """

    beta: Array
    intercept: float
    scores: Array
    steps: int = 0
    weights: Array | None = None


@stored()
@dataclass(frozen=True)
class Margins(Certificate):
    """How far the rows are from their optimality conditions, and the values of both problems."""

    primal: float = np.nan
    dual: float = np.nan

    @property
    def gap(self) -> float:
        """Primal minus dual: by so much at most is the objective too large."""
        return self.primal - self.dual


@dataclass(frozen=True)
class BoxProgress:
    """Where a fit stands after a round."""

    iterations: int
    violation: float
    gap: float
    seconds: float


#: relative error of sums of coefficients
ROUNDING = 1e-12


def feasible(beta: Array, problem: BoxProblem) -> Array:
    """Coefficients of an earlier fit put into the bounds of this one; with an intercept their sum is brought to 0.

    What is at a bound but for rounding is put there: else it would seem free to move.
    """
    beta = np.clip(beta, problem.lower, problem.upper)
    for bound in (problem.lower, problem.upper):
        near = np.isfinite(bound) & (np.abs(beta - bound) <= ROUNDING * np.abs(bound))
        beta = np.where(near, bound, beta)
    return _proportioned(beta) if problem.intercept else np.asarray(beta)


def settled(beta: Array, start: Array, problem: BoxProblem) -> Array:
    """Coefficients at a bound, or at 0, where they are next to it by no more than sums of coefficients are rounded.

    For those that began at an earlier fit, whose sum was 0 but for rounding: the remainder would seem free to move, and
    decide about the intercept alone where all others are at bounds.
    """
    reach = len(beta) * np.finfo(float).eps * float(np.abs([beta, start]).max(initial=0.0))
    for place in (problem.lower, problem.upper, np.zeros(len(beta))):
        beta = np.where(np.abs(beta - place) <= reach, place, beta)
    return beta


def balanced(beta: Array, lower: Array, upper: Array) -> Array:
    """Coefficients in their bounds with their sum brought to 0, by those off the bounds if these have the room.

    So what is at a bound, or at 0, stays there.
    """
    excess = float(beta.sum())
    bound = np.where(beta > 0, 0.0, lower) if excess > 0 else np.where(beta < 0, 0.0, upper)
    room = np.where(is_free(beta, lower, upper), np.abs(beta - bound), 0.0)
    total = float(room.sum())
    if abs(excess) < total:
        return np.asarray(beta - excess * (room / total))
    return _proportioned(beta)


def _proportioned(beta: Array) -> Array:
    above, below = float(beta[beta > 0].sum()), -float(beta[beta < 0].sum())
    if above > (1 + ROUNDING) * below:
        beta = np.where(beta > 0, beta * (below / above), beta)
    elif below > (1 + ROUNDING) * above:
        beta = np.where(beta < 0, beta * (above / below), beta)
    return np.asarray(beta)
