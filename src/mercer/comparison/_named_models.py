"""Find the models of a comparison by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer._errors import DataError
from mercer._suggest import did_you_mean
from mercer.application.preparing import PreparedModel, find_sklearn, parse_model, prepare_model, prepare_named
from mercer.application.tasks import Task
from mercer.application.training_table import TrainingTable
from mercer.base import estimator_named, model_names, traits_of
from mercer.comparison._entrants import Entrant, ModelSelection, add_partners, select_given
from mercer.comparison._reference import make_reference
from mercer.comparison.pairs import innermost, kind_of
from mercer.data import Schema, Table

#: mark of the reference in the leaderboard
REFERENCE_MARK = " (reference)"
#: mark of a model that stopped before its optimum
UNCONVERGED_MARK = " †"


def choose_models(models: Sequence[Any], selection: ModelSelection, table: Table, task: Task) -> ModelSelection:
    """Return the models with these names, from the selection or prepared for the table, and estimators as given."""
    given = [model for model in models if not isinstance(model, str)]
    estimators = iter(select_given(given, table).entrants)
    entrants: list[Entrant] = []
    for model in models:
        named = find_by_name(model, selection, table, task) if isinstance(model, str) else [next(estimators)]
        entrants += [each for each in named if each.name not in {one.name for one in entrants}]
    absent = {each.name for each in selection.entrants} - {each.name for each in entrants}
    notes = [
        note for note in selection.notes if not note.startswith("Left out") and not any(one in note for one in absent)
    ]
    # partners were found among all selected models
    return ModelSelection(add_partners(entrants), notes)


def find_listed(name: str, selection: ModelSelection) -> Entrant | None:
    """Return the selected model listed by this name; None if there is none."""
    name = name.removesuffix(UNCONVERGED_MARK).strip().casefold()
    return next((each for each in selection.entrants if each.name.casefold() == name), None)


def find_by_name(name: str, selection: ModelSelection, table: Table, task: Task) -> list[Entrant]:
    """Return the models with a name.

    A name may be, in this order: a name of the leaderboard; the class of selected models; the reference; a class of
    mercer; a model written as in Python, such as `SVC(C=10)`; a class of scikit-learn, or its path.
    """
    if (listed := find_listed(name, selection)) is not None:
        return [listed]
    same_class = [
        each for each in selection.entrants if type(innermost(each.model)).__name__.casefold() == name.casefold()
    ]
    if same_class:
        return same_class
    reference = make_reference(table, task)
    if reference is not None and reference.name.casefold() == name.removesuffix(REFERENCE_MARK).casefold():
        return [reference._replace(kind="discriminative")]
    known = {each.casefold(): each for each in model_names()}
    classes = task.name in ("classification", "ordered")
    if (of_mercer := known.get(name.casefold())) is not None:
        if ("classification" if classes else "regression") not in traits_of(estimator_named(of_mercer)).tasks:
            suits = [each.name for each in selection.entrants]
            raise DataError(f"{of_mercer} is not a model for the task {task.name}. {did_you_mean(name, suits)}")
        return [_prepare_entrant(of_mercer, prepare_named(of_mercer, table.native, formats=table.formats), table)]
    if (written := parse_model(name)) is not None:
        return [_prepare_entrant(name, prepare_model(written, table.native, formats=table.formats), table)]
    if (model := find_sklearn(name)) is not None:
        from sklearn.base import is_classifier

        if is_classifier(model) != classes:
            raise DataError(f"{type(model).__name__} is not a model for the task {task.name}.")
        training = TrainingTable.of(table)
        return [Entrant(type(model).__name__, training.with_features(model, output="array"), table, kind_of(model))]
    names = [*(each.name for each in selection.entrants), *model_names()]
    raise DataError(f"There is no model {name!r}. {did_you_mean(name, names)}")


def _prepare_entrant(name: str, ready: PreparedModel, table: Table) -> Entrant:
    """Return an entrant that takes the whole table and selects the columns for its model.

    A model with a schema selects its columns itself; for a model of numbers they are selected before it.
    """
    model, given = ready.model, Table.of(ready.frame, dates=True)
    if isinstance(getattr(model, "families", None), Schema):
        given = TrainingTable.of(table).table
    elif traits_of(model).columns != "any" and {*given.names} != {*table.names}:
        training = TrainingTable.of(table)
        model, given = training.with_numbers(given.names, model), training.table
    return Entrant(name, model, given, kind_of(model))
