"""Rows of a source with their responses, in working coordinates: what solvers see of a source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from mercer._typing import Array
from mercer.data.labels import codes_of
from mercer.data.sources.base import Chunk, Source
from mercer.data.sources.streamed import Streamed
from mercer.designs.coordinates import Coordinates
from mercer.designs.observations import Observations, ObservedBatch
from mercer.designs.row_sample import RowSample
from mercer.designs.survey import Seen, Survey
from mercer.designs.terms import Terms

#: rows of a chunk, checked; can be pickled
Reading = Callable[[Chunk], Seen]


@dataclass(frozen=True, eq=False)
class Responses:
    """How what is to be predicted becomes numbers: as it is, or as the codes of classes, which may have weights."""

    classes: Array | None = None
    class_weights: Array | None = None
    dtype: Any = np.float64

    def of(self, y: Array, weight: Array | None) -> tuple[Array, Array | None]:
        """Numbers of rows, and their weights."""
        if self.classes is None:
            return np.asarray(y, dtype=np.float64), weight
        codes = np.maximum(codes_of(y, self.classes), 0)  # labels that are no class have no weight
        if self.class_weights is not None:
            of_rows = self.class_weights[codes]
            weight = of_rows if weight is None else weight * of_rows
        return codes.astype(self.dtype), weight


@dataclass(frozen=True, eq=False)
class StreamedDesign:
    """What is known of a design without a look at its rows."""

    coordinates: Coordinates
    n_rows: int

    @property
    def n_columns(self) -> int:
        return self.coordinates.n_columns


def observed(read: Reading, terms: Terms, responses: Responses, chunk: Chunk) -> ObservedBatch:
    """What the statistics of a fit take of a chunk."""
    seen = read(chunk)
    y, weight = responses.of(seen.y, seen.weight)
    return ObservedBatch(terms.design(seen.X), y, weight, seen.offset)


def _without_columns(read: Reading, chunk: Chunk) -> Seen:
    seen = read(chunk)
    return seen._replace(X=np.empty((len(seen.y), 0)))


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedObservations(Streamed):
    """`Observations` that are read anew in each pass; some of them, drawn at random, are at hand.

    It has no responses, weights or products of its own: whoever needs them makes a pass.
    """

    prepare: Callable[[Chunk], ObservedBatch] = field(init=False)
    read: Reading
    terms: Terms
    responses: Responses
    survey: Survey
    #: the rows at hand
    sample: Observations
    #: the sums of the last pass, for a caller that asks for the same again
    seen: list[Any] = field(default_factory=list)

    streamed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "prepare", partial(observed, self.read, self.terms, self.responses))

    @classmethod
    def of(
        cls, source: Source, read: Reading, terms: Terms, responses: Responses, survey: Survey, columns: tuple[Any, ...]
    ) -> Self:
        """`columns` are those of the sample of the survey."""
        made = partial(cls, source=source, read=read, terms=terms, survey=replace(survey, sample=RowSample(0, ())))
        places = 1 + len(terms.categories)
        beside = list(columns[places:])
        y = beside.pop(0)
        weight = beside.pop(0) if survey.weighted else None
        offset = beside.pop(0) if survey.has_offset else None
        y, weight = responses.of(y, weight)
        design = terms.design_of_columns(columns[0], columns[1:places])
        return made(responses=responses, sample=Observations(design, y, weight, offset))

    def __len__(self) -> int:
        return self.survey.rows

    @property
    def design(self) -> StreamedDesign:
        return StreamedDesign(self.terms.coordinates, len(self))

    @property
    def has_offset(self) -> bool:
        return self.survey.has_offset

    @property
    def total_weight(self) -> float:
        weights = self.responses.class_weights
        return self.survey.weight if weights is None else float(weights @ self._seen_weights())

    @property
    def heavy(self) -> int:
        return self.survey.heavy

    @property
    def mean_weight(self) -> float:
        return self.total_weight / len(self)

    @property
    def mean_response(self) -> float:
        if self.responses.classes is None:
            return self.survey.response / self.survey.weight
        weights = self.class_weights(len(self.responses.classes))
        return float(np.arange(len(weights)) @ weights / weights.sum())

    @property
    def mean_offset(self) -> float:
        return self.survey.offset / self.survey.weight

    def _seen_weights(self) -> Array:
        """Of the classes, without their own."""
        assert self.responses.classes is not None
        return self.survey.label_weights[np.isin(self.survey.labels, self.responses.classes)]

    def class_weights(self, levels: int) -> Array:
        """Of the rows of each class."""
        weights = self._seen_weights()
        return weights if self.responses.class_weights is None else weights * self.responses.class_weights

    def some_responses(self, count: int) -> Array:
        return self.sample.some_responses(count)

    def some(self, count: int, *, of: int = 1) -> Observations:
        """So many of the rows at hand, or all of these."""
        return self.sample.some(count) or self.sample

    def without_columns(self) -> Self:
        """The same rows with nothing but an intercept."""
        empty = Terms(0, None, {}, Coordinates.plain(0, intercept=True))
        sample = replace(self.sample, design=empty.design_of_columns(np.empty((len(self.sample), 0)), ()))
        return replace(self, read=partial(_without_columns, self.read), terms=empty, sample=sample, seen=[])

    def responses_as(self, dtype: Any) -> Self:
        responses, sample = replace(self.responses, dtype=dtype), self.sample.responses_as(dtype)
        return replace(self, responses=responses, sample=sample, seen=[])

    def blocks(self) -> list[slice]:
        """None: what is read at a time is the source's business."""
        return []

    def in_memory(self) -> Self:
        return self

    def vectors_in_memory(self) -> Self:
        return self
