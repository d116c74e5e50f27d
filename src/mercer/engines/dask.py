"""Passes on a Dask cluster: pieces are summarised by the workers, and the summaries are merged there."""

from __future__ import annotations

import itertools
import queue
import uuid
from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, cast

from mercer._errors import EngineError
from mercer._optional import require
from mercer._threads import bounded, ordered_stream, thread_count
from mercer._warn import distinct, kept_warnings, warn
from mercer.data.sources.base import Chunk, Piece
from mercer.data.sources.collections import Collection, Partition, current_client
from mercer.data.sources.memory import HeldPiece
from mercer.engines.passes import Fold, Pass, PassPart, join_parts
from mercer.report.wording import format_count

#: seconds to wait for an answer of the scheduler
CONNECT_TIMEOUT = 10.0
#: seconds to wait for the first worker of a cluster
WORKER_TIMEOUT = 60.0
#: summaries that one task merges
FAN_IN = 8
#: tasks whose merged summary is fetched, and stored in a checkpoint
STRETCH = 64
#: a task reads one more piece for each multiple of this number, which bounds the number of tasks
SINGLE_PIECES = 1024
#: tasks per thread of the cluster that wait or run, so that no thread is idle while the next are sent
TASKS_PER_THREAD = 3
#: size in bytes from which the functions of a fold are sent once, and not with each task
LARGE_FOLD = 1 << 16
#: number of times that Dask repeats a failed task, e.g. after a failure of the file system
RETRIES = 2


@contextmanager
def connect(where: Any, *, timeout: float = CONNECT_TIMEOUT) -> Iterator[Dask]:
    """Yield the engine for a client, an address or "dask"; clients and clusters opened here are closed at the end.

    `timeout` is the time in seconds to wait for an answer of the scheduler at an address.
    """
    if isinstance(where, str) and where != "dask" and "://" not in where:
        raise EngineError(_UNKNOWN_ENGINE.format(where))
    distributed = _distributed()
    if isinstance(where, distributed.Client):
        yield Dask(where)
    elif not isinstance(where, str):
        raise EngineError(_UNKNOWN_ENGINE.format(where))
    elif where != "dask":
        with _open_client(where, timeout) as client:
            yield Dask(client)
    elif (current := current_client()) is not None:
        yield Dask(current)
    else:
        local = distributed.LocalCluster(n_workers=thread_count(), threads_per_worker=1, processes=True)
        with local, distributed.Client(local) as client:
            yield Dask(client)


_UNKNOWN_ENGINE = (
    'Fits cannot run on {!r}: give "threads", "dask", the address of a Dask scheduler ("tcp://host:8786") or a '
    "dask.distributed.Client."
)


def _distributed() -> Any:
    return require("distributed", purpose="To spread fits over a cluster", extra="dask")


def _open_client(address: str, timeout: float) -> Any:
    try:
        return _distributed().Client(address, timeout=timeout)
    except (OSError, ValueError) as error:
        raise EngineError(
            f"No Dask scheduler answers at {address!r} ({error}): check that one runs there and that this machine can "
            "reach it, or omit the engine to fit on this machine."
        ) from None


class Dask:
    """A cluster: pieces are tasks for its workers, and merging is a tree of tasks in the order of the pieces.

    The tree depends on the pieces only, so that the result is identical for any number of workers. Dask does the
    scheduling, retries and transport. Data stay where they are, except for those that only this process can read, which
    are sent with their task.

    Parameters
    ----------
    client : dask.distributed.Client
        The client of the cluster.
    fan_in : int
        Number of summaries that one task merges.
    stretch : int
        Number of tasks whose merged summary is fetched, and stored in a checkpoint.
    worker_timeout : float
        Seconds to wait for the first worker.
    """

    def __init__(
        self, client: Any, *, fan_in: int = FAN_IN, stretch: int = STRETCH, worker_timeout: float = WORKER_TIMEOUT
    ) -> None:
        if client.asynchronous:
            raise EngineError("Fits wait for their passes: give a Client created without asynchronous=True.")
        self.client, self.fan_in, self.stretch, self.worker_timeout = client, fan_in, stretch, worker_timeout

    @property
    def described(self) -> str:
        """See `Engine.described`; the number of threads may change."""
        return f"a Dask cluster of {format_count(sum(self.client.nthreads().values()), 'thread')}"

    def fold(self, current: Pass) -> None:
        """See `Engine.fold`."""
        import dask

        # large task graphs are intended: they contain rows of this process
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}), current.pieces() as pieces:
            _PassTasks(self, current).run(pieces)


