"""Which models take part in a comparison, and what each of them is shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer.comparison.kernel_machines import KernelMachine, kernel_machines
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


class Candidate(NamedTuple):
    """A model, what it needs of the columns, the table it is shown, and whether that has to be completed first."""

    model: Any
    need: str
    table: Table
    completed: bool
    most_rows: float = math.inf


def entrants_for(table: Table, task: str = "classification", outputs: int = 1) -> Invitation:
    """Every model of mercer that can say something about such a target and such columns.

    `outputs` is the number of classes, where there are more than two.
    """
    machines = kernel_machines(task, table.n_rows, table.n_columns, outputs)
    if all(kind.numeric for kind in table.kinds):
        return _for_matrix(table, task, machines)
    # levels that a fold does not show are common where there are categories, so that all are completed
    candidates = [Candidate(model, need, table, need != ANYTHING) for model, need in _for_categories(task)]
    of_rows = [Candidate(_in_standard_units(model), RECURRING, table, True, most_rows) for model, most_rows in machines]
    return _invitation([*candidates, *of_rows], _recurring(table), gaps=_has_gaps(table))


def _for_matrix(table: Table, task: str, machines: list[KernelMachine]) -> Invitation:
    matrix = table.matrix()
    # as a frame of numbers, so that errors and notes call the columns by their names
    numbers = Table.of(table.like(dict(zip(table.names, matrix.T, strict=True))) if table.named else matrix)
    met = _needs_met(matrix)
    gaps = DENSE in met and COMPLETE not in met
    anything = [Candidate(model, need, table, False) for model, need in _for_categories(task) if need == ANYTHING]
    of_numbers = [
        Candidate(model, need, numbers, gaps and need == COMPLETE)
        for model, need in _for_numbers(task, centred=DENSE in met)
    ]
    of_rows = [
        Candidate(_scaled(model, DENSE in met), COMPLETE, numbers, gaps, most_rows) for model, most_rows in machines
    ]
    windows = [Candidate(model, DENSE, numbers, gaps, PAIRED_ROWS) for model in _with_windows(task)]
    return _invitation([*anything, *of_numbers, *windows, *of_rows], met | {COMPLETE} if gaps else met, gaps=gaps)


def _invitation(candidates: list[Candidate], met: set[str], *, gaps: bool) -> Invitation:
    """Those whose needs are met, and who else would have liked to come."""
    invited, filled, left_out = [], [], []
    for model, need, table, completed, most_rows in candidates:
        name = _named(model)
        if need not in met or table.n_rows > most_rows:
            left_out.append(f"{name} (needs {need if need not in met else f'at most {most_rows:,} rows'})")
            continue
        invited.append(Entrant(name, _completing(model) if completed else model, table))
        if completed and gaps:
            filled.append(name)
    notes = [f"Gaps were filled, by means and by levels of their own, for {', '.join(filled)}."] if filled else []
    return Invitation(invited, [*notes, f"Left out: {', '.join(left_out)}."] if left_out else notes)


#: what a model may need of the columns to make sense
ANYTHING, COMPLETE, DENSE = "nothing", "complete columns", "dense columns"
ZERO_ONE, COUNTS, RECURRING = "columns of 0 and 1", "counts", "categories that recur"
#: rows up to which those are invited that compare each with all others, column by column
PAIRED_ROWS = 20_000
#: a column of more levels than these, and than half of its rows, is text
MOST_LEVELS = 20


def _for_categories(task: str) -> list[tuple[Any, str]]:
    """Models for columns of any kind."""
    from mercer import models
    from mercer.families import L2

    match task:
        case "classification":
            return [(models.NaiveBayes(), ANYTHING), (models.GLM("categorical", penalty=L2()), RECURRING)]
        case "counts":
            return [(models.GLM(family, penalty=L2()), RECURRING) for family in ("poisson", "negative_binomial")]
        case _:
            return [(models.GLM("gaussian", penalty=L2()), RECURRING)]


def _for_numbers(task: str, *, centred: bool) -> list[tuple[Any, str]]:
    """Models for columns that are all numbers, which may be centred or not, and what else each needs to make sense."""
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
            (_scaled(models.LinearThreshold("perceptron"), centred), COMPLETE),
            (_scaled(models.LinearThreshold("lms"), centred), COMPLETE),
        ]
    of_counts = [models.GLM("poisson"), models.GLM("negative_binomial")] if task == "counts" else []
    of_numbers = [models.LinearRegression(), models.Ridge(alpha="loo"), models.LassoCV()]
    return [(model, COMPLETE) for model in (*of_counts, *of_numbers)]


def _with_windows(task: str) -> list[Any]:
    """Models that keep every row, in the units of its class, and compare each new row with all of them."""
    from mercer import models

    return [models.KernelBayes()] if task == "classification" else []


def _scaled(model: Any, centred: bool) -> Any:
    """For learning rules, which take their steps in the units of the columns, and for distances between rows."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(with_mean=centred), model)


def _in_standard_units(model: Any) -> Any:
    """The same for columns of which some are categories."""
    from sklearn.pipeline import make_pipeline

    from mercer.comparison.standard_units import StandardUnits

    return make_pipeline(StandardUnits(), model)


def _completing(model: Any) -> Any:
    from sklearn.pipeline import make_pipeline

    from mercer.comparison.gaps import Completed

    return make_pipeline(Completed(), model)


def _named(model: Any) -> str:
    """A model as it was written, on one line, without what prepares its rows and its target."""
    model = getattr(model, "steps", [("", model)])[-1][1]
    model = getattr(model, "regressor", model)
    if type(model).__name__ == "Kernelized":  # which nobody writes
        return f"kernelize({model.model!r}, {model.kernel!r})"
    return " ".join(repr(model).split()).removesuffix("()")


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


def _has_gaps(table: Table) -> bool:
    return any(bool((table.coded(column).codes < 0).any()) for column in range(table.n_columns))


def _recurring(table: Table) -> set[str]:
    """What columns of any kind meet: none of them may be text, of which every row has its own."""
    categories = [j for j, kind in enumerate(table.kinds) if not kind.numeric]
    levels = max(len(np.unique(table.coded(j).codes)) for j in categories)
    return {ANYTHING} if levels > max(MOST_LEVELS, table.n_rows / 2) else {ANYTHING, RECURRING}


def _unique_name(models: Sequence[Any], position: int) -> str:
    """The class of a model, numbered where there are several of it."""
    classes = [type(model).__name__ for model in models]
    name = classes[position]
    return name if classes.count(name) == 1 else f"{name} {classes[: position + 1].count(name)}"
