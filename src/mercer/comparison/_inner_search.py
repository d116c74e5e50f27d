"""Search for a parameter within every fit, on folds of the rows of that fit.

The folds within training rows follow the splits of the comparison: by groups, forward in time, or plain.
"""

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
from mercer._stored import ANYTHING, estimator, optional, part_of, stored
from mercer._typing import Array
from mercer.application.task_choice import task_for
from mercer.application.tasks import Split, Task
from mercer.base.compared import INNER_FOLDS
from mercer.comparison._splits import make_splits

#: seed of these folds
INNER_SEED = 0


class InnerSplitter:
    """A splitter shared by all searches of a comparison, with the folds of the rows of the current fit.

    `InnerFolds.within` sets the folds, because a model does not get the positions of its rows. A copy is the same
    object, so that nested searches use the same folds. It is pickled without its folds, which keeps models small.

    Parameters
    ----------
    described : str
        Description of the folds in a few words.
    """

    def __init__(self, described: str = "") -> None:
        self.described = described
        self.splits: list[Split] = []

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield the folds; the arguments are those of any splitter and are not used."""
        if not self.splits:
            raise DataError("The training set has too few rows for a choice by folds; give more rows.")
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
    """Folds within subsets of the rows of a comparison, and the splitter that passes them to its models.

    Parameters
    ----------
    task : Task
        The task for all rows.
    groups, times : array-like of shape (n_rows,) or None
        Rows of one group stay in one fold; with times, models are scored on later rows than they are fitted to.
    """

    def __init__(self, task: Task, groups: Any = None, times: Any = None) -> None:
        self._task = task
        self._groups, self._times = (None if each is None else np.asarray(each) for each in (groups, times))
        self._splits_of_rows: dict[bytes, list[Split]] = {}
        self.splitter = InnerSplitter("forward in time" if times is not None else "by folds of whole groups")

    @contextmanager
    def within(self, rows: Array) -> Iterator[None]:
        """Set the folds for models that are fitted to these rows in the block."""
        self.splitter.splits = self._split(rows)
        try:
            yield
        finally:
            self.splitter.splits = []

    def _split(self, rows: Array) -> list[Split]:
        """Return the folds of rows, made once for all models."""
        key = rows.tobytes()
        if key not in self._splits_of_rows:
            question = self._task.take(rows)
            groups, times = (None if each is None else each[rows] for each in (self._groups, self._times))
            self._splits_of_rows[key] = _split_if_possible(question, groups, times)
        return self._splits_of_rows[key]


def _split_if_possible(question: Task, groups: Any, times: Any) -> list[Split]:
    """Return folds, two if groups or times are few, plain ones if there is only one; an empty list if all fail."""
    for folds, separated in ((INNER_FOLDS, True), (2, True), (INNER_FOLDS, False)):
        try:
            return make_splits(question, folds, 1, INNER_SEED, *((groups, times) if separated else ())).splits
        except DataError:
            continue
    return []


@stored(parameter=part_of(str), cv=optional(part_of()), best_estimator_=estimator(), best_value_=ANYTHING)
class Tuned(BaseEstimator):
    """A model with a parameter chosen by cross-validation on its own training rows.

    Because the choice uses only the rows of a fit, scores on other rows are valid for the tuned model. A value with
    which the model cannot be fitted is skipped. If the rows are too few for folds, the first value is chosen.

    Parameters
    ----------
    model : estimator
        The model to tune.
    parameter : str
        Name of the parameter, as for `set_params`.
    values : tuple
        Candidate values, safest first: the first one wins a tie.
    task : {"classification", "regression", "counts"}
        Determines the measure.
    cv : InnerSplitter or None, default=None
        Splitter that keeps groups whole or goes forward in time; by default plain folds.

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
        self, model: Any, parameter: str, values: Any, task: str = "classification", cv: InnerSplitter | None = None
    ) -> None:
        self.model = model
        self.parameter = parameter
        self.values = values
        self.task = task
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:
        X = X if isinstance(X, np.ndarray) or hasattr(X, "tocsr") else np.asarray(X)
        self.best_value_ = self.values[int(np.argmin(self._losses(X, np.asarray(y))))]
        self.best_estimator_ = self._with_value(self.best_value_).fit(X, y)
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

    def _with_value(self, value: Any) -> Any:
        return clone(self.model).set_params(**{self.parameter: value})

    def _losses(self, X: Any, y: Array) -> list[float]:
        """Return the mean loss of each candidate; ∞ for one that cannot be fitted."""
        question = task_for(y, len(y), self.task)
        try:
            splits = (
                make_splits(question, INNER_FOLDS, 1, INNER_SEED).splits if self.cv is None else list(self.cv.split(X))
            )
        except DataError:  # too few rows, or a single target value
            return [0.0]
        return [self._loss(value, X, question, splits) for value in self.values]

    def _loss(self, value: Any, X: Any, question: Any, splits: list[Split]) -> float:
        losses = []
        for train, test in splits:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all rows repeats warnings that matter
                try:
                    model = self._with_value(value).fit(X[train], question.y[train])
                    loss = question.scores(question.forecast(model, X[test]), test, train)[question.metric.name]
                except (ValueError, ArithmeticError):
                    return float("inf")
            losses.append(loss)
        mean = float(np.mean(losses))
        return mean if np.isfinite(mean) else float("inf")
