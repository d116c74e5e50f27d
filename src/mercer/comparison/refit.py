"""A model of a comparison on all rows."""

from __future__ import annotations

import warnings
from typing import Any

from mercer.comparison.entry import Entry
from mercer.comparison.tuning import Tuned


def refitted(entry: Entry, y: Any) -> Any:
    """The model, tuned and fitted on all rows; of one that searched, what it found."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns of, it warned of in the splits, and that is in the notes
        model = clone(entry.model)
        return settled(model.fit(entry.table.native, y), entry.table.native, y)


def settled(model: Any, X: Any, y: Any) -> Any:
    """A fitted model with the parameters that its search chose, as if somebody had given them."""
    from mercer.models import LogisticRegression, LogisticRegressionCV

    if hasattr(model, "steps"):
        *first, (name, last) = model.steps
        for _, step in first:
            X = step.transform(X)
        model.steps = [*first, (name, settled(last, X, y))]
        return model
    if isinstance(model, Tuned):
        return model.best_estimator_
    if isinstance(model, LogisticRegressionCV):
        return LogisticRegression(C=float(model.C_), max_iter=model.max_iter, tol=model.tol).fit(X, y)
    if hasattr(model, "regressor_") and isinstance(model.regressor_, Tuned):
        model.regressor_ = model.regressor_.best_estimator_
    return model
