"""Time limits of comparisons: a clock of work, an alarm that interrupts fits, and budgets."""

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
from mercer.report.wording import format_count


class WorkClock:
    """A clock of the seconds that this process has worked since the clock was made.

    It is the smaller of processor time (on a busy machine) and wall time (with several threads). Compilation happens
    once per machine and is subtracted from both.
    """

    def __init__(self) -> None:
        self._begun = _working_times()

    @property
    def seconds(self) -> float:
        return min(now - begun for now, begun in zip(_working_times(), self._begun, strict=True))


def _working_times() -> tuple[float, float]:
    """Return wall time and processor time, both without compilation."""
    listener = _compile_listener()
    return perf_counter() - listener.wall, process_time() - listener.processor


@cache
def _compile_listener() -> Any:
    from numba.core import event

    class CompileTimes(event.Listener):
        """Seconds of wall and processor time in compilation; nested compilations count once."""

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


#: shortest alarm in seconds: 0 would turn it off
MIN_ALARM_SECONDS = 1e-3
#: seconds until the alarm is repeated if it could not interrupt safely
RETRY_SECONDS = 0.05
#: packages that an asynchronous exception damages: a callback drops it, or a module or file is left incomplete
FRAGILE_PACKAGES = (
    "numba",
    "llvmlite",
    "importlib",
    "_frozen_importlib",
    "_frozen_importlib_external",
    "mercer._atomic",
)
#: functions that set or restore a state, which must not be interrupted
GUARDED_FUNCTIONS = frozenset({"__enter__", "__exit__", "__del__"})


class TimeUp(KeyboardInterrupt):
    """Raised by the alarm. Solvers treat it like Ctrl-C, and `except Exception` does not catch it."""


class AlarmState:
    """State of an alarm: whether it was raised, since a stopped solver raises its own interruption."""

    is_raised = False


@contextmanager
def alarm(seconds: float, state: AlarmState, left: Callable[[], float] = lambda: 0.0) -> Iterator[None]:
    """Raise `TimeUp` in the block after some seconds, once, and record it in `state`.

    If `left`, by a clock that may be slower, is still positive then, the alarm is set again.

    It works in the main thread of a system with timers, if the timer is not in use; otherwise nothing is raised. Python
    handles signals between bytecodes, so that a compiled loop ends first. While the block compiles, imports, writes a
    file or restores a state, the alarm is postponed.
    """
    if not _can_set_alarm():
        yield
        return
    around = set(_iterate_frames(sys._getframe()))

    def ring(number: int, frame: Any) -> None:
        if _is_fragile(takewhile(lambda each: each not in around, _iterate_frames(frame))):
            signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)
            return
        if (more := left()) > 0:
            signal.setitimer(signal.ITIMER_REAL, max(more, RETRY_SECONDS))
            return
        state.is_raised = True
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        raise TimeUp

    signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, MIN_ALARM_SECONDS))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        around.clear()  # this frame is among them: a reference cycle would keep all frames alive


def _iterate_frames(frame: Any) -> Iterator[Any]:
    """Yield a frame, its caller, and so on."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_fragile(frames: Iterable[Any]) -> bool:
    """Return whether an asynchronous exception within these calls would do damage."""
    return any(
        frame.f_code.co_name in GUARDED_FUNCTIONS or _is_within(frame.f_globals.get("__name__") or "", FRAGILE_PACKAGES)
        for frame in frames
    )


def _is_within(module: str, packages: Iterable[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _can_set_alarm() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )


#: share of the time that is reserved for the page and a fit of the best model to all rows
PAGE_SHARE = 0.25
#: share of the time that is reserved for the checks of the verdict, without page and file
VERDICT_SHARE = 0.1


class OutOfTime(Exception):
    """Raised if something would not be done in time; the message is the reason in a few words."""


class Budget:
    """A time limit from now, or from `started`, of which a share may be reserved for later.

    It is checked before every fit: a fit that is expected to exceed it is not started. A fit that exceeds it anyway is
    interrupted, if an alarm can be set.

    Parameters
    ----------
    seconds : float or None
        The limit; None for no limit.
    started : float, default=None
        Value of `perf_counter` from which the seconds count; by default now.
    kept : float, default=0
        Reserved share of the seconds.
    work : bool, default=False
        Whether seconds of work count (see `WorkClock`) instead of wall time: for default limits, which must not depend
        on the load of the machine.
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
        """Return the budget of a time limit: seconds from now, or a budget that has started.

        If it has no limit, `patience` limits the seconds of work from now.
        """
        given = time_limit if isinstance(time_limit, cls) else cls(time_limit)
        return (
            given if given.seconds is not None or patience is None else cls(patience, started=given._start, work=True)
        )

    def whole(self) -> Budget:
        """Return the same budget without a reserved share."""
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
        """The limit in words; for a default limit with the option that changes it."""
        if self._work is None:
            return f"the time limit of {self.seconds:g} s"
        return f"the usual {self.seconds:g} s of work (a time limit of your own allows more)"

    @property
    def ended(self) -> str:
        """The reason why nothing more is started, in words."""
        if self._work is None:
            return "the time limit was reached"
        return f"the usual {self.seconds:g} s of work, which a time limit of your own replaces, were used up"

    def check(self, splits: int, taken: Sequence[float] = ()) -> None:
        """Raise OutOfTime if the remaining splits of a model would take too long, given the seconds of those done.

        The first fit of a process may compile and is a poor estimate of the others: a second one is tried if there is
        time for the same duration, and then the lower median is the estimate.
        """
        done = len(taken)
        if self.left <= 0:
            raise OutOfTime(f"{done} of {splits} splits done when the time was up" if done else "not begun")
        if done and median_low(taken) * (1 if done == 1 else splits - done) > self.left:
            rest = median_low(taken) * (splits - done)
            raise OutOfTime(f"{done} of {splits} splits done; the others would take {_format_seconds(rest)} more")

    def check_cost(self, model: Any, table: Table, splits: Sequence[Split]) -> None:
        """Raise OutOfTime if the estimated cost of all fits exceeds the time left."""
        if self.seconds is None:
            return
        self.check(len(splits))
        seconds = len(splits) * estimate_seconds(model, table.take_native(splits[0][0]))
        self.check(len(splits))  # the estimate takes time, too, above all the first one
        if seconds > self.left:
            about = f"about {_format_seconds(seconds)}" if seconds >= 1 else _format_seconds(seconds)
            raise OutOfTime(f"not begun: its {format_count(len(splits), 'fit')} would take {about}")

    @contextmanager
    def cutting(self) -> Iterator[None]:
        """Interrupt the block when the time is up."""
        if self.seconds is None:
            yield
            return
        if self.left <= 0:
            raise OutOfTime("not begun")
        state = AlarmState()
        try:
            with alarm(self.left, state, *([] if self._work is None else [lambda: self.left])):
                yield
        except KeyboardInterrupt:
            if not state.is_raised:  # Ctrl-C
                raise
        if state.is_raised:  # also if the exception was caught: the result is incomplete
            raise OutOfTime("cut short when the time was up")


def _format_seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 1 else "less than a second"


def estimate_seconds(model: Any, X: Any) -> float:
    """Return the estimated seconds of a fit; 0 without an estimate."""
    from mercer.cost import estimate_cost

    try:
        return float(estimate_cost(innermost(model), X).seconds)
    except (MercerError, TypeError, ValueError, AttributeError):
        return 0.0
