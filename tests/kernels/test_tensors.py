"""Kernel matrices of tensors are those of arrays, on the CPU and, where there is one, on a card."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import ColumnMismatchError, DataError, DeviceError, NotPositiveDefiniteError, SupportError
from mercer.kernels import (
    RBF,
    AdditiveChiSquared,
    ChiSquared,
    Constant,
    Cosine,
    FromFunction,
    HistogramIntersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Quadratic,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    WeisfeilerLehman,
)
from mercer.kernels.tensors import TensorGram, compute_tensor_tile
from tests._gpu._devices import DEVICES, TOLERANCE

torch = pytest.importorskip("torch")
KERNELS = [
    RBF(),
    RBF(sigma=0.5),
    Matern(nu=0.5),
    Matern(nu=1.5),
    Matern(nu=2.5),
    RationalQuadratic(alpha=0.7),
    Laplacian(),
    Linear(),
    Quadratic(),
    Polynomial(degree=3),
    Sigmoid(gamma=0.01),
    Cosine(),
    ChiSquared(),
    AdditiveChiSquared(),
    HistogramIntersection(),
    Constant(2),
    RBF() + 2 * Linear() + 1,
    RBF() * Linear(),
    (Linear() + 1) ** 2,
    RBF().on([0, 2]) + Linear().on([1]),
    Polynomial(degree=2).normalised(),
    (RBF() * Linear().on([0])).normalised(),
]


def rows(n, seed):
    """Numbers that are 0 or more, as histograms need them."""
    return np.random.default_rng(seed).gamma(2.0, size=(n, 4)).astype(np.float32).astype(float)


def assert_close(found, expected, tolerance):
    np.testing.assert_allclose(found.double().cpu().numpy(), expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gram_matrices_of_tensors_agree_with_arrays(kernel, device, dtype):
    X, Z, rng = rows(90, 0), rows(50, 1), np.random.default_rng(2)
    gram = TensorGram(kernel, *(torch.as_tensor(side, dtype=dtype, device=device) for side in (X, Z)))
    K, tolerance = kernel(X, Z), TOLERANCE[dtype]
    assert gram.shape == K.shape
    assert_close(gram.matrix(), K, tolerance)
    assert_close(gram.tile(slice(3, 20), slice(5, 9)), K[3:20, 5:9], tolerance)
    assert_close(gram.rows(np.array([7, 2])), K[[7, 2]], tolerance)
    for columns in ((), (3,)):
        V, W = (rng.normal(size=(n, *columns)).astype(np.float32) for n in (50, 90))
        assert_close(gram.matvec(torch.as_tensor(V, dtype=dtype, device=device)), K @ V, tolerance)
        assert_close(gram.rmatvec(torch.as_tensor(W, dtype=dtype, device=device)), K.T @ W, tolerance)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_gram_matrix_of_rows_with_themselves_is_symmetric(kernel, device):
    X = rows(70, 0)
    gram, K = TensorGram(kernel, torch.as_tensor(X, device=device)), kernel(X)
    matrix = gram.matrix()
    assert bool((matrix == matrix.T).all())
    assert_close(matrix, K, 1e-9)
    assert_close(gram.diagonal, kernel.diag(X), 1e-12)
    assert bool((matrix.diagonal() == gram.diagonal).all())
    assert_close(gram.rows(slice(10, 13)), K[10:13], 1e-9)
    v = torch.as_tensor(np.random.default_rng(1).normal(size=70), device=device)
    assert_close(gram.matvec(v), K @ v.cpu().numpy(), 1e-9)


@pytest.mark.parametrize("scale", [1e25, 1e-25, 1e18])
@pytest.mark.parametrize("kernel", [RBF, lambda sigma: Matern(sigma, 1.5), RationalQuadratic], ids=["rbf", "m", "rq"])
def test_squares_of_float32_may_overflow(kernel, scale):
    of = kernel(scale) if kernel is not RBF else RBF(sigma=scale)
    X, v = (torch.as_tensor(rows(40, 0) * scale, dtype=torch.float32), torch.ones(40))
    K = of(X.numpy().astype(float))
    assert_close(TensorGram(of, X).matrix(), K, 1e-5)
    assert_close(TensorGram(of, X).matvec(v), K.sum(axis=1), 1e-5)


def test_rows_far_from_the_others_keep_the_digits_of_float32():
    X = rows(200, 0)
    X[:5] += 15.0
    X = torch.as_tensor(X, dtype=torch.float32)
    assert_close(TensorGram(RBF(sigma=1.0), X).matrix(), RBF(sigma=1.0)(X.numpy().astype(float)), 1e-5)


def test_a_vector_of_another_type():
    X = torch.as_tensor(rows(30, 0), dtype=torch.float32)
    assert TensorGram(RBF(), X).matvec(torch.ones(30, dtype=torch.float64)).dtype == torch.float64


@pytest.mark.parametrize(
    "kernel",
    [FromFunction(np.dot), Spectrum(2), WeisfeilerLehman(), RBF().of(np.abs), 2 * RBF() + Spectrum(2)],
    ids=repr,
)
def test_kernels_of_other_objects_are_rejected(kernel):
    with pytest.raises(DeviceError, match=r"does not compare rows of a tensor.*cpu\(\)\.numpy\(\)"):
        TensorGram(kernel, torch.zeros(3, 2))


def test_invalid_input_is_rejected():
    X = torch.ones(3, 2)
    with pytest.raises(ColumnMismatchError, match="2 columns, but Z has 3"):
        TensorGram(RBF(), X, torch.ones(4, 3))
    with pytest.raises(ColumnMismatchError, match="needs column 5"):
        TensorGram(RBF().on([5]), X)
    with pytest.raises(DataError, match="3 columns; give one row for each"):
        TensorGram(RBF(), X).matvec(torch.ones(4))
    with pytest.raises(DeviceError, match="do not move tensors"):
        TensorGram(RBF(), X, torch.ones(4, 2, device="meta"))
    with pytest.raises(SupportError, match="Column 1 is -1 in row 0"):
        TensorGram(ChiSquared(), torch.tensor([[1.0, -1.0]])).matrix()
    with pytest.raises(DataError, match=r"beyond float32; divide the columns"):
        TensorGram(Polynomial(degree=9), torch.full((2, 2), 1e6))
    with pytest.raises(NotPositiveDefiniteError, match="normalise a kernel"):
        TensorGram(Sigmoid(gamma=-1, constant=0).normalised(), X)


def test_a_kernel_without_tensor_support_is_rejected() -> None:
    X = torch.zeros(2, 1)
    with pytest.raises(DeviceError, match="does not compare rows of a tensor"):
        compute_tensor_tile(FromFunction(np.dot), X, X, None)
