"""Exported models, run as their users run them: in DuckDB, in onnxruntime, and in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import duckdb
import numpy as np
import onnx
import onnxruntime
import pandas as pd

from mercer.export import to_onnx, to_python, to_sql


class ModelOutput(NamedTuple):
    """Predictions of a model: classes or means, and probabilities or scores if it has any."""

    prediction: Any
    values: Any


def frame_of(X: Any) -> pd.DataFrame:
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{j}" for j in range(np.shape(X)[1])])


def by_model(model: Any, X: Any) -> ModelOutput:
    prediction = np.asarray(model.predict(X))
    if hasattr(model, "predict_proba"):
        return ModelOutput(prediction, np.asarray(model.predict_proba(X)))
    if hasattr(model, "classes_"):
        scores = np.asarray(model.decision_function(X))
        return ModelOutput(prediction, np.column_stack([-scores, scores]) if scores.ndim == 1 else scores)
    return ModelOutput(prediction, prediction.reshape(len(prediction), -1))


def in_sql(model: Any, X: Any, **options: Any) -> ModelOutput:
    sql = to_sql(model, "rows to predict", dialect="duckdb", **options)
    with duckdb.connect() as connection:
        connection.register("rows to predict", frame_of(X))
        table = connection.sql(sql).df()
    if "prediction" not in table:
        return ModelOutput(table.to_numpy(), table.to_numpy())
    values = table.drop(columns="prediction") if table.shape[1] > 1 else table
    return ModelOutput(table["prediction"].to_numpy(), values.to_numpy(dtype=float))


def in_python(model: Any, X: Any, **options: Any) -> ModelOutput:
    module: dict[str, Any] = {}
    exec(to_python(model, **options), module)
    rows = frame_of(X).astype(object).to_dict("records")
    ask = module.get("predict_proba") or module.get("decision_function")
    prediction = [module["predict"](row) for row in rows]
    if ask is None:
        return ModelOutput(np.array(prediction), np.array(prediction).reshape(len(rows), -1))
    return ModelOutput(np.array(prediction, dtype=object), np.array([list(ask(row).values()) for row in rows]))


def in_onnx(model: Any, X: Any, **options: Any) -> ModelOutput:
    graph = to_onnx(model, **options)
    onnx.checker.check_model(onnx.load_from_string(graph), full_check=True)
    session = onnxruntime.InferenceSession(graph)
    results = session.run(None, {each.name: _fed(each, X) for each in session.get_inputs()})
    if len(results) == 1:
        return ModelOutput(results[0][:, 0] if results[0].shape[1] == 1 else results[0], results[0])
    return ModelOutput(*results)


def _fed(each: Any, X: Any) -> Any:
    if each.name == "X" and not isinstance(X, pd.DataFrame):
        return np.asarray(X, dtype=float)
    column = frame_of(X)[each.name]
    if "string" in each.type:
        return column.astype(object).where(column.notna(), "").to_numpy()[:, None]
    if column.dtype.kind in "MO" or pd.api.types.is_string_dtype(column):  # dates, as days since 1970
        read = pd.to_datetime(column.astype(object)).dt.tz_localize(None)
        return ((read - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy(dtype=float)[:, None]
    return column.astype(float).to_numpy()[:, None]


LANGUAGES: dict[str, Callable[..., ModelOutput]] = {"sql": in_sql, "python": in_python, "onnx": in_onnx}


def check(
    model: Any,
    X: Any,
    *,
    off: float = 1e-9,
    relative: float = 1e-9,
    languages: Sequence[str] = tuple(LANGUAGES),
    **options: Any,
) -> None:
    """Check that all languages give the predictions of the model."""
    expected = by_model(model, X)
    for language in languages:
        got = LANGUAGES[language](model, X, **options)
        np.testing.assert_allclose(got.values, expected.values, rtol=relative, atol=off, err_msg=language)
        if expected.prediction.dtype.kind == "f":
            np.testing.assert_allclose(got.prediction, expected.prediction, rtol=relative, atol=off, err_msg=language)
        else:
            assert (np.asarray(got.prediction) == expected.prediction).all(), language
