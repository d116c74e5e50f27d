"""Estimators with scikit-learn's interface. Each loads on first use, with no more than it needs."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {
    "BernoulliNB": "generative.bernoulli_nb",
    "BucketFeatures": "numeric.bucket_features",
    "CategoricalNB": "generative.categorical_nb",
    "CategoryFeatures": "tables.category_features",
    "ComplementNB": "generative.complement_nb",
    "CountVectorizer": "text.count_vectorizer",
    "ElasticNet": "linear.elastic_net",
    "ElasticNetCV": "linear.elastic_net_cv",
    "GLM": "glm.glm",
    "GammaRegressor": "glm.gamma_regressor",
    "GaussianDiscriminant": "discriminants.gaussian_discriminant",
    "GaussianNB": "generative.gaussian_nb",
    "HashingVectorizer": "text.hashing_vectorizer",
    "HistogramDensity": "densities.histogram_density",
    "KernelBayes": "generative.kernel_bayes",
    "KernelDensity": "densities.kernel_density",
    "KernelRidge": "kernel_models.kernel_ridge",
    "Lasso": "linear.lasso",
    "LassoCV": "linear.lasso_cv",
    "LinearDiscriminantAnalysis": "discriminants.linear_discriminant",
    "LinearRegression": "linear.linear_regression",
    "LinearSVC": "svm.linear_svc",
    "LinearSVR": "svm.linear_svr",
    "LinearThreshold": "rules.linear_threshold",
    "LocalLinear": "smoothers.local_linear",
    "LogFeatures": "numeric.log_features",
    "LogNormalRegressor": "glm.lognormal_regressor",
    "LogisticRegression": "logistic.logistic_regression",
    "LogisticRegressionCV": "logistic.logistic_cv",
    "MonomialFeatures": "numeric.monomial_features",
    "MultinomialNB": "generative.multinomial_nb",
    "NadarayaWatson": "smoothers.nadaraya_watson",
    "NadarayaWatsonClassifier": "smoothers.nadaraya_watson_classifier",
    "NaiveBayes": "generative.naive_bayes",
    "Nystroem": "kernel_features.nystroem",
    "OrdinalRegression": "ordinal.ordinal_regression",
    "Perceptron": "rules.perceptron",
    "PoissonRegressor": "glm.poisson_regressor",
    "QuadraticDiscriminantAnalysis": "discriminants.quadratic_discriminant",
    "RBFSampler": "kernel_features.rbf_sampler",
    "RandomFourierFeatures": "kernel_features.random_fourier_features",
    "Ridge": "linear.ridge",
    "RidgeCV": "linear.ridge_cv",
    "SVC": "svm.svc",
    "SVR": "svm.svr",
    "TableFeatures": "tables.table_features",
    "SplineFeatures": "numeric.spline_features",
    "TfidfTransformer": "text.tfidf_transformer",
    "TfidfVectorizer": "text.tfidf_vectorizer",
    "TweedieRegressor": "glm.tweedie_regressor",
    "enet_path": "linear._coordinate_paths",
    "estimate_cost": "costs.estimate_cost",
    "kernelize": "kernel_models._kernelize",
    "lasso_path": "linear._coordinate_paths",
    "linear_form": "linear_forms.linear_form",
    "summary": "inference",
}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'mercer.models' has no attribute {name!r}; it has {', '.join(__all__)}.")
    value = getattr(importlib.import_module(f"mercer.models.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
