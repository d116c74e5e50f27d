"""A pass: what is added to it in which order, what a run and a journal hear of it."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mercer.data.sources.base import Chunk, Piece, Source, SourceColumns
from mercer.data.sources.memory import MemorySource
from mercer.engines.passes import Fold, Pass, PassPart, Run, join_parts
from tests.engines._notes import Note, Notes
from tests.engines._summaries import first_column

X = np.arange(12.0).reshape(6, 2)


FOLD: Fold[Any] = Fold(first_column, operator.add)


def test_a_piece_is_summarised_chunk_by_chunk_in_order() -> None:
    class Two(Piece):
        name = "two chunks"

        def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
            yield Chunk(X[:4])
            skipped.append("a row between")
            yield Chunk(X[4:])

    assert FOLD.summarise_piece(Two()) == PassPart(X[:, 0].tolist(), 6, ["a row between"])


def test_skipped_pieces_do_not_change_the_others() -> None:
    nothing, something = PassPart(None, 0, ["gone"]), PassPart([1], 2, [])
    assert join_parts(operator.add, nothing, something, nothing) == PassPart([1], 2, ["gone", "gone"], 3)
    assert join_parts(operator.add, nothing, nothing) == PassPart(None, 0, ["gone", "gone"], 2)


def test_functions_of_mapped_sources_are_applied_in_order() -> None:
    source = MemorySource(X, rows=4)
    mapped = source.map(lambda chunk: chunk._replace(X=chunk.X + 1)).map(lambda chunk: chunk._replace(X=chunk.X * 2))
    going = Pass(FOLD, mapped, Run(), 0)
    assert going.source is source
    with going.pieces() as pieces:
        parts = [going.fold.summarise_piece(piece) for piece in pieces]
    assert join_parts(operator.add, *parts).result == (2 * (X[:, 0] + 1)).tolist()


def test_a_subclass_of_a_mapped_source_is_not_unwrapped() -> None:
    class Own(type(MemorySource(X).map(first_column))):
        pass

    source = Own(MemorySource(X), first_column)
    assert Pass(FOLD, source, Run(), 0).source is source


def test_rows_are_counted_before_they_are_mapped() -> None:
    source = MemorySource(X, rows=4).map(lambda chunk: chunk._replace(X=chunk.X[:1]))
    run = Run()
    going = Pass(FOLD, source, run, 0)
    with going.pieces() as pieces:
        for piece in pieces:
            going.add(going.fold.summarise_piece(piece))
    assert going.total == PassPart([0.0, 8.0], 6, [], 2)
    assert run.rows == 6


class Given(Notes):
    """A journal that remembers each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = list[Any]()

    def keep(self, number: int, source: Any, result: Any, *, finished: bool) -> None:
        self.calls.append((number, result, finished))
        super().keep(number, source, result, finished=finished)


def test_a_journal_receives_plain_tuples_of_all_results_so_far() -> None:
    journal = Given()
    going = Pass(FOLD, MemorySource(X), Run(journal=journal), 3)
    going.add(PassPart([1], 2, []))
    going.add(PassPart([2], 3, ["gone"], 4))
    going.finish()
    assert journal.calls == [
        (3, ([1], 2, [], 1), False),
        (3, ([1, 2], 5, ["gone"], 5), False),
        (3, ([1, 2], 5, ["gone"], 5), True),
    ]
    assert {type(result) for _, result, _ in journal.calls} == {tuple}


@pytest.mark.parametrize("finished", [False, True])
def test_a_run_is_notified_of_stored_pieces(finished: bool) -> None:
    run = Run(journal=Notes({0: Note(([1], 2, ["gone"], 2), finished)}))
    going = Pass(FOLD, MemorySource(X, rows=2), run, 0)
    assert (going.is_finished, run.pieces, run.rows, run.skipped) == (finished, 2, 2, ["gone"])
    with going.pieces() as pieces:
        assert [piece.name for piece in pieces] == ["rows 4 to 5"]


def test_files_are_closed_when_a_pass_fails() -> None:
    closed = []

    class Opened(Source):
        columns = SourceColumns(("a",))
        described = "an open file"

        def pieces(self) -> Iterator[Piece]:
            try:
                yield from MemorySource(X, rows=1).pieces()
            finally:
                closed.append(True)

    def read_one() -> None:
        with Pass(FOLD, Opened(), Run(), 0).pieces() as pieces:
            next(pieces)
            raise OSError("gone")

    with pytest.raises(OSError, match="gone") as raised:
        read_one()
    assert raised.tb is not None  # which holds the pieces
    assert closed
