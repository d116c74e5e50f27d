"""The rows of a fit as the model inside is given them: copies of it are fitted on all of them or on some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import _num_samples, column_or_1d, has_fit_parameter

from mercer._errors import DataError, FitInterrupted
from mercer._typing import Array
from mercer.decide._split import with_rows
from mercer.models.base import checked_weight, in_main_memory


@dataclass(frozen=True)
class Training:
    """Rows and labels, and what else the `fit` of the model takes."""

    X: Any
    y: Array
    sample_weight: Any = None
    #: for the `fit` of the model; empty where it is fitted already
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, owner: Any, X: Any, y: Any, sample_weight: Any, given: Mapping[str, Any]) -> Self:
        """What was given to the `fit` of the owner, checked."""
        X, y = _checked_rows(owner, X, y, sample_weight)
        return cls(X, y, sample_weight, _parameters(owner, sample_weight, given))

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.y)

    @property
    def weight(self) -> Array | None:
        """The weights of the rows; None where all are 1."""
        return checked_weight(self.sample_weight, self.y)

    def taken(self, rows: Array) -> Any:
        """X of some rows, in the container they came in; as it is, where these are all."""
        return self.X if np.array_equal(rows, np.arange(len(self))) else _safe_indexing(self.X, rows)

    def fitted(self, model: Any, rows: Array | None = None) -> Any:
        """A copy of the model, fitted on these rows."""
        X, y, parameters = self.X, self.y, self.parameters
        if rows is not None:
            n = len(self)
            parameters = {
                name: _safe_indexing(with_rows(v), rows) if _per_row(v, n) else v for name, v in parameters.items()
            }
            X, y = _safe_indexing(X, rows), y[rows]
        try:
            return clone(model).fit(X, y, **parameters)
        except FitInterrupted as stopped:  # a copy that is half done is of no use to its owner, who keeps the old one
            raise KeyboardInterrupt(str(stopped)) from None


def is_prefit(owner: Any) -> bool:
    """Whether the model is to be used as it is."""
    return isinstance(cv := getattr(owner, "cv", None), str) and cv == "prefit"


def cv_constraint(*words: str) -> list[Any]:
    """What the parameter `cv` may be, besides these words."""
    folds = Interval(Integral, 2, None, closed="left")
    return [folds, StrOptions(set(words)), HasMethods(["split", "get_n_splits"]), list]


def folds_of(cv: Any, training: Training) -> list[tuple[Array, Array]]:
    """Numbers of the rows to learn from and of those held out, by a splitter of scikit-learn."""
    numbers = np.arange(len(training))
    folds = [(numbers[train], numbers[test]) for train, test in cv.split(training.X, training.y)]
    if not folds:
        raise DataError("cv gives no folds; give two or more.")
    for train, test in folds:
        if (seen := np.intersect1d(train, test)).size:
            raise DataError(
                f"cv holds out row {seen[0]} and learns from it in the same fold, so that the model has seen it; leave "
                "rows that are held out out of those to learn from."
            )
    return folds


def _checked_rows(owner: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array]:
    """X in a form of which rows can be taken, and y as a vector of as many values."""
    if y is None:
        raise DataError(
            f"requires y to be passed, but the target y is None. {type(owner).__name__} learns from labelled rows; "
            "give the label or value of each."
        )
    X, y = in_main_memory(type(owner).__name__, X=X, y=y)
    X, y = with_rows(X), column_or_1d(y, warn=True)
    n = _num_samples(X)
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if np.ndim(given := np.asarray(values)) and len(given) != n:
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: {[n, len(given)]}. Give one {name} for "
                "each row of X."
            )
    return X, y


def _parameters(owner: Any, sample_weight: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the `fit` of the owner's model is given besides X and y; nothing, where it is fitted already."""
    if is_prefit(owner):
        return {}
    if get_config()["enable_metadata_routing"]:
        if sample_weight is not None:
            given = {**given, "sample_weight": sample_weight}
        return dict(process_routing(owner, "fit", **given).model.fit)
    if sample_weight is None:
        return dict(given)
    return {**given, _weight_of(owner.model): sample_weight}


def _weight_of(model: Any) -> str:
    """What the model calls the weights of rows; a pipeline hands them to its last step."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not has_fit_parameter(last, "sample_weight"):
        raise DataError(
            f"{type(last).__name__} takes no sample_weight; leave the weights out, or use a model that takes them."
        )
    return f"{model.steps[-1][0]}__sample_weight" if last is not model else "sample_weight"


def _per_row(values: Any, n: int) -> bool:
    if isinstance(values, str):
        return False
    try:
        return bool(_num_samples(values) == n)
    except TypeError:  # a number, or nothing
        return False
