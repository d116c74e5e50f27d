"""From a fitted model to its formula: which part of it is written by whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer import models
from mercer._errors import ExportError
from mercer.decide import Calibrated
from mercer.export import discriminants, linear, naive_bayes, tables
from mercer.export.calibrated import calibrated
from mercer.export.columns import columns_read
from mercer.export.expression import Column, Expression, numbers_in, walk
from mercer.export.formula import Formula, Said
from mercer.models.reader import part_of, steps_of

Lowering = Callable[[Any, Sequence[Expression]], Said]

MODELS: dict[type, Lowering] = {
    models.LinearRegression: linear.regression,
    models.Ridge: linear.regression,
    models.RidgeCV: linear.regression,
    models.Lasso: linear.regression,
    models.LassoCV: linear.regression,
    models.ElasticNet: linear.regression,
    models.ElasticNetCV: linear.regression,
    models.LinearSVR: linear.regression,
    models.PoissonRegressor: linear.glm_regression,
    models.GammaRegressor: linear.glm_regression,
    models.LogNormalRegressor: linear.glm_regression,
    models.TweedieRegressor: linear.glm_regression,
    models.GLM: linear.glm,
    models.LogisticRegression: linear.logistic,
    models.LogisticRegressionCV: linear.logistic,
    models.LinearSVC: linear.boundary,
    models.Perceptron: linear.boundary,
    models.LinearThreshold: linear.threshold,
    models.NaiveBayes: naive_bayes.mixed,
    models.GaussianNB: naive_bayes.gaussian_nb,
    models.BernoulliNB: naive_bayes.bernoulli_nb,
    models.MultinomialNB: naive_bayes.multinomial_nb,
    models.ComplementNB: naive_bayes.complement_nb,
    models.CategoricalNB: naive_bayes.categorical_nb,
    models.GaussianDiscriminant: discriminants.discriminant,
    models.LinearDiscriminantAnalysis: discriminants.discriminant,
    models.QuadraticDiscriminantAnalysis: discriminants.discriminant,
}
FEATURES: dict[type, Callable[[Any, Sequence[Expression]], list[Expression]]] = {
    models.TableFeatures: tables.table_features,
    models.MonomialFeatures: tables.monomials,
    StandardScaler: tables.scaled,
}


def lower(model: Any, *, missing: bool = True) -> Formula:
    """The formula of a fitted model, alone or at the end of a pipeline.

    Where `missing` is False, columns of numbers are taken to be complete.
    """
    check_is_fitted(model)
    first, last = part_of(model, 0), part_of(model, -1)
    if not hasattr(first, "n_features_in_"):  # a vectorizer of text, or what is built around a model: let that be said
        (_features if hasattr(first, "transform") else _model)(first)
    columns = columns_read(first)
    if not missing:
        columns = [replace(column, complete=column.kind == "number") for column in columns]
    with np.errstate(over="ignore", invalid="ignore"):  # what is infinite is refused below
        said = _said(model, columns)
    if any(map(math.isinf, numbers_in(said.outputs))):
        raise ExportError(
            f"{type(last).__name__} cannot be exported: one of its coefficients is infinite in float64. "
            "Fit it with a penalty; or multiply columns of very small numbers by a power of ten, and fit again."
        )
    read = {part for part in walk(said.outputs) if isinstance(part, Column)}
    unnamed = not hasattr(first, "feature_names_in_") and all(column.kind == "number" for column in columns)
    return Formula(
        model=type(last).__name__,
        # one column at least, which tells how many rows there are
        columns=[column for column in columns if column in read] or columns[:1],
        said=said,
        width=first.n_features_in_ if unnamed else None,
    )


def _said(model: Any, inputs: Sequence[Expression]) -> Said:
    """What a model says of its inputs, whatever it is built around."""
    if isinstance(model, Pipeline):
        for step in steps_of(model)[:-1]:
            inputs = _features(step)(step, inputs)
        return _said(steps_of(model)[-1], inputs)
    if isinstance(model, Calibrated):
        return calibrated(model, _said(model.model_, inputs))
    if hasattr(model, "best_estimator_"):  # that of a search
        return _said(model.best_estimator_, inputs)
    return _model(model)(model, inputs)


def _features(step: Any) -> Callable[[Any, Sequence[Expression]], list[Expression]]:
    if type(step) in FEATURES:
        return FEATURES[type(step)]
    raise ExportError(
        f"{type(step).__name__} cannot be exported; what can be in front of a model is "
        f"{', '.join(kind.__name__ for kind in FEATURES)}. Make its features columns of the table, and fit the model "
        "to them."
    )


def _model(model: Any) -> Lowering:
    if type(model) in MODELS:
        return MODELS[type(model)]
    if inside := next((name for name in ("model_", "model") if hasattr(model, name)), None):
        raise ExportError(
            f"{type(model).__name__} cannot be exported. Export the model that it is built around, its `{inside}`; or "
            "fit without it."
        )
    raise ExportError(
        f"{type(model).__name__} cannot be exported: it is not a formula of a few columns. Linear models, naive Bayes "
        "and Gaussian discriminants can be, e.g. LogisticRegression or NaiveBayes; or keep this one in a file with "
        "mercer.save and serve it."
    )
