"""Sums of kernels over tensors are products with the matrix, on the CPU and, where there is one, on a card."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import DeviceMemoryError
from mercer._gpu import sums
from mercer._gpu.profiles import FORMULAS, TensorProfile
from mercer._gpu.sums import TensorKernelSums
from mercer.kernels import RBF
from mercer.kernels.tensors import TensorGram
from tests._gpu._devices import DEVICES, TOLERANCE, card

torch = pytest.importorskip("torch")


def matrix(profile, X, Z):
    s = torch.cdist(X.double(), Z.double(), compute_mode="donot_use_mm_for_euclid_dist").square_()
    return profile.of(s)


def rows(n, d, seed, *, device, dtype, scale=1.0):
    return (torch.randn(n, d, generator=torch.Generator().manual_seed(seed)) * scale).to(device, dtype)


def assert_product(answer, K, V, tolerance):
    expected = (K @ V.double()).cpu().numpy()
    np.testing.assert_allclose(answer.double().cpu().numpy(), expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", FORMULAS)
def test_products_with_the_matrix(name, device, dtype):
    # a step function is sensitive to rounding
    scale = 0.05 if name == "uniform" and dtype == torch.float32 else 0.3
    X, Z = (rows(n, 5, seed, device=device, dtype=dtype, scale=scale) for n, seed in ((300, 1), (170, 2)))
    profile = TensorProfile(
        name, 1.0 if TensorProfile(name).ends else 1.3, 0.7 if name == "rational_quadratic" else 1.0
    )
    found, K = TensorKernelSums(profile, X, Z), matrix(profile, X, Z)
    assert found.shape == (300, 170)
    for columns in ((), (1,), (2,), (3,), (19,)):
        V, W = (rows(n, int(np.prod(columns)), n, device=device, dtype=dtype).reshape(n, *columns) for n in (170, 300))
        assert found.matvec(V).shape == (300, *columns)
        assert_product(found.matvec(V), K, V, TOLERANCE[dtype])
        assert_product(found.rmatvec(W), K.T, W, TOLERANCE[dtype])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("power", [16.0, 1e4, 1e6])
def test_a_rational_quadratic_of_a_large_power(power, device):
    X, V = (rows(200, d, d, device=device, dtype=torch.float32) for d in (3, 2))
    profile = TensorProfile("rational_quadratic", 0.5 / power, power)
    assert_product(TensorKernelSums(profile, X).matvec(V), matrix(profile, X, X), V, 1e-5)


def test_a_large_power_does_not_use_the_fused_kernel(monkeypatch):
    """The kernel takes the logarithm of 1 + s in float32, whose rounding is multiplied by the power."""
    devices = []
    monkeypatch.setattr(sums, "compiles", lambda device: devices.append(device))  # which returns None

    class Rows(list):
        is_cuda, dtype, device = True, torch.float32, "card"

    for power in (1.0, 1e4):
        assert sums._fused(TensorProfile("rational_quadratic", 1.0, power), Rows([0]), Rows([0]), True, False) is None
    assert devices == ["card"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("d", [1, 16, 33, 64, 100, 300])
def test_any_number_of_columns_agrees_with_arrays(d, device):
    X = rows(200, d, 0, device=device, dtype=torch.float32)
    V, profile = rows(200, 2, 1, device=device, dtype=torch.float32), TensorProfile("gaussian", 0.5 / d)
    assert_product(TensorKernelSums(profile, X).matvec(V), matrix(profile, X, X), V, 1e-5)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("device", DEVICES)
def test_narrow_kernels_far_from_the_origin(device, dtype):
    """Distances far below the spread of the rows, whose digits products would lose."""
    X = rows(250, 3, 0, device=device, dtype=dtype) + 1000.0
    V, profile = rows(250, 1, 1, device=device, dtype=dtype), TensorProfile("gaussian", 1e4)
    assert_product(TensorKernelSums(profile, X).matvec(V), matrix(profile, X, X), V, TOLERANCE[dtype])


@pytest.mark.parametrize("device", DEVICES)
def test_sums_have_the_dtype_of_the_vector(device):
    X = rows(40, 2, 0, device=device, dtype=torch.float32)
    profile, V = TensorProfile("gaussian"), torch.full((40,), 1e60, dtype=torch.float64, device=device)
    answer = TensorKernelSums(profile, X).matvec(V)
    assert answer.dtype == torch.float64
    assert bool(answer.isfinite().all())


@card
def test_a_million_terms_keep_the_digits_of_float32():
    X = rows(1 << 20, 8, 0, device="cuda", dtype=torch.float32)
    V = rows(1 << 20, 1, 1, device="cuda", dtype=torch.float32).abs()
    profile = TensorProfile("gaussian", 0.125)
    K = matrix(profile, X[:64], X)
    for tf32, tolerance in ((False, 1e-6), (True, 1e-3)):
        assert_product(TensorKernelSums(profile, X[:64], X, tf32=tf32).matvec(V), K, V, tolerance)


@card
def test_the_matrix_is_never_formed():
    X = rows(1 << 17, 8, 0, device="cuda", dtype=torch.float32)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    TensorKernelSums(TensorProfile("gaussian"), X).matvec(X[:, 0])
    assert torch.cuda.max_memory_allocated() - before < 100e6


@card
def test_smaller_tiles_where_memory_is_short_then_an_error():
    X = rows(20_000, 4, 0, device="cuda", dtype=torch.float64)
    expected = TensorKernelSums(TensorProfile("gaussian"), X).matvec(X[:, 0])
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    try:
        torch.cuda.set_per_process_memory_fraction(0.7e9 / total)
        np.testing.assert_allclose(
            TensorKernelSums(TensorProfile("gaussian"), X).matvec(X[:, 0]).cpu(), expected.cpu(), rtol=1e-9, atol=1e-9
        )
        with pytest.raises(DeviceMemoryError, match=r"a kernel matrix of 20,000 × 20,000.*Free memory there"):
            TensorGram(RBF(), X).matrix()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
