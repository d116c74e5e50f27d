"""How often each value turned up in each group and column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._stored import flags, floats, reals, stored
from mercer._typing import Array
from mercer.stats.base import as_block, ratio
from mercer.stats.tally import Tally

#: whole numbers below this are their own codes; others are looked up
OWN_CODES = 1 << 16


@stored(levels=floats("l"), declared=flags("."), rows=reals("gdl"), counts=reals("gdl"))
@dataclass(frozen=True)
class ValueCounts(Tally):
    """A histogram of the values of every column: `rows` and weighted `counts` of shape (groups, columns, values)."""

    @classmethod
    def zero(cls, groups: int, columns: int) -> Self:
        shape = (groups, columns, 0)
        return cls(np.zeros(0), np.zeros(0, dtype=bool), np.zeros(shape, dtype=np.int64), np.zeros(shape))

    @property
    def mean(self) -> Array:
        """Mean value, with an axis for the one component of T; 0 where nothing was seen."""
        return ratio(self.counts @ self.levels, self.weight)[..., None]

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.levels).all())

    def histogram(self, group: int, column: int) -> tuple[Array, Array]:
        """The values seen, and the weight of each."""
        seen = self.rows[group, column] > 0
        return self.levels[seen], self.counts[group, column, seen]

    def update(self, x: Any, groups: Array, weight: Array | None = None) -> Self:
        codes, labels = _coded(as_block(x))
        return self.merge(self._counted(codes, labels, groups, weight))


def _coded(x: Array) -> tuple[Array, Array]:
    """Codes (−1 where missing) and the values they stand for."""
    missing = np.isnan(x)
    values = np.where(missing, 0.0, x)
    highest = values.max(initial=0.0)
    if highest < OWN_CODES and (values >= 0).all() and (values == np.floor(values)).all():
        labels, codes = np.arange(highest + 1), values.astype(np.int32)
    else:
        labels, places = np.unique(values, return_inverse=True)
        codes = places.reshape(x.shape).astype(np.int32)
    codes[missing] = -1
    return codes, labels
