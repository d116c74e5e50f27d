"""Rank numeric columns by the share of their variance that the target explains."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.comparison._view import View


def sort_by_usefulness(view: View) -> list[int]:
    """Return positions in `view.amounts`, those with the largest share of explained variance first."""
    shares = [share_explained_by_target(view, view.numbers[:, j]) for j in range(len(view.amounts))]
    return sorted(range(len(shares)), key=lambda j: (-shares[j], j))


def share_explained_by_target(view: View, values: Array) -> float:
    """Return the share of the variance of a column between classes (η²), or the squared correlation."""
    known = np.isfinite(values)
    x, target = values[known], view.target[known]
    if len(x) < 2 or (x == x[0]).all():
        return 0.0
    x = x / np.abs(x).max()  # squares of values beyond 1e±154 are not floats
    scaled = (x - x.mean()) / x.std()
    if not view.classification:
        spread = target.std()
        return float(np.mean(scaled * (target - target.mean()) / spread) ** 2) if spread > 0 else 0.0
    rows = np.bincount(target)
    means = np.bincount(target, scaled) / np.maximum(rows, 1)
    return float(rows @ means**2 / len(x))
