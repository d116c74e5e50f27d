"""What a fitted model says of rows, as columns to write beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import DataError, InferenceError, PriorError, ScoresOnlyError
from mercer._suggest import listed
from mercer._typing import Array


@dataclass(frozen=True)
class PredictionOptions:
    """What is wanted of a model besides its predictions."""

    probabilities: bool = True
    #: probability below which a class is not named
    abstain: float | None = None
    #: intervals of values, or sets of classes, which hold the truth with the probability that the model was fitted for
    intervals: bool = False


def answers(model: Any, X: Any, asked: PredictionOptions) -> dict[str, Array]:
    """Columns by name: the prediction, and what else is asked for.

    Examples
    --------
    >>> from mercer import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])
    >>> list(answers(model, [[0.5]], Asked()))
    ['prediction', 'probability[a]', 'probability[b]']
    """
    told: dict[str, Array] = {"prediction": np.asarray(model.predict(X))}
    if asked.probabilities and hasattr(model, "predict_proba"):
        told |= _probabilities(model, X)
    if getattr(model, "costs", None) is not None:
        told["expected cost"] = np.asarray(model.expected_cost(X))
    if asked.abstain is not None:
        told["prediction"] = _sure(model, X, told["prediction"], asked.abstain)
    if asked.intervals:
        told |= _intervals(model, X)
    return told


def decided(model: Any, *, costs: Any = None, priors: Any = None, trained_priors: Any = None) -> Any:
    """The model, deciding by what its errors cost and how frequent classes are; labels may be written as strings."""
    if costs is None and priors is None:
        return model
    from mercer.decision import Decision

    labels = {str(label): label for label in np.asarray(getattr(model, "classes_", [])).tolist()}
    for name, shares in (("priors", priors), ("trained priors", trained_priors)):
        _refuse_left_out(name, shares, labels)
    told = {"costs": costs, "priors": priors, "trained_priors": trained_priors}
    return Decision(model, **{name: _by_label(given, labels) for name, given in told.items()})


def _refuse_left_out(name: str, shares: Any, labels: dict[str, Any]) -> None:
    """Shares that do not make up all rows, because a class was forgotten; one without any rows may be left out."""
    if not isinstance(shares, dict) or not all(isinstance(share, int | float) for share in shares.values()):
        return
    if (absent := [label for label in labels if label not in shares]) and not np.isclose(sum(shares.values()), 1.0):
        what = f"class {absent[0]!r}" if len(absent) == 1 else f"classes {listed(absent)}"
        raise PriorError(
            f"The {name} leave out the {what}, and the others sum to {sum(shares.values()):.6g}, not to 1. Give every "
            "class its share."
        )


def _by_label(given: Any, labels: dict[str, Any]) -> Any:
    """JSON has strings for keys, whatever the labels are."""
    if not isinstance(given, dict):
        return given
    return {labels.get(key, key): _by_label(value, labels) for key, value in given.items()}


def _probabilities(model: Any, X: Any) -> dict[str, Array]:
    columns = np.asarray(model.predict_proba(X)).T
    return {f"probability[{label}]": column for label, column in zip(model.classes_.tolist(), columns, strict=True)}


def _sure(model: Any, X: Any, predicted: Array, least: float) -> Array:
    """Predictions whose probability is large enough; None for the others."""
    if not hasattr(model, "predict_proba"):
        raise ScoresOnlyError(
            "Abstaining where it is not sure takes a model with probabilities, and this one has none. Fit one that "
            "has, such as LogisticRegression or NaiveBayes."
        )
    if not 0 <= least <= 1:
        raise DataError(f"Abstaining takes a probability from 0 to 1, not {least:g}.")
    sure = np.asarray(model.predict_proba(X)).max(axis=1) >= least
    written = [str(label) if known else None for label, known in zip(predicted.tolist(), sure.tolist(), strict=True)]
    return np.array(written, dtype=object)


def _intervals(model: Any, X: Any) -> dict[str, Array]:
    if hasattr(model, "predict_set"):
        classes = [str(label) for label in np.asarray(model.classes_).tolist()]
        sets = np.asarray(model.predict_set(X), dtype=bool)
        return {"set": np.array(["|".join(np.array(classes)[row]) for row in sets], dtype=object)}
    if not hasattr(model, "predict_interval"):
        raise InferenceError(
            "This model has no intervals: what they rest on was not kept with it. Fit it with --conformal 0.9, which "
            "sets rows aside to learn how far off it is."
        )
    found = model.predict_interval(X)
    if hasattr(found, "lower"):
        return {"lower": np.asarray(found.lower), "upper": np.asarray(found.upper)}
    lower, upper = np.asarray(found).T
    return {"lower": lower, "upper": upper}
