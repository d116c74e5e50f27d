"""Memory for the features of rows, or an error that says how much there would have to be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DeviceMemoryError
from mercer._memory import gigabytes, refuse_beyond_memory

INSTEAD = "transform fewer rows at a time, or have fewer components"


def empty_array(rows: int, features: int, dtype: Any) -> NDArray[Any]:
    """In main memory."""
    size = float(rows) * features * np.dtype(dtype).itemsize
    refuse_beyond_memory(size, f"{rows:,} rows of {features:,} features", INSTEAD)
    return np.empty((rows, features), dtype)


def empty_tensor(X: Any, features: int) -> Any:
    """For the rows of a tensor, of its type and on its device."""
    import torch

    try:
        return X.new_empty((len(X), features))
    except torch.cuda.OutOfMemoryError as full:
        size = gigabytes(len(X) * features * X.element_size())
        raise DeviceMemoryError(
            f"{len(X):,} rows of {features:,} features take {size}, which {X.device} has no room for; {INSTEAD}."
        ) from full
