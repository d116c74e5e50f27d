"""A model of a comparison on all rows."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import clone

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
    from mercer.models import LogisticRegressionCV

    if hasattr(model, "steps"):
        return choice_of(model.steps[-1][1])
    if hasattr(model, "regressor_"):
        return choice_of(model.regressor_)
    if isinstance(model, Tuned):
        return Choice(model.parameter.rpartition("__")[2], model.best_value_, tuple(model.values))
    if isinstance(model, LogisticRegressionCV) and np.ndim(model.C_) == 0:
        return Choice("C", float(model.C_), tuple(model.Cs_.tolist()))
    return None


def settled(model: Any, X: Any, y: Any) -> Any:
    """A fitted model with the parameters that its search chose, as if somebody had given them."""
    from mercer.models import LassoCV, LogisticRegressionCV

    if hasattr(model, "steps"):
        *first, (name, last) = model.steps
        if isinstance(last, LogisticRegressionCV | LassoCV | Tuned) or hasattr(last, "regressor_"):
            model.steps = [*first, (name, settled(last, model[:-1].transform(X) if first else X, y))]
        return model
    if isinstance(model, Tuned):
        return model.best_estimator_
    if isinstance(getattr(model, "cv", None), Inner):
        model.cv = INNER_FOLDS
    if isinstance(model, LogisticRegressionCV) and np.ndim(model.C_) == 0:  # else there is a C for each class
        return _as_given(model).fit(X, y)
    if hasattr(model, "regressor_") and isinstance(model.regressor_, Tuned):
        model.regressor_ = model.regressor_.best_estimator_
        model.regressor = clone(model.regressor_)
    return model


def _as_given(search: Any) -> Any:
    """Logistic regression with the penalty that was chosen, and else as the search was asked for."""
    from mercer.models import LogisticRegression

    asked = search.get_params(deep=False)
    found = LogisticRegression(C=float(search.C_), l1_ratio=float(search.l1_ratio_))
    shared = asked.keys() & found.get_params(deep=False).keys() - {"penalty", "n_jobs"}
    return found.set_params(**{name: asked[name] for name in shared})
