"""The reference of a comparison: scikit-learn's gradient-boosted trees."""

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
from mercer.application.tasks import Task
from mercer.application.training_table import TrainingTable
from mercer.comparison._entrants import Entrant
from mercer.data import Kind, Table

#: trees of one fit: every round has a tree for each class
MAX_TREES = 500
#: boosting rounds of a fit
MAX_ROUNDS = 100
#: boosting rounds of a fit to large tables or many classes
MIN_ROUNDS = 10
#: (rows + `TREE_OVERHEAD_ROWS`) × columns × trees of one fit above which there are fewer rounds
MAX_TREE_WORK = 3e8
#: fixed cost of a tree, in rows
TREE_OVERHEAD_ROWS = 2_000
#: classes up to which there is a reference
MAX_REFERENCE_CLASSES = 50
#: learning rate with `MAX_ROUNDS` rounds; with fewer it is proportionally larger
BASE_LEARNING_RATE = 0.1
#: largest learning rate
MAX_LEARNING_RATE = 0.3
#: values of a table above which several threads are faster
MIN_THREADED_VALUES = 1_000_000
#: columns considered for a split; with more, a random part
MAX_SPLIT_COLUMNS = 100
#: rows of the rarest class from which early stopping is used
MIN_EARLY_STOPPING_ROWS = 20
#: rows of a leaf in small tables, in which trees would otherwise have no split
MIN_LEAF_ROWS = 3
#: rows of a leaf in large tables
MAX_LEAF_ROWS = 20
#: leaves of the minimal size that a table should have
MIN_LEAVES = 4
#: columns of numbers above which only those with the highest F are used: sorting values takes longer than the trees
MAX_REFERENCE_NUMBERS = 500
#: levels of a category; the other levels are missing
MAX_REFERENCE_LEVELS = 254
#: words of a text
MAX_REFERENCE_WORDS = 30


def make_reference(table: Table, task: Task) -> Entrant | None:
    """Return the reference for a table and a task; None for a sparse matrix, for many classes, or without columns.

    Parameters
    ----------
    table : Table
        The rows.
    task : Task
        Determines the model: a classifier for classes, Poisson loss for counts, Gamma loss for positive amounts, and
        squared errors for other numbers.
    """
    if table.library == "scipy" or task.outputs > MAX_REFERENCE_CLASSES:
        return None
    columns = TreeColumns.of(TrainingTable.of(table), classes=hasattr(task, "labels"))
    if not columns.kinds:
        return None
    trees = _make_trees(task, table.n_rows, columns)
    model = ReferencePipeline([("columns", columns), ("trees", trees)])
    screened = f" on the {MAX_REFERENCE_NUMBERS} columns of highest F" if columns.most_numbers is not None else ""
    return Entrant(f"{type(trees).__name__}{screened}", model, table, "reference")


def explain_missing_reference(table: Table, task: Task) -> str:
    """Return a sentence on why `make_reference` returns None for a table and a task."""
    if table.library == "scipy":
        why = "gradient-boosted trees of scikit-learn do not accept sparse features"
    elif task.outputs > MAX_REFERENCE_CLASSES:
        why = f"there are {task.outputs:,} classes, and it takes part for up to {MAX_REFERENCE_CLASSES}"
    else:
        why = "there are no columns that it can use"
    return f"There is no reference: {why}."


