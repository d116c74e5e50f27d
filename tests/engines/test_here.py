"""Tests of passes on threads: concurrency, and the number of pieces in memory at once."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from mercer.data.sources.base import Chunk, Piece, Source, SourceColumns
from mercer.data.sources.memory import HeldPiece, MemorySource
from mercer.engines import engine, fold
from tests.engines._summaries import column_sums

pytestmark = pytest.mark.usefixtures("four_cores")

X = np.arange(60.0).reshape(60, 1)


class Sequential(Source):
    """Rows that only the requesting thread can read."""

    columns = SourceColumns(("a",))
    described = "a stream"

    def __init__(self) -> None:
        self.given = self.done = self.most = 0
        self.lock = threading.Lock()

    def pieces(self) -> Iterator[Piece]:
        for row in range(len(X)):
            with self.lock:
                self.given += 1
                self.most = max(self.most, self.given - self.done)
            yield HeldPiece(Chunk(X[row : row + 1]), f"row {row}")

    def total(self, chunk: Chunk) -> float:
        return float(chunk.X.sum())

    def merged(self, one: float, other: float) -> float:
        with self.lock:
            self.done += 1
        return one + other


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_few_pieces_are_in_memory_at_once(threads: int) -> None:
    source = Sequential()
    with engine(threads=threads):
        assert fold(source.total, source, source.merged) == X.sum()
    # the first is not merged with anything
    assert source.most <= threads + 2 + 1


def test_the_next_piece_is_read_while_others_are_processed() -> None:
    second_is_read = threading.Event()

    class Stream(Sequential):
        def pieces(self) -> Iterator[Piece]:
            pieces = super().pieces()
            yield next(pieces)
            yield next(pieces)
            second_is_read.set()
            yield from pieces

    def wait_for_the_second(chunk: Chunk) -> float:
        assert second_is_read.wait(timeout=30)
        return float(chunk.X.sum())

    with engine(threads=2):
        assert fold(wait_for_the_second, Stream(), operator.add) == X.sum()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_ends_the_pass_after_the_pieces_already_begun(threads: int) -> None:
    begun, ended = list[float](), list[float]()

    def fail_at_ten(chunk: Chunk) -> float:
        row = float(chunk.X[0, 0])
        begun.append(row)
        try:
            if row == 10:
                raise OSError("the disk is gone")
            return row
        finally:
            ended.append(row)

    with engine(threads=threads), pytest.raises(OSError, match="disk is gone"):
        fold(fail_at_ten, MemorySource(X, rows=1), operator.add)
    assert len(begun) == len(ended) <= 10 + threads + 2


def test_threads_do_not_change_the_result() -> None:
    rows = np.random.default_rng(0).normal(size=(1000, 3))
    answers = []
    for threads in (1, 2, 4):
        with engine(threads=threads):
            answers.append(fold(column_sums, MemorySource(rows, rows=37), operator.add))
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])
