"""The contents of a source, with sentences about dropped parts."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa

import mercer.data
from mercer.data import Reading
from mercer.data.sources.base import Chunk, Source


def open_in_blocks(
    what: Any, *, block_bytes: int, piece_bytes: int | None = None, reading: Reading | None = None, **options: Any
) -> Source:
    """Open a source whose blocks and pieces have a few rows each."""
    small = replace(reading or Reading(), block_bytes=block_bytes, piece_bytes=piece_bytes)
    return mercer.data.open(what, reading=small, **options)


def chunks_of(source: Source, *, pickled: bool = False) -> tuple[list[Chunk], list[str]]:
    """Return the chunks of one pass; if `pickled`, every piece is pickled and unpickled, as on a cluster."""
    skipped: list[str] = []
    pieces = (pickle.loads(pickle.dumps(piece)) if pickled else piece for piece in source.pieces())
    return [chunk for piece in pieces for chunk in piece.chunks(skipped)], skipped


def table_of(source: Source) -> tuple[Any, list[str]]:
    """Return the features of all chunks."""
    chunks, skipped = chunks_of(source)
    return pa.concat_tables([chunk.X for chunk in chunks]), skipped


def rows_of(source: Source) -> tuple[int, list[str]]:
    """Return the number of rows."""
    chunks, skipped = chunks_of(source)
    return sum(chunk.n_rows for chunk in chunks), skipped
