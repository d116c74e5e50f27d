"""Calibrated classifiers: the scores of a model, transformed by a temperature, sigmoids or steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer._errors import ExportError
from mercer.base.pipelines import innermost_part
from mercer.decision.wrapped import MIN_LOG_PROBABILITY
from mercer.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mercer.export.expression import (
    UNKNOWN,
    ZERO_VALUE,
    Above,
    Conditional,
    Exp,
    Expression,
    Greatest,
    Lacks,
    Logarithm,
    NumberValue,
    Quotient,
    SumOf,
    name_value,
    softmax,
)
from mercer.export.formula import ModelOutput

LINEAR_AND_QUADRATIC = (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)


def calibrate_output(model: Any, inside: ModelOutput) -> ModelOutput:
    """Return the formula of `Calibrated` from that of its model."""
    if len(model.classes_) == 1:
        return inside
    if hasattr(model, "temperature_"):
        scores = _logs(inside) if inside.probabilities else _decisions(inside)
        return ModelOutput.of_scores(inside.classes, [SumOf(((1 / model.temperature_, score),)) for score in scores])
    scores = [name_value(score) for score in _one_vs_rest_scores(model.model_, inside)]
    if hasattr(model, "slopes_"):
        lines = zip(scores, model.slopes_.tolist(), model.intercepts_.tolist(), strict=True)
        shares = [softmax([ZERO_VALUE, SumOf(((slope, score),), intercept)])[1] for score, slope, intercept in lines]
    else:
        shares = [
            _interpolate(score, steps[0].tolist(), steps[1].tolist())
            for score, steps in zip(scores, model.steps_, strict=True)
        ]
    return ModelOutput(
        classes=inside.classes, probabilities=_normalize([name_value(p) for p in shares], model.shares_.tolist())
    )


def _logs(inside: ModelOutput) -> list[Expression]:
    """Return log probabilities, bounded below as in the model."""
    if not inside.logs:
        raise ExportError(
            "A calibrated GLM whose link is not the logit cannot be exported. Fit it with the canonical link, or leave "
            "the calibration out."
        )
    top, total = _log_total(inside.logs)
    return [
        name_value(Greatest((SumOf(((1.0, score), (-1.0, top), (-1.0, total))), NumberValue(MIN_LOG_PROBABILITY))))
        for score in inside.logs
    ]


def _decisions(inside: ModelOutput) -> list[Expression]:
    """Return the scores of the classes; for two classes, minus and plus half of the only score."""
    if len(inside.scores) > 2:
        return list(inside.scores)
    return [SumOf(((0.5, score),)) for score in inside.scores]


def _one_vs_rest_scores(model: Any, inside: ModelOutput) -> list[Expression]:
    """Return a score for every class against all others; for two classes, only that of the second."""
    model = innermost_part(model, -1)
    if not inside.probabilities:
        return list(inside.scores) if len(inside.scores) > 2 else [inside.scores[1]]
    decides = hasattr(model, "decision_function")
    if decides and len(inside.classes) > 2 and isinstance(model, LINEAR_AND_QUADRATIC):
        raise ExportError(
            f"{type(model).__name__} of more than two classes cannot be exported after this calibration. Calibrate it "
            'with method="temperature".'
        )
    logs = list(inside.logs) if decides and inside.logs else _logs(inside)
    if len(logs) == 2:
        return [SumOf(((1.0, logs[1]), (-1.0, logs[0])))]
    return logs if decides else [_odds(logs, k) for k in range(len(logs))]


def _odds(logs: Sequence[Expression], k: int) -> Expression:
    """Return log p_k − log Σ_{j≠k} p_j."""
    top, total = _log_total([log for j, log in enumerate(logs) if j != k])
    return SumOf(((1.0, logs[k]), (-1.0, top), (-1.0, total)))


def _log_total(logs: Sequence[Expression]) -> tuple[Expression, Expression]:
    """Return log Σ e^log as two terms: the greatest, and the logarithm of the relative sum."""
    top = name_value(Greatest(tuple(logs)))
    return top, name_value(Logarithm(SumOf(tuple((1.0, Exp(SumOf(((1.0, log), (-1.0, top))))) for log in logs))))


def _interpolate(x: Expression, places: Sequence[float], values: Sequence[float]) -> Expression:
    """Return the linear interpolation between points, constant beyond the first and the last."""
    result: Expression = NumberValue(values[-1])
    for j in range(len(places) - 2, -1, -1):
        slope = (values[j + 1] - values[j]) / (places[j + 1] - places[j])
        line = SumOf(((slope, SumOf(((1.0, x),), -places[j])),), values[j])
        result = Conditional(Above(NumberValue(places[j + 1]), x), line, result)
    # comparisons with an unknown value are false, which would give the last value
    return Conditional(Lacks(x), UNKNOWN, Conditional(Above(NumberValue(places[0]), x), NumberValue(values[0]), result))


def _normalize(shares: Sequence[Expression], otherwise: Sequence[float]) -> list[Expression]:
    if len(shares) == 1:
        return [name_value(SumOf(((-1.0, shares[0]),), 1.0)), shares[0]]
    total = name_value(SumOf(tuple((1.0, share) for share in shares)))
    return [
        name_value(
            Conditional(
                Lacks(total), UNKNOWN, Conditional(Above(total, ZERO_VALUE), Quotient(share, total), NumberValue(p))
            )
        )
        for share, p in zip(shares, otherwise, strict=True)
    ]
