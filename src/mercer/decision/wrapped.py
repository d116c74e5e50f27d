"""What is built around another model: how it is fitted, and what the model says about rows."""

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
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, has_fit_parameter

from mercer._errors import DataError, FitInterrupted, ScoresOnlyError
from mercer._gpu import is_tensor, to_numpy
from mercer._stored import any_rows, integers, optional, stored
from mercer._suggest import quoted
from mercer._typing import Array
from mercer.base.pipelines import inside, steps_of
from mercer.base.validation import Plan, adopt_columns, checked_weight, in_main_memory, is_sparse, old_state_on_failure
from mercer.data.labels import codes_of

# Rows of a fit in two parts: some to learn from, and some that others are compared with.


@stored(rows=integers("n"), X=any_rows("n"), y=optional(any_rows("n")))
class FitPart(NamedTuple):
    """Some of the rows of a fit: where they were, what they are, and their labels."""

    rows: Array
    X: Any
    y: Any


def split(X: Any, y: Any, n: int, *, held_out: float, rng: np.random.Generator) -> tuple[FitPart, FitPart]:
    """Rows to learn from and the share `held_out` of all, at least one of each."""
    X = with_rows(X)
    learnt, compared = (_part(rows, X, y) for rows in split_rows(n, held_out=held_out, rng=rng))
    return learnt, compared


