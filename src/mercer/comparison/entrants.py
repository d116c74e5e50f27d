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


def entrants_for(table: Table) -> Invitation:
    """Every model of mercer that can say something about such columns."""
    from mercer import models

    mixed = Entrant("NaiveBayes", models.NaiveBayes(), table)
    categories = [name for name, kind in zip(table.names, table.kinds, strict=True) if not kind.numeric]
    if categories:
        return Invitation([mixed], [f"Only NaiveBayes takes categories such as {categories[0]!r} as they are."])
    matrix = table.matrix()
    # as a frame of numbers, so that errors and notes call the columns by their names
    numbers = Table.of(table.like(dict(zip(table.names, matrix.T, strict=True))) if table.named else matrix)
    met = _needs_met(matrix)
    candidates = [(repr(model).removesuffix("()"), model, need) for model, need in _candidates()]
    invited = [Entrant(name, model, numbers) for name, model, need in candidates if need in met]
    left_out = [f"{name} (needs {need})" for name, _, need in candidates if need not in met]
    return Invitation([mixed, *invited], [f"Left out: {', '.join(left_out)}."] if left_out else [])


def _candidates() -> list[tuple[Any, str]]:
    """Models for columns that are all numbers, and what else each needs to make sense."""
    from mercer import models

    return [
        (models.GaussianNB(), "dense columns"),
        (models.LinearDiscriminantAnalysis(), "dense columns"),
        # the quadratic discriminant by the name that judges singularity free of units
        (models.GaussianDiscriminant(), "dense columns"),
        (models.GaussianDiscriminant(shrinkage="oas"), "dense columns"),
        (models.BernoulliNB(), "columns of 0 and 1"),
        (models.MultinomialNB(), "counts"),
    ]


def _needs_met(matrix: Any) -> set[str]:
    sparse = not isinstance(matrix, np.ndarray)
    values = matrix.data if sparse else matrix
    met = {
        "dense columns": not sparse,
        "columns of 0 and 1": np.isin(values, (0, 1)).all(),
        "counts": ((values >= 0) & (values == np.floor(values))).all(),
    }
    return {need for need, is_met in met.items() if is_met}


def _unique_name(models: Sequence[Any], position: int) -> str:
    """The class of a model, numbered where there are several of it."""
    classes = [type(model).__name__ for model in models]
    name = classes[position]
    return name if classes.count(name) == 1 else f"{name} {classes[: position + 1].count(name)}"
