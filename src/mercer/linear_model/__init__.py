"""Linear models: least squares, ridge, lasso, GLMs, logistic and ordinal regression, perceptrons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.linear_model._lasso import ElasticNet, ElasticNetCV, Lasso, LassoCV
    from mercer.linear_model._lasso_path import enet_path, lasso_path
    from mercer.linear_model._linear_threshold import LinearThreshold
    from mercer.linear_model._logistic import LogisticRegression
    from mercer.linear_model._logistic_cv import LogisticRegressionCV
    from mercer.linear_model._ordinal import OrdinalRegression
    from mercer.linear_model.glm import GLM
    from mercer.linear_model.glm_regressors import (
        GammaRegressor,
        LogNormalRegressor,
        PoissonRegressor,
        TweedieRegressor,
    )
    from mercer.linear_model.least_squares import LinearRegression
    from mercer.linear_model.perceptron import Perceptron
    from mercer.linear_model.ridge import Ridge, RidgeCV

_MODULES = {
    "_lasso": ["ElasticNet", "ElasticNetCV", "Lasso", "LassoCV"],
    "_lasso_path": ["enet_path", "lasso_path"],
    "_linear_threshold": ["LinearThreshold"],
    "_logistic": ["LogisticRegression"],
    "_logistic_cv": ["LogisticRegressionCV"],
    "_ordinal": ["OrdinalRegression"],
    "glm": ["GLM"],
    "glm_regressors": ["GammaRegressor", "LogNormalRegressor", "PoissonRegressor", "TweedieRegressor"],
    "least_squares": ["LinearRegression"],
    "perceptron": ["Perceptron"],
    "ridge": ["Ridge", "RidgeCV"],
}
__all__ = [
    "GLM",
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LinearThreshold",
    "LogNormalRegressor",
    "LogisticRegression",
    "LogisticRegressionCV",
    "OrdinalRegression",
    "Perceptron",
    "PoissonRegressor",
    "Ridge",
    "RidgeCV",
    "TweedieRegressor",
    "enet_path",
    "lasso_path",
]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
