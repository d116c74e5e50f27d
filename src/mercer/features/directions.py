"""Standard normal rows that are spread more evenly than independent ones, or are faster to multiply with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._jit.features.hadamard import products
from mercer._stored import floats, stored, whole
from mercer._typing import Array
from mercer.kernels.spectra import Directions, independent

#: columns from which on rows are made of signs: sums of few are far from normal, and products with few are fast anyway
LEAST = 64
#: nanoseconds of a transform for each number it makes, and of a product for each column: measured on one core
TRANSFORM, PRODUCT = 6.0, 0.03


def orthogonal(count: int, columns: int, rng: Any) -> Array:
    """Rows at right angles in blocks of as many as there are columns, with the lengths of independent ones.

    Each row by itself is standard normal; together they cover the directions evenly, which makes the error of random
    features smaller (Yu, Suresh, Choromanski, Holtmann-Rice and Kumar 2016).
    """
    blocks = -(-count // columns)
    within = min(count, columns)
    Q, R = np.linalg.qr(rng.standard_normal((blocks, columns, within)))
    Q *= np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :]  # else Q is not uniform
    units = np.swapaxes(Q, 1, 2).reshape(-1, columns)[:count]
    return np.asarray(units * np.sqrt(rng.chisquare(columns, (count, 1))))


@stored(lambda chain: chain.is_consistent, signs=floats(), scales=floats("m"), columns=whole(1))
@dataclass(frozen=True, eq=False)
class Hadamard:
    """Rows of blocks H D₁ H D₂ H D₃ with random signs D: nearly those of `orthogonal`, multiplied in O(d log d).

    There are as many columns as a power of two; rows of fewer columns are padded by zeros.
    """

    signs: Array  # (blocks, 3, length)
    scales: Array  # of each row
    columns: int

    @classmethod
    def drawn(cls, count: int, columns: int, rng: Any) -> Self:
        """Rows with the lengths of standard normal ones."""
        length = 1 << (columns - 1).bit_length()
        signs = np.where(rng.uniform(size=(-(-count // length), 3, length)) < 0.5, -1.0, 1.0)
        return cls(signs, np.sqrt(rng.chisquare(length, count)) / length**1.5, columns)

    @property
    def is_consistent(self) -> bool:
        """Whether blocks of signs are as long as a power of two, and make a row for each scale."""
        if self.signs.ndim != 3:
            return False
        blocks, times, length = self.signs.shape
        made = times == 3 and length & (length - 1) == 0 and blocks * length >= len(self.scales)
        return bool(made and 0 < self.columns <= length)

    def scaled(self, factors: Array | float) -> Hadamard:
        """Each row times a number."""
        return Hadamard(self.signs, self.scales * factors, self.columns)

    def astype(self, dtype: Any) -> Hadamard:
        return Hadamard(self.signs.astype(dtype), self.scales.astype(dtype), self.columns)

    @property
    def pays(self) -> bool:
        """Whether the transform is faster than a product with the rows written out."""
        blocks, _, length = self.signs.shape
        return bool(TRANSFORM * blocks * length < PRODUCT * self.columns * len(self.scales))

    def put_products(self, X: Array, out: Array) -> None:
        """X times the transposed rows."""
        products(X, self.signs, self.scales, out)

    def rows(self) -> Array:
        """Written out."""
        out = np.empty((self.columns, len(self.scales)))
        self.put_products(np.eye(self.columns), out)
        return out.T


def hadamard(count: int, columns: int, rng: Any) -> Array:
    """The rows of a `Hadamard`, written out; those of `orthogonal` where there are few columns."""
    return orthogonal(count, columns, rng) if columns < LEAST else Hadamard.drawn(count, columns, rng).rows()


DIRECTIONS: dict[str, Directions] = {"independent": independent, "orthogonal": orthogonal, "hadamard": hadamard}
