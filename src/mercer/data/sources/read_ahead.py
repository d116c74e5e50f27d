"""Reading one block ahead of the computation."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")

#: interval in seconds at which a waiting thread checks whether its item is still needed
CHECK_SECONDS = 0.05


def read_ahead(items: Iterator[T]) -> Generator[T]:
    """Yield the same items; a thread produces the next one while the caller uses the last.

    Exceptions of `items` are raised here. `items` is closed, in its thread, when this generator is closed or deleted.
    """
    ready: queue.Queue[tuple[bool, Any]] = queue.Queue(maxsize=1)
    unwanted = threading.Event()
    thread = threading.Thread(
        # runs with the caller's limits and NumPy's error state
        target=copy_context().run,
        args=(_make, items, ready, unwanted),
        name="mercer-ahead",
        daemon=True,
    )
    thread.start()
    try:
        while True:
            more, item = ready.get()
            if not more:
                if item is not None:
                    raise item
                return
            yield item
            del item  # otherwise three items would be in memory
    finally:
        unwanted.set()
        thread.join()  # it may read a file that the caller closes


def _make(items: Iterator[Any], ready: queue.Queue[tuple[bool, Any]], unwanted: threading.Event) -> None:
    last: BaseException | None = None
    try:
        for item in items:
            if not _put(ready, (True, item), unwanted):
                break
    except BaseException as failure:
        last = failure
    close = getattr(items, "close", None)
    if close is not None:
        close()
    _put(ready, (False, last), unwanted)


def _put(ready: queue.Queue[tuple[bool, Any]], item: tuple[bool, Any], unwanted: threading.Event) -> bool:
    """Put an item into the queue; return whether it is still needed."""
    while not unwanted.is_set():
        try:
            ready.put(item, timeout=CHECK_SECONDS)
            return True
        except queue.Full:
            pass
    return False
