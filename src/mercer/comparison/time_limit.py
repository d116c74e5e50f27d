"""A limit of time that a comparison keeps."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import takewhile
from numbers import Real
from statistics import median_low
from time import perf_counter, process_time
from time import perf_counter as now
from typing import Any, Self

from mercer._errors import DataError, MercerError
from mercer.application.tasks import Split
from mercer.comparison.pairs import innermost
from mercer.data import Table

# Seconds of work: neither waiting for other programs nor compilation counts.


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


# A clock that rings in the middle of whatever is being done.

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


#: share of the time that models leave to the page, and to a fit of the best of them to all rows
FOR_THE_PAGE = 0.25
#: share that they leave to the checks behind the verdict where there is neither page nor file
FOR_THE_VERDICT = 0.1


class OutOfTime(Exception):
    """Something would not be done in time; the message is why, in a few words."""


class Budget:
    """Seconds from now, or from `started`, of which a share may be kept back for what comes later.

    It is consulted before every fit: one that is expected to outlast it is not begun. What outlasts it all the same is
    cut short, where an alarm can ring.

    Parameters
    ----------
    seconds : float or None
        The limit; None for no limit.
    started : float, default=None
        Value of `perf_counter` from which the seconds count; by default now.
    kept : float, default=0
        Share of the seconds that is kept back.
    work : bool, default=False
        Whether seconds of work count (see `WorkClock`) instead of those on the clock on the wall: for limits that the
        user did not set, which must not depend on what else the machine does.
    """

    def __init__(self, seconds: Any, *, started: float | None = None, kept: float = 0.0, work: bool = False) -> None:
        if seconds is not None and not (isinstance(seconds, Real) and float(seconds) > 0):
            raise DataError(f"time_limit must be a positive number of seconds, or None for no limit, not {seconds!r}.")
        self.seconds = None if seconds is None else float(seconds)
        self._start = now() if started is None else started
        self._kept = kept
        self._work = WorkClock() if work else None

    @classmethod
    def of(cls, time_limit: Any, patience: float | None = None) -> Self:
        """Return a limit as it is given: seconds from now, or a budget that has begun.

        Where neither limits anything, `patience` does, in seconds of work from now.
        """
        given = time_limit if isinstance(time_limit, cls) else cls(time_limit)
        return (
            given if given.seconds is not None or patience is None else cls(patience, started=given._start, work=True)
        )

    def whole(self) -> Budget:
        """The same with nothing kept back."""
        return Budget(self.seconds, started=self._start)

    @property
    def spent(self) -> float:
        return now() - self._start

    @property
    def left(self) -> float:
        if self.seconds is None:
            return float("inf")
        return (1 - self._kept) * self.seconds - self.elapsed

    @property
    def elapsed(self) -> float:
        """Seconds since the start by the clock of this budget."""
        return self.spent if self._work is None else self._work.seconds

    @property
    def name(self) -> str:
        """The limit in words, and the option that changes it where the user did not set it."""
        if self._work is None:
            return f"the time limit of {self.seconds:g} s"
        return f"the usual {self.seconds:g} s of work (a time limit of your own allows more)"

    @property
    def ended(self) -> str:
        """Why nothing more is begun."""
        if self._work is None:
            return "the time limit was reached"
        return f"the usual {self.seconds:g} s of work, which a time limit of your own replaces, were used up"

    def check(self, splits: int, taken: Sequence[float] = ()) -> None:
        """Stop a model that has taken so many seconds for each split so far, if the rest would take too long.

        The first fit of a process may compile, and says little of the others: a second is tried if there is time for
        one as long, and from then on the lower median counts.
        """
        done = len(taken)
        if self.left <= 0:
            raise OutOfTime(f"{done} of {splits} splits done when the time was up" if done else "not begun")
        if done and median_low(taken) * (1 if done == 1 else splits - done) > self.left:
            rest = median_low(taken) * (splits - done)
            raise OutOfTime(f"{done} of {splits} splits done; the others would take {rest:.0f} s more")

    def check_cost(self, model: Any, table: Table, splits: Sequence[Split]) -> None:
        """Before the first fit, by what the model says that a fit takes, where it says so."""
        if self.seconds is None:
            return
        self.check(len(splits))
        seconds = len(splits) * estimated_seconds(model, table.take_native(splits[0][0]))
        self.check(len(splits))  # to estimate takes time, too, the first time most of all
        if seconds > self.left:
            raise OutOfTime(f"not begun: its {len(splits)} fits would take about {seconds:.0f} s")

    @contextmanager
    def cutting(self) -> Iterator[None]:
        """Cut what is done in the block short when the time is up."""
        if self.seconds is None:
            yield
            return
        if self.left <= 0:
            raise OutOfTime("not begun")
        bell = Bell()
        try:
            with alarm(self.left, bell, *([] if self._work is None else [lambda: self.left])):
                yield
        except KeyboardInterrupt:
            if not bell.rang:  # Ctrl-C
                raise
        if bell.rang:  # also where somebody has swallowed it: what was made is not whole
            raise OutOfTime("cut short when the time was up")


def estimated_seconds(model: Any, X: Any) -> float:
    """What a fit would take as far as the model knows before it; 0 where it does not."""
    from mercer.cost import estimate_cost

    try:
        return float(estimate_cost(innermost(model), X).seconds)
    except (MercerError, TypeError, ValueError, AttributeError):
        return 0.0
