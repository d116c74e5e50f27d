"""Probabilities of which some are 0, or unknown."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array


def log(p: Array) -> Array:
    """log p, −inf for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def even_where_unknown(p: Array, levels: int) -> Array:
    """Where there are neither data nor pseudo-counts, all levels alike: the limit of vanishing pseudo-counts."""
    return np.where(np.isnan(p), 1 / levels, p)
