"""Every estimator accepts a source: those that need all rows together read them into memory if they fit."""

from __future__ import annotations

import inspect

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

import mercer
from mercer import (
    SVC,
    SVR,
    ElasticNetCV,
    KernelDensity,
    KernelRidge,
    LassoCV,
    LinearSVC,
    LinearSVR,
    LogisticRegressionCV,
    NadarayaWatson,
    NadarayaWatsonClassifier,
    RidgeCV,
    kernelize,
)
from mercer._errors import DataError, TooLargeError
from mercer.data.sources import read_all
from mercer.data.sources.memory import MemorySource

ROWS = 60
MODELS = [
    SVC(),
    SVR(),
    LinearSVC(),
    LinearSVR(),
    KernelRidge(kernel="rbf"),
    NadarayaWatson(bandwidth=0.5),
    NadarayaWatsonClassifier(bandwidth=0.5),
    LogisticRegressionCV(Cs=[0.1, 1.0], cv=3, l1_ratios=(0,), use_legacy_attributes=False),
    RidgeCV(alphas=[0.1, 1.0], cv=3),
    LassoCV(alphas=[0.1, 0.2], cv=3),
    ElasticNetCV(alphas=[0.1, 0.2], cv=3),
    kernelize(mercer.LogisticRegression(), "rbf"),
]


def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, 2))
    return X, (X[:, 0] > rng.normal(size=ROWS)).astype(int)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_rows_are_read_into_memory_where_a_model_needs_them_together(model):
    X, y = rows()
    expected = model.fit(X, y).predict(X)
    again = model.fit(MemorySource(X, y, rows=7))
    np.testing.assert_allclose(again.predict(X), expected, rtol=1e-6)


def test_densities():
    X, _ = rows()
    expected = KernelDensity().fit(X).score_samples(X)
    np.testing.assert_allclose(KernelDensity().fit(MemorySource(X, rows=7)).score_samples(X), expected)


def test_rows_that_do_not_fit_into_memory_are_rejected(monkeypatch):
    def fail(needed, what, instead):
        raise TooLargeError(f"{what} … {instead}")

    monkeypatch.setattr(read_all, "check_memory", fail)
    with pytest.raises(TooLargeError, match=r"needs together.*a model that streams"):
        SVC().fit(MemorySource(*rows()))


@pytest.mark.parametrize("name", [name for name in mercer.__all__ if hasattr(getattr(mercer, name), "fit")])
def test_every_estimator_takes_a_source(name):
    fit = getattr(mercer, name).fit
    assert hasattr(fit, "__wrapped__"), f"{name}.fit takes no source"
    assert "checkpoint" not in inspect.signature(fit).parameters  # scikit-learn's parameters, exactly


def test_weights_and_offsets_that_a_model_does_not_take_are_rejected():
    X, y = rows()
    with pytest.raises(DataError, match="KernelRidge takes no offset; open the source without"):
        KernelRidge().fit(MemorySource(X, y, offset=np.ones(ROWS)))
    with pytest.raises(DataError, match="GaussianNB takes no offset; open the source without one, or use GLM"):
        mercer.GaussianNB().fit(MemorySource(X, y, offset=np.ones(ROWS)))


def test_weights_are_for_the_model_behind_the_features():
    X, y = rows()
    source = MemorySource(sparse.csr_array(X), y, weight=np.ones(ROWS), offset=np.ones(ROWS))
    mapped = mercer.Nystroem(n_components=5, random_state=0).fit(source).transform(source)
    assert mapped.head().weight.tolist() == [1.0] * ROWS


def test_models_in_memory_report_skipped_pieces_too():
    X, y = rows()
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": [None, *y[1:].tolist()]})
    plan = SVC().fit(mercer.data.open(table, target="y")).plan_
    assert plan.skipped == ("1 rows of frame 0 without a value of 'y'",)
    assert plan.passes == 1
