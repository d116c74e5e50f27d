"""What is asked of the models: to name classes, or to predict numbers or counts. Decided by the target."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DataError, EmptyDataError
from mercer.data import encode_labels
from mercer.report import Field

Array = NDArray[Any]
#: positions of the rows to fit on, and of those to score
Fold = tuple[Array, Array]

#: whole numbers with more distinct values than this are counted or measured, not named
MOST_CLASSES = 30
#: … and with more than this they may be
MANY_CLASSES = 10


class Result(NamedTuple):
    """How one classifier did: means over the folds; NaN where there is nothing to report.

    `log_loss` is −log of the probability given to the true class, infinite if that was ever 0. `fit_seconds` is
    the (lower) median, because the first fit of a process may compile.
    """

    model: str
    accuracy: float
    log_loss: float
    fit_seconds: float
    note: str


class RegressionResult(NamedTuple):
    """How one regression model did: means over the folds; NaN where there is nothing to report.

    `explained` is the share of the deviance about the mean of the training rows that the model takes away: R² for
    numbers, and the same with Poisson deviances for counts. `rmse` is the root of the mean squared error.
    """

    model: str
    explained: float
    rmse: float
    fit_seconds: float
    note: str


class Task(ABC):
    """How rows are dealt to folds, what is measured, and in which terms it is reported."""

    name: ClassVar[str]
    result: ClassVar[type[Result] | type[RegressionResult]]
    fields: ClassVar[tuple[Field, ...]]
    #: what the models learn and are scored against
    y: Array

    @property
    def outputs(self) -> int:
        """How many functions of a row are learnt."""
        return 1

    @abstractmethod
    def described(self) -> str:
        """The target in a few words, for the title."""

    @abstractmethod
    def folds(self, cv: int, random_state: int | None) -> list[Fold]:
        """`cv` ways to part the rows, after a check that there is something to part."""

    @abstractmethod
    def score(self, model: Any, X: Any, rows: Array, train: Array) -> tuple[float, float]:
        """The two measures of a model, fitted to the rows `train`, on other rows."""

    def notes(self, cv: int) -> list[str]:
        """What a reader should know about the target."""
        return []


@dataclass(frozen=True, eq=False)
class Classification(Task):
    labels: Array
    codes: Array

    name: ClassVar[str] = "classification"
    result: ClassVar[type[Result]] = Result
    fields: ClassVar[tuple[Field, ...]] = (Field("accuracy", ".4f"), Field("log loss", "#.4g"))

    @property
    def y(self) -> Array:  # type: ignore[override]
        return np.asarray(self.labels[self.codes])

    @property
    def outputs(self) -> int:
        return len(self.labels) if len(self.labels) > 2 else 1

    def described(self) -> str:
        return f"{len(self.labels)} classes"

    def folds(self, cv: int, random_state: int | None) -> list[Fold]:
        if len(self.labels) < 2:
            raise DataError(
                f"Every row has the label {self.labels[0]!r}; to compare classifiers takes at least two classes."
            )
        most = int(np.bincount(self.codes).max())
        if most < 2:
            raise DataError(
                f"Each of the {len(self.codes)} rows has a label of its own, e.g. {self.labels.tolist()[0]!r}, so that "
                "there is no class to learn; give a target that recurs, or, of numbers, the task regression."
            )
        if not 2 <= cv <= most:
            raise DataError(f"There must be from 2 to {most} folds (the rows of the largest class), not {cv}.")
        from sklearn.model_selection import StratifiedKFold

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class with fewer rows than folds is mentioned on the leaderboard
            return list(StratifiedKFold(cv, shuffle=True, random_state=random_state).split(self.codes, self.codes))

    def score(self, model: Any, X: Any, rows: Array, train: Array) -> tuple[float, float]:
        y = self.y[rows]
        accuracy = float((model.predict(X) == y).mean())
        return accuracy, _log_loss(model, X, y) if hasattr(model, "predict_proba") else math.nan

    def notes(self, cv: int) -> list[str]:
        names, counts = self.labels.tolist(), np.bincount(self.codes)
        most, least = int(counts.argmax()), int(counts.argmin())
        share = counts[most] / len(self.codes)
        notes = [f"Always answering {names[most]!r} would be right in {share:.1%} of the rows."]
        if counts[least] < cv:
            notes.append(f"Class {names[least]!r} has {counts[least]} row(s), fewer than there are folds.")
        if self.labels.dtype.kind in "iuf" and len(names) > MANY_CLASSES:
            notes.append("The classes are numbers; the task counts or regression would take them for amounts.")
        return notes


@dataclass(frozen=True, eq=False)
class Regression(Task):
    y: Array

    name: ClassVar[str] = "regression"
    result: ClassVar[type[RegressionResult]] = RegressionResult
    fields: ClassVar[tuple[Field, ...]] = (Field("explained", ".4f"), Field("rmse", "#.4g"))

    def described(self) -> str:
        return f"numbers from {self.y.min():g} to {self.y.max():g}"

    def folds(self, cv: int, random_state: int | None) -> list[Fold]:
        if not 2 <= cv <= len(self.y):
            raise DataError(f"There must be from 2 to {len(self.y)} folds (the rows), not {cv}.")
        from sklearn.model_selection import KFold

        return list(KFold(cv, shuffle=True, random_state=random_state).split(self.y))

    def score(self, model: Any, X: Any, rows: Array, train: Array) -> tuple[float, float]:
        y, predicted, mean = self.y[rows], np.asarray(model.predict(X)), self.y[train].mean()
        with np.errstate(divide="ignore", invalid="ignore"):
            explained = 1 - self._deviance(y, predicted) / self._deviance(y, np.full(len(y), mean))
        return float(explained), float(np.sqrt(np.square(y - predicted).mean()))

    def _deviance(self, y: Array, mean: Array) -> float:
        return float(np.square(y - mean).sum())


@dataclass(frozen=True, eq=False)
class Counts(Regression):
    name: ClassVar[str] = "counts"

    def described(self) -> str:
        return f"counts from {self.y.min():g} to {self.y.max():g}"

    def _deviance(self, y: Array, mean: Array) -> float:
        """−inf explained where a model predicts no count at all, or fewer than none, and one was seen."""
        from mercer.families import Poisson

        possible = (mean > 0) | ((mean == 0) & (y == 0))
        return float(Poisson().unit_deviance(y, mean).sum()) if possible.all() else math.inf


TASKS = ("classification", "regression", "counts")


def task_for(y: Any, n_rows: int, name: str = "auto") -> Task:
    """The task by its name; or decided by the target: text and few whole numbers are classes, many are counts.

    Examples
    --------
    >>> task_for([0.5, 1.5], 2).name, task_for(["a", "b"], 2).name, task_for(range(40), 40).name
    ('regression', 'classification', 'counts')
    """
    if n_rows == 0:
        raise EmptyDataError("There are no rows to compare models on.")
    values = np.asarray(y)
    if values.ndim == 1 and len(values) != n_rows:
        raise DataError(f"X has {n_rows} rows, but y has {len(values)} labels. Give one label per row.")
    match _decided(values) if name == "auto" else name:
        case "classification":
            return Classification(*encode_labels(y))
        case "regression":
            return Regression(_amounts(values))
        case "counts":
            return Counts(_whole(_amounts(values)))
    raise DataError(f"There is no task {name!r}; it is one of {', '.join(TASKS)} or auto.")


def _amounts(y: Array) -> Array:
    if y.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {y.shape} instead. Give one target at a time.")
    numbers = np.array([_is_number(each) for each in y.tolist()]) if y.dtype.kind not in "iufb" else np.isfinite(y)
    if not numbers.all():
        raise DataError(
            f"The target has to be a number in each row, but it is {_first(y, ~numbers)}; drop such rows, or use the "
            "task classification."
        )
    return y.astype(float)


def _whole(y: Array) -> Array:
    odd = (y < 0) | (y != np.floor(y))
    if odd.any():
        raise DataError(f"Counts are 0, 1, 2, …, but the target is {_first(y, odd)}; use the task regression.")
    return y


def _first(y: Array, where: Any) -> str:
    row = int(np.argmax(where))
    return f"{y.tolist()[row]!r} in row {row}"


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _decided(y: Array) -> str:
    if y.dtype.kind not in "iuf" or y.ndim != 1 or not np.isfinite(y).all():
        return "classification"  # which complains of what cannot be a label
    if (y != np.floor(y)).any():
        return "regression"
    if len(np.unique(y[:: max(1, len(y) // 100_000)])) <= MOST_CLASSES:
        return "classification"
    return "counts" if y.min() >= 0 else "regression"


def _log_loss(model: Any, X: Any, y: Array) -> float:
    """Mean of −log p(true class); a class that was not among the training rows has p = 0."""
    with np.errstate(divide="ignore"):
        # a logarithm of what was rounded to 0 would be −∞
        exact = hasattr(model, "predict_log_proba")
        log_proba = np.asarray(model.predict_log_proba(X)) if exact else np.log(model.predict_proba(X))
    known = np.asarray(model.classes_)
    columns = np.searchsorted(known, y).clip(max=len(known) - 1)
    chosen = log_proba[np.arange(len(y)), columns]
    return -float(np.where(known[columns] == y, chosen, -np.inf).mean())
