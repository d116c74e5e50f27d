"""Rows of which few, well chosen, stand for all."""

from __future__ import annotations

import numpy as np


def clusters(n: int = 600) -> np.ndarray:
    """Most rows in one place, a few in each of thirty others."""
    rng = np.random.default_rng(3)
    centres, sizes = 4 * rng.normal(size=(31, 3)), np.r_[0.9, np.full(30, 0.1 / 30)]
    return centres[rng.choice(31, n, p=sizes)] + 0.1 * rng.normal(size=(n, 3))
