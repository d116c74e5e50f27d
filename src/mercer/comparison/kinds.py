"""What a model models: the rows and the target, the target given the row, only the decision, …"""

from __future__ import annotations

from typing import Any

from mercer.comparison.entry import Kind
from mercer.comparison.tuning import Tuned

#: by the name of the class, which scikit-learn's and ours share
_GENERATIVE = {
    "NaiveBayes",
    "GaussianNB",
    "BernoulliNB",
    "MultinomialNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianDiscriminant",
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
}
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
    while True:
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif getattr(model, "regressor", None) is not None:
            model = model.regressor
        elif isinstance(model, Tuned):
            model = model.model
        else:
            return model


def uses_products(model: Any) -> bool:
    """Whether products of columns are among the features."""
    steps = getattr(model, "steps", ())
    return any(type(step).__name__ in {"MonomialFeatures", "PolynomialFeatures"} for _, step in steps)


def partners_of(models: list[Any]) -> list[int | None]:
    """For each model the position of its counterpart: the other half of a generative-discriminative pair.

    Naive Bayes and a discriminant with one covariance have log odds that are linear in features of the columns, as
    logistic regression has; with a covariance for each class they are quadratic, as of logistic regression of products.
    """
    roles = [_role(model) for model in models]
    return [next((roles.index(role) for role in _PARTNERS.get(mine, ()) if role in roles), None) for mine in roles]


_PARTNERS = {
    "mixed": ("linear",),
    "normal": ("linear",),
    "counts": ("linear",),
    "shared": ("linear",),
    "own": ("quadratic", "linear"),
    "linear": ("words", "mixed", "shared", "normal", "counts", "own"),
    "words": ("linear",),
    "quadratic": ("own",),
}


def _role(model: Any) -> str:
    products, inner = uses_products(model), innermost(model)
    name = type(inner).__name__
    if name in {"LogisticRegression", "LogisticRegressionCV"}:
        return "quadratic" if products else "linear"
    if name == "GaussianDiscriminant":
        return "shared" if inner.covariance.startswith("shared") else "own"
    if name in {"MultinomialNB", "ComplementNB"}:
        return "words" if hasattr(model, "steps") else "counts"
    return {
        "NaiveBayes": "mixed",
        "GaussianNB": "normal",
        "BernoulliNB": "counts",
        "CategoricalNB": "counts",
        "LinearDiscriminantAnalysis": "shared",
        "QuadraticDiscriminantAnalysis": "own",
    }.get(name, "")
