"""One pool, ordered results, and no more threads than allowed."""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mercer import _threads
from mercer._threads import blas_for, bounded, ordered_map, ordered_stream, row_blocks, thread_count


@pytest.fixture(autouse=True)
def _four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "available_cores", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.fixture
def two_blas_threads() -> Iterator[None]:
    """Use two BLAS threads, because the test run has one."""
    with threadpool_limits(2, user_api="blas"):
        yield


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blocks_cover_all_rows_once() -> None:
    assert row_blocks(10, 4) == [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert row_blocks(0, 4) == []


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_come_in_order(threads: int) -> None:
    def slow_first(i: int) -> int:
        time.sleep(0.02 if i == 0 else 0.0)
        return i * i

    with bounded(threads):
        assert ordered_map(slow_first, range(20)) == [i * i for i in range(20)]


def test_work_is_shared_between_threads() -> None:
    together = threading.Barrier(4, timeout=10)

    def meet(_: int) -> int:
        together.wait()
        return threading.get_ident()

    assert len(set(ordered_map(meet, range(4)))) == 4


def test_nested_work_stays_on_its_thread() -> None:
    def inner(_: int) -> tuple[int, int]:
        return thread_count(), threading.get_ident()

    def outer(_: int) -> bool:
        return set(ordered_map(inner, range(3))) == {(1, threading.get_ident())}

    assert all(ordered_map(outer, range(6)))
    assert thread_count() == 4


def test_only_a_few_results_are_made_ahead() -> None:
    started: list[int] = []
    results = ordered_stream(lambda i: started.append(i) or i, range(100))
    assert next(results) == 0
    assert len(started) <= 4 + 2
    assert list(results) == list(range(1, 100))


@pytest.mark.parametrize("threads", [1, 4])
def test_exceptions_propagate_and_stop_the_rest(threads: int) -> None:
    started: list[int] = []

    def fail_at_three(i: int) -> None:
        started.append(i)
        if i == 3:
            raise KeyError("three")

    with bounded(threads), pytest.raises(KeyError, match="three"):
        ordered_map(fail_at_three, range(1000))
    assert len(started) < 50


def test_engine_bounds_the_threads() -> None:
    assert thread_count() == 4
    with bounded(2):
        assert thread_count() == 2
        with bounded(1):
            assert thread_count() == 1
        with bounded(100):
            assert thread_count() == 4
        assert thread_count() == 2
    with pytest.raises(ValueError, match="at least 1, got 0"), bounded(0):
        pass
    assert thread_count() == 4


def test_the_limit_that_joblib_sets_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert thread_count() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "0")
    assert thread_count() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "2, 1")  # one for each level of nesting
    assert thread_count() == 2


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("threads", [1, 4])
def test_blas_has_one_thread_inside_and_its_own_number_outside(threads: int) -> None:
    with bounded(threads):
        assert all(inside == {1} for inside in ordered_map(lambda _: blas_threads(), range(3)))
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_gets_its_threads_back_when_uses_overlap() -> None:

    def halfway() -> Iterator[int]:
        return ordered_stream(lambda i: i, range(2))

    first, second = halfway(), halfway()
    next(first), next(second)
    assert list(first) == [1]
    assert blas_threads() == {1}
    assert list(second) == [1]
    assert blas_threads() == {2}


def test_workers_share_the_error_state_of_the_caller() -> None:
    with np.errstate(all="ignore"):
        states = ordered_map(lambda _: np.geterr()["divide"], range(8))
    assert set(states) == {"ignore"}


@pytest.mark.usefixtures("two_blas_threads")
def test_small_factorisations_keep_blas_on_one_thread() -> None:
    with blas_for(10):
        assert blas_threads() == {1}
    with blas_for(10_000):
        assert blas_threads() == {2}


def test_threads_are_kept_for_the_next_call() -> None:
    def names(_: int) -> str:
        time.sleep(0.01)
        return threading.current_thread().name

    assert set(ordered_map(names, range(4))) == set(ordered_map(names, range(4)))


def test_running_work_ends_before_the_caller_continues() -> None:
    running: list[int] = []

    def slow(i: int) -> int:
        running.append(i)
        time.sleep(0.05 if i else 0.0)
        running.remove(i)
        return i

    results = ordered_stream(slow, range(20))
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert running == []


