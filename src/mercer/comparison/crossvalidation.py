"""One model on every fold."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from statistics import median_low
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DataError, EmptyDataError
from mercer.comparison.entrants import Entrant
from mercer.data import Table

Array = NDArray[Any]
#: positions of the rows to fit on, and of those to score
Fold = tuple[Array, Array]


class Result(NamedTuple):
    """How one model did: means over the folds; NaN where there is nothing to report.

    `log_loss` is −log of the probability given to the true class, infinite if that was ever 0. `fit_seconds` is
    the (lower) median, because the first fit of a process may compile.
    """

    model: str
    accuracy: float
    log_loss: float
    fit_seconds: float
    note: str


class Score(NamedTuple):
    """How one model did on one fold."""

    accuracy: float
    log_loss: float
    fit_seconds: float


def stratified_folds(table: Table, labels: Array, codes: Array, *, cv: int, random_state: int | None) -> list[Fold]:
    """Deal the rows of each class to `cv` folds, after a check that there is something to deal."""
    if table.n_rows == 0:
        raise EmptyDataError("There are no rows to compare models on.")
    if table.n_rows != len(codes):
        raise DataError(f"X has {table.n_rows} rows, but y has {len(codes)} labels. Give one label per row.")
    if len(labels) < 2:
        raise DataError(f"Every row has the label {labels[0]!r}; to compare classifiers takes at least two classes.")
    most = int(np.bincount(codes).max())
    if not 2 <= cv <= most:
        raise DataError(f"There must be from 2 to {most} folds (the rows of the largest class), not {cv}.")
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds is mentioned on the leaderboard
        return list(StratifiedKFold(cv, shuffle=True, random_state=random_state).split(codes, codes))


def cross_validate(entrant: Entrant, y: Array, folds: list[Fold], *, before_fold: Callable[[int], None]) -> Result:
    """Fit and score a model on every fold. Whatever it fails of, or warns of, becomes the note of its result."""
    scores = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, fold in enumerate(folds):
            before_fold(number)
            try:
                scores.append(score(entrant, y, fold))
            except Exception as failure:
                return Result(entrant.name, math.nan, math.nan, math.nan, f"fold {number + 1}: {_described(failure)}")
    accuracy, log_loss, fit_seconds = np.array(scores).T
    note = _described(caught[0].message) if caught else ""
    return Result(entrant.name, float(accuracy.mean()), float(log_loss.mean()), median_low(fit_seconds.tolist()), note)


def score(entrant: Entrant, y: Array, fold: Fold) -> Score:
    """Fit a fresh copy of the model on the rows of a fold and score it on the others."""
    from sklearn.base import clone

    train, test = fold
    model, X = clone(entrant.model), entrant.table.take(train).native
    start = time.perf_counter()
    model.fit(X, y[train])
    fit_seconds = time.perf_counter() - start
    X = entrant.table.take(test).native
    accuracy = float((model.predict(X) == y[test]).mean())
    log_loss = _log_loss(model, X, y[test]) if hasattr(model, "predict_log_proba") else math.nan
    return Score(accuracy, log_loss, fit_seconds)


def _log_loss(model: Any, X: Any, y: Array) -> float:
    """Mean of −log p(true class); a class that was not among the training rows has p = 0."""
    with np.errstate(divide="ignore"):
        log_proba = np.asarray(model.predict_log_proba(X))
    known = np.asarray(model.classes_)
    columns = np.searchsorted(known, y).clip(max=len(known) - 1)
    chosen = log_proba[np.arange(len(y)), columns]
    return -float(np.where(known[columns] == y, chosen, -np.inf).mean())


def _described(problem: Exception | Warning | str) -> str:
    """Type and first line of an exception or a warning."""
    first = next(iter(str(problem).strip().splitlines()), "")
    return f"{type(problem).__name__}: {first}"
