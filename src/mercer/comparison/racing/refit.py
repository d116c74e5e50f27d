"""A model of a comparison on all rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mercer.comparison.entry import Entry
from mercer.comparison.taking_part.tuning import Tuned


def refitted(entry: Entry, y: Any) -> Any:
    """The model, tuned and fitted on all rows; of one that searched, what it found."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns of, it warned of in the splits, and that is in the notes
        model = clone(entry.model)
        return settled(model.fit(entry.table.native, y), entry.table.native, y)


def settled(model: Any, X: Any, y: Any) -> Any:
    """A fitted model with the parameters that its search chose, as if somebody had given them."""
    from mercer.models import LogisticRegressionCV

    if hasattr(model, "steps"):
        *first, (name, last) = model.steps
        if isinstance(last, LogisticRegressionCV | Tuned):
            model.steps = [*first, (name, settled(last, model[:-1].transform(X) if first else X, y))]
        return model
    if isinstance(model, Tuned):
        return model.best_estimator_
    if isinstance(model, LogisticRegressionCV) and np.ndim(model.C_) == 0:  # else there is a C for each class
        return _as_given(model).fit(X, y)
    if hasattr(model, "regressor_") and isinstance(model.regressor_, Tuned):
        model.regressor_ = model.regressor_.best_estimator_
    return model


def _as_given(search: Any) -> Any:
    """Logistic regression with the penalty that was chosen, and else as the search was asked for."""
    from mercer.models import LogisticRegression

    asked = search.get_params(deep=False)
    found = LogisticRegression(C=float(search.C_), l1_ratio=float(search.l1_ratio_))
    shared = asked.keys() & found.get_params(deep=False).keys() - {"penalty", "n_jobs"}
    return found.set_params(**{name: asked[name] for name in shared})
