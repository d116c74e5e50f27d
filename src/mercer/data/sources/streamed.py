"""A source prepared for a statistic: the arguments of its `update`, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer.data.sources.base import Chunk, Source


@dataclass(frozen=True, eq=False)
class Streamed:
    """Rows that `mercer.engines.reduce` reads from a source."""

    source: Source
    #: the arguments of a statistic's `update` for one chunk; can be pickled
    prepare: Callable[[Chunk], tuple[Any, ...]]
