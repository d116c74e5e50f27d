"""Which coefficients a round of decomposition works on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._typing import Array
from mercer.kernels.given import GivenMatrix
from mercer.kernels.gram import Gram

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
