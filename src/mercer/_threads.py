"""The ordered thread pool that runs compiled loops without the GIL over blocks of rows.

The blocks depend on their size only, and results are returned in the order of the blocks, so that no result depends
on the number of threads.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache, cached_property
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")

_limit: ContextVar[int | None] = ContextVar("mercer_threads", default=None)
_inside_pool: ContextVar[bool] = ContextVar("mercer_inside_pool", default=False)


def available_cores() -> int:
    """Return the number of cores that this process may use: its CPU affinity, not the cores of the machine."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no affinity
        return os.cpu_count() or 1


def thread_count() -> int:
    """Return the number of threads to use: all cores, or fewer by `engine` or OMP_NUM_THREADS (set by joblib)."""
    limits = [available_cores()]
    if (own := _limit.get()) is not None:
        limits.append(own)
    # OpenMP allows a number for each level of nesting, beginning with the outermost
    if (inherited := os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()).isdigit():
        limits.append(max(1, int(inherited)))
    return 1 if _inside_pool.get() else min(limits)


@contextmanager
def bounded(threads: int | None) -> Iterator[None]:
    """Limit the number of threads inside the `with` block."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}; leave it out to use all cores.")
    token = _limit.set(threads)
    try:
        yield
    finally:
        _limit.reset(token)


class _OneBlasThread:
    """A context that keeps BLAS on one thread while any thread is inside it.

    threadpoolctl restores the limit that it found, so that the later of two overlapping uses would keep the limit of
    the other one forever. Therefore the first use sets the limit and the last use restores it.
    """

    def __init__(self) -> None:
        # reentrant, because the garbage collector may end another use in the middle of this thread's own
        self._lock, self._inside = threading.RLock(), 0
        #: libraries with more than one thread, and how many each had before the first use
        self._limited: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                # not by threadpoolctl's `limit`, which describes all libraries and takes 0.05 ms
                threads = [(library, library.get_num_threads()) for library in _blas_libraries()]
                self._limited = [(library, number) for library, number in threads if number != 1]
                for library, _ in self._limited:
                    library.set_num_threads(1)
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            if self._inside == 1:
                self._restore()
            self._inside = max(0, self._inside - 1)  # a use that began in the parent may end in the child

    def _restore(self) -> None:
        if not self._limited:
            return
        _release_blas_control()  # the last use need not be in the thread of the first
        for library, number in self._limited:
            library.set_num_threads(number)
        _release_blas_control()

    def before_fork(self) -> None:
        """Wait until no thread is entering or leaving."""
        self._lock.acquire()

    def after_fork(self) -> None:
        self._lock.release()

    def in_child(self) -> None:
        """Leave in place of the threads inside, which do not exist in the child."""
        self._lock = threading.RLock()
        if self._inside:
            self._inside = 0
            self._restore()


def _release_blas_control() -> None:
    """Allow any thread to set the threads of OpenBLAS, which threadpoolctl 3.8 reserves for one living thread."""
    for library in _blas_libraries():
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@cache
def _blas_libraries() -> tuple[Any, ...]:
    """Return threadpoolctl's controllers of the loaded BLAS libraries, which take 3 ms to find."""
    import scipy.linalg  # noqa: F401  (loads SciPy's BLAS, so that it is found)
    from threadpoolctl import ThreadpoolController

    return tuple(each for each in ThreadpoolController().lib_controllers if each.user_api == "blas")


_one_blas_thread = _OneBlasThread()

#: columns from which the factorization of a square matrix is faster with several threads
MIN_COLUMNS_FOR_THREADS = 500


def blas_for(columns: int) -> AbstractContextManager[None]:
    """Return the context of BLAS threads for the factorization of a square matrix: one thread if it is small.

    More threads would gain nothing and continue to spin: a fit that followed took a third longer.
    """
    return _one_blas_thread if columns < MIN_COLUMNS_FOR_THREADS else nullcontext()


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Return consecutive slices of `size` rows (the last one may be shorter)."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return a pool for all calls; starting its threads takes as long as a pass over some thousand rows."""
    return ThreadPoolExecutor(threads, thread_name_prefix="mercer")


def _renew_locks_of_properties() -> None:
    """Renew the locks of cached properties, which a thread of the parent may hold (before Python 3.12)."""
    for module in [module_ for name, module_ in sys.modules.items() if name.partition(".")[0] == "mercer"]:
        for each in [module_ for module_ in vars(module).values() if isinstance(module_, type)]:
            for value in vars(each).values():
                if isinstance(value, cached_property):
                    value.lock = threading.RLock()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):  # a child does not have the threads of its parent
    os.register_at_fork(after_in_child=_pool.cache_clear)
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=_renew_locks_of_properties)
    os.register_at_fork(
        before=_one_blas_thread.before_fork,
        after_in_parent=_one_blas_thread.after_fork,
        after_in_child=_one_blas_thread.in_child,
    )


def ordered_stream(function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """Run `map(function, items)` on `thread_count()` threads, a few items ahead, with one BLAS thread each.

    At most one item waits for a thread, so that few results are in memory at once, and items are read as they are
    needed. Nested calls inside a worker run serially, so that the cores are not oversubscribed.
    """
    most = len(items) if isinstance(items, Sized) else None
    threads = 1 if most == 1 else thread_count() if most is None else min(thread_count(), most)
    with _one_blas_thread:
        if threads <= 1:
            yield from map(function, items)
        else:
            yield from _on_threads(function, items, threads)


def _on_threads(function: Callable[[A], B], items: Iterable[A], threads: int) -> Iterator[B]:
    def work(item: A) -> B:
        _inside_pool.set(True)
        return function(item)

    pool = _pool(threads)
    pending: deque[Future[B]] = deque()
    try:
        for item in items:
            # in a copy of the caller's context, so that its limits and NumPy's error state apply in the worker
            pending.append(pool.submit(copy_context().run, work, item))
            if len(pending) > threads + 1:
                yield _first(pending)
        while pending:
            yield _first(pending)
    finally:
        for future in pending:
            future.cancel()
        wait(pending)  # running items still read the caller's arrays


def _first(pending: deque[Future[B]]) -> B:
    """Return the next result; if Ctrl-C interrupts it, its future stays among those to wait for."""
    result = pending[0].result()
    pending.popleft()
    return result


def ordered_map(function: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """Return `[function(item) for item in items]`, computed as by `ordered_stream`."""
    return list(ordered_stream(function, items))
