"""Shared code of estimators built around another model: held-out rows, fits of copies, probabilities and scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import logsumexp
from sklearn import get_config
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _num_samples, column_or_1d, has_fit_parameter

from mercer._errors import DataError, FitInterrupted, ScoresOnlyError
from mercer._gpu import is_tensor, to_numpy
from mercer._stored import any_rows, integers, optional, stored
from mercer._suggest import quoted
from mercer._typing import Array
from mercer.base.pipelines import is_fitted, last_step
from mercer.base.validation import Plan, adopt_columns, check_weight, is_sparse, move_to_main_memory, restore_on_failure
from mercer.data.labels import codes_of


@stored(rows=integers("n"), X=any_rows("n"), y=optional(any_rows("n")))
class FitPart(NamedTuple):
    """Some of the rows of a fit: their positions, features and labels."""

    rows: Array
    X: Any
    y: Any


def split(X: Any, y: Any, n: int, *, held_out: float, rng: np.random.Generator) -> tuple[FitPart, FitPart]:
    """Return the rows to learn from and the share `held_out` of all rows, at least one of each."""
    X = make_indexable(X)
    learnt, held = (
        FitPart(rows, _safe_indexing(X, rows), None if y is None else _safe_indexing(y, rows))
        for rows in split_rows(n, held_out=held_out, rng=rng)
    )
    return learnt, held


def split_rows(n: int, *, held_out: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the sorted positions of the rows to learn from and of the held-out rows."""
    n_held = min(max(1, round(held_out * n)), n - 1)
    learnt, held = map(np.sort, np.split(rng.permutation(n), [n - n_held]))
    return learnt, held


def make_indexable(X: Any) -> Any:
    """Return X in a form whose rows can be indexed; a frame stays a frame."""
    if is_sparse(X):
        return X.tocsr()
    return X if hasattr(X, "__getitem__") else np.asarray(X)


@dataclass(frozen=True)
class WrappedTraining:
    """The training data of a wrapped model: copies of the model are fitted on all rows or on some of them."""

    X: Any
    y: Array
    sample_weight: Any = None
    #: further parameters of the model's `fit`; empty if the model is fitted already
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, owner: Any, X: Any, y: Any, sample_weight: Any, given: Mapping[str, Any]) -> Self:
        """Return the checked arguments of the `fit` of the owner."""
        X, y = _check_training_rows(owner, X, y, sample_weight)
        return cls(X, y, sample_weight, _route_parameters(owner, sample_weight, given))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    @property
    def weight(self) -> Array | None:
        """The weights of the rows; None if all are 1."""
        return check_weight(self.sample_weight, self.y)

    def take(self, rows: Array) -> Any:
        """Return these rows of X in the same container; X itself if these are all rows."""
        return self.X if np.array_equal(rows, np.arange(len(self))) else _safe_indexing(self.X, rows)

    def fit_copy(self, model: Any, rows: Array | None = None) -> Any:
        """Return a copy of the model, fitted on these rows."""
        X, y, parameters = self.X, self.y, self.parameters
        if rows is not None:
            n = len(self)
            parameters = {
                name: _safe_indexing(make_indexable(v), rows) if _has_value_per_row(v, n) else v
                for name, v in parameters.items()
            }
            X, y = _safe_indexing(X, rows), y[rows]
        try:
            return clone(model).fit(X, y, **parameters)
        except FitInterrupted as stopped:  # the owner keeps its old model instead of a half-fitted copy
            raise KeyboardInterrupt(str(stopped)) from None


def is_prefit(owner: Any) -> bool:
    """Return whether the owner uses its model as it is."""
    return isinstance(cv := getattr(owner, "cv", None), str) and cv == "prefit"


def cv_constraint(*words: str) -> list[Any]:
    """Return the constraints of the parameter `cv`, which may also be one of these words."""
    folds = Interval(Integral, 2, None, closed="left")
    return [folds, StrOptions(set(words)), HasMethods(["split", "get_n_splits"]), list]


