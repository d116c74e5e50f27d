"""All models one after the other, as long as there is time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from mercer._typing import Array
from mercer.comparison.entry import Entry
from mercer.comparison.racing.budget import Budget, OutOfTime
from mercer.comparison.racing.crossvalidation import cross_validate
from mercer.comparison.racing.shared_features import SharedFeatures
from mercer.comparison.taking_part.entrants import Entrant
from mercer.comparison.taking_part.inner import InnerFolds
from mercer.using.tasks import Split, Task

#: told the stage, how many of its steps are done, of how many, and what is next
Progress = Callable[[str, int, int, str], None]


def untold(stage: str, done: int, total: int, name: str) -> None:
    """To whom nothing is told."""


@dataclass
class Race:
    """What is done so far, and who was left out for lack of time."""

    task: Task
    splits: list[Split]
    units: Array
    budget: Budget
    tell: Progress
    inner: InnerFolds | None = None
    entries: list[Entry] = field(default_factory=list)
    late: list[str] = field(default_factory=list)

    @cached_property
    def _shared(self) -> SharedFeatures:
        return SharedFeatures(len(self.splits))

    def run(self, entrants: list[Entrant]) -> None:
        """Cross-validate each in turn; on Ctrl-C `entries` has those that were done."""
        total = len(self.splits) * len(entrants)
        for place, entrant in enumerate(entrants):
            try:
                self.entries.append(self._run(entrant, place, total))
            except OutOfTime as reason:
                self.late.append(f"{entrant.name} ({reason})")
        self.tell("cross-validation", total, total, "")

    def aside(self, entrant: Entrant) -> Entry:
        """Cross-validate a model that costs next to nothing, whatever time is left; it is not one of the `entries`."""
        return cross_validate(entrant, self.task, self.splits, self.units, before_split=lambda: None, inner=self.inner)

    def notes(self) -> list[str]:
        if not self.late:
            return []
        return [f"Left out to keep {self.budget.name}: {', '.join(self.late)}."]

    @property
    def candidates(self) -> list[Entry]:
        """The entries that may be recommended."""
        return [entry for entry in self.entries if entry.kind != "reference"]

    @property
    def reference(self) -> Entry | None:
        return next((entry for entry in self.entries if entry.kind == "reference"), None)

    def unfinished(self, entrants: list[Entrant]) -> list[str]:
        """Names of candidates that were not done, whatever the reason."""
        done = {entry.name for entry in self.entries}
        return [entrant.name for entrant in entrants if entrant.name not in done and entrant.kind != "reference"]

    def stopped(self, entrants: list[Entrant]) -> str:
        """A note on those that Ctrl-C left no time for."""
        return f"Stopped by Ctrl-C before these were done: {', '.join(self.unfinished(entrants))}."

    def _run(self, entrant: Entrant, place: int, total: int) -> Entry:
        begun: list[float] = []

        def before_split() -> None:
            begun.append(self.budget.elapsed)
            done = len(begun) - 1
            fold = f"{entrant.name}, fold {done + 1} of {len(self.splits)}"
            self.tell("cross-validation", len(self.splits) * place + done, total, fold)
            self.budget.check(len(self.splits), [later - earlier for earlier, later in pairwise(begun)])

        self.budget.check_cost(entrant.model, entrant.table, self.splits)
        with self.budget.cutting():
            return cross_validate(
                entrant,
                self.task,
                self.splits,
                self.units,
                before_split=before_split,
                inner=self.inner,
                shared=self._shared,
            )
