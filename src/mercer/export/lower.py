"""From a fitted model to its formula: which part of it is written by whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer import models
from mercer._errors import ExportError
from mercer.decide import Calibrated
from mercer.export import discriminants, kernels, linear, naive_bayes, tables, texts
from mercer.export.calibrated import calibrated
from mercer.export.columns import columns_read
from mercer.export.expression import Column, Expression, Term, numbers_in, walk
from mercer.export.formula import Formula, Said
from mercer.export.targets import back_transformed
from mercer.models.kernel_models.kernelized import Kernelized
from mercer.models.kernel_models.perceptron import KernelPerceptron
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
    models.LogNormalRegressor: linear.glm_regression,
    models.GLM: linear.glm,
    models.LogisticRegression: linear.logistic,
    models.LogisticRegressionCV: linear.logistic,
    models.OrdinalRegression: linear.ordinal,
    models.LinearSVC: linear.boundary,
    models.Perceptron: linear.boundary,
    models.LinearThreshold: linear.threshold,
    models.NaiveBayes: naive_bayes.mixed,
    models.GaussianNB: naive_bayes.gaussian_nb,
    models.BernoulliNB: naive_bayes.bernoulli_nb,
    models.MultinomialNB: naive_bayes.multinomial_nb,
    models.ComplementNB: naive_bayes.complement_nb,
    models.CategoricalNB: naive_bayes.categorical_nb,
    models.SVC: kernels.svc,
    models.SVR: kernels.svr,
    models.KernelRidge: kernels.kernel_ridge,
    models.KernelBayes: kernels.kernel_bayes,
    models.NadarayaWatson: kernels.nadaraya_watson,
    models.NadarayaWatsonClassifier: kernels.nadaraya_watson,
    models.LocalLinear: kernels.local_linear,
    Kernelized: kernels.kernelized,
    KernelPerceptron: kernels.kernel_perceptron,
    DummyClassifier: linear.baseline_classes,
    DummyRegressor: linear.baseline_mean,
    models.GaussianDiscriminant: discriminants.discriminant,
    models.LinearDiscriminantAnalysis: discriminants.discriminant,
    models.QuadraticDiscriminantAnalysis: discriminants.discriminant,
}
FEATURES: dict[type, Callable[[Any, Sequence[Expression]], list[Expression]]] = {
    models.TableFeatures: tables.table_features,
    models.MonomialFeatures: tables.monomials,
    StandardScaler: tables.scaled,
    SimpleImputer: tables.imputed,
    models.CountVectorizer: texts.documents,
    models.TfidfVectorizer: texts.documents,
}


def lower(model: Any, *, missing: bool = True) -> Formula:
    """The formula of a fitted model, alone or at the end of a pipeline.

    Where `missing` is False, columns of numbers are taken to be complete.
    """
    check_is_fitted(model)
    first, last = part_of(model, 0), part_of(model, -1)
    if type(first) in texts.VECTORIZERS:
        columns = [texts.DOCUMENTS]
    elif hasattr(first, "n_features_in_"):
        columns = columns_read(first)
    else:  # what is built around a model raises an error here
        (_features if hasattr(first, "transform") else _model)(first)
        columns = []
    if not missing:
        columns = [replace(column, complete=column.kind == "number") for column in columns]
    with np.errstate(over="ignore", invalid="ignore"):  # what is infinite is refused below
        said = _said(model, columns)
    if any(isinstance(part, Term) for part in walk(said.outputs)):
        raise ExportError(
            f"{type(last).__name__} cannot be exported: the words of a text enter it in other ways than as a weighted "
            "sum. A linear model or MultinomialNB of the words can be; or keep this one in a file with mercer.save."
        )
    if any(map(math.isinf, numbers_in(said.outputs))):
        raise ExportError(
            f"{type(last).__name__} cannot be exported: one of its coefficients is infinite in float64. "
            "Fit it with a penalty; or multiply columns of very small numbers by a power of ten, and fit again."
        )
    read = {part for part in walk(said.outputs) if isinstance(part, Column)}
    has_names = hasattr(first, "feature_names_in_") or not hasattr(first, "n_features_in_")
    unnamed = not has_names and all(column.kind == "number" for column in columns)
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
    if isinstance(model, TransformedTargetRegressor):
        return back_transformed(model, _said(model.regressor_, inputs))
    if hasattr(model, "best_estimator_"):  # that of a search
        return _said(model.best_estimator_, inputs)
    return _model(model)(model, inputs)


def _features(step: Any) -> Callable[[Any, Sequence[Expression]], list[Expression]]:
    if type(step) in FEATURES:
        return FEATURES[type(step)]
    raise ExportError(
        f"{type(step).__name__} cannot be exported; before a model, exports take "
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
        f"{type(model).__name__} cannot be exported: it is neither a formula of a few columns nor a sum over the rows "
        "of the fit. Linear models, naive Bayes, Gaussian discriminants and support vector machines can be, e.g. "
        "LogisticRegression or SVC; or keep this one in a file with mercer.save and serve it."
    )
