"""A limit of time that a comparison keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from statistics import median_low
from time import perf_counter as now
from typing import Any, Self

from mercer._errors import DataError, MercerError
from mercer.comparison.racing.alarm import Bell, alarm
from mercer.comparison.racing.clock import WorkClock
from mercer.comparison.taking_part.kinds import innermost
from mercer.data import Table
from mercer.using.tasks import Split

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
    from mercer.models import estimate_cost

    try:
        return float(estimate_cost(innermost(model), X).seconds)
    except (MercerError, TypeError, ValueError, AttributeError):
        return 0.0
