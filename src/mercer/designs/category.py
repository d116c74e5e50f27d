"""A categorical column: its levels, and new values as positions among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._errors import NonFiniteError, UnseenCategoryError
from mercer._jit.designs import codes as loops
from mercer._stored import stored
from mercer._suggest import did_you_mean, quoted
from mercer._typing import Array
from mercer.data.coding import Coded
from mercer.data.kinds import Kind
from mercer.data.table import Table


def category_places(table: Table) -> list[int]:
    """Which columns of a table are categories."""
    return [j for j, kind in enumerate(table.kinds) if kind is Kind.CATEGORY]


def in_order(seen: Sequence[Any], declared: Sequence[Any] | None) -> tuple[Any, ...]:
    """Levels that were seen, in the order that is declared, or else sorted (mixed types: as they print)."""
    if declared is not None:
        among = set(seen)
        return tuple(level for level in declared if level in among)
    try:
        return tuple(sorted(seen))
    except TypeError:
        return tuple(sorted(seen, key=str))


@stored(tag="DesignCategory")
@dataclass(frozen=True)
class Category:
    """Levels that occurred, each with a coefficient; where `drop_first`, all but the first, which has 0."""

    column: str
    levels: tuple[Any, ...]
    drop_first: bool

    @classmethod
    def of(cls, column: str, coded: Coded, declared: Array | None, *, drop_first: bool) -> Self:
        """With the levels that occur; see `in_order`."""
        counts = np.zeros(len(coded.labels) + 1, dtype=np.int64)
        loops.count(np.require(coded.codes, np.int32, ["C", "W"]), counts)
        if counts[-1]:
            raise _missing(column, coded)
        occurring = coded.labels[counts[:-1] > 0].tolist()
        return cls(column, in_order(occurring, None if declared is None else declared.tolist()), drop_first)

    @property
    def names(self) -> tuple[str, ...]:
        """One for each coefficient."""
        return tuple(f"{self.column}[{level}]" for level in self.levels[self.drop_first :])

    def codes(self, coded: Coded) -> Array:
        """Positions of values among the levels; each must be one of them."""
        if coded.codes.min(initial=0) < 0:
            raise _missing(self.column, coded)
        place = {level: position for position, level in enumerate(self.levels)}
        places = np.array([place.get(label, -1) for label in coded.labels.tolist()], dtype=np.int32)
        if np.array_equal(places, np.arange(len(places))):
            return coded.codes
        codes = places[coded.codes]
        if (places < 0).any() and (unseen := codes < 0).any():
            raise self._unseen_level(coded.labels.tolist()[coded.codes[np.argmax(unseen)]])
        return np.asarray(codes)

    def _unseen_level(self, level: Any) -> UnseenCategoryError:
        return UnseenCategoryError(
            f"Column {self.column!r} holds {quoted(level)}, which was never seen when the model was fitted and so has "
            f"no coefficient. {did_you_mean(str(level), map(str, self.levels))} Correct it, leave those rows out, or "
            "fit again on rows that show every level."
        )


def _missing(column: str, coded: Coded) -> NonFiniteError:
    return NonFiniteError(
        f"Input X contains NaN. Column {column!r} has a missing value in row {int(np.argmax(coded.codes < 0))}; give "
        'missing values a level of their own, e.g. "unknown", or leave those rows out.'
    )
