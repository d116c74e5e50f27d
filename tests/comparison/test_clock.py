"""Seconds of work: compilation is left out of the time of the wall and of that of the processor."""

from __future__ import annotations

from time import process_time, sleep

from numba.core import event

from mercer.comparison.time_limit import WorkClock


def test_compilation_on_a_busy_machine_does_not_turn_the_clock_back() -> None:
    """Seconds of the wall clock were subtracted from processor time, so that a budget of work had no end."""
    clock = WorkClock()
    with event.trigger_event("numba:compile"):
        sleep(0.05)
    assert clock.seconds >= 0
    begun = process_time()
    while process_time() - begun < 0.02:
        pass
    assert clock.seconds >= 0.01
