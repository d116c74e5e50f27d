"""Passes on a Dask cluster: pieces are summarised by whoever can read them, and the summaries merged where they lie."""

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
from mercer.engines.passes import Fold, Pass, PassPart, joined
from mercer.report.wording import counted

#: seconds after which a scheduler counts as out of reach, and a cluster as one without workers
REACHED, MANNED = 10.0, 60.0
#: summaries that one task merges, and tasks whose summary comes here as one: what a checkpoint is made of
FAN_IN, STRETCH = 8, 64
#: pieces from which on a task reads two of them, from twice as many on three: tens of thousands are few tasks still
ONE_EACH = 1024
#: tasks for each thread of the cluster that wait or run: enough that none is idle while the next are sent
AHEAD = 3
#: bytes from which on what all tasks need is sent once, and not with each of them
LARGE = 1 << 16
#: times that Dask tries a task again that failed: a file system may be back by then
RETRIES = 2


@contextmanager
def connected(where: Any) -> Iterator[Dask]:
    """The engine on the cluster that is meant; what is opened for it is closed after."""
    if isinstance(where, str) and where != "dask" and "://" not in where:
        raise EngineError(_NONE_SUCH.format(where))
    distributed = _distributed()
    if isinstance(where, distributed.Client):
        yield Dask(where)
    elif not isinstance(where, str):
        raise EngineError(_NONE_SUCH.format(where))
    elif where != "dask":
        with _client_of(where) as client:
            yield Dask(client)
    elif (current := current_client()) is not None:
        yield Dask(current)
    else:
        local = distributed.LocalCluster(n_workers=thread_count(), threads_per_worker=1, processes=True)
        with local, distributed.Client(local) as client:
            yield Dask(client)


_NONE_SUCH = (
    'Fits cannot run on {!r}: say "threads", "dask", the address of a Dask scheduler ("tcp://host:8786") or give a '
    "dask.distributed.Client."
)


def _distributed() -> Any:
    return require("distributed", purpose="To spread fits over a cluster", extra="dask")


def _client_of(address: str) -> Any:
    try:
        return _distributed().Client(address, timeout=REACHED)
    except (OSError, ValueError) as error:
        raise EngineError(
            f"No Dask scheduler answers at {address!r} ({error}): see that one runs there and that this machine may "
            "reach it, or leave the engine out to fit here."
        ) from None


class Dask:
    """Pieces are spread over the workers of a cluster as tasks; merging is a tree of tasks in the order of the pieces.

    What is merged with what depends on the pieces alone, so that the result is the same to the last bit for any number
    of workers. Scheduling, retries and transport are Dask's: data stay where they are, except for those that only this
    process can read, which travel with their task.
    """

    def __init__(self, client: Any) -> None:
        if client.asynchronous:
            raise EngineError("Fits wait for their passes: give a Client that was made without asynchronous=True.")
        self._client = client

    @property
    def described(self) -> str:
        """See `Engine.described`; workers may come and go."""
        return f"a Dask cluster of {counted(sum(self._client.nthreads().values()), 'thread')}"

    def fold(self, going: Pass) -> None:
        """See `Engine.fold`."""
        import dask

        # rows that travel are meant to
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}), going.pieces() as pieces:
            _SpreadPieces(self._client, going).make(pieces)


