"""What a model file may name: each class, enumeration, type and constant of it, and nothing else.

A name that is not here is refused, whoever wrote the file. A class that moves is found by its old
name too: `_moved.py`.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Any

from mercer._errors import ModelFileError
from mercer.files._moved import current_name

#: classes by the module they are in; those of one line are made of plain values and of each other
CLASSES: dict[str, str] = {
    # estimators
    "mercer.models.generative.bernoulli_nb": "BernoulliNB",
    "mercer.models.generative.categorical_nb": "CategoricalNB",
    "mercer.models.generative.complement_nb": "ComplementNB",
    "mercer.models.linear.elastic_net": "ElasticNet",
    "mercer.models.linear.elastic_net_cv": "ElasticNetCV",
    "mercer.models.glm.gamma_regressor": "GammaRegressor",
    "mercer.models.discriminants.gaussian_discriminant": "GaussianDiscriminant",
    "mercer.models.generative.gaussian_nb": "GaussianNB",
    "mercer.models.glm.glm": "GLM",
    "mercer.models.glm.lognormal_regressor": "LogNormalRegressor",
    "mercer.models.densities.histogram_density": "HistogramDensity",
    "mercer.models.generative.kernel_bayes": "KernelBayes",
    "mercer.models.densities.kernel_density": "KernelDensity",
    "mercer.models.kernel_models.kernel_ridge": "KernelRidge",
    "mercer.models.linear.lasso": "Lasso",
    "mercer.models.linear.lasso_cv": "LassoCV",
    "mercer.models.discriminants.linear_discriminant": "LinearDiscriminantAnalysis",
    "mercer.models.linear.linear_regression": "LinearRegression",
    "mercer.models.svm.linear_svc": "LinearSVC",
    "mercer.models.svm.linear_svr": "LinearSVR",
    "mercer.models.rules.linear_threshold": "LinearThreshold",
    "mercer.models.smoothers.local_linear": "LocalLinear",
    "mercer.models.logistic.logistic_cv": "LogisticRegressionCV",
    "mercer.models.logistic.logistic_regression": "LogisticRegression",
    "mercer.models.generative.multinomial_nb": "MultinomialNB",
    "mercer.models.smoothers.nadaraya_watson": "NadarayaWatson",
    "mercer.models.smoothers.nadaraya_watson_classifier": "NadarayaWatsonClassifier",
    "mercer.models.generative.naive_bayes": "NaiveBayes",
    "mercer.models.kernel_features.nystroem": "Nystroem",
    "mercer.models.ordinal.ordinal_regression": "OrdinalRegression",
    "mercer.models.rules.perceptron": "Perceptron",
    "mercer.models.glm.poisson_regressor": "PoissonRegressor",
    "mercer.models.discriminants.quadratic_discriminant": "QuadraticDiscriminantAnalysis",
    "mercer.models.kernel_features.random_fourier_features": "RandomFourierFeatures",
    "mercer.models.kernel_features.rbf_sampler": "RBFSampler",
    "mercer.models.linear.ridge": "Ridge",
    "mercer.models.linear.ridge_cv": "RidgeCV Identity",
    "mercer.models.linear_forms.statistic_features": "StatisticFeatures",
    "mercer.models.svm.svc": "SVC",
    "mercer.models.svm.svr": "SVR",
    "mercer.models.glm.tweedie_regressor": "TweedieRegressor",
    "mercer.models.kernel_models.perceptron": "KernelPerceptron",
    "mercer.models.kernel_models.kernelized": "Kernelized",
    "mercer.models.numeric.bucket_features": "BucketFeatures",
    "mercer.models.numeric.log_features": "LogFeatures",
    "mercer.models.numeric.monomial_features": "MonomialFeatures",
    "mercer.models.numeric.spline_features": "SplineFeatures",
    "mercer.models.tables.category_features": "CategoryFeatures",
    "mercer.models.tables.table_features": "TableFeatures",
    "mercer.models.text.count_vectorizer": "CountVectorizer",
    "mercer.models.text.hashing_vectorizer": "HashingVectorizer",
    "mercer.models.text.tfidf_transformer": "TfidfTransformer",
    "mercer.models.text.tfidf_vectorizer": "TfidfVectorizer",
    "mercer.decide.calibration": "Calibrated Steps",
    "mercer.decide.conformal_intervals": "ConformalRegressor",
    "mercer.decide.conformal_sets": "ConformalClassifier",
    "mercer.decide.decision": "Decision",
    "mercer.decide.outliers": "DensityOutliers Ranking",
    "mercer.comparison.taking_part.tuning": "Tuned",
    # what estimators are made of
    "mercer.decide._conformal": "Promise",
    "mercer.decide._split": "Part",
    "mercer.decide.costs": "Costs Range",
    "mercer.decide.priors": "PriorShift",
    "mercer.decide.thresholds": "Threshold",
    "mercer.models.kernel_models.approximate": "Approximation",
    "mercer.models.base": "Plan",
    "mercer.models.comparisons": "ByKernel Precomputed",
    "mercer.models.discriminants._covariance": "Structure FixedShrinkage StandardisedShrinkage OracleShrinkage",
    "mercer.models.discriminants._delegated": "DelegatedCovariances",
    "mercer.models.diagnosis": "Finding Diagnosis",
    "mercer.models.generative._discrete_scores": "LogProduct TwoSided BernoulliScores",
    "mercer.models.kernel_models.feature_function": "FourierFunction",
    "mercer.models.discriminants._fisher": "Directions",
    "mercer.models.discriminants._gaussian_classes": "LinearScores SharedAxes GaussianClasses",
    "mercer.models.glm.classes": "Classes",
    "mercer.models.glm.one_mean": "OneMean",
    "mercer.models.glm.separation": "SeparationFinding",
    "mercer.models.discriminants._independent_classes": "IndependentClasses",
    "mercer.models._kernel_choice": "AnyPolynomial",
    "mercer.models.densities._kernel_rows": "Rows",
    "mercer.models.kernel_models.function": "KernelFunction",
    "mercer.models.kernel_models._ridge_tuning": "Tried",
    "mercer.models.linear_forms.features": "ColumnStatistics RowStatistics Centred CentredSquares CentredMonomials "
    "Indicators Among ObservedColumns",
    "mercer.models.linear_forms.linear_form": "FeatureMap LinearForm",
    "mercer.models.logistic._path": "Penalised",
    "mercer.models.kernel_features._nystroem_rows": "ByKernel ByMatrix",
    "mercer.models.streaming.sampled_source": "Outline",
    "mercer.models.generative.gaussian_scores": "GaussianScores",
    "mercer.models.smoothers._columns": "Columns",
    "mercer.models.svm._approximate": "ByFeatures",
    "mercer.models.svm._calibration": "Calibration",
    "mercer.models.generative._unweighted": "Unweighted",
    "mercer.models.generative.parts._base": "Smoothing",
    "mercer.models.generative.parts.category": "CategoryPart CategoryConditional",
    "mercer.models.generative.parts.counts": "CountsPart CountsConditional",
    "mercer.models.generative.parts.gaussian_vector": "Normal GaussianVectorPart GaussianVectorConditional",
    "mercer.models.generative.parts.numbers": "NumbersPart NumbersConditional GaussianConditional",
    "mercer.models.generative.parts.vector": "VectorPart VectorConditional",
    "mercer.models.generative.parts.windows": "WindowsPart WindowsConditional",
    "mercer.models.tables.dates": "Date",
    "mercer.models.tables.labels": "Category",
    "mercer.models.tables.numbers": "Gaps Number OnlyGaps Binary",
    "mercer.models.tables.source": "Glance",
    "mercer.models.tables._spread": "Scale Spread DaysSeen",
    "mercer.models.tables.texts": "Text",
    "mercer.models.tables.treatment": "Slot LeftOut",
    "mercer.models.tables.formula_features": "FormulaFeatures",
    "mercer.solvers.gaps.em_step": "Words",
    "mercer.solvers.machines.box_problem": "Margins",
    "mercer.solvers.certificate": "Certificate",
    "mercer.solvers.threshold.history": "History",
    "mercer.solvers.separation": "Separation",
    "mercer.solvers.start": "Midway",
    "mercer.solvers.threshold.units": "Units",
    "mercer.features.buckets": "Buckets",
    "mercer.features.directions": "Hadamard",
    "mercer.features.fourier": "FourierMap",
    "mercer.features.landmarks": "Landmarks",
    "mercer.features.monomials": "MonomialMap",
    "mercer.features.nystroem": "NystroemMap LandmarkMap",
    "mercer.features.splines": "Splines",
    "mercer.features.text.interpreted": "OtherVocabulary",
    "mercer.features.text.weights": "Totals",
    "mercer.stats.bins": "BinCounts",
    "mercer.stats.by_class": "ByClass",
    "mercer.stats.distinct_rows": "DistinctRows",
    "mercer.stats.fourth": "FourthMoments",
    "mercer.stats.goodness": "Goodness",
    "mercer.stats.grid": "GridCounts",
    "mercer.stats.levels": "LevelCounts",
    "mercer.stats.moments": "ColumnMoments",
    "mercer.stats.normal_equations": "NormalEquations",
    "mercer.stats.patterns": "PatternMoments",
    "mercer.stats.quadratic": "Quadratic",
    "mercer.stats.r_factor": "RFactor",
    "mercer.stats.rows": "Piece Rows",
    "mercer.stats.scatter": "ScatterMoments",
    "mercer.stats.softmax_quadratic": "SoftmaxQuadratic",
    "mercer.stats.sums": "ColumnSums",
    "mercer.stats.values": "ValueCounts",
    "mercer.stats.vector_sums": "VectorSums",
    "mercer.stats.vocabulary": "Vocabulary",
    "mercer.designs.category": "Category",
    "mercer.designs.coordinates": "Coordinates",
    "mercer.designs.row_sample": "RowSample",
    "mercer.designs.survey": "Levels Survey",
    "mercer.designs.terms": "Terms",
    "mercer.data.coding": "Coded",
    "mercer.data.formats": "NumberFormat DateFormat",
    "mercer.data.levels": "Occurrences Levels HashedLevels",
    "mercer.data.schema": "Column Schema",
    "mercer.data.seen_values": "Seen",
    "mercer.data.texts": "Texts",
    "mercer.smoothing.autocorrelation": "Autocorrelation",
    "mercer.smoothing.bandwidth": "Criterion Bandwidth",
    "mercer.smoothing.bounded": "Reflected Transformed",
    "mercer.smoothing.cells": "Cells",
    "mercer.smoothing.classes": "ClassBandwidths",
    "mercer.smoothing.family": "ParzenParameters Parzen",
    "mercer.smoothing.kernels": "Gaussian Exponential Triangular",
    "mercer.smoothing.local_lines": "LocalLines",
    "mercer.smoothing.mixed": "Rows MixedSums",
    "mercer.smoothing.powers": "Uniform Epanechnikov Biweight Triweight Cosine",
    "mercer.smoothing.regression": "LocalMeans LocalVotes",
    "mercer.smoothing.regression_search": "WidthChoice",
    "mercer.smoothing.rules.adaptive": "Adaptive",
    "mercer.smoothing.rules.crossvalidation": "LikelihoodCV LeastSquaresCV",
    "mercer.smoothing.rules.isj": "ImprovedSheatherJones",
    "mercer.smoothing.rules.plugin": "PlugIn",
    "mercer.smoothing.rules.reference": "UnscaledScott UnscaledSilverman Scott Silverman",
    "mercer.smoothing.sums": "KernelSums",
    "mercer.smoothing.support": "Support",
    "mercer.smoothing.tolerance": "Tolerance",
    "mercer.smoothing.windows": "Windows",
    "mercer.kernels._counts": "Runs Counts CountMap",
    "mercer.kernels._sequences": "Sequences",
    "mercer.kernels.algebra": "Sum Product Scaled Power Of",
    "mercer.kernels.columns": "Columns",
    "mercer.kernels.dot": "Linear Quadratic Polynomial Sigmoid Cosine",
    "mercer.kernels.explicit": "Coordinates One Monomials Stacked Products Times After Unit",
    "mercer.kernels.graphs": "WeisfeilerLehman Neighbourhoods",
    "mercer.kernels.histograms": "ChiSquared AdditiveChiSquared HistogramIntersection",
    "mercer.kernels.monomials": "MonomialOrder",
    "mercer.kernels.normalised": "Normalised",
    "mercer.kernels.one_feature": "OneDimensional Constant",
    "mercer.kernels.positive_definite": "PositiveDefinite",
    "mercer.kernels.radial": "RBF Matern RationalQuadratic Laplacian",
    "mercer.kernels.strings": "Spectrum Substrings SubstringMap Subsequence",
    "mercer.families._axis": "Lattice Axis",
    "mercer.families._levels": "CategoricalParameters",
    "mercer.families.power_links": "Identity Log Power LogOdds",
    "mercer.families._prior": "Prior",
    "mercer.families.share_links": "Logit Probit Cauchit ComplementaryLogLog",
    "mercer.families.binomial": "BernoulliParameters Bernoulli Binomial",
    "mercer.families.bins": "Width",
    "mercer.families.categorical": "Categorical",
    "mercer.families.dirichlet": "BetaParameters DirichletParameters Beta Dirichlet",
    "mercer.families.distribution": "Distribution",
    "mercer.families.gamma": "ExponentialParameters GammaParameters Exponential Gamma",
    "mercer.families.gaussian": "GaussianParameters Gaussian",
    "mercer.families.histogram": "Histogram",
    "mercer.families.inverse_gaussian": "InverseGaussianParameters InverseGaussian",
    "mercer.families.lognormal": "LogNormalParameters LogNormal",
    "mercer.families.multinomial": "Multinomial",
    "mercer.families.multivariate": "MultivariateGaussianParameters MultivariateGaussian",
    "mercer.families.negative_binomial": "NegativeBinomialParameters NegativeBinomial",
    "mercer.families.penalties": "Strengths L2 L1 ElasticNet",
    "mercer.families.poisson": "PoissonParameters Poisson",
    "mercer.families.response": "Response",
    "mercer.families.softmax": "SoftmaxResponse",
    "mercer.families.tweedie": "TweedieParameters Tweedie",
    # of scikit-learn, what is made of plain values and stands before or around our models
    "sklearn.compose._column_transformer": "ColumnTransformer",
    "sklearn.compose._target": "TransformedTargetRegressor",
    "sklearn.covariance._empirical_covariance": "EmpiricalCovariance",
    "sklearn.covariance._shrunk_covariance": "OAS LedoitWolf ShrunkCovariance",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.impute._base": "SimpleImputer MissingIndicator",
    "sklearn.model_selection._split": "KFold StratifiedKFold GroupKFold LeaveOneOut ShuffleSplit "
    "StratifiedShuffleSplit TimeSeriesSplit RepeatedKFold RepeatedStratifiedKFold",
    "sklearn.pipeline": "Pipeline FeatureUnion",
    "sklearn.preprocessing._data": "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler Normalizer",
    "sklearn.preprocessing._encoders": "OneHotEncoder OrdinalEncoder",
    "sklearn.preprocessing._function_transformer": "FunctionTransformer",
    "sklearn.preprocessing._label": "LabelBinarizer LabelEncoder",
}

#: the members of an enumeration are written by their values
ENUMS: dict[str, str] = {"mercer.data.kinds": "Kind"}

#: types that are values themselves: what `dtype=` is given, and the kinds of sparse matrices
TYPES: dict[str, str] = {
    "builtins": "bool int float complex str object",
    "numpy": "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 "
    "str_ object_",
    "scipy.sparse": "csr_array csr_matrix csc_array csc_matrix",
}

#: values of which there is one, known by its name: some hold functions
CONSTANTS: dict[str, str] = {
    "mercer.families.links": "NEGATIVE_INVERSE SOFTMAX",
}

_TABLES = {"class": CLASSES, "enum": ENUMS, "type": TYPES, "constant": CONSTANTS}


@cache
def names(kind: str) -> frozenset[str]:
    """All that a file may name of a kind: "class", "enum", "type" or "constant"."""
    return frozenset(f"{module}.{name}" for module, found in _TABLES[kind].items() for name in found.split())


def known(kind: str, name: Any) -> Any:
    """What a file means by a name; a name that is not in the table is refused, and nothing is imported for it."""
    name = current_name(name) if isinstance(name, str) else name
    if not isinstance(name, str) or name not in names(kind):
        raise ModelFileError(
            f"The file asks for {shown(name)}, which is no {kind} that model files may hold: it was tampered with, or "
            "written by a newer mercer. Nothing of it was loaded."
        )
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def name_of(kind: str, thing: type) -> str | None:
    """The name of a class or type in files; None of those that are not in the table."""
    name = f"{_PUBLIC.get(thing.__module__, thing.__module__)}.{thing.__qualname__}"
    if kind == "type":
        name = {"numpy.bool": "numpy.bool_"}.get(name, name)
    return name if name in names(kind) else None


def constant_name(value: Any) -> str | None:
    """The name of a value of which there is one."""
    found = (name for name in names("constant") if name.rpartition(".")[0] in sys.modules)
    return next((name for name in found if known("constant", name) is value), None)


#: where types are found that tell another place
_PUBLIC = {"scipy.sparse._csr": "scipy.sparse", "scipy.sparse._csc": "scipy.sparse"}


def shown(name: Any) -> str:
    """A name of a file in a message, cut where it is long."""
    text = repr(name)
    return text if len(text) <= 80 else f"{text[:80]}…"
