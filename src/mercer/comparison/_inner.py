"""A small search for a parameter, made anew in every fit, on the rows of that fit alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError
from mercer._stored import optional, part_of, stored
from mercer._typing import Array
from mercer.application.task import task_for
from mercer.application.tasks import Split, Task
from mercer.comparison._splits import deal

# Folds within training rows, for what a model chooses in its fit: parted by groups or by time, as the splits are.

#: folds within the training rows
INNER_FOLDS = 3
#: fixes them
SEED = 0


class Inner:
    """A splitter that all searches of a comparison share: it has the folds of the rows that are being fitted to.

    A model is shown rows, not which rows they are; whoever fits it says so (`InnerFolds.within`). Copies are the same
    object, so that a search within a model within another hears of it, too; and it is written without its folds, so
    that a fitted model is no larger for them.

    Parameters
    ----------
    described : str
        How rows are parted, in a few words.
    """

    def __init__(self, described: str = "") -> None:
        self.described = described
        self.splits: list[Split] = []

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """The folds; the arguments are those of any splitter."""
        if not self.splits:
            raise DataError("There are too few rows in the training set to choose by folds; give more rows.")
        yield from self.splits

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return len(self.splits)

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        return type(self), (self.described,)

    def __repr__(self) -> str:
        return "Inner()"


class InnerFolds:
    """Folds within any of the rows of a comparison, and the splitter that hands them to its models.

    Parameters
    ----------
    task : Task
        What is asked of all rows.
    groups, times : array-like of shape (n_rows,) or None
        Rows of one group are never parted; the past foretells what came later.
    """

    def __init__(self, task: Task, groups: Any = None, times: Any = None) -> None:
        self._task = task
        self._groups, self._times = (None if each is None else np.asarray(each) for each in (groups, times))
        self._dealt: dict[bytes, list[Split]] = {}
        self.splitter = Inner("forward in time" if times is not None else "by folds of whole groups")

    @contextmanager
    def within(self, rows: Array) -> Iterator[None]:
        """What is fitted in the block is fitted to these rows."""
        self.splitter.splits = self._deal(rows)
        try:
            yield
        finally:
            self.splitter.splits = []

    def _deal(self, rows: Array) -> list[Split]:
        """Folds of rows, dealt once for all models: fewer where there are few groups or moments, plain where one."""
        key = rows.tobytes()
        if key not in self._dealt:
            question = self._task.of_rows(rows)
            groups, times = (None if each is None else each[rows] for each in (self._groups, self._times))
            self._dealt[key] = _first_possible(question, groups, times)
        return self._dealt[key]


def _first_possible(question: Task, groups: Any, times: Any) -> list[Split]:
    for folds, parted in ((INNER_FOLDS, True), (2, True), (INNER_FOLDS, False)):
        try:
            return deal(question, folds, 1, SEED, *((groups, times) if parted else ())).splits
        except DataError:
            continue
    return []


@stored(parameter=part_of(str), cv=optional(part_of()), best_estimator_=part_of())
class Tuned(BaseEstimator):
    """A model with the value of a parameter that does best on folds of its own training rows.

    Since the choice sees nothing but the rows of a fit, scores on other rows are those of a model that was not tuned on
    them. A value with which the model cannot be fitted is passed over. Where the rows are too few to be parted, the
    first value is taken.

    Parameters
    ----------
    model : estimator
        To be tuned.
    parameter : str
        Its parameter, in the words of `set_params`.
    values : tuple
        Candidates, safest first: the first wins a tie.
    task : {"classification", "regression", "counts"}
        Which measure decides.
    cv : Inner or None, default=None
        Folds that keep groups whole or go forward in time; by default plain ones.

    Attributes
    ----------
    best_estimator_ : estimator
        The model with the chosen value, fitted to all rows of the fit.
    best_value_ : Any
        The chosen value.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import GaussianDiscriminant
    >>> Tuned(GaussianDiscriminant(), "shrinkage", (0.5, 0.0)).fit(*load_iris(return_X_y=True)).best_value_
    0.0
    """

    best_estimator_: Any
    best_value_: Any

    def __init__(
        self, model: Any, parameter: str, values: Any, task: str = "classification", cv: Inner | None = None
    ) -> None:
        self.model = model
        self.parameter = parameter
        self.values = values
        self.task = task
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:
        X = X if isinstance(X, np.ndarray) or hasattr(X, "tocsr") else np.asarray(X)
        self.best_value_ = self.values[int(np.argmin(self._losses(X, np.asarray(y))))]
        self.best_estimator_ = self._with(self.best_value_).fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(lambda self: hasattr(self.model, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(lambda self: hasattr(self.model, "predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @property
    def classes_(self) -> Array:
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.classes_)

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def _with(self, value: Any) -> Any:
        return clone(self.model).set_params(**{self.parameter: value})

    def _losses(self, X: Any, y: Array) -> list[float]:
        """Mean loss of each candidate; ∞ for one that cannot be fitted."""
        question = task_for(y, len(y), self.task)
        try:
            splits = deal(question, INNER_FOLDS, 1, SEED).splits if self.cv is None else list(self.cv.split(X))
        except DataError:  # too few rows, or one value only
            return [0.0]
        return [self._loss(value, X, question, splits) for value in self.values]

    def _loss(self, value: Any, X: Any, question: Any, splits: list[Split]) -> float:
        losses = []
        for train, test in splits:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all rows warns of what matters
                try:
                    model = self._with(value).fit(X[train], question.y[train])
                    loss = question.scores(question.forecast(model, X[test]), test, train)[question.metric.name]
                except (ValueError, ArithmeticError):
                    return float("inf")
            losses.append(loss)
        mean = float(np.mean(losses))
        return mean if np.isfinite(mean) else float("inf")
