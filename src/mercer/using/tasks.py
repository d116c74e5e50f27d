"""What is asked of models: to name classes, or to predict numbers or counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer._errors import DataError
from mercer.decide.wrapped import log_probabilities
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
    #: how the measure that models are ranked by comes to be infinite in some `splits`
    why_infinite: ClassVar[str] = ""
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

    def remark(self, scores: Mapping[str, Array]) -> str:
        """Why the measure that models are ranked by is infinite, in words, where it is."""
        splits = scores[self.metric.name]
        infinite = int(np.isposinf(splits).sum())
        return self.why_infinite.format(splits=f"{infinite} of {len(splits)} splits") if infinite else ""

    def notes(self) -> list[str]:
        """What a reader should know about the target."""
        return []


@dataclass(frozen=True, eq=False)
class Classification(Task):
    labels: Array
    codes: Array

    name: ClassVar[str] = "classification"
    metrics: ClassVar[tuple[Metric, ...]] = CLASSES
    why_infinite: ClassVar[str] = (
        "its log loss is infinite because it gave the true class of a row probability 0 in {splits}"
    )

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
                f"Every row has the label {self.labels.tolist()[0]!r}; to fit a classifier takes at least two "
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


@dataclass(frozen=True, eq=False)
class Counts(Regression):
    name: ClassVar[str] = "counts"
    metrics: ClassVar[tuple[Metric, ...]] = COUNTS
    why_infinite: ClassVar[str] = (
        "its deviance is infinite because it predicted a mean of 0 or less where something was counted, in {splits}; a "
        "model with a log link, such as GLM('poisson'), cannot"
    )

    def described(self) -> str:
        return f"counts from {self.y.min():g} to {self.y.max():g}"

    def notes(self) -> list[str]:
        distinct = len(np.unique(self.y))
        if distinct > MOST_CLASSES:
            return []
        return [
            f"The target has {distinct} different whole numbers; the task classification would take them for names."
        ]
