"""Ng and Jordan's experiment: both halves of a pair, fitted to more and more rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer.comparison.experiments._experiment import Progress, by_name, classes_of, repeated, untold
from mercer.comparison.experiments.curves_result import LearningCurves
from mercer.comparison.experiments.subsets import checked_sizes, train_rows
from mercer.comparison.measuring.splits import check_repeats
from mercer.comparison.racing.crossvalidation import described
from mercer.comparison.taking_part.pairs import counterpart, half_of
from mercer.data import Table
from mercer.using.metrics import Outcome, accuracy, log_loss
from mercer.using.tasks import Classification


def learning_curves(
    pair: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[float] | None = None,
    repeats: int = 20,
    test_size: float = 1 / 3,
    random_state: int = 0,
    progress: Progress | None = None,
) -> LearningCurves:
    """The errors of both halves of a generative-discriminative pair, fitted to more and more rows.

    In each repeat rows are held out, class by class, and the others are ordered such that the first rows, however many
    are taken, hold all classes. Both models are fitted to the same first rows, and scored on the same held-out rows.

    Parameters
    ----------
    pair : estimator, two estimators, or mapping from two names to them
        A model, whose `counterpart` is the other half; or both, the generative one first.
    X : array-like, sparse matrix, data frame or list of texts, with n_samples rows; or a pair of `Table`
        What both models are shown; or what each of them is.
    y : array-like of shape (n_samples,)
        Class labels of any type.
    sizes : sequence of numbers, default=None
        Sizes of the training sets, in rows, or as shares (up to 1) of the rows that are not held out; by default eight,
        from 10 rows (or two of each class) to all.
    repeats : int, default=20
        How many times the rows are dealt anew.
    test_size : float or int, default=1/3
        Share of the rows to hold out, or their number.
    random_state : int, default=0
        Fixes how rows are dealt.
    progress : callable, default=None
        Called as `progress(done, total, model)` before every fit, and after the last.

    Returns
    -------
    curves : LearningCurves
        `.frame()`, `.plot()`, `.chart()`, and `.crossover_`: from how many rows on the discriminative model wins.

    Raises
    ------
    ExperimentInterrupted
        On Ctrl-C (it is a `KeyboardInterrupt`): its `result` has the curves of the repeats that were done.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import LinearDiscriminantAnalysis, learning_curves
    >>> curves = learning_curves(LinearDiscriminantAnalysis(), *load_iris(return_X_y=True), sizes=[12, 60], repeats=3)
    >>> curves.names
    ('LinearDiscriminantAnalysis', 'LogisticRegression')
    """
    models = _models(pair)
    tables = _tables(X)
    task = classes_of(y, *map(len, tables))
    check_repeats(repeats)
    most = train_rows(task.codes, test_size)
    chosen = checked_sizes(sizes, most, len(task.labels))
    trials = _Trials(task, models, tables, chosen, repeats, len(task.codes) - most, progress or untold)
    return repeated(trials, repeats, task.codes, test_size, random_state)


class _Rows(NamedTuple):
    """Rows of whatever holds them."""

    take: Callable[[Array], Any]
    n_rows: int

    def __len__(self) -> int:
        return self.n_rows


def _tables(X: Any) -> list[_Rows]:
    if isinstance(X, tuple) and len(X) == 2 and all(isinstance(each, Table) for each in X):
        return [_rows_of(each) for each in X]
    return [_rows_of(X)] * 2


def _rows_of(X: Any) -> _Rows:
    if not isinstance(X, Table) and _is_texts(X):
        texts = np.asarray(X, dtype=object)
        return _Rows(lambda rows: texts[rows], len(texts))
    table = X if isinstance(X, Table) else Table.of(X, dates=True)
    return _Rows(lambda rows: table.take(rows).native, table.n_rows)


def _is_texts(X: Any) -> bool:
    """Whether X is a vector of documents, as vectorisers take them."""
    if getattr(X, "ndim", 1) != 1 or hasattr(X, "columns") or not hasattr(X, "__len__") or not len(X):
        return False
    return isinstance(next(iter(X)), str)


def _models(pair: Any) -> dict[str, Any]:
    """The generative half by its name, then the other."""
    if not isinstance(pair, Mapping) and hasattr(pair, "get_params"):
        pair = (pair, counterpart(pair))
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise DataError(f"A pair is a model, two models, or two names with a model each, not {pair!r}.")
    first, second = by_name(pair).items()
    turned = half_of(first[1]) == "discriminative" and half_of(second[1]) == "generative"
    return dict([second, first] if turned else [first, second])


class _Trials:
    """What comes of fitting both models to each subset: arrays of shape (models, sizes, repeats)."""

    def __init__(
        self,
        task: Classification,
        models: dict[str, Any],
        tables: list[_Rows],
        sizes: Array,
        repeats: int,
        n_test: int,
        tell: Progress,
    ) -> None:
        self.task, self.models, self.tables, self.sizes = task, models, tables, sizes
        self.n_test, self.tell = n_test, tell
        shape = (len(models), len(sizes), repeats)
        self.errors, self.losses, self.seconds = (np.full(shape, np.nan) for _ in range(3))
        self.total, self.done = int(np.prod(shape)), 0
        self._told: dict[tuple[str, str], list[str]] = {}

    def run(self, repeat: int, train: Array, test: Array, rng: np.random.Generator) -> None:
        """Fit every model to each beginning of the training rows."""
        for place, size in enumerate(self.sizes.tolist()):
            for position, (name, model) in enumerate(self.models.items()):
                self.tell(self.done, self.total, name)
                self.done += 1
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        measured = self._fitted(model, self.tables[position], train[:size], test)
                    except Exception as failure:
                        self._told.setdefault((name, "failed"), []).append(described(failure))
                        continue
                if caught:
                    self._told.setdefault((name, "warned"), []).append(described(caught[0].message))
                where = position, place, repeat
                self.errors[where], self.losses[where], self.seconds[where] = measured

    def _fitted(self, model: Any, rows: _Rows, train: Array, test: Array) -> tuple[float, float, float]:
        from sklearn.base import clone

        X, fresh = rows.take(train), clone(model)
        start = time.perf_counter()
        fresh.fit(X, self.task.y[train])
        seconds = time.perf_counter() - start
        outcome = Outcome(self.task.codes[test], self.task.forecast(fresh, rows.take(test)))
        return 1 - accuracy(outcome), log_loss(outcome), seconds

    def result(self, repeats: int) -> LearningCurves:
        """What came of so many repeats."""
        errors, losses, seconds = (each[:, :, :repeats] for each in (self.errors, self.losses, self.seconds))
        return LearningCurves(tuple(self.models), self.sizes, errors, losses, seconds, self.n_test, self._notes())

    def _notes(self) -> tuple[str, ...]:
        fits = -(-self.done // len(self.models))
        return tuple(
            f"{name} {what} in {len(messages)} of {fits} fits, first: {messages[0]}"
            for (name, what), messages in self._told.items()
        )
