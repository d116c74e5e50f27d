"""Predictions of a transformed target, in the units of the target."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from mercer._errors import ExportError
from mercer.export.expression import Exp, Expression, ProductOf, SumOf, name_value
from mercer.export.formula import ModelOutput


def transform_back(model: Any, inside: ModelOutput) -> ModelOutput:
    """Return the predictions of scikit-learn's `TransformedTargetRegressor`, transformed back."""
    transformer = model.transformer_
    if isinstance(transformer, StandardScaler):
        count = len(inside.predictions)
        scales = np.ones(count) if transformer.scale_ is None else transformer.scale_
        means = np.zeros(count) if transformer.mean_ is None else transformer.mean_
        return ModelOutput(
            predictions=[
                name_value(SumOf(((scale, value),), mean))
                for value, scale, mean in zip(inside.predictions, scales.tolist(), means.tolist(), strict=True)
            ]
        )
    back = getattr(transformer, "inverse_func", None)
    if back not in INVERSE_FUNCTIONS:
        raise ExportError(
            f"TransformedTargetRegressor with the inverse {back!r} cannot be exported. Use numpy's exp, expm1 or "
            "square, or StandardScaler as the transformer."
        )
    return ModelOutput(predictions=[INVERSE_FUNCTIONS[back](name_value(value)) for value in inside.predictions])


def _less_one(value: Expression) -> Expression:
    return SumOf(((1.0, Exp(value)),), -1.0)


def _square(value: Expression) -> Expression:
    return ProductOf(value, value)


INVERSE_FUNCTIONS: dict[Any, Any] = {np.exp: Exp, np.expm1: _less_one, np.square: _square}
