"""Estimators with scikit-learn's interface. Each loads on first use, with no more than it needs."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {
    "BernoulliNB": "bernoulli_nb",
    "CategoricalNB": "categorical_nb",
    "ComplementNB": "complement_nb",
    "GaussianDiscriminant": "gaussian_discriminant",
    "GaussianNB": "gaussian_nb",
    "LinearDiscriminantAnalysis": "linear_discriminant",
    "MultinomialNB": "multinomial_nb",
    "NaiveBayes": "naive_bayes",
    "QuadraticDiscriminantAnalysis": "quadratic_discriminant",
    "linear_form": "_linear_form",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'mercer.models' has no attribute {name!r}; it has {', '.join(__all__)}.")
    value = getattr(importlib.import_module(f"mercer.models.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
