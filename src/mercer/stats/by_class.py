"""The statistic of a generative classifier: the rows of each class, and a statistic for each factor of p(x|y)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._errors import MergeError, UnseenRowsError
from mercer._stored import part_of, reals, sequence, stored, values
from mercer._typing import Array
from mercer.stats.base import Statistic, group_totals, move_groups, subtract_rows, subtract_weight


@stored(labels=values("g"), rows=reals("g"), weight=reals("g"), parts=sequence(".", part_of(Statistic, g="g")))
@dataclass(frozen=True)
class ByClass(Statistic):
    """Class labels (sorted), rows and weight of each class, and one statistic per factor of the model."""

    labels: Array
    rows: Array
    weight: Array
    parts: tuple[Statistic, ...]

    @classmethod
    def zero(cls, labels: Array, parts: tuple[Statistic, ...]) -> Self:
        return cls(labels, np.zeros(len(labels), dtype=np.int64), np.zeros(len(labels)), parts)

    @property
    def groups(self) -> int:
        return len(self.labels)

    @property
    def finite(self) -> bool:
        return all(part.finite for part in self.parts)

    def empty(self) -> Self:
        return self.zero(self.labels, tuple(part.empty() for part in self.parts))

    def update(self, x: tuple[Any, ...], groups: Array, weight: Array | None = None) -> Self:
        """Add rows; `x` holds one block of data for each part."""
        rows, total = group_totals(groups, weight, self.groups)
        parts = tuple(part.update(block, groups, weight) for part, block in zip(self.parts, x, strict=True))
        return replace(self, rows=self.rows + rows, weight=self.weight + total, parts=parts)

    def merge(self, other: Self) -> Self:
        """Merge classes by label; those that only one side has are kept."""
        if len(self.parts) != len(other.parts):
            raise MergeError("cannot merge models with different columns or families; fit both with the same ones.")
        labels = self.labels if np.array_equal(self.labels, other.labels) else np.union1d(self.labels, other.labels)
        mine, theirs = self.align(labels), other.align(labels)
        parts = tuple(a.merge(b) for a, b in zip(mine.parts, theirs.parts, strict=True))
        return replace(mine, rows=mine.rows + theirs.rows, weight=mine.weight + theirs.weight, parts=parts)

    def subtract(self, other: Self) -> Self:
        known = set(self.labels.tolist())
        if unknown := [label for label in other.labels[other.rows > 0].tolist() if label not in known]:
            raise UnseenRowsError(f"class {unknown[0]!r} was never seen, so its rows cannot be forgotten.")
        removed = other.align(self.labels)
        rows = subtract_rows(self.rows, removed.rows)
        return replace(
            self,
            rows=rows,
            weight=subtract_weight(self.weight, removed.weight, rows),
            parts=tuple(a.subtract(b) for a, b in zip(self.parts, removed.parts, strict=True)),
        )

    def align(self, labels: Array) -> Self:
        """Return the statistic with its classes at their positions in `labels`; other classes are dropped."""
        if np.array_equal(labels, self.labels):
            return self
        place = {label: i for i, label in enumerate(labels.tolist())}
        positions = np.array([place.get(label, -1) for label in self.labels.tolist()], dtype=np.int64)
        return replace(self.regroup(positions, len(labels)), labels=labels)

    def regroup(self, positions: Array, n_groups: int) -> Self:
        labels = np.empty(n_groups, dtype=self.labels.dtype)
        kept = positions >= 0
        labels[positions[kept]] = self.labels[kept]
        return replace(
            self,
            labels=labels,
            rows=move_groups(self.rows, positions, n_groups),
            weight=move_groups(self.weight, positions, n_groups),
            parts=tuple(part.regroup(positions, n_groups) for part in self.parts),
        )

    def cancellation(self, left: Self) -> float:
        return max((a.cancellation(b) for a, b in zip(self.parts, left.parts, strict=True)), default=1.0)
