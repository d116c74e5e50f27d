"""Values above a threshold as ones, in one pass that also looks for what is missing or infinite."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def above(values, threshold, ones):  # type: ignore[no-untyped-def]
    """ones[i] = 1 where a value is above the threshold, NaN where it is missing, else 0; returns if one is infinite."""
    infinite = False
    for i in range(values.shape[0]):
        value = values[i]
        infinite |= np.isinf(value)
        ones[i] = np.nan if np.isnan(value) else 1.0 * (value > threshold)
    return infinite
