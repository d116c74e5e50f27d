"""Models side by side on the same splits of the same data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._errors import ComparisonInterrupted, DataError, EmptyDataError, NonFiniteError
from mercer.application.model_cards import installed
from mercer.application.shown import Shown
from mercer.application.task import task_for
from mercer.application.tasks import Task
from mercer.base import Question
from mercer.comparison._chosen import chosen
from mercer.comparison._cross_validation import Progress, Race, ranked, untold
from mercer.comparison._entrants import (
    Entrant,
    Invitation,
    baseline_for,
    by_expected_cost,
    entrants_for,
    entrants_given,
)
from mercer.comparison._entry import Entry
from mercer.comparison._inner import Inner, InnerFolds
from mercer.comparison._paired import overlap_of
from mercer.comparison._reference import reference_for
from mercer.comparison._splits import deal, duplicates_note
from mercer.comparison.comparison import Comparison
from mercer.comparison.time_limit import Budget
from mercer.data import Kind, Table
from mercer.data.infer import number_format, read_formats, read_numbers
from mercer.data.select import names_of
from mercer.data.target import TargetProblem, split_target
from mercer.report.wording import format_count, join_words

# How to have the same numbers again.


def settings_of(
    task: Task,
    *,
    models: Mapping[str, Any] | Sequence[Any] | None,
    cv: int,
    repeats: int,
    random_state: int | None,
    groups: Any,
    times: Any,
) -> dict[str, Any]:
    """What was asked for, and the versions of what answered."""
    return {
        **_asked_for(models),
        "task": task.name,
        "folds": cv,
        "repeats": repeats,
        "seed": random_state,
        "splits": "forward in time" if times is not None else "by groups" if groups is not None else "random",
        **installed(),
    }


def _asked_for(models: Mapping[str, Any] | Sequence[Any] | None) -> dict[str, Any]:
    """The names of models, if some were asked for; of objects no name says which parameters they had."""
    if models is None:
        return {}
    if isinstance(models, Mapping) or not all(isinstance(each, str) for each in models):
        return {"models": "as given"}
    return {"models": [str(each) for each in models]}


def in_words(value: Any) -> str:
    """A setting as it is shown."""
    return ", ".join(value) if isinstance(value, list) else str(value)


def compare(
    X: Any,
    y: Any,
    *,
    models: Mapping[str, Any] | Sequence[Any] | str | None = None,
    task: str = "auto",
    cv: int = 5,
    repeats: int = 1,
    order: Sequence[Any] | None = None,
    target: str = "",
    groups: Any = None,
    times: Any = None,
    time_limit: float | Budget | None = None,
    patience: float | None = 30.0,
    random_state: int | None = 0,
    reference: bool | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Cross-validate models on splits (stratified, for classes) that are the same for all of them.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Numbers, categories, missing values.
    y : array-like of shape (n_samples,), or str
        The name of a column of X, which is then a data frame; rows without a value there are left out. Or the
        values themselves: class labels of any type, numbers, or counts.
    models : mapping from name to model, sequence of models or names, or one name, default=None
        What to compare; by default every model of mercer that suits the target and the columns. Names are those of the
        leaderboard, classes of mercer or scikit-learn, and models written as in Python, such as "SVC(C=10)". Models of
        scikit-learn get features of columns that they cannot take: gaps filled, a feature for each level. Where none of
        them is a baseline, one is scored on the same splits beside the entries, so that noise is not recommended.
    task : {"auto", "classification", "ordered", "regression", "amounts", "counts"}, default="auto"
        How the target is read: as classes, ordered classes, numbers, positive amounts or counts. By default the values
        of the target and their relation to the columns decide; `comparison.task.reason` says how and why.
    cv : int, default=5
        How many folds.
    repeats : int, default=1
        How many times the rows are dealt to folds anew.
    order : sequence of labels, default=None
        Labels from lowest to highest, for the task "ordered". Numbers and ordered categoricals have an order already.
    target : str, default=""
        Name of the target in sentences; by default that of `y`, where it has one.
    groups : array-like of shape (n_samples,), or str, default=None
        Rows of one group (a patient, a document) are never parted, neither by splits nor by the folds within a training
        set by which models choose their settings. The name of a column of X where `y` is one.
    times : array-like of shape (n_samples,), or str, default=None
        Models are scored on rows that came later than all they were fitted to, and choose their settings so.
        The name of a column of X where `y` is one.
    time_limit : float, default=None
        Seconds that all fits may take. A model whose fits are expected to take longer than what is left, by what it
        knows beforehand or by its first splits, is left out, and the notes say so; one that runs when the time is up is
        cut short and left out (in the main thread of a system with timers).
    patience : float or None, default=30
        Seconds of work (waiting and compilation do not count) that all fits may take together where neither models nor
        a time limit are given; None for no bound. Models are fitted in the order of what they are expected to cost, so
        that the cheap ones always have their turn.
    random_state : int or None, default=0
        Fixes how the rows are dealt to the folds.
    reference : bool, default=None
        Whether scikit-learn's histogram gradient boosting takes part as a reference: it is scored on the same splits,
        shows what a linear or kernel model costs or saves, and is never recommended. By default where `models` is
        None.
    progress : callable, default=None
        Called as `progress(stage, done, total, name)`: stage "data" first, then "cross-validation" before every fit and
        after the last.

    Returns
    -------
    comparison : Comparison
        What each model reached; it prints as a table and has `.frame()`, `.best_`, `.sentences()` and `.report(path)`.

    Raises
    ------
    ComparisonInterrupted
        On Ctrl-C (it is a `KeyboardInterrupt`): its `comparison` has the models that were done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> comparison = compare(*load_iris(return_X_y=True), models=[GaussianNB()])
    >>> print(f"{comparison.entries[0].mean('accuracy'):.2f}")
    0.96
    """
    tell = progress or untold
    budget = Budget.of(time_limit, patience if models is None else None)
    tell("data", 0, 1, "")
    target = target or (name if isinstance(name := getattr(y, "name", None), str) else "")
    unlabelled: list[str] = []
    unit = getattr(number_format(y), "unit", "") if not isinstance(y, str) else ""
    if isinstance(y, str):
        problem, groups, times = _apart(X, y, groups, times)
        X, y, target, unit = problem.X, problem.y, problem.target, problem.unit
        order = problem.order_for(task) if order is None else order
        if problem.unlabelled:
            unlabelled = [f"Rows left out because they have no {target!r}: {problem.unlabelled}."]
    table = read_formats(Table.of(X, dates=True))
    if task in ("auto", "regression", "amounts", "counts"):
        y = read_numbers(y)
    question = task_for(y, table.n_rows, task, X=table, target=target, order=order)
    dealing = deal(question, cv, repeats, random_state, groups, times)
    inner = None if groups is None and times is None else InnerFolds(question, groups, times)
    invited = [models] if isinstance(models, str) else models
    invitation = _invited(invited, table, question, None if inner is None else inner.splitter)
    notes = [question.reason, *question.notes(), *dealing.notes, *invitation.notes]
    if groups is None:
        notes += duplicates_note(table, dealing.splits)
    notes += unlabelled
    entrants = invitation.entrants
    if models is None if reference is None else reference:
        entrants = _with_reference(entrants, table, question)
    if models is None:
        entrants = by_expected_cost(entrants)
    tell("data", 1, 1, "")
    race = Race(question, dealing.splits, dealing.units, budget, tell, inner)
    size = f"{format_count(table.n_rows, 'row')} × {format_count(table.n_columns, 'column')}"
    comparison = Comparison(
        title=f"{size}, {question.described()}; {dealing.described}",
        task=question,
        table=table,
        y=question.y,
        splits=dealing.splits,
        entries=(),
        inner=inner,
        settings=settings_of(
            question, models=invited, cv=cv, repeats=repeats, random_state=random_state, groups=groups, times=times
        ),
        target=target,
        unit=unit,
    )
    guess = None
    try:
        race.run(entrants)
        if models is not None and race.candidates and all(entry.kind != "baseline" for entry in race.candidates):
            guess = race.aside(baseline_for(table, Question.of(question, None), {entrant.name for entrant in entrants}))
    except KeyboardInterrupt as stopped:
        notes.append(race.stopped(entrants))
        done = _finished(comparison, race, entrants, notes) if race.candidates else None
        raise ComparisonInterrupted(
            f"stopped by Ctrl-C; {len(race.entries)} of {len(entrants)} models are done.", done
        ) from stopped
    if not race.candidates:
        raise DataError(
            f"no model was done within {budget.seconds:g} s: {', '.join(race.late)}. Give a longer time_limit (on the "
            "command line --time-limit), or fewer rows."
        )
    return _finished(comparison, race, entrants, notes, guess)


