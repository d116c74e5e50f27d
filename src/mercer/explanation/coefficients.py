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

#: coefficients in the table
MOST_ROWS = 120
#: share of the largest coefficient below which one is rounding
ROUNDING = 1e-12
UNITS = " Numbers were put in standard units first: a coefficient is for one standard deviation."


def plain_coefficients(model: Any) -> tuple[list[str], dict[str, Array]]:
    """Coefficients alone."""
    last = predicting_step(model)
    coef = last.coef_.toarray() if hasattr(last.coef_, "toarray") else np.asarray(last.coef_)
    coef = np.atleast_2d(coef)
    names = feature_names(model) or column_names(last)
    if len(coef) == 1:
        return list(names), {"coefficient": coef[0]}
    labels = [str(label) for label in np.asarray(last.classes_).tolist()]
    if of_pairs(last):
        labels = [f"{one} against {other}" for one, other in combinations(labels, 2)]
    return [f"{label}: {name}" for label in labels for name in names], {"coefficient": coef.ravel()}


def of_pairs(model: Any) -> bool:
    """Whether coefficients are those of pairs of classes: of support vector machines of more than two."""
    return hasattr(model, "support_") and len(getattr(model, "classes_", ())) > 2


def added_to(model: Any) -> str:
    """What the coefficients of a classifier add to: the log odds, or a score that becomes a probability otherwise."""
    logistic = getattr(getattr(model, "link_", None), "name", "logit") in ("logit", "softmax")
    return "log odds" if hasattr(model, "predict_proba") and logistic and not hasattr(model, "support_") else "score"


def by_size(names: list[str], values: Array) -> Array:
    """Positions by size, the intercept left out of the ranking and put last."""
    size = np.where([name.endswith(INTERCEPT) for name in names], -1.0, np.abs(np.nan_to_num(values)))
    return np.argsort(-size, kind="stable")


def scaled(model: Any) -> bool:
    """Whether numbers came to the model in standard units."""
    return isinstance(model, Pipeline) and any(traits_of(step).standardizes for step in model[:-1])


def without_rounding(model: Any, names: list[str], values: Array) -> Array:
    """Return coefficients with 0 for those that are rounding beside the largest, where all are in standard units."""
    if not scaled(model):
        return values
    among = np.array([not name.endswith(INTERCEPT) for name in names], dtype=bool)
    largest = np.abs(np.nan_to_num(values[among])).max(initial=0.0)
    return np.where(among & (np.abs(values) <= ROUNDING * largest), 0.0, values)


def coefficient_grid(names: list[str], columns: dict[str, Array], order: Array, notes: tuple[str, ...]) -> Grid:
    """A line for each, in the order given, of as many as a reader will look at."""
    kept = order[:MOST_ROWS].tolist()
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
