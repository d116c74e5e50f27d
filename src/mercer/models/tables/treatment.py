"""What becomes of a column: an order for the features of all columns, and who is told of levels never seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import UnseenCategoryError, UnseenCategoryWarning
from mercer._stored import stored
from mercer._suggest import did_you_mean, quoted
from mercer._warn import warn
from mercer.data.table import Table
from mercer.designs.encoded import NumberPart, Part
from mercer.report.wording import counted

#: features come in this order, so that numbers are one block
NUMBERS, LEVELS, WORDS = 0, 1, 2


@stored()
class Slot(NamedTuple):
    """A run of features of one column."""

    order: int
    names: Sequence[str]


@dataclass
class Unseen:
    """What happens when values turn up that no row of the fit had: "warn", "error" or "ignore"."""

    policy: str
    found: list[str] = field(default_factory=list)

    def tell(self, column: str, value: Any, row: int, known: Sequence[Any]) -> None:
        if self.policy == "ignore":
            return
        what = f"Column {column!r} is {quoted(value)} in row {row}, which was never seen when this was fitted."
        if self.policy == "error":
            guess = did_you_mean(str(value), [str(label) for label in known])
            raise UnseenCategoryError(
                f"{what} {guess} Correct it, fit again on rows that show it, or use unseen='ignore'."
            )
        self.found.append(what)

    def tell_levels(self, levels: str) -> None:
        """The same of levels in the words of somebody else."""
        what = f"A column holds {levels}, never seen when this was fitted, which counts as its first level."
        if self.policy == "error":
            raise UnseenCategoryError(f"{what} Fit again on rows that show it, or use unseen='ignore'.")
        self.found += [what] * (self.policy == "warn")

    def warn(self) -> None:
        """Say once what was found in all columns."""
        if self.found:
            more = f" Nor were values of {counted(len(self.found) - 1, 'more column')}." if len(self.found) > 1 else ""
            warn(
                f"{self.found[0]}{more} Such values say nothing to the model; fit again on rows that show them, or "
                "silence this with unseen='ignore'.",
                UnseenCategoryWarning,
            )


class Treatment(ABC):
    """A column as it was learnt. `slots` and `parts` go together, one part for each slot."""

    column: str

    @abstractmethod
    def described(self) -> str:
        """What is done, in a few words."""

    @abstractmethod
    def slots(self) -> list[Slot]: ...

    @abstractmethod
    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]: ...


@stored()
@dataclass(frozen=True)
class LeftOut(Treatment):
    """Nothing of it is used."""

    column: str
    reason: str

    def described(self) -> str:
        return f"left out: {self.reason}"

    def slots(self) -> list[Slot]:
        return []

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        return []


def side_by_side(parts: list[tuple[int, Part]]) -> list[Part]:
    """Parts by the order of their slots, those of numbers next to each other as one."""
    ordered = [part for _, part in sorted(parts, key=lambda pair: pair[0])]
    blocks = [list(group) for _, group in groupby(ordered, key=lambda part: isinstance(part, NumberPart))]
    joined: list[Part] = []
    for block in blocks:
        numbers = [part.X for part in block if isinstance(part, NumberPart)]
        joined += [NumberPart(np.hstack(numbers))] if len(numbers) > 1 else block
    return joined


def distinct(names: list[str]) -> list[str]:
    """Names with a number behind those that occur a second time: a word may be "missing"."""
    times: Counter[str] = Counter()
    for j, name in enumerate(names):
        times[name] += 1
        if times[name] > 1:
            names[j] = f"{name} ({times[name]})"
    return names
