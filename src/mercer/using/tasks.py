"""What is asked of the models: to name classes, or to predict numbers or counts. Decided by the target."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DataError, EmptyDataError
from mercer.data.labels import encode_labels
from mercer.decide._wrapped import log_probabilities
from mercer.using.metrics import CLASSES, COUNTS, NUMBERS, Forecast, Metric, Outcome

Array = NDArray[Any]
#: whole numbers with more distinct values than this are counted or measured, not named
MOST_CLASSES = 30
#: … and with more than this they may be
MANY_CLASSES = 10


class Task(ABC):
    """What is learnt, what is measured, and in which terms it is reported."""

    name: ClassVar[str]
    metrics: ClassVar[tuple[Metric, ...]]
    #: what the models learn
    y: Array

    @property
    def outputs(self) -> int:
        """How many functions of a row are learnt."""
        return 1

    @property
    def rarest(self) -> int:
        """Rows of the rarest class; of numbers, all rows."""
        return len(self.truth)

    @property
    def truth(self) -> Array:
        """What forecasts are held against."""
        return self.y

    @property
    def width(self) -> tuple[int, ...]:
        """Shape of what is held out of a row: a number for each class, or one number."""
        return ()

    @property
    def metric(self) -> Metric:
        """The measure that models are ranked by."""
        return self.metrics[0]

    @abstractmethod
    def described(self) -> str:
        """The target in a few words, for the title."""

    @abstractmethod
    def forecast(self, model: Any, X: Any) -> Forecast:
        """What a fitted model says of rows."""

    @abstractmethod
    def held(self, forecast: Forecast) -> Array:
        """A forecast as numbers that may be averaged over repeats: a column for each class, or the prediction."""

    def scores(self, forecast: Forecast, rows: Array, train: Array) -> dict[str, float]:
        """Every measure of a forecast of `rows` by a model that was fitted to the rows `train`."""
        outcome = Outcome(self.truth[rows], forecast, float(self.truth[train].mean()))
        with np.errstate(over="ignore", invalid="ignore"):
            return {metric.name: metric.measure(outcome) for metric in self.metrics}

    @abstractmethod
    def check(self) -> None:
        """Refuse a target from which there is nothing to learn."""

    @abstractmethod
    def remark(self, scores: Mapping[str, Array]) -> str:
        """Why a score is infinite, in words, where one is."""

    def notes(self) -> list[str]:
        """What a reader should know about the target."""
        return []


@dataclass(frozen=True, eq=False)
class Classification(Task):
    labels: Array
    codes: Array

    name: ClassVar[str] = "classification"
    metrics: ClassVar[tuple[Metric, ...]] = CLASSES

    @property
    def y(self) -> Array:  # type: ignore[override]
        return np.asarray(self.labels[self.codes])

    @property
    def truth(self) -> Array:
        return self.codes

    @property
    def outputs(self) -> int:
        return len(self.labels) if len(self.labels) > 2 else 1

    @property
    def rarest(self) -> int:
        return int(np.bincount(self.codes).min())

    @property
    def width(self) -> tuple[int, ...]:
        return (len(self.labels),)

    def described(self) -> str:
        return f"{len(self.labels)} classes"

    def check(self) -> None:
        if len(self.labels) < 2:
            raise DataError(
                f"Every row has the label {self.labels.tolist()[0]!r}; to compare classifiers takes at least two "
                "classes: give another target, or rows of another class."
            )
        if np.bincount(self.codes).max() < 2:
            raise DataError(
                f"Each of the {len(self.codes)} rows has a label of its own, e.g. {self.labels.tolist()[0]!r}, so that "
                "there is no class to learn; give a target that recurs, or, of numbers, the task regression."
            )

    def forecast(self, model: Any, X: Any) -> Forecast:
        decisions = self._positions(model.predict(X))
        if len(decisions) and (decisions < 0).all():
            raise DataError("none of its predictions is a class of the target; is it a model of numbers?")
        if hasattr(model, "predict_proba"):
            return Forecast(decisions, self._columns(model, log_probabilities(model, X), -np.inf))
        if hasattr(model, "decision_function"):
            return Forecast(decisions, scores=self._scores(model, np.asarray(model.decision_function(X))))
        return Forecast(decisions)

    def held(self, forecast: Forecast) -> Array:
        """Probabilities; of a model without them, 1 for the class that it decided for."""
        if forecast.log_proba is not None:
            return np.exp(forecast.log_proba)
        return np.equal.outer(forecast.decisions, np.arange(len(self.labels))).astype(float)

    def remark(self, scores: Mapping[str, Array]) -> str:
        splits = scores["log_loss"]
        infinite = int(np.isposinf(splits).sum())
        if not infinite:
            return ""
        return (
            f"its log loss is infinite because it gave the true class of a row probability 0 in {infinite} of "
            f"{len(splits)} splits"
        )

    def notes(self) -> list[str]:
        names, counts = self.labels.tolist(), np.bincount(self.codes)
        most = int(counts.argmax())
        notes = [
            f"Always answering {names[most]!r} would be right in {counts[most] / len(self.codes):.1%} of the rows."
        ]
        if self.labels.dtype.kind in "iuf" and len(names) > MANY_CLASSES:
            notes.append("The classes are numbers; the task counts or regression would take them for amounts.")
        return notes

    def _positions(self, labels: Any) -> Array:
        """Where labels stand among those of the task; −1 for any other."""
        places = {label: k for k, label in enumerate(self.labels.tolist())}
        return np.array([places.get(label, -1) for label in np.asarray(labels).tolist()])

    def _columns(self, model: Any, values: Array, absent: float) -> Array:
        """A column for each label of the task, also for those that the model never saw."""
        columns = np.full((len(values), len(self.labels)), absent)
        columns[:, self._positions(model.classes_)] = values
        return columns

    def _scores(self, model: Any, scores: Array) -> Array | None:
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        # one against one has a column for each pair of classes, which ranks no class
        return self._columns(model, scores, -np.inf) if scores.shape[1] == len(model.classes_) else None


@dataclass(frozen=True, eq=False)
class Regression(Task):
    y: Array

    name: ClassVar[str] = "regression"
    metrics: ClassVar[tuple[Metric, ...]] = NUMBERS

    def described(self) -> str:
        return f"numbers from {self.y.min():g} to {self.y.max():g}"

    def forecast(self, model: Any, X: Any) -> Forecast:
        return Forecast(np.asarray(model.predict(X), dtype=float))

    def held(self, forecast: Forecast) -> Array:
        return forecast.decisions

    def check(self) -> None:
        if (self.y == self.y[0]).all():
            raise DataError(
                f"The target is {self.y[0]:g} in every row, so that there is nothing to learn; give another target."
            )

    def remark(self, scores: Mapping[str, Array]) -> str:
        return ""


@dataclass(frozen=True, eq=False)
class Counts(Regression):
    name: ClassVar[str] = "counts"
    metrics: ClassVar[tuple[Metric, ...]] = COUNTS

    def described(self) -> str:
        return f"counts from {self.y.min():g} to {self.y.max():g}"

    def remark(self, scores: Mapping[str, Array]) -> str:
        splits = scores["deviance"]
        infinite = int(np.isposinf(splits).sum())
        if not infinite:
            return ""
        return (
            "its deviance is infinite because it predicted a mean of 0 or less where something was counted, in "
            f"{infinite} of {len(splits)} splits; a model with a log link, such as GLM('poisson'), cannot"
        )

    def notes(self) -> list[str]:
        distinct = len(np.unique(self.y))
        if distinct > MOST_CLASSES:
            return []
        return [
            f"The target has {distinct} different whole numbers; the task classification would take them for names."
        ]


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
    values, counts = np.unique(y[:: max(1, len(y) // 100_000)], return_counts=True)
    if len(values) <= MOST_CLASSES and not _thins_out(values, counts):
        return "classification"
    return "counts" if values[0] >= 0 else "regression"


def _thins_out(values: Array, counts: Array) -> bool:
    """Whether whole numbers look like amounts: many, close to each other, and rare where they are large.

    Codes of classes are as close; but which of them is rare has nothing to do with its size.
    """
    close = len(values) > (values[-1] - values[0]) / 2
    return len(values) > MANY_CLASSES and bool(close) and counts[-1] * 10 <= counts.max()
