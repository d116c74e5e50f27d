"""What models that are fitted to a source share: how its chunks are checked, and what is said of one that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import clone

from mercer._errors import DataError, NonFiniteError, SupportError
from mercer._threads import thread_count
from mercer.data.sources.base import Chunk, Source
from mercer.engines.running import current_run
from mercer.models._finite import refuse_not_finite
from mercer.models.base import Plan, adopt_columns

#: looks at a chunk as a fit does, and raises where it holds what no fit takes
Look = Callable[[Any, Chunk], Any]


def reader_of(model: Any) -> Any:
    """The model with its parameters and the columns of the fit alone: small, and able to check chunks anywhere."""
    reader = clone(model)
    adopt_columns(reader, model)
    return reader


def refuse_offset(model: Any, first: Chunk) -> None:
    """For models that have no use for offsets."""
    if first.offset is not None:
        raise DataError(
            f"{type(model).__name__} takes no offset; open the source without one, or use GLM, which adds it to the "
            "linear predictor."
        )


@contextmanager
def naming_the_place(source: Source, reader: Any, look: Look) -> Iterator[None]:
    """Where a pass comes across a value that no fit takes, say in which piece of the source, and where there."""
    try:
        yield
    except (NonFiniteError, SupportError):
        for piece in source.pieces():
            before = 0
            for chunk in piece.chunks([]):
                _refuse(reader, chunk, look, f"In {piece.name}" + f", counting from its row {before}" * bool(before))
                before += chunk.n_rows
        raise


def _refuse(reader: Any, chunk: Chunk, look: Look, place: str) -> None:
    try:
        refuse_not_finite(reader, look(reader, chunk))
    except (NonFiniteError, SupportError) as error:
        raise type(error)(f"{place}: {error}") from None


def streamed_plan(path: str, dtype: Any) -> Plan:
    """After the last pass."""
    return Plan(path, str(dtype), max(1, current_run().pieces), thread_count())
