"""A clock that rings in the middle of whatever is being done."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

#: seconds of the shortest alarm: none at all would turn it off
SHORTEST = 1e-3
#: seconds until it rings again where it came at a bad moment
AGAIN = 0.05
#: packages that do not survive an exception from nowhere: a callback swallows it, a module or a file is left half made
FRAGILE = ("numba", "llvmlite", "importlib", "_frozen_importlib", "_frozen_importlib_external", "mercer._atomic")
#: functions that set a state or restore it, which nobody would do again
GUARDING = frozenset({"__enter__", "__exit__", "__del__"})


class TimeUp(KeyboardInterrupt):
    """The alarm has rung. A solver treats it like Ctrl-C, and nobody who catches an `Exception` swallows it."""


class Bell:
    """Whether the alarm has rung: a solver that was stopped raises an interruption of its own."""

    rang = False


@contextmanager
def alarm(seconds: float, bell: Bell, left: Callable[[], float] = lambda: 0.0) -> Iterator[None]:
    """Raise `TimeUp` in the block after so many seconds, once, and remember it.

    Where `left`, by a clock that may run more slowly, is still positive then, it is set again.

    Only where the main thread runs it, on a system that has such a timer, and nobody else uses it; elsewhere nothing
    rings. Python hears it between two of its own steps, so that a compiled loop ends first. Where the block compiles,
    imports, writes a file or restores a state, it rings when that is done.
    """
    if not _may_ring():
        yield
        return
    around = set(_stack(sys._getframe()))

    def ring(number: int, frame: Any) -> None:
        if _fragile(takewhile(lambda each: each not in around, _stack(frame))):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            return
        if (more := left()) > 0:
            signal.setitimer(signal.ITIMER_REAL, max(more, AGAIN))
            return
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
        around.clear()  # this frame is among them: a circle that would keep everything around the block


def _stack(frame: Any) -> Iterator[Any]:
    """A frame, who called it, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _fragile(frames: Iterable[Any]) -> bool:
    """Whether an exception that is raised from nowhere within these calls would do harm."""
    return any(
        frame.f_code.co_name in GUARDING or _belongs(frame.f_globals.get("__name__") or "", FRAGILE) for frame in frames
    )


def _belongs(module: str, packages: Iterable[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _may_ring() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )
