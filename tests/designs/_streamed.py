"""How chunks of a source are read, and how their responses become numbers, where nothing has to be checked."""

from __future__ import annotations

import numpy as np

from mercer.data.sources.base import Chunk
from mercer.designs.streamed import Responses
from mercer.designs.survey import Seen, Survey


def seen(chunk: Chunk) -> Seen:
    return Seen(chunk.X, chunk.y, chunk.weight, chunk.offset)


def of_numbers(survey: Survey) -> Responses:
    return Responses()


def of_classes(survey: Survey) -> Responses:
    return Responses(survey.labels, None, np.int64)
