"""Stored fields and traits of classes of scikit-learn, which are used in pipelines with models of mercer.

They are found by their public paths, and no class is imported before it is needed. Fields on which a method relies are
declared one by one, as `stored` does for classes of mercer.
"""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np

from mercer._stored import (
    ANYTHING,
    Check,
    each_of,
    either,
    floats,
    integers,
    one_of,
    optional,
    part_of,
    real,
    reals,
    sequence,
    values,
    whole,
)
from mercer.base.traits import Traits

_STEP = optional(either(part_of(str), part_of()))
_STEPS = sequence(".", each_of(part_of(str), _STEP))
_PARTS = sequence(".", each_of(part_of(str), _STEP, ANYTHING))
_COLUMN = optional(floats("d"))
_RANDOM = optional(either(whole(0), part_of(np.random.RandomState)))
_SHARE = optional(either(whole(1), real(0, 1)))
_DTYPE = either(part_of(type), one_of("float64", "float32", "int64", "int32", "object"))
_FOLDS: dict[str, Check] = {"n_splits": whole(2), "shuffle": part_of(bool), "random_state": _RANDOM}
_DRAWS: dict[str, Check] = {
    "n_splits": whole(1),
    "test_size": _SHARE,
    "train_size": _SHARE,
    "random_state": _RANDOM,
    "_default_test_size": real(0, 1),
}

#: the fields of classes that model files may hold, by the public path of the class
STORED_FIELDS: dict[str, dict[str, Check]] = {
    "sklearn.compose.ColumnTransformer": {"transformers": _PARTS, "transformers_": _PARTS},
    "sklearn.compose.TransformedTargetRegressor": {},
    "sklearn.covariance.EmpiricalCovariance": {},
    "sklearn.covariance.LedoitWolf": {},
    "sklearn.covariance.OAS": {},
    "sklearn.covariance.ShrunkCovariance": {},
    "sklearn.dummy.DummyClassifier": {
        "n_outputs_": whole(1),
        "class_prior_": either(floats("k"), sequence(".", floats("."))),
        "_strategy": one_of("most_frequent", "prior", "stratified", "uniform", "constant"),
    },
    "sklearn.dummy.DummyRegressor": {"n_outputs_": whole(1), "constant_": reals("1.")},
    "sklearn.impute.MissingIndicator": {"features_": integers(".", below="d")},
    "sklearn.impute.SimpleImputer": {"statistics_": values("d")},
    "sklearn.model_selection.GroupKFold": _FOLDS,
    "sklearn.model_selection.KFold": _FOLDS,
    "sklearn.model_selection.LeaveOneOut": {},
    "sklearn.model_selection.RepeatedKFold": {},
    "sklearn.model_selection.RepeatedStratifiedKFold": {},
    "sklearn.model_selection.ShuffleSplit": _DRAWS,
    "sklearn.model_selection.StratifiedKFold": _FOLDS,
    "sklearn.model_selection.StratifiedShuffleSplit": _DRAWS,
    "sklearn.model_selection.TimeSeriesSplit": {
        "n_splits": whole(2),
        "max_train_size": optional(whole(0)),
        "test_size": optional(whole(1)),
        "gap": whole(0),
    },
    "sklearn.pipeline.FeatureUnion": {"transformer_list": _STEPS},
    "sklearn.pipeline.Pipeline": {"steps": _STEPS},
    "sklearn.preprocessing.FunctionTransformer": {},
    "sklearn.preprocessing.LabelBinarizer": {},
    "sklearn.preprocessing.LabelEncoder": {},
    "sklearn.preprocessing.MaxAbsScaler": {"scale_": _COLUMN, "max_abs_": _COLUMN},
    "sklearn.preprocessing.MinMaxScaler": {
        "scale_": _COLUMN,
        "min_": _COLUMN,
        "data_min_": _COLUMN,
        "data_max_": _COLUMN,
        "data_range_": _COLUMN,
    },
    "sklearn.preprocessing.Normalizer": {},
    "sklearn.preprocessing.OneHotEncoder": {
        "categories_": sequence("d", values("_c")),
        "_n_features_outs": sequence("d", whole(0)),
        "dtype": _DTYPE,
    },
    "sklearn.preprocessing.OrdinalEncoder": {"categories_": sequence("d", values("_c")), "dtype": _DTYPE},
    "sklearn.preprocessing.RobustScaler": {"center_": _COLUMN, "scale_": _COLUMN},
    "sklearn.preprocessing.StandardScaler": {
        "mean_": _COLUMN,
        "var_": _COLUMN,
        "scale_": _COLUMN,
        "n_samples_seen_": either(real(0), values("d")),
    },
}

