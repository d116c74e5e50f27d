"""The features of a kernel that are exact on some rows, the landmarks (lecture 5, "Nyström Approximation")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels import Gram, Kernel

Array = NDArray[Any]

#: error of an entry that a tile of float32 may have
SINGLE = 1e-5


@dataclass(frozen=True, eq=False)
class NystroemMap:
    """ψ(x) = Bᵀ k(x, landmarks)."""

    kernel: Kernel
    landmarks: Any
    back: Array  # B, (landmarks, features)

    @property
    def n_features(self) -> int:
        return int(self.back.shape[1])

    def tiles(self, X: Any) -> KernelTiles:
        return KernelTiles(self.kernel, X, self.landmarks)

    def __call__(self, X: Any) -> Array:
        return np.asarray(Gram(self.kernel, X, self.landmarks).times(self.back))


@dataclass(frozen=True, eq=False)
class KernelTiles:
    """k(X, landmarks), tile by tile (`designs.mapped.Tiles`)."""

    kernel: Kernel
    X: Any
    landmarks: Any

    @cached_property
    def _exact(self) -> Gram:
        return Gram(self.kernel, self.X, self.landmarks)

    @cached_property
    def _single(self) -> Gram:
        return Gram(self.kernel, self.X, self.landmarks, tolerance=SINGLE)

    @property
    def shape(self) -> tuple[int, int]:
        return self._exact.shape

    def tile(self, rows: slice, *, single: bool) -> Array:
        return (self._single if single else self._exact).tile(rows, slice(0, self.shape[1]))
