"""Random Fourier features: a shift-invariant kernel is the mean of cos(wᵀ(x − z)) over its spectrum (lecture 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class FourierMap:
    """ψ(x) = scale · cos(Wᵀx + b)."""

    weights: Array  # W, (columns, features)
    offset: Array  # b
    scale: float

    @property
    def n_features(self) -> int:
        return len(self.offset)

    def tiles(self, X: Any) -> CosineTiles:
        return CosineTiles(self, X)

    def __call__(self, X: Any) -> Array:
        return np.asarray(self.scale * np.cos(X @ self.weights + self.offset))


@dataclass(frozen=True, eq=False)
class CosineTiles:
    """cos(XW + b) without the scale, tile by tile (`designs.mapped.Tiles`)."""

    map: FourierMap
    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], len(self.map.offset)

    def tile(self, rows: slice, *, single: bool) -> Array:
        return np.asarray(np.cos(self.X[rows] @ self.map.weights + self.map.offset))