def _apart(X: Any, target: str, groups: Any, times: Any) -> tuple[TargetProblem, Any, Any]:
    """Take the target, and the columns that split the rows where they are names, out of a frame."""
    if names_of(X) is None:
        raise DataError(
            f"y is the name {target!r}, but X is not a frame with named columns. Give the labels as an array, or X as "
            "a data frame."
        )
    problem = split_target(X, target)
    asides = [each for each in (groups, times) if isinstance(each, str)]
    if problem.unlabelled and any(each is not None and not isinstance(each, str) for each in (groups, times)):
        raise DataError(
            f"Rows without {problem.target!r}: {problem.unlabelled}, so that groups and times have too many. Drop "
            "these rows first, or give the names of columns."
        )
    groups, times = (problem.column(each) if isinstance(each, str) else each for each in (groups, times))
    return problem.without(asides), groups, times


def _with_reference(entrants: list[Entrant], table: Table, question: Task) -> list[Entrant]:
    """Add the reference behind the models, unless one of them has its name."""
    found = reference_for(table, question)
    if found is None or found.name in {entrant.name for entrant in entrants}:
        return entrants
    return [*entrants, found]


def _invited(
    models: Mapping[str, Any] | Sequence[Any] | None, table: Table, question: Task, inner: Inner | None
) -> Invitation:
    if isinstance(models, Mapping) or (models is not None and not any(isinstance(each, str) for each in models)):
        invitation = entrants_given(models, table)
    else:
        if models is None:
            _check_finite(table)
            _check_informative(table)
        invitation = entrants_for(table, Question.of(question, inner))
        if models is not None:
            invitation = chosen(models, invitation, table, question)
    if not invitation.entrants:
        if models is not None:
            raise DataError(
                "There is no model to compare: models is empty; name some, or leave it out for all that suit."
            )
        if not table.n_columns:
            raise EmptyDataError("There are no columns to learn from; give some besides the target.")
        raise DataError(f"There is no model for such columns. {' '.join(invitation.notes)}")
    return invitation


