"""Series of the density of a sum of a Poisson number of gamma variables."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.scalar import deviance

#: terms below e⁻⁴⁰ of the largest, and all beyond them, do not change the sum
NEGLIGIBLE_LOG_TERM = 40.0
#: terms summed per standard deviation, where that is large
TERMS_PER_DEVIATION = 4.0


@jit
def log_heights(number, shape, heights, out):  # type: ignore[no-untyped-def]
    """out[i] = log Σⱼ exp(heights[j] − (1 + α) D(j, λᵢ)) over j = 1, 2, …, where D is the deviance and λ the `number`.

    Beyond the end of `heights` they are computed by Stirling's series. The logarithms of the terms are concave in j.
    """
    for i in range(number.shape[0]):
        middle = number[i]
        step = max(1.0, np.floor(np.sqrt(middle / (1.0 + shape)) / TERMS_PER_DEVIATION))
        start = max(1.0, np.floor(middle + 0.5))
        first = _term(start, middle, shape, heights)
        total, highest = 1.0, first
        for direction in (1.0, -1.0):
            j = start + direction * step
            while j >= 1.0:
                term = _term(j, middle, shape, heights)
                highest = max(highest, term)
                # not `<`: a NaN ends the sum too
                if not term > highest - NEGLIGIBLE_LOG_TERM:
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
    """Terms 1/12x − 1/360x³ of Stirling's series, for j and for jα."""
    x = j * shape
    return 1.0 / (12.0 * j) - 1.0 / (360.0 * j * j * j) + 1.0 / (12.0 * x) - 1.0 / (360.0 * x * x * x)
