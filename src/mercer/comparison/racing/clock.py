"""Seconds of work: neither waiting for other programs nor compilation counts."""

from __future__ import annotations

from functools import cache
from time import perf_counter, process_time
from typing import Any


class WorkClock:
    """Seconds that this process has worked since the clock was made.

    On a busy machine the time of the processor counts, with several threads that of the wall, whichever is less.
    Compilation happens once per machine and is left out of both.
    """

    def __init__(self) -> None:
        self._begun = _without_compilation()

    @property
    def seconds(self) -> float:
        return min(now - begun for now, begun in zip(_without_compilation(), self._begun, strict=True))


def _without_compilation() -> tuple[float, float]:
    """Times of the wall and of the processor, less what compilation took of each."""
    listener = _listener()
    return perf_counter() - listener.wall, process_time() - listener.processor


@cache
def _listener() -> Any:
    from numba.core import event

    class CompileTimes(event.Listener):
        """Seconds of the wall and of the processor in compilation; one within another counts once."""

        wall = processor = 0.0
        _depth = 0

        def on_start(self, event: Any) -> None:
            if self._depth == 0:
                self._begun = perf_counter(), process_time()
            self._depth += 1

        def on_end(self, event: Any) -> None:
            self._depth -= 1
            if self._depth == 0:
                self.wall += perf_counter() - self._begun[0]
                self.processor += process_time() - self._begun[1]

    listener = CompileTimes()
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    return listener
