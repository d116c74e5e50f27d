"""One model by any name that a comparison lists, fitted to all rows as the comparison fits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from mercer._errors import DataError
from mercer._suggest import did_you_mean
from mercer.comparison.racing.refit import refit
from mercer.comparison.taking_part.chosen import REFERENCE, listed_entrant
from mercer.comparison.taking_part.entrants import Entrant, entrants_for
from mercer.comparison.taking_part.kinds import innermost
from mercer.comparison.taking_part.question import Question
from mercer.data import Schema, Table
from mercer.data.storages.time_columns import refuse_clock_times
from mercer.using.fitting import certificate_note, fitted, wrapped
from mercer.using.preparing import MODELS, Prepared, prepared_model, set_parameters
from mercer.using.tasks import Task
from mercer.using.which_task import TASKS, task_for
from mercer.using.written import find_sklearn, parse_model

#: models that are the same with and without a comparison, and can be merged and asked to forget rows
ALIKE = frozenset({"NaiveBayes", "GaussianNB", "BernoulliNB", "MultinomialNB"})


def fit_named(
    name: str,
    X: Any,
    y: Any,
    *,
    settings: Mapping[str, Any] | None = None,
    calibrate: str | None = None,
    conformal: float | None = None,
    seed: int = 0,
) -> Prepared:
    """Return the model of that name, fitted to a frame as it comes.

    A name of the leaderboard gives the model of the comparison: the same features, and its settings chosen in the same
    way, but for `settings`. A class of mercer with `settings`, or that the leaderboard does not list, is that class.
    Models may also be written as in Python: `SVC(C=10)`.
    """
    aside: dict[str, Any] = {"calibrate": calibrate, "conformal": conformal, "seed": seed}
    if name in ALIKE or (settings and name in MODELS):
        return fitted(name, X, y, settings=settings, **aside)
    refuse_clock_times(X)
    table = Table.of(X, dates=True)
    listed: list[str] = []
    for task in _tasks(y, table):
        invitation = entrants_for(table, Question.of(task, None))
        if (found := listed_entrant(name, invitation)) is not None:
            set_parameters(innermost(found.model), settings or {})
            return _fitted_entrant(found, task, **aside)
        listed += [each.name for each in invitation.entrants if each.name not in listed]
    if name in MODELS:
        return fitted(name, X, y, **aside)
    if find_sklearn(name.removesuffix(REFERENCE)) is not None:
        raise DataError(f"{name} is a model of scikit-learn, which a model file cannot hold. Fit it in Python.")
    if (model := parse_model(name)) is not None:
        set_parameters(model, settings or {})
        return fitted(type(model).__name__, X, y, ready=prepared_model(model, X), **aside)
    raise DataError(f"There is no model {name!r}. {did_you_mean(name, [*listed, *MODELS])}")


def _tasks(y: Any, table: Table) -> list[Task]:
    """Return the task that the target asks for, and after it the others that it allows."""
    found = [task_for(y, table.n_rows, X=table)]
    for name in TASKS:
        if name != found[0].name:
            try:
                task = task_for(y, table.n_rows, name)
                task.check()
            except DataError:
                continue
            found.append(task)
    return found


def _fitted_entrant(
    entrant: Entrant, task: Task, *, calibrate: str | None, conformal: float | None, seed: int
) -> Prepared:
    task.check()
    model, _ = refit(entrant.model, entrant.table, task.y)
    if calibrate is not None or conformal is not None:
        classes = hasattr(task, "labels")
        around = wrapped(clone(model), classes=classes, calibrate=calibrate, conformal=conformal, seed=seed)
        model = around.fit(entrant.table.native, task.y)
    ready = Prepared(model, entrant.table.native, Schema.infer(entrant.table))
    return replace(ready, notes=certificate_note(model))
