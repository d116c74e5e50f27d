"""Summaries of chunks, as functions that can be pickled."""

from __future__ import annotations

from typing import Any

from mercer.data.sources.base import Chunk


def column_sums(chunk: Chunk) -> Any:
    return chunk.X.sum(axis=0)


def first_column(chunk: Chunk) -> list[float]:
    """Summarise rows as a list, which shows the order in which summaries are merged."""
    return chunk.X[:, 0].tolist()
