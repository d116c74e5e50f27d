"""Predictions of a fitted model as named columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import DataError, InferenceError, PriorError, ScoresOnlyError
from mercer._suggest import listed
from mercer._typing import Array


@dataclass(frozen=True)
class PredictionOptions:
    """Columns to compute besides the predictions."""

    probabilities: bool = True
    #: probability below which no class is predicted
    abstain: float | None = None
    #: prediction intervals, or sets of classes, with the coverage for which the model was fitted
    intervals: bool = False


def predict_columns(model: Any, X: Any, options: PredictionOptions) -> dict[str, Array]:
    """Return columns by name: the prediction, and those that the options request.

    Examples
    --------
    >>> from mercer import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])
    >>> list(predict_columns(model, [[0.5]], PredictionOptions()))
    ['prediction', 'probability[a]', 'probability[b]']
    """
    columns: dict[str, Array] = {"prediction": np.asarray(model.predict(X))}
    if options.probabilities and hasattr(model, "predict_proba"):
        labels, probabilities = model.classes_.tolist(), np.asarray(model.predict_proba(X)).T
        columns |= {f"probability[{label}]": column for label, column in zip(labels, probabilities, strict=True)}
    if getattr(model, "costs", None) is not None:
        columns["expected cost"] = np.asarray(model.expected_cost(X))
    if options.abstain is not None:
        columns["prediction"] = _abstain(model, X, columns["prediction"], options.abstain)
    if options.intervals:
        columns |= _intervals(model, X)
    return columns


def add_decision(model: Any, *, costs: Any = None, priors: Any = None, trained_priors: Any = None) -> Any:
    """Wrap a model so that costs of errors and priors of classes determine its decisions; labels may be strings."""
    if costs is None and priors is None:
        return model
    from mercer.decision import Decision

    labels = {str(label): label for label in np.asarray(getattr(model, "classes_", [])).tolist()}
    for name, shares in (("priors", priors), ("trained priors", trained_priors)):
        _check_priors_complete(name, shares, labels)
    parameters = {"costs": costs, "priors": priors, "trained_priors": trained_priors}
    return Decision(model, **{name: _restore_labels(value, labels) for name, value in parameters.items()})


def _check_priors_complete(name: str, shares: Any, labels: dict[str, Any]) -> None:
    """Raise if shares lack a class and do not sum to 1; a class with share 0 may be left out."""
    if not isinstance(shares, dict) or not all(isinstance(share, int | float) for share in shares.values()):
        return
    if (absent := [label for label in labels if label not in shares]) and not np.isclose(sum(shares.values()), 1.0):
        what = f"class {absent[0]!r}" if len(absent) == 1 else f"classes {listed(absent)}"
        raise PriorError(
            f"The {name} leave out the {what}, and the others sum to {sum(shares.values()):.6g}, not to 1. Give every "
            "class its share."
        )


def _restore_labels(value: Any, labels: dict[str, Any]) -> Any:
    """Replace the keys of nested dicts, which JSON writes as strings, by the labels that they stand for."""
    if not isinstance(value, dict):
        return value
    return {labels.get(key, key): _restore_labels(each, labels) for key, each in value.items()}


def _abstain(model: Any, X: Any, predicted: Array, threshold: float) -> Array:
    """Return the predictions, with None where the largest probability is below the threshold."""
    if not hasattr(model, "predict_proba"):
        raise ScoresOnlyError(
            "Abstaining takes a model with probabilities, and this one has none. Fit one that has, such as "
            "LogisticRegression or NaiveBayes."
        )
    if not 0 <= threshold <= 1:
        raise DataError(f"Abstaining takes a probability from 0 to 1, not {threshold:g}.")
    is_sure = np.asarray(model.predict_proba(X)).max(axis=1) >= threshold
    written = [str(label) if sure else None for label, sure in zip(predicted.tolist(), is_sure.tolist(), strict=True)]
    return np.array(written, dtype=object)


def _intervals(model: Any, X: Any) -> dict[str, Array]:
    if hasattr(model, "predict_set"):
        classes = [str(label) for label in np.asarray(model.classes_).tolist()]
        sets = np.asarray(model.predict_set(X), dtype=bool)
        return {"set": np.array(["|".join(np.array(classes)[row]) for row in sets], dtype=object)}
    if not hasattr(model, "predict_interval"):
        raise InferenceError(
            "This model has no intervals, since it was not calibrated for them. Fit it with --conformal 0.9, which "
            "holds rows out to measure its errors."
        )
    intervals = model.predict_interval(X)
    if hasattr(intervals, "lower"):
        return {"lower": np.asarray(intervals.lower), "upper": np.asarray(intervals.upper)}
    lower, upper = np.asarray(intervals).T
    return {"lower": lower, "upper": upper}
