"""Rows, units and expected errors that tests of the learning rules share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from mercer.optim.learning_rules import LabelledRows, ThresholdUnits


def lesson_of(X: Any, codes: Any, **options: Any) -> LabelledRows:
    codes = np.asarray(codes, dtype=np.int32)
    return LabelledRows(X, codes, int(codes.max()) + 1, **options)


def blank(lesson: LabelledRows) -> ThresholdUnits:
    zero = np.zeros((lesson.units, lesson.n_columns))
    return ThresholdUnits.of(zero, np.zeros(lesson.units), by_column=lesson.entries is not None)


def overlapping(n: int = 120, classes: int = 2) -> tuple[Any, Any]:
    """Return rows of classes that no hyperplane separates."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > np.linspace(-1, 1, classes + 1)[1:-1, None]).sum(axis=0)


class Judged(NamedTuple):
    error: Any
    loss: Any


def judged(rule: str, u: Any, y: Any) -> Judged:
    """Return errors and losses by the formulas of lecture 2, for activations u and targets y of 0 or 1."""
    towards = np.where(np.asarray(y) > 0, u, -u)
    missing = np.sign(y - 0.5) * expit(-towards)  # y − σ(u), with all digits
    if rule == "perceptron":
        wrong = y - (u >= 0)
        return Judged(wrong, np.where(wrong == 0, 0.0, np.abs(u)))
    if rule == "lms":
        return Judged(2 * y - 1 - u, 0.5 * np.square(2 * y - 1 - u))
    if rule == "logistic":
        return Judged(missing, np.logaddexp(0.0, -towards))
    return Judged(expit(u) * expit(-u) * missing, 0.5 * np.square(missing))


def targets(lesson: LabelledRows) -> Any:
    """Return 0 or 1 for each row and unit."""
    return np.asarray(lesson.codes[:, None] == lesson.first + np.arange(lesson.units), dtype=float)
