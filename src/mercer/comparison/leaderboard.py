"""Models side by side on the same folds of the same data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.comparison.crossvalidation import Result, cross_validate, stratified_folds
from mercer.comparison.entrants import entrants_for, entrants_given
from mercer.data import Table, encode_labels, frame_like
from mercer.report import Field, Grid

Array = NDArray[Any]
#: told how many fits are done, of how many, and which model is next
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Leaderboard:
    """Models from best to worst accuracy; those that could not be fitted come last and say why."""

    title: str
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()

    def frame(self, library: str = "pandas") -> Any:
        """The results as a frame of any library: "pandas", "polars", "pyarrow", …"""
        columns = [np.array(column) for column in zip(*self.results, strict=True)]
        return frame_like(Result._fields, columns, library)

    def grid(self) -> Grid:
        """The leaderboard as a record to print."""
        fields = (Field("model"), Field("accuracy", ".4f"), Field("log loss", "#.4g"), Field("fit seconds", ".4f"))
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
    cv: int = 5,
    random_state: int | None = 0,
    progress: Progress | None = None,
) -> Leaderboard:
    """Cross-validate models on stratified folds, the same for all of them.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Numbers, categories, missing values.
    y : array-like of shape (n_samples,)
        Class labels of any type.
    models : mapping from name to classifier, or sequence of classifiers, default=None
        Whom to compare; by default every model of mercer that suits the columns.
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
    table = Table.of(X)
    labels, codes = encode_labels(y)
    folds = stratified_folds(table, labels, codes, cv=cv, random_state=random_state)
    invitation = entrants_for(table) if models is None else entrants_given(models, table)
    tell = progress or (lambda done, total, model: None)
    total = cv * len(invitation.entrants)
    results: list[Result] = []
    for entrant in invitation.entrants:
        before_fold = _teller(tell, cv * len(results), total, entrant.name)
        results.append(cross_validate(entrant, labels[codes], folds, before_fold=before_fold))
    tell(total, total, "")
    results.sort(key=lambda result: (math.isnan(result.accuracy), -result.accuracy, result.log_loss))
    title = f"{table.n_rows} rows × {table.n_columns} columns, {len(labels)} classes; {cv} stratified folds"
    return Leaderboard(title, tuple(results), (*_notes(labels, codes, cv), *invitation.notes))


def _teller(progress: Progress, done: int, total: int, model: str) -> Callable[[int], None]:
    return lambda fold: progress(done + fold, total, model)


def _notes(labels: Array, codes: Array, cv: int) -> list[str]:
    names, counts = labels.tolist(), np.bincount(codes)
    most, least = int(counts.argmax()), int(counts.argmin())
    notes = [f"Always answering {names[most]!r} would be right in {counts[most] / len(codes):.1%} of the rows."]
    if counts[least] < cv:
        notes.append(f"Class {names[least]!r} has {counts[least]} row(s), fewer than there are folds.")
    return notes
