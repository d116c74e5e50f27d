"""Compare models on the same splits of the same data.

`_entrants` selects the models, `_splits` makes the splits, `_cross_validation` fits and scores, and `_verdict`
recommends a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._errors import ComparisonInterrupted, DataError, EmptyDataError, NonFiniteError
from mercer.application.model_cards import installed_versions
from mercer.application.task_choice import task_for
from mercer.application.tasks import Task
from mercer.application.training_table import TrainingTable
from mercer.base import Question
from mercer.comparison._cross_validation import CrossValidationRun, Progress, ignore_progress, rank_entries
from mercer.comparison._entrants import (
    Entrant,
    ModelSelection,
    make_baseline,
    select_given,
    select_suitable,
    sort_by_cost,
)
from mercer.comparison._entry import Entry
from mercer.comparison._inner_search import InnerFolds, InnerSplitter
from mercer.comparison._named_models import choose_models
from mercer.comparison._paired import overlap_of
from mercer.comparison._reference import explain_missing_reference, make_reference
from mercer.comparison._splits import duplicates_note, make_splits
from mercer.comparison.comparison import Comparison
from mercer.comparison.time_limit import Budget
from mercer.data import Kind, Table
from mercer.data.infer import number_format, read_formats, read_numbers
from mercer.data.select import names_of
from mercer.data.target import TargetProblem, split_target
from mercer.report.wording import format_count, join_words


def collect_settings(
    task: Task,
    *,
    models: Mapping[str, Any] | Sequence[Any] | None,
    cv: int,
    repeats: int,
    random_state: int | None,
    groups: Any,
    times: Any,
) -> dict[str, Any]:
    """Return the settings that reproduce a comparison, and the installed versions."""
    return {
        **_requested_models(models),
        "task": task.name,
        "folds": cv,
        "repeats": repeats,
        "seed": random_state,
        "splits": "forward in time" if times is not None else "by groups" if groups is not None else "random",
        **installed_versions(),
    }


def _requested_models(models: Mapping[str, Any] | Sequence[Any] | None) -> dict[str, Any]:
    """Return the names of requested models; objects are not listed, because names do not determine their parameters."""
    if models is None:
        return {}
    if isinstance(models, Mapping) or not all(isinstance(each, str) for each in models):
        return {"models": "as given"}
    return {"models": [str(each) for each in models]}


def format_setting(value: Any) -> str:
    """Return a setting as text."""
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
    """Cross-validate models on the same splits, stratified for classes.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Numbers, categories, missing values.
    y : array-like of shape (n_samples,), or str
        The target: class labels of any type, numbers or counts; or the name of a column of the data frame X, whose rows
        without a value are left out.
    models : mapping from name to model, sequence of models or names, or one name, default=None
        The models to compare; by default every model of mercer that suits the target and the columns. Names are those
        of the leaderboard, classes of mercer or scikit-learn, and models written as in Python, such as "SVC(C=10)".
        Models of scikit-learn get features of columns that they do not accept: gaps filled, a feature for each level.
        If none of them is a baseline, one is scored on the same splits, so that noise is not recommended.
    task : {"auto", "classification", "ordered", "regression", "amounts", "counts"}, default="auto"
        How the target is read: as classes, ordered classes, numbers, positive amounts or counts. By default this is
        inferred from the target and its relation to the columns; see `comparison.task.reason`.
    cv : int, default=5
        Number of folds.
    repeats : int, default=1
        Number of times that the rows are split into folds.
    order : sequence of labels, default=None
        Labels from lowest to highest, for the task "ordered". Numbers and ordered categoricals have an order already.
    target : str, default=""
        Name of the target in sentences; by default that of `y`, if it has one.
    groups : array-like of shape (n_samples,), or str, default=None
        Rows of one group (a patient, a document) are never separated, neither by splits nor by the folds within a
        training set that models use to choose parameters. A column name of X if `y` is one.
    times : array-like of shape (n_samples,), or str, default=None
        Models are scored on rows later than all their training rows, and choose their parameters in the same way. A
        column name of X if `y` is one.
    time_limit : float, default=None
        Seconds that all fits may take. A model whose fits are expected to take longer than the time left, by an
        estimate or by its first splits, is left out with a note; one that runs when the time is up is interrupted and
        left out (in the main thread of a system with timers).
    patience : float or None, default=30
        Seconds of work, without waiting and compilation, that all fits may take if neither models nor a time limit are
        given; None for no limit. Models are fitted in the order of expected cost, so that cheap ones are always fitted.
    random_state : int or None, default=0
        Seed of the split of the rows into folds.
    reference : bool, default=None
        Whether scikit-learn's histogram gradient boosting is scored on the same splits as a reference for the scores of
        linear and kernel models; it is never recommended. By default if `models` is None.
    progress : callable, default=None
        Called as `progress(stage, done, total, name)`: stage "data" first, then "cross-validation" before every fit and
        after the last.

    Returns
    -------
    comparison : Comparison
        The results of the models; it prints as a table and has `.frame()`, `.best_`, `.sentences()` and
        `.report(path)`.

    Raises
    ------
    ComparisonInterrupted
        On Ctrl-C (it is a `KeyboardInterrupt`): its `comparison` has the models that were completed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> comparison = compare(*load_iris(return_X_y=True), models=[GaussianNB()])
    >>> print(f"{comparison.entries[0].mean('accuracy'):.2f}")
    0.96
    """
    progress = progress or ignore_progress
    budget = Budget.of(time_limit, patience if models is None else None)
    progress("data", 0, 1, "")
    target = target or (name if isinstance(name := getattr(y, "name", None), str) else "")
    unlabelled: list[str] = []
    unit = getattr(number_format(y), "unit", "") if not isinstance(y, str) else ""
    if isinstance(y, str):
        problem, groups, times = _split_frame(X, y, groups, times)
        X, y, target, unit = problem.X, problem.y, problem.target, problem.unit
        order = problem.order_for(task) if order is None else order
        if problem.unlabelled:
            unlabelled = [f"Rows left out because they have no {target!r}: {problem.unlabelled}."]
    table = read_formats(Table.of(X, dates=True))
    if task in ("auto", "regression", "amounts", "counts"):
        y = read_numbers(y)
    question = task_for(y, table.n_rows, task, X=table, target=target, order=order)
    splitting = make_splits(question, cv, repeats, random_state, groups, times)
    inner = None if groups is None and times is None else InnerFolds(question, groups, times)
    requested = [models] if isinstance(models, str) else models
    selection = _choose_models(requested, table, question, None if inner is None else inner.splitter)
    notes = [question.reason, *question.notes(), *splitting.notes, *selection.notes]
    if groups is None:
        notes += duplicates_note(table, splitting.splits)
    notes += unlabelled
    entrants = selection.entrants
    if models is None if reference is None else reference:
        entrants, without = _add_reference(entrants, table, question)
        notes += without
    if models is None:
        entrants = sort_by_cost(entrants)
    progress("data", 1, 1, "")
    run = CrossValidationRun(question, splitting.splits, splitting.units, budget, progress, inner)
    size = f"{format_count(table.n_rows, 'row')} × {format_count(table.n_columns, 'column')}"
    comparison = Comparison(
        title=f"{size}, {question.describe()}; {splitting.described}",
        task=question,
        table=table,
        y=question.y,
        splits=splitting.splits,
        entries=(),
        inner=inner,
        settings=collect_settings(
            question, models=requested, cv=cv, repeats=repeats, random_state=random_state, groups=groups, times=times
        ),
        target=target,
        unit=unit,
    )
    guess = None
    try:
        run.run(entrants)
        if models is not None and run.candidates and all(entry.kind != "baseline" for entry in run.candidates):
            guess = run.score_baseline(
                make_baseline(table, Question.of(question, None), {entrant.name for entrant in entrants})
            )
    except KeyboardInterrupt as stopped:
        notes.append(run.interruption_note(entrants))
        completed = _complete_comparison(comparison, run, entrants, notes) if run.candidates else None
        raise ComparisonInterrupted(
            f"stopped by Ctrl-C; {len(run.entries)} of {len(entrants)} models are done.", completed
        ) from stopped
    if not run.candidates:
        raise DataError(
            f"no model was done within {budget.seconds:g} s: {', '.join(run.late)}. Give a longer time_limit (on the "
            "command line --time-limit), or fewer rows."
        )
    return _complete_comparison(comparison, run, entrants, notes, guess)


def _split_frame(X: Any, target: str, groups: Any, times: Any) -> tuple[TargetProblem, Any, Any]:
    """Split a frame into columns, target, and the columns of groups or times that are given by name."""
    if names_of(X) is None:
        raise DataError(
            f"y is the name {target!r}, but X is not a frame with named columns. Give the labels as an array, or X as "
            "a data frame."
        )
    problem = split_target(X, target)
    asides = [each for each in (groups, times) if isinstance(each, str)]
    if problem.unlabelled and any(each is not None and not isinstance(each, str) for each in (groups, times)):
        raise DataError(
            f"Rows without {problem.target!r}: {problem.unlabelled}, so groups and times have too many values. Drop "
            "these rows first, or give the names of columns."
        )
    groups, times = (problem.column(each) if isinstance(each, str) else each for each in (groups, times))
    return problem.without(asides), groups, times


def _add_reference(entrants: list[Entrant], table: Table, question: Task) -> tuple[list[Entrant], list[str]]:
    """Add the reference after the models, unless one of them has its name; return notes if there is none."""
    reference = make_reference(table, question)
    if reference is None:
        return entrants, [explain_missing_reference(table, question)]
    if reference.name in {entrant.name for entrant in entrants}:
        return entrants, []
    return [*entrants, reference], []


def _choose_models(
    models: Mapping[str, Any] | Sequence[Any] | None, table: Table, question: Task, inner: InnerSplitter | None
) -> ModelSelection:
    if isinstance(models, Mapping) or (models is not None and not any(isinstance(each, str) for each in models)):
        selection = select_given(models, table)
    else:
        if models is None:
            _check_finite(table)
            _check_informative(table)
        selection = select_suitable(table, Question.of(question, inner))
        if models is not None:
            selection = choose_models(models, selection, table, question)
    if not selection.entrants:
        if models is not None:
            raise DataError(
                "There is no model to compare, because models is empty; name some, or leave it out for all that suit."
            )
        if not table.n_columns:
            raise EmptyDataError("There are no columns to learn from; give some besides the target.")
        raise DataError(f"There is no model for such columns. {' '.join(selection.notes)}")
    return selection


def _check_finite(table: Table) -> None:
    """Raise NonFiniteError for an infinite value, which no model of mercer accepts."""
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
    """Raise EmptyDataError if all columns are empty or constant."""
    schema = [] if table.library == "scipy" else list(TrainingTable.of(table).schema)
    if schema and all(column.kind is Kind.CONSTANT for column in schema):
        names = join_words([repr(column.name) for column in schema], 3)
        verb = "has" if len(schema) == 1 else "have"
        raise EmptyDataError(
            f"There is nothing to learn from: {names} {verb} no values, or the same one in every row. Give columns "
            "besides the target whose values differ."
        )


def _complete_comparison(
    comparison: Comparison,
    run: CrossValidationRun,
    entrants: list[Entrant],
    notes: list[str],
    guess: Entry | None = None,
) -> Comparison:
    """Return the comparison with its entries ranked; an unlisted baseline only influences the order."""
    everyone = [*run.candidates, *([] if guess is None else [guess])]
    order, ranking = rank_entries(everyone, comparison.task, overlap_of(comparison.splits))
    entries = tuple(entry for entry in order if entry is not guess)
    return replace(
        comparison,
        entries=entries,
        reference=run.reference,
        unlisted_baseline=guess,
        unfinished=tuple(run.unfinished(entrants)),
        notes=(*notes, *run.notes(), *ranking),
        seconds=run.budget.spent,
    )
