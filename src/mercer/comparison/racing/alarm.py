"""A clock that rings in the middle of whatever is being done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: seconds of the shortest alarm: none at all would turn it off
SHORTEST = 1e-3


class TimeUp(KeyboardInterrupt):
    """The alarm has rung. A solver treats it like Ctrl-C, and nobody who catches an `Exception` swallows it."""


class Bell:
    """Whether the alarm has rung: a solver that was stopped raises an interruption of its own."""

    rang = False


@contextmanager
def alarm(seconds: float, bell: Bell) -> Iterator[None]:
    """Raise `TimeUp` in the block after so many seconds, once, and remember it.

    Only where the main thread runs it, on a system that has such a timer, and nobody else uses it; elsewhere nothing
    rings. Python hears it between two of its own steps, so that a compiled loop ends first.
    """
    if not _may_ring():
        yield
        return

    def ring(number: int, frame: Any) -> None:
        bell.rang = True
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        raise TimeUp

    signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, SHORTEST))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _may_ring() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
