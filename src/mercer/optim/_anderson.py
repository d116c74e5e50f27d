"""Anderson acceleration of a fixed-point iteration (Anderson 1965; Walker and Ni 2011, type II)."""

from __future__ import annotations

from collections import deque

import numpy as np

from mercer._typing import Array

#: singular values below this portion of the largest are dropped: their directions are linearly dependent
RANK_TOLERANCE = 1e-10


class AndersonAcceleration:
    """Extrapolation from the last points to where their residuals, if they were linear, would cancel.

    A proposal may overshoot: the caller checks it and takes the plain step if it is not an improvement. A rejected
    proposal does not change the memory, which the plain steps keep renewing.

    Parameters
    ----------
    memory : int
        Number of earlier points that are combined.

    Examples
    --------
    >>> acceleration, x = AndersonAcceleration(memory=2), np.array([4.0])
    >>> for _ in range(3):  # x → 1 + x/2 is linear, so that one extrapolation finds its fixed point
    ...     x = acceleration.propose(x, 1 - x / 2)
    >>> x
    array([2.])
    """

    def __init__(self, memory: int) -> None:
        self._points: deque[Array] = deque(maxlen=memory + 1)
        self._residuals: deque[Array] = deque(maxlen=memory + 1)

    def propose(self, point: Array, residual: Array) -> Array:
        """Return a point to try after `point`, whose plain successor is `point + residual`."""
        self._points.append(point)
        self._residuals.append(residual)
        if len(self._points) == 1:
            return np.asarray(point + residual)
        # γ = argmin ‖r − ΔR γ‖, then x + r − (ΔX + ΔR) γ
        point_changes, residual_changes = (
            np.diff(np.array(past), axis=0).T for past in (self._points, self._residuals)
        )
        gamma = np.linalg.lstsq(residual_changes, residual, rcond=RANK_TOLERANCE)[0]
        return np.asarray(point + residual - (point_changes + residual_changes) @ gamma)
