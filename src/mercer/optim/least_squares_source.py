"""Observations of a source for least squares: each sum over them is a pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from mercer._errors import DataError, NonFiniteError, TooManyColumnsError
from mercer._typing import Array
from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.matrices import Observations
from mercer.optim.linear_fit import NOT_FINITE
from mercer.stats.normal_equations import NormalEquations, RFactor

A = TypeVar("A")
S = TypeVar("S", bound=Any)
#: chunk ↦ its checked rows; can be pickled
ObservationReader = Callable[[Chunk], Observations]

#: columns up to which every thread can hold the products of all pairs
MAX_STREAMED_COLUMNS = 5_000


@dataclass(frozen=True, eq=False, kw_only=True)
class SourceObservations(Observations):
    """Observations of a source; `design` and `y` are those of its chunks, without rows."""

    source: Source
    read: ObservationReader
    n_rows: int
    #: statistic of all rows and targets, from the first pass
    sums: NormalEquations
    #: mask of the targets in use
    chosen: Array

    streamed: ClassVar[bool] = True
    has_rows: ClassVar[bool] = False
    has_cheap_products: ClassVar[bool] = False

    @classmethod
    def of(cls, source: Source, read: ObservationReader, *, max_columns: int = MAX_STREAMED_COLUMNS) -> Self:
        """Make the first pass; raise `NonFiniteError` if a value is not finite.

        More than `max_columns` columns raise `TooManyColumnsError`.
        """
        first = read(source.head())
        (_, columns), targets = first.shape, first.targets
        if columns > max_columns:
            raise TooManyColumnsError(
                f"least squares of a source keep the products of all pairs of columns, too many for {columns} columns; "
                'use GLM("gaussian", solver="lbfgs"), or a feature map with fewer columns.'
            )
        zero = NormalEquations.zero(columns, targets)
        rows, sums = fold(partial(_summarise_chunk, zero, read, None), source, _merge_summaries)
        check_total_weight(sums.rows)
        return cls(
            design=first.design.rows(slice(0, 0)),
            y=first.y[:0],
            source=source,
            read=read,
            n_rows=rows,
            sums=sums,
            chosen=np.ones(targets, dtype=bool),
        )

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.sums.n_columns

    def __len__(self) -> int:
        return self.n_rows

    @property
    def total_weight(self) -> float:
        return self.sums.weight

    @property
    def heavy(self) -> int:
        return self.sums.rows

    def blocks(self) -> list[slice]:
        """Return an empty list: the source determines its chunks."""
        return []

    def select_targets(self, targets: Array) -> Self:
        chosen = np.zeros_like(self.chosen)
        chosen[np.flatnonzero(self.chosen)[targets]] = True
        return replace(self, y=self.y[:, targets], chosen=chosen)

    def summarise(self, statistic: S) -> S:
        if self.chosen.all() and type(statistic) is type(self.sums):
            return self.sums
        summary: S = fold(partial(_summarise_chunk, statistic, self.read, self.chosen), self.source, _merge_summaries)[
            1
        ]
        return summary

    def fold(self, function: Callable[[Observations], A], merge: Callable[[A, A], A]) -> A:
        return fold(partial(_apply_to_chunk, self.read, self.chosen, function), self.source, merge)

    def predictor_lengths(self, change: Array, level: Array) -> Array:
        x, _ = self.sums.mean
        gram = self.sums.products(centred=True).gram
        squares = np.einsum("jt,jt->t", change, gram @ change) + self.sums.weight * np.square(x @ change + level)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def target_lengths(self) -> Array:
        return np.asarray(np.sqrt(self.sums.products(centred=False).squares))


def check_total_weight(rows: int) -> None:
    """Raise `DataError` if no row of a source has positive weight; `rows` is their number."""
    if not rows:
        raise DataError("Sample weights must contain at least one non-zero number. Every row weighs 0.")


def _summarise_chunk(statistic: S, read: ObservationReader, chosen: Array | None, chunk: Chunk) -> tuple[int, S]:
    """Return the number of rows of a chunk, and their statistic."""
    rows = read(chunk)
    summary: S = (rows if chosen is None else rows.select_targets(chosen)).summarise(statistic.empty())
    _check_finite(summary)
    return len(rows), summary


def _check_finite(summary: NormalEquations | RFactor) -> None:
    """Raise `NonFiniteError` at the first non-finite value; squares that overflow are detected by the solver."""
    means = summary.moments.offset if isinstance(summary, NormalEquations) else summary.R
    if not np.isfinite(means).all():
        raise NonFiniteError(NOT_FINITE)


def _merge_summaries(mine: tuple[int, S], theirs: tuple[int, S]) -> tuple[int, S]:
    return mine[0] + theirs[0], mine[1].merge(theirs[1])


def _apply_to_chunk(read: ObservationReader, chosen: Array, function: Callable[[Observations], A], chunk: Chunk) -> A:
    return function(read(chunk).select_targets(chosen))
