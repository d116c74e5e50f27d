"""What is built around another model: how it is fitted, and what the model says about rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, ScoresOnlyError
from mercer._gpu import is_tensor, to_numpy
from mercer._suggest import quoted
from mercer._typing import Array
from mercer.data.labels import codes_of
from mercer.decide._training import Training
from mercer.models.base import Plan, adopt_columns, old_state_on_failure
from mercer.models.reader import inside, steps_of

#: the logarithm of the smallest probability there is: what a probability of 0 becomes where it has to be a number
LOWEST = float(np.log(np.finfo(np.float64).tiny))


class WrapsModel:
    """scikit-learn's conventions for what is built around the parameter `model`."""

    model: Any
    model_: Any
    _validate_params: Any

    @contextmanager
    def _learning(self, X: Any, y: Any, sample_weight: Any, parameters: Mapping[str, Any]) -> Iterator[Training]:
        """What `fit` begins and ends with: all is as it was if it fails, else the columns are those of `model_`."""
        with old_state_on_failure(self):
            self._validate_params()
            yield Training.of(self, X, y, sample_weight, parameters)
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
