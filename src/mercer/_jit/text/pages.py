"""Arrays whose memory goes back to the system as soon as nobody holds them.

What `malloc` is given back it keeps for the next request, of each thread apart: of arrays of some megabytes that come
and go while documents are read, that was more than all that was needed at once.
"""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np

#: bytes from which on an array has pages of its own
OWN_PAGES = 1 << 16
#: bytes from which on pages of 2 MB, which are found sooner, are asked for
LARGE = 4 << 20


def empty(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """An array of anything; memory is taken when it is written to."""
    kind = np.dtype(dtype)
    many = shape if isinstance(shape, int) else math.prod(shape)
    size = many * kind.itemsize
    if size < OWN_PAGES:
        return np.empty(shape, dtype=kind)
    own = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    if size >= LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        own.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(own, dtype=kind, count=many).reshape(shape)


def copied(values: Any, dtype: Any = None) -> Any:
    """The same values in an array that holds nothing else."""
    copy = empty(values.shape, values.dtype if dtype is None else dtype)
    copy[:] = values
    return copy
