"""Which models take part in a comparison, and what each of them is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer.data import Table


class Entrant(NamedTuple):
    """An unfitted model under the name it is listed by, and the table it is shown."""

    name: str
    model: Any
    table: Table


class Invitation(NamedTuple):
    """Who takes part, and sentences about those who do not."""

    entrants: list[Entrant]
    notes: list[str]


def entrants_given(models: Mapping[str, Any] | Sequence[Any], table: Table) -> Invitation:
    """The models of the caller, shown the data as it came; those without a name are listed by their class."""
    if not isinstance(models, Mapping):
        models = {_unique_name(models, position): model for position, model in enumerate(models)}
    return Invitation([Entrant(name, model, table) for name, model in models.items()], [])


def entrants_for(table: Table, task: str = "classification") -> Invitation:
    """Every model of mercer that can say something about such a target and such columns."""
    categories = [name for name, kind in zip(table.names, table.kinds, strict=True) if not kind.numeric]
    if categories:
        return _invitation([(model, need, table) for model, need in _for_categories(task)], _gaps_met(table))
    matrix = table.matrix()
    # as a frame of numbers, so that errors and notes call the columns by their names
    numbers = Table.of(table.like(dict(zip(table.names, matrix.T, strict=True))) if table.named else matrix)
    anything = [(model, need, table) for model, need in _for_categories(task) if need == ANYTHING]
    return _invitation([*anything, *((model, need, numbers) for model, need in _for_numbers(task))], _needs_met(matrix))


def _invitation(candidates: list[tuple[Any, str, Table]], met: set[str]) -> Invitation:
    named = [(_named(model), model, need, table) for model, need, table in candidates]
    invited = [Entrant(name, model, table) for name, model, need, table in named if need in met]
    left_out = [f"{name} (needs {need})" for name, _, need, _ in named if need not in met]
    return Invitation(invited, [f"Left out: {', '.join(left_out)}."] if left_out else [])


#: what a model may need of the columns to make sense
ANYTHING, COMPLETE, DENSE = "nothing", "complete columns", "dense columns"
ZERO_ONE, COUNTS = "columns of 0 and 1", "counts"


def _for_categories(task: str) -> list[tuple[Any, str]]:
    """Models for columns of any kind."""
    from mercer import models
    from mercer.families import L2

    match task:
        case "classification":
            return [(models.NaiveBayes(), ANYTHING), (models.GLM("categorical", penalty=L2()), COMPLETE)]
        case "counts":
            return [(models.GLM(family, penalty=L2()), COMPLETE) for family in ("poisson", "negative_binomial")]
        case _:
            return [(models.GLM("gaussian", penalty=L2()), COMPLETE)]


def _for_numbers(task: str) -> list[tuple[Any, str]]:
    """Models for columns that are all numbers, and what else each needs to make sense."""
    from mercer import models

    if task == "classification":
        return [
            (models.GaussianNB(), DENSE),
            (models.LinearDiscriminantAnalysis(), DENSE),
            # the quadratic discriminant by the name that judges singularity free of units
            (models.GaussianDiscriminant(), DENSE),
            (models.GaussianDiscriminant(shrinkage="oas"), DENSE),
            (models.BernoulliNB(), ZERO_ONE),
            (models.MultinomialNB(), COUNTS),
            (models.LogisticRegression(), COMPLETE),
            (_in_standard_units(models.LinearThreshold("perceptron")), COMPLETE),
            (_in_standard_units(models.LinearThreshold("lms")), COMPLETE),
        ]
    of_counts = [models.GLM("poisson"), models.GLM("negative_binomial")] if task == "counts" else []
    of_numbers = [models.LinearRegression(), models.Ridge(alpha="loo"), models.LassoCV()]
    return [(model, COMPLETE) for model in (*of_counts, *of_numbers)]


def _in_standard_units(model: Any) -> Any:
    """Learning rules take their steps in the units of the columns, which therefore should not differ by much."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # no centring, which would make a sparse matrix dense
    return make_pipeline(StandardScaler(with_mean=False), model)


def _named(model: Any) -> str:
    """A model as it was written, by the last step of a pipeline."""
    return repr(getattr(model, "steps", [("", model)])[-1][1]).removesuffix("()")


def _needs_met(matrix: Any) -> set[str]:
    sparse = not isinstance(matrix, np.ndarray)
    values = matrix.data if sparse else matrix
    met = {
        ANYTHING: True,
        COMPLETE: not np.isnan(values).any(),
        DENSE: not sparse,
        ZERO_ONE: np.isin(values, (0, 1)).all(),
        COUNTS: ((values >= 0) & (values == np.floor(values))).all(),
    }
    return {need for need, is_met in met.items() if is_met}


def _gaps_met(table: Table) -> set[str]:
    """What columns of any kind meet: they may have gaps or not."""
    gaps = any((table.coded(column).codes < 0).any() for column in range(table.n_columns))
    return {ANYTHING} if gaps else {ANYTHING, COMPLETE}


def _unique_name(models: Sequence[Any], position: int) -> str:
    """The class of a model, numbered where there are several of it."""
    classes = [type(model).__name__ for model in models]
    name = classes[position]
    return name if classes.count(name) == 1 else f"{name} {classes[: position + 1].count(name)}"
