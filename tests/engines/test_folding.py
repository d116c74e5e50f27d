"""One pass over a source: the same summary however it is cut, and what goes on around it."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mercer._errors import EmptyDataError
from mercer.data.sources.base import Chunk, Piece, PreparedSource, Source, SourceColumns
from mercer.data.sources.memory import MemorySource
from mercer.engines import fold, reduce
from mercer.engines.passes import Run, enter_run
from mercer.stats import ScatterMoments
from tests.engines._notes import Notes
from tests.engines._summaries import column_sums, first_column

X = np.random.default_rng(0).normal(size=(500, 3))
Y = np.arange(500) % 2


@pytest.mark.parametrize("rows", [1, 7, 500, 1000])
def test_rows_are_merged_in_their_order(rows: int) -> None:
    assert fold(first_column, MemorySource(X, rows=rows), operator.add) == X[:, 0].tolist()


def of_chunk(chunk: Chunk) -> tuple[Any, Any, Any]:
    return chunk.X, chunk.y.astype(np.int32), chunk.weight


def test_a_statistic_of_a_source_agrees_with_its_rows() -> None:
    weight = np.random.default_rng(1).uniform(size=500)
    streamed = reduce(ScatterMoments.zero(2, 3), PreparedSource(MemorySource(X, Y, weight, rows=33), of_chunk))
    whole = ScatterMoments.zero(2, 3).update(X, Y.astype(np.int32), weight)
    np.testing.assert_array_equal(streamed.rows, whole.rows)
    np.testing.assert_allclose(streamed.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(streamed.covariance, whole.covariance, rtol=1e-10, atol=1e-14)


class Nothing(Source):
    columns = SourceColumns(("a",))
    described = "an empty file"

    def pieces(self) -> list[Piece]:
        return []


def test_a_source_without_rows_is_named() -> None:
    with pytest.raises(EmptyDataError, match="no rows in an empty file"):
        fold(first_column, Nothing(), operator.add)


def test_passes_of_a_run_are_numbered() -> None:
    reported = list[tuple[int, int]]()
    with enter_run(Run(on_piece=lambda number, pieces: reported.append((number, pieces)))) as run:
        for rows in (250, 500):
            fold(first_column, MemorySource(X, rows=rows), operator.add)
    assert reported == [(0, 1), (0, 2), (1, 1)]
    assert (run.passes, run.pieces, run.rows) == (2, 1, 500)


class Failing(MemorySource):
    """Counts the pieces that are read, and fails at one."""

    def __init__(self, rows: int, at: int | None = None) -> None:
        super().__init__(X, rows=rows)
        self.at, self.read = at, list[str]()

    def pieces(self) -> Iterator[Piece]:
        for number, piece in enumerate(super().pieces()):
            yield Watched(piece, number == self.at, self.read)


class Watched(Piece):
    name = "a piece that is watched"

    def __init__(self, piece: Piece, fails: bool, read: list[str]) -> None:
        self.piece, self.fails, self.read = piece, fails, read

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        if self.fails:
            raise OSError("the disk is gone")
        self.read.append(self.piece.name)
        yield from self.piece.chunks(skipped)


def test_a_failed_pass_resumes_after_the_stored_pieces() -> None:
    expected = [fold(column_sums, MemorySource(X, rows=rows), operator.add) for rows in (50, 20)]
    notes = Notes()

    def fit(at: int | None) -> tuple[list[Any], Failing]:
        first, second = Failing(50), Failing(20, at)
        with enter_run(Run(journal=notes)):
            answers = [fold(column_sums, source, operator.add) for source in (first, second)]
        assert first.read == []
        return answers, second

    with enter_run(Run(journal=notes)):
        fold(column_sums, Failing(50), operator.add)
    with pytest.raises(OSError, match="disk is gone"):
        fit(at=12)
    kept = notes[1].pieces
    assert 0 < kept <= 12
    answers, second = fit(at=None)
    assert len(second.read) == 25 - kept
    np.testing.assert_array_equal(answers, expected)


def test_an_error_between_pieces_is_raised() -> None:
    class Broken(MemorySource):
        def pieces(self) -> Iterator[Piece]:
            yield from super().pieces()
            raise OSError("no end of file")

    with pytest.raises(OSError, match="no end of file"):
        fold(column_sums, Broken(X, rows=100), operator.add)
