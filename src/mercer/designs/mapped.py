"""Rows seen through a feature map, ψ(x) = Bᵀ t(x): the n × M numbers t are made tile by tile and never kept.

t(x) are kernels with M landmarks (Nyström) or M cosines (Fourier), and B is small.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]


class Tiles(Protocol):
    """t of all rows, made when asked for."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and numbers of each."""

    def tile(self, rows: slice, *, single: bool) -> Array:
        """Some rows, in an array of their own; of float32 where `single` allows it and the map can."""
