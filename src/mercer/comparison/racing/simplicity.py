"""How simple a fitted model is to use: whether it explains its predictions exactly, and whether it can be exported."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from mercer.comparison.taking_part.kinds import uses_products
from mercer.decide.wrapped import last_step


class Simplicity(NamedTuple):
    """Whether the score is a sum over columns, and why the model cannot be exported (None where it can be)."""

    additive: bool
    obstacle: str | None


def simplicity_of(model: Any, row: Any, *, most_terms: int = 20_000) -> Simplicity:
    """Return the simplicity of a fitted model, of which one row is explained.

    A model of more than `most_terms` terms, features × classes, is not written out: its formula would be of no use.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> simplicity_of(LogisticRegression().fit([[0.0], [2.0]], ["no", "yes"]), [[1.0]])
    Simplicity(additive=True, obstacle=None)
    """
    from mercer.export import obstacle
    from mercer.using.explaining.explanation import explain_exactly

    model = without_search(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            additive = explain_exactly(model, row) is not None and not uses_products(model)
            features = getattr(last_step(model), "n_features_in_", np.shape(row)[1])
            terms = features * len(getattr(model, "classes_", [0]))
            if terms > most_terms:
                long = f"It is not exported: its formula would have {terms:,} terms, one for each feature and class."
                return Simplicity(additive, long)
            return Simplicity(additive, obstacle(model))
        except Exception as failure:  # of a model of another library
            return Simplicity(False, f"{type(model).__name__} cannot be exported ({type(failure).__name__}).")


def without_search(model: Any) -> Any:
    """Return a fitted model with the estimator that a search within it chose in the place of the search."""
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        *first, (name, last) = model.steps
        return Pipeline([*first, (name, without_search(last))])
    return getattr(model, "best_estimator_", model)
