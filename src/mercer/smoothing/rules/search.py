"""The search for the width of least criterion: a grid of multiples of a reference, then Brent, then axis by axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from mercer._errors import BandwidthError
from mercer._typing import Array

#: multiples of the reference that are tried, those where much is known already, and how far a grid is extended while
#: its edge is best
GRID = np.geomspace(0.1, 3.0, 13)
NEAR = np.array([0.8, 1.0, 1.25])
LEAST, MOST = 1e-4, 1e6
#: of the logarithm of a width: a criterion is flat to rounding within about the root of float64's precision; and where
#: each of its values takes long, and widths are known to fewer digits anyway
PRECISION, ENOUGH = 1e-5, 5e-4
#: of a criterion of order 1 from one step to the next
LEAST_GAIN = 1e-11
#: of the logarithm of a width: so far beyond a jump, more than a logarithm is rounded by
BEYOND = 2e-12
NO_JUMPS = np.zeros(0)
#: first steps of a simplex in logarithms of widths
FIRST_STEP = 0.2


@dataclass(frozen=True, eq=False)
class Curve:
    """A criterion at multiples of a reference, increasing."""

    widths: Array
    values: Array

    @property
    def best(self) -> int:
        return int(np.argmin(self.values))


def search_line(
    criterion: Callable[[float], float],
    grid: Array = GRID,
    precision: float = PRECISION,
    parts: int = 1,
    jumps: Array = NO_JUMPS,
) -> Curve:
    """The criterion at all multiples that were tried on the way to the least one.

    With each step of the grid in so many parts, for a criterion that may have several minima within a step. Of `jumps`,
    multiples at which it may fall at once, those beside the best part are tried, too.
    """
    known: dict[float, float] = {}

    def tried(logarithm: float) -> float:
        width = float(np.exp(round(logarithm, 12)))
        if width not in known:
            known[width] = float(criterion(width))
        return known[width]

    # floats of Python, whose infinities subtract without a warning
    steps = _extended(tried, np.log(grid).tolist())
    places = np.arange(parts * (len(steps) - 1) + 1) / parts
    logarithms = np.interp(places, np.arange(len(steps)), steps).tolist()
    best = int(np.argmin([tried(at) for at in logarithms]))
    below, at, above = logarithms[best - 1 : best + 2]
    for jump in np.log(jumps[(jumps > 0) & (jumps <= np.exp(above))]).tolist():
        if below <= jump:
            tried(jump + BEYOND)
    if tried(below) > tried(at) < tried(above):
        # around 1, because Brent's precision is relative
        bracket = (below - at + 1, 1.0, above - at + 1)
        minimize_scalar(lambda x: tried(x - 1 + at), bracket=bracket, method="brent", options={"xtol": precision})
    widths = np.array(sorted(known))
    return Curve(widths, np.array([known[width] for width in widths.tolist()]))


def _extended(tried: Callable[[float], float], logarithms: list[float]) -> list[float]:
    """The grid with more on the side where its best is the edge, or where all is infinite."""
    step = logarithms[1] - logarithms[0]
    while True:
        values = [tried(at) for at in logarithms]
        best = int(np.argmin(values))
        if np.isinf(values[best]) or best == len(values) - 1:
            logarithms = [*logarithms, logarithms[-1] + step]
        elif best == 0:
            logarithms = [logarithms[0] - step, *logarithms]
        else:
            return logarithms
        if logarithms[0] < np.log(LEAST) or logarithms[-1] > np.log(MOST):
            side = "narrower" if best == 0 and np.isfinite(values[0]) else "wider"
            raise BandwidthError(
                f"the criterion has no minimum: it is the better the {side} the kernels, from {LEAST:g} to {MOST:g} "
                "times a reference. Points that lie almost on top of each other, or very far away, do this; use "
                '"silverman-scaled", or give the bandwidth as numbers.'
            )


def refine_by_slope(slope: Callable[[Array], tuple[float, Array]], axes: int, gain: float = LEAST_GAIN) -> Array:
    """Logarithms of factors, one per axis, that lower a criterion from where all are 0, by its derivatives.

    The criterion has to be of order 1; a step that gains less is the last.
    """
    options: Any = {"maxiter": 100, "ftol": gain, "gtol": 1e-7}
    bounds = [(np.log(LEAST), np.log(MOST))] * axes
    return np.asarray(minimize(slope, np.zeros(axes), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x)


def refine_by_simplex(value: Callable[[Array], float], axes: int) -> Array:
    """Like `refine_by_slope`, for criteria that jump or have no derivatives."""
    simplex = np.vstack([np.zeros(axes), FIRST_STEP * np.eye(axes)])
    options: Any = {"initial_simplex": simplex, "xatol": PRECISION, "fatol": np.inf, "maxfev": 200 * axes}
    return np.asarray(minimize(value, np.zeros(axes), method="Nelder-Mead", options=options).x)
