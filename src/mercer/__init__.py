"""Linear, kernel and probabilistic models with certificates, behind scikit-learn's interface.

Public names load on first use, so that `import mercer` costs nothing and each name only what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer import (
        data,
        decision,
        density,
        discriminant_analysis,
        errors,
        export,
        families,
        inference,
        kernel_approximation,
        kernel_ridge,
        kernels,
        linear_model,
        naive_bayes,
        preprocessing,
        serve,
        svm,
        testing,
        text,
    )
    from mercer.base.linear_form import linear_form
    from mercer.comparison import compare
    from mercer.comparison.checks import check_assumptions
    from mercer.comparison.learning_curves import learning_curves
    from mercer.comparison.pairs import counterpart
    from mercer.comparison.stress import stress
    from mercer.cost import estimate_cost
    from mercer.data import Schema
    from mercer.decision import Calibrated, ConformalClassifier, ConformalRegressor, Decision, DensityOutliers
    from mercer.density import (
        HistogramDensity,
        KernelBayes,
        KernelDensity,
        LocalLinear,
        NadarayaWatson,
        NadarayaWatsonClassifier,
    )
    from mercer.discriminant_analysis import (
        GaussianDiscriminant,
        LinearDiscriminantAnalysis,
        QuadraticDiscriminantAnalysis,
    )
    from mercer.engines import engine
    from mercer.explanation import drivers, explain_rows
    from mercer.files import describe, load, save
    from mercer.files.checkpoints import checkpointed
    from mercer.inference import summary
    from mercer.kernel_approximation import Nystroem, RandomFourierFeatures, RBFSampler
    from mercer.kernel_ridge import KernelRidge, kernelize
    from mercer.linear_model import (
        GLM,
        ElasticNet,
        ElasticNetCV,
        GammaRegressor,
        Lasso,
        LassoCV,
        LinearRegression,
        LinearThreshold,
        LogisticRegression,
        LogisticRegressionCV,
        LogNormalRegressor,
        OrdinalRegression,
        Perceptron,
        PoissonRegressor,
        Ridge,
        RidgeCV,
        TweedieRegressor,
        enet_path,
        lasso_path,
    )
    from mercer.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, NaiveBayes
    from mercer.preprocessing import (
        BucketFeatures,
        CategoryFeatures,
        LogFeatures,
        MonomialFeatures,
        SplineFeatures,
        TableFeatures,
    )
    from mercer.svm import SVC, SVR, LinearSVC, LinearSVR
    from mercer.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer

__version__ = "0.1.0"

#: public names by the module that they are imported from
_MODULES = {
    "base.linear_form": ["linear_form"],
    "comparison": ["compare"],
    "comparison.checks": ["check_assumptions"],
    "comparison.learning_curves": ["learning_curves"],
    "comparison.pairs": ["counterpart"],
    "comparison.stress": ["stress"],
    "cost": ["estimate_cost"],
    "data": ["Schema"],
    "decision": ["Calibrated", "ConformalClassifier", "ConformalRegressor", "Decision", "DensityOutliers"],
    "density": [
        "HistogramDensity",
        "KernelBayes",
        "KernelDensity",
        "LocalLinear",
        "NadarayaWatson",
        "NadarayaWatsonClassifier",
    ],
    "discriminant_analysis": ["GaussianDiscriminant", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"],
    "engines": ["engine"],
    "explanation": ["drivers", "explain_rows"],
    "files": ["describe", "load", "save"],
    "files.checkpoints": ["checkpointed"],
    "inference": ["summary"],
    "kernel_approximation": ["Nystroem", "RBFSampler", "RandomFourierFeatures"],
    "kernel_ridge": ["KernelRidge", "kernelize"],
    "linear_model": [
        "ElasticNet",
        "ElasticNetCV",
        "GLM",
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
    ],
    "naive_bayes": ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB", "NaiveBayes"],
    "preprocessing": [
        "BucketFeatures",
        "CategoryFeatures",
        "LogFeatures",
        "MonomialFeatures",
        "SplineFeatures",
        "TableFeatures",
    ],
    "svm": ["LinearSVC", "LinearSVR", "SVC", "SVR"],
    "text": ["CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"],
}
_PACKAGES = (
    "data",
    "decision",
    "density",
    "discriminant_analysis",
    "errors",
    "export",
    "families",
    "inference",
    "kernel_approximation",
    "kernel_ridge",
    "kernels",
    "linear_model",
    "naive_bayes",
    "preprocessing",
    "serve",
    "svm",
    "testing",
    "text",
)

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
    "decision",
    "density",
    "describe",
    "discriminant_analysis",
    "drivers",
    "enet_path",
    "engine",
    "errors",
    "estimate_cost",
    "explain_rows",
    "export",
    "families",
    "inference",
    "kernel_approximation",
    "kernel_ridge",
    "kernelize",
    "kernels",
    "lasso_path",
    "learning_curves",
    "linear_form",
    "linear_model",
    "load",
    "naive_bayes",
    "preprocessing",
    "save",
    "serve",
    "stress",
    "summary",
    "svm",
    "testing",
    "text",
]
__getattr__, _ = lazy_names(__name__, _MODULES, _PACKAGES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