def folds_of(cv: Any, training: WrappedTraining) -> list[tuple[Array, Array]]:
    """Return the positions of the training and held-out rows of each fold of a scikit-learn splitter."""
    numbers = np.arange(len(training))
    folds = [(numbers[train], numbers[test]) for train, test in cv.split(training.X, training.y)]
    if not folds:
        raise DataError("cv gives no folds; give two or more.")
    for train, test in folds:
        if (shared := np.intersect1d(train, test)).size:
            raise DataError(
                f"cv has row {shared[0]} in both the training and the held-out rows of a fold; give folds whose "
                "held-out rows are not training rows."
            )
    return folds


def _check_training_rows(owner: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array]:
    """Return X in a form whose rows can be indexed, and y as a vector with one value for each row."""
    if y is None:
        raise DataError(
            f"requires y to be passed, but the target y is None. {type(owner).__name__} learns from labelled rows; "
            "give the label or value of each."
        )
    X, y = move_to_main_memory(type(owner).__name__, X=X, y=y)
    X, y = make_indexable(X), column_or_1d(y, warn=True)
    n = _num_samples(X)
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if np.ndim(array := np.asarray(values)) and len(array) != n:
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: {[n, len(array)]}. Give one {name} for "
                "each row of X."
            )
    return X, y


