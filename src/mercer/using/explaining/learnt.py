"""What a fitted model has learnt, as tables: coefficients, or the likelihoods of naive Bayes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from mercer._errors import NoExplanationError
from mercer.data import Kind
from mercer.files import card_of
from mercer.models.reader import inside
from mercer.report import Field, Grid
from mercer.using.explaining import coefficients, likelihoods
from mercer.using.explaining.drivers import Driver, common_output, drivers
from mercer.using.reading import reader_of
from mercer.using.shown import AMOUNTS

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
    last = coefficients.predicting_step(model)
    if grids := likelihoods.likelihood_grids(model):
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
        return f"Intercept: {_written(model.intercept_)}."
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
    while not hasattr(model, "steps") and (inner := inside(model)) is not None:
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


def _written(intercept: Any) -> str:
    return ", ".join(f"{each:.4g}" for each in np.ravel(intercept).tolist())
