"""Work on a tensor in chunks, which become smaller if GPU memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mercer._errors import DeviceMemoryError

#: numbers of a tile on a GPU: enough to keep it busy
TILE_NUMBERS_ON_CARD = 1 << 27
#: numbers of a tile in main memory: enough to outweigh the start of threads
TILE_NUMBERS_ON_CPU = 1 << 22


@contextmanager
def device_memory_for(what: str) -> Iterator[None]:
    """Convert torch's error that GPU memory is exhausted to `DeviceMemoryError`."""
    import torch

    try:
        yield
    except torch.cuda.OutOfMemoryError as full:
        torch.cuda.empty_cache()
        raise DeviceMemoryError(
            f"the card has not enough memory for {what} ({str(full).splitlines()[0]}). Free memory there, or give "
            "fewer rows at a time."
        ) from None


def tile_size(X: Any) -> int:
    """Return the size of a tile, in numbers, on the device of X."""
    return TILE_NUMBERS_ON_CARD if X.is_cuda else TILE_NUMBERS_ON_CPU


def in_chunks(count: int, step: int, work: Callable[[slice], None], what: str = "a tile of kernel values") -> None:
    """Call `work` for consecutive slices of `step` rows, and for half of that if GPU memory runs out.

    `work` is then called again for a part of its slice, so that it must not add to results before its end.
    """
    import torch

    start, step = 0, max(1, min(step, count))
    while start < count:
        chunk = slice(start, min(start + step, count))
        try:
            work(chunk)
        except torch.cuda.OutOfMemoryError:
            if step == 1:
                with device_memory_for(f"{what} of a single row"):
                    raise
            torch.cuda.empty_cache()
            step = max(1, (chunk.stop - chunk.start) // 2)
            continue
        start = chunk.stop
