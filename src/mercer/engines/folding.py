"""A pass over a source: every chunk summarised, the summaries merged. All that streams is made of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from mercer._errors import EmptyDataError
from mercer.data.sources.base import Chunk, Piece, Source
from mercer.engines.choosing import engine_for
from mercer.engines.running import current_run

S = TypeVar("S")


class Part(NamedTuple):
    """What came of a piece: None where all of it was skipped."""

    result: Any
    rows: int
    skipped: list[str]


@dataclass(frozen=True)
class Fold(Generic[S]):
    """What is done on the way; both functions can be pickled, and change nothing."""

    summarise: Callable[[Chunk], S]
    merge: Callable[[S, S], S]

    def of_piece(self, piece: Piece) -> Part:
        """One piece, chunk by chunk."""
        result, rows, skipped = None, 0, list[str]()
        for chunk in piece.chunks(skipped):
            rows += chunk.n_rows
            result = self.joined(result, self.summarise(chunk))
        return Part(result, rows, skipped)

    def joined(self, before: S | None, more: S | None) -> S | None:
        """Both together, where there are both."""
        return before if more is None else more if before is None else self.merge(before, more)


def fold(summarise: Callable[[Chunk], S], source: Source, merge: Callable[[S, S], S]) -> S:
    """`summarise(chunk)` of all chunks of a source, merged in their order: one pass over the data.

    Where it runs (threads, a Dask cluster) is chosen by `mercer.engine`; results differ by rounding alone. `summarise`
    and `merge` must be functions that can be pickled (of a module, or `functools.partial` of one).

    Parameters
    ----------
    summarise : callable
        Takes a `Chunk`.
    source : Source
        What to read.
    merge : callable
        Takes the summaries of earlier and of later rows.

    Returns
    -------
    summary : object
        Of all rows.

    Raises
    ------
    EmptyDataError
        If there is no row.
    """
    run = current_run()
    number, run.passes = run.passes, run.passes + 1
    if run.journal is not None:
        done, result = run.journal.finished(number)
        if done:
            kept: S = result
            return kept
    result = engine_for(source).fold(Fold(summarise, merge), source, run, number)
    if result is None:
        raise EmptyDataError(f"There are no rows in {source.described}.")
    if run.journal is not None:
        run.journal.keep(number, 0, result, finished=True)
    summary: S = result
    return summary
