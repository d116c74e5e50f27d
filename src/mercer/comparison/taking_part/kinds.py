"""What a model models: the rows and the target, the target given the row, only the decision, …"""

from __future__ import annotations

from typing import Any

from mercer.comparison.entry import Kind
from mercer.comparison.taking_part.pairs import GENERATIVE
from mercer.comparison.taking_part.tuning import Tuned

#: By the name of the class, which scikit-learn's and ours share. Parzen windows have half of a pair, too, and a kind of
#: their own.
_GENERATIVE = GENERATIVE.keys() - {"KernelBayes"}
_LOGISTIC = {"LogisticRegression", "LogisticRegressionCV"}
_DIRECT = {
    "LinearThreshold",
    "Perceptron",
    "LinearSVC",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "PassiveAggressiveClassifier",
}
_KERNEL = {"SVC", "NuSVC", "SVR", "NuSVR", "KernelRidge", "Kernelized", "GaussianProcessClassifier"}
_DENSITY = {"KernelBayes", "NadarayaWatson", "NadarayaWatsonClassifier", "LocalLinear", "KNeighborsClassifier"}
_BASELINE = {"DummyClassifier", "DummyRegressor"}


def kind_of(model: Any) -> Kind:
    """The kind of a model, without what prepares its rows; a model that nobody knows is taken for a conditional one.

    Examples
    --------
    >>> from mercer import GaussianNB, SVC
    >>> kind_of(GaussianNB()), kind_of(SVC())
    ('generative', 'kernel')
    """
    model = innermost(model)
    name = type(model).__name__
    if name in _KERNEL or (name == "GLM" and getattr(model, "kernel", None) is not None):
        return "kernel"
    kinds: tuple[tuple[set[str], Kind], ...] = (
        (_GENERATIVE, "generative"),
        (_DIRECT, "direct"),
        (_DENSITY, "density"),
        (_BASELINE, "baseline"),
    )
    return next((kind for names, kind in kinds if name in names), "discriminative")


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
    return any(type(step).__name__ in {"MonomialFeatures", "PolynomialFeatures"} for _, step in steps)


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
    "words": ("linear",),
    "monomials": ("quadratic", "linear"),
    "kernel": ("kernelized",),
    "linear": ("words", "statistics", "columns", "monomials"),
    "quadratic": ("monomials",),
    "kernelized": ("kernel",),
}


def _role(model: Any) -> str:
    inner = innermost(model)
    name = type(inner).__name__
    if name == "Kernelized":
        return "kernelized" if type(inner.model).__name__ in _LOGISTIC else ""
    if name in _LOGISTIC:
        return "quadratic" if uses_products(model) else "linear"
    return GENERATIVE[name](inner) if name in GENERATIVE else ""
