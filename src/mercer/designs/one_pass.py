"""A matrix of numbers as compiled loops read it that multiply each row twice while it is in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer._typing import Array
from mercer.designs._base import Design
from mercer.designs.coordinates import Coordinates
from mercer.designs.dense import DenseDesign, is_block


@dataclass(frozen=True, eq=False)
class OnePass:
    """X as it is, and how its products become those of the working coordinates."""

    X: Array
    coordinates: Coordinates

    @classmethod
    def of(cls, design: Design) -> Self | None:
        """None where shifts must be taken out of the data first, or loops are not compiled for such data."""
        if not isinstance(design, DenseDesign) or not is_block(design.X) or not design.coordinates.near:
            return None
        return cls(design.X, design.coordinates)

    def factors(self, w: Array) -> tuple[Array, Array]:
        """What to multiply X with, and what to add to the product."""
        coefficients, level = self.coordinates.to_user(w)
        if not self.coordinates.intercept:
            level = -self.coordinates.shift @ coefficients
        return coefficients, np.asarray(level)

    def transposed_times(self, product: Array, total: Array) -> Array:
        """Xᵀ r in working coordinates, from that in the data's and Σ r."""
        shifted = product - np.multiply.outer(self.coordinates.shift, total)
        columns = (shifted.T / self.coordinates.scale).T
        return np.concatenate([columns, total[None]]) if self.coordinates.intercept else np.asarray(columns)
