"""Rows to estimate densities of."""

from __future__ import annotations

import numpy as np


def rows(n: int = 40, d: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))
