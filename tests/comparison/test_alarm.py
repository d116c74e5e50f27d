"""A clock that rings in the middle of whatever is being done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from mercer.comparison.time_limit import RETRY_SECONDS, AlarmState, Budget, OutOfTime, TimeUp, alarm

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that rings")


def ring() -> None:
    """Call the handler of the timer as when it runs out."""
    signal.raise_signal(signal.SIGALRM)


@pytest.fixture(autouse=True)
def no_alarm_remains() -> Iterator[None]:
    yield
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_the_alarm_rings_when_the_time_is_up() -> None:
    bell = AlarmState()
    with pytest.raises(TimeUp), alarm(1e-6, bell):
        threading.Event().wait(60)
    assert bell.is_raised


def test_the_alarm_does_not_ring_early() -> None:
    bell = AlarmState()
    with alarm(3600, bell):
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 3600
    assert not bell.is_raised


def test_running_work_raises_out_of_time() -> None:
    with pytest.raises(OutOfTime, match="cut short"), Budget(3600).cutting():
        ring()


def test_the_exception_cannot_be_swallowed() -> None:
    """A fit that kept its best iterate and went on is not whole."""
    with pytest.raises(OutOfTime, match="cut short"), Budget(3600).cutting(), suppress(KeyboardInterrupt):
        ring()


def test_ctrl_c_is_not_the_alarm() -> None:
    with pytest.raises(KeyboardInterrupt), Budget(3600).cutting():
        raise KeyboardInterrupt


def test_without_a_limit_there_is_no_alarm() -> None:
    with Budget(None).cutting():
        assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_an_existing_timer_is_left_alone() -> None:
    heard: list[Any] = []
    signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number))
    try:
        with alarm(3600, AlarmState()):
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
            ring()
        assert heard == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_there_is_no_alarm_in_another_thread() -> None:
    found: list[Any] = []

    def work() -> None:
        with alarm(3600, AlarmState()):
            found.append(signal.getitimer(signal.ITIMER_REAL)[0])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [0.0]


def called_by(module: str, work: Callable[[], None]) -> None:
    """Do it as if a function of that module did."""
    exec("work()", {"__name__": module, "work": work})


@pytest.mark.parametrize(
    "module", ["numba.core.codegen", "llvmlite.binding", "_frozen_importlib", "importlib", "mercer._atomic"]
)
def test_the_alarm_waits_while_an_exception_would_do_harm(module: str) -> None:
    """An exception from nowhere would be swallowed, or leave something half made."""
    bell, came_through = AlarmState(), []

    def work() -> None:
        called_by(module, ring)
        came_through.append(not bell.is_raised and 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= RETRY_SECONDS)
        threading.Event().wait(60)

    with pytest.raises(TimeUp), alarm(3600, bell):
        work()
    assert came_through == [True]
    assert bell.is_raised


@pytest.mark.parametrize("module", ["numbat", "sklearn.linear_model", "mercer.linear_model"])
def test_the_alarm_does_not_wait_for_other_modules(module: str) -> None:
    with pytest.raises(TimeUp), alarm(3600, AlarmState()):
        called_by(module, ring)


def test_a_state_is_restored_first() -> None:
    state = ["old"]

    @contextmanager
    def changed() -> Iterator[None]:
        state[0] = "new"
        try:
            yield
        finally:
            ring()
            state[0] = "old"

    def work() -> None:
        with changed():
            pass
        threading.Event().wait(60)

    with pytest.raises(TimeUp), alarm(3600, AlarmState()):
        work()
    assert state == ["old"]


def test_work_called_from_an_import_is_interrupted_too() -> None:
    """Only what the block itself does is looked at."""

    def work() -> None:
        with pytest.raises(TimeUp), alarm(3600, AlarmState()):
            ring()

    called_by("importlib", work)


def test_work_that_ends_while_the_alarm_waits_is_complete() -> None:
    with Budget(3600).cutting():
        called_by("numba", ring)
