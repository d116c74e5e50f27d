"""Contributions of columns to one row, as a table."""

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
from mercer.application.shown import AMOUNTS
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
from mercer.explanation.explanation import EXACT, Explanation
from mercer.files import card_of
from mercer.report import Field, Grid
from mercer.report.wording import format_number, format_plain, format_value, shorten

# A fitted model in a few lines.

#: characters of what is no model
LONGEST = 200


def described(model: Any, *, columns: bool = True) -> Iterator[str]:
    """Yield lines about the model and what it answers with, and by default the columns that it reads."""
    *around, predicts = nested_models(model)
    yield _written(predicts)
    if around:
        yield ", ".join(f"within {type(each).__name__}" for each in reversed(around))
    if hasattr(model, "classes_"):
        yield f"Classes: {listed([str(label) for label in np.asarray(model.classes_).tolist()])}"
    for about, value in (("Certificate", "certificate_"), ("Plan", "plan_")):
        found = getattr(predicts, value, None)
        if found is not None:
            yield f"{about}: {found}"
    if not columns:
        return
    names = columns_of(model)
    if (schema := schema_of(reader := reader_of(model))) is not None:
        yield str(schema if names is None else Schema(tuple(columns_of_fit(reader))))
    elif names is not None:
        yield f"Columns: {listed(names)}"


def _written(model: Any) -> str:
    """A model with the parameters that differ from their defaults; a schema is shown as a table instead.

    Files may hold a family or a kernel by itself, too, or numbers.
    """
    if not hasattr(model, "get_params"):
        return shorten(repr(model), LONGEST)
    usual = {name: each.default for name, each in inspect.signature(type(model)).parameters.items()}
    changed = [
        f"{name}={value!r}"
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(usual.get(name)) and not isinstance(value, Schema)
    ]
    return " ".join(f"{type(model).__name__}({', '.join(changed)})".split())


# Tables of the distribution of each column in each class, as naive Bayes has learned it.

MOST_COLUMNS, MOST_LEVELS, MOST_WORDS = 40, 12, 40


def likelihood_grids(model: Any) -> list[Grid]:
    """Return tables of means and deviations, shares of levels, or words; none where a model learned none of these."""
    last = last_step(model)
    words = feature_names(model)
    if (tables := traits_of(last).tables) is not None:
        named = {column.name for column in columns_of_fit(last) if column.levels}
        found = resolve(tables)(last)
        if words is not None and not hasattr(last, "feature_names_in_") and list(found) == column_names(last):
            found = dict(zip(words, found.values(), strict=True))  # the steps before it gave it an array
        return _of_tables(found, [str(label) for label in last.classes_.tolist()], named)
    if words is not None and isinstance(getattr(last, "feature_log_prob_", None), np.ndarray):
        return [_of_words(words, last)]
    return []


def _of_tables(tables: dict[Any, Any], classes: list[str], named: Collection[str] = ()) -> list[Grid]:
    """Of the columns that are `named` the shares of their levels, of others what their distributions are given by."""
    numbers: list[tuple[Any, ...]] = []
    levels: list[tuple[Any, ...]] = []
    others: list[tuple[Any, ...]] = []
    for name, by_class in list(tables.items())[:MOST_COLUMNS]:
        parameters = list(by_class.values())
        if set(parameters[0]) == {"mean", "variance"} and np.ndim(parameters[0]["mean"]) == 0:
            numbers.append(
                (
                    str(name),
                    *(f"{format_number(p['mean'])} ± {format_number(np.sqrt(p['variance']), 3)}" for p in parameters),
                )
            )
        elif all(np.ndim(value) == 0 for value in parameters[0].values()):
            (levels if str(name) in named else others).extend(_of_levels(str(name), parameters))
    fields = tuple(map(Field, classes))
    found = []
    if numbers:
        note = "Mean ± standard deviation within each class."
        found.append(Grid("Likelihoods of numbers", (Field("column"), *fields), tuple(numbers), (note,)))
    if levels:
        shares = tuple(Field(label, ".3g") for label in classes)
        found.append(Grid("Likelihoods of levels", (Field("column"), Field("level"), *shares), tuple(levels)))
    if others:
        values = tuple(Field(label, ".4g") for label in classes)
        fields = (Field("column"), Field("parameter"), *values)
        found.append(Grid("Parameters of the distributions", fields, tuple(others)))
    if found and len(tables) > MOST_COLUMNS:
        note = f"The first {MOST_COLUMNS} of {len(tables):,} columns."
        found[0] = replace(found[0], notes=(*found[0].notes, note))
    return found


