"""Helpers for tests of features of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: how `Nystroem` chooses its landmarks
RULES = ["uniform", "kmeans++", "rpcholesky"]


def normal_rows(n: int = 60, d: int = 4) -> Array:
    return np.random.default_rng(0).normal(size=(n, d))


def uniform_rows(n: int = 300, d: int = 5) -> Array:
    """Without negative numbers, which some kernels do not compare."""
    return np.random.default_rng(0).uniform(size=(n, d))
