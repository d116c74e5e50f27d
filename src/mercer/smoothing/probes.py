"""Where to look at a density on the line so that no hill of it is missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer._typing import Array

if TYPE_CHECKING:
    from mercer.smoothing.windows import Windows

#: points whose middles and kernels' ends are looked at one by one
MOST_ENDS = 4096
#: places that are left where very many are close together
MOST_PLACES = 4096


def probes_of(windows: Windows) -> Array:
    """Fine steps around every point; of many points that nearly coincide, around one.

    In their middles kernels may have a tip, and where they end, the density bends or jumps: of some thousands of points
    all these places count, too.
    """
    points, span = windows.points[:, 0], windows.span
    h = float(windows.scales[0]) * (np.ones(len(points)) if windows.factors is None else windows.factors)
    rows, _ = thinned(points, h.min() / 4)
    steps = np.concatenate([np.linspace(0, min(4.0, span), 17), np.geomspace(1, max(span, 4.0), 8)])
    steps = np.append(steps[steps <= span], span * (1 + 1e-9))
    around = points[rows, None] + h[rows, None] * np.concatenate([-steps, steps])
    _, places = thinned(around.ravel(), h.min() / 8)
    places = np.concatenate([places, around[0], around[-1]])
    if len(points) <= MOST_ENDS:
        ends = [points - h, points + h] if np.isfinite(windows.kernel.reach) else []
        places = np.concatenate([places, points, *ends])
    return np.unique(places)


def thinned(x: Array, step: float) -> tuple[Array, Array]:
    """Rows and values of one x in every cell of width `step`, ascending; cells are wider where these are too many."""
    order = np.argsort(x, kind="stable")
    step = max(step, float(x[order[-1]] - x[order[0]]) / 1e15)
    while True:
        cells = np.floor((x[order] - x[order[0]]) / step)
        first = np.append(True, np.diff(cells) > 0)
        if first.sum() <= MOST_PLACES:
            return order[first], x[order[first]]
        step *= 2
