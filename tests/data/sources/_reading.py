"""All that a source has, with what was skipped on the way."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa

from mercer.data.sources.base import Chunk, Source


def chunks_of(source: Source, *, pickled: bool = False) -> tuple[list[Chunk], list[str]]:
    """Its chunks, one pass; `pickled` sends every piece through a pickle, as a cluster does."""
    skipped: list[str] = []
    pieces = (pickle.loads(pickle.dumps(piece)) if pickled else piece for piece in source.pieces())
    return [chunk for piece in pieces for chunk in piece.chunks(skipped)], skipped


def table_of(source: Source) -> tuple[Any, list[str]]:
    """Its features, one chunk below the other."""
    chunks, skipped = chunks_of(source)
    return pa.concat_tables([chunk.X for chunk in chunks]), skipped


def rows_of(source: Source) -> tuple[int, list[str]]:
    """How many rows it has."""
    chunks, skipped = chunks_of(source)
    return sum(chunk.n_rows for chunk in chunks), skipped
