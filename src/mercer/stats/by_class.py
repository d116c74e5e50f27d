"""The statistic of a generative classifier: how many rows of each class, and what each factor of p(x|y) needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._errors import MergeError, UnseenRowsError
from mercer._stored import part_of, reals, sequence, stored, values
from mercer._typing import Array
from mercer.stats.base import Statistic, group_totals, moved, rows_left, weight_left


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
        """`x` holds one block of data for each part."""
        rows, total = group_totals(groups, weight, self.groups)
        parts = tuple(part.update(block, groups, weight) for part, block in zip(self.parts, x, strict=True))
        return replace(self, rows=self.rows + rows, weight=self.weight + total, parts=parts)

    def merge(self, other: Self) -> Self:
        """Classes are matched by label; those only one side knows are kept."""
        if len(self.parts) != len(other.parts):
            raise MergeError("cannot merge models with different columns or families; fit both with the same ones.")
        labels = self.labels if np.array_equal(self.labels, other.labels) else np.union1d(self.labels, other.labels)
        mine, theirs = self.aligned(labels), other.aligned(labels)
        parts = tuple(a.merge(b) for a, b in zip(mine.parts, theirs.parts, strict=True))
        return replace(mine, rows=mine.rows + theirs.rows, weight=mine.weight + theirs.weight, parts=parts)

    def subtract(self, other: Self) -> Self:
        known = set(self.labels.tolist())
        if unknown := [label for label in other.labels[other.rows > 0].tolist() if label not in known]:
            raise UnseenRowsError(f"class {unknown[0]!r} was never seen, so its rows cannot be forgotten.")
        gone = other.aligned(self.labels)
        rows = rows_left(self.rows, gone.rows)
        return replace(
            self,
            rows=rows,
            weight=weight_left(self.weight, gone.weight, rows),
            parts=tuple(a.subtract(b) for a, b in zip(self.parts, gone.parts, strict=True)),
        )

    def aligned(self, labels: Array) -> Self:
        """The same statistic with its classes in the places `labels` gives them; classes not named are dropped."""
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
            rows=moved(self.rows, positions, n_groups),
            weight=moved(self.weight, positions, n_groups),
            parts=tuple(part.regroup(positions, n_groups) for part in self.parts),
        )

    def cancellation(self, left: Self) -> float:
        return max((a.cancellation(b) for a, b in zip(self.parts, left.parts, strict=True)), default=1.0)
