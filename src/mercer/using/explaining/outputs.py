"""The numbers of a fitted model that explanations divide among columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.decide import ConformalClassifier, ConformalRegressor, Decision
from mercer.decide.wrapped import probabilities
from mercer.models.reader import inside

#: probabilities of a model that is not a sum over columns are kept this far from 0 and 1, so that log odds are finite
LEAST_PROBABILITY = 1e-4
LOG_ODDS, AGAINST_AVERAGE, SCORE, PREDICTION = "log odds", "log odds against the average class", "score", "prediction"


class Output(NamedTuple):
    """A function of rows with values of shape (rows, outputs), its name, and the names of its outputs."""

    what: str
    outputs: tuple[str, ...]
    function: Callable[[Any], Array]


def before_decisions(model: Any) -> Any:
    """Return the model within those that choose actions by it, or put sets or intervals around it."""
    while isinstance(model, ConformalClassifier | ConformalRegressor | Decision):
        model = inside(model)
    return model


def output_of(model: Any) -> Output:
    """Return log odds where a model has probabilities, else scores of classes, else predictions."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return Output(PREDICTION, _targets(model), lambda X: _column(model.predict(X)))
    labels = tuple(map(str, np.asarray(classes).tolist()))
    named = labels[-1:] if len(labels) == 2 else labels
    if hasattr(model, "predict_proba"):
        return Output(LOG_ODDS if len(labels) == 2 else AGAINST_AVERAGE, named, lambda X: _log_odds(model, X))
    if hasattr(model, "decision_function"):
        return Output(SCORE, named, lambda X: relative(_column(model.decision_function(X)), len(labels)))
    return Output("decision", named, lambda X: _decisions(model, X))


def relative(scores: Array, n_classes: int) -> Array:
    """Return scores of the second of two classes against the first, or of each class against their average.

    Classes are the last axis.
    """
    if scores.shape[-1] == 1:
        return scores
    if n_classes == 2:
        return scores[..., 1:] - scores[..., :1]
    return np.asarray(scores - scores.mean(axis=-1, keepdims=True))


def _column(values: Any) -> Array:
    values = np.asarray(values, dtype=float)
    return np.asarray(values[:, None] if values.ndim == 1 else values)


def _targets(model: Any) -> tuple[str, ...]:
    several = getattr(model, "n_outputs_", 1)
    return ("the target",) if several == 1 else tuple(f"target {k}" for k in range(several))


def _log_odds(model: Any, X: Any) -> Array:
    p = np.clip(probabilities(model, X), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return relative(np.log(p), p.shape[1])


def _decisions(model: Any, X: Any) -> Array:
    """1 for the class that is predicted, 0 for others."""
    chosen = np.asarray(model.predict(X))[:, None] == np.asarray(model.classes_)
    return np.asarray(chosen[:, 1:] if chosen.shape[1] == 2 else chosen, dtype=float)
