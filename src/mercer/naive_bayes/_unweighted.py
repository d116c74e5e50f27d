"""Statistics of rows as such, whatever they weigh: a few of scikit-learn's attributes leave weights out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mercer._stored import part_of, stored
from mercer._typing import Array
from mercer.base.generative import StatisticClassifier
from mercer.stats.base import Statistic
from mercer.stats.by_class import ByClass


@stored(part=part_of(Statistic))
@dataclass(frozen=True)
class Unweighted(Statistic):
    """A statistic of all rows together, each counted once."""

    part: Any

    groups: ClassVar[int] = 1

    def empty(self) -> Self:
        return replace(self, part=self.part.empty())

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        return replace(self, part=self.part.update(x, np.zeros_like(groups)))

    def merge(self, other: Self) -> Self:
        return replace(self, part=self.part.merge(other.part))

    def subtract(self, other: Self) -> Self:
        return replace(self, part=self.part.subtract(other.part))

    def regroup(self, positions: Array, n_groups: int) -> Self:
        return self


class CountsRowsApart(StatisticClassifier):
    """Once weights have come in its statistic has each part twice: weighted by class, and `Unweighted`."""

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ByClass:
        statistic = super()._summarise(X, y, sample_weight, reset=reset)
        if sample_weight is None:
            return statistic
        rows = super()._summarise(X, y, None, reset=False)
        return replace(statistic, parts=(*statistic.parts, *_pooled(rows)))

    def _reconcile(self, mine: ByClass, theirs: ByClass) -> tuple[ByClass, ByClass]:
        mine, theirs = super()._reconcile(mine, theirs)
        if len(mine.parts) == len(theirs.parts):
            return mine, theirs
        return _counted_apart(mine), _counted_apart(theirs)


def unweighted(statistic: ByClass) -> list[Any]:
    """The parts of all rows together, each row counted once; none where rows have not been counted apart."""
    return [part.part for part in statistic.parts if isinstance(part, Unweighted)]


def _counted_apart(statistic: ByClass) -> ByClass:
    """With the parts of rows as such; where there are none yet, every row weighed 1."""
    if unweighted(statistic):
        return statistic
    return replace(statistic, parts=(*statistic.parts, *_pooled(statistic)))


def _pooled(statistic: ByClass) -> list[Unweighted]:
    return [Unweighted(part.pooled()) for part in statistic.parts]
