"""Passes on a cluster: the answer of threads, whatever the number of workers and whatever becomes of them."""

from __future__ import annotations

import functools
import operator
import os
import pickle
import signal
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from distributed import Client
from threadpoolctl import threadpool_info

from mercer import LogisticRegression
from mercer import _errors as errors
from mercer._errors import DataError, DecodingError, EmptyDataError, EngineError, PrecisionWarning
from mercer._threads import thread_count
from mercer._warn import warn
from mercer.data.sources.base import Chunk, Piece, PreparedSource, Source, SourceColumns
from mercer.data.sources.memory import MemorySource
from mercer.engines import dask as engine_on_dask
from mercer.engines import engine, fold, reduce
from mercer.engines.passes import Fold, Pass, Run, enter_run
from mercer.stats import ScatterMoments
from tests.engines._clusters import cluster_of
from tests.engines._notes import Notes
from tests.engines._summaries import column_sums, first_column

ROWS = np.random.default_rng(0).normal(size=(600, 3)) * [1.0, 1e3, 1e-3]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster_of(2, processes=False) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def processes() -> Iterator[Client]:
    with cluster_of(2, processes=True) as cluster, Client(cluster) as client:
        yield client


@dataclass(frozen=True)
class Made(Piece):
    """A piece whose rows are made from a number when it is read, after a function is called."""

    number: int
    happens: Any = None

    @property
    def name(self) -> str:
        return f"number {self.number}"

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        if self.happens is not None:
            self.happens(self.number, skipped)
        yield Chunk(np.random.default_rng(self.number).normal(size=(4, 3)))


class Making(Source):
    columns = SourceColumns(("a", "b", "c"))
    described = "rows made from numbers"

    def __init__(self, count: int, happens: Any = None) -> None:
        self.count, self.happens = count, happens
        self.asked, self.closed = 0, False

    def pieces(self) -> Iterator[Piece]:
        try:
            for number in range(self.count):
                self.asked += 1
                yield Made(number, self.happens)
        finally:
            self.closed = True


def of_chunk(chunk: Chunk) -> tuple[Any, Any, None]:
    return chunk.X, np.zeros(chunk.n_rows, dtype=np.int32), None


def moments(source: Source) -> ScatterMoments:
    return reduce(ScatterMoments.zero(1, 3), PreparedSource(source, of_chunk))


# The answer.


def test_any_number_of_workers_gives_identical_results_that_agree_with_threads() -> None:
    source = MemorySource(ROWS, rows=6)
    answers = []
    for workers in (1, 2, 3):
        with cluster_of(workers, processes=False) as cluster, Client(cluster) as client, engine(client):
            answers.append(moments(source))
    assert pickle.dumps(answers[0]) == pickle.dumps(answers[1]) == pickle.dumps(answers[2])
    local = moments(source)
    np.testing.assert_array_equal(answers[0].rows, local.rows)
    np.testing.assert_allclose(answers[0].mean, local.mean, rtol=1e-12)
    np.testing.assert_allclose(answers[0].covariance, local.covariance, rtol=1e-12)


def run_pass(cluster: engine_on_dask.Dask, summarise: Any, source: Source, run: Run) -> Any:
    """Run a pass on a cluster with options of its own."""
    current = Pass(Fold(summarise, operator.add), source, run, 0)
    cluster.fold(current)
    current.finish()
    return current.total.result


def test_rows_are_merged_in_their_order(client: Client) -> None:
    source = MemorySource(np.arange(40.0).reshape(40, 1), rows=1)
    cluster = engine_on_dask.Dask(client, fan_in=3, stretch=10)
    assert run_pass(cluster, first_column, source, Run()) == list(range(40))


def test_functions_of_a_mapped_source_are_applied_in_order(client: Client) -> None:
    source = MemorySource(ROWS, rows=100).map(functools.partial(times, 2.0)).map(functools.partial(plus, 1.0))
    with engine(client):
        np.testing.assert_allclose(fold(column_sums, source, operator.add), (2 * ROWS + 1).sum(axis=0), rtol=1e-12)


def times(factor: float, chunk: Chunk) -> Chunk:
    return chunk._replace(X=factor * chunk.X)


def plus(term: float, chunk: Chunk) -> Chunk:
    return chunk._replace(X=term + chunk.X)


@pytest.mark.parametrize("where", ["client", "processes"])
def test_warnings_of_workers_reach_the_caller(where: str, request: pytest.FixtureRequest) -> None:
    source = MemorySource(ROWS, rows=5).map(odd)
    with engine(request.getfixturevalue(where)), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fold(column_sums, source, operator.add)
    reported = [(each.category, str(each.message), Path(each.filename).name) for each in caught]
    assert reported.count((PrecisionWarning, "The rows are odd.", Path(__file__).name)) == 1
    assert reported.count((UserWarning, "Rows are odd.", Path(__file__).name)) == 1


