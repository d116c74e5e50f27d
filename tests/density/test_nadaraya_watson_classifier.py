"""A weighted vote is Bayes' rule with Parzen windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from mercer import KernelBayes, NadarayaWatson, NadarayaWatsonClassifier
from mercer._errors import DataError, NonFiniteError
from mercer.density import Bandwidth, Windows, smoothing_kernel_from
from tests.density._conventions import assert_conventions

Array = np.ndarray


def draw(n: int = 60, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    return rng.normal(size=(n, 2)) + y[:, None], np.array(["ant", "bee", "cat"])[y]


def test_the_classifier_is_bayes_rule_with_a_common_bandwidth() -> None:
    X, y = draw()
    queries = draw(20, seed=1)[0]
    joint = []
    for label in ("ant", "bee", "cat"):
        windows = Windows(smoothing_kernel_from("gaussian"), Bandwidth(0.7), X[y == label])
        joint.append(np.log(np.mean(y == label)) + windows.log_density(queries))
    posterior = np.exp(joint - np.logaddexp.reduce(joint)).T
    fitted = NadarayaWatsonClassifier(bandwidth=0.7).fit(X, y)
    assert_allclose(fitted.predict_proba(queries), posterior, atol=1e-12)
    assert_array_equal(fitted.predict(queries), fitted.classes_[posterior.argmax(axis=1)])
    assert_allclose(fitted.predict_log_proba(queries), np.log(posterior), atol=1e-9)


def test_kernel_bayes_with_a_common_bandwidth_agrees() -> None:
    X, y = draw()
    ours = NadarayaWatsonClassifier(bandwidth=0.7).fit(X, y).predict_proba(X)
    assert_allclose(KernelBayes(bandwidth=0.7).fit(X, y).predict_proba(X), ours, atol=1e-10)


def test_two_classes_are_a_regression_on_zero_and_one() -> None:
    X, y = draw()
    votes = NadarayaWatsonClassifier(bandwidth=0.5).fit(X, y == "ant").predict_proba(X)[:, 1]
    assert_allclose(votes, NadarayaWatson(bandwidth=0.5).fit(X, (y == "ant") * 1.0).predict(X), atol=1e-12)


def test_the_default_minimizes_the_leave_one_out_brier_score() -> None:
    X, y = draw()

    def brier(fitted: Any) -> float:
        return float(np.mean(((fitted.leave_one_out_proba_ - (y[:, None] == fitted.classes_)) ** 2).sum(axis=1)))

    fitted = NadarayaWatsonClassifier().fit(X, y)
    assert_allclose(fitted.bandwidth_choice_.error, brier(fitted))
    for factors in ([0.8, 1], [1.25, 1], [1, 0.8], [1, 1.25]):
        other = NadarayaWatsonClassifier(bandwidth=fitted.bandwidth_.value * factors).fit(X, y)
        assert brier(fitted) <= brier(other)


def test_the_order_of_rows_does_not_affect_the_bandwidth() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 2)) * (rng.random((20, 2)) < 0.2)
    y, order = np.random.default_rng(3).integers(0, 2, size=20), np.random.default_rng(5).permutation(20)
    chosen = NadarayaWatsonClassifier().fit(X, y).bandwidth_
    assert NadarayaWatsonClassifier().fit(X[order], y[order]).bandwidth_ == chosen


def test_leave_one_out_votes_agree_with_refits() -> None:
    X, y = draw(20)
    fitted = NadarayaWatsonClassifier("epanechnikov", 1.0).fit(X, y)
    for i in range(20):
        others = np.arange(20) != i
        refit = NadarayaWatsonClassifier("epanechnikov", 1.0).fit(X[others], y[others])
        assert_allclose(fitted.leave_one_out_proba_[i], refit.predict_proba(X[[i]])[0], atol=1e-10)


def test_small_probabilities_keep_their_digits() -> None:
    X, y = np.array([[0.0], [20.0]]), [0, 1]
    proba = NadarayaWatsonClassifier(bandwidth=1.0).fit(X, y).predict_proba([[1.0]])
    assert_allclose(proba, [[1.0, np.exp((1 - 19**2) / 2)]], rtol=1e-10)


@pytest.mark.parametrize(("way", "expected"), [("nearest", [0, 0, 1]), ("mean", [0.5, 0.25, 0.25])])
def test_out_of_reach_probabilities_follow_the_option(way: str, expected: list[float]) -> None:
    X, y = np.array([[0.0], [0.1], [0.2], [9.0]]), ["a", "a", "b", "c"]
    fitted = NadarayaWatsonClassifier("uniform", 1.0, out_of_reach=way).fit(X, y)
    assert_allclose(fitted.predict_proba([[50.0]]), [expected])
    fitted = NadarayaWatsonClassifier("uniform", 1.0, out_of_reach="nan").fit(X, y)
    assert np.isnan(fitted.predict_proba([[50.0]])).all()
    assert fitted.predict([[50.0]]) == "a"


def test_weights_multiply_votes() -> None:
    X, y = draw()
    weight = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = NadarayaWatsonClassifier(bandwidth=0.7).fit(X, y, weight)
    repeated = NadarayaWatsonClassifier(bandwidth=0.7).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)


def test_iris_is_classified() -> None:
    X, y = load_iris(return_X_y=True)
    fitted = NadarayaWatsonClassifier().fit(X, y)
    assert np.mean(fitted.classes_[fitted.leave_one_out_proba_.argmax(axis=1)] == y) >= 0.95


def test_invalid_labels_are_named() -> None:
    X, y = draw()
    with pytest.raises(NonFiniteError, match="row 3"):
        NadarayaWatsonClassifier().fit(X, np.where(np.arange(60) == 3, np.nan, 1.0))
    with pytest.raises(DataError, match="continuous"):
        NadarayaWatsonClassifier().fit(X, np.linspace(0, 1, 60))
    with pytest.raises(DataError, match="requires y"):
        NadarayaWatsonClassifier().fit(X, None)
    with pytest.raises(DataError, match="inconsistent"):
        NadarayaWatsonClassifier().fit(X, y[:-1])


def test_follows_the_conventions_of_scikit_learn() -> None:
    assert_conventions(NadarayaWatsonClassifier())


@pytest.mark.parametrize("labels", [np.array([3, 7]), np.array(["a", "b"])])
def test_tensors_agree_with_arrays(labels):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(100, 2)), rng.normal(size=(30, 2)) * 5
    y = labels[(X[:, 0] > 0).astype(int)]
    of_arrays = NadarayaWatsonClassifier(bandwidth=0.5).fit(X, y)
    numeric = labels.dtype.kind == "i"
    of_tensors = NadarayaWatsonClassifier(bandwidth=0.5).fit(torch.as_tensor(X), torch.as_tensor(y) if numeric else y)
    proba = of_tensors.predict_proba(torch.as_tensor(queries))
    np.testing.assert_allclose(proba.numpy(), of_arrays.predict_proba(queries), atol=1e-9)
    np.testing.assert_array_equal(
        of_tensors.predict_log_proba(torch.as_tensor(queries)).exp().numpy() > 0.5, proba > 0.5
    )
    predicted = of_tensors.predict(torch.as_tensor(queries))
    assert isinstance(predicted, torch.Tensor if numeric else np.ndarray)
    np.testing.assert_array_equal(np.asarray(predicted), of_arrays.predict(queries))
    assert of_tensors.score(torch.as_tensor(X), y) == of_arrays.score(X, y)
