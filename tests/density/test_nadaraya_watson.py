"""Nadaraya–Watson regression: the ratio of two sums, and what is rejected; what it shares is in test_regressor.py."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from mercer import NadarayaWatson
from mercer._errors import (
    BandwidthError,
    ColumnTypeError,
    DataError,
    DeviceError,
    KernelError,
    NonFiniteError,
    TooLargeError,
)
from mercer.density import Bandwidth, Epanechnikov
from mercer.density._kernels import SMOOTHING_KERNELS
from tests.density._waves import draw

Array = np.ndarray


@pytest.mark.parametrize("kernel", sorted(SMOOTHING_KERNELS))
def test_the_prediction_is_the_ratio_of_two_sums(kernel: str) -> None:
    X, y = draw(d=1)
    queries = np.linspace(-2, 2, 30)[:, None]
    K = NadarayaWatson(kernel, 0.8).fit(X, y).weights(queries)
    profile = SMOOTHING_KERNELS[kernel]().profile(np.abs(queries - X.T) / 0.8)
    assert_allclose(NadarayaWatson(kernel, 0.8).fit(X, y).predict(queries), profile @ y / profile.sum(axis=1))
    assert_allclose(K, profile / profile.sum(axis=1, keepdims=True), atol=1e-15)


def test_predictions_lie_between_the_values() -> None:
    X, y = draw()
    found = NadarayaWatson(bandwidth=0.5).fit(X, y).predict(100 * draw(seed=1)[0])
    assert y.min() <= found.min() <= found.max() <= y.max()


def test_the_chosen_bandwidth_can_be_reused() -> None:
    X, y = draw()
    fitted = NadarayaWatson().fit(X, y)
    assert_array_equal(NadarayaWatson(bandwidth=fitted.bandwidth_).fit(X, y).predict(X), fitted.predict(X))


@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
def test_unbounded_kernels_reach_everywhere(kernel: str) -> None:
    X, y = draw()
    fitted = NadarayaWatson(kernel, 0.01, out_of_reach="error").fit(X, y)
    assert np.isfinite(fitted.predict(np.array([[1e6, -1e6], [0.0, 1e3]]))).all()
    assert_allclose(fitted.weights(np.array([[100.0, 100.0], [0.0, 0.0]])).sum(axis=1), 1.0)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_are_accepted(frame: Any) -> None:
    X, y = draw()
    named = frame({"a": X[:, 0], "b": X[:, 1]})
    fitted = NadarayaWatson(bandwidth=0.5).fit(named, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    assert_allclose(fitted.predict(named), NadarayaWatson(bandwidth=0.5).fit(X, y).predict(X))


def test_models_can_be_pickled_and_cloned() -> None:
    X, y = draw()
    model = NadarayaWatson(Epanechnikov("product"), Bandwidth(0.9))
    fitted = clone(model).fit(X, y)
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_a_failed_fit_leaves_the_old_model() -> None:
    X, y = draw()
    fitted = NadarayaWatson(bandwidth=0.5).fit(X, y)
    before = fitted.predict(X)
    with pytest.raises(NonFiniteError):
        fitted.fit(np.full((3, 1), np.nan), [1, 2, 3])
    assert_array_equal(fitted.predict(X), before)


def with_hole(X: Array, value: float) -> Array:
    X = X.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda X, y: (with_hole(X, np.nan), y), NonFiniteError, r"'x1'.*row 3"),
        (lambda X, y: (with_hole(X, np.inf), y), NonFiniteError, r"'x1'.*row 3"),
        (lambda X, y: (X, np.where(np.arange(40) == 7, np.nan, y)), NonFiniteError, "row 7"),
        (lambda X, y: (np.column_stack([X[:, 0], np.ones(40)]), y), BandwidthError, r"'x1' is constant"),
        (lambda X, y: (X, y[:-1]), ValueError, "inconsistent numbers"),
        (lambda X, y: (X, ["high"] * 40), DataError, "high"),
        (lambda X, y: (X, None), DataError, "requires y"),
        (
            lambda X, y: (pd.DataFrame({"a": X[:, 0], "b": ["x"] * 40}), y),
            ColumnTypeError,
            r"'b'.*categorical=\"auto\"",
        ),
        (lambda X, y: (X, np.zeros((40, 2, 2))), DataError, "shape"),
    ],
)
def test_invalid_data_are_named(change: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=f"(?s){says}"):
        NadarayaWatson().fit(*change(*draw()))


@pytest.mark.parametrize(
    ("parameters", "error", "says"),
    [
        ({"bandwidth": 0.0}, BandwidthError, "above 0"),
        ({"bandwidth": -1.0}, BandwidthError, "above 0"),
        ({"bandwidth": [1.0, 2.0, 3.0]}, BandwidthError, "3 columns"),
        ({"bandwidth": [[1.0, 2.0], [2.0, 1.0]]}, BandwidthError, "positive definite"),
        ({"bandwidth": "scot-scaled"}, BandwidthError, "scott-scaled"),
        ({"kernel": "gausian"}, KernelError, "gaussian"),
        ({"categorical": "all"}, DataError, "auto"),
        ({"out_of_reach": "zero"}, ValueError, "out_of_reach"),
    ],
)
def test_invalid_parameters_are_named(parameters: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        NadarayaWatson(**parameters).fit(*draw())


def test_zero_and_negative_weights_are_rejected() -> None:
    X, y = draw()
    with pytest.raises(ValueError, match="non-zero"):
        NadarayaWatson().fit(X, y, np.zeros(40))
    with pytest.raises(DataError, match="Negative"):
        NadarayaWatson().fit(X, y, -np.ones(40))


def test_sparse_rows_are_rejected() -> None:
    X, y = draw()
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        NadarayaWatson().fit(sparse.csr_matrix(X), y)


def test_a_matrix_of_weights_that_does_not_fit_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = draw()
    fitted = NadarayaWatson(bandwidth=0.5).fit(X, y)
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 1000)
    with pytest.raises(TooLargeError, match="40 × 40 weights"):
        fitted.weights(X)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
@pytest.mark.parametrize("outputs", [(), (2,)])
def test_tensors_agree_with_arrays(kernel, outputs):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, queries, weight = rng.normal(size=(150, 2)), rng.normal(size=(30, 2)) * 9, rng.uniform(size=150)
    y = rng.normal(size=(150, *outputs)) + 100
    of_arrays = NadarayaWatson(kernel, 0.6).fit(X, y, weight)
    of_tensors = NadarayaWatson(kernel, 0.6).fit(*map(torch.as_tensor, (X, y, weight)))
    expected, found = of_arrays.predict(queries), of_tensors.predict(torch.as_tensor(queries))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(of_arrays.predict(torch.as_tensor(queries).float()).numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(of_tensors.score(torch.as_tensor(X), torch.as_tensor(y)), of_arrays.score(X, y))
    np.testing.assert_allclose(of_tensors.predict_interval(torch.as_tensor(queries)).mean, expected, rtol=1e-9)


def test_tensors_out_of_reach_have_the_requested_prediction():
    torch = pytest.importorskip("torch")
    model = NadarayaWatson("uniform", 1.0, out_of_reach="error").fit(torch.zeros(3, 1), torch.ones(3))
    with pytest.raises(DataError, match="row 1 of X"):
        model.predict(torch.tensor([[0.0], [5.0]]))
    with pytest.raises(DeviceError, match="do not move tensors"):
        model.fit(torch.zeros(3, 1), torch.ones(3, device="meta"))