def _of_levels(name: str, parameters: list[dict[Any, float]]) -> list[tuple[Any, ...]]:
    """The levels, or parameters, that differ most between classes."""
    keys = list(parameters[0])
    apart = [max(p[key] for p in parameters) - min(p[key] for p in parameters) for key in keys]
    kept = sorted(np.argsort(-np.array(apart), kind="stable")[:MOST_LEVELS].tolist())
    return [(name, format_value(keys[k]), *(float(p[keys[k]]) for p in parameters)) for k in kept]


def _of_words(names: list[str], last: Any) -> Grid:
    """Words that tell the classes apart, by p log p/q between the class and all others."""
    log_p = np.asarray(last.feature_log_prob_)
    p = np.exp(log_p)
    telling = (p * (log_p - np.log(p.mean(axis=0)))).max(axis=0)
    order = np.argsort(-telling, kind="stable")[:MOST_WORDS].tolist()
    fields = (Field("feature"), *(Field(str(label), ".3g") for label in last.classes_.tolist()))
    rows = tuple((names[j], *(1000 * p[:, j]).tolist()) for j in order)
    return Grid(
        f"Words that tell classes apart ({type(last).__name__})",
        fields,
        rows,
        ("Of 1,000 words, so many are this one.",),
    )


# What a fitted model has learnt, as tables: coefficients, or the likelihoods of naive Bayes.

#: rows that are drawn from a model card
CARD_ROWS = 200
#: kinds of columns that features put in standard units
SCALED = AMOUNTS | {Kind.DATE}


def learnt(model: Any, most: int | None = None) -> list[Grid]:
    """Return tables of what a model has learnt, each of at most `most` lines.

    Coefficients, or the likelihoods of naive Bayes; of other models the drivers, over rows drawn from the card.

    Raises
    ------
    NoExplanationError
        Where a model has no coefficients, no tables for its columns, and no card.
    """
    whole = model
    model = _innermost(model)
    last = predicting_step(model)
    if grids := likelihood_grids(model):
        return [replace(grid, rows=grid.rows[:most]) for grid in grids]
    if hasattr(last, "coef_") and (hasattr(last, "intercept_") or hasattr(last, "thresholds_")):
        names, columns = coefficients.plain_coefficients(model)
        columns["coefficient"] = coefficients.without_rounding(model, names, columns["coefficient"])
        order = coefficients.by_size(names, columns["coefficient"])[:most]
        units = coefficients.UNITS if coefficients.scaled(model) and _has_amounts(model) else ""
        notes = (_level(last), f"{_meaning(last)}{units}")
        return [coefficients.coefficient_grid(names, columns, order, notes)]
    card = card_of(whole)
    if card is None or not any(column.used for column in card.columns):
        raise NoExplanationError(
            f"{type(last).__name__} has neither coefficients nor tables of its columns, and there is no model card to "
            "draw rows from. Give a table with --data, or use `drivers(model, X)` in Python."
        )
    found = drivers(whole, card.sample(CARD_ROWS), most=most)
    note = "Over rows that are drawn column by column from the model card."
    return [drivers_grid(found, note)]


def _level(model: Any) -> str:
    """Return a sentence on what the coefficients add to: an intercept, or thresholds between ordered classes."""
    if hasattr(model, "intercept_"):
        return f"Intercept: {_written_learnt(model.intercept_)}."
    between = pairwise(map(str, model.classes_.tolist()))
    written = [f"{low} | {high} {at:.4g}" for (low, high), at in zip(between, model.thresholds_, strict=True)]
    return f"Thresholds of the sum: {', '.join(written)}."


def drivers_grid(found: list[Driver], *notes: str) -> Grid:
    """Return drivers as a table."""
    fields = (Field("column"), Field("direction"), Field("moves by", ".3g"), Field("±", ".2g"))
    rows = tuple((driver.column, driver.direction, driver.size, driver.error) for driver in found)
    of = common_output(found)
    mean = f"“Moves by” is the mean distance of what a column adds to the {of} from its average over rows."
    return Grid("Drivers", fields, rows, (mean, *notes))


def _innermost(model: Any) -> Any:
    """The model within what calibrates it or decides by it."""
    while not hasattr(model, "steps") and (inner := inner_model(model)) is not None:
        model = inner
    return model


def _has_amounts(model: Any) -> bool:
    """Whether features had numbers to put in standard units, and no formula that says otherwise."""
    reader = reader_of(model)
    schema = getattr(reader, "schema_", None)
    if schema is None:
        return True
    return reader.scale and reader.formula is None and any(column.kind in SCALED for column in schema)


