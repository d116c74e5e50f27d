"""How simple a fitted model is to use: whether it explains its predictions exactly, and whether it can be exported."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from mercer.base import traits_of
from mercer.comparison.taking_part.kinds import uses_products
from mercer.decide.wrapped import last_step

#: terms up to which an export counts as short
MOST_TERMS = 20_000


class Simplicity(NamedTuple):
    """Whether the score is a sum over columns, why the model cannot be exported, and that its export is long.

    The last two are sentences; None where it can be exported, and where the export is short.
    """

    additive: bool
    obstacle: str | None
    long_export: str | None = None


def simplicity_of(model: Any, row: Any, *, most_terms: int = MOST_TERMS) -> Simplicity:
    """Return the simplicity of a fitted model, of which one row is explained.

    The export of a model of more than `most_terms` terms counts as long. Such a model is not written out to find what
    is in the way of it, which takes seconds: only its kind is checked.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> simplicity_of(LogisticRegression().fit([[0.0], [2.0]], ["no", "yes"]), [[1.0]])
    Simplicity(additive=True, obstacle=None, long_export=None)
    """
    from mercer.export.obstacle import obstacle, obstacle_of_kind
    from mercer.using.explaining.explanation import explain_exactly

    model = without_search(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            additive = explain_exactly(model, row) is not None and not uses_products(model)
            features = getattr(last_step(model), "n_features_in_", np.shape(row)[1])
            last = last_step(model)
            traits, each, per_class = traits_of(last), "feature", features
            if traits.half_of(last) == "monomials":
                each, per_class = "product of two columns", features * (features + 1) // 2
            terms = per_class * len(getattr(model, "classes_", [0]))
            if terms <= most_terms:
                return Simplicity(additive, obstacle(model))
            of_what = f"{terms:,} terms, one for each {each} and class"
            if traits.kind_of(last) == "kernel":
                of_what = f"the rows that it compares with have {features:,} columns"
            return Simplicity(additive, obstacle_of_kind(model), f"Its export is long: {of_what}.")
        except Exception as failure:  # of a model of another library
            return Simplicity(False, f"{type(model).__name__} cannot be exported ({type(failure).__name__}).")


def without_search(model: Any) -> Any:
    """Return a fitted model with the estimator that a search within it chose in the place of the search."""
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        *first, (name, last) = model.steps
        return Pipeline([*first, (name, without_search(last))])
    return getattr(model, "best_estimator_", model)
