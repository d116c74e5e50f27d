"""Feature maps of a source: learnt from its rows however they are cut, and applied to them as they are read."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from mercer import (
    SVC,
    BucketFeatures,
    GaussianNB,
    KernelBayes,
    KernelRidge,
    LassoCV,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LinearThreshold,
    LocalLinear,
    LogFeatures,
    LogisticRegressionCV,
    MonomialFeatures,
    NadarayaWatsonClassifier,
    Nystroem,
    RandomFourierFeatures,
    RBFSampler,
    Ridge,
    SplineFeatures,
    TableFeatures,
)
from mercer.base.sources import fit_to_sample
from mercer.data.sources.base import Source
from mercer.data.sources.memory import MemorySource
from mercer.data.sources.read_all import read_all
from mercer.preprocessing.statistics import StatisticFeatures

ROWS = 200
MAPS = [
    MonomialFeatures(2),
    LogFeatures(),
    BucketFeatures("quantiles", output="array"),
    BucketFeatures("decades", output="array"),
    BucketFeatures("width", n_buckets=4),
    SplineFeatures(),
    RBFSampler(random_state=0),
    RBFSampler(random_state=0, gamma="scale"),
    RandomFourierFeatures(random_state=0, gamma=0.5),
]


@functools.cache
def rows():
    rng = np.random.default_rng(7)
    X = np.abs(rng.normal(size=(ROWS, 3)) * [1.0, 100.0, 3.0])
    X[::5] = X[0]  # some rows are equal
    return X, (X[:, 0] > rng.exponential(size=ROWS)).astype(int)


def dense(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


def values(source):
    return dense(read_all(source).X)


def fitted_to_sample(features, source, most_numbers):
    fit_to_sample(features, source, lambda model, rows: model.fit(rows), most_numbers=most_numbers)
    return features


@pytest.mark.parametrize("features", MAPS, ids=str)
@pytest.mark.parametrize("size", [1000, 33])
def test_features_of_a_source_agree_with_its_rows(features, size):
    X, y = rows()
    expected = dense(features.fit(X).transform(X))
    streamed = features.fit_transform(MemorySource(X, y, rows=size))
    assert isinstance(streamed, Source)
    np.testing.assert_allclose(values(streamed), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("features", [*MAPS, Nystroem(n_components=20, random_state=0)], ids=str)
def test_neither_chunks_nor_order_change_the_sample(features):
    X, _ = rows()
    X = np.vstack([X, np.random.default_rng(0).exponential(size=(2000, 3))])
    once, again = (
        values(fitted_to_sample(features, source, most_numbers=3000).transform(MemorySource(X)))
        for source in (MemorySource(X, rows=500), MemorySource(X[::-1], rows=77))
    )
    np.testing.assert_allclose(again, once, rtol=1e-9, atol=1e-12)


def test_extremes_and_gaps_outside_the_sample_are_used():
    X = np.random.default_rng(0).uniform(size=(5000, 1))
    X[17], X[4000], X[2500] = -50.0, 70.0, np.nan
    features = fitted_to_sample(BucketFeatures("width", n_buckets=3), MemorySource(X, rows=100), most_numbers=1000)
    np.testing.assert_allclose(features.edges_[0], np.linspace(-50, 70, 4))
    assert features.get_feature_names_out()[-1] == "x0 missing"


def test_names_of_columns_are_kept():
    frame = pd.DataFrame(rows()[0], columns=["a", "b", "c"])
    assert LogFeatures().fit(MemorySource(frame, rows=50)).feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_pipeline_streams():
    X, y = rows()
    pipeline = make_pipeline(StatisticFeatures(GaussianNB()), LinearDiscriminantAnalysis())
    expected = pipeline.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(pipeline.fit(MemorySource(X, y, rows=40)).predict_proba(X), expected, rtol=1e-8)
    assert pipeline[-1].plan_.source is not None


def test_landmarks_and_ridge():
    X, y = rows()
    model = make_pipeline(Nystroem(n_components=30, random_state=0), Ridge(alpha=0.1)).fit(MemorySource(X, y, rows=40))
    again = make_pipeline(Nystroem(n_components=30, random_state=0), Ridge(alpha=0.1)).fit(MemorySource(X, y, rows=91))
    np.testing.assert_allclose(model.predict(X), again.predict(X), rtol=1e-7)


#: models that need all rows together
AT_ONCE = [
    SVC(),
    KernelBayes(),
    NadarayaWatsonClassifier(),
    LinearSVC(random_state=0),
    LinearThreshold(random_state=0),
    LogisticRegressionCV(l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False),
    LassoCV(),
    KernelRidge(),
    LocalLinear(),
]


@pytest.mark.parametrize("model", AT_ONCE, ids=lambda model: type(model).__name__)
def test_categories_stay_codes_before_a_model_that_needs_all_rows(model):
    X, y = rows()
    cities = np.array(["Ulm", "Bonn", "Jena"])[(X[:, 2] * 3).astype(int) % 3]
    frame = pd.DataFrame({"size": X[:, 0], "city": cities, "weight": X[:, 1]})
    pipeline = make_pipeline(TableFeatures(), model)
    answer = "decision_function" if hasattr(model, "decision_function") else "predict"
    expected = getattr(pipeline.fit(frame, y), answer)(frame)
    streamed = pipeline.fit(MemorySource(frame, y, rows=33))
    np.testing.assert_allclose(getattr(streamed, answer)(frame), expected, rtol=1e-8, atol=1e-10)
    assert list(streamed[-1].feature_names_in_) == list(streamed[0].get_feature_names_out())
