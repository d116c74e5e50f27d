"""Tables of a fitted model: its description, coefficients, likelihoods, drivers, and the contributions to one row."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from mercer._errors import NoExplanationError
from mercer._suggest import listed
from mercer.application.reading import columns_of, reader_of
from mercer.application.training_table import AMOUNT_KINDS
from mercer.base import resolve, traits_of
from mercer.base.pipelines import (
    columns_of_fit,
    feature_names,
    inner_model,
    last_step,
    nested_models,
    predicting_step,
    schema_of,
)
from mercer.base.validation import column_names
from mercer.data import Kind, Schema
from mercer.explanation import coefficients
from mercer.explanation.column_drivers import Driver, common_output, drivers
from mercer.explanation.evidence import PREDICTION, row_texts
from mercer.explanation.explanation import EXACT_METHOD, Explanation
from mercer.files import card_of
from mercer.report import Field, Grid
from mercer.report.wording import format_number, format_plain, format_value, shorten

#: characters of the representation of an object that is not a model
MAX_REPR_LENGTH = 200
#: columns in tables of likelihoods
MAX_LIKELIHOOD_COLUMNS = 40
#: levels of a column, those that differ most between classes
MAX_LIKELIHOOD_LEVELS = 12
#: words, those that differ most between classes
MAX_LIKELIHOOD_WORDS = 40
#: classes with a column in the table of a row; of more classes, those with the largest totals
MAX_ROW_CLASSES = 6
#: rows drawn from a model card to rank columns
N_CARD_ROWS = 200
#: kinds of columns that features standardize
SCALED_KINDS = AMOUNT_KINDS | {Kind.DATE}


def describe_model(model: Any, *, columns: bool = True) -> Iterator[str]:
    """Yield lines that describe a model, its classes, its certificate and, by default, its columns."""
    *around, predicts = nested_models(model)
    yield _format_model(predicts)
    if around:
        yield ", ".join(f"within {type(each).__name__}" for each in reversed(around))
    if hasattr(model, "classes_"):
        yield f"Classes: {listed([str(label) for label in np.asarray(model.classes_).tolist()])}"
    for heading, attribute in (("Certificate", "certificate_"), ("Plan", "plan_")):
        value = getattr(predicts, attribute, None)
        if value is not None:
            yield f"{heading}: {value}"
    if not columns:
        return
    names = columns_of(model)
    if (schema := schema_of(reader := reader_of(model))) is not None:
        yield str(schema if names is None else Schema(tuple(columns_of_fit(reader))))
    elif names is not None:
        yield f"Columns: {listed(names)}"


def _format_model(model: Any) -> str:
    """Format a model with the parameters that differ from their defaults, except a schema, which has a table.

    Other objects of a model file, such as a family, a kernel or numbers, are formatted by `repr`.
    """
    if not hasattr(model, "get_params"):
        return shorten(repr(model), MAX_REPR_LENGTH)
    defaults = {name: each.default for name, each in inspect.signature(type(model)).parameters.items()}
    changed = [
        f"{name}={value!r}"
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(defaults.get(name)) and not isinstance(value, Schema)
    ]
    return " ".join(f"{type(model).__name__}({', '.join(changed)})".split())


def likelihood_grids(model: Any) -> list[Grid]:
    """Return tables of means and deviations, shares of levels, or words; none if the model has no such parameters."""
    last = last_step(model)
    words = feature_names(model)
    if (tables := traits_of(last).tables) is not None:
        named = {column.name for column in columns_of_fit(last) if column.levels}
        distributions = resolve(tables)(last)
        if words is not None and not hasattr(last, "feature_names_in_") and list(distributions) == column_names(last):
            distributions = dict(zip(words, distributions.values(), strict=True))  # the model was fitted to an array
        return _grids_of_likelihoods(distributions, [str(label) for label in last.classes_.tolist()], named)
    if words is not None and isinstance(getattr(last, "feature_log_prob_", None), np.ndarray):
        return [_grid_of_words(words, last)]
    return []


def _grids_of_likelihoods(tables: dict[Any, Any], classes: list[str], named: Collection[str] = ()) -> list[Grid]:
    """Return tables of numbers, of levels for the columns in `named`, and of parameters of other distributions."""
    numbers: list[tuple[Any, ...]] = []
    levels: list[tuple[Any, ...]] = []
    others: list[tuple[Any, ...]] = []
    for name, by_class in list(tables.items())[:MAX_LIKELIHOOD_COLUMNS]:
        parameters = list(by_class.values())
        if set(parameters[0]) == {"mean", "variance"} and np.ndim(parameters[0]["mean"]) == 0:
            numbers.append(
                (
                    str(name),
                    *(f"{format_number(p['mean'])} ± {format_number(np.sqrt(p['variance']), 3)}" for p in parameters),
                )
            )
        elif all(np.ndim(value) == 0 for value in parameters[0].values()):
            (levels if str(name) in named else others).extend(_rows_of_levels(str(name), parameters))
    fields = tuple(map(Field, classes))
    grids = []
    if numbers:
        note = "Mean ± standard deviation within each class."
        grids.append(Grid("Likelihoods of numbers", (Field("column"), *fields), tuple(numbers), (note,)))
    if levels:
        shares = tuple(Field(label, ".3g") for label in classes)
        grids.append(Grid("Likelihoods of levels", (Field("column"), Field("level"), *shares), tuple(levels)))
    if others:
        values = tuple(Field(label, ".4g") for label in classes)
        fields = (Field("column"), Field("parameter"), *values)
        grids.append(Grid("Parameters of the distributions", fields, tuple(others)))
    if grids and len(tables) > MAX_LIKELIHOOD_COLUMNS:
        note = f"The first {MAX_LIKELIHOOD_COLUMNS} of {len(tables):,} columns."
        grids[0] = replace(grids[0], notes=(*grids[0].notes, note))
    return grids


def _rows_of_levels(name: str, parameters: list[dict[Any, float]]) -> list[tuple[Any, ...]]:
    """Return rows of the levels, or parameters, that differ most between classes."""
    keys = list(parameters[0])
    ranges = [max(p[key] for p in parameters) - min(p[key] for p in parameters) for key in keys]
    kept = sorted(np.argsort(-np.array(ranges), kind="stable")[:MAX_LIKELIHOOD_LEVELS].tolist())
    return [(name, format_value(keys[k]), *(float(p[keys[k]]) for p in parameters)) for k in kept]


def _grid_of_words(names: list[str], last: Any) -> Grid:
    """Return a table of the words with the largest p log p/q, where q is the mean of p over classes."""
    log_p = np.asarray(last.feature_log_prob_)
    p = np.exp(log_p)
    divergence = (p * (log_p - np.log(p.mean(axis=0)))).max(axis=0)
    order = np.argsort(-divergence, kind="stable")[:MAX_LIKELIHOOD_WORDS].tolist()
    fields = (Field("feature"), *(Field(str(label), ".3g") for label in last.classes_.tolist()))
    rows = tuple((names[j], *(1000 * p[:, j]).tolist()) for j in order)
    return Grid(
        f"Words that tell classes apart ({type(last).__name__})",
        fields,
        rows,
        ("Mean occurrences in 1,000 words.",),
    )


def model_grids(model: Any, most: int | None = None) -> list[Grid]:
    """Return tables of the fitted parameters of a model, each of at most `most` rows.

    These are coefficients, or the likelihoods of naive Bayes; for other models, drivers over rows drawn from the card.

    Raises
    ------
    NoExplanationError
        If the model has no coefficients, no likelihoods of its columns, and no card.
    """
    outer = model
    while not hasattr(model, "steps") and (inner := inner_model(model)) is not None:
        model = inner  # unwrap calibrations and decisions
    last = predicting_step(model)
    if grids := likelihood_grids(model):
        return [replace(grid, rows=grid.rows[:most]) for grid in grids]
    if hasattr(last, "coef_") and (hasattr(last, "intercept_") or hasattr(last, "thresholds_")):
        names, columns = coefficients.plain_coefficients(model)
        columns["coefficient"] = coefficients.zero_rounding_errors(model, names, columns["coefficient"])
        order = coefficients.order_by_size(names, columns["coefficient"])[:most]
        units = (
            coefficients.STANDARD_UNITS_NOTE
            if coefficients.is_standardized(model) and _standardizes_columns(model)
            else ""
        )
        notes = (_describe_intercept(last), f"{_explain_coefficients(last)}{units}")
        return [coefficients.coefficient_grid(names, columns, order, notes)]
    card = card_of(outer)
    if card is None or not any(column.used for column in card.columns):
        raise NoExplanationError(
            f"{type(last).__name__} has neither coefficients nor tables of its columns, and there is no model card to "
            "draw rows from. Give a table with --data, or use `drivers(model, X)` in Python."
        )
    ranked = drivers(outer, card.sample(N_CARD_ROWS), most=most)
    return [drivers_grid(ranked, "Over rows that are drawn column by column from the model card.")]


def _describe_intercept(model: Any) -> str:
    """Return a sentence with the intercept, or with the thresholds between ordered classes."""
    if hasattr(model, "intercept_"):
        return f"Intercept: {', '.join(f'{each:.4g}' for each in np.ravel(model.intercept_).tolist())}."
    between = pairwise(map(str, model.classes_.tolist()))
    written = [f"{low} | {high} {at:.4g}" for (low, high), at in zip(between, model.thresholds_, strict=True)]
    return f"Thresholds of the sum: {', '.join(written)}."


def drivers_grid(drivers_: list[Driver], *notes: str) -> Grid:
    """Return a table of drivers."""
    fields = (Field("column"), Field("direction"), Field("moves by", ".3g"), Field("±", ".2g"))
    rows = tuple((driver.column, driver.direction, driver.size, driver.error) for driver in drivers_)
    of = common_output(drivers_)
    mean = f"“Moves by” is the mean distance of what a column adds to the {of} from its average over rows."
    return Grid("Drivers", fields, rows, (mean, *notes))


def _standardizes_columns(model: Any) -> bool:
    """Return whether the features of the model include standardized columns; with a formula they do not."""
    reader = reader_of(model)
    schema = getattr(reader, "schema_", None)
    if schema is None:
        return True
    return reader.scale and reader.formula is None and any(column.kind in SCALED_KINDS for column in schema)


def _explain_coefficients(model: Any) -> str:
    """Return a sentence on the meaning of a coefficient."""
    labels = getattr(model, "classes_", None)
    if labels is None:
        return "A coefficient is what a unit of the feature adds to the prediction, before any link."
    if hasattr(model, "thresholds_"):
        return "A coefficient is what a unit of the feature adds to the log odds of a higher class."
    classes = "its class"
    if len(labels) == 2:
        classes = f"{labels[1]} against {labels[0]}"
    elif coefficients.has_pairwise_coefficients(model):
        classes = "the first class against the second"
    return f"A coefficient is what a unit of the feature adds to the {coefficients.name_of_sum(model)} of {classes}."


def evidence_grid(model: Any, row: Any, explanation: Explanation, most: int = 20) -> Grid:
    """Return a table of the base, the strongest contributions, the sum of the others, and the total for a row.

    Sampled contributions to one output have a column of standard errors.
    """
    explanation, notes = _select_classes(explanation)
    strength = np.abs(explanation.contributions[0]).max(axis=1)
    order = [j for j in np.argsort(-strength, kind="stable").tolist() if strength[j] > 0]
    kept, others = order[:most], order[most:]
    values = row_texts(row, explanation.names)
    has_errors = explanation.error is not None and len(explanation.outputs) == 1
    rows: list[tuple[Any, ...]] = [("(before any column)", "", *explanation.base.tolist(), "")]
    rows += [
        (
            explanation.names[j],
            values[explanation.names[j]],
            *explanation.contributions[0, j].tolist(),
            _format_error(explanation, [j]),
        )
        for j in kept
    ]
    if others:
        name = f"({len(others)} other{'s' if len(others) > 1 else ''})"
        added = explanation.contributions[0, others].sum(axis=0).tolist()
        rows.append((name, "", *added, _format_error(explanation, others)))
    rows.append(("(all together)", "", *explanation.totals[0].tolist(), ""))
    form = "+.4g" if explanation.what == PREDICTION else "+.4f"
    fields = (Field("column"), Field("value"), *(Field(name, form) for name in explanation.outputs), Field("±"))
    if not has_errors:
        rows, fields = [line[:-1] for line in rows], fields[:-1]
    return Grid(
        f"What adds to the {explanation.what}",
        fields,
        tuple(rows),
        (*notes, *_describe_method(explanation, has_errors), _describe_prediction(model, row)),
    )


def _format_error(explanation: Explanation, columns: list[int]) -> str:
    """Format the standard error of a sum of contributions."""
    if explanation.error is None:
        return ""
    return format_plain(float(np.sqrt(np.square(explanation.error[0, columns, 0]).sum())), ".2g")


def _describe_method(explanation: Explanation, has_errors: bool) -> tuple[str, ...]:
    """Return a sentence on the computation of Shapley values, and on their errors."""
    if explanation.method == EXACT_METHOD:
        return ()
    errors = ""
    if has_errors:
        errors = " Standard errors are beside them (±)."
    elif explanation.error is not None:
        errors = f" Standard errors are at most {format_plain(float(explanation.error[0].max()), '.2g')}."
    return (f"{explanation.details}{errors}",)


def _select_classes(explanation: Explanation) -> tuple[Explanation, tuple[str, ...]]:
    """Keep the classes with the largest totals, in their order, and return a note if others were left out."""
    if (classes := len(explanation.outputs)) <= MAX_ROW_CLASSES:
        return explanation, ()
    kept = np.sort(np.argsort(-explanation.totals[0], kind="stable")[:MAX_ROW_CLASSES])
    few = replace(
        explanation,
        outputs=tuple(explanation.outputs[k] for k in kept.tolist()),
        base=explanation.base[kept],
        contributions=explanation.contributions[..., kept],
        error=None if explanation.error is None else explanation.error[..., kept],
    )
    return few, (f"Shown are the {MAX_ROW_CLASSES} classes of {classes} that are highest all together.",)


def _describe_prediction(model: Any, row: Any) -> str:
    predicted = np.asarray(model.predict(row)).tolist()[0]
    if not hasattr(model, "predict_proba"):
        return f"Prediction: {format_plain(predicted, '.6g') if isinstance(predicted, float) else predicted}."
    proba = np.asarray(model.predict_proba(row))[0]
    kept = np.sort(np.argsort(-proba, kind="stable")[:MAX_ROW_CLASSES])
    shares = [f"{label}: {share:.4f}" for label, share in zip(model.classes_[kept].tolist(), proba[kept], strict=True)]
    others = [] if len(kept) == len(proba) else [f"{len(proba) - len(kept)} others: {1 - proba[kept].sum():.4f}"]
    return f"Prediction: {predicted} ({', '.join(shares + others)})."
