"""Anderson's acceleration of a fixed-point iteration (Anderson 1965; Walker and Ni 2011, type II)."""

from __future__ import annotations

from collections import deque

import numpy as np

from mercer._typing import Array

#: directions that the least squares problem cannot tell apart are left alone
RANK_TOLERANCE = 1e-10


class Anderson:
    """Proposes the combination of the last points at which the residuals, were they linear, would cancel best.

    The proposal may overshoot: whoever asks must check it, and take the plain step where it is no good. Rejected
    proposals leave the memory as it is, since the plain steps in between keep renewing it.

    Examples
    --------
    >>> acceleration, x = Anderson(memory=2), np.array([4.0])
    >>> for _ in range(3):  # x → 1 + x/2 is linear, so that one extrapolation finds its fixed point
    ...     x = acceleration.proposal(x, 1 - x / 2)
    >>> x
    array([2.])
    """

    def __init__(self, memory: int) -> None:
        self._points: deque[Array] = deque(maxlen=memory + 1)
        self._residuals: deque[Array] = deque(maxlen=memory + 1)

    def proposal(self, point: Array, residual: Array) -> Array:
        """A point to try after `point`, whose plain successor is `point + residual`."""
        self._points.append(point)
        self._residuals.append(residual)
        if len(self._points) == 1:
            return np.asarray(point + residual)
        moves, turns = (np.diff(np.array(past), axis=0).T for past in (self._points, self._residuals))
        mix = np.linalg.lstsq(turns, residual, rcond=RANK_TOLERANCE)[0]
        return np.asarray(point + residual - (moves + turns) @ mix)