_GENERATIVE = Traits(("classification",), "generative")
_STATISTICS = replace(_GENERATIVE, half="statistics")
_WORDS = replace(_GENERATIVE, half="words")
_DIRECT = Traits(("classification",), "direct")
_LOGISTIC = Traits(("classification",), half="linear")
_KERNEL = Traits(("classification",), "kernel")

#: traits of models for `compare`, and of models and transformers that are exported together with models of mercer
SCIKIT_LEARN_TRAITS: dict[str, Traits] = {
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": replace(_GENERATIVE, half="columns"),
    "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis": replace(_GENERATIVE, half="monomials"),
    "sklearn.dummy.DummyClassifier": Traits(
        ("classification",), "baseline", export="mercer.export.linear.baseline_classes"
    ),
    "sklearn.dummy.DummyRegressor": Traits(("regression",), "baseline", export="mercer.export.linear.baseline_mean"),
    "sklearn.gaussian_process.GaussianProcessClassifier": _KERNEL,
    "sklearn.impute.SimpleImputer": Traits(("features",), export="mercer.export.tables.imputed"),
    "sklearn.kernel_ridge.KernelRidge": Traits(("regression",), "kernel"),
    "sklearn.linear_model.LassoCV": Traits(("regression",), chooses="alpha"),
    "sklearn.linear_model.LogisticRegression": _LOGISTIC,
    "sklearn.linear_model.LogisticRegressionCV": replace(_LOGISTIC, chooses="C"),
    "sklearn.linear_model.PassiveAggressiveClassifier": _DIRECT,
    "sklearn.linear_model.Perceptron": _DIRECT,
    "sklearn.linear_model.RidgeClassifier": _DIRECT,
    "sklearn.linear_model.RidgeClassifierCV": _DIRECT,
    "sklearn.naive_bayes.BernoulliNB": _STATISTICS,
    "sklearn.naive_bayes.CategoricalNB": _STATISTICS,
    "sklearn.naive_bayes.ComplementNB": _WORDS,
    "sklearn.naive_bayes.GaussianNB": _STATISTICS,
    "sklearn.naive_bayes.MultinomialNB": _WORDS,
    "sklearn.neighbors.KNeighborsClassifier": Traits(("classification",), "density"),
    "sklearn.preprocessing.PolynomialFeatures": Traits(("features",), makes="products"),
    "sklearn.preprocessing.StandardScaler": Traits(
        ("features",), standardizes=True, export="mercer.export.tables.scaled"
    ),
    "sklearn.svm.LinearSVC": _DIRECT,
    "sklearn.svm.NuSVC": _KERNEL,
    "sklearn.svm.NuSVR": Traits(("regression",), "kernel"),
    "sklearn.svm.SVC": _KERNEL,
    "sklearn.svm.SVR": Traits(("regression",), "kernel"),
}


def public_path(cls: type) -> str:
    """Return the path under which a class of scikit-learn is imported by its users.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> public_path(StandardScaler)
    'sklearn.preprocessing.StandardScaler'
    """
    public = [part for part in cls.__module__.split(".") if not part.startswith("_")]
    return ".".join((*public, cls.__qualname__))


def class_at(path: str) -> type | None:
    """Return the class of a public path; None, without importing anything, where it is not declared here."""
    if path not in STORED_FIELDS:
        return None
    module, _, name = path.rpartition(".")
    cls: type = getattr(importlib.import_module(module), name)
    return cls
