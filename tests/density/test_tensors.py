"""Densities and local means of tensors are those of arrays, and sums that underflow are computed in log space."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from mercer.density import Bandwidth, Windows, smoothing_kernel_from
from mercer.density._kernels import SMOOTHING_KERNELS
from mercer.density._mixed import MixedRows
from mercer.density._regression import LocalMeans
from mercer.density._regression import evaluate as answers_of_arrays
from mercer.density._tensor_sums import _get_copy, evaluate, has_tensor_sums, log_density
from tests._gpu._devices import DEVICES, TOLERANCE

torch = pytest.importorskip("torch")
NAMES = sorted({kernel().name for kernel in SMOOTHING_KERNELS.values()})
WIDTHS = [0.7, [0.5, 0.8, 1.2], [[0.5, 0.2, 0.0], [0.2, 0.4, 0.0], [0.0, 0.0, 0.3]]]


def data():
    """Points, weights, and queries near and far, all of them numbers of float32."""
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(300, 3)), np.vstack([rng.normal(size=(60, 3)), [[60.0, 0, 0], [1e5, -1e5, 0]]])
    return X.astype(np.float32).astype(float), rng.uniform(size=300), queries.astype(np.float32).astype(float)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("width", WIDTHS, ids=["number", "vector", "matrix"])
@pytest.mark.parametrize("name", NAMES)
def test_log_densities_of_tensors_agree_with_arrays(name, width, device, dtype):
    X, weight, queries = data()
    windows = Windows(smoothing_kernel_from(name), Bandwidth(width), X, weight)
    expected = windows.log_density(queries)
    found = log_density(windows, torch.as_tensor(queries, dtype=dtype, device=device))
    assert found.dtype == dtype
    reached = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(found.cpu().numpy()), reached)
    np.testing.assert_allclose(
        found.double().cpu().numpy()[reached], expected[reached], rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("out_of_reach", ["nearest", "mean", "nan"])
@pytest.mark.parametrize("name", ["gaussian", "exponential", "epanechnikov", "cosine"])
def test_local_means_of_tensors_agree_with_arrays(name, out_of_reach, device, dtype):
    X, weight, queries = data()
    values = np.column_stack([np.sin(X[:, 0]) + 100, X[:, 1]])
    fit = LocalMeans(smoothing_kernel_from(name), Bandwidth(0.6), MixedRows(X), values, weight + 0.1)
    expected = answers_of_arrays(fit, MixedRows(queries), out_of_reach)
    found = evaluate(fit, torch.as_tensor(queries, dtype=dtype, device=device), out_of_reach)
    tolerance = TOLERANCE[dtype] * 3
    np.testing.assert_allclose(found.double().cpu().numpy(), expected, rtol=tolerance, atol=tolerance)


def test_points_are_copied_once_per_device_and_dtype():
    X, weight, queries = data()
    windows = Windows(smoothing_kernel_from("gaussian"), Bandwidth(1.0), X, weight)
    log_density(windows, torch.as_tensor(queries))
    (first,) = windows.device_copies.values()
    log_density(windows, torch.as_tensor(queries))
    assert next(iter(windows.device_copies.values())) is first
    log_density(windows, torch.as_tensor(queries).float())
    assert list(windows.device_copies) == [(torch.device("cpu"), torch.float32)]
    assert "device_copies" not in windows.__getstate__()


def test_a_pickled_fit_has_no_copies_on_devices():
    X, weight, queries = data()
    fit = LocalMeans(smoothing_kernel_from("gaussian"), Bandwidth(0.6), MixedRows(X), X[:, :1], weight + 0.1)
    before = len(pickle.dumps(fit))
    evaluate(fit, torch.as_tensor(queries), "nearest")
    assert fit.device_copies
    assert len(pickle.dumps(fit)) == before


def test_tensors_of_two_dtypes_may_be_used_at_the_same_time():
    """Another thread, which keeps the points in its own type, does not remove the copy of this one."""

    class Shared(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            super().clear()  # as the other thread does, right after

    assert _get_copy(Shared(), SimpleNamespace(device="cpu", dtype="float32"), lambda: "made") == "made"


def test_kernels_supported_on_devices():
    product, radial = smoothing_kernel_from("cosine", "product"), smoothing_kernel_from("cosine")
    assert has_tensor_sums(radial, Bandwidth(1.0), 3)
    assert has_tensor_sums(product, Bandwidth(1.0), 1)
    assert not has_tensor_sums(product, Bandwidth(1.0), 2)
    assert not has_tensor_sums(radial, Bandwidth(1.0, sensitivity=0.5), 3)
    assert not has_tensor_sums(radial, None, 0)
