"""Rows of a design with their responses, weights and offsets, to which conditional models are fitted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from mercer._gpu import to_numpy
from mercer._threads import blas_for, ordered_stream
from mercer._typing import Array
from mercer.matrices.base import Matrix

A = TypeVar("A")
S = TypeVar("S", bound=Any)


class ObservedBatch(NamedTuple):
    """A batch of observations, the argument of `Quadratic.update`."""

    design: Matrix
    y: Array
    weight: Array | None
    offset: Array | None


@dataclass(frozen=True, eq=False)
class Observations:
    """A design with the response of each row, and optional weights and offsets (added to η)."""

    design: Matrix
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
        """Return the observations at these positions."""
        weight, offset = (None if v is None else v[rows] for v in (self.weight, self.offset))
        return replace(self, design=self.design.take(rows), y=self.y[rows], weight=weight, offset=offset)

    #: whether reading the rows takes a pass over a source
    streamed: ClassVar[bool] = False

    @property
    def has_rows(self) -> bool:
        """Return whether the rows can be selected and multiplied; else they can only be summed."""
        return self.design.can("rows")

    @property
    def has_cheap_products(self) -> bool:
        """Return whether many products with vectors may be faster than one of all pairs of columns."""
        return not self.design.prefers_gram

    @property
    def has_offset(self) -> bool:
        return self.offset is not None

    @property
    def total_weight(self) -> float:
        return float(len(self) if self.weight is None else self.weight.sum())

    @property
    def heavy(self) -> int:
        """Number of rows with a positive weight."""
        return len(self) if self.weight is None else int(np.count_nonzero(to_numpy(self.weight)))

    @property
    def mean_weight(self) -> float:
        return 1.0 if self.weight is None else float(self.weight.mean())

    @property
    def mean_response(self) -> float:
        """Weighted mean of the responses."""
        return self._average(self.y)

    @property
    def mean_offset(self) -> float:
        return 0.0 if self.offset is None else self._average(self.offset)

    def _average(self, values: Any) -> float:
        """Weighted mean; infinite or NaN where the sum is."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(values.mean() if self.weight is None else (self.weight * values).sum() / self.weight.sum())

    def some_responses(self, count: int) -> Array:
        """Responses of about `count` equally spaced rows."""
        return to_numpy(self.y[:: max(1, len(self) // count)])

    def some(self, count: int, *, of: int = 1) -> Observations | None:
        """Return `count` equally spaced rows, or None if there are fewer than `of` times as many."""
        n = len(self)
        return None if of * count > n else self.take(np.linspace(0, n - 1, count).astype(np.intp))

    # Several targets: y is a matrix with a column for each

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.design.shape

    @property
    def targets(self) -> int:
        """Number of targets."""
        return int(self.y.shape[1])

    def select_targets(self, targets: Array) -> Self:
        """Return the observations of some of the targets."""
        return replace(self, y=self.y[:, targets])

    def summarise(self, statistic: S) -> S:
        """Return the statistic of all rows; `statistic.blocks_of` returns the blocks that are worth a thread each."""
        blocks = statistic.blocks_of(self.design)
        if len(blocks) <= 1:
            with blas_for(self.design.n_columns):
                summary: S = statistic.update(*self.batch(slice(None)))
                return summary
        parts: Iterator[S] = ordered_stream(lambda rows: statistic.empty().update(*self.batch(rows)), blocks)
        return functools.reduce(lambda mine, theirs: mine.merge(theirs), parts)

    def fold(self, function: Callable[[Observations], A], merge: Callable[[A, A], A]) -> A:
        """Merge `function(part)` of all parts of the rows, in their order; here there is only one part.

        The function may use all threads. Functions can be pickled, as parts of a source may be in other processes.
        """
        return function(self)

    def predictor_lengths(self, change: Array, level: Array) -> Array:
        """Return ‖√weight (X change + level)‖ for each target."""
        image = np.square(to_numpy(self.design.matvec(change)) + level)
        if self.weight is None:
            return np.asarray(np.sqrt(image.sum(axis=0)))
        weight = self.weight[:, None]
        return np.asarray(np.sqrt(np.where(weight > 0, weight * image, 0.0).sum(axis=0)))

    def target_lengths(self) -> Array:
        """Return ‖√weight y‖ for each target."""
        squares = np.square(self.y)
        return np.asarray(np.sqrt(squares.sum(axis=0) if self.weight is None else self.weight @ squares))

    def responses_as(self, dtype: Any) -> Observations:
        """Return the observations with responses of another dtype, such as class codes as floats."""
        return replace(self, y=self.y.astype(dtype))

    def class_weights(self, levels: int) -> Array:
        """Sum of the weights of each class, where y are class codes."""
        return np.bincount(self.y, self.weight, minlength=levels)

    def in_memory(self) -> Observations:
        """Return the observations as arrays in main memory."""
        return self

    def vectors_in_memory(self) -> Observations:
        """Return the observations with responses, weights and offsets in main memory; the design is not copied."""
        return self