def _meaning(model: Any) -> str:
    """What a coefficient adds to."""
    labels = getattr(model, "classes_", None)
    if labels is None:
        return "A coefficient is what a unit of the feature adds to the prediction, before any link."
    if hasattr(model, "thresholds_"):
        return "A coefficient is what a unit of the feature adds to the log odds of a higher class."
    several = "of the first class against the second" if coefficients.of_pairs(model) else "of its class"
    which = f"of {labels[1]} against {labels[0]}" if len(labels) == 2 else several
    return f"A coefficient is what a unit of the feature adds to the {coefficients.added_to(model)} {which}."


def _written_learnt(intercept: Any) -> str:
    return ", ".join(f"{each:.4g}" for each in np.ravel(intercept).tolist())


#: classes that have a column each; of more, those that may be meant
MOST_CLASSES = 6


def evidence_grid(model: Any, row: Any, explanation: Explanation, most: int = 20) -> Grid:
    """Return the base, what each column adds to it, strongest first, the sum of weaker ones, and the total.

    Sampled contributions to one output have their standard errors beside them.
    """
    explanation, notes = _of_few_classes(explanation)
    strength = np.abs(explanation.contributions[0]).max(axis=1)
    order = [j for j in np.argsort(-strength, kind="stable").tolist() if strength[j] > 0]
    kept, left = order[:most], order[most:]
    values = row_texts(row, explanation.names)
    beside = explanation.error is not None and len(explanation.outputs) == 1
    rows: list[tuple[Any, ...]] = [("(before any column)", "", *explanation.base.tolist(), "")]
    rows += [
        (
            explanation.names[j],
            values[explanation.names[j]],
            *explanation.contributions[0, j].tolist(),
            _error(explanation, [j]),
        )
        for j in kept
    ]
    if left:
        others = f"({len(left)} other{'s' if len(left) > 1 else ''})"
        rows.append((others, "", *explanation.contributions[0, left].sum(axis=0).tolist(), _error(explanation, left)))
    rows.append(("(all together)", "", *explanation.totals[0].tolist(), ""))
    form = "+.4g" if explanation.what == PREDICTION else "+.4f"
    fields = (Field("column"), Field("value"), *(Field(name, form) for name in explanation.outputs), Field("±"))
    if not beside:
        rows, fields = [line[:-1] for line in rows], fields[:-1]
    return Grid(
        f"What adds to the {explanation.what}",
        fields,
        tuple(rows),
        (*notes, *_method(explanation, beside), _conclusion(model, row)),
    )


def _error(explanation: Explanation, columns: list[int]) -> str:
    """The standard error of a contribution, or of a sum of them."""
    if explanation.error is None:
        return ""
    return format_plain(float(np.sqrt(np.square(explanation.error[0, columns, 0]).sum())), ".2g")


def _method(explanation: Explanation, beside: bool) -> tuple[str, ...]:
    """How contributions that are not terms of the model were computed."""
    if explanation.method == EXACT:
        return ()
    errors = ""
    if beside:
        errors = " Standard errors are beside them (±)."
    elif explanation.error is not None:
        errors = f" Standard errors are at most {format_plain(float(explanation.error[0].max()), '.2g')}."
    return (f"{explanation.details}{errors}",)


def _of_few_classes(explanation: Explanation) -> tuple[Explanation, tuple[str, ...]]:
    """Of many classes those that the row most speaks for, in their order, and a sentence that says so."""
    if (classes := len(explanation.outputs)) <= MOST_CLASSES:
        return explanation, ()
    kept = np.sort(np.argsort(-explanation.totals[0], kind="stable")[:MOST_CLASSES])
    few = replace(
        explanation,
        outputs=tuple(explanation.outputs[k] for k in kept.tolist()),
        base=explanation.base[kept],
        contributions=explanation.contributions[..., kept],
        error=None if explanation.error is None else explanation.error[..., kept],
    )
    return few, (f"Shown are the {MOST_CLASSES} classes of {classes} that are highest all together.",)


def _conclusion(model: Any, row: Any) -> str:
    predicted = np.asarray(model.predict(row)).tolist()[0]
    if not hasattr(model, "predict_proba"):
        return f"Prediction: {format_plain(predicted, '.6g') if isinstance(predicted, float) else predicted}."
    proba = np.asarray(model.predict_proba(row))[0]
    kept = np.sort(np.argsort(-proba, kind="stable")[:MOST_CLASSES])
    shares = [f"{label}: {share:.4f}" for label, share in zip(model.classes_[kept].tolist(), proba[kept], strict=True)]
    others = [] if len(kept) == len(proba) else [f"{len(proba) - len(kept)} others: {1 - proba[kept].sum():.4f}"]
    return f"Prediction: {predicted} ({', '.join(shares + others)})."
