"""The one ordered pool that runs compiled, GIL-free loops over blocks of rows.

Blocks are cut by their size alone and results come back in the order of the blocks, so that no result
depends on how many threads there are.
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
    """Cores this process may run on: its CPU affinity, not what the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no affinity to ask for
        return os.cpu_count() or 1


def thread_count() -> int:
    """Threads to use now: all cores, or fewer by `engine` or OMP_NUM_THREADS (which joblib sets in its workers)."""
    limits = [available_cores()]
    if (own := _limit.get()) is not None:
        limits.append(own)
    # OpenMP allows one number for each level of nesting: the first is that of the outermost
    if (inherited := os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()).isdigit():
        limits.append(max(1, int(inherited)))
    return 1 if _inside_pool.get() else min(limits)


@contextmanager
def bounded(threads: int | None) -> Iterator[None]:
    """Bound the number of threads inside the `with` block."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}; leave it out to use every core.")
    token = _limit.set(threads)
    try:
        yield
    finally:
        _limit.reset(token)


class _OneBlasThread:
    """Keeps BLAS on one thread while anyone is inside.

    threadpoolctl restores the limit it found, so that of two overlapping uses the one to leave last would leave the
    other's limit behind for good: the first to enter sets it, the last to leave restores it.
    """

    def __init__(self) -> None:
        # reentrant: the garbage collector may end another use while this thread is in the middle of its own
        self._lock, self._inside = threading.RLock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _blas().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            if self._inside == 1:
                self._restore()
            self._inside = max(0, self._inside - 1)  # who entered in the parent may leave in the child

    def _restore(self) -> None:
        _let_any_thread_set()  # the last to leave need not be the thread that entered first
        self._limit.restore_original_limits()
        _let_any_thread_set()

    def before_fork(self) -> None:
        """Let nobody be halfway in or out."""
        self._lock.acquire()

    def after_fork(self) -> None:
        self._lock.release()

    def in_child(self) -> None:
        """None of the threads that were inside is left to leave."""
        self._lock = threading.RLock()
        if self._inside:
            self._inside = 0
            self._restore()


def _let_any_thread_set() -> None:
    """threadpoolctl 3.8 lets one thread set the number of OpenBLAS's, and does nothing for others while it lives."""
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@cache
def _blas() -> Any:
    """Handle on the loaded BLAS libraries, made once: looking for them takes 3 ms, using the handle 0.05 ms."""
    import scipy.linalg  # noqa: F401  (so that SciPy's BLAS is loaded, hence found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_one_blas_thread = _OneBlasThread()

#: columns from which on the factorisation of a square matrix gains by threads
WORTH_THREADS = 500


def blas_for(columns: int) -> AbstractContextManager[None]:
    """BLAS threads to factorise a square matrix with: one for a small one.

    More would gain nothing, and go on spinning for a while: a fit that came next took a third longer.
    """
    return _one_blas_thread if columns < WORTH_THREADS else nullcontext()


def row_blocks(n_rows: int, size: int) -> list[slice]:
    """Cut `n_rows` into consecutive slices of `size` rows (the last one shorter)."""
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """A pool that is kept for the next call: starting its threads takes as long as a pass over some thousand rows."""
    return ThreadPoolExecutor(threads, thread_name_prefix="mercer")


def _renew_locks_of_properties() -> None:
    """Before Python 3.12, one lock for all objects guards each cached property; a thread of the parent may hold it."""
    for module in [found for name, found in sys.modules.items() if name.partition(".")[0] == "mercer"]:
        for each in [found for found in vars(module).values() if isinstance(found, type)]:
            for value in vars(each).values():
                if isinstance(value, cached_property):
                    value.lock = threading.RLock()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=_renew_locks_of_properties)
    os.register_at_fork(
        before=_one_blas_thread.before_fork,
        after_in_parent=_one_blas_thread.after_fork,
        after_in_child=_one_blas_thread.in_child,
    )


def ordered_stream(function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """`map(function, items)` run on `thread_count()` threads, a few items ahead; BLAS stays on one thread each.

    No more than one item waits for a thread, so that few results are in memory at once; items are asked for as they
    are needed. Work inside a worker runs serially, so nesting cannot oversubscribe the cores.
    """
    threads = thread_count()
    if isinstance(items, Sized):
        threads = min(threads, len(items))
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
            # each in a copy of the caller's context: its limits and NumPy's error state hold in the worker too
            pending.append(pool.submit(copy_context().run, work, item))
            if len(pending) > threads + 1:
                yield _first(pending)
        while pending:
            yield _first(pending)
    finally:
        for future in pending:
            future.cancel()
        wait(pending)  # what has begun reads the caller's arrays


def _first(pending: deque[Future[B]]) -> B:
    """The result that is next; its future stays among those to wait for if Ctrl-C comes first."""
    result = pending[0].result()
    pending.popleft()
    return result


def ordered_map(function: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """`[function(item) for item in items]`, run like `ordered_stream`."""
    return list(ordered_stream(function, items))
