"""Seconds of work: neither waiting for other programs nor compilation counts."""

from __future__ import annotations

from functools import cache
from time import perf_counter, process_time
from typing import Any


class WorkClock:
    """Seconds that this process has worked since the clock was made.

    On a busy machine the time of the processor counts, with several threads that of the wall, whichever is less.
    Compilation happens once per machine and is left out.
    """

    def __init__(self) -> None:
        self._wall, self._processor, self._compiled = perf_counter(), process_time(), compile_seconds()

    @property
    def seconds(self) -> float:
        elapsed = min(perf_counter() - self._wall, process_time() - self._processor)
        return elapsed - (compile_seconds() - self._compiled)


def compile_seconds() -> float:
    """Return the seconds that numba has compiled since the first call."""
    listener = _listener()
    return float(listener.duration) if listener.done else 0.0


@cache
def _listener() -> Any:
    from numba.core import event

    listener = event.TimingListener()  # type: ignore[no-untyped-call]
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    return listener
