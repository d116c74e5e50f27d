"""One pool, ordered results, and no more threads than allowed."""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections.abc import Iterator

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
    """The tests run with one, from which nothing could be seen."""
    with threadpool_limits(2, user_api="blas"):
        yield


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blocks_cover_all_rows_once() -> None:
    assert row_blocks(10, 4) == [slice(0, 4), slice(4, 8), slice(8, 10)]
    assert row_blocks(0, 4) == []


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_come_in_order_whoever_is_first(threads: int) -> None:
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


def test_what_has_begun_ends_before_the_caller_goes_on() -> None:
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


def test_what_has_begun_ends_after_ctrl_c_too() -> None:
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
