"""What a model models: the rows and the target, the target given the row, only the decision, …"""

from __future__ import annotations

from typing import Any

from mercer.base import ModelKind, traits_of
from mercer.comparison.taking_part.tuning import Tuned


def kind_of(model: Any) -> ModelKind:
    """The kind of a model, without what prepares its rows; a model that nobody knows is taken for a conditional one.

    Examples
    --------
    >>> from mercer import GaussianNB, SVC
    >>> kind_of(GaussianNB()), kind_of(SVC())
    ('generative', 'kernel')
    """
    model = innermost(model)
    return traits_of(model).kind_of(model)


def innermost(model: Any) -> Any:
    """The model itself, without what prepares its rows, its target or its parameters."""
    model = unprepared(model)
    return innermost(model.model) if isinstance(model, Tuned) else model


def unprepared(model: Any) -> Any:
    """A model, or the search for one, without what prepares its rows or its target."""
    if hasattr(model, "steps"):
        return unprepared(model.steps[-1][1])
    regressor = getattr(model, "regressor", None)
    return model if regressor is None else unprepared(regressor)


def uses_products(model: Any) -> bool:
    """Whether products of columns are among the features."""
    steps = getattr(model, "steps", ())
    return any(traits_of(step).makes == "products" for _, step in steps)


def partners_of(models: list[Any]) -> list[int | None]:
    """For each model the position of its counterpart: the other half of a generative-discriminative pair.

    The pairs are those of `counterpart`: which features a logistic regression needs to choose among the same functions
    as a generative model decides who goes with whom. In a list naive Bayes goes with the logistic regression of the
    same columns, whose features of them are its own.
    """
    roles = [_role(model) for model in models]
    return [next((roles.index(role) for role in _PARTNERS.get(mine, ()) if role in roles), None) for mine in roles]


#: what a generative model asks of a logistic regression, and what there is to be had
_PARTNERS = {
    "columns": ("linear",),
    "statistics": ("linear",),
    "squares": ("linear",),
    "words": ("linear",),
    "monomials": ("quadratic", "linear"),
    "kernel": ("kernelized",),
    "linear": ("words", "statistics", "squares", "columns", "monomials"),
    "quadratic": ("monomials",),
    "kernelized": ("kernel",),
}


def _role(model: Any) -> str:
    inner = innermost(model)
    declared = traits_of(inner)
    half = declared.half_of(inner) if declared.classifies else ""
    return "quadratic" if half == "linear" and uses_products(model) else half
