"""Folds within training rows, for what a model chooses in its fit: parted by groups or by time, as the splits are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer.comparison.measuring.splits import deal
from mercer.using.tasks import Split, Task

#: folds within the training rows
INNER_FOLDS = 3
#: fixes them
SEED = 0


class Inner:
    """A splitter that all searches of a comparison share: it has the folds of the rows that are being fitted to.

    A model is shown rows, not which rows they are; whoever fits it says so (`InnerFolds.within`). Copies are the same
    object, so that a search within a model within another hears of it, too; and it is written without its folds, so
    that a fitted model is no larger for them.

    Parameters
    ----------
    described : str
        How rows are parted, in a few words.
    """

    def __init__(self, described: str = "") -> None:
        self.described = described
        self.splits: list[Split] = []

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """The folds; the arguments are those of any splitter."""
        if not self.splits:
            raise DataError("There are too few rows in the training set to choose by folds; give more rows.")
        yield from self.splits

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return len(self.splits)

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        return type(self), (self.described,)

    def __repr__(self) -> str:
        return "Inner()"


class InnerFolds:
    """Folds within any of the rows of a comparison, and the splitter that hands them to its models.

    Parameters
    ----------
    task : Task
        What is asked of all rows.
    groups, times : array-like of shape (n_rows,) or None
        Rows of one group are never parted; the past foretells what came later.
    """

    def __init__(self, task: Task, groups: Any = None, times: Any = None) -> None:
        self._task = task
        self._groups, self._times = (None if each is None else np.asarray(each) for each in (groups, times))
        self._dealt: dict[bytes, list[Split]] = {}
        self.splitter = Inner("forward in time" if times is not None else "by folds of whole groups")

    @contextmanager
    def within(self, rows: Array) -> Iterator[None]:
        """What is fitted in the block is fitted to these rows."""
        self.splitter.splits = self._deal(rows)
        try:
            yield
        finally:
            self.splitter.splits = []

    def _deal(self, rows: Array) -> list[Split]:
        """Folds of rows, dealt once for all models: fewer where there are few groups or moments, plain where one."""
        key = rows.tobytes()
        if key not in self._dealt:
            question = self._task.of_rows(rows)
            groups, times = (None if each is None else each[rows] for each in (self._groups, self._times))
            self._dealt[key] = _first_possible(question, groups, times)
        return self._dealt[key]


def _first_possible(question: Task, groups: Any, times: Any) -> list[Split]:
    for folds, parted in ((INNER_FOLDS, True), (2, True), (INNER_FOLDS, False)):
        try:
            return deal(question, folds, 1, SEED, *((groups, times) if parted else ())).splits
        except DataError:
            continue
    return []
