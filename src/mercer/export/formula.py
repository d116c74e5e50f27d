"""Formulas: models as expressions of the columns of a table, which every language writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        reason = self.output.incomplete
        return f"Rows with missing values have no prediction. {reason}"


def _impossible_below(joint: Sequence[Expression]) -> float | None:
    """Return the score below which rows are impossible, or None if no row is.

    There are if a logarithm of 0 is among the numbers, or a product, since that of large numbers is −∞.
    """
    if any(number < IMPOSSIBLE_BOUND for number in numbers_in(joint)):
        return IMPOSSIBLE_BOUND
    return OVERFLOW_BOUND if any(isinstance(part, ProductOf) for part in walk(joint)) else None
