"""The coefficients of a fitted linear model, as a table."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer._typing import Array
from mercer.base import traits_of
from mercer.base.diagnosis import INTERCEPT
from mercer.base.pipelines import feature_names, predicting_step
from mercer.base.validation import column_names
from mercer.report import Field, Grid

#: rows of the table of coefficients
MAX_COEFFICIENT_ROWS = 120

#: share of the largest coefficient below which a coefficient is a rounding error
COEFFICIENT_ROUNDING = 1e-12
STANDARD_UNITS_NOTE = " Numbers were put in standard units first: a coefficient is for one standard deviation."


def plain_coefficients(model: Any) -> tuple[list[str], dict[str, Array]]:
    """Return the names of the coefficients, and a column of their values."""
    last = predicting_step(model)
    coef = last.coef_.toarray() if hasattr(last.coef_, "toarray") else np.asarray(last.coef_)
    coef = np.atleast_2d(coef)
    names = feature_names(model) or column_names(last)
    if len(coef) == 1:
        return list(names), {"coefficient": coef[0]}
    labels = [str(label) for label in np.asarray(last.classes_).tolist()]
    if has_pairwise_coefficients(last):
        labels = [f"{one} against {other}" for one, other in combinations(labels, 2)]
    return [f"{label}: {name}" for label in labels for name in names], {"coefficient": coef.ravel()}


def has_pairwise_coefficients(model: Any) -> bool:
    """Return whether coefficients belong to pairs of classes: those of an SVM of more than two classes do."""
    return hasattr(model, "support_") and len(getattr(model, "classes_", ())) > 2


def name_of_sum(model: Any) -> str:
    """Return the name of the sum of a classifier: "log odds", or "score" if it is not the log odds."""
    logistic = getattr(getattr(model, "link_", None), "name", "logit") in ("logit", "softmax")
    return "log odds" if hasattr(model, "predict_proba") and logistic and not hasattr(model, "support_") else "score"


def order_by_size(names: list[str], values: Array) -> Array:
    """Return positions in decreasing order of the absolute value, with the intercept last."""
    size = np.where([name.endswith(INTERCEPT) for name in names], -1.0, np.abs(np.nan_to_num(values)))
    return np.argsort(-size, kind="stable")


def is_standardized(model: Any) -> bool:
    """Return whether a step of the pipeline standardizes numbers."""
    return isinstance(model, Pipeline) and any(traits_of(step).standardizes for step in model[:-1])


def zero_rounding_errors(model: Any, names: list[str], values: Array) -> Array:
    """Set coefficients to 0 that are rounding errors relative to the largest; features must be standardized."""
    if not is_standardized(model):
        return values
    is_slope = np.array([not name.endswith(INTERCEPT) for name in names], dtype=bool)
    largest = np.abs(np.nan_to_num(values[is_slope])).max(initial=0.0)
    return np.where(is_slope & (np.abs(values) <= COEFFICIENT_ROUNDING * largest), 0.0, values)


def coefficient_grid(names: list[str], columns: dict[str, Array], order: Array, notes: tuple[str, ...]) -> Grid:
    """Return a table of the first coefficients in the given order."""
    kept = order[:MAX_COEFFICIENT_ROWS].tolist()
    headings = {"standard_error": "standard error", "posterior_sd": "posterior sd", "p_value": "p-value"}
    forms = {"p_value": ".3g"}
    fields = (
        Field("feature"),
        *(Field(headings.get(name, name), forms.get(name, ".4g")) for name in columns),
    )
    rows = tuple((names[k], *(float(column[k]) for column in columns.values())) for k in kept)
    if len(kept) < len(names):
        notes = (f"The largest {len(kept)} of {len(names):,} coefficients.", *notes)
    return Grid("", fields, rows, notes)
