"""A model of a comparison on all rows."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.base import resolve, traits_of
from mercer.comparison.entry import Choice
from mercer.comparison.taking_part.inner import INNER_FOLDS, Inner, InnerFolds
from mercer.comparison.taking_part.tuning import Tuned
from mercer.data import Table


def refit(model: Any, table: Table, y: Any, inner: InnerFolds | None = None) -> tuple[Any, Choice | None]:
    """Return a model, tuned and fitted on all rows, with the settings that a search within it chose, and the choice."""
    placed = nullcontext() if inner is None else inner.within(np.arange(len(y)))
    with warnings.catch_warnings(), placed:
        warnings.simplefilter("ignore")  # what it warns of, it warned of in the splits, and that is in the notes
        model = clone(model).fit(table.native, y)
        choice = choice_of(model)  # which is forgotten where it is settled
        return settled(model, table.native, y), choice


def choice_of(model: Any) -> Choice | None:
    """What a fitted model has chosen, where it searches; None where it does not, or chose for each class."""
    if hasattr(model, "steps"):
        return choice_of(model.steps[-1][1])
    if hasattr(model, "regressor_"):
        return choice_of(model.regressor_)
    if isinstance(model, Tuned):
        return Choice(model.parameter.rpartition("__")[2], model.best_value_, tuple(model.values))
    if (parameter := _settled_parameter(model)) is not None:
        value, tried = getattr(model, f"{parameter}_"), getattr(model, f"{parameter}s_")
        return Choice(parameter, float(value), tuple(tried.tolist()))
    return None


def _settled_parameter(model: Any) -> str | None:
    """Return the parameter that a fitted model has chosen, if it can be given instead: one value for all classes."""
    declared = traits_of(model)
    if declared.settle is None or np.ndim(getattr(model, f"{declared.chooses}_")) > 0:
        return None
    return declared.chooses


def settled(model: Any, X: Any, y: Any) -> Any:
    """A fitted model with the parameters that its search chose, as if somebody had given them."""
    if hasattr(model, "steps"):
        *first, (name, last) = model.steps
        if isinstance(last, Tuned) or traits_of(last).chooses or hasattr(last, "regressor_"):
            model.steps = [*first, (name, settled(last, model[:-1].transform(X) if first else X, y))]
        return model
    if isinstance(model, Tuned):
        return model.best_estimator_
    if isinstance(getattr(model, "cv", None), Inner):
        model.cv = INNER_FOLDS
    if _settled_parameter(model) is not None:
        settle = traits_of(model).settle
        assert settle is not None
        return resolve(settle)(model).fit(X, y)
    if hasattr(model, "regressor_") and isinstance(model.regressor_, Tuned):
        model.regressor_ = model.regressor_.best_estimator_
        model.regressor = clone(model.regressor_)
    return model
