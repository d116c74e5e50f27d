"""The rows themselves: what a model keeps that has no smaller summary, such as a sum of kernels around all points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._errors import UnseenRowsError
from mercer._stored import floats, integers, length, part_of, sequence, stored
from mercer._typing import Array
from mercer.stats.base import Statistic, as_block, same_shape


@stored(points=floats("nd"), codes=integers("n"), weight=floats("n"))
class StoredPiece(NamedTuple):
    """Some rows, the group and the weight of each."""

    points: Array
    codes: Array
    weight: Array


@stored(n_groups=length("g"), columns=length("d"), pieces=sequence(".", part_of(StoredPiece, d="d")), tag="StoredRows")
@dataclass(frozen=True)
class StoredRows(Statistic):
    """Every row of weight above zero, with its group; NaN stays where it is.

    Rows that were added together lie together, so that a merge copies none of them.
    """

    n_groups: int
    columns: int
    pieces: tuple[StoredPiece, ...] = ()

    @classmethod
    def zero(cls, groups: int, columns: int) -> Self:
        return cls(groups, columns)

    @property
    def groups(self) -> int:
        return self.n_groups

    @property
    def finite(self) -> bool:
        return not any(np.isinf(piece.points).any() for piece in self.pieces)

    @property
    def together(self) -> StoredPiece:
        """All rows in one piece, not to be written to."""
        if len(self.pieces) == 1:
            return self.pieces[0]
        nothing = StoredPiece(np.zeros((0, self.columns)), np.zeros(0, dtype=np.int64), np.zeros(0))
        return StoredPiece(*map(np.concatenate, zip(nothing, *self.pieces, strict=True)))

    @property
    def rows(self) -> Array:
        """How often each column was observed: (groups, columns)."""
        points, codes, _ = self.together
        counts = [np.bincount(codes[~np.isnan(column)], minlength=self.groups) for column in points.T]
        return np.stack(counts, axis=1) if counts else np.zeros((self.groups, 0), dtype=np.int64)

    def by_group(self) -> list[tuple[Array, Array | None]]:
        """The rows of each group, and their weights; None where all are 1."""
        points, codes, weight = self.together
        weights = None if (weight == 1).all() else weight
        of_group = [codes == g for g in range(self.groups)]
        return [(points[mask], None if weights is None else weights[mask]) for mask in of_group]

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        points = as_block(x).astype(np.float64)  # a copy: the caller's rows may change
        codes = np.asarray(groups, dtype=np.int64)
        weights = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
        return self._with(StoredPiece(points, codes.copy(), weights.copy()), keep=weights != 0)

    def _with(self, piece: StoredPiece, keep: Array) -> Self:
        kept = piece if keep.all() else StoredPiece(*(part[keep] for part in piece))
        return replace(self, pieces=(*self.pieces, kept)) if len(kept.codes) else self

    def merge(self, other: Self) -> Self:
        self._check(other)
        return replace(self, pieces=(*self.pieces, *other.pieces))

    def subtract(self, other: Self) -> Self:
        """Rows are found again by their values, group and weight, bit by bit."""
        self._check(other)
        if not other.pieces:
            return self
        mine, gone = self.together, other.together
        bits, asked = _bits(mine), _bits(gone)
        alike = _alike(bits, asked)
        _, places = np.unique(np.concatenate([bits[alike], asked]), axis=0, return_inverse=True)
        here, there = np.split(places.ravel(), [len(alike)])
        left_over = np.bincount(there, minlength=len(places))
        if (missing := np.flatnonzero(np.bincount(here, minlength=len(places)) < left_over)).size:
            row = gone.points[int(np.argmax(there == missing[0]))]
            raise UnseenRowsError(
                f"the row {np.array2string(row, threshold=6)} was not seen in its class with its weight so many times; "
                "forget only rows that were passed to fit or partial_fit, with the same sample_weight."
            )
        keep = np.ones(len(mine.codes), dtype=bool)
        keep[alike] = _occurrence(here) >= left_over[here]
        return replace(self, pieces=())._with(mine, keep=keep)

    def regroup(self, positions: Array, n_groups: int) -> Self:
        empty = replace(self, n_groups=n_groups, pieces=())
        for points, codes, weight in self.pieces:
            moved = np.asarray(positions, dtype=np.int64)[codes]
            empty = empty._with(StoredPiece(points, moved, weight), keep=moved >= 0)
        return empty

    def contents(self) -> dict[str, Any]:
        """Groups, weights and values bit by bit, in an order of their own."""
        bits = _bits(self.together)
        return {"groups": self.groups, "columns": self.columns, "bits": bits[np.lexsort(bits.T)]}

    def _check(self, other: Self) -> None:
        same_shape("rows", (self.groups, self.columns), (other.groups, other.columns))


def _bits(rows: StoredPiece) -> Array:
    """Rows, groups and weights as whole numbers that are equal where they are; one NaN and one zero."""
    table = np.column_stack([rows.codes, rows.weight, rows.points]) + 0.0
    table[np.isnan(table)] = np.nan
    return table.view(np.int64)


def _alike(bits: Array, asked: Array) -> Array:
    """Numbers of the rows whose every value is one of those asked for in its column: few, and all that can be meant."""
    numbers = np.arange(len(bits))
    for column in reversed(range(bits.shape[1])):  # values first, which tell more rows apart than groups and weights
        numbers = numbers[np.isin(bits[numbers, column], asked[:, column])]
    return numbers


def _occurrence(values: Array) -> Array:
    """How often each value has turned up before."""
    order = np.argsort(values, kind="stable")
    counts = np.bincount(values)
    starts = np.cumsum(counts) - counts
    result = np.empty(len(values), dtype=np.int64)
    result[order] = np.arange(len(values)) - starts[values[order]]
    return result
