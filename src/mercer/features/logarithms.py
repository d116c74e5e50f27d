"""log(1 + x) of counts (lecture 1: saturation), and its odd continuation to negative numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def signed_log(x: NDArray[Any]) -> NDArray[Any]:
    """sign(x) log(1 + |x|), which is log(1 + x) of what is not negative; 0 stays 0 and NaN stays NaN.

    Examples
    --------
    >>> signed_log(np.array([-1.0, 0.0, 1.0, 1e9])).round(3).tolist()
    [-0.693, 0.0, 0.693, 20.723]
    """
    result = np.abs(x)
    np.log1p(result, out=result)
    return np.asarray(np.copysign(result, x, out=result))
