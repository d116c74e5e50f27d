"""Tasks: classification, ordered classes, and the regression of numbers, positive amounts or counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer.application.metrics import (
    AMOUNT_METRICS,
    CLASS_METRICS,
    COUNT_METRICS,
    LEAST_LOG_PROBABILITY,
    NUMBER_METRICS,
    RANK_METRICS,
    Metric,
    Outcome,
    Prediction,
)
from mercer.base.pipelines import transform_to_last_step
from mercer.decision.wrapped import log_probabilities
from mercer.report.wording import format_count, format_number, format_plain, join_words

#: positions of the rows to fit on, and of those to score
Split = tuple[Array, Array]


class Task(ABC):
    """A target with its measures, and the words in which both are reported."""

    name: ClassVar[str]
    metrics: ClassVar[tuple[Metric, ...]]
    #: target to which models are fitted
    y: Array
    #: one or two sentences: the chosen task, the reason, and the option that changes it
    reason: str

    @property
    def outputs(self) -> int:
        """Number of functions of a row that a model learns."""
        return 1

    @property
    def rarest(self) -> int:
        """Number of rows of the rarest class; in a regression, of all rows."""
        return len(self.truth)

    @property
    def truth(self) -> Array:
        """The values with which forecasts are compared."""
        return self.y

    @property
    def width(self) -> tuple[int, ...]:
        """Shape of the forecast of a row: a number for each class, or one number."""
        return ()

    @property
    def metric(self) -> Metric:
        """The measure by which models are ranked."""
        return self.metrics[0]

    @abstractmethod
    def describe(self) -> str:
        """Describe the target in a few words, for the title."""

    @abstractmethod
    def forecast(self, model: Any, X: Any) -> Prediction:
        """Return the predictions of a fitted model for rows."""

    @abstractmethod
    def to_array(self, forecast: Prediction) -> Array:
        """Return a forecast as numbers to average over repeats: a column for each class, or the prediction."""

    def scores(self, forecast: Prediction, rows: Array, train: Array) -> dict[str, float]:
        """Return every measure of a forecast of `rows` by a model fitted to the rows `train`."""
        outcome = self.outcome(forecast, rows, train)
        with np.errstate(over="ignore", invalid="ignore"):
            return {metric.name: metric.measure(outcome) for metric in self.metrics}

    @abstractmethod
    def outcome(self, forecast: Prediction, rows: Array, train: Array) -> Outcome:
        """Return the forecast with the truth, and the properties of the training rows that measures need."""

    @abstractmethod
    def take(self, rows: Array) -> Self:
        """Return the task of a subset of the rows."""

    @abstractmethod
    def check(self) -> None:
        """Raise `DataError` if nothing can be learned from the target."""

    def count_impossible(self, forecast: Prediction, split: Split) -> int:
        """Count the held-out rows whose forecast is impossible; any number is possible."""
        return 0

    def explain_impossible(self, rows: str, folds: str) -> str:
        """Return a sentence about impossible forecasts: the number of rows, the folds, and the score that they get."""
        return ""

    def remarks(self, forecasts: Sequence[Prediction], splits: Sequence[Split]) -> list[str]:
        """Return sentences about impossible forecasts, with the folds in which they occur."""
        rows = [self.count_impossible(forecast, split) for forecast, split in zip(forecasts, splits, strict=True)]
        if not any(rows):
            return []
        return [self.explain_impossible(format_count(sum(rows), "row"), name_folds(rows))]

    def notes(self) -> list[str]:
        """Return sentences about the target and its measures."""
        return []


def name_folds(values: Sequence[Any], most: int = 6) -> str:
    """Name the folds, counted from 1, for which a value is true or positive.

    Examples
    --------
    >>> name_folds([0, 3, 1]), name_folds([True])
    ('folds 2 and 3', 'fold 1')
    """
    numbers = [str(number) for number, each in enumerate(values, 1) if each]
    if len(numbers) == len(values) > 1:
        return f"all {len(values)} folds"
    return f"fold{'s' if len(numbers) > 1 else ''} {join_words(numbers, most)}"


@dataclass(frozen=True, eq=False)
class ClassificationTask(Task):
    """Classes without an order."""

    labels: Array
    codes: Array
    reason: str = ""

    name: ClassVar[str] = "classification"
    metrics: ClassVar[tuple[Metric, ...]] = CLASS_METRICS

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

    def describe(self) -> str:
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

    def outcome(self, forecast: Prediction, rows: Array, train: Array) -> Outcome:
        in_training = np.bincount(self.codes[train], minlength=len(self.labels)) > 0
        return Outcome(self.codes[rows], forecast, in_training=in_training)

    def take(self, rows: Array) -> Self:
        present, codes = np.unique(self.codes[rows], return_inverse=True)
        return replace(self, labels=self.labels[present], codes=codes)

    def count_impossible(self, forecast: Prediction, split: Split) -> int:
        """Count the rows whose true class has probability 0, although it occurs in the training rows."""
        if forecast.log_proba is None:
            return 0
        train, test = split
        truth = self.codes[test]
        unlikely = forecast.log_proba[np.arange(len(truth)), truth] < LEAST_LOG_PROBABILITY
        return int((unlikely & np.isin(truth, self.codes[train])).sum())

    def explain_impossible(self, rows: str, folds: str) -> str:
        return (
            f"the true class of {rows} has probability 0 ({folds}); it is scored as 2.2e-16 in the log loss, as in "
            "scikit-learn"
        )

    def note_absent_classes(self, splits: Sequence[Split]) -> list[str]:
        """Return sentences about classes of held-out rows that the training rows of their fold lack."""
        missing: dict[int, list[bool]] = {}
        for number, (train, test) in enumerate(splits):
            for code in np.setdiff1d(self.codes[test], self.codes[train]):
                missing.setdefault(int(code), [False] * len(splits))[number] = True
        if not missing:
            return []
        named = [f"{self.labels.tolist()[code]!r} ({name_folds(values)})" for code, values in sorted(missing.items())]
        sentence = (
            f"Classes that the training rows of a fold lack: {join_words(named, 5)}. No model can predict them there; "
            "their rows count as errors in the accuracy and are left out of the log loss."
        )
        return [sentence]

    def forecast(self, model: Any, X: Any) -> Prediction:
        model, X = transform_to_last_step(model, X)  # make the features once, for decisions and probabilities
        decisions = self._positions(model.predict(X))
        if len(decisions) and (decisions < 0).all():
            raise DataError("none of its predictions is a class of the target; is it a model of numbers?")
        if hasattr(model, "predict_proba"):
            return Prediction(decisions, self._columns(model, log_probabilities(model, X), -np.inf))
        if hasattr(model, "decision_function"):
            return Prediction(decisions, scores=self._scores(model, np.asarray(model.decision_function(X))))
        return Prediction(decisions)

    def to_array(self, forecast: Prediction) -> Array:
        """Return probabilities; for a model without them, the indicator of the predicted class."""
        if forecast.log_proba is not None:
            return np.exp(forecast.log_proba)
        return np.equal.outer(forecast.decisions, np.arange(len(self.labels))).astype(float)

    def notes(self) -> list[str]:
        names, counts = self.labels.tolist(), np.bincount(self.codes)
        most = int(counts.argmax())
        return [f"Always answering {names[most]!r} would be right in {counts[most] / len(self.codes):.1%} of the rows."]

    def _positions(self, labels: Any) -> Array:
        """Return the positions of labels among those of the task; −1 for any other label."""
        position = {label: k for k, label in enumerate(self.labels.tolist())}
        return np.array([position.get(label, -1) for label in np.asarray(labels).tolist()])

    def _columns(self, model: Any, values: Array, absent: float) -> Array:
        """Return a column for each label of the task, filled with `absent` for classes that the model lacks."""
        columns = np.full((len(values), len(self.labels)), absent)
        columns[:, self._positions(model.classes_)] = values
        return columns

    def _scores(self, model: Any, scores: Array) -> Array | None:
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        # the columns of a one-vs-one classifier belong to pairs of classes, not to classes
        return self._columns(model, scores, -np.inf) if scores.shape[1] == len(model.classes_) else None


@dataclass(frozen=True, eq=False)
class OrderedTask(ClassificationTask):
    """Ordered classes: `labels` are from lowest to highest."""

    name: ClassVar[str] = "ordered"
    metrics: ClassVar[tuple[Metric, ...]] = RANK_METRICS

    def describe(self) -> str:
        return f"{len(self.labels)} ordered classes"

    def notes(self) -> list[str]:
        about_rps = (
            "RPS is the ranked probability score, in ranks: 0 at best; of a decision without probabilities, its "
            "distance from the true class."
        )
        return [*super().notes(), about_rps]

    def explain_impossible(self, rows: str, folds: str) -> str:
        return f"the true class of {rows} has probability 0 ({folds})"


@dataclass(frozen=True, eq=False)
class RegressionTask(Task):
    """Numbers of any sign."""

    y: Array
    reason: str = ""

    name: ClassVar[str] = "regression"
    metrics: ClassVar[tuple[Metric, ...]] = NUMBER_METRICS

    def describe(self) -> str:
        return f"numbers from {format_number(self.y.min())} to {format_number(self.y.max())}"

    def outcome(self, forecast: Prediction, rows: Array, train: Array) -> Outcome:
        return Outcome(self.y[rows], forecast, float(self.y[train].mean()))

    def take(self, rows: Array) -> Self:
        return replace(self, y=self.y[rows])

    def forecast(self, model: Any, X: Any) -> Prediction:
        return Prediction(np.asarray(model.predict(X), dtype=float))

    def to_array(self, forecast: Prediction) -> Array:
        return forecast.decisions

    def check(self) -> None:
        if (self.y == self.y[0]).all():
            raise DataError(
                f"The target is {self.y[0]:g} in every row, so that there is nothing to learn; give another target."
            )


@dataclass(frozen=True, eq=False)
class AmountTask(RegressionTask):
    """Positive amounts, possibly with zeros: prices, wages, durations, rates."""

    name: ClassVar[str] = "amounts"
    metrics: ClassVar[tuple[Metric, ...]] = AMOUNT_METRICS

    def describe(self) -> str:
        return f"amounts from {format_plain(self.y.min(), '.4g')} to {format_plain(self.y.max(), '.4g')}"

    def count_impossible(self, forecast: Prediction, split: Split) -> int:
        """Count the amounts below 0, which are scored like any other error."""
        return int((forecast.decisions < 0).sum())

    def explain_impossible(self, rows: str, folds: str) -> str:
        return f"the predicted amount of {rows} is below 0 ({folds})"


@dataclass(frozen=True, eq=False)
class CountTask(RegressionTask):
    """Counts 0, 1, 2, …"""

    name: ClassVar[str] = "counts"
    metrics: ClassVar[tuple[Metric, ...]] = COUNT_METRICS

    def describe(self) -> str:
        return f"counts from {format_number(self.y.min())} to {format_number(self.y.max())}"

    def outcome(self, forecast: Prediction, rows: Array, train: Array) -> Outcome:
        return super().outcome(forecast, rows, train)._replace(lowest=self._lowest(train))

    def count_impossible(self, forecast: Prediction, split: Split) -> int:
        """Count the predicted means of 0 or less."""
        return int((forecast.decisions <= 0).sum())

    def explain_impossible(self, rows: str, folds: str) -> str:
        return (
            f"the predicted mean of {rows} is 0 or less ({folds}), which no count has; it is scored as half an event "
            "in all training rows"
        )

    def _lowest(self, train: Array) -> float:
        """Return the mean by which a predicted mean of 0 or less is replaced: half an event in all training rows."""
        return 0.5 / len(train)
