"""Classifiers and histograms of a source are those of the rows in memory, however the rows are cut and in any order."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDiscriminant,
    GaussianNB,
    HistogramDensity,
    KernelBayes,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from mercer._errors import DataError, EmptyDataError
from mercer.data.sources.memory import MemorySource
from mercer.families import Histogram, Poisson

ROWS = 301


@functools.cache
def numbers():
    rng = np.random.default_rng(3)
    X = rng.normal(loc=[0.0, 1e8, 0.0, -3.0], size=(ROWS, 4))
    y = np.array(["a", "b", "c"])[rng.integers(3, size=ROWS)]
    X[y == "b", 0] += 1
    return X, y


@functools.cache
def counts():
    rng = np.random.default_rng(4)
    return rng.poisson(1.0, size=(ROWS, 5)).astype(float), rng.integers(2, size=ROWS)


def mixed():
    X, y = numbers()
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": X[:, 0], "n": rng.poisson(2.0, ROWS), "c": rng.choice(["u", "v", None], ROWS)})
    frame.loc[ROWS - 1, "c"] = "seen in the last row alone"
    frame.loc[::7, "x"] = np.nan
    return frame, y


MODELS = [
    (GaussianNB(), numbers),
    (GaussianDiscriminant(), numbers),
    (GaussianDiscriminant("shared diagonal"), numbers),
    (LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), numbers),
    (QuadraticDiscriminantAnalysis(), numbers),
    (BernoulliNB(), counts),
    (MultinomialNB(), counts),
    (ComplementNB(), counts),
    (CategoricalNB(), counts),
    (KernelBayes(bandwidth=1.0), numbers),
    (NaiveBayes(), mixed),
    (NaiveBayes({"n": Poisson(), "x": Histogram(5)}), mixed),
]


def case_name(case):
    return getattr(case, "__name__", None) or str(case)


def scores(model, X):
    return model.predict_joint_log_proba(X)


@pytest.mark.parametrize(("model", "data"), MODELS, ids=case_name)
@pytest.mark.parametrize("rows", [1000, 37])
def test_streamed_fits_agree_with_fits_in_memory(model, data, rows):
    X, y = data()
    expected = scores(model.fit(X, y), X)
    streamed = model.fit(MemorySource(X, y, rows=rows))
    np.testing.assert_array_equal(streamed.classes_, np.unique(y))
    np.testing.assert_allclose(scores(streamed, X), expected, rtol=1e-9, atol=1e-9)
    assert streamed.plan_.source == f"{ROWS} rows in memory"
    assert f"1 pass over {ROWS} rows in memory of " in str(streamed.plan_)


@pytest.mark.parametrize(("model", "data"), MODELS[:3] + MODELS[-2:-1], ids=case_name)
def test_the_order_of_blocks_does_not_matter(model, data):
    X, y = data()
    order = np.concatenate(np.array_split(np.arange(ROWS), 5)[::-1])
    shuffled = X.iloc[order].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[order]
    expected = scores(model.fit(X, y), X)
    np.testing.assert_allclose(scores(model.fit(MemorySource(shuffled, y[order], rows=61)), X), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "data"), [(GaussianNB(), numbers), (MultinomialNB(), counts), (NaiveBayes(), mixed)], ids=case_name
)
def test_weights_come_with_the_source(model, data):
    X, y = data()
    weight = np.random.default_rng(0).integers(3, size=ROWS).astype(float)
    expected = scores(model.fit(X, y, weight), X)
    np.testing.assert_allclose(scores(model.fit(MemorySource(X, y, weight, rows=50)), X), expected, rtol=1e-9)


def test_sparse_counts():
    X, y = counts()
    expected = scores(MultinomialNB().fit(X, y), X)
    np.testing.assert_allclose(scores(MultinomialNB().fit(MemorySource(sparse.csr_matrix(X), y, rows=9)), X), expected)


def test_rows_are_forgotten_after_streaming():
    X, y = numbers()
    left = GaussianNB().fit(MemorySource(X, y, rows=20)).forget(X[:50], y[:50])
    np.testing.assert_allclose(scores(left, X), scores(GaussianNB().fit(X[50:], y[50:]), X), rtol=1e-6)


def test_a_class_of_the_last_chunk_is_learnt():
    X, y = np.arange(12.0)[:, None], np.array([0] * 5 + [1] * 5 + [2] * 2)
    np.testing.assert_array_equal(GaussianNB().fit(MemorySource(X, y, rows=5)).classes_, [0, 1, 2])


@pytest.mark.parametrize("bins", [7, np.linspace(-9, 9, 5), "scott"], ids=str)
def test_histograms(bins):
    X = numbers()[0][:, :1]
    expected = HistogramDensity(bins).fit(X)
    streamed = HistogramDensity(bins).fit(MemorySource(X, rows=40))
    np.testing.assert_array_equal(streamed.edges_[0], expected.edges_[0])
    np.testing.assert_allclose(streamed.density_, expected.density_, rtol=1e-12)


def test_a_failed_pass_leaves_the_old_model():
    X, y = numbers()
    model = GaussianNB().fit(X, y)
    before = model.theta_.copy()
    broken = X.copy()
    broken[-1, 2] = np.inf
    with pytest.raises(DataError, match="infinity"):
        model.fit(MemorySource(broken, y, rows=100))
    np.testing.assert_array_equal(model.theta_, before)


def test_options_that_exclude_a_source_are_rejected():
    X, y = numbers()
    source = MemorySource(X, y)
    with pytest.raises(DataError, match="leave y out"):
        GaussianNB().fit(source, y)
    with pytest.raises(DataError, match="columns of it"):
        GaussianNB().fit(source, sample_weight=np.ones(ROWS))
    with pytest.raises(DataError, match="checkpoint"):
        GaussianNB().fit(X, y, checkpoint="somewhere")
    with pytest.raises(DataError, match="requires y"):
        GaussianNB().fit(MemorySource(X))
    with pytest.raises(EmptyDataError, match="no rows"):
        GaussianNB().fit(MemorySource(X[:0], y[:0]))


def test_a_missing_column_in_a_later_chunk_is_named():
    X, y = numbers()

    def narrower_at_the_end(chunk):
        return chunk if chunk.n_rows == 100 else chunk._replace(X=chunk.X[:, :3])

    with pytest.raises(ValueError, match="3 features"):
        GaussianNB().fit(MemorySource(X, y, rows=100).map(narrower_at_the_end))