def odd(chunk: Chunk) -> Chunk:
    warn("The rows are odd.", PrecisionWarning)
    warn("Rows are odd.")
    return chunk


def test_a_source_without_rows_is_rejected(client: Client) -> None:
    with engine(client), pytest.raises(EmptyDataError, match="no rows in rows made from numbers"):
        fold(column_sums, Making(0), operator.add)


# Reports.


def test_a_run_is_notified_of_every_piece_and_of_skipped_ones(client: Client) -> None:
    reported = list[tuple[int, int]]()
    run = Run(on_piece=lambda number, pieces: reported.append((number, pieces)))
    with engine(client), enter_run(run):
        for _ in range(2):
            fold(column_sums, Making(5, skip_odd), operator.add)
    assert reported == [(number, pieces) for number in (0, 1) for pieces in range(1, 6)]
    assert (run.passes, run.pieces, run.rows) == (2, 5, 20)
    assert run.skipped == 2 * ["a row of number 1", "a row of number 3"]


def skip_odd(number: int, skipped: list[str]) -> None:
    if number % 2:
        skipped.append(f"a row of number {number}")


def test_a_pass_resumes_after_the_stored_stretches(client: Client) -> None:
    cluster = engine_on_dask.Dask(client, stretch=4)
    notes, source, reported = Notes(), Making(60), list[int]()

    def stop_when_something_is_kept(number: int, pieces: int) -> None:
        if notes:
            raise KeyboardInterrupt

    expected = run_pass(cluster, column_sums, Making(60), Run())
    with pytest.raises(KeyboardInterrupt):
        run_pass(cluster, column_sums, source, Run(on_piece=stop_when_something_is_kept, journal=notes))
    kept = notes[0].pieces
    run = Run(on_piece=lambda number, pieces: reported.append(pieces), journal=notes)
    answer = run_pass(cluster, column_sums, Making(60), run)
    assert source.closed
    assert kept % 4 == 0
    assert 0 < kept < 60
    assert reported == list(range(kept + 1, 61))
    assert run.rows == 240
    np.testing.assert_array_equal(answer, expected)


def stop_at_twenty(number: int, pieces: int) -> None:
    if pieces == 20:
        raise KeyboardInterrupt


def test_an_interruption_leaves_no_task_behind(client: Client) -> None:
    with engine(client), enter_run(Run(on_piece=stop_at_twenty)), pytest.raises(KeyboardInterrupt):
        fold(column_sums, Making(100), operator.add)
    for _ in range(100):  # it hears of it a little later
        if not client.run_on_scheduler(tasks_wanted):
            return
        time.sleep(0.05)
    pytest.fail("tasks go on")


def tasks_wanted(dask_scheduler: Any) -> list[Any]:
    return [task.key for task in dask_scheduler.tasks.values() if task.who_wants]


# What is sent.


def test_few_pieces_are_under_way_at_once(client: Client) -> None:
    source = Making(60)
    most = list[int]()
    with engine(client), enter_run(Run(on_piece=lambda number, pieces: most.append(source.asked - pieces))):
        fold(column_sums, source, operator.add)
    assert 2 < max(most) <= 2 * engine_on_dask.TASKS_PER_THREAD


def test_many_pieces_are_few_tasks_by_their_numbers_alone() -> None:
    groups = [len(group) for group in engine_on_dask._groups(Making(50_000).pieces(), 0)]
    assert sum(groups) == 50_000
    assert len(groups) < 6_000
    assert groups[:1024] == [1] * 1024
    assert groups == sorted(groups[:-1]) + groups[-1:]
    done = sum(groups[:3000])
    later = engine_on_dask._groups(Making(50_000 - done).pieces(), done)
    assert [len(group) for group in later] == groups[3000:]


def test_rows_are_sent_one_piece_at_a_time() -> None:
    pieces = iter(MemorySource(ROWS, rows=100).pieces())
    assert [len(group) for group in engine_on_dask._groups(pieces, 50_000)] == [1] * 6


class Heavy:
    """Counts how often it came to a process."""

    arrived = 0

    def __init__(self, size: int) -> None:
        self.state = np.zeros(size)

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).arrived += 1
        self.__dict__.update(state)

    def __call__(self, chunk: Chunk) -> dict[int, int]:
        return {os.getpid(): type(self).arrived}


