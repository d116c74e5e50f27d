"""Rows of a design with their responses: what a conditional model is fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mercer._gpu import to_numpy
from mercer._typing import Array
from mercer.matrices._base import Design
from mercer.matrices.coordinates import Coordinates
from mercer.matrices.dense import DenseDesign, is_block

# A matrix of numbers as compiled loops read it that multiply each row twice while it is in the cache.


@dataclass(frozen=True, eq=False)
class OnePass:
    """X as it is, and how its products become those of the working coordinates."""

    X: Array
    coordinates: Coordinates

    @classmethod
    def of(cls, design: Design) -> Self | None:
        """None where shifts must be taken out of the data first, or loops are not compiled for such data."""
        if not isinstance(design, DenseDesign) or not is_block(design.X) or not design.coordinates.near:
            return None
        return cls(design.X, design.coordinates)

    def factors(self, w: Array) -> tuple[Array, Array]:
        """What to multiply X with, and what to add to the product."""
        coefficients, level = self.coordinates.to_user(w)
        if not self.coordinates.intercept:
            level = -self.coordinates.shift @ coefficients
        return coefficients, np.asarray(level)

    def transposed_times(self, product: Array, total: Array) -> Array:
        """Xᵀ r in working coordinates, from that in the data's and Σ r."""
        shifted = product - np.multiply.outer(self.coordinates.shift, total)
        columns = (shifted.T / self.coordinates.scale).T
        return np.concatenate([columns, total[None]]) if self.coordinates.intercept else np.asarray(columns)


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

    #: whether each look at the rows is a pass over a source
    streamed: ClassVar[bool] = False

    @property
    def has_offset(self) -> bool:
        return self.offset is not None

    @property
    def total_weight(self) -> float:
        return float(len(self) if self.weight is None else self.weight.sum())

    @property
    def heavy(self) -> int:
        """How many rows have a weight above 0."""
        return len(self) if self.weight is None else int(np.count_nonzero(to_numpy(self.weight)))

    @property
    def mean_weight(self) -> float:
        return 1.0 if self.weight is None else float(self.weight.mean())

    @property
    def mean_response(self) -> float:
        """By the weights of rows."""
        return self._average(self.y)

    @property
    def mean_offset(self) -> float:
        return 0.0 if self.offset is None else self._average(self.offset)

    def _average(self, values: Any) -> float:
        """Infinite or NaN where the sum is."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(values.mean() if self.weight is None else (self.weight * values).sum() / self.weight.sum())

    def some_responses(self, count: int) -> Array:
        """Of about so many rows, spread over all."""
        return to_numpy(self.y[:: max(1, len(self) // count)])

    def some(self, count: int, *, of: int = 1) -> Observations | None:
        """So many rows, spread over all; None unless there are `of` times as many."""
        n = len(self)
        return None if of * count > n else self.take(np.linspace(0, n - 1, count).astype(np.intp))

    def responses_as(self, dtype: Any) -> Observations:
        """With responses of that type: codes of classes are numbers to some."""
        return replace(self, y=self.y.astype(dtype))

    def class_weights(self, levels: int) -> Array:
        """Of the rows of each class, where y are codes."""
        return np.bincount(self.y, self.weight, minlength=levels)

    def in_memory(self) -> Observations:
        """These rows as arrays, wherever they are."""
        return self

    def vectors_in_memory(self) -> Observations:
        """These rows with responses, weights and offsets as arrays; the design stays where it is."""
        return self
