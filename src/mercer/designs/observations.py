"""Rows of a design with their responses: what a conditional model is fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
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

    def average(self, values: Any) -> float:
        """Of one number per row, by their weights."""
        return float(values.mean() if self.weight is None else (self.weight * values).sum() / self.weight.sum())

    def class_weights(self, levels: int) -> Array:
        """Of the rows of each class, where y are codes."""
        return np.bincount(self.y, self.weight, minlength=levels)

    def in_memory(self) -> Observations:
        """These rows as arrays, wherever they are."""
        return self

    def vectors_in_memory(self) -> Observations:
        """These rows with responses, weights and offsets as arrays; the design stays where it is."""
        return self
