"""What models are asked, as far as it decides who takes part."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from mercer.comparison.taking_part.inner import INNER_FOLDS, Inner
from mercer.using.tasks import Amounts, OrderedClasses, Task

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
    #: whether every amount is above 0
    positive: bool = True
    #: ordered labels, lowest first
    order: tuple[Any, ...] = ()

    @property
    def classes(self) -> bool:
        """Whether classes are predicted, ordered or not."""
        return self.task in ("classification", "ordered")

    @classmethod
    def of(cls, task: Task, inner: Inner | None) -> Self:
        positive = not isinstance(task, Amounts) or bool((task.y > 0).all())
        order = tuple(task.labels.tolist()) if isinstance(task, OrderedClasses) else ()
        return cls(task.name, task.outputs, task.rarest, inner, positive, order)
