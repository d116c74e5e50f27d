"""What a classifier says of every class, as numbers that calibration can work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._errors import ScoresOnlyError
from mercer._typing import Array
from mercer.decide.wrapped import LOWEST, in_order, log_probabilities


def class_scores(model: Any, X: Any, classes: Array) -> Array:
    """A score for every class: log probabilities, or decisions where there are none."""
    if hasattr(model, "predict_proba"):
        log = in_order(log_probabilities(model, X), np.asarray(model.classes_), classes, -np.inf)
        return np.maximum(log, LOWEST)
    return _decisions(model, X, classes)


def scores_against_the_rest(model: Any, X: Any, classes: Array) -> Array:
    """A score for every class against all others; of two classes for the second alone.

    Decisions where there are any, else log odds.
    """
    if hasattr(model, "decision_function"):
        columns = _decisions(model, X, classes)
        return columns[:, 1:] - columns[:, :1] if len(classes) == 2 else columns
    log = class_scores(model, X, classes)
    if len(classes) <= 2:
        return log[:, 1:] - log[:, :1]
    others = np.stack([logsumexp(np.delete(log, k, axis=1), axis=1) for k in range(len(classes))], axis=1)
    return np.asarray(log - others)


def _decisions(model: Any, X: Any, classes: Array) -> Array:
    """Decisions, one column per class: for two classes minus and plus half of the one there is."""
    if not hasattr(model, "decision_function"):
        raise ScoresOnlyError(
            f"{type(model).__name__} has neither `predict_proba` nor `decision_function`: it says which class and not "
            "how sure it is, and there is nothing to calibrate. Use a model with scores."
        )
    scores, known = np.asarray(model.decision_function(X), dtype=np.float64), np.asarray(model.classes_)
    if scores.ndim == 1:
        scores = np.column_stack([-scores / 2, scores / 2])
    if scores.shape[1] != len(known):
        raise ScoresOnlyError(
            f"{type(model).__name__} has {scores.shape[1]} decisions for {len(known)} classes; calibration needs one "
            'for each class (decision_function_shape="ovr").'
        )
    lowest = float(scores.min(initial=0.0))
    return in_order(scores, known, classes, lowest)
