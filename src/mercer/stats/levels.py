"""How often each level of a categorical column turned up in each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from mercer._stored import flags, reals, stored, values
from mercer._typing import Array
from mercer.data.coding import Coded
from mercer.stats.base import ratio
from mercer.stats.tally import NO_LEVELS, Tally, union_of_levels


@stored(levels=values("l"), declared=flags("."), rows=reals("gl"), counts=reals("gl"))
@dataclass(frozen=True)
class LevelCounts(Tally):
    """One categorical column: `rows` and weighted `counts` of shape (groups, levels)."""

    @classmethod
    def zero(cls, groups: int, *, declared: Array = NO_LEVELS) -> Self:
        """`declared` are levels that stay even while no row shows them, as the categories of a dtype do."""
        levels = union_of_levels(np.asarray(declared), NO_LEVELS)
        shape = (groups, len(levels))
        return cls(levels, np.ones(len(levels), dtype=bool), np.zeros(shape, dtype=np.int64), np.zeros(shape))

    @property
    def mean(self) -> Array:
        """Share of each level in each group; 0 where nothing has been seen."""
        return ratio(self.counts, self.weight[:, None])

    def update(self, x: Coded, groups: Array, weight: Array | None = None) -> Self:
        codes = np.require(x.codes, np.int32, ["C", "W"])[:, None]
        return self.merge(self._counted(codes, np.asarray(x.labels), groups, weight))
