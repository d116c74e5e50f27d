"""Chunks of a source without validation, and the conversion of their responses to numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.base.sources import observe
from mercer.data.sources.base import Chunk
from mercer.data.sources.memory import MemorySource
from mercer.matrices.streamed import Responses, Survey, SurveySample


def sample_chunk(chunk: Chunk) -> SurveySample:
    return SurveySample(chunk.X, chunk.y, chunk.weight, chunk.offset)


def of_numbers(survey: Survey) -> Responses:
    return Responses()


def of_classes(survey: Survey) -> Responses:
    return Responses(survey.labels, None, np.int64)


def streamed(X: Any, y: Any, *, rows: int, classes: bool = False, sample_rows: int | None = None) -> Any:
    """Observations with an intercept whose rows come from memory, `rows` at a time; the sample has `sample_rows`."""
    found = observe(
        MemorySource(X, y, rows=rows),
        sample_chunk,
        of_classes if classes else of_numbers,
        labels=classes,
        intercept=True,
    )
    return found if sample_rows is None else replace(found, sample=found.sample.some(sample_rows))
