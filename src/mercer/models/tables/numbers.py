"""Numbers in standard units, two values as 0 and 1, and where values are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.data.coding import drop_missing_words
from mercer.data.levels import Occurrences
from mercer.data.table import Table
from mercer.designs.encoded import NumberPart, Part
from mercer.models.tables._reading import labels_of, numbers_of, refuse_gaps
from mercer.models.tables._spread import Scale
from mercer.models.tables.treatment import NUMBERS, Slot, Treatment, Unseen

#: columns from which numbers are read and computed together
FEWEST_AT_ONCE = 50


@stored()
class Gaps(NamedTuple):
    """What is done about missing values, and whether rows of the fit have some."""

    missing: str
    seen: bool

    @classmethod
    def of(cls, column: str, gaps: Array, missing: str) -> Self:
        """Those of the rows of a fit, which may not be allowed to have any."""
        found = cls(missing, bool(gaps.any()))
        found.refuse(column, gaps)
        return found

    def refuse(self, column: str, gaps: Array) -> None:
        """Name the first row that has none, where that is an error."""
        if self.missing == "error":
            refuse_gaps(column, gaps)

    @property
    def told(self) -> bool:
        """Whether there is a feature that says where they are."""
        return self.missing == "indicator" and self.seen

    def names(self, column: str) -> list[str]:
        return [f"{column}[missing]"] if self.told else []

    def filled(self, values: Array, gaps: Array, mean: float) -> Array:
        """Values of a column with what stands for those that are missing, and beside them where they are."""
        whole = np.where(gaps, np.nan if self.missing == "keep" else mean, values)
        return np.column_stack([whole, gaps]) if self.told else whole[:, None]

    def described(self) -> str:
        return ", and whether it is missing" if self.told else ""


@stored()
@dataclass(frozen=True)
class Number(Treatment):
    """(x − mean)/deviation, or x itself if nothing is to be scaled; gaps get the mean."""

    column: str
    scale: Scale
    scaled: bool
    gaps: Gaps

    def described(self) -> str:
        return ("standardised" if self.scaled else "as it is") + self.gaps.described()

    def slots(self) -> list[Slot]:
        return [Slot(NUMBERS, [self.column, *self.gaps.names(self.column)])]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        return [NumberPart(self.columns(numbers_of(table, position)))]

    def columns(self, values: Array) -> Array:
        """Features of values, NaN where they are missing."""
        gaps = np.isnan(values)
        self.gaps.refuse(self.column, gaps)
        units, mean = (self.scale.units(values), 0.0) if self.scaled else (values, self.scale.mean)
        return self.gaps.filled(units, gaps, mean)


def numbers_at_once(numbers: Sequence[Number], table: Table) -> tuple[dict[str, int], Array]:
    """Return columns of numbers in standard units, read and computed together: of thousands, one by one takes a while.

    Left out are columns that have to be read by themselves: what is not a number here, infinite or huge values, gaps.

    Returns
    -------
    places : dict from str to int
        Columns of `units` by the names of the columns, in their order.
    units : array of shape (n_rows, n_columns)
        The features.
    """
    plain = [
        each
        for each in numbers
        if each.scaled and not each.gaps.told and each.scale.plain and table.kinds[table.positions[each.column]].numeric
    ]
    if len(plain) < FEWEST_AT_ONCE:
        return {}, np.empty((table.n_rows, 0))
    values = np.asarray(table.numbers([table.positions[each.column] for each in plain]), dtype=np.float64)
    mean, deviation = np.array([each.scale for each in plain]).T
    with np.errstate(over="ignore"):
        units = (values - mean) / deviation
    finite = np.atleast_1d(np.isfinite(values).all(axis=0))
    return {each.column: j for j, each in enumerate(plain) if finite[j]}, units


@stored()
@dataclass(frozen=True)
class OnlyGaps(Treatment):
    """Of a column with a single value: 1 where it is missing."""

    column: str

    def described(self) -> str:
        return "whether it is missing"

    def slots(self) -> list[Slot]:
        return [Slot(NUMBERS, Gaps("indicator", True).names(self.column))]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        return [NumberPart((table.coded(position).codes < 0)[:, None].astype(np.float64))]


@stored()
@dataclass(frozen=True)
class Binary(Treatment):
    """1 where it is the second of two values, 0 where the first; gaps, and other values, get the share of ones."""

    column: str
    levels: tuple[Any, Any]
    share: float
    gaps: Gaps

    @classmethod
    def learnt(cls, column: str, seen: Occurrences, levels: tuple[Any, Any], gaps: Gaps) -> Self:
        """From what was counted of the two levels."""
        ones = seen.counts[seen.labels.tolist().index(levels[1])]
        return cls(column, levels, float(ones / seen.counts.sum()), gaps)

    def described(self) -> str:
        return f"1 where it is {self.levels[1]}{self.gaps.described()}"

    def slots(self) -> list[Slot]:
        return [Slot(NUMBERS, [self.column, *self.gaps.names(self.column)])]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        coded = drop_missing_words(labels_of(table, position, text=isinstance(self.levels[1], str)), self.levels)
        self.gaps.refuse(self.column, coded.codes < 0)
        places = [self.levels.index(label) if label in self.levels else np.nan for label in coded.labels.tolist()]
        found = np.asarray([*places, np.nan], dtype=float)[coded.codes]
        strange = np.isnan(found) & (coded.codes >= 0)
        if strange.any():
            row = int(np.argmax(strange))
            unseen.tell(self.column, coded.labels.tolist()[coded.codes[row]], row, self.levels)
        return [NumberPart(self.gaps.filled(found, np.isnan(found), self.share))]
