"""Linear, kernel and probabilistic models with certificates, behind scikit-learn's interface.

Public names load on first use, so that `import mercer` costs nothing and each name only what it needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer import data, decide, errors, export, families, kernels, serving, smoothing, testing
    from mercer.comparison import compare
    from mercer.comparison.checking.checks import check_assumptions
    from mercer.comparison.experiments.learning_curves import learning_curves
    from mercer.comparison.experiments.stress import stress
    from mercer.comparison.taking_part.pairs import counterpart
    from mercer.data import Schema
    from mercer.decide import Calibrated, ConformalClassifier, ConformalRegressor, Decision, DensityOutliers
    from mercer.engines import engine
    from mercer.engines.checkpoints import checkpointed
    from mercer.files import describe, load, save
    from mercer.models import (
        GLM,
        SVC,
        SVR,
        BernoulliNB,
        BucketFeatures,
        CategoricalNB,
        CategoryFeatures,
        ComplementNB,
        CountVectorizer,
        ElasticNet,
        ElasticNetCV,
        GammaRegressor,
        GaussianDiscriminant,
        GaussianNB,
        HashingVectorizer,
        HistogramDensity,
        KernelBayes,
        KernelDensity,
        KernelRidge,
        Lasso,
        LassoCV,
        LinearDiscriminantAnalysis,
        LinearRegression,
        LinearSVC,
        LinearSVR,
        LinearThreshold,
        LocalLinear,
        LogFeatures,
        LogisticRegression,
        LogisticRegressionCV,
        LogNormalRegressor,
        MonomialFeatures,
        MultinomialNB,
        NadarayaWatson,
        NadarayaWatsonClassifier,
        NaiveBayes,
        Nystroem,
        OrdinalRegression,
        Perceptron,
        PoissonRegressor,
        QuadraticDiscriminantAnalysis,
        RandomFourierFeatures,
        RBFSampler,
        Ridge,
        RidgeCV,
        SplineFeatures,
        TableFeatures,
        TfidfTransformer,
        TfidfVectorizer,
        TweedieRegressor,
        enet_path,
        estimate_cost,
        kernelize,
        lasso_path,
        linear_form,
        summary,
    )
    from mercer.using.explaining.drivers import drivers
    from mercer.using.explaining.explanation import explain_rows

__version__ = "0.1.0"

__all__ = [
    "GLM",
    "SVC",
    "SVR",
    "BernoulliNB",
    "BucketFeatures",
    "Calibrated",
    "CategoricalNB",
    "CategoryFeatures",
    "ComplementNB",
    "ConformalClassifier",
    "ConformalRegressor",
    "CountVectorizer",
    "Decision",
    "DensityOutliers",
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "GaussianDiscriminant",
    "GaussianNB",
    "HashingVectorizer",
    "HistogramDensity",
    "KernelBayes",
    "KernelDensity",
    "KernelRidge",
    "Lasso",
    "LassoCV",
    "LinearDiscriminantAnalysis",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LinearThreshold",
    "LocalLinear",
    "LogFeatures",
    "LogNormalRegressor",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MonomialFeatures",
    "MultinomialNB",
    "NadarayaWatson",
    "NadarayaWatsonClassifier",
    "NaiveBayes",
    "Nystroem",
    "OrdinalRegression",
    "Perceptron",
    "PoissonRegressor",
    "QuadraticDiscriminantAnalysis",
    "RBFSampler",
    "RandomFourierFeatures",
    "Ridge",
    "RidgeCV",
    "Schema",
    "SplineFeatures",
    "TableFeatures",
    "TfidfTransformer",
    "TfidfVectorizer",
    "TweedieRegressor",
    "check_assumptions",
    "checkpointed",
    "compare",
    "counterpart",
    "data",
    "decide",
    "describe",
    "drivers",
    "enet_path",
    "engine",
    "errors",
    "estimate_cost",
    "explain_rows",
    "export",
    "families",
    "kernelize",
    "kernels",
    "lasso_path",
    "learning_curves",
    "linear_form",
    "load",
    "save",
    "serving",
    "smoothing",
    "stress",
    "summary",
    "testing",
]

# Rooms that are public as a whole; every other name above lives in `models` unless it is listed here.
_ROOMS = frozenset({"data", "decide", "errors", "export", "families", "kernels", "serving", "smoothing", "testing"})
_ELSEWHERE = {
    "Calibrated": "mercer.decide",
    "ConformalClassifier": "mercer.decide",
    "ConformalRegressor": "mercer.decide",
    "Decision": "mercer.decide",
    "DensityOutliers": "mercer.decide",
    "Schema": "mercer.data",
    "check_assumptions": "mercer.comparison.checking.checks",
    "checkpointed": "mercer.engines.checkpoints",
    "compare": "mercer.comparison",
    "counterpart": "mercer.comparison.taking_part.pairs",
    "describe": "mercer.files",
    "drivers": "mercer.using.explaining.drivers",
    "engine": "mercer.engines",
    "explain_rows": "mercer.using.explaining.explanation",
    "learning_curves": "mercer.comparison.experiments.learning_curves",
    "load": "mercer.files",
    "save": "mercer.files",
    "stress": "mercer.comparison.experiments.stress",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}; see dir(mercer) for the public names.")
    if name in _ROOMS:
        return importlib.import_module(f"mercer.{name}")
    value = getattr(importlib.import_module(_ELSEWHERE.get(name, "mercer.models")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
