"""Points put in order, so that those close together are in one block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._jit.smoothing.halving import halve
from mercer._jit.smoothing.near_blocks import Boxes
from mercer._jit.smoothing.parzen import SIZE
from mercer._typing import Array

#: where the points lie that fill up the last block: nearest to nothing, but finite, so that 0 times it is 0
AWAY = 1e300


def in_blocks(points: Array, size: int) -> Array:
    """An order of the points in which every `size` of them are close together."""
    if points.shape[1] == 1:
        return np.argsort(points[:, 0], kind="stable")
    return np.asarray(halve(points, size))


def padded(values: Array, filling: float) -> Array:
    """Values of points in blocks, the last one filled up: (points,) -> (blocks, SIZE)."""
    blocks = -(-len(values) // SIZE)
    full = np.full(blocks * SIZE, filling)
    full[: len(values)] = values
    return full.reshape(blocks, SIZE)


class Blocks(NamedTuple):
    """Points in blocks, coordinate by coordinate; what fills up the last one is far away from all."""

    #: (blocks, columns, SIZE)
    points: Array
    #: 1/λ² of each point (1/λ for sums of |u|): (blocks, SIZE), or (blocks, 0) where nobody asks for it
    spread: Array
    boxes: Boxes

    @classmethod
    def of(cls, points: Array, weight: Array, spread: Array | None) -> Blocks:
        """Of points that are in order."""
        columns = np.stack([padded(x, AWAY) for x in points.T], axis=1)
        starts, weights = np.arange(0, len(points), SIZE), padded(weight, 0.0)
        around = np.empty((len(starts), 0)) if spread is None else padded(spread, 1.0)
        spreads = np.ones((len(starts), 2)) if spread is None else _extremes(spread, starts)
        mass = weights.sum(axis=1)
        sure = mass - weights.max(axis=1)
        boxes = Boxes(_extremes(points, starts), spreads, mass, sure, float(mass.sum()), float(weight.min()))
        return cls(columns, around, boxes)


def _extremes(values: Array, starts: Array) -> Array:
    """The least and the greatest from one start to the next: (starts, 2, …)."""
    return np.stack([np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)], axis=1)