def _check_finite(table: Table) -> None:
    """Raise `NonFiniteError` for an infinite value, which no model of mercer takes."""
    if table.library == "scipy":
        return
    for column, (name, kind) in enumerate(zip(table.names, table.kinds, strict=True)):
        if kind.numeric and np.isinf(values := table.numbers([column])[:, 0].astype(float)).any():
            row = int(np.isinf(values).argmax())
            raise NonFiniteError(
                f"Column {name!r} is {values[row]} in row {row}. Replace it by a number, or by NaN if it is unknown, "
                f"or leave the column out (on the command line --drop {name})."
            )


def _check_informative(table: Table) -> None:
    """Raise `EmptyDataError` where columns are all empty or constant, from which no model learns anything."""
    schema = [] if table.library == "scipy" else list(Shown.of(table).schema)
    if schema and all(column.kind is Kind.CONSTANT for column in schema):
        names = join_words([repr(column.name) for column in schema], 3)
        verb = "has" if len(schema) == 1 else "have"
        raise EmptyDataError(
            f"There is nothing to learn from: {names} {verb} no values, or the same one in every row. Give columns "
            "besides the target whose values differ."
        )


def _finished(
    comparison: Comparison, race: Race, entrants: list[Entrant], notes: list[str], guess: Entry | None = None
) -> Comparison:
    """Return the comparison with its entries in order; a baseline that is not listed counts for the order alone."""
    everyone = [*race.candidates, *([] if guess is None else [guess])]
    order, ranking = ranked(everyone, comparison.task, overlap_of(comparison.splits))
    entries = tuple(entry for entry in order if entry is not guess)
    return replace(
        comparison,
        entries=entries,
        reference=race.reference,
        unlisted_baseline=guess,
        unfinished=tuple(race.unfinished(entrants)),
        notes=(*notes, *race.notes(), *ranking),
        seconds=race.budget.spent,
    )
