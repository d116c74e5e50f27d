"""Gradient-boosted trees of scikit-learn, as a reference for what linear and kernel models reach."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array
from mercer.application.shown import Shown
from mercer.application.tasks import Task
from mercer.comparison._entrants import Entrant
from mercer.data import Kind, Table

#: trees of one fit, and rounds: many classes have a tree each in every round
MOST_TREES, MOST_ROUNDS, FEWEST_ROUNDS = 500, 100, 10
#: rows (and those that a tree costs anyway) × columns × trees of one fit from which there are fewer rounds
MOST_WORK, ROWS_OF_A_TREE = 3e8, 2_000
#: classes up to which there is a reference
MOST_CLASSES = 50
#: how far a tree corrects the others, usually and where there are few rounds
USUAL_RATE, LARGEST_RATE = 0.1, 0.3
#: values of a table from which several threads are worth it
THREADED = 1_000_000
#: columns that are looked at for a split: of more, a random part
MOST_SPLIT_COLUMNS = 100
#: rows of the rarest class from which boosting stops early
STOPPED_EARLY = 20
#: rows of a leaf: usually 20, and fewer in small tables, of which trees would otherwise have no split
FEWEST_IN_LEAF, MOST_IN_LEAF, LEAVES = 3, 20, 4
#: numbers beyond which only those with the highest F are used: to sort the values of each takes longer than the trees
MOST_NUMBERS = 500
#: levels of a category, the rest counting as missing, and words of a text
MOST_LEVELS, MOST_WORDS = 254, 30


def reference_for(table: Table, task: Task) -> Entrant | None:
    """Return the reference for a table and a task; None for a sparse matrix, for many classes, or without columns.

    Parameters
    ----------
    table : Table
        The rows.
    task : Task
        Classes have a classifier; counts a Poisson loss, positive amounts a Gamma loss, other numbers squared errors.
    """
    if table.library == "scipy" or task.outputs > MOST_CLASSES:
        return None
    columns = TreeColumns.of(Shown.of(table), classes=hasattr(task, "labels"))
    if not columns.kinds:
        return None
    trees = _trees(task, table.n_rows, columns)
    model = ReferencePipeline([("columns", columns), ("trees", trees)])
    screened = f" on the {MOST_NUMBERS} columns of highest F" if columns.most_numbers is not None else ""
    return Entrant(f"{type(trees).__name__}{screened}", model, table, "reference")


def _trees(task: Task, rows: int, columns: TreeColumns) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    outputs = max(1, task.outputs)
    n_columns = sum(MOST_WORDS if kind is Kind.TEXT else 1 for kind in columns.kinds.values())
    if columns.most_numbers is not None:
        n_columns -= len(columns.numbers()) - columns.most_numbers
    most = min(MOST_TREES, MOST_WORK / ((rows + ROWS_OF_A_TREE) * n_columns)) / outputs
    rounds = int(np.clip(most, FEWEST_ROUNDS, MOST_ROUNDS))
    settings = {
        "max_iter": rounds,
        "learning_rate": min(LARGEST_RATE, USUAL_RATE * MOST_ROUNDS / rounds),
        "max_features": min(1.0, MOST_SPLIT_COLUMNS / n_columns),
        "min_samples_leaf": int(np.clip(rows // LEAVES, FEWEST_IN_LEAF, MOST_IN_LEAF)),
        "categorical_features": columns.categories(),
        "random_state": 0,
    }
    if hasattr(task, "labels"):
        # Without early stopping its log loss suffers from overfitting: 0.43 instead of 0.35 on 1,500 rows. It sets a
        # tenth of the rows aside, in which every class has to occur.
        return HistGradientBoostingClassifier(early_stopping=task.rarest >= STOPPED_EARLY, **settings)
    y = np.asarray(task.y)
    losses = {"counts": "poisson", "amounts": "gamma" if (y > 0).all() else "poisson"}
    return HistGradientBoostingRegressor(loss=losses.get(task.name, "squared_error"), **settings)


class ReferencePipeline(Pipeline):
    """A pipeline that uses one thread for small tables: threads that wait for each other cost more than they save."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        with _few_threads(X):
            return super().fit(X, y, **params)  # type: ignore[no-any-return]

    def predict(self, X: Any, **params: Any) -> Any:
        with _few_threads(X):
            return super().predict(X, **params)

    @available_if(lambda self: hasattr(self.steps[-1][1], "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **params: Any) -> Any:
        with _few_threads(X):
            return super().predict_proba(X, **params)


def _few_threads(X: Any) -> AbstractContextManager[Any]:
    from threadpoolctl import threadpool_limits

    rows, columns = X.shape
    return nullcontext() if rows * columns > THREADED else threadpool_limits(1, user_api="openmp")


class TreeColumns(TransformerMixin, BaseEstimator):
    """Columns of a table as numbers for trees, which take gaps as they are and need no units.

    Levels of a category become numbers, dates too; of a text there is a column for each frequent word. Levels that
    were not in the fit are missing.

    Parameters
    ----------
    kinds : mapping from column to kind
        The columns that are used.
    most_numbers : int or None, default=None
        How many columns of numbers are used: those with the highest F, the variance that the target explains by the
        rest. By default all of them.
    classes : bool, default=True
        Whether the target of that F has classes, not numbers.

    Attributes
    ----------
    kept_ : list of str
        The columns of numbers that are used.
    levels_ : dict
        The levels of each category, most frequent first.
    words_ : dict
        A vectorizer for each text; None where it has no words.
    """

    kept_: list[str]
    levels_: dict[str, list[Any]]
    words_: dict[str, Any]

    def __init__(self, kinds: Mapping[str, Kind], *, most_numbers: int | None = None, classes: bool = True) -> None:
        self.kinds = kinds
        self.most_numbers = most_numbers
        self.classes = classes

    @classmethod
    def of(cls, shown: Shown, *, classes: bool) -> Self:
        """All columns that say something about a row, texts last; of too many numbers only some, categories first."""
        unused = (Kind.IDENTIFIER, Kind.CONSTANT)
        kinds = {column.name: column.kind for column in shown.schema if column.kind not in unused}
        columns = cls(dict(sorted(kinds.items(), key=lambda item: item[1] is Kind.TEXT)), classes=classes)
        if len(columns.numbers()) <= MOST_NUMBERS:
            return columns
        ordered = sorted(columns.kinds.items(), key=lambda item: item[1] is not Kind.CATEGORY)
        return cls(dict(ordered), most_numbers=MOST_NUMBERS, classes=classes)

    def numbers(self) -> list[str]:
        """Return the columns that are neither categories nor texts."""
        return [name for name, kind in self.kinds.items() if kind not in (Kind.CATEGORY, Kind.TEXT)]

    def categories(self) -> list[int] | None:
        """Return the positions of categories among the columns."""
        found = [place for place, kind in enumerate(self.kinds.values()) if kind is Kind.CATEGORY]
        return found or None

    def fit(self, X: Any, y: Any = None) -> Self:
        from sklearn.feature_extraction.text import CountVectorizer

        table = Table.of(X, dates=True)
        self.levels_, self.words_ = {}, {}
        for name, kind in self.kinds.items():
            j = table.position(name)
            if kind is Kind.TEXT:
                words = CountVectorizer(max_features=MOST_WORDS, binary=True, max_df=0.5, dtype=np.float64)
                try:
                    self.words_[name] = words.fit(_texts(table, j))
                except ValueError:  # no words
                    self.words_[name] = None
            elif not table.kinds[j].numeric:
                codes, labels = table.coded(j)
                counts = np.bincount(codes[codes >= 0], minlength=len(labels))
                order = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
                self.levels_[name] = [labels.tolist()[k] for k in order.tolist() if counts[k]]
        self.kept_ = self._strongest(table, y)
        self.n_features_in_ = table.n_columns
        return self

    def _strongest(self, table: Table, y: Any) -> list[str]:
        """Numbers that are used, in their order; gaps count as the mean."""
        names = [name for name in self.kinds if name not in self.levels_ and name not in self.words_]
        if self.most_numbers is None or len(names) <= self.most_numbers:
            return names
        from sklearn.feature_selection import f_classif, f_regression

        values = _numbers(table, names)
        present = ~np.isnan(values)
        mean = np.where(present, values, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # of constant columns, whose F is not a number
            F = (f_classif if self.classes else f_regression)(np.where(present, values, mean), np.asarray(y))[0]
        order = np.argsort(-np.where(np.isnan(F), -np.inf, F), kind="stable")
        return [names[j] for j in np.sort(order[: self.most_numbers]).tolist()]

    def transform(self, X: Any) -> Array:
        check_is_fitted(self)
        table = Table.of(X, dates=True)
        kept = dict(zip(self.kept_, _numbers(table, self.kept_).T, strict=True))
        parts = []
        for name in self.kinds:
            j = table.position(name)
            if name in self.words_:
                words = self.words_[name]
                parts += [] if words is None else [words.transform(_texts(table, j)).toarray()]
            elif name in self.levels_:
                places = {level: float(place) for place, level in enumerate(self.levels_[name])}
                codes, labels = table.coded(j)
                numbers = np.array([places.get(label, np.nan) for label in labels.tolist()] + [np.nan])
                parts.append(numbers[codes][:, None])  # a gap has the code −1
            elif name in kept:
                parts.append(kept[name][:, None])
        return np.hstack(parts)


def _numbers(table: Table, names: list[str]) -> Array:
    """Columns of numbers, NaN where there is no finite one."""
    values = table.numbers([table.position(name) for name in names]).astype(float)
    return np.where(np.isfinite(values), values, np.nan)


def _texts(table: Table, column: int) -> list[str]:
    codes, labels = table.coded(column)
    texts = [str(label) for label in labels.tolist()]
    return [texts[code] if code >= 0 else "" for code in codes.tolist()]
