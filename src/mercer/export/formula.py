"""A model as expressions of the columns of a table: what every language is given to write down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mercer.export.expression import (
    HARDLY,
    Above,
    ColumnValue,
    Conditional,
    Expression,
    Greatest,
    Label,
    NumberValue,
    ProductOf,
    named,
    numbers_in,
    softmax,
    walk,
)

#: nearly the least number there is: what is below is −∞
OVERFLOWN = -1.7e308


@dataclass(frozen=True)
class Said:
    """What a model says of its features, whatever columns these are made of.

    A classifier has `probabilities` of its `classes`, or only `scores` of them; a regression has `predictions`.
    """

    predictions: Sequence[Expression] = ()
    classes: Sequence[Label] = ()
    probabilities: Sequence[Expression] = ()
    scores: Sequence[Expression] = ()
    #: logarithms of the probabilities, up to a number that all classes have in common
    logs: Sequence[Expression] = ()
    #: whether of two classes that are as good the second is predicted
    second_wins: bool = False
    #: the votes for the classes, where these decide and not the probabilities
    votes: Sequence[Expression] = ()
    #: why rows with missing values, which the model predicts, have no prediction here; "" where they have one
    incomplete: str = ""

    @property
    def of_classes(self) -> Sequence[Expression]:
        """Probabilities of the classes, or their scores."""
        return self.probabilities or self.scores

    @property
    def decisive(self) -> Sequence[Expression]:
        """The class with the greatest of these is predicted."""
        return self.votes or self.of_classes

    @property
    def outputs(self) -> Sequence[Expression]:
        return self.predictions or (*self.of_classes, *self.votes)

    @classmethod
    def of_scores(cls, classes: Sequence[Label], scores: Sequence[Expression]) -> Said:
        """Probabilities that are the softmax of scores."""
        logs = [named(score) for score in scores]
        return cls(classes=classes, probabilities=softmax(logs), logs=logs)

    @classmethod
    def of_joint(cls, classes: Sequence[Label], joint: Sequence[Expression], log_prior: Sequence[float]) -> Said:
        """Bayes' rule. Rows that no class can produce carry no evidence: their posterior is the prior."""
        scores = [named(score) for score in joint]
        impossible = _impossible_below(joint)
        if impossible is None:
            return cls.of_scores(classes, scores)
        hopeless = Above(NumberValue(impossible), named(Greatest(tuple(scores))))
        return cls.of_scores(
            classes,
            [Conditional(hopeless, NumberValue(prior), score) for prior, score in zip(log_prior, scores, strict=True)],
        )


@dataclass(frozen=True, kw_only=True)
class Formula:
    """What a model says of a row of a table."""

    model: str
    columns: Sequence[ColumnValue]
    said: Said
    #: the number of columns of the fit, where these had no names
    width: int | None = None

    @property
    def remark(self) -> str:
        """What the export does not predict and the model does, in a sentence; "" where there is nothing."""
        if not self.said.incomplete:
            return ""
        reason = self.said.incomplete
        return f"Rows with missing values have no prediction. {reason}"


def _impossible_below(joint: Sequence[Expression]) -> float | None:
    """Scores below it are those of what cannot be; None where there are none.

    There are if a logarithm of 0 is among the numbers, or a product, since that of large numbers is −∞.
    """
    if any(number < HARDLY for number in numbers_in(joint)):
        return HARDLY
    return OVERFLOWN if any(isinstance(part, ProductOf) for part in walk(joint)) else None
