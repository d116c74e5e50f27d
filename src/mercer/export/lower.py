"""From a fitted model to its formula: which part of it is written by whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer import models
from mercer._errors import ExportError
from mercer.decide import Calibrated
from mercer.export import linear, naive_bayes, tables
from mercer.export.calibrated import calibrated
from mercer.export.expression import Column, Expression, walk
from mercer.export.formula import Formula, Said

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
    models.GaussianDiscriminant: naive_bayes.discriminant,
    models.LinearDiscriminantAnalysis: naive_bayes.discriminant,
    models.QuadraticDiscriminantAnalysis: naive_bayes.discriminant,
}
FEATURES: dict[type, Callable[[Any, Sequence[Expression]], list[Expression]]] = {
    models.TableFeatures: tables.table_features,
    models.MonomialFeatures: tables.monomials,
    StandardScaler: tables.scaled,
}
#: who reads columns that are not all numbers
COLUMNS: dict[type, Callable[[Any], list[Column]]] = {
    models.TableFeatures: tables.table_columns,
    models.NaiveBayes: naive_bayes.mixed_columns,
    models.GLM: linear.glm_columns,
}


def lower(model: Any, *, missing: bool = True) -> Formula:
    """The formula of a fitted model, alone or at the end of a pipeline.

    Where `missing` is False, columns of numbers are taken to be complete.
    """
    check_is_fitted(model)
    first = _part(model, 0)
    if not hasattr(first, "n_features_in_"):  # a vectorizer of text, or what is built around a model: let that be said
        (_features if hasattr(first, "transform") else _model)(first)
    columns = COLUMNS.get(type(first), tables.number_columns)(first)
    if not missing:
        columns = [replace(column, complete=column.kind == "number") for column in columns]
    said = _said(model, columns)
    outputs = (*said.predictions, *said.probabilities, *said.scores)
    read = {part for part in walk(outputs) if isinstance(part, Column)}
    unnamed = not hasattr(first, "feature_names_in_") and all(column.kind == "number" for column in columns)
    return Formula(
        type(_part(model, -1)).__name__,
        # one column at least, which tells how many rows there are
        tuple(column for column in columns if column in read) or tuple(columns[:1]),
        tuple(said.predictions),
        tuple(said.classes),
        tuple(said.probabilities),
        tuple(said.scores),
        said.second_wins,
        first.n_features_in_ if unnamed else None,
    )


def _said(model: Any, inputs: Sequence[Expression]) -> Said:
    """What a model says of its inputs, whatever it is built around."""
    if isinstance(model, Pipeline):
        for step in _steps(model)[:-1]:
            inputs = _features(step)(step, inputs)
        return _said(_steps(model)[-1], inputs)
    if isinstance(model, Calibrated):
        return calibrated(model, _said(model.model_, inputs))
    if hasattr(model, "best_estimator_"):  # that of a search
        return _said(model.best_estimator_, inputs)
    return _model(model)(model, inputs)


def _part(model: Any, place: int) -> Any:
    """The part of a model that reads the table (0), or that predicts (-1), whatever is built around it."""
    if isinstance(model, Pipeline):
        return _part(_steps(model)[place], place)
    inside = model.model_ if isinstance(model, Calibrated) else getattr(model, "best_estimator_", None)
    return model if inside is None else _part(inside, place)


def _steps(model: Pipeline) -> list[Any]:
    """What is done to a row, one after the other."""
    return [step for _, step in model.steps if step is not None and step != "passthrough"]


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
        f"{type(model).__name__} cannot be exported: it is no formula of a few columns. Linear models, naive Bayes and "
        "Gaussian discriminants can be, e.g. LogisticRegression or NaiveBayes; or keep this one in a file with "
        "mercer.save and serve it."
    )
