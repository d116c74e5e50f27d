"""Rows of a source for least squares: each sum over them is a pass."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np

from mercer._errors import DataError, NonFiniteError, TooManyColumnsError
from mercer._typing import Array
from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.optim.least_squares_rows import LeastSquaresRows
from mercer.optim.linear_fit import NOT_FINITE
from mercer.stats.normal_equations import NormalEquations, RFactor

S = TypeVar("S", NormalEquations, RFactor)
#: chunk ↦ its checked rows; can be pickled
Reading = Callable[[Chunk], LeastSquaresRows]
#: high and low parts of a sum in twice the working precision
Pair = tuple[Array, Array]

#: columns up to which every thread can hold the products of all pairs
MOST_COLUMNS = 5_000


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedRows(LeastSquaresRows):
    """Rows whose X is a source; Y only has the right number of columns, its values come with the chunks."""

    X: Source
    read: Reading
    n_rows: int
    #: statistic of all rows and targets, from the first pass
    sums: NormalEquations
    #: rows of the kind of the chunks, without data
    kind: LeastSquaresRows
    #: mask of the targets in use
    chosen: Array

    @classmethod
    def of(cls, source: Source, read: Reading, *, max_columns: int = MOST_COLUMNS) -> Self:
        """Make the first pass; raise `NonFiniteError` if a value is not finite.

        More than `max_columns` columns raise `TooManyColumnsError`.
        """
        kind = read(source.head())
        (_, columns), targets = kind.shape, kind.targets
        if columns > max_columns:
            raise TooManyColumnsError(
                f"least squares of a source keep the products of all pairs of columns, too many for {columns} columns; "
                'use GLM("gaussian", solver="lbfgs"), or a feature map with fewer columns.'
            )
        rows, sums = fold(functools.partial(_summarise_chunk, NormalEquations, read, None), source, _merge_summaries)
        check_total_weight(sums.rows)
        kind = replace(kind, X=kind.X[:0], Y=kind.Y[:0], weight=None)
        every = np.ones(targets, dtype=bool)
        return cls(X=source, Y=kind.Y, read=read, n_rows=rows, sums=sums, kind=kind, chosen=every)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.sums.n_columns

    def __len__(self) -> int:
        return self.n_rows

    @property
    def sparse(self) -> bool:
        return self.kind.sparse

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.kind.dtype

    @property
    def total_weight(self) -> float:
        return self.sums.weight

    @property
    def heavy(self) -> int:
        return self.sums.rows

    def blocks(self) -> list[slice]:
        """Return an empty list: the source determines its chunks."""
        return []

    def only(self, targets: Array) -> Self:
        chosen = np.zeros_like(self.chosen)
        chosen[np.flatnonzero(self.chosen)[targets]] = True
        return replace(self, Y=self.Y[:, targets], chosen=chosen)

    def summarise(self, kind: type[S]) -> S:
        if self.chosen.all() and isinstance(self.sums, kind):
            return self.sums
        return fold(functools.partial(_summarise_chunk, kind, self.read, self.chosen), self.X, _merge_summaries)[1]

    def lengths_of(self, change: Array, level: Array) -> Array:
        x, _ = self.sums.mean
        gram = self.sums.products(centred=True).gram
        squares = np.einsum("jt,jt->t", change, gram @ change) + self.sums.weight * np.square(x @ change + level)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def target_lengths(self) -> Array:
        return np.asarray(np.sqrt(self.sums.products(centred=False).squares))

    def gradient(self, shift: Array, v: Array) -> Pair:
        return fold(functools.partial(_gradient_of_chunk, self.read, self.chosen, shift, v), self.X, _add_pairs)

    def added(self, function: Callable[[LeastSquaresRows], Array]) -> Array:
        """Return the sum of a function of the rows of each chunk; the function must be picklable."""
        return fold(functools.partial(_apply_to_chunk, self.read, function), self.X, np.add)


def check_total_weight(rows: int) -> None:
    """Raise `DataError` if no row of a source has positive weight; `rows` is their number."""
    if not rows:
        raise DataError("Sample weights must contain at least one non-zero number. Every row weighs 0.")


def _summarise_chunk(kind: type[S], read: Reading, chosen: Array | None, chunk: Chunk) -> tuple[int, S]:
    """Return the number of rows of a chunk, and their statistic."""
    rows = read(chunk)
    summary = (rows if chosen is None else rows.only(chosen)).summarise(kind)
    _check_finite(summary)
    return len(rows), summary


def _check_finite(summary: NormalEquations | RFactor) -> None:
    """Raise `NonFiniteError` at the first non-finite value; squares that overflow are detected by the solver."""
    means = summary.moments.offset if isinstance(summary, NormalEquations) else summary.R
    if not np.isfinite(means).all():
        raise NonFiniteError(NOT_FINITE)


def _merge_summaries(mine: tuple[int, S], theirs: tuple[int, S]) -> tuple[int, S]:
    return mine[0] + theirs[0], mine[1].merge(theirs[1])


def _gradient_of_chunk(read: Reading, chosen: Array, shift: Array, v: Array, chunk: Chunk) -> Pair:
    return read(chunk).only(chosen).gradient(shift, v)


def _add_pairs(mine: Pair, theirs: Pair) -> Pair:
    """Return the sum of two pairs, with its rounding error in the low part."""
    total = mine[0] + theirs[0]
    part = total - mine[0]
    return total, mine[1] + theirs[1] + (mine[0] - (total - part)) + (theirs[0] - part)


def _apply_to_chunk(read: Reading, function: Callable[[LeastSquaresRows], Array], chunk: Chunk) -> Array:
    return function(read(chunk))