class _PassTasks:
    """The tasks of one pass."""

    def __init__(self, engine: Dask, current: Pass) -> None:
        self._engine, self._client, self._pass = engine, engine.client, current
        # the dashboard shows the part before the first dash
        self._leaf, self._node = (
            f"mercer_{what}_{current.number}-{uuid.uuid4().hex[:8]}" for what in ("pass", "merge")
        )
        self._numbers = itertools.count()
        self._fold = self._send_fold(current.fold)
        #: number of pieces of each task whose end was not yet processed
        self._pieces: dict[Any, int] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        #: tasks of the current stretch
        self._stretch: list[Any] = []
        #: merged results of full stretches
        self._stretches: deque[Any] = deque()
        self._most_tasks = 0
        #: types and messages of warnings that were issued
        self._warned: set[tuple[type[Warning], str]] = set()

    def run(self, pieces: Iterator[Piece]) -> None:
        try:
            for leaf, count in self._submit_leaves(pieces):
                self._pieces[leaf] = count
                leaf.add_done_callback(self._done.put)
                self._stretch.append(leaf)
                if len(self._stretch) == 1:  # updated regularly, because workers come and go
                    self._most_tasks = TASKS_PER_THREAD * self._threads()
                if len(self._stretch) == self._engine.stretch:
                    self._end_stretch()
                self._wait(until=self._most_tasks)
            self._end_stretch()
            self._wait(until=0)
            while self._stretches:
                self._add()
        except BaseException:
            with suppress(Exception):  # the cluster may be gone
                self._client.cancel([*self._pieces, *self._stretch, *self._stretches])
            raise

    def _submit_leaves(self, pieces: Iterator[Piece]) -> Iterator[tuple[Any, int]]:
        """Yield tasks and the number of pieces of each."""
        if isinstance(self._pass.source, Collection):
            import dask

            # a single graph, so that shared inputs of partitions are computed once and released after use
            summary = dask.delayed(_summarise_partition, pure=False)
            tasks = [
                summary(self._fold, piece.place, piece.target, *piece.parts, dask_key_name=self._key(self._leaf))
                for piece in cast(Iterator[Partition], pieces)
            ]
            yield from zip(self._client.compute(tasks, retries=RETRIES), itertools.repeat(1))
        else:
            for group in _groups(pieces, self._pass.total.pieces):
                yield self._submit(self._leaf, _summarise_pieces, self._fold, group), len(group)

    def _end_stretch(self) -> None:
        nodes, self._stretch, fan_in = self._stretch, [], self._engine.fan_in
        while len(nodes) > 1:
            nodes = [
                self._submit(self._node, _merge_reports, self._pass.fold.merge, *batch) if len(batch) > 1 else batch[0]
                for batch in (nodes[start : start + fan_in] for start in range(0, len(nodes), fan_in))
            ]
        self._stretches.extend(nodes)

    def _submit(self, name: str, function: Any, *given: Any) -> Any:
        return self._client.submit(function, *given, key=self._key(name), retries=RETRIES)

    def _key(self, name: str) -> tuple[str, int]:
        return name, next(self._numbers)

    def _send_fold(self, fold: Fold[Any]) -> Any:
        """Return the fold, or a task that returns it if it is large; Dask repeats it if its worker is lost."""
        from distributed.protocol import pickle

        packed = pickle.dumps(fold)
        return fold if len(packed) < LARGE_FOLD else self._submit(f"{self._leaf}-needs", pickle.loads, packed)

    def _threads(self) -> int:
        """Return the number of threads of the cluster, after waiting for its first worker."""
        try:
            self._client.nthreads() or self._client.wait_for_workers(1, timeout=self._engine.worker_timeout)
        except TimeoutError:
            raise EngineError(
                f"The Dask cluster has had no workers for {self._engine.worker_timeout:.0f} seconds: start some, or "
                "omit the engine to fit on this machine."
            ) from None
        return sum(self._client.nthreads().values())

    def _wait(self, until: int) -> None:
        """Wait until at most this number of tasks is unfinished, and add finished stretches."""
        while len(self._pieces) > until:
            leaf = self._next()
            if leaf.status != "finished":
                self._result(leaf)
            self._pass.report_progress(self._pieces.pop(leaf))
            while self._stretches and self._stretches[0].done():
                self._add()

    def _next(self) -> Any:
        while True:
            try:
                return self._done.get(timeout=self._engine.worker_timeout)
            except queue.Empty:
                self._threads()  # raises an error if there are no workers left

    def _add(self) -> None:
        report = self._result(self._stretches[0])
        self._pass.add(report.part)
        for each in report.warnings:
            if (sentence := (type(each), str(each))) not in self._warned:
                self._warned.add(sentence)
                warn(each)
        self._stretches.popleft()

    def _result(self, future: Any) -> Report:
        from distributed import KilledWorker

        try:
            report: Report = future.result()
            return report
        except KilledWorker as error:
            raise EngineError(
                f"A part of {self._pass.source.described} was given up after {error.allowed_failures + 1} workers "
                "had died, usually for lack of memory: give each more memory, or fewer threads."
            ) from error
        except CancelledError as error:
            raise EngineError(f"The Dask cluster has given up a pass before its end: {error}") from error


def _groups(pieces: Iterator[Piece], number: int) -> Iterator[list[Piece]]:
    """Yield the pieces of each task, which depend on their number only; rows sent with a task are one piece."""
    for first in pieces:
        more = 0 if isinstance(first, HeldPiece) else number // SINGLE_PIECES
        group = [first, *itertools.islice(pieces, more)]
        number += len(group)
        yield group


class Report(NamedTuple):
    """The result of some pieces, and the warnings, which the waiting process issues."""

    part: PassPart
    warnings: tuple[Warning, ...]


def _summarise_pieces(fold: Fold[Any], pieces: list[Piece]) -> Report:
    with bounded(1), kept_warnings() as kept:  # other tasks run on the other threads of the worker
        part = join_parts(fold.merge, *ordered_stream(fold.summarise_piece, pieces))
    return Report(part, distinct(kept))


def _summarise_partition(fold: Fold[Any], place: str, target: str | None, *parts: Any) -> Report:
    return _summarise_pieces(fold, [Partition(Chunk(*parts), place, target)])


def _merge_reports(merge: Any, *reports: Report) -> Report:
    with bounded(1), kept_warnings() as kept:
        part = join_parts(merge, *(report.part for report in reports))
    return Report(part, distinct([*itertools.chain(*(report.warnings for report in reports)), *kept]))
