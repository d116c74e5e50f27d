"""The rows themselves, for models without a smaller sufficient statistic, such as kernel densities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._errors import UnseenRowsError
from mercer._stored import floats, integers, length, part_of, sequence, stored
from mercer._typing import Array
from mercer.stats.base import Statistic, as_block, check_same_shape


@stored(points=floats("nd"), codes=integers("n"), weight=floats("n"))
class StoredPiece(NamedTuple):
    """Some rows, with the group and the weight of each."""

    points: Array
    codes: Array
    weight: Array


@stored(n_groups=length("g"), columns=length("d"), pieces=sequence(".", part_of(StoredPiece, d="d")), tag="StoredRows")
@dataclass(frozen=True)
class StoredRows(Statistic):
    """Every row of positive weight, with its group; NaN is kept.

    Rows that were added together are stored together, so that a merge copies none of them.
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
    def all_rows(self) -> StoredPiece:
        """All rows in one piece, which is read-only."""
        if len(self.pieces) == 1:
            return self.pieces[0]
        empty = StoredPiece(np.zeros((0, self.columns)), np.zeros(0, dtype=np.int64), np.zeros(0))
        return StoredPiece(*map(np.concatenate, zip(empty, *self.pieces, strict=True)))

    @property
    def rows(self) -> Array:
        """Number of observed values of each column: (groups, columns)."""
        points, codes, _ = self.all_rows
        counts = [np.bincount(codes[~np.isnan(column)], minlength=self.groups) for column in points.T]
        return np.stack(counts, axis=1) if counts else np.zeros((self.groups, 0), dtype=np.int64)

    def by_group(self) -> list[tuple[Array, Array | None]]:
        """Return the rows of each group, and their weights; None where all are 1."""
        points, codes, weight = self.all_rows
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
        """Remove rows, which are found by their values, group and weight, bit by bit."""
        self._check(other)
        if not other.pieces:
            return self
        mine, removed = self.all_rows, other.all_rows
        bits, sought = _to_bits(mine), _to_bits(removed)
        candidates = _find_candidates(bits, sought)
        _, places = np.unique(np.concatenate([bits[candidates], sought]), axis=0, return_inverse=True)
        mine_at, gone_at = np.split(places.ravel(), [len(candidates)])
        left_over = np.bincount(gone_at, minlength=len(places))
        if (missing := np.flatnonzero(np.bincount(mine_at, minlength=len(places)) < left_over)).size:
            row = removed.points[int(np.argmax(gone_at == missing[0]))]
            raise UnseenRowsError(
                f"the row {np.array2string(row, threshold=6)} is to be forgotten more often than it was seen in its "
                "class with its weight; forget only rows that were passed to fit or partial_fit, with the same "
                "sample_weight."
            )
        keep = np.ones(len(mine.codes), dtype=bool)
        keep[candidates] = _count_previous(mine_at) >= left_over[mine_at]
        return replace(self, pieces=())._with(mine, keep=keep)

    def regroup(self, positions: Array, n_groups: int) -> Self:
        empty = replace(self, n_groups=n_groups, pieces=())
        for points, codes, weight in self.pieces:
            moved = np.asarray(positions, dtype=np.int64)[codes]
            empty = empty._with(StoredPiece(points, moved, weight), keep=moved >= 0)
        return empty

    def contents(self) -> dict[str, Any]:
        """Return groups, weights and values bit by bit, in a canonical order."""
        bits = _to_bits(self.all_rows)
        return {"groups": self.groups, "columns": self.columns, "bits": bits[np.lexsort(bits.T)]}

    def _check(self, other: Self) -> None:
        check_same_shape("rows", (self.groups, self.columns), (other.groups, other.columns))


def _to_bits(rows: StoredPiece) -> Array:
    """Return rows, groups and weights as integers that are equal if they are; with a single NaN and zero."""
    table = np.column_stack([rows.codes, rows.weight, rows.points]) + 0.0
    table[np.isnan(table)] = np.nan
    return table.view(np.int64)


def _find_candidates(bits: Array, sought: Array) -> Array:
    """Return the indices of the few rows whose every value occurs in the same column of those to be removed."""
    numbers = np.arange(len(bits))
    for column in reversed(range(bits.shape[1])):  # values first, which separate more rows than groups and weights
        numbers = numbers[np.isin(bits[numbers, column], sought[:, column])]
    return numbers


def _count_previous(values: Array) -> Array:
    """Return how often each value occurs before its position."""
    order = np.argsort(values, kind="stable")
    counts = np.bincount(values)
    starts = np.cumsum(counts) - counts
    result = np.empty(len(values), dtype=np.int64)
    result[order] = np.arange(len(values)) - starts[values[order]]
    return result
