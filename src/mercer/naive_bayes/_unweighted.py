"""Unweighted statistics beside weighted ones, for attributes in which scikit-learn ignores `sample_weight`.

These are `GaussianNB.epsilon_`, a portion of the unweighted variance, and `CategoricalNB.n_categories_`, which counts
categories of rows without weight. Both have to stay exact under `merge` and `forget`, which needs a statistic of their
own. It is kept from the first weighted batch on; until then every weight is 1 and both statistics are the same.
"""

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
class UnweightedPart(Statistic):
    """A statistic of all classes together in which every row has weight 1."""

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


class UnweightedStatisticsMixin(StatisticClassifier):
    """Mixin that adds an `UnweightedPart` for each part of the statistic as soon as rows have weights."""

    def _summarise(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> ByClass:
        statistic = super()._summarise(X, y, sample_weight, reset=reset)
        if sample_weight is None:
            return statistic
        rows = super()._summarise(X, y, None, reset=False)
        return replace(statistic, parts=(*statistic.parts, *_pool(rows)))

    def _reconcile(self, mine: ByClass, theirs: ByClass) -> tuple[ByClass, ByClass]:
        mine, theirs = super()._reconcile(mine, theirs)
        if len(mine.parts) == len(theirs.parts):
            return mine, theirs
        return _with_unweighted_parts(mine), _with_unweighted_parts(theirs)


def unweighted_parts(statistic: ByClass) -> list[Any]:
    """Return the statistics in which every row has weight 1; an empty list where no row had a weight."""
    return [part.part for part in statistic.parts if isinstance(part, UnweightedPart)]


def _with_unweighted_parts(statistic: ByClass) -> ByClass:
    """Return a statistic with unweighted parts; where it has none, every weight was 1."""
    if unweighted_parts(statistic):
        return statistic
    return replace(statistic, parts=(*statistic.parts, *_pool(statistic)))


def _pool(statistic: ByClass) -> list[UnweightedPart]:
    return [UnweightedPart(part.pool()) for part in statistic.parts]
