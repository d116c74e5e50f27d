"""The compiled loop of `BernoulliNB`."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit


@jit
def mark_above(values, threshold, ones):  # type: ignore[no-untyped-def]
    """Set ones[i] to 1 for a value above the threshold, NaN for NaN, else 0; return whether a value is infinite."""
    infinite = False
    for i in range(values.shape[0]):
        value = values[i]
        infinite |= np.isinf(value)
        ones[i] = np.nan if np.isnan(value) else 1.0 * (value > threshold)
    return infinite
