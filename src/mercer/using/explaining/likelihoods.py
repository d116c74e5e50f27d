"""Tables of the distribution of each column in each class, as naive Bayes has learned it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.base import resolve, traits_of
from mercer.decide.wrapped import last_step
from mercer.models.base import column_names
from mercer.models.reader import columns_of_fit
from mercer.report import Field, Grid
from mercer.report.wording import in_full, written
from mercer.using.explaining.coefficients import feature_names

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
                (str(name), *(f"{in_full(p['mean'])} ± {in_full(np.sqrt(p['variance']), 3)}" for p in parameters))
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
    return [(name, written(keys[k]), *(float(p[keys[k]]) for p in parameters)) for k in kept]


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
