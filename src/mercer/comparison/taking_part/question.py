"""What models are asked, as far as it decides who takes part."""

from __future__ import annotations

from typing import NamedTuple, Self

from mercer.comparison.taking_part.inner import INNER_FOLDS, Inner
from mercer.using.tasks import Task

#: rows of the rarest class that are enough to choose a penalty by folds
ENOUGH = 2 * INNER_FOLDS


class Question(NamedTuple):
    """The task, how many functions are learnt, and how many rows the rarest class has.

    `inner` are the folds to choose by, where rows of one group, or later ones, must not be among those chosen from.
    """

    task: str = "classification"
    outputs: int = 1
    rarest: int = ENOUGH
    inner: Inner | None = None

    @classmethod
    def of(cls, task: Task, inner: Inner | None) -> Self:
        return cls(task.name, task.outputs, task.rarest, inner)
