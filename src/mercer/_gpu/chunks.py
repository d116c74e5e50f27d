"""Work on a tensor chunk by chunk: smaller chunks where the card has no room, and an error that says so at last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mercer._errors import DeviceMemoryError

#: numbers of a tile: on a card as many as keep it busy, in main memory as many as are worth waking threads for
ON_CARD, ON_CPU = 1 << 27, 1 << 22


@contextmanager
def room_for(what: str) -> Iterator[None]:
    """`DeviceMemoryError` where the card has no room for what is made within."""
    import torch

    try:
        yield
    except torch.cuda.OutOfMemoryError as full:
        torch.cuda.empty_cache()
        raise DeviceMemoryError(
            f"the card has no room for {what} ({str(full).splitlines()[0]}). Free what else lies there, or give fewer "
            "rows at a time."
        ) from None


def tile_size(X: Any) -> int:
    """Numbers that a tile may have where X lies."""
    return ON_CARD if X.is_cuda else ON_CPU


def in_chunks(count: int, step: int, work: Callable[[slice], None], what: str = "a tile of kernel values") -> None:
    """Call work for slices of so many, one after the other; where the card's memory is short, for half of them.

    Work that found no room is called again for a part of its slice: it sets numbers, or adds to them at its end.
    """
    import torch

    start, step = 0, max(1, min(step, count))
    while start < count:
        some = slice(start, min(start + step, count))
        try:
            work(some)
        except torch.cuda.OutOfMemoryError:
            if step == 1:
                with room_for(f"{what} of a single row"):
                    raise
            torch.cuda.empty_cache()
            step = max(1, (some.stop - some.start) // 2)
            continue
        start = some.stop
