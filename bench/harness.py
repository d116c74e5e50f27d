"""How a race is run: who takes part, what is timed, and when two answers count as the same.

A workload file names its arrays and its races; everything else is here. Each contender is called once to warm
up (for mercer that call compiles, and is reported apart) and then five times, or three where a call takes over
five seconds; the median counts. A call of over a minute is made once.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import mercer
from bench.machine import describe_environment
from bench.memory import peak_beyond_input
from bench.results import PARITY, Outcome, Report

Arrays = Any  # a NamedTuple of the workload's own; `X` is what memory is measured against, unless a race says otherwise
Results = Mapping[str, NDArray[Any]]

LONG_CALL, VERY_LONG_CALL = 5.0, 60.0  # seconds


@dataclass(frozen=True)
class Contender:
    """One library's way of doing the job: `prepare` returns the call that is timed."""

    name: str
    prepare: Callable[[Arrays], Callable[[], Any]]
    reach: float | None = None  # how many times faster than this one mercer is to be


@dataclass(frozen=True)
class Race:
    """One task; `results` picks from what the timed call returned the named arrays that must agree."""

    task: str
    ours: Contender
    rivals: tuple[Contender, ...]
    results: Callable[[Any, Arrays], Results]
    parity: float = PARITY  # how much the results may differ
    given: Callable[[Arrays], Any] | None = lambda data: data.X  # what memory is measured against; None: it is not

    def contender(self, name: str) -> Contender:
        return next(one for one in (self.ours, *self.rivals) if one.name == name)


@dataclass(frozen=True)
class Options:
    """How to run: `rows` replaces the workload's own number, for a quick look at whether it works."""

    threads: int
    rows: int | None = None
    memory: bool = True


@dataclass(frozen=True)
class Workload:
    """Races over the same arrays: `make_arrays(rows)` is deterministic, so that another process can make them too."""

    name: str
    shape: str
    rows: int
    make_arrays: Callable[[int], Arrays]
    races: tuple[Race, ...]

    def run(self, options: Options) -> Report:
        rows = options.rows or self.rows
        arrays = self.make_arrays(rows)
        outcomes = [one for race in self.races for one in self._race(race, arrays, rows, options)]
        size = f"{rows:,} × {self.shape}"
        return Report(self.name, size, describe_environment(options.threads), outcomes=tuple(outcomes))

    def race(self, task: str) -> Race:
        return next(race for race in self.races if race.task == task)

    def _race(self, race: Race, arrays: Arrays, rows: int, options: Options) -> list[Outcome]:
        def memory(one: Contender) -> float | None:
            if not options.memory or race.given is None:
                return None
            return peak_beyond_input(self.name, race.task, one.name, rows, options.threads)

        with threadpool_limits(options.threads), mercer.engine(threads=options.threads):
            ours = measure(race.ours, arrays)
            rivals = [(rival, measure(rival, arrays)) for rival in race.rivals]
        answer = race.results(ours.returned, arrays)
        own_memory = memory(race.ours)
        return [
            Outcome(
                task=race.task,
                rival=rival.name,
                seconds=ours.seconds,
                first_call=ours.first_call,
                rival_seconds=theirs.seconds,
                reach=rival.reach,
                difference=largest_difference(answer, race.results(theirs.returned, arrays)),
                parity=race.parity,
                memory=own_memory,
                rival_memory=memory(rival),
            )
            for rival, theirs in rivals
        ]


@dataclass(frozen=True)
class Measurement:
    first_call: float
    seconds: float
    returned: Any


def measure(contender: Contender, arrays: Arrays) -> Measurement:
    call = contender.prepare(arrays)
    first_call, returned = timed(call)
    if first_call > VERY_LONG_CALL:
        return Measurement(first_call, first_call, returned)
    seconds = [timed(call)[0]]
    while len(seconds) < (3 if seconds[0] > LONG_CALL else 5):
        seconds.append(timed(call)[0])
    return Measurement(first_call, statistics.median(seconds), returned)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    returned = call()
    return time.perf_counter() - start, returned


def largest_difference(ours: Results, theirs: Results) -> float:
    """Largest |a − b| / max(1, |b|) over all named results: absolute for small numbers, relative for large ones."""
    if ours.keys() != theirs.keys():
        raise ValueError(f"the contenders name different results: {sorted(ours)} and {sorted(theirs)}")
    # np.max, unlike max, passes a NaN on
    return float(np.max([_relative_difference(ours[name], theirs[name]) for name in ours]))


def _relative_difference(a: NDArray[Any], b: NDArray[Any]) -> float:
    return float(np.max(np.abs(a - b) / np.maximum(1, np.abs(b))))
