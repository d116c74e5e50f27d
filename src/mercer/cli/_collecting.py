"""Fewer passes of Python's garbage collector while a command works."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def rare_collections(*, allocations: int = 50_000) -> Iterator[None]:
    """Collect garbage after that many allocations of containers, instead of Python's 700 to 2,000.

    Of a table of thousands of columns there are hundreds of thousands of small objects, none of them garbage: to look
    for some takes a fifth of the time of a comparison. It is also a decorator.

    Parameters
    ----------
    allocations : int, default=50000
        Allocations, less deallocations, from one collection of the youngest objects to the next.
    """
    before = gc.get_threshold()
    gc.set_threshold(allocations, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
