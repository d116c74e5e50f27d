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
def nothing_is_left_behind() -> Iterator[None]:
    yield
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_it_rings_by_itself() -> None:
    bell = AlarmState()
    with pytest.raises(TimeUp), alarm(1e-6, bell):
        threading.Event().wait(60)
    assert bell.is_raised


def test_it_does_not_ring_before() -> None:
    bell = AlarmState()
    with alarm(3600, bell):
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 3600
    assert not bell.is_raised


def test_what_is_under_way_is_out_of_time() -> None:
    with pytest.raises(OutOfTime, match="cut short"), Budget(3600).cutting():
        ring()


def test_it_cannot_be_swallowed() -> None:
    """A fit that kept its best iterate and went on is not whole."""
    with pytest.raises(OutOfTime, match="cut short"), Budget(3600).cutting(), suppress(KeyboardInterrupt):
        ring()


def test_ctrl_c_is_not_the_alarm() -> None:
    with pytest.raises(KeyboardInterrupt), Budget(3600).cutting():
        raise KeyboardInterrupt


def test_without_a_limit_nothing_rings() -> None:
    with Budget(None).cutting():
        assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_the_timer_of_somebody_else_is_left_alone() -> None:
    heard: list[Any] = []
    signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number))
    try:
        with alarm(3600, AlarmState()):
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
            ring()
        assert heard == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_in_another_thread_nothing_rings() -> None:
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
def test_at_a_bad_moment_it_waits(module: str) -> None:
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
def test_of_others_it_does_not_wait_for_the_end(module: str) -> None:
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


def test_who_calls_from_an_import_is_cut_all_the_same() -> None:
    """Only what the block itself does is looked at."""

    def work() -> None:
        with pytest.raises(TimeUp), alarm(3600, AlarmState()):
            ring()

    called_by("importlib", work)


def test_work_that_ends_while_it_waits_is_whole() -> None:
    with Budget(3600).cutting():
        called_by("numba", ring)