def split_rows(n: int, *, held_out: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Which rows these are, in their order."""
    held = min(max(1, round(held_out * n)), n - 1)
    learnt, compared = map(np.sort, np.split(rng.permutation(n), [n - held]))
    return learnt, compared


def with_rows(X: Any) -> Any:
    """X in a form of which rows can be taken; a frame stays one."""
    if is_sparse(X):
        return X.tocsr()
    return X if hasattr(X, "__getitem__") else np.asarray(X)


def _part(rows: Array, X: Any, y: Any) -> FitPart:
    return FitPart(rows, _safe_indexing(X, rows), None if y is None else _safe_indexing(y, rows))


# The rows of a fit as the model inside is given them: copies of it are fitted on all of them or on some.


@dataclass(frozen=True)
class WrappedTraining:
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


def folds_of(cv: Any, training: WrappedTraining) -> list[tuple[Array, Array]]:
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


#: the logarithm of the smallest probability there is: what a probability of 0 becomes where it has to be a number
LOWEST = float(np.log(np.finfo(np.float64).tiny))


class WrapsModel:
    """scikit-learn's conventions for what is built around the parameter `model`."""

    model: Any
    model_: Any
    _validate_params: Any

    @contextmanager
    def _learning(self, X: Any, y: Any, sample_weight: Any, parameters: Mapping[str, Any]) -> Iterator[WrappedTraining]:
        """What `fit` begins and ends with: all is as it was if it fails, else the columns are those of `model_`."""
        with old_state_on_failure(self):
            self._validate_params()
            yield WrappedTraining.of(self, X, y, sample_weight, parameters)
            adopt_columns(self, self.model_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata of `fit` goes to the `fit` of the model.

        Returns
        -------
        routing : MetadataRouter
            What goes where.
        """
        return MetadataRouter(owner=self).add(
            model=self.model, method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )

    def __sklearn_tags__(self) -> Any:
        # what X may be is for the model to say
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        if self.model is not None:
            tags.input_tags = get_tags(self.model).input_tags
        return tags


def is_fitted(model: Any) -> bool:
    """Whether a model can be asked."""
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def layers(model: Any) -> Iterator[Any]:
    """A fitted model and what it is built around, from outside in; within a pipeline, the step that predicts."""
    while model is not None:
        yield model
        model = steps_of(model)[-1] if hasattr(model, "steps") else inside(model)


def last_step(model: Any) -> Any:
    """The model in a pipeline, or the model itself."""
    return last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def last_step_of(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the model in a fitted pipeline and the rows as the pipeline passes them to it; others as they are."""
    while type(model) is Pipeline and hasattr(model.steps[-1][1], "predict"):
        if len(model) > 1:
            X = model[:-1].transform(X)
        model = model[-1]
    return model, X


def refuse_unfitted(model: Any) -> None:
    """Raise an error where a model that should be used as it is cannot be."""
    if not is_fitted(model):
        raise NotFittedError(
            f'cv="prefit" takes a fitted model, but {type(model).__name__} is not fitted. Fit it first, on other rows '
            "than these, or leave cv out."
        )


def refuse_scores_only(model: Any) -> None:
    """Raise an error that says why a model without probabilities will not do."""
    if hasattr(model, "predict_proba"):
        return
    name = type(last_step(model)).__name__
    if is_regressor(model):
        raise ScoresOnlyError(
            f"{name} predicts numbers and has no probabilities of classes (there is no "
            "`predict_proba`). Use a classifier, or for intervals around numbers ConformalRegressor."
        )
    raise ScoresOnlyError(
        f"{name} has learnt a boundary and no probabilities (there is no `predict_proba`). Other "
        "costs or priors move the boundary, and where to is known only from probabilities: such a model has to be "
        "fitted anew each time. Use Calibrated(model), which makes probabilities of its scores, or a model that has "
        "them, such as LogisticRegression or LinearDiscriminantAnalysis."
    )


def log_probabilities(model: Any, X: Any) -> Array:
    """log p(y|x) in double precision; −inf for what is impossible."""
    with np.errstate(divide="ignore"):  # also in models that take the logarithm of 0 themselves
        if hasattr(model, "predict_log_proba"):
            return np.asarray(_array(model.predict_log_proba(X)), dtype=np.float64)
        return np.log(probabilities(model, X))


def probabilities(model: Any, X: Any) -> Array:
    """p(y|x) in double precision."""
    return np.asarray(_array(model.predict_proba(X)), dtype=np.float64)


def _array(values: Any) -> Any:
    return to_numpy(values) if is_tensor(values) else values


def known_codes(y: Any, classes: Array) -> Array:
    """Positions of labels among the classes of a model, all of which it has to know."""
    codes = codes_of(y, classes)
    if (unknown := codes < 0).any():
        label = np.asarray(y).tolist()[int(np.argmax(unknown))]
        raise DataError(f"y holds the class {quoted(label)}, which the model does not know; leave these rows out.")
    return codes


def in_order(values: Array, classes: Array, wanted: Array, missing: float) -> Array:
    """Columns of some classes as columns of those wanted; what a fold did not see is `missing`."""
    if np.array_equal(classes, wanted):
        return values
    columns = np.searchsorted(wanted, classes)
    result = np.full((len(values), len(wanted)), missing)
    result[:, columns] = values
    return result


def plan_of(model: Any, path: str) -> Plan:
    """The plan of the model, after what was done with it."""
    own = getattr(last_step(model), "plan_", None)
    if not isinstance(own, Plan):
        return Plan(path, "float64", 1, 1)
    return Plan(f"{path}; {own.path}", own.dtype, own.blocks, own.threads, own.exact, own.device)


# What a classifier says of every class, as numbers that calibration can work on.


def class_scores(model: Any, X: Any, classes: Array) -> Array:
    """A score for every class: log probabilities, or decisions where there are none."""
    if hasattr(model, "predict_proba"):
        log = in_order(log_probabilities(model, X), np.asarray(model.classes_), classes, -np.inf)
        return np.maximum(log, LOWEST)
    return _decisions(model, X, classes)


def scores_against_the_rest(model: Any, X: Any, classes: Array) -> Array:
    """A score for every class against all others; of two classes for the second alone.

    Decisions where there are any, else log odds.
    """
    if hasattr(model, "decision_function"):
        columns = _decisions(model, X, classes)
        return columns[:, 1:] - columns[:, :1] if len(classes) == 2 else columns
    log = class_scores(model, X, classes)
    if len(classes) <= 2:
        return log[:, 1:] - log[:, :1]
    others = np.stack([logsumexp(np.delete(log, k, axis=1), axis=1) for k in range(len(classes))], axis=1)
    return np.asarray(log - others)


def _decisions(model: Any, X: Any, classes: Array) -> Array:
    """Decisions, one column per class: for two classes minus and plus half of the one there is."""
    if not hasattr(model, "decision_function"):
        raise ScoresOnlyError(
            f"{type(model).__name__} has neither `predict_proba` nor `decision_function`: it says which class and not "
            "how sure it is, and there is nothing to calibrate. Use a model with scores."
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
    return in_order(scores, known, classes, lowest)
