"""Fitted models of every kind, each with rows to ask it about: what the laws of this package are tried on.

Each holds a class, an attribute or a type that no other holds: a model that differs in its numbers only is not a case.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import config_context
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.covariance import OAS, LedoitWolf, ShrunkCovariance
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import mercer
from mercer import decision, density, families, kernels
from mercer.comparison._inner_search import Tuned


@dataclass(frozen=True)
class Data:
    """Rows with their targets."""

    X: Any
    y: Any


@dataclass(frozen=True)
class Case:
    """A function that makes a model, and the data of its fit."""

    name: str
    make: Callable[[], Any]
    data: Callable[[], Data]

    def __str__(self) -> str:
        return self.name

    def fitted(self) -> Any:
        """Return a new fitted model."""
        data = self.data()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.make().fit(data.X, data.y) if data.y is not None else self.make().fit(data.X)


def _rng() -> np.random.Generator:
    return np.random.default_rng(11)


@cache
def numbers() -> Data:
    rng = _rng()
    y = rng.integers(3, size=45)
    X = rng.normal(size=(45, 3)) * [1.0, 5.0, 0.5] + np.outer(y, [1, -2, 0.3]) + 10
    return Data(X, np.array(["ant", "bee", "cat"])[y])


@cache
def two() -> Data:
    data = numbers()
    return Data(data.X, (data.y == "bee").astype(int))


@cache
def gaps() -> Data:
    data = numbers()
    return Data(np.where(_rng().random(data.X.shape) < 0.1, np.nan, data.X), data.y)


@cache
def line() -> Data:
    data = numbers()
    return Data(data.X, data.X @ [1.0, -0.2, 2.0] + _rng().normal(size=45))


@cache
def positive() -> Data:
    data = numbers()
    return Data(data.X, np.exp(0.1 * data.X[:, 0] + 0.1 * _rng().normal(size=45)))


@cache
def tally() -> Data:
    rng = _rng()
    y = rng.integers(3, size=45)
    return Data(rng.poisson(0.3 + 2 * rng.random((3, 5))[y]).astype(float), y)


@cache
def counted() -> Data:
    data = numbers()
    return Data(data.X, _rng().poisson(2.0, size=45).astype(float))


@cache
def sparse() -> Data:
    data = tally()
    return Data(sp.csr_array(data.X), data.y)


@cache
def categories() -> Data:
    rng = _rng()
    y = rng.integers(2, size=45)
    return Data(np.column_stack([rng.integers(k, size=45) for k in (2, 3, 4)]), y)


@cache
def words() -> Data:
    said = ["The cat sat", "a dog sat on a mat", "naïve Bayes — über alles", "cats and dogs", "", "the the the"]
    return Data(said * 5, np.array(["x", "y"])[np.arange(30) % 2])


@cache
def flat() -> Data:
    return Data(numbers().X[:, :2], None)


@cache
def frame() -> Data:
    rng = _rng()
    n = 60
    X = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 9, n)),
            "visits": rng.poisson(2.0, n),
            "city": pd.Categorical(rng.choice(["Ulm", "Bonn", "Jena"], n)),
            "smokes": rng.random(n) < 0.4,
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D"),
            "note": [f"patient {i} feels {'well' if i % 3 else 'quite unwell'} today {i * i}" for i in range(n)],
        }
    )
    return Data(X, np.where(X["visits"] + rng.normal(size=n) > 2, "yes", "no"))


@cache
def mixed() -> Data:
    data = frame()
    return Data(data.X[["age", "visits", "city", "smokes"]], data.y)


def _union() -> Any:
    return FeatureUnion([("spline", mercer.SplineFeatures()), ("same", "passthrough")])


def _columns() -> Any:
    parts = [("numbers", StandardScaler(), ["visits"]), ("names", OneHotEncoder(), ["city"])]
    return ColumnTransformer(parts, remainder="drop")


def _tuned_target() -> Any:
    tuned = Tuned(mercer.Ridge(), "alpha", (1.0, 0.1), "regression")
    return TransformedTargetRegressor(tuned, transformer=StandardScaler())


def _routed() -> Any:
    with config_context(enable_metadata_routing=True):
        return mercer.Ridge().set_fit_request(sample_weight=True)


def _made(*cases: tuple[str, Callable[[], Any], Callable[[], Data]]) -> tuple[Case, ...]:
    return tuple(Case(*case) for case in cases)


m, k, s, f = mercer, kernels, density, families
CASES = _made(
    ("GaussianNB", m.GaussianNB, numbers),
    ("BernoulliNB", m.BernoulliNB, tally),
    ("MultinomialNB", m.MultinomialNB, sparse),
    ("ComplementNB", m.ComplementNB, tally),
    ("CategoricalNB", m.CategoricalNB, categories),
    ("NaiveBayes", m.NaiveBayes, mixed),
    (
        "NaiveBayes of families",
        lambda: m.NaiveBayes(families={"x0": f.Gamma(), "x1": f.Gaussian(), "x2": "lognormal"}),
        lambda: Data(np.abs(numbers().X), numbers().y),
    ),
    ("NaiveBayes with windows", lambda: m.NaiveBayes(families=s.Parzen(bandwidth=1.5)), numbers),
    ("NaiveBayes of counts", lambda: m.NaiveBayes(families="poisson"), tally),
    ("NaiveBayes of histograms", lambda: m.NaiveBayes(families=f.Histogram()), numbers),
    ("GaussianDiscriminant", m.GaussianDiscriminant, numbers),
    ("LinearDiscriminantAnalysis", m.LinearDiscriminantAnalysis, numbers),
    (
        "LinearDiscriminantAnalysis eigen",
        lambda: m.LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        numbers,
    ),
    ("QuadraticDiscriminantAnalysis", m.QuadraticDiscriminantAnalysis, numbers),
    ("KernelBayes", lambda: m.KernelBayes(bandwidth=2.5), numbers),
    ("KernelDensity", lambda: m.KernelDensity(bandwidth="scott"), flat),
    ("KernelDensity compact", lambda: m.KernelDensity(kernel="epanechnikov", bandwidth=2.0), flat),
    ("KernelDensity adaptive", lambda: m.KernelDensity(bandwidth=s.Adaptive()), flat),
    ("KernelDensity bounded", lambda: m.KernelDensity(bandwidth=1.0, support=[(0, None), (None, None)]), flat),
    ("HistogramDensity", m.HistogramDensity, flat),
    ("NadarayaWatson", m.NadarayaWatson, line),
    ("NadarayaWatsonClassifier", m.NadarayaWatsonClassifier, numbers),
    ("LocalLinear", m.LocalLinear, line),
    ("DensityOutliers", lambda: m.DensityOutliers(random_state=0, fdr=0.3), flat),
    (
        "DensityOutliers one by one",
        lambda: m.DensityOutliers(m.KernelDensity(bandwidth="scott"), method="leave-one-out", fdr=0.3),
        flat,
    ),
    ("DensityOutliers of a frame", lambda: m.DensityOutliers(m.NaiveBayes(), random_state=0, fdr=0.3), mixed),
    ("LinearRegression", m.LinearRegression, line),
    ("Ridge", m.Ridge, line),
    ("Ridge that takes weights", _routed, line),
    ("RidgeCV", m.RidgeCV, line),
    ("Lasso", lambda: m.Lasso(alpha=0.01), line),
    ("LassoCV", lambda: m.LassoCV(cv=3), line),
    ("ElasticNet", lambda: m.ElasticNet(alpha=0.01), line),
    ("ElasticNetCV", lambda: m.ElasticNetCV(cv=3), line),
    ("PoissonRegressor", m.PoissonRegressor, counted),
    ("GammaRegressor", m.GammaRegressor, positive),
    ("LogNormalRegressor", m.LogNormalRegressor, positive),
    ("TweedieRegressor", lambda: m.TweedieRegressor(power=1.5), positive),
    ("LogisticRegression", m.LogisticRegression, numbers),
    ("OrdinalRegression", m.OrdinalRegression, numbers),
    ("LogisticRegressionCV", lambda: m.LogisticRegressionCV(cv=3, Cs=3), numbers),
    ("GLM", m.GLM, line),
    ("GLM softmax", lambda: m.GLM("categorical", penalty=f.L2(1.0)), numbers),
    ("GLM tweedie", lambda: m.GLM(f.Tweedie(1.5)), positive),
    ("GLM negative binomial", lambda: m.GLM(f.NegativeBinomial()), counted),
    ("GLM lasso", lambda: m.GLM("poisson", penalty=f.L1(0.5)), counted),
    ("GLM kernel", lambda: m.GLM("bernoulli", kernel=k.RBF(0.1), penalty=f.L2(1.0)), two),
    (
        "GLM of a frame",
        lambda: m.GLM("bernoulli", penalty=f.L2(1.0)),
        lambda: Data(mixed().X[["visits", "smokes"]], mixed().y),
    ),
    (
        "GLM of categories",
        lambda: m.GLM("bernoulli", penalty=f.L2(1.0)),
        lambda: Data(mixed().X[["visits", "city"]], mixed().y),
    ),
    ("LinearThreshold", lambda: m.LinearThreshold(max_iter=20), two),
    ("Perceptron", lambda: m.Perceptron(max_iter=20, random_state=np.random.RandomState(3)), numbers),
    ("Perceptron kernel", lambda: m.kernelize(m.Perceptron(max_iter=20), "rbf"), two),
    ("SVC", m.SVC, numbers),
    ("SVC kernel", lambda: m.SVC(kernel=k.RBF(0.1) + 2 * k.Linear() * k.Constant(3.0)), two),
    ("SVC linear sparse", lambda: m.SVC(kernel="linear"), sparse),
    ("SVC approximate", lambda: m.SVC(approximate="nystroem"), two),
    ("SVR", m.SVR, line),
    ("LinearSVC", m.LinearSVC, numbers),
    ("LinearSVR", m.LinearSVR, line),
    ("KernelRidge", lambda: m.KernelRidge(kernel="rbf", gamma=0.1), line),
    ("KernelRidge of strings", lambda: m.KernelRidge(kernel=k.Spectrum(2)), lambda: Data(words().X, np.arange(30.0))),
    ("kernelized logistic", lambda: m.kernelize(m.LogisticRegression(), k.RBF(0.1)), two),
    ("CountVectorizer", lambda: m.CountVectorizer(dtype=np.float32, ngram_range=(1, 2)), lambda: Data(words().X, None)),
    (
        "CountVectorizer given",
        lambda: m.CountVectorizer(vocabulary={"cat": 0, "mat": 1}),
        lambda: Data(words().X, None),
    ),
    (
        "CountVectorizer python",
        lambda: m.CountVectorizer(token_pattern=r"\b[a-z]+", strip_accents="unicode", stop_words=["the"]),
        lambda: Data(words().X, None),
    ),
    ("HashingVectorizer", lambda: m.HashingVectorizer(n_features=64), lambda: Data(words().X, None)),
    ("TfidfVectorizer", m.TfidfVectorizer, lambda: Data(words().X, None)),
    ("MonomialFeatures", m.MonomialFeatures, lambda: Data(numbers().X, None)),
    ("LogFeatures", m.LogFeatures, lambda: Data(np.abs(numbers().X), None)),
    ("SplineFeatures", m.SplineFeatures, lambda: Data(numbers().X, None)),
    ("RBFSampler", lambda: m.RBFSampler(n_components=8, random_state=0), lambda: Data(numbers().X, None)),
    (
        "RandomFourierFeatures",
        lambda: m.RandomFourierFeatures(n_components=8, random_state=np.random.RandomState(2)),
        lambda: Data(numbers().X, None),
    ),
    ("Nystroem", lambda: m.Nystroem(n_components=8, random_state=0), lambda: Data(numbers().X, None)),
    ("TableFeatures", m.TableFeatures, frame),
    ("CategoryFeatures", m.CategoryFeatures, lambda: Data(frame().X[["city", "visits"]], None)),
    (
        "CategoryFeatures hashed",
        lambda: m.CategoryFeatures(hashed=8),
        lambda: Data(frame().X[["city", "visits"]], None),
    ),
    ("KernelDensity of another metric", lambda: m.KernelDensity(metric="manhattan"), flat),
    (
        "KernelDensity transformed",
        lambda: m.KernelDensity(bandwidth=0.5, support=[(0, None), None], boundary="transform"),
        lambda: Data(np.abs(flat().X), None),
    ),
    ("KernelBayes by rule", lambda: m.KernelBayes(kernel="triweight"), numbers),
    ("HistogramDensity by width", lambda: m.HistogramDensity(bins=f.Width(0.5)), flat),
    ("NaiveBayes of sparse counts", m.NaiveBayes, sparse),
    ("NaiveBayes of vectors", lambda: m.NaiveBayes(families={("x0", "x1"): f.MultivariateGaussian()}), numbers),
    (
        "NaiveBayes of shares",
        lambda: m.NaiveBayes(families={("x0", "x1"): f.Dirichlet()}),
        lambda: Data(np.column_stack([shares := 1 / (1 + np.exp(numbers().X[:, 2] - 10)), 1 - shares]), numbers().y),
    ),
    ("NaiveBayes of other counts", lambda: m.NaiveBayes(families=f.NegativeBinomial()), tally),
    ("GaussianDiscriminant diagonal", lambda: m.GaussianDiscriminant("diagonal", shrinkage="oas"), numbers),
    ("GaussianDiscriminant spherical", lambda: m.GaussianDiscriminant("shared spherical"), numbers),
    (
        "LinearDiscriminantAnalysis delegated",
        lambda: m.LinearDiscriminantAnalysis(solver="eigen", covariance_estimator=OAS()),
        numbers,
    ),
    (
        "QuadraticDiscriminantAnalysis eigen",
        lambda: m.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        numbers,
    ),
    ("KernelRidge tuned", lambda: m.KernelRidge(kernel="rbf", alpha="loo"), line),
    ("KernelRidge approximate", lambda: m.KernelRidge(kernel=k.RBF(0.1), approximate="fourier"), line),
    ("GLM approximate", lambda: m.GLM("bernoulli", kernel=k.RBF(0.1), penalty=f.L2(1.0), approximate="fourier"), two),
    (
        "GLM of subsequences",
        lambda: m.GLM("bernoulli", kernel=k.Subsequence(2), penalty=f.L2(1.0)),
        lambda: Data(words().X[:12], np.arange(12) % 2),
    ),
    ("SVC of normed polynomials", lambda: m.SVC(kernel=k.Normalised(k.Polynomial(2))), two),
    ("SVC of columns", lambda: m.SVC(kernel=k.Columns(k.RBF(1.0), [0, 2]) + k.Laplacian(0.1)), two),
    ("SVC precomputed", lambda: m.SVC(kernel="precomputed"), lambda: Data(numbers().X @ numbers().X.T, two().y)),
    ("SVR by features", lambda: m.SVR(approximate="fourier"), line),
    ("LinearSVC lasso", lambda: m.LinearSVC(penalty="l1", dual=False), numbers),
    ("LogisticRegression of frames", m.LogisticRegression, lambda: Data(frame().X[["visits", "smokes"]], frame().y)),
    ("LinearRegression of several", m.LinearRegression, lambda: Data(numbers().X, numbers().X[:, :2] ** 2)),
    (
        "RandomFourierFeatures of Hadamard",
        lambda: m.RandomFourierFeatures(n_components=8, sampling="hadamard", random_state=1),
        lambda: Data(numbers().X, None),
    ),
    (
        "Nystroem of a kernel",
        lambda: m.Nystroem(kernel=k.Matern(), n_components=8, random_state=0),
        lambda: Data(numbers().X, None),
    ),
    ("BucketFeatures by quantiles", lambda: m.BucketFeatures(output="encoded"), lambda: Data(gaps().X, None)),
    (
        "TfidfTransformer",
        lambda: m.TfidfTransformer(sublinear_tf=True, norm="l1"),
        lambda: Data(sparse().X, None),
    ),
    (
        "ConformalRegressor scaled",
        lambda: decision.ConformalRegressor(m.Ridge(), coverage=0.8, method="normalised", random_state=1),
        line,
    ),
    ("Calibrated by Platt", lambda: decision.Calibrated(m.SVC(), method="platt", cv=3), two),
    (
        "Decision of a table",
        lambda: decision.Decision(make_pipeline(m.TableFeatures(), m.LogisticRegression()), reject=0.1),
        frame,
    ),
    ("Decision", lambda: decision.Decision(m.GaussianNB(), costs=[[0, 1, 5], [1, 0, 1], [2, 1, 0]]), numbers),
    ("Calibrated", lambda: decision.Calibrated(m.GaussianNB(), cv=3), numbers),
    ("Calibrated by steps", lambda: decision.Calibrated(m.LinearSVC(), method="isotonic", cv=3), numbers),
    (
        "ConformalClassifier",
        lambda: decision.ConformalClassifier(m.GaussianNB(), coverage=0.8, random_state=0),
        numbers,
    ),
    ("ConformalRegressor", lambda: decision.ConformalRegressor(m.Ridge(), coverage=0.8, cv=KFold(3)), line),
    ("Tuned target", _tuned_target, line),
    ("DummyClassifier", DummyClassifier, numbers),
    ("Pipeline of filled columns", lambda: make_pipeline(SimpleImputer(), m.Ridge()), lambda: Data(gaps().X, line().y)),
    (
        "Pipeline of a table",
        lambda: Pipeline([("features", m.TableFeatures()), ("model", m.LogisticRegression())]),
        frame,
    ),
    (
        "Pipeline of scales",
        lambda: make_pipeline(RobustScaler(), MaxAbsScaler(), Normalizer(), DummyRegressor()),
        line,
    ),
    ("OrdinalEncoder", OrdinalEncoder, lambda: Data(frame().X[["city"]], None)),
    ("MissingIndicator", MissingIndicator, lambda: Data(gaps().X, None)),
    (
        "LinearDiscriminantAnalysis of a shrunk covariance",
        lambda: m.LinearDiscriminantAnalysis(solver="eigen", covariance_estimator=ShrunkCovariance()),
        numbers,
    ),
    (
        "QuadraticDiscriminantAnalysis shrunk",
        lambda: m.QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=LedoitWolf()),
        numbers,
    ),
    (
        "NaiveBayes of waits and shares",
        lambda: m.NaiveBayes(families={"x0": f.Exponential(), "x1": f.InverseGaussian(), "x2": f.Beta()}),
        lambda: Data(1 / (1 + np.exp(0.1 * numbers().X - 1)), numbers().y),
    ),
    (
        "NaiveBayes of marks",
        lambda: m.NaiveBayes(families=f.Bernoulli()),
        lambda: Data(1.0 * (tally().X > 1), tally().y),
    ),
    ("GLM probit", lambda: m.GLM("bernoulli", link="probit", penalty=f.L2(1.0)), two),
    (
        "RandomFourierFeatures of many columns",
        lambda: m.RandomFourierFeatures(n_components=256, sampling="hadamard", random_state=1),
        lambda: Data(np.tile(numbers().X, 70), None),
    ),
    ("TableFeatures of a formula", lambda: m.TableFeatures(formula="visits + C(city)"), mixed),
    ("NadarayaWatson triangular", lambda: m.NadarayaWatson(kernel="triangular", bandwidth=3.0), line),
    ("KernelDensity exponential", lambda: m.KernelDensity(kernel="exponential", bandwidth="silverman"), flat),
    ("Pipeline of text", lambda: make_pipeline(m.TfidfVectorizer(), m.MultinomialNB()), words),
    ("Pipeline of a union", lambda: make_pipeline(_union(), m.LogisticRegression()), numbers),
    ("Pipeline of columns", lambda: make_pipeline(_columns(), m.GaussianNB()), frame),
    (
        "Pipeline into a frame",
        lambda: make_pipeline(MinMaxScaler()).set_output(transform="pandas"),
        lambda: Data(frame().X[["visits"]], None),
    ),
)
