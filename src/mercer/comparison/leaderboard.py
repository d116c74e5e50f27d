"""Models side by side on the same folds of the same data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import DataError
from mercer.comparison.crossvalidation import cross_validate
from mercer.comparison.entrants import entrants_for, entrants_given
from mercer.comparison.tasks import Classification, RegressionResult, Result, Task, task_for
from mercer.data import Table, frame_like
from mercer.report import Field, Grid

#: told how many fits are done, of how many, and which model is next
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Leaderboard:
    """Models from best to worst; those that could not be fitted come last and say why."""

    title: str
    results: tuple[Result, ...] | tuple[RegressionResult, ...]
    notes: tuple[str, ...] = ()
    #: the two measures, as they are headed and printed
    measures: tuple[Field, ...] = Classification.fields

    def frame(self, library: str = "pandas") -> Any:
        """The results as a frame of any library: "pandas", "polars", "pyarrow", …"""
        columns = [np.array(column) for column in zip(*self.results, strict=True)]
        return frame_like(self.results[0]._fields, columns, library)

    def grid(self) -> Grid:
        """The leaderboard as a record to print."""
        fields = (Field("model"), *self.measures, Field("fit seconds", ".4f"))
        rows = tuple(result[:-1] for result in self.results)
        # below the table, where there is room for a sentence
        of_models = tuple(f"{result.model}: {result.note}" for result in self.results if result.note)
        return Grid(self.title, fields, rows, (*self.notes, *of_models))

    def __str__(self) -> str:
        return str(self.grid())


def compare(
    X: Any,
    y: Any,
    *,
    models: Mapping[str, Any] | Sequence[Any] | None = None,
    task: str = "auto",
    cv: int = 5,
    random_state: int | None = 0,
    progress: Progress | None = None,
) -> Leaderboard:
    """Cross-validate models on folds (stratified, for classes) that are the same for all of them.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Numbers, categories, missing values.
    y : array-like of shape (n_samples,)
        Class labels of any type, numbers, or counts.
    models : mapping from name to model, or sequence of models, default=None
        Whom to compare; by default every model of mercer that suits the target and the columns.
    task : {"auto", "classification", "regression", "counts"}, default="auto"
        What is asked for; by default decided by the target: text and few whole numbers are classes.
    cv : int, default=5
        How many folds.
    random_state : int or None, default=0
        Fixes how the rows are dealt to the folds.
    progress : callable, default=None
        Called as `progress(done, total, model)` before every fit, and after the last.

    Returns
    -------
    leaderboard : Leaderboard
        What each model reached; it prints as a table and has `.frame()`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> leaderboard = compare(*load_iris(return_X_y=True), models=[GaussianNB()])
    >>> print(f"{leaderboard.results[0].accuracy:.2f}")
    0.96
    """
    table = Table.of(X, dates=True)
    question = task_for(y, table.n_rows, task)
    folds = question.folds(cv, random_state)
    if models is None:
        invitation = entrants_for(table, question.name, question.outputs)
    else:
        invitation = entrants_given(models, table)
    if not invitation.entrants:
        raise DataError(f"There is no model for such columns. {' '.join(invitation.notes)}")
    tell = progress or (lambda done, total, model: None)
    total = cv * len(invitation.entrants)
    results: list[Any] = []
    for entrant in invitation.entrants:
        before_fold = _teller(tell, cv * len(results), total, entrant.name)
        results.append(cross_validate(entrant, question, folds, before_fold=before_fold))
    tell(total, total, "")
    # by the first measure, larger is better, and then by the second, smaller is better
    results.sort(key=lambda result: (math.isnan(result[1]), -result[1], result[2]))
    return Leaderboard(
        _title(table, question, cv), tuple(results), (*question.notes(cv), *invitation.notes), question.fields
    )


def _title(table: Table, question: Task, cv: int) -> str:
    folds = f"{cv} stratified folds" if question.name == "classification" else f"{cv} folds"
    return f"{table.n_rows} rows × {table.n_columns} columns, {question.described()}; {folds}"


def _teller(progress: Progress, done: int, total: int, model: str) -> Callable[[int], None]:
    return lambda fold: progress(done + fold, total, model)
