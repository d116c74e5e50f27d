"""Estimators with scikit-learn's interface. Each loads on first use, with no more than it needs."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {
    "BernoulliNB": "bernoulli_nb",
    "BucketFeatures": "numeric.bucket_features",
    "CategoricalNB": "categorical_nb",
    "CategoryFeatures": "tables.category_features",
    "ComplementNB": "complement_nb",
    "CountVectorizer": "text.count_vectorizer",
    "ElasticNet": "elastic_net",
    "ElasticNetCV": "elastic_net_cv",
    "GLM": "glm",
    "GammaRegressor": "gamma_regressor",
    "GaussianDiscriminant": "gaussian_discriminant",
    "GaussianNB": "gaussian_nb",
    "HashingVectorizer": "text.hashing_vectorizer",
    "HistogramDensity": "histogram_density",
    "KernelBayes": "kernel_bayes",
    "KernelDensity": "kernel_density",
    "KernelRidge": "kernel_ridge",
    "Lasso": "lasso",
    "LassoCV": "lasso_cv",
    "LinearDiscriminantAnalysis": "linear_discriminant",
    "LinearRegression": "linear_regression",
    "LinearSVC": "linear_svc",
    "LinearSVR": "linear_svr",
    "LinearThreshold": "linear_threshold",
    "LocalLinear": "local_linear",
    "LogFeatures": "numeric.log_features",
    "LogisticRegression": "logistic_regression",
    "LogisticRegressionCV": "logistic_cv",
    "MonomialFeatures": "numeric.monomial_features",
    "MultinomialNB": "multinomial_nb",
    "NadarayaWatson": "nadaraya_watson",
    "NadarayaWatsonClassifier": "nadaraya_watson_classifier",
    "NaiveBayes": "naive_bayes",
    "Nystroem": "nystroem",
    "Perceptron": "perceptron",
    "PoissonRegressor": "poisson_regressor",
    "QuadraticDiscriminantAnalysis": "quadratic_discriminant",
    "RBFSampler": "rbf_sampler",
    "RandomFourierFeatures": "random_fourier_features",
    "Ridge": "ridge",
    "RidgeCV": "ridge_cv",
    "SVC": "svc",
    "SVR": "svr",
    "TableFeatures": "tables.table_features",
    "SplineFeatures": "numeric.spline_features",
    "TfidfTransformer": "text.tfidf_transformer",
    "TfidfVectorizer": "text.tfidf_vectorizer",
    "TweedieRegressor": "tweedie_regressor",
    "enet_path": "_coordinate_paths",
    "estimate_cost": "_estimate_cost",
    "kernelize": "_kernelize",
    "lasso_path": "_coordinate_paths",
    "linear_form": "_linear_form",
    "summary": "inference",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'mercer.models' has no attribute {name!r}; it has {', '.join(__all__)}.")
    value = getattr(importlib.import_module(f"mercer.models.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