class _SpreadPieces:
    """The tasks of one pass."""

    def __init__(self, client: Any, going: Pass) -> None:
        self._client, self._going = client, going
        # the dashboard shows what stands before the first dash
        self._leaf, self._node = (f"mercer_{what}_{going.number}-{uuid.uuid4().hex[:8]}" for what in ("pass", "merge"))
        self._numbers = itertools.count()
        self._fold = self._sent(going.fold)
        #: pieces of each task that is not done, or not seen to be
        self._pieces: dict[Any, int] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        #: tasks of the stretch that is not full, and what full ones are merged to
        self._stretch: list[Any] = []
        self._stretches: deque[Any] = deque()
        self._ahead = 0
        #: types and sentences of warnings that were passed on
        self._warned: set[tuple[type[Warning], str]] = set()

    def make(self, pieces: Iterator[Piece]) -> None:
        try:
            for leaf, count in self._leaves(pieces):
                self._pieces[leaf] = count
                leaf.add_done_callback(self._done.put)
                self._stretch.append(leaf)
                if len(self._stretch) == 1:  # now and then: workers come and go
                    self._ahead = AHEAD * self._threads()
                if len(self._stretch) == STRETCH:
                    self._end_stretch()
                self._wait(until=self._ahead)
            self._end_stretch()
            self._wait(until=0)
            while self._stretches:
                self._add()
        except BaseException:
            with suppress(Exception):  # of a cluster that is gone
                self._client.cancel([*self._pieces, *self._stretch, *self._stretches])
            raise

    # Tasks.

    def _leaves(self, pieces: Iterator[Piece]) -> Iterator[tuple[Any, int]]:
        """A task for a piece or several, and how many they are."""
        if isinstance(self._going.source, Collection):
            import dask

            # one graph, so that what several partitions are made of is made once, and each is let go when it was read
            summary = dask.delayed(_of_partition, pure=False)
            tasks = [
                summary(self._fold, piece.place, piece.target, *piece.parts, dask_key_name=self._key(self._leaf))
                for piece in cast(Iterator[Partition], pieces)
            ]
            yield from zip(self._client.compute(tasks, retries=RETRIES), itertools.repeat(1))
        else:
            for group in _groups(pieces, self._going.total.pieces):
                yield self._submit(self._leaf, _of_pieces, self._fold, group), len(group)

    def _end_stretch(self) -> None:
        nodes, self._stretch = self._stretch, []
        while len(nodes) > 1:
            nodes = [
                self._submit(self._node, _merged, self._going.fold.merge, *batch) if len(batch) > 1 else batch[0]
                for batch in (nodes[start : start + FAN_IN] for start in range(0, len(nodes), FAN_IN))
            ]
        self._stretches.extend(nodes)

    def _submit(self, name: str, function: Any, *given: Any) -> Any:
        return self._client.submit(function, *given, key=self._key(name), retries=RETRIES)

    def _key(self, name: str) -> tuple[str, int]:
        return name, next(self._numbers)

    def _sent(self, fold: Fold[Any]) -> Any:
        """What all tasks need: a task of its own if it is large, which Dask makes again if a worker is lost with it."""
        from distributed.protocol import pickle

        packed = pickle.dumps(fold)
        return fold if len(packed) < LARGE else self._submit(f"{self._leaf}-needs", pickle.loads, packed)

    # Results.

    def _threads(self) -> int:
        """How many tasks the cluster runs at once; a cluster that grows with its tasks may have to begin first."""
        try:
            self._client.nthreads() or self._client.wait_for_workers(1, timeout=MANNED)
        except TimeoutError:
            raise EngineError(
                f"The Dask cluster has had no workers for {MANNED:.0f} seconds: start some, or leave the engine out to "
                "fit here."
            ) from None
        return sum(self._client.nthreads().values())

    def _wait(self, until: int) -> None:
        """Until no more tasks than that are to be done."""
        while len(self._pieces) > until:
            leaf = self._next()
            if leaf.status != "finished":
                self._result(leaf)
            self._going.tell(self._pieces.pop(leaf))
            while self._stretches and self._stretches[0].done():
                self._add()

    def _next(self) -> Any:
        while True:
            try:
                return self._done.get(timeout=MANNED)
            except queue.Empty:
                self._threads()  # or there are none left

    def _add(self) -> None:
        report = self._result(self._stretches[0])
        self._going.add(report.part)
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
                f"A part of {self._going.source.described} was given up after {error.allowed_failures + 1} workers had "
                "died over it, mostly for want of memory: give each more of that, or fewer threads."
            ) from error
        except CancelledError as error:
            raise EngineError(f"The Dask cluster has given up a pass before its end: {error}") from error


def _groups(pieces: Iterator[Piece], number: int) -> Iterator[list[Piece]]:
    """Pieces that one task reads, by their number alone; rows that travel with their task travel alone."""
    for first in pieces:
        more = 0 if isinstance(first, HeldPiece) else number // ONE_EACH
        group = [first, *itertools.islice(pieces, more)]
        number += len(group)
        yield group


# What runs on workers.


class Report(NamedTuple):
    """What came of some pieces, and the warnings on the way, which are for the process that waits."""

    part: PassPart
    warnings: tuple[Warning, ...]


def _of_pieces(fold: Fold[Any], pieces: list[Piece]) -> Report:
    with bounded(1), kept_warnings() as kept:  # as many tasks as a worker has threads run beside this one
        part = joined(fold.merge, *ordered_stream(fold.of_piece, pieces))
    return Report(part, distinct(kept))


def _of_partition(fold: Fold[Any], place: str, target: str | None, *parts: Any) -> Report:
    return _of_pieces(fold, [Partition(Chunk(*parts), place, target)])


def _merged(merge: Any, *reports: Report) -> Report:
    with bounded(1), kept_warnings() as kept:
        part = joined(merge, *(report.part for report in reports))
    return Report(part, distinct([*itertools.chain(*(report.warnings for report in reports)), *kept]))
