"""The sum behind the density of a Poisson number of gamma variables."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.scalar import deviance

#: terms that are e⁻⁴⁰ of the largest, and all behind them, add nothing
NOTHING = 40.0
#: terms taken to a standard deviation of their number, where that is large
FINE = 4.0


@jit
def log_heights(number, shape, heights, out):  # type: ignore[no-untyped-def]
    """out[i] = log Σⱼ exp(heights[j] − (1 + α) D(j, λᵢ)) over j = 1, 2, …, where D is the deviance and λ the `number`.

    From the end of `heights` on, Stirling's series stands for them. The logarithms of the terms are concave in j.
    """
    for i in range(number.shape[0]):
        middle = number[i]
        step = max(1.0, np.floor(np.sqrt(middle / (1.0 + shape)) / FINE))
        start = max(1.0, np.floor(middle + 0.5))
        first = _term(start, middle, shape, heights)
        total, highest = 1.0, first
        for direction in (1.0, -1.0):
            j = start + direction * step
            while j >= 1.0:
                term = _term(j, middle, shape, heights)
                highest = max(highest, term)
                # not `<`: a term that is no number ends the sum too
                if not term > highest - NOTHING:
                    break
                total += np.exp(term - first)
                j += direction * step
        out[i] = first + np.log(step * total)


@jit
def _term(j, middle, shape, heights):  # type: ignore[no-untyped-def]
    height = heights[int(j)] if j < heights.shape[0] else 0.5 * np.log(shape) - np.log(2.0 * np.pi) - _rest(j, shape)
    return height - (1.0 + shape) * deviance(j, middle, np.log(j / middle))


@jit
def _rest(j, shape):  # type: ignore[no-untyped-def]
    """Stirling's 1/12x − 1/360x³ of both factorials."""
    x = j * shape
    return 1.0 / (12.0 * j) - 1.0 / (360.0 * j * j * j) + 1.0 / (12.0 * x) - 1.0 / (360.0 * x * x * x)
