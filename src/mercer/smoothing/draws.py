"""Draws from windows: a point by its weight, and a step from its kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammainc

from mercer._typing import Array
from mercer.smoothing.density import Rng
from mercer.smoothing.kernels import Uniform

if TYPE_CHECKING:
    from mercer.smoothing.windows import Windows


def drawn(windows: Windows, n: int, rng: Rng) -> Array:
    """n rows."""
    rows = _points(windows, n, rng)
    steps = _steps(windows, n, rng)
    if windows.factors is not None:
        steps = steps * windows.factors[rows, None]
    return windows.points[rows] + windows.bandwidth.coloured(steps)


def _points(windows: Windows, n: int, rng: Rng) -> Array:
    """Points drawn by their weights, from the same uniform numbers as in scikit-learn."""
    u = rng.uniform(0, 1, size=n)
    if windows.share is None:
        return np.asarray(u * len(windows.points), dtype=np.int64)
    up_to = np.cumsum(windows.share)
    last = np.flatnonzero(windows.share)[-1]
    return np.asarray(np.minimum(np.searchsorted(up_to, u * up_to[-1]), last))


def _steps(windows: Windows, n: int, rng: Rng) -> Array:
    """Draws from the kernel; from a ball by scikit-learn's way, so that its numbers are the same."""
    kernel, d = windows.kernel, windows.columns
    if not isinstance(kernel, Uniform) or kernel.form == "product":
        return kernel.sample(n, d, rng)
    steps = rng.normal(size=(n, d))
    squares = np.square(steps).sum(axis=1)
    # a normal's squared length, made uniform by its own distribution, is the volume within
    return np.asarray(steps * (gammainc(d / 2, squares / 2) ** (1 / d) / np.sqrt(squares))[:, None])
