"""Categories as codes of their levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.data.coding import Coded, drop_missing_words
from mercer.data.levels import Levels, Occurrences
from mercer.data.scales import ends_of_scale, nearest_levels
from mercer.data.table import Table
from mercer.designs.encoded import CodePart, NumberPart, Part
from mercer.models.tables._reading import labels_of, refuse_gaps
from mercer.models.tables.numbers import Gaps
from mercer.models.tables.treatment import LEVELS, Slot, Treatment, Unseen

#: characters of a level in the name of its feature
LONGEST_NAME = 60


@stored(tag="TableCategory")
@dataclass(frozen=True)
class Category(Treatment):
    """A feature for each level that was seen, one for all that are rare, and one for missing values."""

    column: str
    levels: Levels
    missing: str
    #: whether levels are strings; None if some are
    text: bool | None

    @property
    def ends(self) -> tuple[int, int] | None:
        """The lowest and the highest of levels that are a scale: numbers beyond them count as these; None of others."""
        levels = [*self.levels.kept, *self.levels.rare]
        return ends_of_scale(self.column, levels) if self.text is False else None

    @classmethod
    def learnt(cls, column: str, seen: Occurrences, gaps: Gaps, **options: Any) -> Self:
        """From what was counted."""
        levels = Levels.of(seen, missing="level" if gaps.missing == "indicator" else "zeros", **options)
        return cls(column, levels, gaps.missing, _are_strings(seen.labels))

    def described(self) -> str:
        rare = f", {len(self.levels.rare)} rare ones as one" if self.levels.rare else ""
        gaps = ", and whether it is missing" if self.levels.own_missing else ""
        return f"a feature for each level{rare}{gaps}"

    def slots(self) -> list[Slot]:
        extra = ["missing"] * self.levels.own_missing + ["infrequent"] * self.levels.pooled
        return [Slot(LEVELS, [f"{self.column}[{_shortened(str(level))}]" for level in (*self.levels.kept, *extra)])]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        coded = drop_missing_words(labels_of(table, position, text=self.text), {*self.levels.kept, *self.levels.rare})
        gaps = coded.codes < 0
        if self.missing == "error":
            refuse_gaps(self.column, gaps)
        self._tell(coded, unseen)
        coded = coded._replace(labels=nearest_levels(coded.labels, self.ends))
        codes = CodePart(self.levels.codes(self.column, coded), self.levels.n_columns)
        if self.missing != "keep" or not gaps.any():
            return [codes]
        numbers = np.zeros((table.n_rows, codes.n_columns))
        codes.fill(numbers)
        numbers[gaps] = np.nan
        return [NumberPart(numbers)]

    def _tell(self, coded: Coded, unseen: Unseen) -> None:
        known = {*self.levels.kept, *self.levels.rare}
        strange = [code for code, label in enumerate(coded.labels.tolist()) if label not in known]
        there = np.isin(coded.codes, strange)
        if there.any():
            row = int(np.argmax(there))
            unseen.tell(self.column, coded.labels.tolist()[coded.codes[row]], row, self.levels.kept)


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _are_strings(labels: Array) -> bool | None:
    if labels.dtype.kind != "O":
        return False
    return True if all(isinstance(label, str) for label in labels.tolist()) else None
