"""Rows of x and y for the statistics of least squares."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def draw(n: int, d: int, t: int, seed: int = 0) -> tuple[Array, Array]:
    """Whole numbers, whose sums are exact: n rows of d columns and of t targets."""
    rng = np.random.default_rng(seed)
    return rng.integers(-9, 10, size=(n, d)).astype(float), rng.integers(-9, 10, size=(n, t)).astype(float)