def _route_parameters(owner: Any, sample_weight: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the model's `fit` other than X and y; none if the model is fitted already."""
    if is_prefit(owner):
        return {}
    if get_config()["enable_metadata_routing"]:
        if sample_weight is not None:
            given = {**given, "sample_weight": sample_weight}
        return dict(process_routing(owner, "fit", **given).model.fit)
    if sample_weight is None:
        return dict(given)
    return {**given, _weight_parameter(owner.model): sample_weight}


def _weight_parameter(model: Any) -> str:
    """Return the name of the parameter for row weights; a pipeline passes them to its last step."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not has_fit_parameter(last, "sample_weight"):
        raise DataError(
            f"{type(last).__name__} does not accept sample_weight; leave the weights out, or use a model that accepts "
            "them."
        )
    return f"{model.steps[-1][0]}__sample_weight" if last is not model else "sample_weight"


def _has_value_per_row(values: Any, n: int) -> bool:
    """Return whether a parameter has one value for each of n rows."""
    if isinstance(values, str):
        return False
    try:
        return bool(_num_samples(values) == n)
    except TypeError:  # a number or None
        return False


#: the logarithm of the smallest positive float64, in place of log 0 where a finite score is needed
MIN_LOG_PROBABILITY = float(np.log(np.finfo(np.float64).tiny))


class WrapsModel:
    """scikit-learn's conventions for an estimator built around the parameter `model`."""

    model: Any
    model_: Any
    _validate_params: Any

    @contextmanager
    def _learning(self, X: Any, y: Any, sample_weight: Any, parameters: Mapping[str, Any]) -> Iterator[WrappedTraining]:
        """Yield the checked training data; restore the old state if `fit` fails, else adopt the columns of `model_`."""
        with restore_on_failure(self):
            self._validate_params()
            yield WrappedTraining.of(self, X, y, sample_weight, parameters)
            adopt_columns(self, self.model_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of the metadata of `fit` to the `fit` of the model.

        Returns
        -------
        routing : MetadataRouter
            The routing.
        """
        return MetadataRouter(owner=self).add(
            model=self.model, method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )

    def __sklearn_tags__(self) -> Any:
        # the model determines which inputs are accepted
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        if self.model is not None:
            tags.input_tags = get_tags(self.model).input_tags
        return tags


def check_prefit(model: Any) -> None:
    """Raise NotFittedError if a model given with `cv="prefit"` is not fitted."""
    if not is_fitted(model):
        raise NotFittedError(
            f'cv="prefit" takes a fitted model, but {type(model).__name__} is not fitted. Fit it first, on other rows '
            "than these, or leave cv out."
        )


def check_has_probabilities(model: Any) -> None:
    """Raise ScoresOnlyError, with the reason, if a model has no probabilities."""
    if hasattr(model, "predict_proba"):
        return
    name = type(last_step(model)).__name__
    if is_regressor(model):
        raise ScoresOnlyError(
            f"{name} predicts numbers and has no class probabilities (no `predict_proba`). Use a classifier, or "
            "ConformalRegressor for intervals around numbers."
        )
    raise ScoresOnlyError(
        f"{name} has learnt a boundary and no probabilities (no `predict_proba`), so it would have to be fitted again "
        "for other costs or priors. Use Calibrated(model), which maps its scores to probabilities, or a model with "
        "probabilities such as LogisticRegression or LinearDiscriminantAnalysis."
    )


def log_probabilities(model: Any, X: Any) -> Array:
    """Return log p(y|x) in double precision; −inf for impossible classes."""
    with np.errstate(divide="ignore"):  # some models compute log 0 themselves
        if hasattr(model, "predict_log_proba"):
            return np.asarray(_as_numpy(model.predict_log_proba(X)), dtype=np.float64)
        return np.log(probabilities(model, X))


def probabilities(model: Any, X: Any) -> Array:
    """Return p(y|x) in double precision."""
    return np.asarray(_as_numpy(model.predict_proba(X)), dtype=np.float64)


def _as_numpy(values: Any) -> Any:
    """Return a tensor as a NumPy array; anything else as it is."""
    return to_numpy(values) if is_tensor(values) else values


def encode_known_classes(y: Any, classes: Array) -> Array:
    """Return the positions of labels among the classes of a model; raise DataError for other labels."""
    codes = codes_of(y, classes)
    if (unknown := codes < 0).any():
        label = np.asarray(y).tolist()[int(np.argmax(unknown))]
        raise DataError(f"y holds the class {quoted(label)}, which is not a class of the model; leave these rows out.")
    return codes


def arrange_columns(values: Array, classes: Array, wanted: Array, missing: float) -> Array:
    """Arrange columns for `classes` as columns for `wanted`; fill in `missing` for classes absent from a fold."""
    if np.array_equal(classes, wanted):
        return values
    columns = np.searchsorted(wanted, classes)
    result = np.full((len(values), len(wanted)), missing)
    result[:, columns] = values
    return result


def plan_around(model: Any, path: str) -> Plan:
    """Return the plan of the model with `path` before its own path."""
    own = getattr(last_step(model), "plan_", None)
    if not isinstance(own, Plan):
        return Plan(path, "float64", 1, 1)
    return Plan(f"{path}; {own.path}", own.dtype, own.blocks, own.threads, own.exact, own.device)


def class_scores(model: Any, X: Any, classes: Array) -> Array:
    """Return a score for every class: log probabilities if there are any, else decision values."""
    if hasattr(model, "predict_proba"):
        log = arrange_columns(log_probabilities(model, X), np.asarray(model.classes_), classes, -np.inf)
        return np.maximum(log, MIN_LOG_PROBABILITY)
    return _class_decisions(model, X, classes)


def scores_against_the_rest(model: Any, X: Any, classes: Array) -> Array:
    """Return a score for every class against all others; with two classes for the second only.

    The scores are decision values if there are any, else log odds.
    """
    if hasattr(model, "decision_function"):
        columns = _class_decisions(model, X, classes)
        return columns[:, 1:] - columns[:, :1] if len(classes) == 2 else columns
    log = class_scores(model, X, classes)
    if len(classes) <= 2:
        return log[:, 1:] - log[:, :1]
    others = np.stack([logsumexp(np.delete(log, k, axis=1), axis=1) for k in range(len(classes))], axis=1)
    return np.asarray(log - others)


def _class_decisions(model: Any, X: Any, classes: Array) -> Array:
    """Return decision values, one column per class; for two classes −d/2 and d/2."""
    if not hasattr(model, "decision_function"):
        raise ScoresOnlyError(
            f"{type(model).__name__} has neither `predict_proba` nor `decision_function`, so there are no scores to "
            "calibrate. Use a model with scores."
        )
    scores, known = np.asarray(model.decision_function(X), dtype=np.float64), np.asarray(model.classes_)
    if scores.ndim == 1:
        scores = np.column_stack([-scores / 2, scores / 2])
    if scores.shape[1] != len(known):
        raise ScoresOnlyError(
            f"{type(model).__name__} has {scores.shape[1]} decisions for {len(known)} classes; calibration needs one "
            'for each class (decision_function_shape="ovr").'
        )
    lowest = float(scores.min(initial=0.0))
    return arrange_columns(scores, known, classes, lowest)
