"""One model on every fold."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from statistics import median_low

import numpy as np

from mercer.comparison.entrants import Entrant
from mercer.comparison.tasks import Fold, RegressionResult, Result, Task


def cross_validate(
    entrant: Entrant, task: Task, folds: list[Fold], *, before_fold: Callable[[int], None]
) -> Result | RegressionResult:
    """Fit and score a model on every fold. Whatever it fails of, or warns of, becomes the note of its result."""
    scores = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, fold in enumerate(folds):
            before_fold(number)
            try:
                scores.append(score(entrant, task, fold))
            except Exception as failure:
                note = f"fold {number + 1}: {_described(failure)}"
                return task.result(entrant.name, math.nan, math.nan, math.nan, note)
    first, second, fit_seconds = np.array(scores).T
    note = _described(caught[0].message) if caught else ""
    return task.result(entrant.name, float(first.mean()), float(second.mean()), median_low(fit_seconds.tolist()), note)


def score(entrant: Entrant, task: Task, fold: Fold) -> tuple[float, float, float]:
    """Fit a fresh copy of the model on the rows of a fold; its two measures on the others, and seconds of fitting."""
    from sklearn.base import clone

    train, test = fold
    model, X = clone(entrant.model), entrant.table.take(train).native
    start = time.perf_counter()
    model.fit(X, task.y[train])
    fit_seconds = time.perf_counter() - start
    return *task.score(model, entrant.table.take(test).native, test, train), fit_seconds


def _described(problem: Exception | Warning | str) -> str:
    """Type and first line of an exception or a warning."""
    first = next(iter(str(problem).strip().splitlines()), "")
    return f"{type(problem).__name__}: {first}"