def test_running_work_ends_after_ctrl_c_too(request: pytest.FixtureRequest) -> None:
    # where tests run in the background the shell makes Python ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    ended: list[int] = []

    def slow(i: int) -> None:
        if i == 0:
            _thread.interrupt_main()
            time.sleep(0.1)
        ended.append(i)

    with pytest.raises(KeyboardInterrupt):
        ordered_map(slow, range(2))
    assert 0 in ended


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own() -> None:
    ordered_map(abs, range(8))
    child = os.fork()
    if child == 0:
        os._exit(0 if ordered_map(abs, range(8)) == list(range(8)) else 1)
    assert os.waitpid(child, 0)[1] == 0


def exit_of_child(work: Callable[[], bool]) -> int:
    """0 where a forked process found it true; one that hangs is ended by its alarm."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if work() else 1)
    return os.waitpid(child, 0)[1]


#: a thread that is inside until an event is set, in a process whose BLAS has two threads
INSIDE = """
import os, signal, threading
from threadpoolctl import threadpool_info
from mercer._threads import _blas_libraries, blas_for

def now():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

def work():
    with blas_for(10):
        inside.set()
        leave.wait(20)
    outside.set()
    end.wait(20)

inside, leave, outside, end = (threading.Event() for _ in range(4))
_blas_libraries()
assert now() == {2}
other = threading.Thread(target=work)
other.start()
inside.wait(20)
"""
FORKED = """
child = os.fork()
if child == 0:
    signal.alarm(20)
    found = [now()]
    with blas_for(10):
        found.append(now())
    found.append(now())
    os._exit(0 if found == [{2}, {1}, {2}] else 1)
assert os.waitpid(child, 0)[1] == 0
assert now() == {1}
leave.set(), end.set(), other.join()
assert now() == {2}
"""
OVERLAPPING = """
with blas_for(10):
    leave.set(), outside.wait(20)
    assert now() == {1}
assert now() == {2}
with blas_for(10):
    assert now() == {1}
end.set(), other.join()
assert now() == {2}
"""


def run_with_two_blas_threads(script: str) -> None:
    two = {f"{library}_NUM_THREADS": "2" for library in ("OPENBLAS", "MKL", "OMP")}
    subprocess.run([sys.executable, "-c", script], env={**os.environ, **two}, check=True, timeout=120)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_forked_while_others_are_inside_has_all_threads_of_blas() -> None:
    run_with_two_blas_threads(INSIDE + FORKED)


def test_contexts_may_be_left_in_any_order() -> None:
    run_with_two_blas_threads(INSIDE + OVERLAPPING)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_waits_while_a_thread_is_entering(monkeypatch: pytest.MonkeyPatch) -> None:
    halfway, blas = threading.Event(), _threads._blas_libraries()

    def slowly() -> object:
        if threading.current_thread() is other:
            halfway.set()
            time.sleep(0.2)
        return blas

    def work() -> None:
        with blas_for(10):
            pass

    def in_child() -> bool:
        return ordered_map(abs, range(8)) == list(range(8))

    monkeypatch.setattr(_threads, "_blas_libraries", slowly)
    other = threading.Thread(target=work)
    other.start()
    halfway.wait(20)
    assert exit_of_child(in_child) == 0
    other.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.usefixtures("two_blas_threads")
def test_a_fork_inside_may_leave_the_context_in_both_processes() -> None:
    def left() -> bool:
        results.close()  # type: ignore[attr-defined]
        outside = blas_threads()
        with blas_for(10):
            return (outside, blas_threads()) == ({2}, {1})

    with bounded(1):
        results = ordered_stream(abs, range(8))
        next(results)
    assert exit_of_child(left) == 0
    assert left()
    assert blas_threads() == {2}


PROPERTY = """
import os, signal, sys, threading, types
import mercer._threads

module = types.ModuleType("mercer.example")
sys.modules["mercer.example"] = module
exec('''
import threading
from functools import cached_property

inside, leave = threading.Event(), threading.Event()

class Example:
    slow = False

    @cached_property
    def value(self):
        if self.slow:
            inside.set()
            leave.wait(20)
        return 7
''', vars(module))
held = module.Example()
held.slow = True
other = threading.Thread(target=lambda: held.value)
other.start()
module.inside.wait(20)
child = os.fork()
if child == 0:
    signal.alarm(10)
    os._exit(0 if module.Example().value == 7 else 1)
status = os.waitpid(child, 0)[1]
module.leave.set()
other.join()
assert status == 0, status
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_forked_while_a_thread_computes_a_property_computes_it_too() -> None:
    subprocess.run([sys.executable, "-c", PROPERTY], check=True, timeout=60)
