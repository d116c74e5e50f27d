"""Rows of a design with their responses: what a conditional model is fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from numpy.typing import NDArray

from mercer.designs._base import Design

Array = NDArray[Any]


class ObservedBatch(NamedTuple):
    """Some rows: what `Quadratic.update` takes."""

    design: Design
    y: Array
    weight: Array | None
    offset: Array | None


@dataclass(frozen=True, eq=False)
class Observations:
    """A design, the response of each row, and where given its weight and its offset (added to η)."""

    design: Design
    y: Array
    weight: Array | None = None
    offset: Array | None = None

    def __len__(self) -> int:
        return self.design.n_rows

    def blocks(self) -> list[slice]:
        return self.design.blocks()

    def batch(self, rows: slice) -> ObservedBatch:
        weight, offset = (None if v is None else v[rows] for v in (self.weight, self.offset))
        return ObservedBatch(self.design.rows(rows), self.y[rows], weight, offset)

    def take(self, rows: Array) -> Self:
        """The rows at these positions."""
        weight, offset = (None if v is None else v[rows] for v in (self.weight, self.offset))
        return replace(self, design=self.design.take(rows), y=self.y[rows], weight=weight, offset=offset)
