"""What the rows of a fit show of a column: asked for by what it is to become, answered by a table or a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from mercer._typing import Array
from mercer.data.coding import Coded
from mercer.data.kinds import Kind
from mercer.data.levels import Occurrences
from mercer.data.table import Table, blocks_of_columns
from mercer.designs.encoded import Part
from mercer.models.tables._reading import days_of, labels_of, numbers_of
from mercer.models.tables._spread import DaysSeen, Spread
from mercer.models.tables.numbers import Gaps
from mercer.models.tables.texts import Text


class Manner(NamedTuple):
    """What was asked of all columns."""

    missing: str
    scaled: bool
    vectorizer: Any
    #: options of `Levels`
    levels: Mapping[str, Any]
    #: for vectorisers whose weights depend on classes
    y: Any
    #: where features of the rows of the fit are put that were found on the way
    made: dict[str, list[Part]]


class Evidence(Protocol):
    """One column of a fit. What is not what it is asked for raises an error that names a row."""

    @property
    def present(self) -> int:
        """How many rows have a value."""

    def gaps(self, missing: str) -> Gaps:
        """Whether rows have none, which may be refused."""

    def numbers(self) -> Spread:
        """Where its numbers lie."""

    def days(self) -> tuple[Spread, DaysSeen]:
        """Where its dates lie."""

    def labels(self) -> Occurrences:
        """Which labels it has, and how often."""

    def text(self, manner: Manner) -> Text:
        """What a vectoriser learns of its documents."""


@dataclass(frozen=True, eq=False)
class InTable:
    """A column whose rows are all there."""

    table: Table
    position: int
    #: where its numbers lie, if that is known already: it has no gaps then
    spread: Spread | None = None

    @classmethod
    def all_of(cls, table: Table) -> list[Self]:
        """Return all columns of a table; those of numbers are read together, as many as fit a block."""
        spreads: dict[int, Spread | None] = {}
        for columns in blocks_of_columns(table, frozenset(Kind) - {Kind.DATE}):
            numbers = np.asarray(table.numbers(columns), dtype=np.float64)
            spreads |= dict(zip(columns, Spread.of_columns(numbers), strict=True))
        return [cls(table, j, spreads.get(j)) for j in range(table.n_columns)]

    @property
    def present(self) -> int:
        return int((~self._missing()).sum())

    def gaps(self, missing: str) -> Gaps:
        if self.spread is not None:
            return Gaps(missing, False)
        return Gaps.of(self.table.names[self.position], self._missing(), missing)

    def _missing(self) -> Array:
        if self.table.kinds[self.position].numeric:  # without a look at which numbers there are
            return np.isnan(self.table.numbers([self.position])[:, 0])
        return np.asarray(self._coded.codes < 0)

    @cached_property
    def _coded(self) -> Coded:
        return labels_of(self.table, self.position, text=None)

    def numbers(self) -> Spread:
        return Spread.of(numbers_of(self.table, self.position)) if self.spread is None else self.spread

    def days(self) -> tuple[Spread, DaysSeen]:
        days = days_of(self.table, self.position)
        return Spread.of(days), DaysSeen.of(days, self.table.zone(self.position))

    def labels(self) -> Occurrences:
        return Occurrences.zero().update(self._coded, self.table.declared_levels(self.position))

    def text(self, manner: Manner) -> Text:
        text, parts = Text.of(self.table, self.position, manner.vectorizer, manner.y, manner.missing)
        manner.made[text.column] = parts
        return text
