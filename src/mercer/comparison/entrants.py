"""Which models take part in a comparison, and what each of them is shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer.comparison.kernel_machines import KernelMachine, kernel_machines
from mercer.comparison.shown import Shown
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
    """A model, what it needs of the columns, the table it is shown, and whether gaps in it are filled first."""

    model: Any
    need: str
    table: Table
    filled: bool = False
    most_rows: float = math.inf


#: what a model may need of the columns to make sense
ANYTHING, COMPLETE, DENSE = "nothing", "complete columns", "dense columns"
ZERO_ONE, COUNTS = "columns of 0 and 1", "counts"
#: rows up to which those are invited that compare each with all others, column by column
PAIRED_ROWS = 20_000


def entrants_for(table: Table, task: str = "classification", outputs: int = 1) -> Invitation:
    """Every model of mercer that can say something about such a target and such columns.

    `outputs` is the number of classes, where there are more than two.
    """
    if table.library == "scipy":
        return _for_sparse(table, task, kernel_machines(task, table.n_rows, table.n_columns, outputs))
    shown = Shown.of(table)
    if not shown.n_columns:
        return Invitation([], shown.notes())
    candidates = [*_for_columns(shown, task), *(_for_text if shown.texts else _for_features)(shown, task)]
    met = {ANYTHING, COMPLETE}
    if shown.all_numbers:
        numbers = shown.as_numbers()
        met |= _needs_met(numbers.matrix())
        candidates += _for_numbers(shown, numbers, task)
    if not shown.texts:
        machines = kernel_machines(task, table.n_rows, shown.n_columns, outputs)
        candidates += [
            # distances need every column
            Candidate(shown.features(model, output="array"), COMPLETE, table, True, most_rows)
            for model, most_rows in machines
        ]
    return _invitation(candidates, met, gaps=shown.has_gaps, notes=[*shown.notes(), *_partly_shown(shown, task)])


def _partly_shown(shown: Shown, task: str) -> list[str]:
    """Which models see less than all columns."""
    if task != "classification" or not shown.undescribed:
        return []
    blind = ["NaiveBayes is not shown " + ", ".join(map(repr, shown.undescribed))] if shown.described else []
    told = [*blind, *(["MultinomialNB is shown text alone"] if shown.texts else [])]
    return [f"{'; '.join(told)}."] if told else []


def _for_sparse(table: Table, task: str, machines: list[KernelMachine]) -> Invitation:
    """Columns that are features already."""
    rules = [Candidate(_scaled(model), COMPLETE, table) for model in _learning_rules(task)]
    of_rows = [Candidate(_scaled(model), COMPLETE, table, False, most_rows) for model, most_rows in machines]
    linear = [Candidate(model, COMPLETE, table) for model in _linear(task)]
    anything = [Candidate(model, ANYTHING, table) for model in _of_any_column(task)]
    discrete = [Candidate(model, need, table) for model, need in _discrete(task)]
    return _invitation([*anything, *discrete, *linear, *rules, *of_rows], _needs_met(table.matrix()), gaps=False)


def _for_columns(shown: Shown, task: str) -> list[Candidate]:
    """Models that describe columns of any type, gaps and all."""
    table = shown.as_they_are()
    return [] if table is None else [Candidate(model, ANYTHING, table) for model in _of_any_column(task)]


def _for_features(shown: Shown, task: str) -> list[Candidate]:
    """Linear models of features of all columns."""
    return [Candidate(shown.features(model), COMPLETE, shown.table, True) for model in _linear(task)]


def _for_text(shown: Shown, task: str) -> list[Candidate]:
    """Linear models of the words, with the other columns beside them; and the classic, of the words alone."""
    from mercer import models

    if task == "classification":
        counted = shown.features(models.MultinomialNB(), text_only=True, text="counts")
        # words have many coefficients, each of which has to be large to matter
        linear = [models.LogisticRegression(), models.LogisticRegression(C=10), models.LinearThreshold("perceptron")]
        first = [Candidate(counted, ANYTHING, shown.table)]
    else:
        first, linear = [], [*_glms(task), *([models.Ridge()] if task == "regression" else [])]
    return [*first, *(Candidate(shown.features(model), COMPLETE, shown.table, True) for model in linear)]


def _for_numbers(shown: Shown, numbers: Table, task: str) -> list[Candidate]:
    """Models of the numbers as they are."""
    if task != "classification":
        return []
    from mercer import models

    of_classes = [
        models.GaussianNB(),
        models.LinearDiscriminantAnalysis(),
        # the quadratic discriminant by the name that judges singularity free of units
        models.GaussianDiscriminant(),
        models.GaussianDiscriminant(shrinkage="oas"),
    ]
    windows = _filled(models.KernelBayes()) if shown.has_gaps else models.KernelBayes()
    return [
        *(Candidate(model, DENSE, numbers) for model in of_classes),
        *(Candidate(model, need, numbers) for model, need in _discrete(task)),
        *(
            Candidate(shown.features(_scaled(model, centred=True), output="array"), COMPLETE, shown.table, True)
            for model in _learning_rules(task)
        ),
        Candidate(windows, DENSE, numbers, shown.has_gaps, PAIRED_ROWS),
    ]


def _invitation(candidates: list[Candidate], met: set[str], *, gaps: bool, notes: Sequence[str] = ()) -> Invitation:
    """Those whose needs are met, and who else would have liked to come."""
    invited, filled, left_out = [], [], []
    for model, need, table, fills, most_rows in candidates:
        name = _named(model)
        if need not in met or table.n_rows > most_rows:
            left_out.append(f"{name} (needs {need if need not in met else f'at most {most_rows:,} rows'})")
            continue
        invited.append(Entrant(name, model, table))
        if fills and gaps:
            filled.append(name)
    told = [*notes]
    if filled:
        told.append(f"Gaps were filled, by means and by levels of their own, for {', '.join(filled)}.")
    if left_out:
        told.append(f"Left out: {', '.join(left_out)}.")
    return Invitation(invited, told)


def _of_any_column(task: str) -> list[Any]:
    from mercer import models

    return [models.NaiveBayes()] if task == "classification" else []


def _discrete(task: str) -> list[tuple[Any, str]]:
    from mercer import models

    return [(models.BernoulliNB(), ZERO_ONE), (models.MultinomialNB(), COUNTS)] if task == "classification" else []


def _linear(task: str) -> list[Any]:
    """Linear models for features."""
    from mercer import models

    if task == "classification":
        return [models.LogisticRegression()]
    return [*_glms(task), models.LinearRegression(), models.Ridge(alpha="loo"), models.LassoCV()]


def _glms(task: str) -> list[Any]:
    from mercer import models
    from mercer.families import L2

    families = ("poisson", "negative_binomial") if task == "counts" else ()
    return [models.GLM(family, penalty=L2()) for family in families]


def _learning_rules(task: str) -> list[Any]:
    from mercer import models

    rules = ("perceptron", "lms") if task == "classification" else ()
    return [models.LinearThreshold(rule) for rule in rules]


def _scaled(model: Any, *, centred: bool = False) -> Any:
    """For learning rules, which take their steps in the units of the columns, and for distances between rows."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(with_mean=centred), model)


def _filled(model: Any) -> Any:
    """For densities, in which a column that says where gaps are would have no place."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(SimpleImputer(keep_empty_features=True), model)


def _named(model: Any) -> str:
    """A model as it was written, on one line, without what prepares its rows and its target."""
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
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


def _unique_name(models: Sequence[Any], position: int) -> str:
    """The class of a model, numbered where there are several of it."""
    classes = [type(model).__name__ for model in models]
    name = classes[position]
    return name if classes.count(name) == 1 else f"{name} {classes[: position + 1].count(name)}"