def most(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return {process: max(one.get(process, 0), other.get(process, 0)) for process in {*one, *other}}


def test_shared_arguments_are_sent_to_a_worker_once(processes: Client) -> None:
    with engine(processes):
        arrivals = fold(Heavy(1_000_000), Making(30), most)
    assert len(arrivals) == 2
    assert max(arrivals.values()) <= 2  # once, and by way of another worker


def test_a_task_keeps_to_one_thread(processes: Client) -> None:
    with engine(processes):
        assert fold(threads, Making(3), operator.or_) == {1}


def threads(chunk: Chunk) -> set[int]:
    return {thread_count(), *(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")}


# What goes wrong.


def kill_first(flag: Path, number: int, skipped: list[str]) -> None:
    """Kill the worker that is the first to read that piece for the second time."""
    if number == 7:
        calls = len(list(flag.iterdir()))
        (flag / str(calls)).touch()
        if calls == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_killed_during_a_fit_does_not_change_the_result(processes: Client, tmp_path: Path) -> None:
    def fitted(happens: Any) -> LogisticRegression:
        return LogisticRegression().fit(Making(20, happens).map(with_labels))

    with engine(processes):
        killed = fitted(functools.partial(kill_first, tmp_path))
        assert killed.plan_.passes >= 2
        assert len(list(tmp_path.iterdir())) == killed.plan_.passes + 1
        np.testing.assert_array_equal(killed.coef_, fitted(None).coef_)


def with_labels(chunk: Chunk) -> Chunk:
    return chunk._replace(y=(chunk.X @ [1.0, 2.0, 3.0] + chunk.X[:, 0] ** 2 > 1).astype(int))


@pytest.mark.slow
def test_a_piece_that_kills_workers_ends_the_fit() -> None:
    with cluster_of(2, processes=True) as cluster, Client(cluster) as client, engine(client):
        cluster.scheduler.allowed_failures = 1
        with pytest.raises(EngineError, match="A part of rows made from numbers was given up after 2 workers had died"):
            fold(column_sums, Making(3, kill), operator.add)


def kill(number: int, skipped: list[str]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_error_of_a_worker_is_raised_unchanged(processes: Client) -> None:
    source = Making(10, fail)
    with engine(processes), pytest.raises(DataError, match="number 3 is not valid"):
        fold(column_sums, source, operator.add)
    assert source.closed


def fail(number: int, skipped: list[str]) -> None:
    if number == 3:
        raise DataError("number 3 is not valid")


@pytest.mark.parametrize(
    "kind",
    [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BaseException)],
    ids=lambda kind: kind.__name__,
)
def test_errors_can_be_sent_between_processes(kind: type[BaseException]) -> None:
    given = ("utf-8", b"\xff", 0, 1, "wrong") if kind is DecodingError else ("a sentence",)
    error = kind(*given)
    error.beside = 3
    arrived = pickle.loads(pickle.dumps(error))
    assert (type(arrived), str(arrived), arrived.beside) == (kind, str(error), 3)


def test_an_unreachable_scheduler_is_named() -> None:
    with (
        pytest.raises(EngineError, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"),
        engine_on_dask.connect("tcp://127.0.0.1:9", timeout=0.3),
    ):
        pass


@pytest.mark.parametrize("where", ["spark", 3, "8786"])
def test_invalid_engines_are_rejected(where: Any) -> None:
    with pytest.raises(EngineError, match=r'"threads", "dask", the address .* dask.distributed.Client'), engine(where):
        pass


def test_an_asynchronous_client_is_rejected() -> None:
    with pytest.raises(EngineError, match="without asynchronous"):
        engine_on_dask.Dask(SimpleNamespace(asynchronous=True))


def test_a_cluster_without_workers_is_reported() -> None:
    unmanned = cluster_of(0, processes=False)
    with unmanned, Client(unmanned) as client, pytest.raises(EngineError, match="no workers for"):
        run_pass(engine_on_dask.Dask(client, worker_timeout=0.3), column_sums, Making(3), Run())


# Which cluster.


def test_the_current_client_is_used(client: Client) -> None:
    with client.as_current(), engine_on_dask.connect("dask") as found:
        assert found.client is client
    assert client.status == "running"


def test_the_plan_states_that_a_fit_ran_on_a_cluster(client: Client) -> None:
    source = MemorySource(ROWS, y=ROWS[:, 0] > 0, rows=200)
    with engine(client):
        spread = LogisticRegression().fit(source)
    assert spread.plan_.cluster == "a Dask cluster of 2 threads"
    assert str(spread.plan_).endswith("on a Dask cluster of 2 threads")
    assert LogisticRegression().fit(source).plan_.cluster is None


def test_a_connection_to_an_address_is_opened_and_closed(processes: Client) -> None:
    with engine_on_dask.connect(processes.scheduler.address) as found:
        assert found.client is not processes
    assert found.client.status == "closed"
    assert processes.status == "running"


@pytest.mark.slow
def test_a_missing_cluster_is_started_and_closed_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_on_dask, "current_client", lambda: None)
    with engine("dask", threads=1):
        [process] = {*fold(processes_of, Making(4), operator.or_)}
    assert process != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def processes_of(chunk: Chunk) -> set[int]:
    return {os.getpid()}
