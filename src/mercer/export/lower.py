"""Conversion of a fitted model, step by step, to its formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._errors import ExportError
from mercer.base import declared_traits, resolve, traits_of, transformer_names
from mercer.base.pipelines import innermost_part, steps_of
from mercer.decision import Calibrated
from mercer.export import texts
from mercer.export.calibrated import calibrate_output
from mercer.export.columns import columns_read
from mercer.export.expression import ColumnValue, Expression, Term, numbers_in, walk
from mercer.export.formula import Formula, ModelOutput
from mercer.export.targets import transform_back

Lowering = Callable[[Any, Sequence[Expression]], ModelOutput]


def lower(model: Any, *, missing: bool | None = None) -> Formula:
    """Return the formula of a fitted model, alone or at the end of a pipeline.

    If `missing` is False, columns of numbers are assumed to be complete. If it is True, an `ExportError` is raised if
    rows with missing values have no prediction; if it is None, only if the rows of the fit had such values.
    """
    check_is_fitted(model)
    first, last = innermost_part(model, 0), innermost_part(model, -1)
    if traits_of(first).columns == "documents":
        columns = [texts.DOCUMENTS]
    elif hasattr(first, "n_features_in_"):
        columns = columns_read(first)
    else:  # wrappers of models raise an error here
        (_features if hasattr(first, "transform") else _model)(first)
        columns = []
    if missing is False:
        columns = [replace(column, complete=column.kind == "number") for column in columns]
    with np.errstate(over="ignore", invalid="ignore"):  # infinite values raise an error below
        output = _output_of(model, columns)
    if missing and output.incomplete:
        raise ExportError(
            f"{output.incomplete} Export with missing=None, which gives no prediction for rows with gaps; or use "
            "GaussianNB, whose columns are independent."
        )
    if any(isinstance(part, Term) for part in walk(output.outputs)):
        raise ExportError(
            f"{type(last).__name__} cannot be exported: it uses the words of a text otherwise than in a weighted "
            "sum. A linear model or MultinomialNB of the words can be; or keep this one in a file with mercer.save."
        )
    if any(map(math.isinf, numbers_in(output.outputs))):
        raise ExportError(
            f"{type(last).__name__} cannot be exported: one of its coefficients is infinite in float64. "
            "Fit it with a penalty; or multiply columns of very small numbers by a power of ten, and fit again."
        )
    read = {part for part in walk(output.outputs) if isinstance(part, ColumnValue)}
    has_names = hasattr(first, "feature_names_in_") or not hasattr(first, "n_features_in_")
    unnamed = not has_names and all(column.kind == "number" for column in columns)
    return Formula(
        model=type(last).__name__,
        # at least one column, which has the number of rows
        columns=[column for column in columns if column in read] or columns[:1],
        output=output,
        width=first.n_features_in_ if unnamed else None,
    )


def check_kinds(model: Any) -> None:
    """Raise an `ExportError` if a part of a model is of a kind that cannot be exported, independently of its fit."""
    if isinstance(model, Pipeline):
        for step in steps_of(model)[:-1]:
            _features(step)
        check_kinds(steps_of(model)[-1])
    elif (inside := _inside(model)) is not None:
        check_kinds(inside)
    else:
        _model(model)


def _inside(model: Any) -> Any:
    """Return the fitted model inside another one, or None; for a search, it is the best model."""
    if isinstance(model, Calibrated):
        return model.model_
    if isinstance(model, TransformedTargetRegressor):
        return model.regressor_
    return getattr(model, "best_estimator_", None)


def _output_of(model: Any, inputs: Sequence[Expression]) -> ModelOutput:
    """Return the output of a model, including wrappers, as expressions of its inputs."""
    if isinstance(model, Pipeline):
        for step in steps_of(model)[:-1]:
            inputs = _features(step)(step, inputs)
        return _output_of(steps_of(model)[-1], inputs)
    if (wrapped := _inside(model)) is None:
        return _model(model)(model, inputs)
    inside = _output_of(wrapped, inputs)
    if isinstance(model, Calibrated):
        return replace(calibrate_output(model, inside), incomplete=inside.incomplete)
    return transform_back(model, inside) if isinstance(model, TransformedTargetRegressor) else inside


def _features(step: Any) -> Callable[[Any, Sequence[Expression]], list[Expression]]:
    own = declared_traits(type(step))
    if own is not None and own.tasks == ("features",) and own.export is not None:
        return resolve(own.export)
    raise ExportError(
        f"{type(step).__name__} cannot be exported; before a model, exports take "
        f"{', '.join(transformer_names('export'))}. Make its features columns of the table, and fit the model to them."
    )


def _model(model: Any) -> Lowering:
    own = declared_traits(type(model))
    if own is not None and own.tasks != ("features",) and own.export is not None:
        return resolve(own.export)
    if inside := next((name for name in ("model_", "model") if hasattr(model, name)), None):
        raise ExportError(
            f"{type(model).__name__} cannot be exported. Export the model inside it, its `{inside}`; or fit without it."
        )
    raise ExportError(
        f"{type(model).__name__} cannot be exported: it is neither a formula of a few columns nor a sum over the rows "
        "of the fit. Linear models, naive Bayes, Gaussian discriminants and support vector machines can be, e.g. "
        "LogisticRegression or SVC; or keep this one in a file with mercer.save and serve it."
    )