def _make_trees(task: Task, rows: int, columns: TreeColumns) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    outputs = max(1, task.outputs)
    n_columns = sum(MAX_REFERENCE_WORDS if kind is Kind.TEXT else 1 for kind in columns.kinds.values())
    if columns.most_numbers is not None:
        n_columns -= len(columns.numbers()) - columns.most_numbers
    most = min(MAX_TREES, MAX_TREE_WORK / ((rows + TREE_OVERHEAD_ROWS) * n_columns)) / outputs
    rounds = int(np.clip(most, MIN_ROUNDS, MAX_ROUNDS))
    settings = {
        "max_iter": rounds,
        "learning_rate": min(MAX_LEARNING_RATE, BASE_LEARNING_RATE * MAX_ROUNDS / rounds),
        "max_features": min(1.0, MAX_SPLIT_COLUMNS / n_columns),
        "min_samples_leaf": int(np.clip(rows // MIN_LEAVES, MIN_LEAF_ROWS, MAX_LEAF_ROWS)),
        "categorical_features": columns.categories(),
        "random_state": 0,
    }
    if hasattr(task, "labels"):
        # Without early stopping the log loss suffers from overfitting: 0.43 instead of 0.35 on 1,500 rows. Early
        # stopping sets a tenth of the rows aside, in which every class must occur.
        return HistGradientBoostingClassifier(early_stopping=task.rarest >= MIN_EARLY_STOPPING_ROWS, **settings)
    y = np.asarray(task.y)
    losses = {"counts": "poisson", "amounts": "gamma" if (y > 0).all() else "poisson"}
    return HistGradientBoostingRegressor(loss=losses.get(task.name, "squared_error"), **settings)


class ReferencePipeline(Pipeline):
    """A pipeline that uses one thread for small tables, where several threads are slower."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        with _limit_threads(X):
            return super().fit(X, y, **params)  # type: ignore[no-any-return]

    def predict(self, X: Any, **params: Any) -> Any:
        with _limit_threads(X):
            return super().predict(X, **params)

    @available_if(lambda self: hasattr(self.steps[-1][1], "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **params: Any) -> Any:
        with _limit_threads(X):
            return super().predict_proba(X, **params)


def _limit_threads(X: Any) -> AbstractContextManager[Any]:
    from threadpoolctl import threadpool_limits

    rows, columns = X.shape
    return nullcontext() if rows * columns > MIN_THREADED_VALUES else threadpool_limits(1, user_api="openmp")


class TreeColumns(TransformerMixin, BaseEstimator):
    """Convert columns of a table to numbers for trees, which accept gaps and any units.

    Levels of a category and dates become numbers; a text becomes a column for each frequent word. Levels that were not
    in the fit are missing.

    Parameters
    ----------
    kinds : mapping from column to kind
        The columns to use.
    most_numbers : int or None, default=None
        Number of columns of numbers to use: those with the highest F statistic of the target. By default all.
    classes : bool, default=True
        Whether the target of this F has classes instead of numbers.

    Attributes
    ----------
    kept_ : list of str
        The columns of numbers in use.
    levels_ : dict
        The levels of each category, most frequent first.
    words_ : dict
        A vectorizer for each text; None for a text without words.
    """

    kept_: list[str]
    levels_: dict[str, list[Any]]
    words_: dict[str, Any]

    def __init__(self, kinds: Mapping[str, Kind], *, most_numbers: int | None = None, classes: bool = True) -> None:
        self.kinds = kinds
        self.most_numbers = most_numbers
        self.classes = classes

    @classmethod
    def of(cls, training: TrainingTable, *, classes: bool) -> Self:
        """Return the converter for all informative columns: texts last; with too many numbers, categories first."""
        unused = (Kind.IDENTIFIER, Kind.CONSTANT)
        kinds = {column.name: column.kind for column in training.schema if column.kind not in unused}
        columns = cls(dict(sorted(kinds.items(), key=lambda item: item[1] is Kind.TEXT)), classes=classes)
        if len(columns.numbers()) <= MAX_REFERENCE_NUMBERS:
            return columns
        ordered = sorted(columns.kinds.items(), key=lambda item: item[1] is not Kind.CATEGORY)
        return cls(dict(ordered), most_numbers=MAX_REFERENCE_NUMBERS, classes=classes)

    def numbers(self) -> list[str]:
        """Return the columns that are neither categories nor texts."""
        return [name for name, kind in self.kinds.items() if kind not in (Kind.CATEGORY, Kind.TEXT)]

    def categories(self) -> list[int] | None:
        """Return the positions of categories among the columns."""
        places = [place for place, kind in enumerate(self.kinds.values()) if kind is Kind.CATEGORY]
        return places or None

    def fit(self, X: Any, y: Any = None) -> Self:
        from sklearn.feature_extraction.text import CountVectorizer

        table = Table.of(X, dates=True)
        self.levels_, self.words_ = {}, {}
        for name, kind in self.kinds.items():
            j = table.position(name)
            if kind is Kind.TEXT:
                words = CountVectorizer(max_features=MAX_REFERENCE_WORDS, binary=True, max_df=0.5, dtype=np.float64)
                try:
                    self.words_[name] = words.fit(_texts(table, j))
                except ValueError:  # no words
                    self.words_[name] = None
            elif not table.kinds[j].numeric:
                codes, labels = table.coded(j)
                counts = np.bincount(codes[codes >= 0], minlength=len(labels))
                order = np.argsort(-counts, kind="stable")[:MAX_REFERENCE_LEVELS]
                self.levels_[name] = [labels.tolist()[k] for k in order.tolist() if counts[k]]
        self.kept_ = self._strongest(table, y)
        self.n_features_in_ = table.n_columns
        return self

    def _strongest(self, table: Table, y: Any) -> list[str]:
        """Return the columns of numbers to use, in their order; gaps count as the mean."""
        names = [name for name in self.kinds if name not in self.levels_ and name not in self.words_]
        if self.most_numbers is None or len(names) <= self.most_numbers:
            return names
        from sklearn.feature_selection import f_classif, f_regression

        values = _numbers(table, names)
        present = ~np.isnan(values)
        mean = np.where(present, values, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # constant columns have no F
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
    """Return columns of numbers, with NaN for values that are not finite."""
    values = table.numbers([table.position(name) for name in names]).astype(float)
    return np.where(np.isfinite(values), values, np.nan)


def _texts(table: Table, column: int) -> list[str]:
    codes, labels = table.coded(column)
    texts = [str(label) for label in labels.tolist()]
    return [texts[code] if code >= 0 else "" for code in codes.tolist()]
