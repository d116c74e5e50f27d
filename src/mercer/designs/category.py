"""A categorical column: its levels, and new values as positions among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer._errors import NonFiniteError, UnseenCategoryError
from mercer._jit import codes as loops
from mercer._suggest import did_you_mean, quoted
from mercer.data.coding import Coded

Array = NDArray[Any]


@dataclass(frozen=True)
class Category:
    """Levels that occurred, each with a coefficient; where `drop_first`, all but the first, which has 0."""

    column: str
    levels: tuple[Any, ...]
    drop_first: bool

    @classmethod
    def of(cls, column: str, coded: Coded, declared: Array | None, *, drop_first: bool) -> Self:
        """Levels in the order that is declared, or else sorted (mixed types: as they print)."""
        counts = np.zeros(len(coded.labels) + 1, dtype=np.int64)
        loops.count(np.require(coded.codes, np.int32, ["C", "W"]), counts)
        if counts[-1]:
            raise _missing(column, coded)
        occurring = coded.labels[counts[:-1] > 0].tolist()
        if declared is not None:
            seen = set(occurring)
            return cls(column, tuple(level for level in declared.tolist() if level in seen), drop_first)
        try:
            return cls(column, tuple(sorted(occurring)), drop_first)
        except TypeError:
            return cls(column, tuple(sorted(occurring, key=str)), drop_first)

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
