"""What is built around another model: copies of it fitted on some rows, and what it says about others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, has_fit_parameter

from mercer._errors import DataError, FitInterrupted, ScoresOnlyError
from mercer._gpu import is_tensor, to_numpy
from mercer._suggest import quoted
from mercer.data.labels import codes_of
from mercer.decide._split import with_rows
from mercer.models._base import Plan, in_main_memory

Array = NDArray[Any]

#: the logarithm of the smallest probability there is: what a probability of 0 becomes where it has to be a number
LOWEST = float(np.log(np.finfo(np.float64).tiny))


class WrapsModel:
    """scikit-learn's conventions for what is built around the parameter `model`."""

    model: Any

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


def last_step(model: Any) -> Any:
    """The model in a pipeline, or the model itself."""
    return last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model


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


# Copies of the model.


def checked_rows(owner: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array]:
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


def fit_parameters(owner: Any, sample_weight: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the `fit` of the owner's model is given besides X and y; nothing, where it is fitted already."""
    if isinstance(cv := getattr(owner, "cv", None), str) and cv == "prefit":
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


def fitted_copy(model: Any, X: Any, y: Array, parameters: Mapping[str, Any], rows: Array | None = None) -> Any:
    """A copy of the model, fitted on these rows."""
    if rows is not None:
        n = len(y)
        parameters = {name: taken(with_rows(v), rows) if _per_row(v, n) else v for name, v in parameters.items()}
        X, y = taken(X, rows), y[rows]
    try:
        return clone(model).fit(X, y, **parameters)
    except FitInterrupted as stopped:  # a copy that is half done is of no use to its owner, who keeps the old one
        raise KeyboardInterrupt(str(stopped)) from None


def taken(X: Any, rows: Array) -> Any:
    """Some rows, in the container they came in."""
    return _safe_indexing(X, rows)


def _per_row(values: Any, n: int) -> bool:
    if isinstance(values, str):
        return False
    try:
        return bool(_num_samples(values) == n)
    except TypeError:  # a number, or nothing
        return False


def publish_features(owner: Any, model: Any) -> None:
    """What is known of the columns of X is known to the model."""
    for name in ("n_features_in_", "feature_names_in_"):
        vars(owner).pop(name, None)
        if hasattr(model, name):
            setattr(owner, name, getattr(model, name))


def plan_of(model: Any, path: str) -> Plan:
    """The plan of the model, after what was done with it."""
    own = getattr(last_step(model), "plan_", None)
    if not isinstance(own, Plan):
        return Plan(path, "float64", 1, 1)
    return Plan(f"{path}; {own.path}", own.dtype, own.blocks, own.threads, own.exact, own.device)
