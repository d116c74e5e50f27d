"""Formulas: models as expressions of the columns of a table, which can be written in every language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mercer._errors import ExportError
from mercer.export.expression import (
    IMPOSSIBLE_BOUND,
    Above,
    ColumnValue,
    Conditional,
    Expression,
    Greatest,
    Label,
    NumberValue,
    ProductOf,
    name_value,
    numbers_in,
    softmax,
    walk,
)

#: nearly the least number of float64, which stands for −∞
OVERFLOW_BOUND = -1.7e308


@dataclass(frozen=True)
class ModelOutput:
    """The output of a model as expressions of its features.

    A classifier has `probabilities` of its `classes`, or only `scores` of them; a regression has `predictions`.
    """

    predictions: Sequence[Expression] = ()
    classes: Sequence[Label] = ()
    probabilities: Sequence[Expression] = ()
    scores: Sequence[Expression] = ()
    #: logarithms of the probabilities, up to a constant that all classes share
    logs: Sequence[Expression] = ()
    #: whether the second of two equally good classes is predicted
    second_wins: bool = False
    #: the votes for the classes, if these decide instead of the probabilities
    votes: Sequence[Expression] = ()
    #: why rows with missing values have no prediction here although the model has one; "" if they have one
    incomplete: str = ""

    @property
    def of_classes(self) -> Sequence[Expression]:
        """The probabilities of the classes, or their scores."""
        return self.probabilities or self.scores

    @property
    def decisive(self) -> Sequence[Expression]:
        """The values of which the greatest decides the class."""
        return self.votes or self.of_classes

    @property
    def outputs(self) -> Sequence[Expression]:
        return self.predictions or (*self.of_classes, *self.votes)

    @classmethod
    def of_scores(cls, classes: Sequence[Label], scores: Sequence[Expression]) -> ModelOutput:
        """Return the output with probabilities that are the softmax of scores."""
        logs = [name_value(score) for score in scores]
        return cls(classes=classes, probabilities=softmax(logs), logs=logs)

    @classmethod
    def of_joint(cls, classes: Sequence[Label], joint: Sequence[Expression], log_prior: Sequence[float]) -> ModelOutput:
        """Return the posterior by Bayes' rule; for rows that are impossible in every class it is the prior."""
        scores = [name_value(score) for score in joint]
        impossible = _impossible_below(joint)
        if impossible is None:
            return cls.of_scores(classes, scores)
        hopeless = Above(NumberValue(impossible), name_value(Greatest(tuple(scores))))
        return cls.of_scores(
            classes,
            [Conditional(hopeless, NumberValue(prior), score) for prior, score in zip(log_prior, scores, strict=True)],
        )


@dataclass(frozen=True, kw_only=True)
class Formula:
    """The output of a model as expressions of the columns of a table."""

    model: str
    columns: Sequence[ColumnValue]
    output: ModelOutput
    #: the number of columns of the fit, if these had no names
    width: int | None = None

    @property
    def remark(self) -> str:
        """A sentence about rows that the model predicts and the export does not; "" if there are none."""
        if not self.output.incomplete:
            return ""
        return f"Rows with missing values have no prediction. {self.output.incomplete}"


def _impossible_below(joint: Sequence[Expression]) -> float | None:
    """Return the score below which rows are impossible, or None if no row can be.

    Rows can be impossible if one of the numbers is the logarithm of 0, or if there is a product, because a product of
    large numbers may be −∞.
    """
    if any(number < IMPOSSIBLE_BOUND for number in numbers_in(joint)):
        return IMPOSSIBLE_BOUND
    return OVERFLOW_BOUND if any(isinstance(part, ProductOf) for part in walk(joint)) else None


def plain_labels(model: Any) -> list[Label]:
    """Return the classes of a model."""
    labels = model.classes_.tolist()
    for label in labels:
        if not isinstance(label, str | bool | int | float):
            raise ExportError(
                f"{type(model).__name__} cannot be exported: its class {label!r} is of type {type(label).__name__}. "
                "Fit it with classes that are strings, numbers or booleans."
            )
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ExportError(
            f"{type(model).__name__} cannot be exported: some of its classes are strings and others numbers. "
            "Fit it with classes of one type."
        )
    return labels  # type: ignore[no-any-return]
