"""The coefficients of the best linear model, with intervals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from mercer._errors import MercerError
from mercer._typing import Array
from mercer.base.diagnosis import INTERCEPT
from mercer.base.pipelines import feature_names, predicting_step
from mercer.comparison._entry import Entry
from mercer.comparison._view import View, sample_rows
from mercer.explanation.coefficients import (
    STANDARD_UNITS_NOTE,
    coefficient_grid,
    is_standardized,
    name_of_sum,
    order_by_size,
    plain_coefficients,
    zero_rounding_errors,
)
from mercer.explanation.explanation import explain_exactly
from mercer.report import Axis, Bars, Chart, Section

#: features up to which intervals, which require the inverse of a matrix of that size, are computed
MAX_INTERVAL_FEATURES = 400
#: rows × features up to which intervals are computed
MAX_INTERVAL_ENTRIES = 20_000_000
#: coefficients in the chart
MAX_COEFFICIENT_BARS = 25
#: rows that are explained to find the output of which a coefficient is a change
N_OUTPUT_ROWS = 20


def coefficients(view: View) -> Section | None:
    """Coefficients of the recommended model, or else of the best linear one, the largest first."""
    for entry in view.recommended_first():
        model = view.fitted(entry)
        last = predicting_step(model)
        if hasattr(last, "coef_") and (hasattr(last, "intercept_") or hasattr(last, "thresholds_")):
            try:
                return _section(view, entry, model, last)
            except (MercerError, ValueError, TypeError, AttributeError):
                continue
    return None


def _section(view: View, entry: Entry, model: Any, last: Any) -> Section:
    summarised, why_not = _summary(view, entry, model, last)
    if summarised is None:
        names, columns = plain_coefficients(model)
        grid_notes: tuple[str, ...] = ()
    else:
        names, columns, grid_notes = summarised
    columns = {**columns, "coefficient": zero_rounding_errors(model, names, columns["coefficient"])}
    order = order_by_size(names, columns["coefficient"])
    chart = _chart(f"Coefficients of {entry.name}", names, columns, order[:MAX_COEFFICIENT_BARS])
    blocks: list[Any] = [chart, coefficient_grid(names, columns, order, grid_notes)]
    if why_not:
        blocks.append(why_not)
    units = STANDARD_UNITS_NOTE if is_standardized(model) and view.amounts else ""
    lead = f"{_explain_substitute(view, entry)}{_lead(view, entry, model, last, summarised is not None)}{units}"
    return Section("coefficients", "Coefficients", tuple(blocks), lead)


def _explain_substitute(view: View, entry: Entry) -> str:
    """Return a sentence if the recommended model has no coefficients."""
    recommended = view.comparison.entry()
    if recommended.name == entry.name or recommended.kind == "baseline":
        return ""
    return (
        f"{recommended.name}, which is recommended, has no coefficients: its drivers are under “Why”. These are the "
        f"coefficients of the best linear model, {entry.name}. "
    )


def _lead(view: View, entry: Entry, model: Any, last: Any, intervals: bool) -> str:
    what = name_of_sum(last) if view.classification else _describe_output(view, entry, model)
    if hasattr(last, "thresholds_"):
        what = "log odds of a higher class"
    bars = "; bars are 95% intervals" if intervals else ""
    return f"A coefficient says how much a feature changes the {what}, the others staying as they are{bars}."


def _describe_output(view: View, entry: Entry, model: Any) -> str:
    """Return the output of a regression of which a coefficient is a change: the prediction, or its logarithm."""
    explained = explain_exactly(model, view.rows_for(entry, sample_rows(entry.table.n_rows, N_OUTPUT_ROWS)))
    return "prediction" if explained is None else explained.what


def _summary(view: View, entry: Entry, model: Any, last: Any) -> tuple[Any, str]:
    """Names, columns and notes of `summary`; or why there is none."""
    from mercer.inference import summary
    from mercer.inference.reading import has_summary

    if not has_summary(last):
        return None, f"There are no intervals for {type(last).__name__}."
    n, p = entry.table.n_rows, int(np.shape(last.coef_)[-1])
    if p > MAX_INTERVAL_FEATURES or n * p > MAX_INTERVAL_ENTRIES:
        return None, f"Intervals are left out, because there are {p:,} coefficients."
    X = entry.table.native
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = model[:-1].transform(X) if isinstance(model, Pipeline) else X
            result = summary(last, rows, view.comparison.y)
    except (MercerError, ValueError, TypeError, np.linalg.LinAlgError) as error:
        return None, f"There are no intervals: {error}"
    columns = result.columns()
    names = _rename_features(list(map(str, columns.pop("term"))), model, last)
    return (names, columns, result.grid().notes), ""


def _rename_features(names: list[str], model: Any, last: Any) -> list[str]:
    """x0, x1, … by what the steps before call them, where these gave no names to what they made."""
    given = feature_names(model)
    if given is None or hasattr(last, "feature_names_in_"):
        return names
    by_place = {f"x{j}": name for j, name in enumerate(given)}
    parted = [name.rpartition(": ") for name in names]  # "class: feature", of several classes
    return [f"{label}{colon}{by_place.get(name, name)}" for label, colon, name in parted]


def _chart(title: str, names: list[str], columns: dict[str, Array], order: Array) -> Chart:
    shown = [k for k in order.tolist() if not names[k].endswith(INTERCEPT)]
    values = columns["coefficient"][shown]
    ends = {}
    if "lower" in columns:
        ends = {"low": columns["lower"][shown], "high": columns["upper"][shown]}
    bars = Bars("coefficient", [names[k] for k in shown], values, **ends)
    features = sum(not name.endswith(INTERCEPT) for name in names)
    caption = f"The largest {len(shown)} of {features:,}." if len(shown) < features else ""
    return Chart(title, Axis("coefficient"), Axis("feature"), (bars,), caption)
