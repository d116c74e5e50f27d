"""Fit one model by a name that a comparison lists, in the same way as the comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from mercer._errors import DataError
from mercer._suggest import did_you_mean
from mercer.application.fitting import certificate_note, fit_model, wrap_model
from mercer.application.preparing import PreparedModel, find_sklearn, parse_model, prepare_model, set_parameters
from mercer.application.task_choice import TASKS, describe_values, task_for
from mercer.application.tasks import Task
from mercer.base import Question, estimator_named, model_names, traits_of
from mercer.base.pipelines import last_step
from mercer.comparison._cross_validation import refit
from mercer.comparison._entrants import Entrant, ModelSelection, select_suitable
from mercer.comparison._named_models import REFERENCE_MARK, find_listed
from mercer.comparison.pairs import innermost
from mercer.data import Schema, Table
from mercer.data.storages.time_columns import check_no_clock_times


def fit_named(
    name: str,
    X: Any,
    y: Any,
    *,
    task: str = "auto",
    settings: Mapping[str, Any] | None = None,
    calibrate: str | None = None,
    conformal: float | None = None,
    seed: int = 0,
) -> PreparedModel:
    """Fit the model with this name to a frame.

    A name of the leaderboard gives the model of the comparison, with the same features and choice of parameters, except
    for `settings`. A class of mercer with `settings`, or one that the leaderboard does not list, is used as it is.
    Models may also be written as in Python: `SVC(C=10)`. The task, by default that of `compare`, determines the family
    and the penalty of a GLM without a family, as in a comparison.
    """
    wrappers: dict[str, Any] = {"calibrate": calibrate, "conformal": conformal, "seed": seed}
    settings = dict(settings or {})
    check_no_clock_times(X)
    table = Table.of(X, dates=True)
    tasks = _possible_tasks(y, table, task)
    known = model_names()
    cls = estimator_named(name) if name in known else None
    by_task = cls is not None and traits_of(cls).set_by_task not in ("", *settings)
    # a fit of one pass is the same with and without a comparison, and supports `merge` and `forget`
    if cls is not None and (traits_of(cls).is_one_pass or (settings and not by_task)):
        return _set_task(fit_model(name, X, y, settings=settings, **wrappers), tasks)
    listed: list[str] = []
    for each in tasks:
        selection = select_suitable(table, Question.of(each, None))
        if (entrant := find_listed(name, selection)) is not None:
            set_parameters(innermost(entrant.model), settings)
            return _fit_entrant(entrant, each, **wrappers)
        if by_task and each is tasks[0] and (entrant := _find_first(cls, selection)) is not None:
            set_parameters(innermost(entrant.model), settings)
            fitted = _fit_entrant(entrant, each, **wrappers)
            note = f"{name} stands for {entrant.name}, because the target is read as {describe_values(each.name)}."
            return replace(fitted, notes=(note, *fitted.notes))
        listed += [one.name for one in selection.entrants if one.name not in listed]
    if name in known:
        return _set_task(fit_model(name, X, y, settings=settings, **wrappers), tasks)
    if find_sklearn(name.removesuffix(REFERENCE_MARK)) is not None:
        raise DataError(f"{name} is a model of scikit-learn, which a model file cannot hold. Fit it in Python.")
    if (model := parse_model(name)) is not None:
        set_parameters(model, settings)
        return _set_task(fit_model(type(model).__name__, X, y, prepared=prepare_model(model, X), **wrappers), tasks)
    raise DataError(f"There is no model {name!r}. {did_you_mean(name, [*listed, *known])}")


def _find_first(cls: type | None, selection: ModelSelection) -> Entrant | None:
    """Return the first model of a class in a comparison: for GLMs, the one with the family of the task."""
    return next((each for each in selection.entrants if type(innermost(each.model)) is cls), None)


def _set_task(prepared: PreparedModel, tasks: list[Task]) -> PreparedModel:
    """Return a fitted model with the first task that suits it: a classifier has classes, other models do not."""
    classes = hasattr(prepared.model, "classes_")
    names = [task.name for task in tasks if hasattr(task, "labels") == classes]
    if not names:
        raise DataError(f"{type(last_step(prepared.model)).__name__} is not a model for the task {tasks[0].name}.")
    return replace(prepared, task=names[0])


def _possible_tasks(y: Any, table: Table, given: str = "auto") -> list[Task]:
    """Return the given task, or else the inferred one followed by the others that the target allows."""
    tasks = [task_for(y, table.n_rows, given, X=table)]
    for name in TASKS if given == "auto" else ():
        if name != tasks[0].name:
            try:
                task = task_for(y, table.n_rows, name)
                task.check()
            except DataError:
                continue
            tasks.append(task)
    return tasks


def _fit_entrant(
    entrant: Entrant, task: Task, *, calibrate: str | None, conformal: float | None, seed: int
) -> PreparedModel:
    task.check()
    model, _ = refit(entrant.model, entrant.table, task.y)
    if calibrate is not None or conformal is not None:
        classes = hasattr(task, "labels")
        around = wrap_model(clone(model), classes=classes, calibrate=calibrate, conformal=conformal, seed=seed)
        model = around.fit(entrant.table.native, task.y)
    ready = PreparedModel(model, entrant.table.native, Schema.infer(entrant.table), task=task.name)
    return replace(ready, notes=certificate_note(model))
